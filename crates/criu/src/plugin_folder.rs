//! The folder of plugins for one run of CRIU.
//!
//! CRIU loads every `.so` of its plugin folder. The set depends on the program (one that runs on
//! the software GPU brings a second plugin, the very library it has loaded), so each run gets a
//! folder of links of its own.
//!
//! At each hook CRIU asks plugins in the order in which it finds them in the folder, which is the file system's affair:
//! it goes by names, by when they were made, or by neither. The software GPU stops where its plugin is asked at the first
//! hook, and ours waits there for what the GPU has to do still; so the order is one that we want, and names are tried
//! until the folder has it.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// One of two orders is the wanted one by chance, where the file system's goes by names.
const ATTEMPTS: u32 = 64;

/// Links to plugins; removed when dropped.
#[derive(Debug)]
pub struct PluginFolder {
    path: PathBuf,
}

impl PluginFolder {
    /// Makes the folder `path`, which must not exist, with links to these files, in which CRIU finds them in this order.
    /// `path` must be absolute: CRIU changes its folder before it looks.
    pub fn create(path: PathBuf, plugins: &[&Path]) -> io::Result<Self> {
        assert!(path.is_absolute(), "{} is not absolute", path.display());
        std::fs::create_dir(&path)?;
        let folder = Self { path };
        for attempt in 0..ATTEMPTS {
            folder.link(plugins, attempt)?;
            if targets(&folder.path)? == plugins {
                return Ok(folder);
            }
            for link in std::fs::read_dir(&folder.path)? {
                std::fs::remove_file(link?.path())?;
            }
        }
        Err(io::Error::other(format!(
            "{} does not keep links in any order",
            folder.path.display()
        )))
    }

    /// Makes links, under other names and in another order each time.
    fn link(&self, plugins: &[&Path], attempt: u32) -> io::Result<()> {
        let mut order: Vec<(usize, &Path)> = plugins.iter().copied().enumerate().collect();
        if attempt % 2 == 1 {
            order.reverse();
        }
        for (place, plugin) in order {
            let name = plugin.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let mut other = OsString::from(format!("{attempt}-{place}-"));
            other.push(name);
            let name = if attempt == 0 { name } else { &other };
            symlink(plugin, self.path.join(name))?;
        }
        Ok(())
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
        let links_to = |path: &Path| targets(path).is_ok_and(|targets| targets == plugins);
        if links_to(&path) {
            return Ok(path);
        }
        let staged = parent.join(format!(".{name}-{}", std::process::id()));
        let staged = Self::create(staged, plugins)?;
        // Of another strobe, by the same numbers.
        let _ = std::fs::remove_dir_all(&path);
        match std::fs::rename(staged.path(), &path) {
            Ok(()) => Ok(path),
            // Somebody else was faster.
            Err(_) if links_to(&path) => Ok(path),
            Err(error) => Err(error),
        }
    }

    /// What CRIU is given as its folder of plugins.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What a folder's links lead to, in the order in which CRIU finds them.
fn targets(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            targets.push(entry.path().read_link()?);
        }
    }
    Ok(targets)
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
    fn links_are_found_in_the_order_that_is_wanted() {
        let root = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a.so", "b.so", "c.so"].map(|name| root.path().join(name));
        let orders = [[&a, &b, &c], [&c, &b, &a], [&b, &a, &c]];
        for (number, order) in orders.into_iter().enumerate() {
            let order = order.map(PathBuf::as_path);
            let path = root.path().join(number.to_string());
            let folder = PluginFolder::create(path, &order).unwrap();
            assert_eq!(targets(folder.path()).unwrap(), order);
        }
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
