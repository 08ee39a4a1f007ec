//! The CPU and device memory that is away.
//!
//! Where a large BAR allows it the CPU reaches device memory by plain loads and stores, the program's and HIP's. Of a mapping
//! in which memory is away all access is taken away; who touches it waits in a handler of SIGSEGV until the whole of it
//! is there. So nobody reads what is not there, or writes what would be overwritten. What the program wants done about
//! SIGSEGV meanwhile is kept for it ([`handles_segv`]). Where it blocks the signal, or has a system call touch the memory, it
//! gets an error (an end by SIGSEGV, EFAULT), but never a wrong byte.
//!
//! The handler takes no lock and allocates nothing: spans are made before it is installed, and stay.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use libc::sigaction;

use strobe_extent::{ChunkMap, Extent};

/// Of mprotect(2).
const PAGE: u64 = 4096;
/// Between two looks of a thread that waits.
const LOOK_AGAIN_NS: libc::c_long = 200_000;

/// Mapped memory that was taken away.
#[derive(Debug)]
struct Span {
    start: u64,
    end: u64,
    /// Bytes of chunks in it that are away; none: it is given back.
    away: AtomicU64,
    protection: libc::c_int,
}

/// While it lives, the handler is installed.
#[derive(Debug)]
pub(crate) struct Guard {
    spans: &'static [Span],
}

/// What the handler sees; of a process of which memory is away.
static SPANS: AtomicPtr<Span> = AtomicPtr::new(std::ptr::null_mut());
static SPANS_LEN: AtomicUsize = AtomicUsize::new(0);
/// Whether a thread waits in the handler.
static AWAITED: AtomicBool = AtomicBool::new(false);
/// What the program wants done about SIGSEGV; null while ours does not stand there.
static BEFORE: AtomicPtr<sigaction> = AtomicPtr::new(std::ptr::null_mut());
/// Where that is: whoever sets another takes the next place. Nothing is allocated, for a handler may do so.
static ACTIONS: [Action; 64] =
    [const { Action(UnsafeCell::new(std::mem::MaybeUninit::uninit())) }; 64];
static ACTIONS_TAKEN: AtomicUsize = AtomicUsize::new(0);

struct Action(UnsafeCell<std::mem::MaybeUninit<sigaction>>);

// SAFETY: written by who has taken the place, before it is shown by `BEFORE`, and read by who found it there. It is another's
// when so many more have been set as there are places.
unsafe impl Sync for Action {}

unsafe extern "C" {
    /// The C library's own name for `sigaction`, which in this library is ours.
    fn __sigaction(signal: libc::c_int, new: *const sigaction, old: *mut sigaction) -> libc::c_int;
}

/// Takes note of what is to be done.
fn noted(action: sigaction) -> *mut sigaction {
    let at = ACTIONS_TAKEN.fetch_add(1, Ordering::Relaxed) % ACTIONS.len();
    let place: *mut sigaction = ACTIONS[at].0.get().cast();
    // SAFETY: the place is ours alone.
    unsafe { place.write(action) };
    place
}

/// `sigaction` of SIGSEGV: whether that is all there is to do, because ours stands there. The program is told what it has
/// set itself.
///
/// # Safety
/// As of that function.
pub unsafe fn handles_segv(new: *const sigaction, old: *mut sigaction) -> bool {
    let mut now = BEFORE.load(Ordering::Acquire);
    loop {
        if now.is_null() {
            return false;
        }
        if new.is_null() {
            break;
        }
        // SAFETY: the caller's promise.
        let wanted = noted(unsafe { new.read() });
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match BEFORE.compare_exchange(now, wanted, order.0, order.1) {
            Ok(_) => break,
            Err(other) => now = other,
        }
    }
    if !old.is_null() {
        // SAFETY: the caller's promise, and see `ACTIONS`.
        unsafe { old.write(now.read()) };
    }
    true
}

impl Guard {
    /// Takes away what the CPU can reach of these chunks.
    pub(crate) fn begin(map: &ChunkMap) -> io::Result<Guard> {
        let spans = spans(map, &mapped()?);
        // A few for each restore of a process, and its handler may still run in a thread when all is there.
        let spans: &'static [Span] = Box::leak(spans.into_boxed_slice());
        if spans.is_empty() {
            return Ok(Guard { spans });
        }
        SPANS.store(spans.as_ptr().cast_mut(), Ordering::Relaxed);
        SPANS_LEN.store(spans.len(), Ordering::Release);
        install()?;
        for span in spans {
            protect(span, libc::PROT_NONE)?;
        }
        Ok(Guard { spans })
    }

    /// Whether a thread waits for mapped memory.
    pub(crate) fn is_awaited(&self) -> bool {
        AWAITED.load(Ordering::Relaxed)
    }

    /// These bytes are there now.
    pub(crate) fn arrived(&self, chunk: Extent) -> io::Result<()> {
        let from = self.spans.partition_point(|span| span.end <= chunk.start());
        let touched = self.spans[from..].iter();
        for span in touched.take_while(|span| span.start < chunk.end()) {
            let bytes = inside(span, chunk);
            if span.away.load(Ordering::Relaxed) == bytes {
                protect(span, span.protection)?;
            }
            span.away.fetch_sub(bytes, Ordering::Release);
        }
        Ok(())
    }

    /// All is there.
    pub(crate) fn end(self) {
        if self.spans.is_empty() {
            return;
        }
        SPANS_LEN.store(0, Ordering::Release);
        AWAITED.store(false, Ordering::Relaxed);
        // SAFETY: plain data, and a valid place for it.
        let stands = unsafe {
            let mut now: sigaction = std::mem::zeroed();
            __sigaction(libc::SIGSEGV, std::ptr::null(), &mut now);
            now.sa_sigaction == handler()
        };
        let mut wanted = BEFORE.load(Ordering::Acquire);
        while !wanted.is_null() {
            // What was installed past us stays.
            if stands {
                // SAFETY: see `ACTIONS`.
                unsafe { __sigaction(libc::SIGSEGV, wanted, std::ptr::null_mut()) };
            }
            // Unless another was wanted in between.
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let none = std::ptr::null_mut();
            match BEFORE.compare_exchange(wanted, none, order.0, order.1) {
                Ok(_) => return,
                Err(other) => wanted = other,
            }
        }
    }
}

/// Whether the CPU can reach an address as soon as memory is there that is away.
pub(crate) fn covers(address: u64) -> bool {
    find(address).is_some_and(|span| span.away.load(Ordering::Acquire) != 0)
}

fn find(address: u64) -> Option<&'static Span> {
    let len = SPANS_LEN.load(Ordering::Acquire);
    let spans = SPANS.load(Ordering::Relaxed);
    if len == 0 {
        return None;
    }
    // SAFETY: leaked, of this length, and never changed but by its atomics. A length is stored after its place, and is 0
    // while there is another place.
    let spans = unsafe { std::slice::from_raw_parts(spans, len) };
    let at = spans.partition_point(|span| span.end <= address);
    spans.get(at).filter(|span| span.start <= address)
}

/// A mapping with access.
struct Mapped {
    start: u64,
    end: u64,
    protection: libc::c_int,
}

fn mapped() -> io::Result<Vec<Mapped>> {
    let text = strobe_proto::kernel_text::read("/proc/self/maps")?;
    Ok(text.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Mapped> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let rights = words.next()?.as_bytes();
    let bit = |at: usize, letter, bit| match rights.get(at) == Some(&letter) {
        true => bit,
        false => 0,
    };
    let protection = bit(0, b'r', libc::PROT_READ)
        | bit(1, b'w', libc::PROT_WRITE)
        | bit(2, b'x', libc::PROT_EXEC);
    (protection != 0).then_some(Mapped {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        protection,
    })
}

/// The pages of regions, where they are mapped: disjoint, ascending.
fn spans(map: &ChunkMap, mapped: &[Mapped]) -> Vec<Span> {
    let regions: Vec<Extent> = map.regions().collect();
    let mut pages: Vec<(u64, u64)> = Vec::new();
    for region in &regions {
        let start = region.start() / PAGE * PAGE;
        let end = region.end().next_multiple_of(PAGE);
        match pages.last_mut() {
            // Two in one page.
            Some(last) if start < last.1 => last.1 = end,
            _ => pages.push((start, end)),
        }
    }
    let mut spans = Vec::new();
    for (start, end) in pages {
        let from = mapped.partition_point(|there| there.end <= start);
        for there in mapped[from..].iter().take_while(|there| there.start < end) {
            let span = Span {
                start: start.max(there.start),
                end: end.min(there.end),
                away: AtomicU64::new(0),
                protection: there.protection,
            };
            let from = regions.partition_point(|region| region.end() <= span.start);
            let within = regions[from..].iter();
            let within = within.take_while(|region| region.start() < span.end);
            let away = within.map(|region| inside(&span, *region)).sum();
            span.away.store(away, Ordering::Relaxed);
            spans.push(span);
        }
    }
    spans
}

/// How many bytes of an extent lie in a span.
fn inside(span: &Span, extent: Extent) -> u64 {
    let end = span.end.min(extent.end());
    end.saturating_sub(span.start.max(extent.start()))
}

fn protect(span: &Span, protection: libc::c_int) -> io::Result<()> {
    let start = std::ptr::without_provenance_mut(span.start as usize);
    // SAFETY: memory of the device, of which nobody has a reference; what touches it meanwhile waits in the handler.
    match unsafe { libc::mprotect(start, (span.end - span.start) as usize, protection) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    handler as libc::sighandler_t
}

fn install() -> io::Result<()> {
    // SAFETY: plain data, valid places for it, and a handler that does only what one may.
    let result = unsafe {
        let mut before: sigaction = std::mem::zeroed();
        __sigaction(libc::SIGSEGV, std::ptr::null(), &mut before);
        BEFORE.store(noted(before), Ordering::Release);
        let mut ours: sigaction = std::mem::zeroed();
        ours.sa_sigaction = handler();
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        __sigaction(libc::SIGSEGV, &ours, std::ptr::null_mut())
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: of a fault the kernel says where.
    let address = unsafe { (*info).si_addr() } as u64;
    // A forked child has no memory of the device.
    let is_ours = crate::wire::page::state() == crate::wire::page::State::Live;
    match find(address).filter(|_| is_ours) {
        Some(span) => wait_for(span),
        None => pass_on(signal, info, context),
    }
}

/// Returns when it is there: then the access happens. (One that cannot happen comes here again, until all is there and
/// this handler gone.) Errors of system calls are the program's.
fn wait_for(span: &Span) {
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: LOOK_AGAIN_NS,
    };
    // SAFETY: the thread's own; the clock is asked for nothing but time to pass.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        while span.away.load(Ordering::Acquire) != 0 {
            AWAITED.store(true, Ordering::Relaxed);
            libc::nanosleep(&pause, std::ptr::null_mut());
        }
        *errno = before;
    }
}

/// To the handler that was there before.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: see `ACTIONS`.
    let before = unsafe { BEFORE.load(Ordering::Acquire).as_ref() };
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    let wants_info = before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0);
    match handler {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The fault comes again, and ends the program.
            // SAFETY: plain data, of which zeros are SIG_DFL.
            unsafe {
                let default: sigaction = std::mem::zeroed();
                __sigaction(signal, &default, std::ptr::null_mut());
            }
        }
        handler if wants_info => {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: the program's handler, of the kind that its flags say.
            let handler: Handler = unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: as above.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
