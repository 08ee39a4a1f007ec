//! What CRIU offers a plugin, looked up by name at run time.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, fcntl};

/// Of CRIU 4.3: the words of its command line that are for plugins.
type GetOptions = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;

/// Our name, which is upstream's: a checkpoint names the plugins it needs, and either can restore it.
pub(crate) const NAME: &CStr = c"amdgpu_plugin";

/// CRIU's log levels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Error = 1,
    Warning = 2,
    Info = 3,
}

/// Looks a function of CRIU up.
///
/// # Safety
/// `F` is the type of a pointer to the function of this name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut libc::c_void>()) };
    // SAFETY: dlsym takes any name.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: F is a pointer to the function found, as the caller promises.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// How many bytes of the program's files are saved; without the command that says so, none.
pub(crate) fn files_limit() -> u64 {
    let limit = std::env::var(strobe_criu::run::FILES_LIMIT_VARIABLE).ok();
    limit.and_then(|limit| limit.parse().ok()).unwrap_or(0)
}

/// The options of CRIU's command line that are for us (4.3), without `--amdgpu_plugin.`.
pub(crate) fn plugin_options() -> Vec<String> {
    // SAFETY: the signature is CRIU's.
    let Some(get) = (unsafe { function::<GetOptions>(c"criu_plugin_get_options") }) else {
        return Vec::new();
    };
    let (mut count, mut words) = (0, std::ptr::null_mut());
    // SAFETY: it fills both in.
    if unsafe { get(&raw mut count, &raw mut words) } < 0 || words.is_null() {
        return Vec::new();
    }
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: CRIU has said that there are so many, and keeps them.
    let words = unsafe { std::slice::from_raw_parts(words, count) };
    let prefix = format!("--{}.", NAME.to_string_lossy());
    let words = words.iter().take_while(|word| !word.is_null());
    words
        // SAFETY: each is a C string, of CRIU's for as long as it runs.
        .map(|word| unsafe { CStr::from_ptr(*word) }.to_string_lossy())
        .filter_map(|word| word.strip_prefix(&prefix).map(str::to_owned))
        .collect()
}

/// Writes one line to CRIU's log.
pub(crate) fn log(level: Level, line: &str) {
    let prefix = match level {
        Level::Error => strobe_criu::failure::PLUGIN_PREFIX,
        Level::Warning => "Warn  (strobe): ",
        Level::Info => "(strobe): ",
    };
    write(level, prefix, line);
}

/// Writes what a restored program does not get, for whoever has started CRIU.
pub(crate) fn remark(line: &str) {
    write(Level::Warning, strobe_criu::said::REMARK, line);
}

fn write(level: Level, prefix: &str, line: &str) {
    type Print = unsafe extern "C" fn(u32, *const c_char, ...);
    // SAFETY: the signature is CRIU's.
    let Some(print) = (unsafe { function::<Print>(c"print_on_level") }) else {
        return;
    };
    let line = line.replace(['\0', '\n'], " ");
    let Ok(text) = CString::new(format!("{prefix}{line}\n")) else {
        return;
    };
    // SAFETY: the format takes exactly one string, which lives during the call.
    unsafe { print(level as u32, c"%s".as_ptr(), text.as_ptr()) };
}

/// CRIU's log, for reports of phases: each write is a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseLog;

impl io::Write for PhaseLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        write(Level::Info, strobe_criu::said::PHASE, line.trim_end());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Our own copy of the descriptor of the image folder.
pub(crate) fn image_folder() -> io::Result<OwnedFd> {
    type GetImageDir = unsafe extern "C" fn() -> c_int;
    // SAFETY: the signature is CRIU's.
    let get = unsafe { function::<GetImageDir>(c"criu_get_image_dir") }
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    // SAFETY: it takes nothing and returns a descriptor that CRIU keeps open.
    let fd = unsafe { get() };
    if fd < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: checked to be a descriptor, which CRIU keeps open during this call.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    fd.try_clone_to_owned()
}

/// Which way a streamed image goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Streamed {
    Out,
    In,
}

/// Whether images go to or come from CRIU's image streamer.
pub(crate) fn is_streaming() -> bool {
    /// The number of the descriptor to the streamer among CRIU's own.
    const STREAMER: c_int = 3;
    type GetServiceFd = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the signature is CRIU's, where an enumeration stands for the number.
    let get = unsafe { function::<GetServiceFd>(c"get_service_fd") };
    // SAFETY: it looks a number up.
    get.is_some_and(|get| unsafe { get(STREAMER) } >= 0)
}

/// The pipe of an image; `None` if the streamer has none of this name. Only for CRIU's own thread.
pub(crate) fn stream_image(name: &str, way: Streamed) -> io::Result<Option<OwnedFd>> {
    type Open = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
    // SAFETY: the signature is CRIU's, which only reads the name.
    let open = unsafe { function::<Open>(c"img_streamer_open") }
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    let flags = match way {
        Streamed::Out => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        Streamed::In => libc::O_RDONLY,
    };
    let name = CString::new(name)?;
    // SAFETY: the name lives during the call; the flags are those of CRIU's own calls, which it compares.
    match unsafe { open(name.as_ptr(), flags) } {
        // SAFETY: CRIU has just made this end of a pipe for us.
        fd @ 0.. => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
        error if error == -libc::ENOENT => Ok(None),
        _ => Err(io::Error::other("the image streamer does not take it")),
    }
}

/// Makes a restore of this checkpoint fail where no plugin of our name is present.
pub(crate) fn require_plugin() -> io::Result<()> {
    type Add = unsafe extern "C" fn(*const c_char) -> c_int;
    // SAFETY: the signature is CRIU's.
    let Some(add) = (unsafe { function::<Add>(c"add_inventory_plugin") }) else {
        // Before CRIU 4.1 there is no such list.
        return Ok(());
    };
    // SAFETY: CRIU copies the string.
    match unsafe { add(NAME.as_ptr()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Whether the checkpoint being restored needs a plugin of our name; crosses it off CRIU's list.
pub(crate) fn is_required() -> bool {
    // CRIU 4.3 takes the name only; the length is in a register it does not look at.
    type Check = unsafe extern "C" fn(*const c_char, usize) -> bool;
    // SAFETY: the signature is that of CRIU 4.1, and callable as 4.3's in this calling convention.
    match unsafe { function::<Check>(c"check_and_remove_inventory_plugin") } {
        // SAFETY: the string lives during the call, its length is right.
        Some(check) => unsafe { check(NAME.as_ptr(), NAME.count_bytes()) },
        None => true,
    }
}

/// The plugin interfaces of CRIU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    /// Of CRIU 4.0 and 4.1, which 4.2 takes as well.
    V4_0,
    /// Of CRIU 4.2: POST_FORKING.
    V4_2,
    /// Of CRIU 4.3: four hooks more, a second argument of RESTORE_EXT_FILE, and options for plugins.
    V4_3,
}

impl Interface {
    /// Of the CRIU that has loaded us, by what it exports: nothing says its version. (What was CRIU's development
    /// branch between 4.2 and 4.3 looks like 4.2, and has the hooks of that.)
    pub(crate) fn of_host() -> Self {
        // SAFETY: they are only asked for, never called or read.
        unsafe {
            if function::<GetOptions>(c"criu_plugin_get_options").is_some() {
                Self::V4_3
            } else if function::<*const bool>(c"found_uprobes_vma").is_some() {
                Self::V4_2
            } else {
                Self::V4_0
            }
        }
    }
}

/// Whether RESTORE_EXT_FILE has a second argument that must be written.
pub(crate) fn has_retry_argument() -> bool {
    Interface::of_host() == Interface::V4_3
}

/// Gives a descriptor down to all processes that are restored, by this name (`--inherit-fd`, by the function that
/// reads it).
pub(crate) fn hand_down(fd: OwnedFd, name: &CStr) -> io::Result<()> {
    // SAFETY: the signature is CRIU's.
    let add = unsafe { function::<InheritFd>(INHERIT_FD) }.ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: CRIU copies the name, and the descriptor becomes CRIU's.
    match unsafe { add(fd.into_raw_fd(), name.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::other("CRIU does not hand a descriptor down")),
    }
}

/// Of CRIU since 1.6: takes a descriptor for all processes that are restored.
type InheritFd = unsafe extern "C" fn(c_int, *const c_char) -> c_int;
const INHERIT_FD: &CStr = c"inherit_fd_add";
/// Looks one up in such a process.
type LookUpInherited = unsafe extern "C" fn(*const c_char) -> c_int;
const LOOK_UP_INHERITED: &CStr = c"inherit_fd_lookup_id";

/// Whether [`hand_down`] and [`handed_down`] can work.
pub(crate) fn hands_files_down() -> bool {
    // SAFETY: they are only asked for, never called.
    unsafe {
        function::<InheritFd>(INHERIT_FD).is_some()
            && function::<LookUpInherited>(LOOK_UP_INHERITED).is_some()
    }
}

/// In a process that is restored: a copy of what was handed down by this name.
pub(crate) fn handed_down(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the signature is CRIU's, which only reads the name.
    let look_up = unsafe { function::<LookUpInherited>(LOOK_UP_INHERITED) };
    let look_up = look_up.ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: the name lives during the call.
    match unsafe { look_up(name.as_ptr()) } {
        // SAFETY: CRIU has just made this copy for its caller.
        fd @ 0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Gives CRIU a copy of a descriptor, for any process of the restore; its number.
pub(crate) fn store_descriptor(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    type Add = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the signature is CRIU's.
    let add = unsafe { function::<Add>(c"fdstore_add") }
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    // SAFETY: the descriptor is open during the call.
    let number = unsafe { add(fd.as_raw_fd()) };
    if number < 0 {
        return Err(io::Error::other("its store does not take it"));
    }
    Ok(number)
}

/// A descriptor that a process has given.
pub(crate) fn stored_descriptor(number: c_int) -> io::Result<OwnedFd> {
    type Get = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the signature is CRIU's.
    let get = unsafe { function::<Get>(c"fdstore_get") }
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    // SAFETY: it looks the number up.
    let fd = unsafe { get(number) };
    if fd < 0 {
        return Err(io::Error::other("its store does not have it"));
    }
    // SAFETY: CRIU has just received this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Moves a descriptor to a number that the process being restored does not use.
pub(crate) fn out_of_the_way(fd: OwnedFd) -> io::Result<OwnedFd> {
    type FindUnused = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the signature is CRIU's.
    let Some(find) = (unsafe { function::<FindUnused>(c"find_unused_fd_pid") }) else {
        return Ok(fd);
    };
    // SAFETY: it looks our own process up in CRIU's tables.
    let number = unsafe { find(std::process::id() as c_int) };
    if number < 0 {
        return Ok(fd);
    }
    let copy = fcntl(&fd, FcntlArg::F_DUPFD_CLOEXEC(number))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
