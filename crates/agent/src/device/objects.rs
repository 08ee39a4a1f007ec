//! The code objects of the agent's kernels. The test that compiles their source includes this file.

/// By target.
pub(crate) const OBJECTS: &[(&str, &[u8])] = &[
    ("gfx906", include_bytes!("../../kernels/gfx906.co")),
    ("gfx90a", include_bytes!("../../kernels/gfx90a.co")),
    ("gfx942", include_bytes!("../../kernels/gfx942.co")),
];
