//! The decoder against LLVM 15: size and text of every instruction must agree.
//!
//! Needs `llvm-objdump` of LLVM 15 and librocrand; `STROBE_CORPUS` may name a folder of more ROCm
//! libraries.

mod bundle;
mod elf;
mod objdump;
mod words;

use std::fs::File;
use std::path::{Path, PathBuf};

use objdump::{Line, disassemble};
use strobe_isa::{DecodeError, Encoding, decode};

/// Instructions and disagreements.
#[derive(Default)]
struct Tally {
    checked: u64,
    refused: u64,
    exempt: u64,
    differences: u64,
    shown: Vec<String>,
}

impl Tally {
    fn difference(&mut self, line: &Line<'_>, ours: &str) {
        self.differences += 1;
        if self.shown.len() < 20 {
            self.shown.push(format!(
                "{:x?}\n  LLVM: {}\n  ours: {ours}",
                line.words, line.text
            ));
        }
    }

    /// Compares our decoding with LLVM's. `words` are those of the line and some that follow.
    fn check(&mut self, line: &Line<'_>, words: &[u32]) {
        self.checked += 1;
        let ours = decode(words);
        match (line.is_instruction(), ours) {
            (true, Ok(inst)) => {
                let text = inst.to_string();
                if text != line.text || usize::from(inst.size) != 4 * line.words.len() {
                    self.difference(line, &format!("{text} ({} bytes)", inst.size));
                }
            }
            (true, Err(error)) if is_exempt(line, error) => self.exempt += 1,
            (true, Err(error)) => self.difference(line, &format!("refused: {error}")),
            (false, Ok(inst)) => self.difference(line, &inst.to_string()),
            (false, Err(_)) => self.refused += 1,
        }
    }

    fn finish(self, what: &str) {
        let Self {
            checked,
            refused,
            exempt,
            differences,
            shown,
        } = self;
        println!("{what}: {checked} checked, {refused} refused by both, {exempt} exempt");
        assert!(
            differences == 0,
            "{differences} of {checked} differ:\n{}",
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
                (Encoding::Vop1, 0x51) => field == "src0",
                _ => false,
            };
            // FLAT offsets have 12 bits.
            let offset = encoding == Encoding::Flat && field == "offset";
            null || short || read_only || wrong_file || offset
        }
        _ => false,
    }
}

/// Every gfx906 code object in `library`.
fn check_library(library: &Path) -> Tally {
    let mut file = File::open(library)
        .unwrap_or_else(|error| panic!("{} cannot be opened: {error}", library.display()));
    let mut tally = Tally::default();
    for code_object in bundle::code_objects(&mut file, "gfx906") {
        disassemble(&code_object, |line| {
            let mut words = line.words.clone();
            words.extend([0; 2]);
            tally.check(line, &words);
        });
    }
    tally
}

#[test]
fn librocrand() {
    let found = ["/usr/lib/x86_64-linux-gnu", "/opt/rocm/lib"]
        .map(|folder| Path::new(folder).join("librocrand.so.1"))
        .into_iter()
        .find(|path| path.exists())
        .expect("librocrand.so.1 is in neither /usr/lib/x86_64-linux-gnu nor /opt/rocm/lib");
    let tally = check_library(&found);
    assert!(
        tally.checked > 10_000,
        "librocrand has only {} instructions",
        tally.checked
    );
    tally.finish("librocrand");
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
        check_library(&library).finish(&library.display().to_string());
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
fn random_words() {
    const CASES: u64 = 1_200_000;
    const SLOT: usize = 4;
    // A word of a case, read as an instruction of its own, cannot reach the next case.
    const NOP: u32 = 0xbf80_0000;
    let mut generator = words::Generator::new(0x5eed_0907);
    let mut tally = Tally::default();
    let mut done = 0;
    while done < CASES {
        let count = (CASES - done).min(100_000);
        let code: Vec<u32> = (0..count)
            .flat_map(|_| {
                let [first, second] = generator.next_case();
                [first, second, NOP, NOP]
            })
            .collect();
        disassemble(&elf::wrap(&code), |line| {
            let at = line.address / 4;
            if at % SLOT == 0 {
                tally.check(line, &code[at..at + 2]);
            }
        });
        done += count;
    }
    assert_eq!(tally.checked, CASES, "LLVM lost track of the cases");
    tally.finish("random words");
}
