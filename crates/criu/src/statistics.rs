//! CRIU's statistics file: two magic words, a u32 length, and one protobuf message.

use std::path::{Path, PathBuf};
use std::{fs, io};

use prost::Message;
use strobe_proto::stats::{DumpStats, StatsEntry};

/// First word of a CRIU service image, and second word of its statistics (criu/include/magic.h).
const SERVICE_MAGIC: u32 = 0x5510_5940;
const STATS_MAGIC: u32 = 0x5709_3306;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum StatisticsError {
    #[error("CRIU's statistics {path} cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{0} is not a statistics file of CRIU's dump")]
    Form(PathBuf),
}

/// Reads `stats-dump` of the folder CRIU worked in.
pub fn read_dump(work: &Path) -> Result<DumpStats, StatisticsError> {
    let path = work.join("stats-dump");
    let bytes = fs::read(&path).map_err(|error| StatisticsError::Read {
        path: path.clone(),
        error,
    })?;
    parse(&bytes)
        .and_then(|entry| entry.dump)
        .ok_or(StatisticsError::Form(path))
}

fn parse(bytes: &[u8]) -> Option<StatsEntry> {
    let mut rest = bytes;
    let mut word = || {
        let (head, tail) = rest.split_first_chunk()?;
        rest = tail;
        Some(u32::from_le_bytes(*head))
    };
    if word()? != SERVICE_MAGIC || word()? != STATS_MAGIC {
        return None;
    }
    let len = word()? as usize;
    StatsEntry::decode(rest.get(..len)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_checked_and_the_message_read() {
        // dump { freezing_time 3, frozen_time 300 }, encoded by hand.
        let message = [0x0a, 5, 0x08, 3, 0x10, 0xac, 0x02];
        let mut bytes = Vec::new();
        bytes.extend(SERVICE_MAGIC.to_le_bytes());
        bytes.extend(STATS_MAGIC.to_le_bytes());
        bytes.extend((message.len() as u32).to_le_bytes());
        bytes.extend(message);
        let dump = parse(&bytes)
            .expect("well formed")
            .dump
            .expect("a dump entry");
        assert_eq!((dump.freezing_time, dump.frozen_time), (3, 300));
        assert!(parse(&bytes[..bytes.len() - 1]).is_none(), "a cut file");
        bytes[0] ^= 1;
        assert!(parse(&bytes).is_none(), "another magic");
    }
}
