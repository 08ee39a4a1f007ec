//! What the software GPU tells its user.

/// One line on stderr.
pub(crate) fn report(message: &str) {
    let line = format!("softgpu: {message}\n");
    // SAFETY: writes a live buffer. A failing stderr leaves nothing to tell.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}
