//! What is known of the program's files at the cut.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::WritableFile;

use super::WritableFileError;
use crate::maps;
use crate::shared_memory::is_saved;
use crate::spool;

/// Bytes hashed at one cut, while the program stands still: a second of it at most.
const HASHED_LIMIT: u64 = 1 << 30;

/// Records the files of the processes of one tree, but those that are saved otherwise.
#[derive(Debug, Default)]
pub struct Recorder {
    files: BTreeMap<PathBuf, Found>,
}

#[derive(Debug)]
struct Found {
    record: WritableFile,
    /// A link to the file below `/proc/PID`, for as long as the process stands still.
    link: PathBuf,
    /// What is in the file stays as it is.
    only_appends: bool,
}

/// A way in which a process can write a file.
struct Way {
    link: PathBuf,
    position: u64,
    only_appends: bool,
}

/// What [`Recorder::save`] made.
#[derive(Debug, Default)]
pub struct Saved {
    /// Each file once, in the order of their paths.
    pub files: Vec<WritableFile>,
    /// Those whose contents were too much.
    pub left_out: Vec<LeftOut>,
}

/// A file whose contents are not in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {size} bytes of {path} are not in the checkpoint (--files-limit): a restore needs the file as it is \
     now{}", if *.may_grow { ", or longer" } else { "" }
)]
pub struct LeftOut {
    /// Its path.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// Whether a restore can tell that it has only grown.
    pub may_grow: bool,
}

impl Recorder {
    /// Adds the files of a process; exact only while all processes of the tree are frozen. Paths are
    /// ours, so this must run in the program's mount namespace.
    pub fn add(&mut self, pid: u32) -> Result<(), WritableFileError> {
        let failed = |error| WritableFileError::Record { pid, error };
        let descriptors = descriptors(pid).map_err(failed)?;
        let mappings = mappings(pid).map_err(failed)?;
        for way in descriptors.into_iter().chain(mappings) {
            self.add_way(way);
        }
        Ok(())
    }

    fn add_way(&mut self, way: Way) {
        // A descriptor may be closed meanwhile when the process is not frozen.
        let (Ok(meta), Ok(path)) = (fs::metadata(&way.link), fs::read_link(&way.link)) else {
            return;
        };
        if !meta.is_file() || !has_a_name(&path, &meta) || is_saved(&path) {
            return;
        }
        let found = self.files.entry(path.clone()).or_insert_with(|| Found {
            record: WritableFile {
                path: path.to_string_lossy().into_owned(),
                device: meta.dev(),
                inode: meta.ino(),
                size: meta.len(),
                position: way.position,
                mode: meta.mode(),
                owner: meta.uid(),
                group: meta.gid(),
                ..WritableFile::default()
            },
            link: way.link,
            only_appends: true,
        });
        if !way.only_appends {
            found.only_appends = false;
            found.record.modified_ns = modified_ns(&meta);
        }
    }

    /// Saves contents while the processes are still frozen: those of small files first, as many as
    /// `limit` bytes hold. `make` makes the file for one, and names it.
    pub fn save(
        self,
        limit: u64,
        mut make: impl FnMut(usize) -> io::Result<(String, File)>,
    ) -> Result<Saved, WritableFileError> {
        let mut found: Vec<Found> = self.files.into_values().collect();
        found.sort_by_key(|found| found.record.size);
        let mut saved = Saved::default();
        let (mut stored, mut hashed) = (0, 0);
        for (
            number,
            Found {
                mut record,
                link,
                only_appends,
            },
        ) in found.into_iter().enumerate()
        {
            let failed = |error| WritableFileError::Save {
                path: PathBuf::from(&record.path),
                error,
            };
            let size = record.size;
            if spool::is_spooled(&record.path) {
                // It has been passed on, and only its size matters.
            } else if size <= limit - stored {
                stored += size;
                let (name, mut to) = make(number).map_err(failed)?;
                let mut from = File::open(&link).map_err(failed)?.take(size);
                io::copy(&mut from, &mut to).map_err(failed)?;
                record.stored = name;
            } else {
                if !only_appends && size <= HASHED_LIMIT - hashed {
                    hashed += size;
                    record.blake3 = hash(&link, size).map_err(failed)?;
                }
                saved.left_out.push(LeftOut {
                    path: record.path.clone(),
                    size,
                    may_grow: only_appends || !record.blake3.is_empty(),
                });
            }
            saved.files.push(record);
        }
        saved.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(saved)
    }
}

/// The descriptors that write.
fn descriptors(pid: u32) -> io::Result<Vec<Way>> {
    let mut ways = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let link = entry?.path();
        if !fs::metadata(&link).is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let Some(number) = link.file_name() else {
            continue;
        };
        let info = Path::new("/proc")
            .join(pid.to_string())
            .join("fdinfo")
            .join(number);
        let info = match fs::read_to_string(info) {
            Ok(info) => info,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let Some((position, flags)) = parse_fdinfo(&info) else {
            continue;
        };
        if flags & libc::O_ACCMODE as u64 != libc::O_RDONLY as u64 {
            ways.push(Way {
                link,
                position,
                only_appends: flags & libc::O_APPEND as u64 != 0,
            });
        }
    }
    Ok(ways)
}

/// The mappings that write; their descriptors are often closed.
fn mappings(pid: u32) -> io::Result<Vec<Way>> {
    let ways = maps::read(pid)?
        .into_iter()
        .filter(|map| map.shared && map.writable && map.inode != 0)
        .map(|map| Way {
            link: PathBuf::from(format!(
                "/proc/{pid}/map_files/{:x}-{:x}",
                map.range.start, map.range.end
            )),
            position: 0,
            only_appends: false,
        });
    Ok(ways.collect())
}

/// Never 0, which stands for "only appended to".
pub(super) fn modified_ns(meta: &fs::Metadata) -> i64 {
    let ns = meta
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec());
    if ns == 0 { 1 } else { ns }
}

/// Of the first `len` bytes, or of all there are.
pub(super) fn hash(path: &Path, len: u64) -> io::Result<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    let mut rest = File::open(path)?.take(len);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().as_bytes().to_vec()),
            Ok(n) => _ = hasher.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the file can be found by this path (a memfd or a deleted file cannot).
fn has_a_name(path: &Path, meta: &fs::Metadata) -> bool {
    !path.starts_with("/proc")
        && fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
}

/// Position of an open file, and its flags, which the kernel prints in octal.
pub(crate) fn parse_fdinfo(text: &str) -> Option<(u64, u64)> {
    let field = |name| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    Some((
        field("pos:")?.parse().ok()?,
        u64::from_str_radix(field("flags:")?, 8).ok()?,
    ))
}
