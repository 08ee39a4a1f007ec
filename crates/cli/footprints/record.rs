//! The lines of both logs, as values that are checked.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, anyhow};
use serde_json::Value;
use strobe_extent::{Cover, Extent, Reason, Side};

/// Hands over each record of a log; an error names its line.
pub(super) fn each(
    path: &Path,
    mut take: impl FnMut(&Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {name}"))?;
        let record = serde_json::from_str(&line).context("no JSON");
        record
            .and_then(|record| take(&Record(record)))
            .with_context(|| format!("{name}, line {}", index + 1))?;
    }
    Ok(())
}

/// One line.
#[derive(Debug)]
pub(super) struct Record(Value);

impl Record {
    pub(super) fn has(&self, key: &str) -> bool {
        !self.0[key].is_null()
    }

    pub(super) fn text(&self, key: &str) -> anyhow::Result<&str> {
        self.0[key].as_str().with_context(|| no(key))
    }

    pub(super) fn number(&self, key: &str) -> anyhow::Result<u64> {
        self.0[key].as_u64().with_context(|| no(key))
    }

    pub(super) fn triple(&self, key: &str) -> anyhow::Result<[u64; 3]> {
        let of = |at: usize| self.0[key][at].as_u64().with_context(|| no(key));
        Ok([of(0)?, of(1)?, of(2)?])
    }

    pub(super) fn bytes(&self, key: &str) -> anyhow::Result<Vec<u8>> {
        bytes(&self.0[key]).with_context(|| no(key))
    }

    pub(super) fn extent(&self, key: &str) -> anyhow::Result<Extent> {
        extent(&self.0[key]).with_context(|| no(key))
    }

    /// A side that may be anything is its reason.
    pub(super) fn side(&self, key: &str) -> anyhow::Result<Side> {
        if self.0[key].is_string() {
            return Ok(Side::Unknown(Reason::Other("as logged")));
        }
        let covers = self.0[key].as_array().with_context(|| no(key))?;
        let mut side = Side::none();
        for value in covers {
            side.insert_cover(cover(value).with_context(|| no(key))?);
        }
        Ok(side)
    }

    /// Pairs of an offset and bytes; none where they are not known.
    pub(super) fn arguments(&self) -> anyhow::Result<Vec<(usize, Vec<u8>)>> {
        let arguments = self.0["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.map(|argument| {
            let offset = usize::try_from(argument[0].as_u64()?).ok()?;
            Some((offset, bytes(&argument[1])?))
        });
        let arguments: Option<_> = arguments.collect();
        arguments.with_context(|| no("arguments"))
    }

    /// What is neither this nor that.
    pub(super) fn unknown(&self) -> anyhow::Error {
        anyhow!("{} is no record of this log", self.0)
    }
}

fn no(key: &str) -> String {
    format!("no {key}, or not as it should be")
}

fn extent(value: &Value) -> Option<Extent> {
    Extent::new(value[0].as_u64()?, value[1].as_u64()?).ok()
}

/// An extent, and how it is repeated: pairs of a stride and a count.
fn cover(value: &Value) -> Option<Cover> {
    let extent = extent(value)?;
    let (pairs, []) = value.as_array()?.get(2..)?.as_chunks() else {
        return None;
    };
    let level = |[stride, count]: &[Value; 2]| Some((stride.as_u64()?, count.as_u64()?));
    let levels: Vec<(u64, u64)> = pairs.iter().map(level).collect::<Option<_>>()?;
    Cover::new(extent.start(), extent.len(), levels)
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    let digits = value.as_str()?.as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| {
        let [high, low] = pair else { return None };
        u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
    });
    pairs.collect()
}
