//! The program's files while it is brought back: what they were at the cut, until it is back or does not come.
//!
//! They are in the hands of the command's guard. Is the command killed, the guard ends what CRIU has made, and the
//! files are again what they were before; if CRIU had let the program go already, that runs, and keeps them.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use strobe_criu::guard::Guard;
use strobe_criu::left_over::WorkFolder;
use strobe_program::journal::{self, Noted};
use strobe_program::path_map::PathMap;
use strobe_program::program_files::{Links, ProgramFileError, Repair, Repaired};
use strobe_program::spool::is_spooled;
use strobe_proto::{FileJournal, ProgramFile};

use crate::arguments::Tail;
use crate::guard_link::{receive, send};
use crate::output::{notice, sentence};
use crate::results::FileReport;
use crate::spool;

/// What the guard is told to do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Order {
    Repair,
    /// The program has not come back.
    Undo,
    /// It has; what the files had become stays beside them.
    Keep,
    /// The same, and that goes.
    Drop,
}

/// A [`FileReport`], whose sentence is not in its JSON.
type Row = (String, Option<String>, String);

/// Files in the guard's hands.
#[derive(Debug)]
pub(crate) struct Entrusted(Guard);

impl Entrusted {
    /// Starts the guard. `gone` are files that the program's output went through, and that are not there any more.
    pub(crate) fn new(
        work: &WorkFolder,
        all: &[ProgramFile],
        gone: Vec<ProgramFile>,
        repairs: Vec<Repair>,
        journals: Journals<'_>,
    ) -> io::Result<Self> {
        let plan = Plan {
            all,
            gone,
            repairs,
            journals,
        };
        Ok(Self(Guard::start(|link| keep(&link, work, plan))?))
    }

    /// The guard's process.
    pub(crate) fn guard(&self) -> u32 {
        self.0.pid()
    }

    /// Makes the files what they were at the cut, all or none.
    pub(crate) fn repair(&self) -> anyhow::Result<()> {
        let done: Result<(), String> = self.order(Order::Repair)?;
        done.map_err(|error| anyhow!(error))
    }

    /// Makes them what they were before.
    pub(crate) fn undo(self) {
        match self.order::<Vec<String>>(Order::Undo) {
            Ok(failed) => failed.iter().for_each(notice),
            Err(error) => notice(format_args!(
                "{}; what the program's files had become lies beside them",
                sentence(&error)
            )),
        }
    }

    /// Leaves them as they are; what was done.
    pub(crate) fn settle(self, tail: Tail) -> Vec<FileReport> {
        let settled = self.order::<(Vec<Row>, Vec<String>)>(match tail {
            Tail::Drop => Order::Drop,
            Tail::Keep => Order::Keep,
        });
        // The program runs all the same.
        let (files, failed) = settled.unwrap_or_else(|error| {
            notice(sentence(&error));
            Default::default()
        });
        failed.iter().for_each(notice);
        let report = |(path, kept, sentence)| FileReport {
            path,
            kept,
            sentence,
        };
        files.into_iter().map(report).collect()
    }

    fn order<R: DeserializeOwned>(&self, order: Order) -> anyhow::Result<R> {
        let ask = || {
            send(self.0.link(), &order)?;
            receive(&mut BufReader::new(self.0.link()))
        };
        let answer = ask().context("the process that keeps the program's files does not answer")?;
        answer.context("the process that keeps the program's files was killed")
    }
}

/// Where it is noted what is done.
#[derive(Clone, Copy)]
pub(crate) struct Journals<'a> {
    pub(crate) all: &'a [FileJournal],
    pub(crate) map: &'a PathMap,
}

struct Plan<'a> {
    all: &'a [ProgramFile],
    gone: Vec<ProgramFile>,
    repairs: Vec<Repair>,
    journals: Journals<'a>,
}

/// What was done of it.
#[derive(Default)]
struct Done {
    output: Vec<ProgramFile>,
    repaired: Vec<Repaired>,
    links: Links,
    noted: Vec<Noted>,
}

/// In the guard: does what the command says, until that lets it go or is dead.
fn keep(link: &UnixStream, work: &WorkFolder, plan: Plan<'_>) {
    let journals = plan.journals;
    let mut plan = Some(plan);
    let mut done: Option<Done> = None;
    let mut orders = BufReader::new(link);
    while let Ok(Some(order)) = receive(&mut orders) {
        // Who asks may be dead when it is answered; then no other order comes.
        let _ = match order {
            Order::Repair => {
                let result = plan.take().map_or(Ok(Done::default()), Plan::carry_out);
                let result = result.map(|now| done = Some(now));
                send(link, &result.map_err(|error| error.to_string()))
            }
            Order::Undo => {
                let failed = done.take().map(Done::undo);
                send(link, &failed.unwrap_or_default())
            }
            Order::Keep | Order::Drop => {
                let drop = matches!(order, Order::Drop);
                let files = done.take().map(|done| done.settle(drop, journals));
                send(link, &files.unwrap_or_default())
            }
        };
    }
    if let Some(done) = done {
        work.end_all();
        if work.is_done() {
            done.settle(false, journals);
        } else {
            work.remove_ghosts();
            done.undo();
        }
    }
    // Where nothing was done, or all of it is undone, nobody is to look for anything by it.
    work.remove();
}

impl Plan<'_> {
    fn carry_out(self) -> Result<Done, ProgramFileError> {
        let mut done = Done::default();
        // One that cannot be made is missing, and CRIU says so.
        let make = |file: &ProgramFile| spool::make_again(file).is_ok();
        done.output = self.gone.into_iter().take_while(make).collect();
        let begun = SystemTime::now();
        let repair = || {
            for repair in self.repairs {
                done.repaired.push(repair.apply()?);
            }
            done.links = Links::make(self.all)?;
            for journal in self.journals.all {
                match journal::restored(journal, &done.repaired, begun, self.journals.map) {
                    Ok(noted) => done.noted.push(noted),
                    // Without one less is known at the next restore.
                    Err(error) => tracing::warn!("{}: {error}", journal.path().display()),
                }
            }
            Ok(())
        };
        match repair() {
            Ok(()) => Ok(done),
            Err(error) => {
                done.undo();
                Err(error)
            }
        }
    }
}

impl Done {
    /// What could not be undone, and why.
    fn undo(self) -> Vec<String> {
        for noted in &self.noted {
            if let Err(error) = noted.undo() {
                tracing::warn!("the journal of the program's files: {error}");
            }
        }
        let undone = self.repaired.iter().rev().map(Repaired::undo);
        let failed = undone.filter_map(Result::err);
        let failed = failed.map(|error| error.to_string()).collect();
        self.output.iter().for_each(spool::unmake);
        failed
    }

    /// What the files had become is kept, or goes. Of the program's output nothing is kept, for it has been passed
    /// on.
    fn settle(self, drop: bool, journals: Journals<'_>) -> (Vec<Row>, Vec<String>) {
        let mut failed = Vec::new();
        let goes = |file: &&Repaired| drop || is_spooled(file.path());
        let going: Vec<_> = self.repaired.iter().filter(goes).collect();
        for journal in journals.all {
            if let Err(error) = journal::dropping(journal, &going, journals.map) {
                tracing::warn!("{}: {error}", journal.path().display());
            }
        }
        let settle = |mut file: Repaired| {
            let is_spooled = is_spooled(file.path());
            if drop || is_spooled {
                // It lies there then, and is named.
                failed.extend(file.drop_kept().err().map(|error| error.to_string()));
            }
            let is_told = file.is_told() && !is_spooled;
            let kept = file.kept().map(|kept| kept.display().to_string());
            is_told.then(|| (file.path().display().to_string(), kept, file.to_string()))
        };
        let files = self.repaired.into_iter().filter_map(settle).collect();
        (files, failed)
    }
}
