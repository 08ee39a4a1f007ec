//! The folder of plugins for one run of CRIU.
//!
//! CRIU loads every `.so` of its plugin folder. The set depends on the program (one that runs on
//! the software GPU brings a second plugin, the very library it has loaded), so each run gets a
//! folder of links of its own.

use std::io;
use std::os::unix::fs::symlink;
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

    /// What CRIU is given as its folder of plugins.
    pub fn path(&self) -> &Path {
        &self.path
    }
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
}
