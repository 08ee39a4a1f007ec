//! What a command and its guard say to one another: lines of JSON.

use std::io::{self, BufRead, Read, Write};
use std::os::unix::net::UnixStream;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Sends a message.
pub(crate) fn send(mut link: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(message)?;
    line.push('\n');
    link.write_all(line.as_bytes())
}

/// The next message; `None` where the other side has ended.
pub(crate) fn receive<R: DeserializeOwned>(link: &mut impl BufRead) -> io::Result<Option<R>> {
    /// Of a message; a program has some thousands of files at most.
    const LIMIT: u64 = 64 << 20;
    let mut line = String::new();
    Read::take(link, LIMIT).read_line(&mut line)?;
    match line.ends_with('\n') {
        true => Ok(Some(serde_json::from_str(&line)?)),
        false => Ok(None),
    }
}
