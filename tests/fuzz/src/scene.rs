//! What a kernel is launched with: device memory, arguments, grid. A scene is text, so that a failure
//! can be kept:
//!
//! ```text
//! //~ buffer SIZE GAP MASK SEED     its words are random, cut by MASK; GAP bytes follow it
//! //~ unknown 3                     the content of buffer 3 is not known at the launch
//! //~ word 3 16 8 2+4096            8 bytes at offset 16 of buffer 3: address 4096 in buffer 2
//! //~ argument 24 4 -7              4 bytes at offset 24 of the kernarg segment
//! //~ grid X Y Z block X Y Z        both in work-items
//! ```

use std::fmt;

use anyhow::{Context, bail};
use strobe_extent::Extent;

use crate::random::Random;

/// A buffer of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneBuffer {
    /// In bytes, a multiple of 8.
    pub size: u64,
    /// Bytes of nothing between this buffer and the next.
    pub gap: u64,
    /// What its random words are cut to.
    pub mask: u32,
    pub seed: u64,
    /// Whether the analysis may look at its content.
    pub known: bool,
}

/// What stands in memory or in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    /// The address of a byte relative to a buffer, which may be outside of it.
    Address(usize, i64),
}

/// A value at an offset, of 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub offset: u64,
    pub bytes: usize,
    pub value: Value,
}

/// One launch and the memory that it finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    pub buffers: Vec<SceneBuffer>,
    /// What is in buffers besides random words: buffer and word.
    pub words: Vec<(usize, Word)>,
    pub arguments: Vec<Word>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

impl Scene {
    /// Where the buffers are if the first one begins at `start`.
    #[must_use]
    pub fn places(&self, start: u64) -> Vec<Extent> {
        let mut next = start;
        let place = self.buffers.iter().map(|buffer| {
            let place = Extent::with_len(next, buffer.size).expect("a buffer has a size");
            next += buffer.size + buffer.gap;
            place
        });
        place.collect()
    }

    /// The content of each buffer.
    #[must_use]
    pub fn contents(&self, places: &[Extent]) -> Vec<Vec<u8>> {
        let mut contents: Vec<Vec<u8>> = self.buffers.iter().map(SceneBuffer::content).collect();
        for (buffer, word) in &self.words {
            word.write(&mut contents[*buffer], places);
        }
        contents
    }

    /// The explicit arguments, `size` bytes of kernarg segment.
    #[must_use]
    pub fn kernarg(&self, size: usize, places: &[Extent]) -> Vec<u8> {
        let mut kernarg = vec![0; size];
        for word in &self.arguments {
            word.write(&mut kernarg, places);
        }
        kernarg
    }

    /// Takes in one line (without its mark). `false` if it is none of a scene.
    ///
    /// # Errors
    /// If a number is missing or is none.
    pub fn line(&mut self, line: &str) -> anyhow::Result<bool> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["buffer", size, gap, mask, seed] => self.buffers.push(SceneBuffer {
                size: size.parse()?,
                gap: gap.parse()?,
                mask: mask.parse()?,
                seed: seed.parse()?,
                known: true,
            }),
            ["unknown", buffer] => {
                let buffer: usize = buffer.parse()?;
                let buffer = self.buffers.get_mut(buffer).context("no such buffer")?;
                buffer.known = false;
            }
            ["word", buffer, rest @ ..] => {
                let buffer: usize = buffer.parse()?;
                let room = self.buffers.get(buffer).context("no such buffer")?.size;
                let word = self.word(rest, room)?;
                self.words.push((buffer, word));
            }
            ["argument", rest @ ..] => {
                let word = self.word(rest, 4096)?;
                self.arguments.push(word);
            }
            ["grid", x, y, z, "block", bx, by, bz] => {
                self.grid = [x.parse()?, y.parse()?, z.parse()?];
                self.block = [bx.parse()?, by.parse()?, bz.parse()?];
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn word(&self, words: &[&str], room: u64) -> anyhow::Result<Word> {
        let [offset, bytes, value] = words else {
            bail!("a word has an offset, a size and a value");
        };
        let value = match value.split_once('+') {
            None => Value::Number(value.parse()?),
            Some((buffer, offset)) => {
                let buffer: usize = buffer.parse()?;
                self.buffers.get(buffer).context("no such buffer")?;
                Value::Address(buffer, offset.parse()?)
            }
        };
        let word = Word {
            offset: offset.parse()?,
            bytes: bytes.parse()?,
            value,
        };
        let end = word.offset.saturating_add(word.bytes as u64);
        if ![1, 2, 4, 8].contains(&word.bytes) || end > room {
            bail!("{} bytes at {} are not inside", word.bytes, word.offset);
        }
        Ok(word)
    }
}

impl SceneBuffer {
    fn content(&self) -> Vec<u8> {
        let mut random = Random::new(self.seed);
        let words = (0..self.size / 4).map(|_| random.word() as u32 & self.mask);
        words.flat_map(u32::to_le_bytes).collect()
    }
}

impl Word {
    fn write(&self, bytes: &mut [u8], places: &[Extent]) {
        let value = match self.value {
            Value::Number(number) => number,
            Value::Address(buffer, offset) => {
                places[buffer].start().cast_signed().wrapping_add(offset)
            }
        };
        let at = self.offset as usize;
        bytes[at..at + self.bytes].copy_from_slice(&value.to_le_bytes()[..self.bytes]);
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Address(buffer, offset) => write!(f, "{buffer}+{offset}"),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.offset, self.bytes, self.value)
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for b in &self.buffers {
            writeln!(f, "//~ buffer {} {} {} {}", b.size, b.gap, b.mask, b.seed)?;
        }
        for (number, _) in self.buffers.iter().enumerate().filter(|(_, b)| !b.known) {
            writeln!(f, "//~ unknown {number}")?;
        }
        for (buffer, word) in &self.words {
            writeln!(f, "//~ word {buffer} {word}")?;
        }
        for word in &self.arguments {
            writeln!(f, "//~ argument {word}")?;
        }
        let ([x, y, z], [bx, by, bz]) = (self.grid, self.block);
        writeln!(f, "//~ grid {x} {y} {z} block {bx} {by} {bz}")
    }
}
