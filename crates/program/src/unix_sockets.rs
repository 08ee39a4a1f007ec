//! Unix sockets that have a name, as `/proc/PID/net/unix` lists them (proc_pid_net(5)). A name holds any bytes.

use std::fs;
use std::io;

/// One of a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// What `socket:[..]` says, too.
    pub(crate) inode: u64,
    /// A path, or what stands for an abstract name, behind `@`.
    pub(crate) name: Vec<u8>,
}

/// Those of a process's network namespace.
pub(crate) fn bound(pid: u32) -> io::Result<Vec<Bound>> {
    let table = fs::read(format!("/proc/{pid}/net/unix"))?;
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(parse)
        .collect())
}

/// Seven fields, and the name, which may hold blanks.
fn parse(line: &[u8]) -> Option<Bound> {
    let mut rest = line;
    let mut fields = [&line[..0]; 7];
    for field in &mut fields {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ')?;
        (*field, rest) = rest.split_at(end);
    }
    let [_, _, _, _, _, _, inode] = fields.map(|field| str::from_utf8(field).ok());
    Some(Bound {
        inode: inode?.parse().ok()?,
        name: rest.get(1..)?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_kernel_prints_them() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 30129 /tmp/a b/l";
        let named = |name: &[u8]| {
            let name = name.to_vec();
            Some(Bound { inode: 30129, name })
        };
        assert_eq!(parse(line.as_bytes()), named(b"/tmp/a b/l"));
        let other = line.replace("/tmp/a b/l", "@abstract");
        assert_eq!(parse(other.as_bytes()), named(b"@abstract"));
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(0xe9);
        assert_eq!(parse(&bytes), named(b"/tmp/a b/l\xe9"));
        let nameless = "0000000000000000: 00000002 00000000 00010000 0001 01 30129";
        assert_eq!(parse(nameless.as_bytes()), None);
        let head = "Num       RefCount Protocol Flags    Type St Inode Path";
        assert_eq!(parse(head.as_bytes()), None);
    }
}
