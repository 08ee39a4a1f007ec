//! The decoder against LLVM (15; of gfx90a and gfx942, 19): size and text of every instruction must agree.
//!
//! Needs `llvm-objdump` of both and librocrand; `STROBE_CORPUS` may name a folder of more ROCm
//! libraries.

mod bundle;
mod elf;
mod objdump;
mod words;

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use objdump::{Line, disassemble};
use strobe_isa::{DecodeError, Encoding, Target, WaveSize};

/// Instructions and disagreements.
struct Tally {
    target: &'static Target,
    checked: u64,
    refused: u64,
    exempt: u64,
    differences: u64,
    shown: Vec<String>,
    /// Of which an example is shown.
    kinds: HashSet<(String, String)>,
}

/// Disagreements.
const MOST_SHOWN: usize = 60;

impl Tally {
    fn new(target: &'static Target) -> Self {
        Self {
            target,
            checked: 0,
            refused: 0,
            exempt: 0,
            differences: 0,
            shown: Vec::new(),
            kinds: HashSet::new(),
        }
    }

    fn difference(&mut self, line: &Line<'_>, words: &[u32], ours: &str) {
        self.differences += 1;
        // One of a kind.
        let mnemonic = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        let kind = (mnemonic(line.text), mnemonic(ours));
        if self.shown.len() < MOST_SHOWN && self.kinds.insert(kind) {
            self.shown.push(format!(
                "{:x?}\n  LLVM: {}\n  ours: {ours}",
                words, line.text
            ));
        }
    }

    /// Compares our decoding with LLVM's. `words` are those of the line and some that follow.
    fn check(&mut self, line: &Line<'_>, words: &[u32]) {
        self.checked += 1;
        let ours = self.target.isa.decode(words, WaveSize::Lanes64);
        match (line.is_instruction(), ours) {
            (true, Ok(inst)) => {
                let text = inst.to_string();
                if text != line.text || usize::from(inst.size) != 4 * line.words.len() {
                    self.difference(line, words, &format!("{text} ({} bytes)", inst.size));
                }
            }
            (true, Err(error)) if is_exempt(line, error) => self.exempt += 1,
            (true, Err(error)) => self.difference(line, words, &format!("refused: {error}")),
            (false, Ok(inst)) => self.difference(line, words, &inst.to_string()),
            (false, Err(_)) => self.refused += 1,
        }
    }

    fn finish(self, what: &str) {
        let Self {
            target,
            checked,
            refused,
            exempt,
            differences,
            shown,
            ..
        } = self;
        println!("{what}, {target}: {checked} checked, {refused} refused by both, {exempt} exempt");
        assert!(
            differences == 0,
            "{what}, {target}: {differences} of {checked} differ:\n{}",
            shown.join("\n")
        );
        assert!(checked > 0, "nothing was checked");
    }
}

/// What LLVM decodes and we refuse, on purpose: encodings that the hardware does not define.
fn is_exempt(line: &Line<'_>, error: DecodeError) -> bool {
    match error {
        DecodeError::Graphics { .. } => true,
        // LLVM keeps an opcode of older targets.
        DecodeError::UnknownOpcode {
            encoding: Encoding::Mubuf,
            opcode: 0x71,
        } => true,
        DecodeError::Field {
            field,
            opcode,
            encoding,
        } => {
            // Operand code 125 does not exist before gfx10.
            let null = line.mentions("null");
            // LLVM takes register pairs where four registers are needed.
            let pair = ["flat_scratch", "xnack_mask", "vcc", "exec"];
            let short = matches!(field, "sbase" | "srsrc" | "sdata")
                && pair.into_iter().any(|name| line.mentions(name));
            // A destination that cannot be written.
            let read_only = matches!(field, "vdst" | "sdst") && line.text.contains(" src_");
            // Lane numbers, selection masks and carries come from scalar registers, lanes from
            // vector registers.
            let wrong_file = match (encoding, opcode) {
                (Encoding::Vop3, 0x100 | 0x289 | 0x28a) => field == "source",
                (Encoding::Vop3b, 0x11c..=0x11e) => field == "source",
                (Encoding::Vop1, 0x2 | 0x51 | 0x52) => field == "src0",
                _ => false,
            };
            // Matrices and their sums stand in vectors.
            let scalar = encoding == Encoding::Vop3pMai && line.has_scalar_source();
            // FLAT offsets have 12 bits.
            let offset = encoding == Encoding::Flat && field == "offset";
            null || short || read_only || wrong_file || scalar || offset
        }
        _ => false,
    }
}

/// The code objects of `library` for `target`, until `most` instructions have been checked.
fn check_library(library: &Path, target: &'static Target, most: u64) -> Tally {
    let mut file = File::open(library)
        .unwrap_or_else(|error| panic!("{} cannot be opened: {error}", library.display()));
    let mut tally = Tally::new(target);
    for code_object in bundle::code_objects(&mut file, target.name) {
        if tally.checked >= most {
            break;
        }
        disassemble(&code_object, target, |line| {
            let mut words = line.words.clone();
            words.extend([0; 2]);
            tally.check(line, &words);
        });
    }
    tally
}

/// Targets that Debian's libraries are built for, and how many instructions of a library are checked:
/// for the other targets there are the same kernels again. None is built for gfx904.
const OF_LIBRARIES: [(&Target, u64); 4] = [
    (&Target::GFX900, 2_000_000),
    (&Target::GFX906, u64::MAX),
    (&Target::GFX908, 2_000_000),
    (&Target::GFX90A, 2_000_000),
];

#[test]
fn librocrand() {
    let found = ["/usr/lib/x86_64-linux-gnu", "/opt/rocm/lib"]
        .map(|folder| Path::new(folder).join("librocrand.so.1"))
        .into_iter()
        .find(|path| path.exists())
        .expect("librocrand.so.1 is in neither /usr/lib/x86_64-linux-gnu nor /opt/rocm/lib");
    for (target, most) in OF_LIBRARIES {
        let tally = check_library(&found, target, most);
        assert!(
            tally.checked > 10_000,
            "librocrand has only {} instructions for {target}",
            tally.checked
        );
        tally.finish("librocrand");
    }
}

/// The libraries of the folder `STROBE_CORPUS`.
#[test]
#[ignore = "needs STROBE_CORPUS, a folder with ROCm libraries"]
fn corpus() {
    let folder = std::env::var_os("STROBE_CORPUS").expect("STROBE_CORPUS names no folder");
    let mut libraries = Vec::new();
    collect(Path::new(&folder), &mut libraries);
    assert!(
        !libraries.is_empty(),
        "{} holds no libraries",
        folder.display()
    );
    for library in libraries {
        for (target, most) in OF_LIBRARIES {
            check_library(&library, target, most).finish(&library.display().to_string());
        }
    }
}

fn collect(folder: &Path, libraries: &mut Vec<PathBuf>) {
    let entries = folder
        .read_dir()
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder entry").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, libraries);
        } else if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains(".so"))
        {
            libraries.push(path);
        }
    }
}

/// Random words, shaped so that every encoding decodes often.
#[test]
fn random_words_gfx900() {
    random_words_of(&Target::GFX900, 200_000);
}

#[test]
fn random_words_gfx904() {
    random_words_of(&Target::GFX904, 200_000);
}

#[test]
fn random_words_gfx906() {
    random_words_of(&Target::GFX906, 1_200_000);
}

#[test]
fn random_words_gfx908() {
    random_words_of(&Target::GFX908, 400_000);
}

#[test]
fn random_words_gfx90a() {
    random_words_of(&Target::GFX90A, 600_000);
}

#[test]
fn random_words_gfx942() {
    random_words_of(&Target::GFX942, 600_000);
}

fn random_words_of(target: &'static Target, cases: u64) {
    const SLOT: usize = 4;
    // A word of a case, read as an instruction of its own, cannot reach the next case.
    const NOP: u32 = 0xbf80_0000;
    let mut generator = words::Generator::new(target, 0x5eed_0907);
    let mut tally = Tally::new(target);
    let mut done = 0;
    while done < cases {
        let count = (cases - done).min(100_000);
        let code: Vec<u32> = (0..count)
            .flat_map(|_| {
                let [first, second] = generator.next_case();
                [first, second, NOP, NOP]
            })
            .collect();
        disassemble(&elf::wrap(&code, target), target, |line| {
            let at = line.address / 4;
            if at % SLOT == 0 {
                tally.check(line, &code[at..at + 2]);
            }
        });
        done += count;
    }
    assert_eq!(tally.checked, cases, "LLVM lost track of the cases");
    tally.finish("random words");
}
