//! One GPU of the program: what the program has on it, and what the agent does there. Nothing about
//! a GPU is kept anywhere else.

use crate::checkpoint::course::Course;
use crate::device::handle::DeviceHandle;
use crate::device::last_copies::LastCopies;
use crate::device::reading::Reading;
use crate::device::resources::Resources;
use crate::seen::registry::Registry;
use parking_lot::Mutex;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct DeviceState {
    pub(crate) handle: DeviceHandle,
    /// Its memory as it is now; the trace has its own, as it was.
    pub(crate) registry: Registry,
    /// What of it is read for us before a cut.
    pub(crate) reading: Reading,
    /// What becomes of calls that write it.
    pub(crate) course: Course,
    /// What earlier checkpoints have left for the next.
    pub(crate) spare: Mutex<Option<Resources>>,
    pub(crate) last_copies: Mutex<LastCopies>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::refusal::Refusal;
    use strobe_extent::Extent;

    #[test]
    fn two_devices_have_nothing_in_common() {
        let (one, other) = (DeviceState::default(), DeviceState::default());
        one.registry
            .insert(Extent::with_len(0x1000, 0x100).expect("an extent"));
        one.handle.set_borrowed(1 << 20);
        one.course.give_up(&Refusal::Over);
        assert_eq!(one.registry.totals(), (1, 0x100));
        assert_eq!(other.registry.totals(), (0, 0));
        assert_eq!(
            (one.handle.borrowed(), other.handle.borrowed()),
            (1 << 20, 0)
        );
    }
}
