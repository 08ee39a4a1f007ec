//! Which kernels are known, by a fingerprint of descriptor and code.

use strobe_code_object::{DESCRIPTOR_SIZE, Descriptor};
use strobe_fingerprint::Fingerprint;

use crate::wave::dispatch::Dispatch;
use crate::wave::memory::Memory;

/// The first six are HIP's (`__amd_rocclr_..`), the others the agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    FillBufferAligned,
    FillBufferAligned2D,
    CopyBuffer,
    CopyBufferAligned,
    CopyBufferRect,
    CopyBufferRectAligned,
    Copy,
    Fingerprint,
}

/// A kernel's code: its bytes, the first 8 of them, and the fingerprint of descriptor and code.
type Known = (Kernel, usize, u64, [u32; 4]);

/// As HIP 5.2 has them made by the compiler of Debian 12, and as the agent's object has them. Tests say what belongs here
/// when they meet others.
#[rustfmt::skip]
const KNOWN: &[Known] = &[
    (Kernel::CopyBuffer, 368, 0x0000_0004_c002_0242, [0xe1f9_7318, 0xe010_7848, 0xf0ed_4206, 0xef9a_3672]),
    (Kernel::CopyBufferAligned, 260, 0x0000_0004_c002_0242, [0x1e11_0c78, 0x2ed3_8bbb, 0xb340_3145, 0x70eb_74a7]),
    (Kernel::CopyBufferRect, 388, 0x0000_0008_c002_0002, [0x5b28_4c8f, 0x84cf_ced2, 0xa112_ce29, 0xbb59_615a]),
    (Kernel::CopyBufferRectAligned, 488, 0x0000_0008_c002_02c2, [0xd11f_803e, 0x76b9_5dc8, 0x378a_cc14, 0x496c_107e]),
    (Kernel::FillBufferAligned, 592, 0x0000_0004_c002_0082, [0xe993_fefc, 0xa97b_2965, 0xaa09_890a, 0x1f8e_a556]),
    (Kernel::FillBufferAligned2D, 632, 0x0000_0004_c002_0102, [0x5d89_ffb4, 0xb57f_62ea, 0x87f2_df47, 0x523f_b148]),
    (Kernel::Copy, 580, 0x0000_0000_c00a_0202, [0x3241_435e, 0xe31f_04d7, 0x6b2d_cf3b, 0xdfbe_f381]),
    (Kernel::Fingerprint, 3236, 0x0000_0000_c00a_0002, [0xdfc9_1116, 0xde04_abf3, 0xa844_1de3, 0x367e_c184]),
];

/// Where the descriptor has its distance to the code, which is where the loader put it.
const ENTRY: std::ops::Range<usize> = 16..24;

/// The kernel that a dispatch runs, if it is one of them.
pub(super) fn kernel(dispatch: &Dispatch, memory: &mut Memory<'_>) -> Option<Kernel> {
    let mut begins = [0; 8];
    memory.get(dispatch.entry(), &mut begins).ok()?;
    let begins = u64::from_le_bytes(begins);
    // Code may be another than at the last dispatch, so it is looked at each time; most is out after that.
    let mut candidates = KNOWN.iter().filter(|known| known.2 == begins);
    let known = candidates.find(|(_, bytes, _, known)| {
        fingerprint(dispatch, *bytes, memory).is_some_and(|found| found.0 == *known)
    });
    known.map(|known| known.0)
}

fn fingerprint(
    dispatch: &Dispatch,
    code_bytes: usize,
    memory: &mut Memory<'_>,
) -> Option<Fingerprint> {
    let mut bytes = vec![0; DESCRIPTOR_SIZE + code_bytes];
    let (descriptor, code) = bytes.split_at_mut(DESCRIPTOR_SIZE);
    memory.get(dispatch.packet.kernel_object, descriptor).ok()?;
    // What is not there twice was not read in between.
    if Descriptor::parse(descriptor)? != dispatch.descriptor {
        return None;
    }
    descriptor[ENTRY].fill(0);
    memory.get(dispatch.entry(), code).ok()?;
    Some(Fingerprint::of(&bytes))
}
