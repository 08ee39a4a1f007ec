//! `cargo xtask`: what the two README commands call.

#![forbid(unsafe_code)]

mod build;
mod corpus;
mod demo;
mod evaluate;
mod fuzz;
mod setup;
mod shell;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

  setup [--tests]    install what is missing: ROCm and CRIU, from Debian (needs root); with --tests
                     what the suite needs besides: runc, other versions of CRIU, CRIU's own plugins
  build              build everything in release: target/release/strobe, ready to use from there
  demo [--json FILE] the main job on the software GPU: checkpoint a training program while it
                     runs, kill it, restore it on a new device, compare bit for bit
  test               the whole test suite
  bench [--json FILE] [--report FILE] [--quick] [--runs N] [--busy]
                     measure launches, stalls, copy rates, restores, the software GPU; each N times
                     (5), with --busy while other threads keep every core busy; --report writes a
                     page of Markdown
  soak [--minutes N] [--seed S] [--program NAME]... [--json FILE]
                     checkpoint, kill and restore many programs at random moments
  fuzz footprints [--seconds N] [--seed S] [--keep N] [--folder F] [--replay FILE...]
                     random kernels on the software GPU: what they touch must be predicted
  fuzz inputs [--seconds N | --inputs N] [--seed S] [--format NAME]... [--replay FILE...]
                     what is read from files, sockets and other processes, whatever the bytes are
  corpus [--folder F] [NAME]...
                     get packages with code for gfx906 (5 GB, 20 GB unpacked, into target/corpora;
                     nothing is installed)
  evaluate footprints [--folder F] [--launches FILE] [--json FILE] [--html FILE] [--target T] [--limit N]
                     what is known of the kernels in there by their signatures, their metadata and
                     their machine code; with what the next has found, in one page
  evaluate launches [--folder F] [--only PART]... [--seed N] [--seconds N] [--json FILE] [--log FILE]...
                     the same of launches, held against what they touch on the software GPU: AMD's
                     test programs and ggml's (2.3 GB, 15 GB unpacked, into target/launches), or logs
                     of any program
  tidy               check the rules of this repository

demo, test, bench and soak begin with setup and build. Exit codes: 0 done, 1 failed, 2 wrong usage.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = Workspace::find().and_then(|workspace| match words.as_slice() {
        ["setup"] => setup::run(),
        ["setup", "--tests"] => setup::run().and_then(|()| setup::for_tests()),
        ["build"] => build::run(&workspace),
        ["corpus", rest @ ..] => corpus::collect(&workspace, rest),
        ["evaluate", "footprints", rest @ ..] => evaluate::footprints(&workspace, rest),
        ["evaluate", "launches", rest @ ..] => evaluate::launches(&workspace, rest),
        ["fuzz", rest @ ..] => fuzz::run(&workspace, rest),
        ["tidy"] => tidy::run(&workspace),
        ["test"] => test::run(&workspace),
        ["demo", rest @ ..] => demo::run(&workspace, rest),
        ["bench", rest @ ..] => build::bench(&workspace, rest),
        ["soak", rest @ ..] => build::soak(&workspace, rest),
        ["-h" | "--help" | "help"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => {
            eprintln!("{HELP}");
            std::process::exit(2);
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
