//! What a load brings at a launch.
//!
//! A load whose address is one of several brings one of several words, and it is every one of them: in
//! arithmetic, in comparisons and as an address, whether it looks like a pointer or not. Addresses
//! know their steps ([`crate::range`]), so a table of records is read at one field and not at all.

use strobe_extent::{Extent, Reason};

use crate::broken::Rule;
use crate::evaluate::Evaluation;
use crate::expr::Symbolic;
use crate::host_calls::Structure;
use crate::range::Range;
use crate::value::{Alternative, Origin, Value};
use crate::work;

impl Evaluation<'_> {
    /// A dword (4) or qword (8) of a load.
    pub(crate) fn load(&mut self, load: u32, dword: u8, bytes: u32) -> Value {
        let load = self.plan.loads[load as usize];
        let address = self.value(load.address, load.facts);
        if load.bytes < 4 {
            return self.narrow_load(&address, load.bytes, load.signed);
        }
        let bits = 8 * bytes;
        let skip = Range::exactly(i128::from(dword) * 4);
        let mut all = Vec::new();
        for alternative in address.alternatives() {
            let range = alternative.range.add(skip, 64);
            match alternative.origin {
                // Which word that is, is not sure enough.
                _ if load.scalar && !range.is_of_words() => {
                    all.push(Alternative::lost(Reason::PointerFromMemory, bits));
                }
                Origin::Symbol(Symbolic::Kernarg) => self.scan_kernarg(range, bytes, &mut all),
                Origin::Symbol(Symbolic::Packet) if range.single().is_some() && bytes == 4 => {
                    let offset = u32::try_from(range.lo).unwrap_or(u32::MAX);
                    all.extend(self.packet(offset).alternatives());
                }
                Origin::Symbol(Symbolic::HostCalls(structure)) => {
                    all.push(host_call_word(structure, range, bytes));
                }
                Origin::Runtime => all.push(Alternative {
                    origin: Origin::RuntimeWord,
                    range: Range::full(bits),
                }),
                Origin::Number | Origin::Base(_) => self.scan_memory(range, bytes, &mut all),
                _ => all.push(Alternative::lost(Reason::PointerFromMemory, bits)),
            }
        }
        if Rule::SlotsHoldNumbers.is_broken() && bytes == 8 {
            all = pointers_alone(all);
        }
        Value::any(all, bits)
    }

    /// A byte or a 16-bit word: no pointer. Arguments by value may be indices into each other.
    fn narrow_load(&mut self, address: &Value, bytes: u8, signed: bool) -> Value {
        let bits = 8 * u32::from(bytes);
        let any = Range::full(bits);
        let mut all: Option<Range> = None;
        for alternative in address.alternatives() {
            let found = match alternative.origin {
                Origin::Symbol(Symbolic::Kernarg) => {
                    self.narrow_arguments(alternative.range, bytes)
                }
                _ => None,
            };
            let found = found.unwrap_or(any);
            all = Some(all.map_or(found, |all| all.hull(found)));
        }
        let Some(all) = all else { return Value::Empty };
        let all = if signed {
            all.signed(bits)
        } else {
            all.unsigned(bits)
        };
        Value::One(Alternative::number(all))
    }

    fn narrow_arguments(&mut self, range: Range, bytes: u8) -> Option<Range> {
        let range = self.in_kernarg(range, bytes.into())?;
        let mut all: Option<Range> = None;
        for offset in steps(range) {
            self.work.charge(work::LOOK_UP);
            let offset = offset as u32;
            if self.plan.is_hidden(offset) {
                return None;
            }
            let value = self.kernarg_bytes(offset, bytes.into())?;
            let value = Range::wrap(value.into(), value.into(), 8 * u32::from(bytes));
            all = Some(all.map_or(value, |all| all.hull(value)));
        }
        all
    }

    /// Offsets of so many bytes in the kernarg segment: an index stays in the argument it indexes.
    fn in_kernarg(&self, range: Range, bytes: u32) -> Option<Range> {
        range.within(0, i128::from(self.plan.kernarg_size) - i128::from(bytes))
    }

    /// Words of the kernarg segment at some offsets.
    fn scan_kernarg(&mut self, range: Range, bytes: u32, all: &mut Vec<Alternative>) {
        let Some(range) = self.in_kernarg(range, bytes) else {
            let reason = Reason::Other("argument that was not given");
            return all.push(Alternative::lost(reason, 8 * bytes));
        };
        for offset in steps(in_words(range, bytes)) {
            self.work.charge(work::LOOK_UP);
            all.extend(self.kernarg(offset as u32, bytes).alternatives());
        }
    }

    /// Words of device memory, if their content is known.
    fn scan_memory(&mut self, range: Range, bytes: u32, all: &mut Vec<Alternative>) {
        let bits = 8 * bytes;
        let unknown = Alternative::lost(Reason::PointerFromMemory, bits);
        let length = range.hi - range.lo + i128::from(bytes);
        if range.lo < 4096 || length > i128::from(self.plan.longest_table()) {
            all.push(unknown);
            return;
        }
        let (start, length) = (range.lo as u64, length as usize);
        let content = self
            .memory
            .known_bytes(start, length)
            .filter(|c| c.len() == length);
        let (Some(content), Ok(extent)) = (content, Extent::with_len(start, length as u64)) else {
            all.push(unknown);
            return;
        };
        self.consulted.push(extent);
        for at in steps(in_words(range, bytes)) {
            self.work.charge(work::ALTERNATIVE);
            let at = (at - range.lo) as usize;
            let word = content[at..at + bytes as usize]
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            all.push(if bytes == 8 {
                self.pointer(word)
            } else {
                Alternative::number(Range::wrap(word.into(), word.into(), 32))
            });
        }
    }
}

/// A word of what the runtime has for calls of the host.
fn host_call_word(structure: Structure, range: Range, bytes: u32) -> Alternative {
    let at = range.single().and_then(|at| i64::try_from(at).ok());
    let pointer = at.and_then(|at| structure.pointer_at(at));
    let range = match pointer {
        Some((_, 0)) if bytes == 8 => Range::exactly(0),
        Some(_) if bytes == 4 => Range::full(32),
        _ => return Alternative::lost(Reason::PointerFromMemory, 8 * bytes),
    };
    let target = pointer.map_or(Structure::Plain, |(target, _)| target);
    Alternative {
        origin: Origin::Symbol(Symbolic::HostCalls(target)),
        range,
    }
}

fn steps(range: Range) -> impl Iterator<Item = i128> {
    let count = (range.hi - range.lo) / range.step.max(1);
    (0..=count).map(move |step| range.lo + step * range.step)
}

/// Every word of a range; intervals without steps, were [`Rule::SlotsHoldNumbers`] broken.
fn in_words(range: Range, bytes: u32) -> Range {
    if Rule::SlotsHoldNumbers.is_broken() && bytes == 8 && range.step % 8 == 0 {
        return Range { step: 8, ..range };
    }
    range
}

/// What a table brings if only what looks like a pointer counts.
fn pointers_alone(mut all: Vec<Alternative>) -> Vec<Alternative> {
    let is_pointer = |one: &Alternative| matches!(one.origin, Origin::Base(_));
    if all.iter().any(is_pointer) {
        all.retain(is_pointer);
    }
    all
}
