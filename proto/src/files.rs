//! Names of files in a checkpoint directory (`FORMAT.md`).

/// The manifest, in the directory itself.
pub const MANIFEST: &str = "manifest.pb";
/// The folder of stored chunks.
pub const CHUNKS: &str = "chunks";
/// The folder of CRIU's images and the plugin's.
pub const CRIU: &str = "criu";
/// The folder of files that the program shares with nobody outside.
pub const FILES: &str = "files";

/// In the folder of images that one restore has: a link to the checkpoint's directory.
pub const CHECKPOINT: &str = "strobe-checkpoint";

/// In the folder of images: [`crate::PluginStatistics`].
pub const STATISTICS: &str = "strobe-plugin.img";
/// In the folder of images: [`crate::ProgramFiles`].
pub const PROGRAM_FILES: &str = "strobe-files.img";
/// In the folder of images: [`crate::SharedBuffers`], where buffer objects share memory.
pub const SHARED_BUFFERS: &str = "strobe-shared.img";
/// In the folder of images: [`crate::Attributes`].
pub const ATTRIBUTES: &str = "strobe-attributes.img";
/// In the folder of images: the contents of one of the program's files, [`crate::ProgramFile::stored`].
pub fn contents(number: usize) -> String {
    format!("strobe-file-{number}.img")
}

/// In the folder of images: the latest launches of a process, [`crate::LaunchWindow`].
pub fn launches(pid: u32) -> String {
    format!("strobe-launches-{pid}.img")
}

const RESIDUAL: &str = "strobe-residual-";

/// Whether an image is Strobe's alone.
pub fn is_strobe(name: &str) -> bool {
    name.starts_with("strobe-")
}

/// Whether [`residual`] names a file so.
pub fn is_residual(name: &str) -> bool {
    name.starts_with(RESIDUAL)
}

/// The residual of a GPU (the id that the program knows), of the process that CRIU gave the file of
/// `/dev/kfd` this number: [`crate::Residual`], then the bytes.
pub fn residual(id: i32, gpu: u32) -> String {
    format!("{RESIDUAL}{id}-{gpu:04x}.img")
}

/// The number of the thread that a file of CRIU's is of, if it is of one: CRIU writes one for each.
pub fn thread(name: &str) -> Option<u32> {
    name.strip_prefix("core-")?
        .strip_suffix(".img")?
        .parse()
        .ok()
}

/// Whether a file of CRIU's is of an address space: CRIU writes one for each process.
pub fn is_address_space(name: &str) -> bool {
    name.starts_with("mm-")
}

const MEMORY: &str = "pages-";

/// The contents of host memory, as CRIU names it: pages, one after the other.
pub fn memory(id: u32) -> String {
    format!("{MEMORY}{id}.img")
}

/// Whether [`memory`] names a file so.
pub fn is_memory(name: &str) -> bool {
    name.starts_with(MEMORY)
}

/// Whether a file of CRIU's says which pages lie in one of [`memory`].
pub fn is_pagemap(name: &str) -> bool {
    name.starts_with("pagemap-")
}

const KFD: &str = "amdgpu-kfd-";

/// The driver's state of a process, as CRIU's own plugin names it: [`crate::amdgpu::CriuKfd`].
pub fn kfd(id: i32) -> String {
    format!("{KFD}{id}.img")
}

/// The number in a name that [`kfd`] gives.
pub fn kfd_id(name: &str) -> Option<i32> {
    name.strip_prefix(KFD)?.strip_suffix(".img")?.parse().ok()
}

const RENDER_NODE: &str = "amdgpu-renderD-";

/// An open render node, as CRIU's own plugin names it: [`crate::amdgpu::CriuRenderNode`].
pub fn render_node(id: i32) -> String {
    format!("{RENDER_NODE}{id}.img")
}

/// The number in a name that [`render_node`] gives.
pub fn render_node_id(name: &str) -> Option<i32> {
    let id = name.strip_prefix(RENDER_NODE)?.strip_suffix(".img")?;
    id.parse().ok()
}

/// Content of one buffer object of an open render node, as CRIU's own plugin names it: a length, then the bytes.
/// `index` is its place in [`crate::amdgpu::CriuRenderNode::bo_entries`].
pub fn handle_pages(id: i32, minor: u32, index: usize) -> String {
    format!("amdgpu-drm-pages-{id}-{minor}-{index:04x}.img")
}

/// Whether [`render_node`] names a file so.
pub fn is_render_node(name: &str) -> bool {
    name.starts_with(RENDER_NODE)
}

/// Whether a file is of a dma-buf's descriptor, as CRIU's own plugin names it.
pub fn is_dmabuf(name: &str) -> bool {
    name.starts_with("amdgpu-dmabuf_")
}

/// Content of a GPU's buffer objects, as CRIU's own plugin names it: a length, then the bytes.
/// `gpu` is the id that the program knows.
pub fn pages(id: i32, gpu: u32) -> String {
    format!("amdgpu-pages-{id}-{gpu:04x}.img")
}
