//! The lines of an access log.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use strobe_extent::{Access, Extent, ExtentSet, Side};

/// What is mapped in a process from here on: start, end, where it is, and the buffer object's serial.
#[derive(Debug, Deserialize)]
pub(super) struct Memory<'a> {
    pub(super) pid: u32,
    #[serde(borrow)]
    pub(super) memory: Vec<(u64, u64, &'a str, u32)>,
}

/// What a buffer object held when a kernel in it was first launched.
#[derive(Debug, Deserialize)]
pub(super) struct Code<'a> {
    pub(super) pid: u32,
    pub(super) code: u32,
    pub(super) image: &'a str,
}

/// A dispatch, and what it was given.
#[derive(Debug, Deserialize)]
pub(super) struct Dispatch<'a> {
    pub(super) pid: u32,
    pub(super) packet: u64,
    pub(super) kernel_object: u64,
    pub(super) descriptor: &'a str,
    pub(super) kernarg_address: u64,
    pub(super) kernarg: &'a str,
    pub(super) workgroup: [u32; 3],
    pub(super) grid: [u32; 3],
    pub(super) group_segment_size: u32,
    #[serde(borrow)]
    pub(super) behind: Vec<(u64, &'a str)>,
    reads: Vec<(u64, u64)>,
    writes: Vec<(u64, u64)>,
}

#[derive(Debug)]
pub(super) enum Record<'a> {
    Memory(Memory<'a>),
    Code(Code<'a>),
    Dispatch(Dispatch<'a>),
}

impl<'a> Record<'a> {
    fn read(line: &'a str) -> anyhow::Result<Self> {
        // All begin with the process.
        let key = line.split('"').nth(3);
        Ok(match key {
            Some("memory") => Self::Memory(serde_json::from_str(line)?),
            Some("code") => Self::Code(serde_json::from_str(line)?),
            Some("queue") if !line.contains("\"behind\":") => {
                bail!("a dispatch of which is not logged what it was given")
            }
            Some("queue") => Self::Dispatch(serde_json::from_str(line)?),
            _ => bail!("no line of an access log"),
        })
    }
}

impl Dispatch<'_> {
    /// What it has touched.
    pub(super) fn touched(&self) -> Option<Access> {
        let side = |extents: &[(u64, u64)]| {
            let set: Option<ExtentSet> = extents
                .iter()
                .map(|&(start, end)| Extent::new(start, end).ok())
                .collect();
            set.map(Side::Extents)
        };
        Some(Access {
            reads: side(&self.reads)?,
            writes: side(&self.writes)?,
        })
    }
}

/// Hands over each record, until `take` has seen enough; an error names its line. A last line that is cut off, as a
/// program leaves it that is killed, is none.
pub(super) fn each(
    path: &Path,
    mut take: impl FnMut(Record<'_>) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let name = path.display();
    let mut file = BufReader::new(File::open(path).with_context(|| format!("read {name}"))?);
    let (mut line, mut number) = (String::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        file.read_line(&mut line)
            .with_context(|| format!("read {name}"))?;
        if !line.ends_with('\n') {
            return Ok(());
        }
        let goes_on = Record::read(&line)
            .and_then(&mut take)
            .with_context(|| format!("{name}, line {number}"))?;
        if !goes_on {
            return Ok(());
        }
    }
}

/// The bytes that hexadecimal digits stand for.
pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let pairs = pairs
        .iter()
        .map(|&[high, low]| Some(value(high)? << 4 | value(low)?));
    rest.is_empty().then(|| pairs.collect()).flatten()
}
