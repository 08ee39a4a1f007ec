//! `/proc/PID/maps`.

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses.
    pub range: Range<u64>,
    /// File offset in bytes.
    pub offset: u64,
    /// `w`.
    pub writable: bool,
    /// `x`.
    pub executable: bool,
    /// `s`, not `p`.
    pub shared: bool,
    /// 0 for anonymous memory.
    pub inode: u64,
    /// As the kernel prints it; empty for anonymous memory, `[name]` for special mappings.
    pub path: PathBuf,
}

impl Mapping {
    /// Whether the mapping is of a file with this name, wherever it lies.
    pub fn is_file_named(&self, name: &str) -> bool {
        self.inode != 0 && self.path.file_name().is_some_and(|n| n == name)
    }
}

/// All mappings of a process, in address order.
pub fn read(pid: u32) -> io::Result<Vec<Mapping>> {
    let text = fs::read(format!("/proc/{pid}/maps"))?;
    parse(&text).ok_or_else(|| {
        let text = format!("/proc/{pid}/maps has a line of unknown form");
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

/// Parses the text of `/proc/PID/maps`; `None` on a line of unknown form.
pub fn parse(text: &[u8]) -> Option<Vec<Mapping>> {
    text.split(|&b| b == b'\n')
        .filter(|line| !line.is_empty())
        .map(parse_line)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<Mapping> {
    // Six fields, blanks between; the path may hold blanks itself.
    let mut rest = line;
    let mut field = || {
        let start = rest.iter().position(|&b| b != b' ')?;
        let tail = &rest[start..];
        let end = tail.iter().position(|&b| b == b' ').unwrap_or(tail.len());
        rest = &tail[end..];
        std::str::from_utf8(&tail[..end]).ok()
    };
    let (range, permissions, offset, _device, inode) =
        (field()?, field()?.as_bytes(), field()?, field()?, field()?);
    let (start, end) = range.split_once('-')?;
    let path = rest
        .iter()
        .position(|&b| b != b' ')
        .map_or(&[][..], |at| &rest[at..]);
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        range: hex(start)?..hex(end)?,
        offset: hex(offset)?,
        writable: permissions.get(1)? == &b'w',
        executable: permissions.get(2)? == &b'x',
        shared: permissions.get(3)? == &b's',
        inode: inode.parse().ok()?,
        path: Path::new(std::ffi::OsStr::from_bytes(path)).to_path_buf(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind_are_read() {
        let text = b"\
7fc836830000-7fc837830000 rw-s 00800000 fe:00 10518673                   /dev/dri/renderD128
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
00400000-00401000 rwxp 00000000 00:00 0
00500000-00501000 r--p 00001000 fe:00 7   /a folder/with blanks.so (deleted)
";
        let maps = parse(text).expect("all lines parse");
        assert_eq!(maps.len(), 4);
        assert_eq!(maps[0].range, 0x7fc8_3683_0000..0x7fc8_3783_0000);
        assert_eq!((maps[0].offset, maps[0].inode), (0x80_0000, 10_518_673));
        assert!(maps[0].shared && maps[0].writable && !maps[0].executable);
        assert!(maps[0].is_file_named("renderD128"));
        assert_eq!(maps[1].path, Path::new("[vdso]"));
        assert!(!maps[1].is_file_named("[vdso]"));
        assert_eq!(maps[2].path, Path::new(""));
        assert_eq!(
            maps[3].path,
            Path::new("/a folder/with blanks.so (deleted)")
        );
    }

    #[test]
    fn damaged_lines_are_refused() {
        for line in [
            "7f00-",
            "7f00-7f01 rw",
            "x-y rw-p 0 0:0 0 /a",
            "1-2 rw-p 0 0:0 z /a",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn our_own_maps_are_read() {
        let maps = read(std::process::id()).expect("our own maps");
        assert!(maps.iter().any(|m| m.path == Path::new("[stack]")));
    }
}
