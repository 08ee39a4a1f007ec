//! The script of an export: it puts the program's files in place and starts CRIU.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use strobe_criu::numbers;
use strobe_proto::{Manifest, ProgramFile, SharedMemoryFile};

use super::{FILES, IMAGES, Kind, Needed, Report};

const HEAD: &str = r#"#!/bin/sh
# Puts the program's files in place and starts CRIU, which brings it back. Arguments go to
# `criu restore`: --libdir DIR for the folder with its plugins, --restore-detached, and so on.
# CRIU=/path/to/criu says which CRIU.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if ! command -v -- "${CRIU:-criu}" >/dev/null; then
    echo "$0: there is no ${CRIU:-criu}: CRIU=/path/to/criu says where it is" >&2
    exit 3
fi

# What is started from here on has none of the program's numbers, which are given, where those would come next. Behind
# the kernel's limit the lowest are given again, so each is looked at twice.
numbers() {
    last=$(cat /proc/sys/kernel/ns_last_pid 2>/dev/null) || return 0
    limit=$(cat /proc/sys/kernel/pid_max) || return 0
    clear=$last
    for number in "$@" "$@"; do
        ahead=$(((number - clear + limit) % limit))
        if [ "$number" -lt "$limit" ] && [ "$ahead" -le AHEAD ]; then
            clear=$number
        fi
    done
    if [ "$clear" -ne "$last" ]; then
        echo "$clear" 2>/dev/null >/proc/sys/kernel/ns_last_pid || :
    fi
}
# A file of the GPU's library that all its programs share: FILE STORED MODE
share() {
    if [ ! -e "$1" ]; then
        cp -- "$here/$2" "$1"
        chmod -- "$3" "$1"
    fi
}
# A folder: FILE MODE OWNER
folder() {
    if [ ! -d "$1" ]; then
        mkdir -p -- "$1"
        chown -- "$3" "$1"
        chmod -- "$2" "$1"
    fi
}
# A file through which output went that was read since: FILE SIZE MODE
output() {
    if [ ! -e "$1" ]; then
        mkdir -p -- "${1%/*}"
        truncate -s "$2" -- "$1"
        chmod -- "$3" "$1"
    fi
}
# A file that was saved. What it has become is kept beside it: FILE STORED MODE OWNER
file() {
    if [ ! -f "$1" ] || [ -L "$1" ] || ! cmp -s -- "$1" "$here/$2"; then
        mkdir -p -- "${1%/*}/"
        if [ -e "$1" ] || [ -L "$1" ]; then
            n=1
            while [ -e "$1.strobe-later-$n" ]; do n=$((n + 1)); done
            mv -- "$1" "$1.strobe-later-$n"
            printf '%s\n' "what $1 was since: $1.strobe-later-$n" >&2
        fi
        cp -- "$here/$2" "$1"
    fi
    chown -- "$4" "$1"
    chmod -- "$3" "$1"
}
# A name that CRIU wants a file to have meanwhile, and removes: NAME FILE
name() {
    ln -f -- "$2" "$1"
}

"#;

/// Where a file of the GPU's library is in an export.
pub(super) fn stored(memory: &SharedMemoryFile) -> String {
    format!("{FILES}/shm-{}", memory.name)
}

/// Where it belongs.
pub(super) fn path(memory: &SharedMemoryFile) -> String {
    format!("/dev/shm/{}", memory.name)
}

/// The whole script: names of files are bytes.
pub(super) fn text(manifest: &Manifest, report: &Report<'_>) -> Vec<u8> {
    let ahead = numbers::AHEAD.to_string();
    let mut script = HEAD.replace("AHEAD", &ahead).into_bytes();
    let numbers: Vec<_> = report.numbers.iter().map(u32::to_string).collect();
    let numbers: Vec<_> = numbers.iter().map(String::as_bytes).collect();
    line(&mut script, "numbers", &numbers);
    for memory in &manifest.shared_memory {
        let mode = mode(memory.mode);
        line(
            &mut script,
            "share",
            &[path(memory).as_bytes(), stored(memory).as_bytes(), &mode],
        );
    }
    // Folders first: a file may lie in one.
    let is_folder = |needed: &&Needed<'_>| needed.kind == Kind::Folder;
    let folders = report.files.iter().filter(is_folder);
    let rest = report.files.iter().filter(|needed| !is_folder(needed));
    for needed in folders.chain(rest) {
        let ProgramFile {
            mode: bits,
            size,
            links,
            ..
        } = needed.record;
        let path = bytes(needed.record.path());
        let (mode, owner) = (mode(*bits), owner(needed.record));
        match (needed.kind, &needed.stored) {
            (Kind::Folder, _) => line(&mut script, "folder", &[path, &mode, &owner]),
            (Kind::Output, _) => {
                line(
                    &mut script,
                    "output",
                    &[path, size.to_string().as_bytes(), &mode],
                );
            }
            (Kind::Saved, Some(stored)) => {
                line(
                    &mut script,
                    "file",
                    &[path, stored.as_bytes(), &mode, &owner],
                );
            }
            _ => {}
        }
        for link in links {
            line(&mut script, "name", &[link.as_bytes(), path]);
        }
    }
    let options = report.criu_options.join(" ");
    let last = format!(
        "\nexec \"${{CRIU:-criu}}\" restore --images-dir \"$here/{IMAGES}\" {options} \"$@\"\n"
    );
    script.extend(last.into_bytes());
    script
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn mode(bits: u32) -> Vec<u8> {
    format!("{:04o}", bits & 0o7777).into_bytes()
}

fn owner(file: &ProgramFile) -> Vec<u8> {
    format!("{}:{}", file.owner, file.group).into_bytes()
}

/// A command with its words, each in quotes.
fn line(script: &mut Vec<u8>, command: &str, words: &[&[u8]]) {
    script.extend(command.bytes());
    for word in words {
        script.extend(b" '");
        for &byte in *word {
            match byte {
                b'\'' => script.extend(b"'\\''"),
                byte => script.push(byte),
            }
        }
        script.push(b'\'');
    }
    script.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn names_of_all_bytes_stay_words() {
        let mut script = Vec::new();
        line(
            &mut script,
            "printf '%s|'",
            &[b"a b", b"it's $(x)`y`\\", b"\xff\n-n"],
        );
        let output = Command::new("sh")
            .arg("-c")
            .arg(<std::ffi::OsStr as OsStrExt>::from_bytes(&script))
            .output()
            .expect("a shell");
        assert_eq!(output.stdout, b"a b|it's $(x)`y`\\|\xff\n-n|");
    }

    #[test]
    fn without_criu_nothing_is_begun() {
        let mut shell = Command::new("sh");
        let script = format!("{HEAD}\necho begun");
        let shell = shell.args(["-c", &script]).env("CRIU", "/nowhere/criu");
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("CRIU=/path/to/criu"));
    }
}
