//! The plugin's answer to the hand-over: what it has set aside in the copy-aside pool.
//!
//! Content that is not tracked would have to cross the link while the program is frozen. Where the
//! pool has room the plugin copies it there, inside the device, and we deliver it afterwards.

use crate::checkpoint::refusal::Refusal;
use prost::Message;
use std::sync::atomic::{AtomicU8, Ordering};
use strobe_engine::SetAside;
use strobe_extent::Extent;
use strobe_proto::{ByteRange, SetAsideAnswer};

/// Bytes of an answer: about two thousand ranges.
const BYTES: usize = 64 << 10;

/// Where the plugin puts content and answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The first third of the pool: the rest is for the program's writes.
    room: Extent,
    /// Written by another process.
    bytes: Box<[AtomicU8]>,
}

impl Answer {
    /// Room for an answer; none where a third of the pool is nothing.
    pub(crate) fn expect(pool: Extent) -> Option<Answer> {
        Some(Answer {
            room: Extent::with_len(pool.start(), pool.len() / 3).ok()?,
            bytes: (0..BYTES).map(|_| AtomicU8::new(0)).collect(),
        })
    }

    /// For the hand-over: the room for content, and that for the answer.
    pub(crate) fn places(&self) -> (ByteRange, ByteRange) {
        let content = self.room.into();
        let answer = ByteRange {
            start: self.bytes.as_ptr() as u64,
            len: BYTES as u64,
        };
        (content, answer)
    }

    /// What was set aside. The engine checks that it fits the pool and contradicts nothing.
    pub(crate) fn read(&self) -> Result<Vec<SetAside>, Refusal> {
        let wrong = || Refusal::WrongAnswer;
        // Written before the verdict, which has been read.
        let bytes = self.bytes.iter().map(|byte| byte.load(Ordering::Relaxed));
        let bytes: Vec<u8> = bytes.collect();
        let (len, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok();
        let message = len.and_then(|len| rest.get(..len)).ok_or_else(wrong)?;
        let answer = SetAsideAnswer::decode(message).map_err(|_| wrong())?;
        let range = |range: strobe_proto::AsideRange| {
            let extent = range.extent?;
            let in_room = range.room_offset.checked_add(extent.len)? <= self.room.len();
            in_room.then_some(SetAside {
                extent: Extent::try_from(extent).ok()?,
                pool_offset: range.room_offset,
            })
        };
        answer
            .ranges
            .into_iter()
            .map(|message| range(message).ok_or_else(wrong))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::AsideRange;

    fn answer_with(ranges: &[(u64, u64, u64)]) -> Result<Vec<SetAside>, Refusal> {
        let answer = Answer::expect(Extent::with_len(0x10_0000, 0x3000).unwrap()).unwrap();
        let message = SetAsideAnswer {
            ranges: ranges
                .iter()
                .map(|&(start, len, room_offset)| AsideRange {
                    extent: Some(ByteRange { start, len }),
                    room_offset,
                })
                .collect(),
        };
        let message = message.encode_to_vec();
        write(&answer, message.len() as u64, &message);
        answer.read()
    }

    fn write(answer: &Answer, len: u64, message: &[u8]) {
        let bytes = len.to_le_bytes().into_iter().chain(message.iter().copied());
        for (place, byte) in answer.bytes.iter().zip(bytes) {
            place.store(byte, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_answer_is_believed_only_inside_the_room() {
        assert!(answer_with(&[]).unwrap().is_empty());
        let good = answer_with(&[(0x5000, 0x800, 0x800), (0x9000, 0x800, 0)]).unwrap();
        assert_eq!(good[0].pool_offset, 0x800);
        assert_eq!(good[1].extent, Extent::with_len(0x9000, 0x800).unwrap());
        for bad in [
            (0x5000, 0x801, 0x800),
            (0x5000, 0, 0),
            (u64::MAX, 2, 0),
            (0x5000, 1, u64::MAX),
        ] {
            assert!(answer_with(&[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_answer_that_is_longer_than_its_room_is_none() {
        let answer = Answer::expect(Extent::with_len(0x10_0000, 0x3000).unwrap()).unwrap();
        assert!(answer.read().unwrap().is_empty(), "nothing is said yet");
        for len in [BYTES as u64 - 7, u64::MAX] {
            write(&answer, len, &[]);
            assert!(answer.read().is_err());
        }
    }
}
