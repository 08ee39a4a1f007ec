//! `amdgpu_plugin.so`: CRIU's amdgpu plugin, and Strobe's part in the freeze.
//!
//! A drop-in: the same plugin name, hooks and images as CRIU's own. With an agent in the program
//! it does less: the agent promises to deliver the content of most of VRAM, so only the rest (the
//! residual) is copied while the program stands still.
//!
//! | module | job |
//! |---|---|
//! | `descriptor`, `hooks` | what CRIU calls; no panic gets out |
//! | `host` | what CRIU offers, resolved at run time |
//! | `devices` | which descriptors and mappings are the GPU's |
//! | `hand_over` | the agent's gate and its promise |
//! | `dump`, `restore` | the flow of each |
//! | `kfd_image` | the image of the compute driver's file |
//! | `dump_error`, `restore_error` | why one fails |
//! | `sharing`, `exchange` | memory that processes share: which it is, and how it comes back as one |
//! | `gem` | buffer objects that the program itself holds at render nodes |
//! | `fill`, `filler` | contents of restored buffer objects; the process that fills them meanwhile |
//! | `letting_go` | from when on CRIU lets all of a program go, whoever is killed |
//! | `agent_first` | who runs first of a program that is restored on demand |
//! | `checkpoint` | the directory around CRIU's images |
//! | `promise` | what of contents an agent promises, and what remains to be saved |
//! | `save` | contents on their way out |
//! | `topology`, `links`, `mapping` | the machine's GPUs, and which stands in for which |
//! | `limits` | resource limits of processes of other users |
//! | `open_files` | whose an open file is |
//! | `options` | what a user may set, and what it may be |
//! | `soft_dirty` | whether CRIU's pre-dump can work |
//! | `sockets` | options of sockets that newer kernels know for some only |
//! | `stops` | SIGSTOP while CRIU has the program in its hands |
//! | `vma` | where mappings of buffer objects have gone |
//! | `images` | CRIU's images, in its folder or streamed |
//!
//! What must hold: queues that were stopped run again on every path, once; what CRIU lacks in some
//! version is looked up by name, because one missing symbol would keep the plugin from loading
//! and with it all of CRIU; nothing here knows of any particular driver below the kernel's
//! interface.

mod agent_first;
mod checkpoint;
mod descriptor;
mod devices;
mod dump;
mod dump_error;
mod exchange;
mod fill;
mod filler;
mod gem;
mod hand_over;
mod hooks;
mod host;
mod images;
mod interrupted;
mod kfd_image;
mod left_behind;
mod letting_go;
mod limits;
mod links;
mod mapping;
mod open_files;
mod options;
mod promise;
mod restore;
mod restore_error;
mod save;
mod sharing;
mod signals;
mod sockets;
mod soft_dirty;
mod spans;
mod stops;
mod terminals;
mod threads;
mod topology;
mod vma;
