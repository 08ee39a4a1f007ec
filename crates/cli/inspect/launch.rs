//! One launch that is asked for on the command line.

use std::fmt::Write as _;
use std::str::FromStr;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use strobe_code_object::{Arg, Kernel};
use strobe_extent::{Access, Extent, ExtentSet, Side};
use strobe_footprint::{KernelFootprint, Launch, LaunchMemory};

use crate::size::parse_size;

/// Each buffer has a letter, and addresses of its own with as much between.
const MOST_BUFFERS: usize = 26;
const FIRST: u64 = 1 << 44;
const APART: u64 = 1 << 38;
const LARGEST: u64 = APART / 2;
/// No kernarg segment is larger.
const MOST_ARGUMENT_BYTES: usize = 64 << 10;
/// Work-items of a work-group.
const LARGEST_BLOCK: u64 = 1024;
/// Blocks of a pattern that are shown one by one; of one that has more, all that lies between them is.
const MOST_BLOCKS: u64 = 1 << 16;
/// Runs of bytes of one buffer that are shown.
const SHOWN: usize = 8;

/// What follows `--launch`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AskedLaunch {
    /// In work-groups.
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq)]
enum Argument {
    Integer(i128),
    Float(f64),
    /// A buffer of so many bytes.
    Buffer(u64),
}

impl FromStr for AskedLaunch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut grid, mut block, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
        let mut key = "";
        for part in text.split(',') {
            let value = match part.split_once('=') {
                Some((named, value)) => {
                    key = named;
                    value
                }
                None => part,
            };
            match key {
                "grid" => grid.push(count(value)?),
                "block" => block.push(count(value)?),
                // No argument at all: `args=`.
                "args" if value.is_empty() => {}
                "args" => arguments.push(argument(value)?),
                _ => return Err(format!("{part} is none of grid=, block= and args=")),
            }
        }
        let asked = Self {
            grid: three(&grid).ok_or("grid= takes one to three counts of work-groups")?,
            block: three(&block).ok_or("block= takes one to three counts of work-items")?,
            arguments,
        };
        let items: u64 = asked.block.iter().map(|&count| u64::from(count)).product();
        if items > LARGEST_BLOCK {
            return Err(format!(
                "a work-group has at most {LARGEST_BLOCK} work-items"
            ));
        }
        asked
            .work_items()
            .ok_or("more work-items than a launch can have")?;
        let buffers = asked.buffers().count();
        if buffers > MOST_BUFFERS {
            return Err(format!(
                "{buffers} buffers, and only {MOST_BUFFERS} letters"
            ));
        }
        Ok(asked)
    }
}

fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| format!("{text} is no count"))
}

fn three(counts: &[u32]) -> Option<[u32; 3]> {
    let of = |at: usize| counts.get(at).copied().unwrap_or(1);
    (1..=3)
        .contains(&counts.len())
        .then(|| [of(0), of(1), of(2)])
}

fn argument(text: &str) -> Result<Argument, String> {
    if let Some(bytes) = text.strip_prefix("buf:") {
        let bytes = parse_size(bytes)?;
        return match bytes <= LARGEST {
            true => Ok(Argument::Buffer(bytes)),
            false => Err(format!("{text} is larger than any buffer")),
        };
    }
    let integer = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    if let Some(integer) = integer {
        return Ok(Argument::Integer(integer));
    }
    let float = text.parse().map(Argument::Float);
    float.map_err(|_| format!("{text} is neither a number nor buf:BYTES"))
}

impl AskedLaunch {
    fn work_items(&self) -> Option<[u32; 3]> {
        let of = |at: usize| self.grid[at].checked_mul(self.block[at]);
        Some([of(0)?, of(1)?, of(2)?])
    }

    fn buffers(&self) -> impl Iterator<Item = Extent> + '_ {
        let sizes = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Buffer(bytes) => Some(*bytes),
            _ => None,
        });
        let starts = (0..).map(|index| FIRST + index * APART);
        let extents = starts.zip(sizes);
        extents.filter_map(|(start, bytes)| Extent::with_len(start, bytes).ok())
    }

    /// The kernarg segment as far as a program fills it.
    fn kernarg(&self, kernel: &Kernel) -> anyhow::Result<Vec<u8>> {
        let explicit = kernel.args.iter().filter(|arg| !arg.kind.is_hidden());
        let explicit: Vec<&Arg> = explicit.collect();
        ensure!(
            explicit.len() == self.arguments.len(),
            "it takes {} arguments, {} are given",
            explicit.len(),
            self.arguments.len()
        );
        let mut buffers = self.buffers();
        let mut kernarg = Vec::new();
        for (index, (arg, given)) in explicit.iter().zip(&self.arguments).enumerate() {
            let of = || format!("argument {index}, of {} bytes", arg.size);
            let [start, size] = [arg.offset, arg.size].map(|n| n as usize);
            let end = start.saturating_add(size);
            ensure!(end <= MOST_ARGUMENT_BYTES, "{} lies too far out", of());
            let bytes = match given {
                Argument::Buffer(_) => {
                    let buffer = buffers.next().context("a buffer without an address")?;
                    buffer.start().to_le_bytes().to_vec()
                }
                Argument::Integer(value) => value.to_le_bytes().to_vec(),
                Argument::Float(value) if size == 4 => (*value as f32).to_le_bytes().to_vec(),
                Argument::Float(value) => value.to_le_bytes().to_vec(),
            };
            let fits = match given {
                Argument::Integer(value) => {
                    size >= 16 || {
                        let bits = 8 * size as u32;
                        (-(1_i128 << bits >> 1)..1_i128 << bits).contains(value)
                    }
                }
                Argument::Float(_) => size == 4 || size == 8,
                Argument::Buffer(_) => size >= 8,
            };
            ensure!(fits, "{} cannot hold what is given", of());
            kernarg.resize(end.max(kernarg.len()), 0);
            let room = kernarg[start..end].iter_mut();
            room.zip(bytes).for_each(|(place, byte)| *place = byte);
        }
        Ok(kernarg)
    }

    /// What this launch of a kernel touches.
    pub(crate) fn evaluate(
        &self,
        kernel: &Kernel,
        footprint: &KernelFootprint,
    ) -> anyhow::Result<Touched> {
        let kernarg = self.kernarg(kernel)?;
        let memory = Buffers(self.buffers().collect());
        let launch = Launch {
            kernarg: &kernarg,
            grid: self
                .work_items()
                .context("more work-items than a launch can have")?,
            block: self.block,
            dynamic_lds: 0,
        };
        let access = footprint.evaluate(&launch, &memory);
        Ok(Touched {
            buffers: memory.0,
            access,
        })
    }
}

/// Nothing is known of what stands in them.
struct Buffers(Vec<Extent>);

impl LaunchMemory for Buffers {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let mut buffers = self.0.iter().copied();
        buffers.find(|buffer| buffer.contains_address(addr))
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.0.iter().any(|buffer| buffer.overlaps(extent))
    }

    fn known_bytes(&self, _: u64, _: usize) -> Option<Vec<u8>> {
        None
    }
}

/// What one launch touches, buffer by buffer.
#[derive(Debug)]
pub(crate) struct Touched {
    buffers: Vec<Extent>,
    access: Access,
}

impl Touched {
    /// Of each buffer its letter, and what is touched of it from its start on.
    fn each(&self, side: &ExtentSet) -> Vec<(char, u64, Vec<[u64; 2]>)> {
        let letters = ('A'..='Z').zip(&self.buffers);
        let each = letters.map(|(letter, buffer)| {
            let runs = side.within(*buffer);
            let runs = runs.map(|run| [run.start(), run.end()].map(|at| at - buffer.start()));
            (letter, buffer.len(), runs.collect())
        });
        each.collect()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (does, side) in [
            ("reads", &self.access.reads),
            ("writes", &self.access.writes),
        ] {
            let Side::Known(bytes) = side else {
                let reason = side
                    .reason()
                    .map_or_else(String::new, |why| why.to_string());
                let _ = writeln!(text, "  launch {does} anything: {reason}");
                continue;
            };
            for (letter, len, runs) in self.each(&bytes.flat(MOST_BLOCKS)) {
                let bytes: u64 = runs.iter().map(|[start, end]| end - start).sum();
                let _ = write!(text, "  launch {does} {bytes} of {len} bytes of {letter}");
                for [start, end] in runs.iter().take(SHOWN) {
                    let _ = write!(text, " [{start}, {end})");
                }
                if runs.len() > SHOWN {
                    let _ = write!(text, " and {} runs more", runs.len() - SHOWN);
                }
                text.push('\n');
            }
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let side = |side: &Side| match side {
            Side::Known(bytes) => {
                let each = self.each(&bytes.flat(MOST_BLOCKS)).into_iter();
                let each = each.map(|(letter, _, runs)| (letter.to_string(), json!(runs)));
                Value::Object(each.collect())
            }
            Side::Unknown(reason) => json!(reason.to_string()),
        };
        json!({
            "reads": side(&self.access.reads),
            "writes": side(&self.access.writes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_read_as_it_is_written() {
        let asked: AskedLaunch = "grid=2,3,block=64,args=buf:4K,-1,0xff,1.5"
            .parse()
            .expect("a launch");
        assert_eq!((asked.grid, asked.block), ([2, 3, 1], [64, 1, 1]));
        let arguments = [
            Argument::Buffer(4096),
            Argument::Integer(-1),
            Argument::Integer(255),
            Argument::Float(1.5),
        ];
        assert_eq!(asked.arguments, arguments);
        let none: AskedLaunch = "grid=1,block=1,args=".parse().expect("a launch");
        assert_eq!(none.arguments, []);
    }

    #[test]
    fn what_is_no_launch_is_refused() {
        for (text, why) in [
            ("", "is none of"),
            ("grid=1", "block= takes"),
            ("block=1", "grid= takes"),
            ("grid=1,1,1,1,block=1", "grid= takes"),
            ("grid=0,block=1", "0 is no count"),
            ("grid=1,block=1025", "at most 1024"),
            ("grid=1,block=32,32,2", "at most 1024"),
            ("grid=4294967295,block=2", "more work-items"),
            ("grid=1,block=1,args=x", "neither a number"),
            ("grid=1,block=1,args=buf:0", "out of range"),
            ("grid=1,block=1,args=buf:999G", "larger than any"),
            ("grid=1,block=1,shape=3", "is none of"),
        ] {
            let refused = text.parse::<AskedLaunch>().expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
        let many = format!("grid=1,block=1,args={}", vec!["buf:1"; 27].join(","));
        assert!(many.parse::<AskedLaunch>().is_err());
    }
}
