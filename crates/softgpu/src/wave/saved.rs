//! A workgroup that was evicted, as bytes: all that its waves have beyond memory.
//!
//! Words of four bytes, little-endian:
//!
//! | words | of the workgroup |
//! |---|---|
//! | 1 | waves |
//! | 1 | `V`: vector and accumulation registers of each |
//! | 1 | `P`: words of private memory of each |
//! | 1 | `L`: words of LDS |
//! | 1 | the wave whose turn it is, or their number |
//! | `L` | LDS |
//!
//! and then for each wave:
//!
//! | words | of the wave |
//! |---|---|
//! | 2 | address of the next instruction, low half first |
//! | 1 | 0: it runs, 1: it lets others run first, 2: it is at a barrier, 3: it has ended, 4 and 5: it is at a barrier of the grid until that is even, odd |
//! | 1 | SCC |
//! | 1 | MODE |
//! | 1 | `D`: words of private memory that follow, at most `P`; the rest is zero |
//! | 128 | scalar registers by operand code: VCC, M0, EXEC, the trap handler's and all others |
//! | 64 `V` | vector registers, then accumulation registers, a word each lane |
//! | `D` | private memory |
//!
//! Waves stand between two instructions, so what the steps of one use among themselves is not there. The reader
//! knows from the dispatch how much of everything there must be: the bytes come out of memory that the program
//! can write, and of images.

use strobe_isa::scalar_register::CODES;

use super::control::check_mode;
use super::dispatch::Dispatch;
use super::launch;
use super::register::ACCUMULATORS;
use super::state::{Status, Wave};
use super::unit::ComputeUnit;

const STATUS: [Status; 6] = [
    Status::Running,
    Status::Yielded,
    Status::AtBarrier,
    Status::Ended,
    Status::AtGridBarrier { until_odd: false },
    Status::AtGridBarrier { until_odd: true },
];

impl ComputeUnit {
    /// The workgroup `id` of `dispatch`, which this unit has and was evicted.
    pub fn save(&self, dispatch: &Dispatch, id: [u32; 3]) -> Vec<u8> {
        let waves = &self.waves[..launch::waves(dispatch, id)];
        let registers = dispatch.registers();
        let private = waves.first().map_or(0, |wave| wave.private.words());
        let lds = self.lds.content();
        let mut words = vec![
            waves.len() as u32,
            registers.iter().sum::<usize>() as u32,
            private as u32,
            lds.len() as u32,
            self.turn as u32,
        ];
        words.extend(lds);
        for wave in waves {
            let status = STATUS.iter().position(|status| *status == wave.status);
            let private = wave.private.content();
            words.extend([
                wave.pc as u32,
                (wave.pc >> 32) as u32,
                status.unwrap_or(0) as u32,
                u32::from(wave.scc),
                wave.mode,
                private.len() as u32,
            ]);
            words.extend((0..CODES).map(|code| wave.scalar(code as u8)));
            for register in numbers(registers) {
                words.extend(wave.vector(register));
            }
            words.extend(private);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Takes in a workgroup that was saved; none if these bytes are not of this one.
    pub(super) fn load(&mut self, dispatch: &Dispatch, id: [u32; 3], saved: &[u8]) -> Option<()> {
        let count = self.start(dispatch, id);
        let registers = dispatch.registers();
        let (words, []) = saved.as_chunks::<4>() else {
            return None;
        };
        let mut reader = Reader(words);
        let waves = &mut self.waves[..count];
        let lds = self.lds.content_mut();
        let private = waves.first().map_or(0, |wave| wave.private.words());
        let shape = [count, registers.iter().sum(), private, lds.len()];
        for of in shape {
            (reader.next()? as usize == of).then_some(())?;
        }
        self.turn = reader.next().filter(|turn| *turn as usize <= count)? as usize;
        reader.fill(lds)?;
        for wave in waves {
            reader.wave(wave, registers)?;
        }
        reader.0.is_empty().then_some(())
    }
}

/// The places of so many vector and accumulation registers.
fn numbers([vectors, accumulators]: [usize; 2]) -> impl Iterator<Item = u16> {
    (0..vectors as u16).chain((ACCUMULATORS..).take(accumulators))
}

/// Takes words from the front.
struct Reader<'a>(&'a [[u8; 4]]);

impl Reader<'_> {
    fn next(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn fill(&mut self, target: &mut [u32]) -> Option<()> {
        let (words, rest) = self.0.split_at_checked(target.len())?;
        self.0 = rest;
        for (place, word) in target.iter_mut().zip(words) {
            *place = u32::from_le_bytes(*word);
        }
        Some(())
    }

    fn wave(&mut self, wave: &mut Wave, registers: [usize; 2]) -> Option<()> {
        wave.pc = u64::from(self.next()?) | u64::from(self.next()?) << 32;
        wave.status = *STATUS.get(self.next()? as usize)?;
        wave.scc = match self.next()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        wave.mode = self.next()?;
        check_mode(wave.mode).ok()?;
        let private = self.next()? as usize;
        for code in 0..CODES {
            wave.set_scalar(code as u8, self.next()?);
        }
        for register in numbers(registers) {
            self.fill(wave.vector_mut(register))?;
        }
        self.fill(wave.private.beginning_mut(private)?)
    }
}
