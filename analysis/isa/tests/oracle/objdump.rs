//! LLVM's disassembler.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use strobe_isa::{Generation, Target};

/// One line of disassembly.
pub(crate) struct Line<'a> {
    pub(crate) address: usize,
    pub(crate) words: Vec<u32>,
    /// The instruction; what LLVM says about its operands left out.
    pub(crate) text: &'a str,
}

impl Line<'_> {
    /// LLVM writes data for what it cannot decode, and comments into the text where it can only
    /// decode in part.
    pub(crate) fn is_instruction(&self) -> bool {
        !self.text.starts_with(".long") && !self.text.contains("/*")
    }

    /// Whether a source is neither a vector, nor an accumulation register, nor a number.
    pub(crate) fn has_scalar_source(&self) -> bool {
        let sources = self.text.split(", ").skip(1);
        let is_other = |text: &str| {
            matches!(
                text.as_bytes(),
                [b'v' | b'a', b'[' | b'0'..=b'9', ..] | [b'-' | b'0'..=b'9', ..]
            )
        };
        !sources.into_iter().all(is_other)
    }

    /// Whether `name` is one of the operands.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.text
            .split([' ', ',', '|', '-', '(', ')'])
            .any(|word| word == name)
    }
}

/// The version that judges a target. Each knows some fields better than the one before: all older targets are judged by
/// one, so that they have the same text.
fn version(target: &Target) -> u32 {
    match target.isa.generation() {
        Generation::Gcn5 | Generation::Cdna1 => 15,
        // LLVM 15 takes the operands of matrix instructions for others.
        Generation::Cdna2 | Generation::Cdna3 => 19,
    }
}

fn program(target: &Target) -> PathBuf {
    let version = version(target);
    let candidates = [
        format!("llvm-objdump-{version}"),
        format!("/usr/lib/llvm-{version}/bin/llvm-objdump"),
        "llvm-objdump".into(),
    ];
    for candidate in &candidates {
        let output = Command::new(candidate).arg("--version").output();
        if let Ok(output) = output
            && String::from_utf8_lossy(&output.stdout).contains(&format!("version {version}."))
        {
            return candidate.into();
        }
    }
    panic!(
        "no llvm-objdump of LLVM {version} among {candidates:?}: text differs between versions. \
         `cargo xtask setup --tests` installs it"
    );
}

/// Calls `check` with each line of the disassembly of `elf` for `target`.
pub(crate) fn disassemble(elf: &[u8], target: &Target, mut check: impl FnMut(&Line<'_>)) {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("oracle-{}-{number}.elf", std::process::id()));
    std::fs::write(&path, elf).expect("the code object cannot be written");
    let mut child = Command::new(program(target))
        .args(["-d", "-z", &format!("--mcpu={target}")])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("llvm-objdump cannot be started");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut text = String::new();
    while output.read_line(&mut text).expect("llvm-objdump's output") > 0 {
        if let Some(line) = parse(&text) {
            check(&line);
        }
        text.clear();
    }
    let status = child.wait().expect("llvm-objdump's exit");
    std::fs::remove_file(&path).expect("the code object cannot be removed");
    assert!(status.success(), "llvm-objdump failed: {status}");
}

/// `\ttext   // address: words ; remark <symbol>`
fn parse(line: &str) -> Option<Line<'_>> {
    let (text, rest) = line.strip_prefix('\t')?.split_once("// ")?;
    let (address, rest) = rest.split_once(": ")?;
    let is_word = |word: &&str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words: Vec<u32> = rest
        .split_whitespace()
        .take_while(is_word)
        .filter_map(|word| u32::from_str_radix(word, 16).ok())
        .collect();
    let address = usize::from_str_radix(address, 16).ok()?;
    (!words.is_empty()).then(|| Line {
        address,
        words,
        text: text.trim_end(),
    })
}
