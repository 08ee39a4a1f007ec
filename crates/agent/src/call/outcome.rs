//! What the functions of HIP answer, as far as it matters here.

use strobe_hip::Status;

/// The result of a call, as far as it matters here.
pub trait CallOutcome: Sized {
    /// What stands for it in a forked child, which has no device, if the call answers nothing: it is not made. What a
    /// program that ends takes out of HIP there, the runtime would give back to the device, and aborts.
    const OF_FORKED_CHILD: Option<Self> = None;

    /// Whether it did what it was asked for.
    fn succeeded(&self) -> bool;
    /// What HIP answered; a function that answers nothing has succeeded.
    fn status(&self) -> Status {
        Status::SUCCESS
    }
    /// The handle it returned.
    fn handle(&self) -> usize {
        0
    }
    /// Whether there was no memory for it.
    fn lacks_memory(&self) -> bool {
        false
    }
}

impl CallOutcome for Status {
    fn succeeded(&self) -> bool {
        *self == Status::SUCCESS
    }
    fn lacks_memory(&self) -> bool {
        *self == Status::OUT_OF_MEMORY
    }
    fn status(&self) -> Status {
        *self
    }
}

impl CallOutcome for () {
    const OF_FORKED_CHILD: Option<()> = Some(());

    fn succeeded(&self) -> bool {
        true
    }
}

impl<T> CallOutcome for *mut T {
    fn succeeded(&self) -> bool {
        !self.is_null()
    }
    fn handle(&self) -> usize {
        self.addr()
    }
}
