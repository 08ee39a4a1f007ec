//! The `strobe` command.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused (nothing was changed). `run`, `softgpu`
//! and a `restore` that waits pass on the program's own code, 128 plus the signal when one ended it.

#![forbid(unsafe_code)]
// These panic where nothing can be written.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod abandoned;
mod arguments;
mod arming;
mod capabilities;
mod checkpoint;
mod choosing;
mod commit;
mod course;
mod criu;
mod deferred;
mod delivery;
mod demangle;
mod diff;
mod directory;
mod distrust;
mod doctor;
mod ended;
mod entrusted;
mod export;
mod figures;
mod footprints;
mod gc;
mod gpu;
mod graph;
mod guard_link;
mod held;
mod host_memory;
mod html;
mod import;
mod info;
mod inside;
mod inspect;
mod instance;
mod interrupt;
mod journal;
mod launches;
mod link;
mod list;
mod loading;
mod missed;
mod outcome;
mod output;
mod progress;
mod prospects;
mod ps;
mod readiness;
mod release;
mod report;
mod requirements;
mod restore;
mod results;
mod room;
mod rounds;
mod run;
mod scratch;
mod series;
mod session;
mod signals;
mod size;
mod softgpu;
mod spool;
mod status;
mod summary;
mod trace;
mod tree;
mod verify;

use std::process::ExitCode;
use strobe_log::Wanted;

use anyhow::Context;
use arguments::{Action, Arguments};
use clap::Parser;
use outcome::Outcome;

fn main() -> ExitCode {
    // Fails only where there is one already; nobody but us makes one.
    let _ = tracing::dispatcher::set_global_default(
        Wanted::from_environment().of_command(|| strobe_log::Stderr),
    );
    if let Some(arguments) = criu::by_name() {
        return outcome::exit(criu::run(&arguments));
    }
    let mut arguments = Arguments::parse();
    let outcome = match arguments.number_inside {
        Some(number) => {
            arguments.action.set_program(number);
            // The sentence has numbers of that namespace, and is of what is seen in there.
            act(arguments.action).with_context(|| {
                format!("in the namespaces of the program, where it is process {number}")
            })
        }
        None => match inside::run(&arguments.action) {
            Ok(None) => act(arguments.action),
            Ok(Some(code)) => Ok(code),
            Err(error) => Err(error),
        },
    };
    if outcome.is_err() {
        interrupt::goes_first();
    }
    outcome::exit(outcome)
}

fn act(action: Action) -> Outcome {
    match action {
        Action::Run(a) => run::run(&a),
        Action::Softgpu(a) => softgpu::run(&a),
        Action::Checkpoint(a) => match a.every {
            Some(every) => series::run(&a, every),
            None => checkpoint::run(&a),
        },
        Action::Restore(a) => restore::run(&a),
        Action::Release(a) => release::run(&a),
        Action::Ps(a) => ps::run(&a),
        Action::Status(a) => status::run(&a),
        Action::Inspect(a) => inspect::run(&a),
        Action::Footprints(a) => footprints::run(&a),
        Action::Graph(a) => graph::run(&a),
        Action::List(a) => list::run(&a),
        Action::Info(a) => info::run(&a),
        Action::Report(a) => report::run(&a),
        Action::Diff(a) => diff::run(&a),
        Action::Verify(a) => verify::run(&a),
        Action::Gc(a) => gc::run(&a),
        Action::Export(a) => export::run(&a),
        Action::Import(a) => import::run(&a),
        Action::Doctor(a) => doctor::run(&a),
        Action::Criu(a) => criu::run(&a.arguments),
        Action::Session(a) => session::run(&a),
    }
}
