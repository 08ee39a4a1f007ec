//! The folder of plugins for one run of CRIU.
//!
//! CRIU loads every `.so` of its plugin folder. The set depends on the program (one that runs on
//! the software GPU brings a second plugin, the very library it has loaded), so each run gets a
//! folder of links of its own.

use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Links to plugins; removed when dropped.
#[derive(Debug)]
pub struct PluginFolder {
    path: PathBuf,
}

impl PluginFolder {
    /// Makes the folder `path`, which must not exist, with links to these files. `path` must be
    /// absolute: CRIU changes its folder before it looks.
    pub fn create(path: PathBuf, plugins: &[&Path]) -> io::Result<Self> {
        assert!(path.is_absolute(), "{} is not absolute", path.display());
        std::fs::create_dir(&path)?;
        let folder = Self { path };
        for plugin in plugins {
            let name = plugin.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            symlink(plugin, folder.path.join(name))?;
        }
        Ok(folder)
    }

    /// The same of a folder that stays, for whoever links to these files; made in `parent` where it is not there.
    pub fn lasting(parent: &Path, plugins: &[&Path]) -> io::Result<PathBuf> {
        let mut name = String::from("strobe-criu-plugins");
        for plugin in plugins {
            // A file that takes its place is another.
            let inode = std::fs::metadata(plugin)?.ino();
            name.push_str(&format!("-{inode:x}"));
        }
        let path = parent.join(&name);
        if links_to(&path, plugins) {
            return Ok(path);
        }
        let staged = parent.join(format!(".{name}-{}", std::process::id()));
        let staged = Self::create(staged, plugins)?;
        // Of another strobe, by the same numbers.
        let _ = std::fs::remove_dir_all(&path);
        match std::fs::rename(staged.path(), &path) {
            Ok(()) => Ok(path),
            // Somebody else was faster.
            Err(_) if links_to(&path, plugins) => Ok(path),
            Err(error) => Err(error),
        }
    }

    /// What CRIU is given as its folder of plugins.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a folder has a link to each of these files.
fn links_to(folder: &Path, plugins: &[&Path]) -> bool {
    plugins.iter().all(|plugin| {
        let link = plugin.file_name().map(|name| folder.join(name));
        link.and_then(|link| link.read_link().ok()).as_deref() == Some(plugin)
    })
}

impl Drop for PluginFolder {
    fn drop(&mut self) {
        // Only links are in it; a folder that stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_and_go_and_the_files_stay() {
        let root = tempfile::tempdir().unwrap();
        let plugin = root.path().join("amdgpu_plugin.so");
        std::fs::write(&plugin, "x").unwrap();
        let path = root.path().join("plugins");
        let folder = PluginFolder::create(path.clone(), &[&plugin]).unwrap();
        assert_eq!(std::fs::read(path.join("amdgpu_plugin.so")).unwrap(), b"x");
        assert!(
            PluginFolder::create(path.clone(), &[]).is_err(),
            "an existing folder is kept"
        );
        drop(folder);
        assert!(!path.exists() && plugin.exists());
    }

    #[test]
    fn a_folder_that_stays_is_made_once_and_again_when_it_has_other_links() {
        let root = tempfile::tempdir().unwrap();
        let plugin = root.path().join("amdgpu_plugin.so");
        std::fs::write(&plugin, b"x").unwrap();
        let folder = || PluginFolder::lasting(root.path(), &[&plugin]).unwrap();
        let path = folder();
        let link = path.join("amdgpu_plugin.so");
        assert_eq!(std::fs::read_link(&link).unwrap(), plugin);
        let inode = std::fs::metadata(&path).unwrap().ino();
        assert_eq!(folder(), path);
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
        std::fs::remove_file(&link).unwrap();
        symlink("/absent", &link).unwrap();
        assert_eq!(folder(), path);
        assert_eq!(std::fs::read_link(&link).unwrap(), plugin);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
    }
}
