//! What a dispatch was given, for the access log: enough to ask of its footprint without the program.
//!
//! Lines of their own say, before the dispatches that they hold for, `{"pid":1,"memory":[[start,end,"device",serial],...]}`,
//! what is mapped (`device`, or `host`; the serial is the buffer object's, of which no other has the same), and
//! `{"pid":1,"code":serial,"image":"hex bytes"}`, what an object held when a kernel in it was first launched. A
//! dispatch's own line has `"behind":[[address,"hex bytes"],...]`: of each pointer to device memory in its kernarg
//! segment, what stood there before it ran.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::memory::translate;
use crate::space::Snapshot;
use crate::wave::Dispatch;

/// Bytes logged behind one pointer.
const BEHIND: u64 = 4 << 10;
/// Pointers of one dispatch behind which is looked.
const POINTERS: usize = 64;
/// Bytes of a kernarg segment; of one whose descriptor does not say how long it is, fewer.
const KERNARG: u64 = 64 << 10;
const UNSAID_KERNARG: u64 = 1 << 10;
/// Of code that is logged.
const IMAGE: u64 = 512 << 20;

/// What the log has of a process so far.
#[derive(Debug, Default)]
pub(super) struct Logged {
    /// GPU and state of its address space of the last line about memory.
    memory: Option<(usize, u64)>,
    /// Objects of which the code is there.
    code: HashSet<u32>,
}

/// How long the kernarg segment is that the log shows.
pub(super) fn kernarg_len(space: &Snapshot, dispatch: &Dispatch, launches: bool) -> u64 {
    let said = u64::from(dispatch.descriptor.kernarg_size);
    if said > 0 || !launches {
        return said.min(KERNARG);
    }
    let at = dispatch.packet.kernarg_address;
    space.find(at).map_or(0, |region| {
        (region.mapping.end - at).min(UNSAID_KERNARG) & !7
    })
}

/// What stands behind the pointers of a dispatch that has not begun.
pub(super) fn behind(space: &Snapshot, dispatch: &Dispatch) -> String {
    let len = kernarg_len(space, dispatch, true);
    let Some(kernarg) = bytes(space, dispatch.packet.kernarg_address, len) else {
        return String::new();
    };
    let (words, _) = kernarg.as_chunks::<8>();
    let mut seen = HashSet::new();
    let mut text = String::new();
    for address in words.iter().map(|word| u64::from_le_bytes(*word)) {
        let region = space
            .find(address)
            .filter(|region| region.vram_of.is_some());
        let Some(region) = region.filter(|_| seen.len() < POINTERS && seen.insert(address)) else {
            continue;
        };
        let len = (region.mapping.end - address).min(BEHIND);
        if let Some(content) = bytes(space, address, len) {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}[{address},\"{}\"]", hex(content));
        }
    }
    text
}

impl Logged {
    /// The lines that the log lacks before that of this dispatch.
    pub(super) fn lines(&mut self, gpu: usize, space: &Snapshot, dispatch: &Dispatch) -> String {
        let mut lines = String::new();
        let pid = std::process::id();
        let state = Some((gpu, space.epoch()));
        if self.memory != state {
            self.memory = state;
            let regions = space.regions().iter().map(|region| {
                let kind = region.vram_of.map_or("host", |_| "device");
                let (mapping, serial) = (&region.mapping, region.serial);
                format!("[{},{},\"{kind}\",{serial}]", mapping.start, mapping.end)
            });
            let regions: Vec<String> = regions.collect();
            let _ = writeln!(
                lines,
                "{{\"pid\":{pid},\"memory\":[{}]}}",
                regions.join(",")
            );
        }
        if let Some(code) = space.find(dispatch.packet.kernel_object)
            && self.code.insert(code.serial)
        {
            let (start, end) = (code.mapping.start, code.mapping.end);
            let image = bytes(space, start, (end - start).min(IMAGE)).unwrap_or_default();
            let _ = writeln!(
                lines,
                "{{\"pid\":{pid},\"code\":{},\"image\":\"{}\"}}",
                code.serial,
                hex(image)
            );
        }
        lines
    }
}

/// The bytes at `va`, if they are mapped at one piece.
pub(super) fn bytes(space: &Snapshot, va: u64, len: u64) -> Option<&[u8]> {
    let host = translate(space, va, len)?;
    // SAFETY: translated for `len` bytes, which stay mapped as long as the device does, or, of the program's own
    // memory, while a kernel uses them. Others may write there: what is logged then is some mixture of bytes.
    Some(unsafe { std::slice::from_raw_parts(host, len as usize) })
}

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}
