//! `tests/filetests/isa/*.txt`: words, their text, what they read and write.
//!
//! A block is the words in hexadecimal, the text, `reads` and `writes`; or the words and `refused`
//! with the reason. Lines that start with `;` are remarks. A file with the name of a target is for that
//! target, all others are for the default.

use std::fmt::Write as _;
use std::path::Path;

mod registers;

use registers::{list, reads, writes};
use strobe_isa::{Target, WaveSize};

/// What a block of a file test should say of `words`.
fn describe(target: &Target, words: &[u32]) -> String {
    let mut text = String::new();
    match target.isa.decode(words, WaveSize::Lanes64) {
        Err(error) => write!(text, "refused: {error}"),
        Ok(inst) => {
            assert_eq!(
                usize::from(inst.size),
                4 * words.len(),
                "{words:x?} has another size"
            );
            let (reads, writes) = (list(reads(&inst)), list(writes(&inst)));
            write!(text, "{inst}\nreads{reads}\nwrites{writes}")
        }
    }
    .expect("a string");
    text
}

fn check_block(file: &Path, target: &Target, block: &str) {
    let mut lines = block.lines().filter(|line| !line.starts_with(';'));
    let Some(words) = lines.next() else { return };
    let expected: Vec<&str> = lines.collect();
    let parsed: Vec<u32> = words
        .split_whitespace()
        .map(|word| {
            u32::from_str_radix(word, 16)
                .unwrap_or_else(|error| panic!("{}: {word}: {error}", file.display()))
        })
        .collect();
    let actual = describe(target, &parsed);
    assert_eq!(actual, expected.join("\n"), "{}: {words}", file.display());
}

#[test]
fn blocks_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/isa");
    let mut files = 0;
    let mut blocks = 0;
    for entry in folder.read_dir().expect("the folder of file tests") {
        let path = entry.expect("a folder entry").path();
        let text = std::fs::read_to_string(&path).expect("a file test");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let target = Target::named(&name).unwrap_or(Target::DEFAULT);
        files += 1;
        for block in text.split("\n\n") {
            check_block(&path, target, block.trim());
            blocks += 1;
        }
    }
    assert!(
        files >= 19 && blocks >= 160,
        "{files} files with {blocks} blocks: some are missing"
    );
}
