//! What an instance sees of the file systems: all as they are, and what it changes is its own.
//!
//! Each is the lower layer of an overlay (Documentation/filesystems/overlayfs.rst), mounted where it lies, below a new
//! root; what is mounted twice is there twice, too. Devices, kernel objects and what cannot be changed are the same as
//! outside; shared memory by name begins empty, as it does in a container, and /proc has the processes in there.
//!
//! A layer is not changed once the overlay is mounted, and is below no folder that is a layer already (with index=on the
//! kernel refuses that). So all folders are made first, and the overlays are mounted from the deepest on, each aside,
//! before they are put where they belong.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::folder::Folder;
use super::likeness;
use super::mounts::{Seen, hold, link};
use crate::room;

#[derive(Debug, thiserror::Error)]
pub(super) enum ViewError {
    #[error("the mounts of this machine cannot be read: {0}")]
    Mounts(io::Error),
    #[error(
        "{path} holds no instance: the file system that it lies on can be no layer above others ({error}); one of ext4, \
         xfs, btrfs or tmpfs can"
    )]
    Layer { path: PathBuf, error: io::Error },
    #[error("{path} cannot be had in an instance: {error}")]
    Mount { path: PathBuf, error: io::Error },
}

/// The same in an instance as outside, with all that is mounted below.
const SHARED: [&str; 2] = ["/dev", "/sys"];
const PROC: &str = "/proc";
const SHARED_MEMORY: &str = "/dev/shm";
/// Namespaces are no files, and what has been mounted nowhere yet is not mounted by us.
const LEFT_OUT: [&str; 2] = ["nsfs", "autofs"];
/// The kernel's objects, wherever they are mounted.
const KERNEL: [&str; 14] = [
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "mqueue",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// How a mount is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Not, or with the one above.
    With,
    /// As it is, with all that is mounted below.
    Whole,
    /// As it is.
    AsItIs,
    /// As it is, and not to be changed.
    Closed,
    /// As what is shown at this path already.
    Same(PathBuf),
    /// The processes in there.
    Processes,
    /// Memory that begins empty.
    SharedMemory,
    /// A copy of the file.
    Copy,
    /// An overlay, which is mounted here first.
    Layer(PathBuf),
}

/// Makes the view the root of this process, which is in a mount namespace of its own. `checkpoint` is the folder of one
/// outside, as it is there: who opens it, holds it there.
pub(super) fn enter(folder: &Folder, checkpoint: &Path) -> Result<(), ViewError> {
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let root = Path::new("/");
    let nothing: Option<&Path> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, root, nothing, private, nothing).map_err(at(root))?;
    let checkpoint_outside = hold(checkpoint).map_err(at(checkpoint))?;
    let seen = Seen::all().map_err(ViewError::Mounts)?;
    let mut ways: Vec<Way> = Vec::new();
    for one in &seen {
        ways.push(way(one, &seen[..ways.len()], &ways));
    }
    for (one, way) in seen.iter().zip(&mut ways) {
        begin(one, way, folder)?;
    }
    for (number, (one, way)) in seen.iter().zip(&mut ways).enumerate().rev() {
        if *way == Way::Layer(PathBuf::new()) {
            cover(one, way, folder, number)?;
        }
    }
    for (number, one) in seen.iter().enumerate() {
        show(number, one, &seen, &ways, folder).map_err(at(&one.mounted.at))?;
    }
    let new = folder.root();
    for (path, way) in [(PROC, Way::Processes), (SHARED_MEMORY, Way::SharedMemory)] {
        let there = below(&new, Path::new(path));
        if !ways.contains(&way) && there.is_dir() {
            fresh(&way, &there).map_err(at(Path::new(path)))?;
        }
    }
    let there = below(&new, checkpoint);
    // They are there, unless they lie in /dev/shm.
    fs::create_dir_all(&there).map_err(at(checkpoint))?;
    bind(
        Path::new(&link(&checkpoint_outside)),
        &there,
        MsFlags::MS_RDONLY,
    )
    .map_err(at(checkpoint))?;
    let checkpoints = folder.checkpoints();
    let there = below(&new, &checkpoints);
    fs::create_dir_all(&there).map_err(at(&checkpoints))?;
    bind(&checkpoints, &there, MsFlags::empty()).map_err(at(&checkpoints))?;
    // The old root is stacked on the new one, and taken off it.
    chdir(&new).map_err(at(&new))?;
    pivot_root(".", ".").map_err(at(&new))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(at(root))?;
    chdir(&here).map_err(at(&here))
}

fn at<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> ViewError {
    let path = path.to_path_buf();
    move |error| ViewError::Mount {
        path: path.clone(),
        error: error.into(),
    }
}

/// Where an absolute path is below another root.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// How one is shown, where those before it are shown so.
fn way(one: &Seen, before: &[Seen], ways: &[Way]) -> Way {
    let mounted = &one.mounted;
    let is_at_or_below = |path: &str| mounted.at.starts_with(path);
    let is_at = |path: &str| mounted.at == Path::new(path);
    let meta = one.meta();
    let is_file = meta.as_ref().is_ok_and(fs::Metadata::is_file);
    let is_changeable = !mounted.options.contains(MsFlags::MS_RDONLY);
    if LEFT_OUT.contains(&mounted.kind.as_str()) {
        return Way::With;
    }
    if is_at(PROC) {
        return Way::Processes;
    }
    let mut above = before.iter().zip(ways);
    if above.any(|(above, way)| *way == Way::Processes && mounted.at.starts_with(&above.mounted.at))
    {
        return Way::With;
    }
    if is_at(SHARED_MEMORY) {
        return Way::SharedMemory;
    }
    if let Some(shared) = SHARED.iter().find(|shared| is_at_or_below(shared)) {
        // What a container has of a file outside.
        let is_apart = *shared == "/dev" && is_file && is_changeable;
        return match (is_at(shared), is_apart) {
            (true, _) => Way::Whole,
            (_, true) => Way::Copy,
            _ => Way::With,
        };
    }
    if mounted.kind == "proc" {
        let place = one.place_at(Path::new(PROC));
        return match place == Path::new(PROC) {
            true => Way::Processes,
            false => Way::Same(place),
        };
    }
    if let Some(place) = before.iter().find_map(|other| one.place_in(other)) {
        return Way::Same(place);
    }
    let is_folder = meta.as_ref().is_ok_and(fs::Metadata::is_dir);
    match (is_changeable, is_file, is_folder) {
        _ if KERNEL.contains(&mounted.kind.as_str()) => Way::AsItIs,
        (true, true, _) => Way::Copy,
        (true, _, true) => Way::Layer(PathBuf::new()),
        // A device, a socket or a FIFO is what it is outside.
        _ => Way::AsItIs,
    }
}

/// Makes what the layer of the instance begins with there.
fn begin(one: &Seen, way: &mut Way, folder: &Folder) -> Result<(), ViewError> {
    let (path, layer) = (&one.mounted.at, folder.files());
    match way {
        Way::Layer(_) => likeness::folders(&layer, path).map_err(at(path)),
        Way::Copy => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            likeness::folders(&layer, parent).map_err(at(path))?;
            let has_room = room::left(&layer).ok().zip(one.meta().ok());
            let has_room = has_room.is_some_and(|(left, meta)| meta.len() < left);
            let copy = below(&layer, path);
            if !has_room || likeness::file(Path::new(&one.link()), &copy).is_err() {
                let _ = fs::remove_file(copy);
                *way = Way::Closed;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Mounts an overlay on it: with folders that can be renamed, files by their own inode numbers, and names of one file that
/// stay names of one file. Not every file system can be a layer (an overlay of overlays cannot). What is not the instance's
/// own it may not change.
fn cover(one: &Seen, way: &mut Way, folder: &Folder, number: usize) -> Result<(), ViewError> {
    let mounted = &one.mounted;
    let failed = at(&mounted.at);
    let work = folder.work().join(number.to_string());
    let (kernels, aside) = (work.join("kernel"), work.join("aside"));
    fs::create_dir(&work)
        .and_then(|()| fs::create_dir(&kernels))
        .and_then(|()| fs::create_dir(&aside))
        .map_err(failed)?;
    let held = |path: &Path| hold(path).map_err(at(path));
    let (upper, kernels) = (held(&below(&folder.files(), &mounted.at))?, held(&kernels)?);
    // By these paths, as in names there may be what ends an option.
    let layers = format!(
        "lowerdir={},upperdir={},workdir={},redirect_dir=on,xino=off,index=on",
        one.link(),
        link(&upper),
        link(&kernels)
    );
    let overlay = Some("overlay");
    match mount(
        overlay,
        &aside,
        overlay,
        mounted.options,
        Some(layers.as_str()),
    ) {
        Ok(()) => *way = Way::Layer(aside),
        Err(error) if mounted.at == Path::new("/") => {
            return Err(ViewError::Layer {
                path: folder.path().to_path_buf(),
                error: error.into(),
            });
        }
        Err(_) => *way = Way::Closed,
    }
    Ok(())
}

/// Mounts it below the root of the instance.
fn show(
    number: usize,
    one: &Seen,
    seen: &[Seen],
    ways: &[Way],
    folder: &Folder,
) -> nix::Result<()> {
    let (mounted, new) = (&one.mounted, folder.root());
    let there = below(&new, &mounted.at);
    let nothing: Option<&Path> = None;
    let source = one.link();
    let source = Path::new(&source);
    match &ways[number] {
        Way::With => Ok(()),
        Way::Whole => mount(
            Some(&mounted.at),
            &there,
            nothing,
            MsFlags::MS_BIND | MsFlags::MS_REC,
            nothing,
        ),
        Way::AsItIs => bind(source, &there, mounted.options),
        Way::Closed => bind(source, &there, mounted.options | MsFlags::MS_RDONLY),
        Way::Same(path) => match bind(&below(&new, path), &there, mounted.options) {
            // Of a process, or of memory that begins empty.
            Err(Errno::ENOENT) => bind(source, &there, mounted.options | MsFlags::MS_RDONLY),
            bound => bound,
        },
        way @ (Way::Processes | Way::SharedMemory) => fresh(way, &there),
        Way::Copy => {
            let mut above = seen.iter().zip(ways).take(number).rev();
            let above = above.find(|(above, _)| mounted.at.starts_with(&above.mounted.at));
            match above {
                // It has it in its layer.
                Some((_, Way::Layer(_))) => Ok(()),
                _ => bind(
                    &below(&folder.files(), &mounted.at),
                    &there,
                    mounted.options,
                ),
            }
        }
        Way::Layer(aside) => mount(Some(aside), &there, nothing, MsFlags::MS_MOVE, nothing),
    }
}

/// Mounts what begins anew in an instance.
fn fresh(way: &Way, there: &Path) -> nix::Result<()> {
    let apart = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let (kind, flags, option) = match way {
        Way::Processes => ("proc", apart | MsFlags::MS_NOEXEC, None),
        _ => ("tmpfs", apart, Some("mode=1777")),
    };
    mount(Some(kind), there, Some(kind), flags, option)
}

/// Mounts what lies at a path at another one, too, with these options.
fn bind(path: &Path, there: &Path, options: MsFlags) -> nix::Result<()> {
    let nothing: Option<&Path> = None;
    mount(Some(path), there, nothing, MsFlags::MS_BIND, nothing)?;
    let again = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | options;
    mount(nothing, there, nothing, again, nothing)
}
