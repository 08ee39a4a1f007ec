//! Kernels that the software GPU knows, interpreted and done natively on the same memory.

use strobe_code_object::DESCRIPTOR_SIZE;
use strobe_fingerprint::Fingerprint;
use strobe_softgpu::wave::Native;

use super::{Gpu, Module};

impl Gpu {
    /// Runs a kernel both ways, from the same memory; `len` bytes at `va` are the same after it.
    ///
    /// # Panics
    /// If it is not known (with what the table of known kernels wants of it), or they differ.
    #[allow(clippy::too_many_arguments, reason = "a launch has that many")]
    pub fn both_ways(
        &mut self,
        module: &Module,
        kernel: &str,
        grid: [u32; 3],
        items: [u16; 3],
        args: &[Vec<u8>],
        (va, len): (u64, usize),
    ) {
        let dispatch = self.prepare(module, kernel, grid, items, args);
        let native = Native::of(&dispatch, &self.memory)
            .unwrap_or_else(|| panic!("not known: {}", module.identity(kernel)));
        let before = self.memory.read(va, len);
        self.run(&dispatch).expect("the interpreter runs it");
        let interpreted = self.memory.read(va, len);
        self.memory.write(va, &before);
        for piece in 0..native.pieces() {
            native.run(piece, &self.memory).expect("the host does it");
        }
        let done = self.memory.read(va, len);
        if let Some(at) = (0..len).find(|&at| done[at] != interpreted[at]) {
            panic!(
                "{kernel} of {grid:?} in groups of {items:?} with {args:x?}: byte {at} at {va:#x} is {:#x} natively, \
                 {:#x} interpreted, was {:#x}",
                done[at], interpreted[at], before[at]
            );
        }
    }
}

impl Module {
    /// A kernel as the table of known ones has it.
    fn identity(&self, name: &str) -> String {
        let kernel = self.object.kernels.iter().find(|k| k.name == name);
        let kernel = kernel.unwrap_or_else(|| panic!("no kernel {name}"));
        let content = |address, bytes| &self.object.content_from(address).expect("code")[..bytes];
        let bytes = (kernel.code.end - kernel.code.start) as usize;
        let code = content(kernel.code.start, bytes);
        let mut all = content(kernel.descriptor_address, DESCRIPTOR_SIZE).to_vec();
        all[16..24].fill(0);
        all.extend(code);
        let begins = u64::from_le_bytes(code[..8].try_into().expect("8 bytes"));
        let [a, b, c, d] = Fingerprint::of(&all).0;
        format!("{name}, {bytes}, {begins:#018x}, [{a:#010x}, {b:#010x}, {c:#010x}, {d:#010x}]")
    }
}
