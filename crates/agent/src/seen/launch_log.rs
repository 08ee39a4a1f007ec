//! The launch log: what each launch was predicted to touch, for people and for the tests that
//! compare it with what a software GPU has seen.
//!
//! One JSON object a line, in the order of the calls, appended to the file that `STROBE_LAUNCH_LOG`
//! names; numbers are decimal, extents half-open:
//! - `{"pid":1,"allocate":[start,end]}`, `{"pid":1,"free":start}`, `{"pid":1,"reset":true}`;
//! - `{"pid":1,"write":[start,end]}`: a copy or memset; `{"pid":1,"anything":true}`: a graph;
//! - `{"pid":1,"lost":n}`: records of so many launches were dropped;
//! - `{"pid":1,"number":1,"kernel":"name","descriptor":"hex bytes","grid":[x,y,z],"block":[x,y,z],
//!   "arguments":[[offset,"hex bytes"],...],"reads":[[start,end],...],"writes":...}`. The grid is
//!   in work-items; `arguments` is null where they are not known; a side that may be anything is
//!   the reason, as a string. `[start,end,stride,count]`, with a second pair or without, is an extent
//!   that comes `count` times every `stride` bytes, and all of that as the second pair says. With
//!   `"captured":true` it was made on a stream that captures: it may have gone into a graph and not have happened;
//! - `{"pid":1,"doubted":n}`: launch number n, which may be under way, may touch anything, for what came now may change a
//!   table that it follows.
//!
//! The file is open only while a batch is written: none of it is in the way of a checkpoint.

use crate::descriptor::out_of_the_way;
use crate::fault;
use crate::seen::observed::Launch;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use strobe_extent::{Access, Extent, Side, Strided};
use strobe_proto::environment::LAUNCH_LOG;

/// Bytes that wait before they are written.
const BATCH: usize = 1 << 16;

/// The log of this process.
#[derive(Debug)]
pub(crate) struct LaunchLog {
    path: PathBuf,
    lines: String,
}

impl LaunchLog {
    /// The log that the environment asks for, if it does.
    pub(crate) fn from_environment() -> Option<LaunchLog> {
        let path = std::env::var_os(LAUNCH_LOG)?;
        (path != OsStr::new("")).then(|| LaunchLog {
            path: path.into(),
            lines: String::new(),
        })
    }

    pub(crate) fn launch(&mut self, number: u64, launch: &Launch<'_>, access: &Access) {
        let kernel = launch.kernel;
        let ([gx, gy, gz], [bx, by, bz]) = (launch.items, launch.block);
        let arguments = match launch.kernarg {
            Ok(kernarg) => list(kernel.places.iter().filter_map(|place| {
                let bytes = kernarg
                    .get(place.offset as usize..)?
                    .get(..place.size as usize)?;
                Some(format!("[{},\"{}\"]", place.offset, hex(bytes)))
            })),
            Err(_) => "null".into(),
        };
        let captured = if launch.is_captured {
            "\"captured\":true,"
        } else {
            ""
        };
        self.line(format_args!(
            "\"number\":{number},{captured}\"kernel\":\"{}\",\"descriptor\":\"{}\",\"grid\":[{gx},{gy},{gz}],\
             \"block\":[{bx},{by},{bz}],\"arguments\":{arguments},\"reads\":{},\"writes\":{}",
            escape(&kernel.name),
            kernel.descriptor().map_or(String::new(), hex),
            side(&access.reads),
            side(&access.writes),
        ));
    }

    pub(crate) fn write(&mut self, writes: &Side) {
        match writes {
            Side::Known(bytes) => bytes
                .flat(u64::MAX)
                .iter()
                .for_each(|e| self.line(format_args!("\"write\":{}", extent(e)))),
            Side::Unknown(_) => self.line(format_args!("\"anything\":true")),
        }
    }

    pub(crate) fn doubt(&mut self, number: u64) {
        self.line(format_args!("\"doubted\":{number}"));
    }

    pub(crate) fn allocate(&mut self, buffer: Extent) {
        self.line(format_args!("\"allocate\":{}", extent(buffer)));
    }

    pub(crate) fn free(&mut self, start: u64) {
        self.line(format_args!("\"free\":{start}"));
    }

    pub(crate) fn reset(&mut self) {
        self.line(format_args!("\"reset\":true"));
    }

    pub(crate) fn lost(&mut self, launches: u64) {
        self.line(format_args!("\"lost\":{launches}"));
    }

    fn line(&mut self, members: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.lines, "{{\"pid\":{},{members}}}", std::process::id());
        if self.lines.len() >= BATCH {
            self.flush();
        }
    }

    /// Writes what has been collected. A file that cannot be written is said once, and the log ends.
    pub(crate) fn flush(&mut self) {
        if self.lines.is_empty() || self.path.as_os_str().is_empty() {
            return;
        }
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.path)
            .and_then(out_of_the_way)
            .and_then(|file| File::from(file).write_all(self.lines.as_bytes()));
        self.lines.clear();
        if let Err(error) = written {
            let path = std::mem::take(&mut self.path);
            fault::say(&format!(
                "strobe: the launch log {} ends here: {error}\n",
                path.display()
            ));
        }
    }
}

fn side(side: &Side) -> String {
    match side {
        Side::Known(bytes) => {
            let extents = bytes.extents().iter().map(extent);
            list(extents.chain(bytes.patterns().iter().map(pattern)))
        }
        Side::Unknown(reason) => format!("\"{}\"", escape(&reason.to_string())),
    }
}

fn extent(extent: Extent) -> String {
    format!("[{},{}]", extent.start(), extent.end())
}

fn pattern(pattern: &Strided) -> String {
    let (start, end) = (pattern.start(), pattern.start() + pattern.block());
    let levels = pattern.levels().into_iter().filter(|(_, count)| *count > 1);
    let levels = levels.map(|(stride, count)| format!(",{stride},{count}"));
    format!("[{start},{end}{}]", levels.collect::<String>())
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The inside of a JSON string.
fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            c => escaped.push(c),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::kernel::Kernel;
    use crate::seen::observed::RawStream;
    use strobe_extent::{Cover, Reason};

    #[test]
    fn lines_are_json_whatever_a_kernel_is_called() {
        let path = std::env::temp_dir().join(format!("strobe-launch-log-{}", std::process::id()));
        let mut log = LaunchLog {
            path: path.clone(),
            lines: String::new(),
        };
        let launch = Launch {
            kernel: Box::leak(Box::new(Kernel::unknown("a \"kernel\"\n\\"))),
            stream: RawStream(0),
            items: [64, 2, 1],
            block: [64, 1, 1],
            lds: 0,
            kernarg: Ok(&[]),
            is_captured: false,
        };
        let extent = Extent::with_len(0x10, 0x10).unwrap();
        let mut writes = Side::from(extent);
        writes.insert_cover(Cover::new(0x100, 4, [(8, 3), (0x40, 2)]).unwrap());
        let access = Access {
            reads: Side::Unknown(Reason::Budget),
            writes,
        };
        log.launch(7, &launch, &access);
        log.flush();
        log.allocate(extent);
        log.flush();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let pid = std::process::id();
        let expected = format!(
            "{{\"pid\":{pid},\"number\":7,\"kernel\":\"a \\\"kernel\\\"\\u000a\\\\\",\"descriptor\":\"\",\
             \"grid\":[64,2,1],\"block\":[64,1,1],\"arguments\":[],\"reads\":\"{}\",\
             \"writes\":[[16,32],[256,260,8,3,64,2]]}}\n{{\"pid\":{pid},\"allocate\":[16,32]}}\n",
            Reason::Budget
        );
        assert_eq!(text, expected);
    }
}
