//! How much of an input is taken.

/// Bounds on what one input may make us do.
#[derive(Clone, Copy, Debug)]
pub struct ObjectLimits {
    /// Bytes that one compressed bundle may grow to.
    pub uncompressed: usize,
    /// Entries of one offload bundle.
    pub entries: usize,
    /// Code objects taken from one file.
    pub objects: usize,
    /// Symbols read from one code object.
    pub symbols: usize,
    /// Kernels read from one code object.
    pub kernels: usize,
    /// Bytes of one metadata note.
    pub metadata: usize,
}

impl Default for ObjectLimits {
    fn default() -> Self {
        Self {
            uncompressed: 4 << 30,
            entries: 1024,
            objects: 65_536,
            symbols: 4 << 20,
            kernels: 1 << 20,
            metadata: 256 << 20,
        }
    }
}
