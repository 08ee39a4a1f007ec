//! The numbers that the program's processes and threads will have.

use std::collections::BTreeSet;
use std::io;

use strobe_proto::files;

use crate::images::Images;

/// As the images say. (In a PID namespace of its own the program has others here, which are in nobody's way.)
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(BTreeSet<u32>);

impl Numbers {
    /// Of all threads that CRIU has saved; none where images are streamed.
    pub(super) fn of_program(images: &Images) -> io::Result<Self> {
        let names = images.names()?;
        let numbers = names
            .iter()
            .filter_map(|name| files::thread(name))
            .collect();
        Ok(Self(numbers))
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.0.contains(&number)
    }
}
