//! Images as a dump of CRIU alone leaves them: whether all is there, before anything of it is believed.
//!
//! Looked at are the list of processes and threads with their images, the lengths of memory's, and what
//! the amdgpu plugin has written. The rest is CRIU's to judge at a restore.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use prost::Message;
use strobe_proto::amdgpu::{CriuKfd, CriuRenderNode};
use strobe_proto::{BufferName, SharedBuffers, files, frame};
use strobe_store::contents::{self, ContentsError};

use crate::images::{FILES, List};
use crate::numbers::PROCESSES;
use crate::pagemap;
use crate::remapped::RegularFile;

/// `INVENTORY_MAGIC` (criu/include/magic.h): the first word of inventory.img, before a list of one.
const INVENTORY: u32 = 0x5831_3116;
/// `CORE_MAGIC`: `core_entry` of images/core.proto.
const CORE: List = list("core", 0x5505_3847);
/// `MM_MAGIC`: `mm_entry` of images/mm.proto.
const MEMORY: List = list("mm", 0x5749_2820);
/// Largest image that is read; those of contents are not.
const LIMIT: u64 = frame::IMAGE_LIMIT;
/// How many images there may be.
const MOST: usize = 1 << 20;
/// `TASK_ALIVE` and `TASK_STOPPED` (criu/include/pstree.h): one with memory.
const WITH_MEMORY: [u32; 2] = [1, 3];
/// In the images of a series, a link to the folder before it.
const PARENT: &str = "parent";
const INVENTORY_NAME: &str = "inventory.img";
/// Strobe's library, where the program has it.
const LIBRARY: &[u8] = b"/libstrobe.so";

const fn list(name: &'static str, magic: u32) -> List {
    List { name, magic }
}

#[derive(Clone, PartialEq, Message)]
struct Inventory {
    #[prost(uint32, required, tag = "1")]
    version: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(uint32, required, tag = "1")]
    pid: u32,
    #[prost(uint32, required, tag = "2")]
    parent: u32,
    #[prost(uint32, repeated, packed = "false", tag = "5")]
    threads: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct Core {
    #[prost(message, optional, tag = "3")]
    task: Option<Task>,
}

#[derive(Clone, PartialEq, Message)]
struct Task {
    #[prost(uint32, tag = "2")]
    state: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Memory {
    #[prost(uint32, tag = "12")]
    executable: u32,
}

/// Why images are not taken.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum PlainError {
    #[error("{0} cannot be read: {1}")]
    Folder(PathBuf, io::Error),
    #[error("{} has no images of CRIU (inventory.img); those of an export are in {}", .0.display(), .0.join("images").display())]
    Exported(PathBuf),
    #[error("{} has no images of CRIU (inventory.img)", .0.display())]
    NoInventory(PathBuf),
    #[error("image {0} is missing")]
    Missing(String),
    #[error("{0} is no regular file")]
    NotAFile(String),
    #[error("image {0} is not what CRIU calls so")]
    Invalid(String),
    #[error("image {name} has {len} bytes, more than any that is read")]
    TooLong { name: String, len: u64 },
    #[error("image {name} has {found} bytes and should have {expected}")]
    Length {
        name: String,
        found: u64,
        expected: u64,
    },
    #[error("image {name} cannot be read: {error}")]
    Read { name: String, error: io::Error },
    #[error("image {name}: {error}")]
    Contents { name: String, error: ContentsError },
    #[error(
        "the images are part of a series, and need those before them; dump without --prev-images-dir"
    )]
    Series,
    #[error(
        "image {0} is Strobe's: these are a part of a checkpoint, which `strobe export` makes plain images of"
    )]
    OfStrobe(String),
    #[error("the images hold no program that uses a GPU: `criu restore` brings it back")]
    NoGpu,
    #[error(
        "image {0} has memory that is shared by a descriptor, or was imported from what no image names, which is not \
         restored"
    )]
    NotRestored(String),
    #[error("there are too many images")]
    TooMany,
}

/// What is in a folder of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The number of the first process.
    pub root: u32,
    /// How many processes there are.
    pub processes: usize,
    /// How many of them use a GPU.
    pub gpu_processes: usize,
    /// Bytes of device memory and of what is mapped there.
    pub contents_bytes: u64,
    /// What the first process runs, if it is known.
    pub executable: Option<PathBuf>,
    /// Whether Strobe's library is in the program.
    pub has_library: bool,
    /// Names and lengths of all images, in the order of their names.
    pub images: Vec<(String, u64)>,
}

/// Looks at a folder of images. What is wrong with them is an error; what is besides images there is left
/// alone.
pub fn look(folder: &Path) -> Result<Plain, PlainError> {
    let images = Images::list(folder)?;
    inventory(&images.read(INVENTORY_NAME)?)
        .ok_or_else(|| PlainError::Invalid(INVENTORY_NAME.into()))?;
    let processes: Vec<Process> = images.messages(PROCESSES, PROCESSES.name)?;
    let root = processes
        .first()
        .ok_or_else(|| PlainError::Invalid(PROCESSES.name.into()))?;
    for process in &processes {
        images.process(process)?;
    }
    let names = images
        .lens
        .keys()
        .filter(|name| name.starts_with("pagemap-"));
    for name in names {
        images.pages(name)?;
    }
    let regular = images.regular_files()?;
    let memory: Vec<Memory> = images.messages(MEMORY, &format!("mm-{}.img", root.pid))?;
    let executable = memory.first().and_then(|memory| {
        let name = regular.get(&memory.executable)?.clone();
        Some(Path::new("/").join(OsString::from_vec(name)))
    });
    let (gpu_processes, contents_bytes) = images.amdgpu()?;
    Ok(Plain {
        root: root.pid,
        processes: processes.len(),
        gpu_processes,
        contents_bytes,
        executable,
        has_library: regular.values().any(|name| name.ends_with(LIBRARY)),
        images: images.lens.into_iter().collect(),
    })
}

struct Images<'a> {
    folder: &'a Path,
    lens: BTreeMap<String, u64>,
}

impl<'a> Images<'a> {
    fn list(folder: &'a Path) -> Result<Self, PlainError> {
        let failed = |error| PlainError::Folder(folder.to_owned(), error);
        let mut lens = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name == PARENT {
                return Err(PlainError::Series);
            }
            if !name.ends_with(".img") {
                continue;
            }
            // Those are also of a dump in which no agent had a part.
            let is_of_any = [files::SHARED_BUFFERS, files::ATTRIBUTES].contains(&name.as_str());
            if files::is_strobe(&name) && !is_of_any {
                return Err(PlainError::OfStrobe(name));
            }
            let meta = entry.metadata().map_err(failed)?;
            if !meta.is_file() {
                return Err(PlainError::NotAFile(name));
            }
            lens.insert(name, meta.len());
            if lens.len() > MOST {
                return Err(PlainError::TooMany);
            }
        }
        match lens.contains_key(INVENTORY_NAME) {
            true => Ok(Self { folder, lens }),
            false if folder.join("images").join(INVENTORY_NAME).exists() => {
                Err(PlainError::Exported(folder.to_owned()))
            }
            false => Err(PlainError::NoInventory(folder.to_owned())),
        }
    }

    fn len(&self, name: &str) -> Result<u64, PlainError> {
        let len = self.lens.get(name).copied();
        len.ok_or_else(|| PlainError::Missing(name.to_owned()))
    }

    fn open(&self, name: &str) -> Result<File, PlainError> {
        self.len(name)?;
        File::open(self.folder.join(name)).map_err(|error| PlainError::Read {
            name: name.to_owned(),
            error,
        })
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, PlainError> {
        let len = self.len(name)?;
        let name = name.to_owned();
        if len > LIMIT {
            return Err(PlainError::TooLong { name, len });
        }
        let mut bytes = Vec::new();
        let read = self.open(&name)?.take(LIMIT).read_to_end(&mut bytes);
        match read {
            Ok(_) => Ok(bytes),
            Err(error) => Err(PlainError::Read { name, error }),
        }
    }

    /// The messages of a list that all are of one type.
    fn messages<M: Message + Default>(&self, list: List, name: &str) -> Result<Vec<M>, PlainError> {
        decoded(list, &self.read(name)?).ok_or_else(|| PlainError::Invalid(name.to_owned()))
    }

    /// Of each of its threads there is an image, and of its memory.
    fn process(&self, process: &Process) -> Result<(), PlainError> {
        for thread in &process.threads {
            self.len(&format!("core-{thread}.img"))?;
        }
        let name = format!("core-{}.img", process.pid);
        let core: Vec<Core> = self.messages(CORE, &name)?;
        let state = core
            .first()
            .and_then(|core| Some(core.task.as_ref()?.state));
        match state {
            Some(state) if WITH_MEMORY.contains(&state) => {
                self.len(&format!("mm-{}.img", process.pid))?;
                self.len(&format!("pagemap-{}.img", process.pid)).map(drop)
            }
            Some(_) => Ok(()),
            None => Err(PlainError::Invalid(name)),
        }
    }

    /// The pages that an image lists are there.
    fn pages(&self, name: &str) -> Result<(), PlainError> {
        let invalid = || PlainError::Invalid(name.to_owned());
        let (number, expected) = match pages(&self.read(name)?).ok_or_else(invalid)? {
            Pages::InParent => return Err(PlainError::Series),
            Pages::Here { number, bytes } => (number, bytes),
        };
        let name = format!("pages-{number}.img");
        let found = self.len(&name)?;
        match expected {
            Some(expected) if expected != found => Err(PlainError::Length {
                name,
                found,
                expected,
            }),
            _ => Ok(()),
        }
    }

    /// Names of all regular files, by their numbers.
    fn regular_files(&self) -> Result<BTreeMap<u32, Vec<u8>>, PlainError> {
        let name = FILES.name;
        let messages = FILES.messages(&self.read(name)?);
        let messages = messages.ok_or_else(|| PlainError::Invalid(name.to_owned()))?;
        let named = messages.iter().filter_map(|message| {
            let file = RegularFile::of(message)?;
            Some((file.id, file.name()?))
        });
        Ok(named.collect())
    }

    /// What CRIU's plugin has written: how many processes use a GPU, and the bytes of contents.
    fn amdgpu(&self) -> Result<(usize, u64), PlainError> {
        let mut processes = 0;
        let mut bytes = 0_u64;
        let shared = match self.lens.contains_key(files::SHARED_BUFFERS) {
            true => self.message(files::SHARED_BUFFERS)?,
            false => SharedBuffers::default(),
        };
        for name in self.lens.keys() {
            if let Some(id) = files::kfd_id(name) {
                processes += 1;
                bytes = bytes.saturating_add(self.contents(id, &self.message(name)?)?);
            } else if files::is_render_node(name) {
                let node: CriuRenderNode = self.message(name)?;
                let id = files::render_node_id(name);
                let id = id.ok_or_else(|| PlainError::Invalid(name.clone()))?;
                let held = self.held(id, &node, &shared)?;
                bytes = bytes.saturating_add(held);
            } else if files::is_dmabuf(name) {
                return Err(PlainError::NotRestored(name.clone()));
            }
        }
        match processes {
            0 => Err(PlainError::NoGpu),
            _ => Ok((processes, bytes)),
        }
    }

    /// The contents of buffer objects that a file of a render node has handles of are there, and of what was imported
    /// it is said whose it is; their bytes.
    fn held(
        &self,
        id: i32,
        node: &CriuRenderNode,
        shared: &SharedBuffers,
    ) -> Result<u64, PlainError> {
        let mut all = 0_u64;
        let minor = node.drm_render_minor();
        for (index, entry) in node.bo_entries.iter().enumerate() {
            let is_it = |name: &BufferName| name.file == id && name.bo_index as usize == index;
            let mut names = shared.buffers.iter().flat_map(|buffer| &buffer.names);
            if entry.is_import != 0 && !names.any(is_it) {
                return Err(PlainError::NotRestored(files::render_node(id)));
            }
            // Without an agent each image has the content, whoever has it besides.
            self.length(files::handle_pages(id, minor, index), entry.size)?;
            all = all.saturating_add(entry.size);
        }
        Ok(all)
    }

    /// An image is so many bytes of content behind their number.
    fn length(&self, name: String, expected: u64) -> Result<(), PlainError> {
        let said = frame::read_image_len(&mut self.open(&name)?);
        let said = said.map_err(|_| PlainError::Invalid(name.clone()))?;
        let found = self.len(&name)?.saturating_sub(size_of_val(&said) as u64);
        match [said, found].into_iter().find(|found| *found != expected) {
            None => Ok(()),
            Some(found) => Err(PlainError::Length {
                name,
                found,
                expected,
            }),
        }
    }

    /// The contents of all GPUs of a process are there; their bytes.
    fn contents(&self, id: i32, kfd: &CriuKfd) -> Result<u64, PlainError> {
        let mut all = 0_u64;
        let nodes = kfd.device_entries.iter();
        for device in nodes.filter(|node| node.gpu_id != 0) {
            let name = files::pages(id, device.gpu_id);
            let bytes = match contents::bytes_of(kfd, device.gpu_id) {
                Ok(bytes) => bytes,
                Err(error) => return Err(PlainError::Contents { name, error }),
            };
            if bytes == 0 {
                continue;
            }
            all = all.saturating_add(bytes);
            self.length(name, bytes)?;
        }
        Ok(all)
    }

    fn message<M: Message + Default>(&self, name: &str) -> Result<M, PlainError> {
        let mut reader = io::BufReader::new(self.open(name)?);
        let read = frame::read_image(&mut reader);
        let message = read.map_err(|error| PlainError::Read {
            name: name.to_owned(),
            error,
        })?;
        // It is all that there is: zeros would be a message, too.
        match reader.read(&mut [0]) {
            Ok(0) => Ok(message),
            _ => Err(PlainError::Invalid(name.to_owned())),
        }
    }
}

fn decoded<M: Message + Default>(list: List, bytes: &[u8]) -> Option<Vec<M>> {
    let messages = list.messages(bytes)?;
    let decoded = messages.iter().map(|message| M::decode(&message[..]).ok());
    decoded.collect()
}

fn inventory(bytes: &[u8]) -> Option<()> {
    let (magic, rest) = bytes.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let message = rest.get(..u32::from_le_bytes(*len) as usize)?;
    let is_one = u32::from_le_bytes(*magic) == INVENTORY;
    (is_one && Inventory::decode(message).ok()?.version > 0).then_some(())
}

/// Which pages an image lists.
enum Pages {
    /// Some are in older images.
    InParent,
    Here {
        /// Of the image that has them.
        number: u32,
        /// `None`: CRIU says more of them than is known here (it may have compressed them).
        bytes: Option<u64>,
    },
}

fn pages(image: &[u8]) -> Option<Pages> {
    let (number, runs) = pagemap::read(image)?;
    if runs.iter().any(|run| run.in_parent) {
        return Some(Pages::InParent);
    }
    let mut bytes = Some(0_u64);
    for run in runs.iter().filter(|run| run.is_present) {
        bytes = match bytes {
            Some(bytes) if run.is_known => Some(bytes.checked_add(run.bytes)?),
            _ => None,
        };
    }
    Some(Pages::Here { number, bytes })
}

/// Reads bytes as each of the lists that are read here, as [`look`] does.
pub fn read_as_each(bytes: &[u8]) {
    let _ = inventory(bytes);
    let _ = decoded::<Process>(PROCESSES, bytes);
    let _ = decoded::<Core>(CORE, bytes);
    let _ = decoded::<Memory>(MEMORY, bytes);
    let _ = pages(bytes);
    if let Some(messages) = FILES.messages(bytes) {
        let names = messages
            .iter()
            .filter_map(|message| RegularFile::of(message)?.name());
        names.for_each(drop);
    }
}

/// One of each list.
pub fn valid_lists() -> Vec<Vec<u8>> {
    let version = Inventory { version: 2 }.encode_to_vec();
    let inventory = [
        &INVENTORY.to_le_bytes()[..],
        &(version.len() as u32).to_le_bytes(),
        &version,
    ];
    let process = Process {
        pid: 7,
        parent: 0,
        threads: vec![7, 8],
    };
    let core = Core {
        task: Some(Task { state: 1 }),
    };
    let file = RegularFile {
        kind: RegularFile::KIND,
        id: 1,
        regular: None,
    };
    vec![
        inventory.concat(),
        PROCESSES.bytes(&[process.encode_to_vec()]),
        CORE.bytes(&[core.encode_to_vec()]),
        MEMORY.bytes(&[Memory { executable: 1 }.encode_to_vec()]),
        pagemap::valid(),
        FILES.bytes(&[file.encode_to_vec()]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_kfd::memory::VRAM;
    use strobe_proto::amdgpu::{DrmBoEntry, KfdBoEntry, KfdDeviceEntry};

    fn kfd() -> CriuKfd {
        CriuKfd {
            pid: 7,
            device_entries: vec![KfdDeviceEntry {
                gpu_id: 9,
                ..KfdDeviceEntry::default()
            }],
            bo_entries: vec![KfdBoEntry {
                addr: 1 << 30,
                size: 0x2000,
                alloc_flags: VRAM,
                gpu_id: 9,
                ..KfdBoEntry::default()
            }],
            ..CriuKfd::default()
        }
    }

    fn render_node() -> CriuRenderNode {
        let entry = DrmBoEntry {
            size: 0x2000,
            handle: 3,
            ..DrmBoEntry::default()
        };
        CriuRenderNode {
            gpu_id: 9,
            id: Some(6),
            drm_render_minor: Some(128),
            num_of_bos: Some(1),
            bo_entries: vec![entry],
            is_apart: Some(true),
        }
    }

    /// A folder of the fewest images that are whole.
    fn whole() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        let lists = valid_lists();
        let names = [
            "inventory",
            "pstree",
            "core-7",
            "mm-7",
            "pagemap-7",
            "files",
        ];
        for (name, list) in names.iter().zip(&lists) {
            write(&format!("{name}.img"), list);
        }
        write("core-8.img", &lists[2]);
        write("pages-1.img", &[1; 3 * 4096]);
        write("amdgpu-kfd-5.img", &frame::image_bytes(&kfd()).unwrap());
        let contents = [&0x2000_u64.to_le_bytes()[..], &[7; 0x2000]].concat();
        write("amdgpu-pages-5-0009.img", &contents);
        write("amdgpu-drm-pages-6-128-0000.img", &contents);
        write(
            "amdgpu-renderD-6.img",
            &frame::image_bytes(&render_node()).unwrap(),
        );
        write("dump.log", b"not an image");
        folder
    }

    #[test]
    fn whole_images_are_taken() {
        let found = look(whole().path()).unwrap();
        assert_eq!(
            (found.root, found.processes, found.gpu_processes),
            (7, 1, 1)
        );
        assert_eq!(found.contents_bytes, 0x4000);
        assert_eq!(found.images.len(), 12);
    }

    #[test]
    fn each_image_that_is_missing_short_or_another_is_named() {
        let names = look(whole().path()).unwrap().images;
        for (name, len) in &names {
            let folder = whole();
            let path = folder.path().join(name);
            fs::remove_file(&path).unwrap();
            let expected = match name.as_str() {
                "amdgpu-kfd-5.img" => "hold no program that uses a GPU",
                // Nothing else says that there is one.
                "amdgpu-renderD-6.img" => continue,
                _ => name,
            };
            let error = look(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
            if name.starts_with("core-8") {
                // Of a thread only that it is there is looked at.
                continue;
            }
            let file = File::create(&path).unwrap();
            file.set_len(len - 1).unwrap();
            let error = look(folder.path()).unwrap_err().to_string();
            assert!(error.contains(name.as_str()), "{name}: {error}");
        }
    }

    #[test]
    fn what_no_restore_would_bring_back_is_refused() {
        let refused = |change: &dyn Fn(&Path)| {
            let folder = whole();
            change(folder.path());
            look(folder.path()).unwrap_err().to_string()
        };
        let series =
            refused(&|folder| std::os::unix::fs::symlink("..", folder.join("parent")).unwrap());
        assert!(series.contains("part of a series"), "{series}");
        let ours = refused(&|folder| fs::write(folder.join("strobe-files.img"), "").unwrap());
        assert!(ours.contains("part of a checkpoint"), "{ours}");
        let link = refused(&|folder| {
            std::os::unix::fs::symlink("/etc/passwd", folder.join("fs-7.img")).unwrap();
        });
        assert!(link.contains("fs-7.img is no regular file"), "{link}");
        let shared = refused(&|folder| fs::write(folder.join("amdgpu-dmabuf_3.img"), "").unwrap());
        assert!(shared.contains("shared by a descriptor"), "{shared}");
        let foreign = refused(&|folder| {
            let mut node = render_node();
            node.bo_entries[0].is_import = 1;
            let image = frame::image_bytes(&node).unwrap();
            fs::write(folder.join("amdgpu-renderD-6.img"), image).unwrap();
        });
        assert!(foreign.contains("renderD-6.img has memory"), "{foreign}");
        let long = refused(&|folder| {
            let file = File::create(folder.join("files.img")).unwrap();
            file.set_len(LIMIT + 1).unwrap();
        });
        assert!(long.contains("files.img has 268435457 bytes"), "{long}");
        let exported = refused(&|folder| {
            fs::create_dir(folder.join("images")).unwrap();
            fs::rename(
                folder.join("inventory.img"),
                folder.join("images/inventory.img"),
            )
            .unwrap();
        });
        assert!(exported.contains("those of an export are in"), "{exported}");
    }
}
