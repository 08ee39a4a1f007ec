//! Which descriptors and mappings are the GPU's: those of the devices that `/dev/kfd` and
//! `/dev/dri/renderD*` name now, whatever their numbers are.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const KFD: &str = "/dev/kfd";
const RENDER_FOLDER: &str = "/dev/dri";
const RENDER_PREFIX: &str = "renderD";

/// What a device number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Kfd,
    /// `/dev/dri/renderD<minor>`.
    Render {
        minor: u32,
    },
}

/// The machine's GPU devices; empty where there is no amdkfd.
#[derive(Debug, Default)]
pub(crate) struct Devices(Vec<(u64, Device)>);

impl Devices {
    /// Looks at the nodes as they are.
    pub(crate) fn read() -> Self {
        let Ok(kfd) = fs::metadata(KFD) else {
            return Self::default();
        };
        let mut devices = vec![(kfd.rdev(), Device::Kfd)];
        let entries = fs::read_dir(RENDER_FOLDER).into_iter().flatten().flatten();
        for entry in entries {
            let minor = entry
                .file_name()
                .to_str()
                .and_then(|name| name.strip_prefix(RENDER_PREFIX)?.parse().ok());
            if let (Some(minor), Ok(meta)) = (minor, fs::metadata(entry.path())) {
                devices.push((meta.rdev(), Device::Render { minor }));
            }
        }
        Self(devices)
    }

    /// The device number of the compute driver.
    pub(crate) fn kfd(&self) -> Option<u64> {
        let mut devices = self.0.iter();
        let kfd = devices.find(|(_, device)| *device == Device::Kfd);
        kfd.map(|(number, _)| *number)
    }

    /// Whether it is one of these.
    pub(crate) fn has(&self, rdev: u64) -> bool {
        self.find(rdev).is_some()
    }

    /// Those of a test, all of the driver.
    #[cfg(test)]
    pub(crate) fn with(numbers: &[u64]) -> Self {
        Self(
            numbers
                .iter()
                .map(|number| (*number, Device::Kfd))
                .collect(),
        )
    }

    /// What a device file is, by `st_rdev`.
    pub(crate) fn find(&self, rdev: u64) -> Option<Device> {
        // Regular files and pipes have none.
        self.0
            .iter()
            .find(|(known, _)| rdev != 0 && *known == rdev)
            .map(|(_, device)| *device)
    }
}

/// What a path, as mappings name it, stands for. CRIU may print it with doubled slashes.
pub(crate) fn of_path(path: &Path) -> Option<Device> {
    let path: PathBuf = path.components().collect();
    if path == Path::new(KFD) {
        return Some(Device::Kfd);
    }
    let name = path.strip_prefix(RENDER_FOLDER).ok()?.to_str()?;
    let minor = name.strip_prefix(RENDER_PREFIX)?.parse().ok()?;
    Some(Device::Render { minor })
}

pub(crate) fn open_kfd() -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).open(KFD)
}

pub(crate) fn render_path(minor: u32) -> PathBuf {
    Path::new(RENDER_FOLDER).join(format!("{RENDER_PREFIX}{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mappings_name_devices() {
        assert_eq!(of_path(Path::new("/dev/kfd")), Some(Device::Kfd));
        let render = Some(Device::Render { minor: 129 });
        assert_eq!(of_path(Path::new("/dev//dri//renderD129")), render);
        assert_eq!(of_path(Path::new("/dev/dri/card0")), None);
        assert_eq!(of_path(Path::new("/dev/dri/renderD1/x")), None);
        assert_eq!(of_path(Path::new("/tmp/kfd")), None);
    }

    #[test]
    fn a_file_that_is_no_device_is_not_ours() {
        let devices = Devices(vec![(0, Device::Kfd), (7, Device::Render { minor: 128 })]);
        assert_eq!(devices.find(0), None);
        assert_eq!(devices.find(7), Some(Device::Render { minor: 128 }));
    }
}
