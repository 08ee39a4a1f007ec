//! The runs: each program on the software GPU, with a log, which is judged and thrown away.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, ensure};

use super::draw;
use super::judge::{Judged, judge};
use super::report::{LaunchReport, RunReport};
use super::suites::{Part, Root, SUITES, Suite};
use crate::compile;
use crate::soak::random::SplitMix64;

/// Launches of one process that are judged: the first.
const LAUNCHES: u64 = 2000;
/// Device memory that programs find: some of their tests want more than the usual.
const VRAM: &str = "6G";
/// Of what a program has said, in reports.
const SAID: usize = 200;
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// What is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where the roots are.
    pub folder: PathBuf,
    /// Parts of the names of suites; all without.
    pub only: Vec<String>,
    pub seed: u64,
    /// Seconds that one process gets.
    pub seconds: u64,
}

/// Runs all, one after the other; what fails is in the report.
///
/// # Errors
/// If nothing of that name is there to run, or no folder can be made.
pub fn make(options: &RunOptions) -> anyhow::Result<LaunchReport> {
    let wanted = |suite: &&Suite| {
        let mut only = options.only.iter();
        options.only.is_empty() || only.any(|part| suite.name.contains(part.as_str()))
    };
    let (mut runs, mut all) = (Vec::new(), Judged::default());
    for suite in SUITES.iter().filter(wanted) {
        let run = Run::new(suite, options)?;
        let (report, judged) = run.make();
        all.merge(&judged);
        runs.push(report);
    }
    ensure!(!runs.is_empty(), "nothing of that name");
    Ok(LaunchReport::new(runs, &all))
}

/// The processes of one suite.
struct Run<'a> {
    suite: &'a Suite,
    options: &'a RunOptions,
    strobe: PathBuf,
    scratch: tempfile::TempDir,
}

impl<'a> Run<'a> {
    fn new(suite: &'a Suite, options: &'a RunOptions) -> anyhow::Result<Self> {
        let here = env::current_exe()?;
        Ok(Self {
            suite,
            options,
            strobe: here.with_file_name("strobe"),
            scratch: tempfile::tempdir().context("make a folder")?,
        })
    }

    fn make(&self) -> (RunReport, Judged) {
        let suite = self.suite;
        let (mut judged, mut failed, mut processes) = (Judged::default(), Vec::new(), 0);
        for program in suite.programs {
            let short = program.rsplit('/').next().unwrap_or(program);
            let lists = match self.arguments(program) {
                Ok(lists) => lists,
                Err(error) => {
                    failed.push(format!("{short}: {error:#}"));
                    continue;
                }
            };
            for (index, list) in lists.iter().enumerate() {
                eprintln!("{}: {short}, {} of {}", suite.name, index + 1, lists.len());
                processes += 1;
                let (found, error) = self.judged(program, list);
                judged.merge(&found);
                failed.extend(error.map(|error| format!("{short} {}: {error:#}", list.join(" "))));
            }
        }
        let report = RunReport::new(suite.name, processes, &judged, failed);
        (report, judged)
    }

    /// What the program is started with, once for each list.
    fn arguments(&self, program: &str) -> anyhow::Result<Vec<Vec<String>>> {
        let suite = self.suite;
        let root = self.root();
        let first = suite.arguments.iter();
        let first: Vec<String> = first
            .map(|word| word.replace("ROOT", &root.to_string_lossy()))
            .collect();
        // Each program's draw is its own, whatever else is run.
        let salt = program.bytes().fold(0_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut random = SplitMix64::new(self.options.seed ^ salt);
        let of_drawn = |drawn: Vec<String>, option: &str, between: &str| {
            let lists = drawn.chunks(suite.at_once).map(|some| {
                let mut words = first.clone();
                words.push(format!("{option}{}", some.join(between)));
                words
            });
            lists.collect()
        };
        Ok(match suite.part {
            Part::Whole(words) => vec![words.iter().map(|&word| word.to_owned()).collect()],
            Part::Tests(part, tests) => {
                let words = first.iter().map(String::as_str);
                let words: Vec<&str> = words.chain(["--gtest_list_tests"]).collect();
                let listed = self.output(program, &words)?;
                let drawn = draw::tests(&listed, part, tests, &mut random);
                ensure!(!drawn.is_empty(), "it lists no tests");
                of_drawn(drawn, "--gtest_filter=", ":")
            }
            Part::Operations(of_each) => {
                let words = ["support", "-b", "ROCm0", "--output", "csv"];
                let listed = self.output(program, &words)?;
                let drawn = draw::operations(&listed, of_each, &mut random);
                ensure!(!drawn.is_empty(), "it lists no operations");
                let lists: Vec<Vec<String>> = of_drawn(drawn, "", ",");
                let named = lists.into_iter().map(|mut words| {
                    words.insert(words.len() - 1, "-o".to_owned());
                    words
                });
                named.collect()
            }
            Part::Calls(of_each) => draw::calls(of_each, &mut random),
        })
    }

    fn root(&self) -> PathBuf {
        match self.suite.root {
            Root::Here => PathBuf::from("/"),
            Root::Apart(name) => self.options.folder.join(name),
        }
    }

    /// What it prints on a software GPU.
    fn output(&self, program: &str, words: &[&str]) -> anyhow::Result<String> {
        let path = self.scratch.path().join("listed");
        let status = self.start(program, words, None, &path)?;
        ensure!(status.success(), "it lists nothing: {}", said(&path));
        Ok(String::from_utf8_lossy(&fs::read(&path)?).into_owned())
    }

    /// What a process has launched, and how it ended, if not well.
    fn judged(&self, program: &str, words: &[String]) -> (Judged, Option<anyhow::Error>) {
        let (log, output) = (
            self.scratch.path().join("accesses"),
            self.scratch.path().join("output"),
        );
        let _ = fs::remove_file(&log);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ended = self.start(program, &words, Some(&log), &output);
        let error = match ended {
            Ok(status) if status.success() => None,
            Ok(status) if status.code() == Some(TIMED_OUT) => {
                let seconds = self.options.seconds;
                Some(anyhow::anyhow!("stopped after {seconds} s"))
            }
            Ok(status) => Some(anyhow::anyhow!("{status}: {}", said(&output))),
            Err(error) => Some(error),
        };
        if !log.exists() {
            let error = error.unwrap_or_else(|| anyhow::anyhow!("it launched nothing"));
            return (Judged::default(), Some(error));
        }
        match judge(&log, LAUNCHES) {
            Ok(judged) => (judged, error),
            Err(wrong) => (Judged::default(), Some(wrong)),
        }
    }

    fn start(
        &self,
        program: &str,
        words: &[&str],
        log: Option<&Path>,
        output: &Path,
    ) -> anyhow::Result<ExitStatus> {
        let root = self.root();
        let mut command = Command::new("timeout");
        command.args(["-k", "10", &self.options.seconds.to_string()]);
        command.arg(&self.strobe).args(["softgpu", "--vram", VRAM]);
        if let Some(log) = log {
            command.arg("--access-log").arg(log).arg("--log-launches");
        }
        command.arg("--");
        let folder = match self.suite.root {
            Root::Here => {
                command.arg(compile::hip(program, "-O2", self.scratch.path())?);
                self.scratch.path().to_owned()
            }
            Root::Apart(_) => {
                // With the C library that it is made for.
                let libraries = root.join(LIBRARIES);
                let all = ["", "blas", "lapack"].map(|folder| libraries.join(folder));
                command.arg(libraries.join("ld-linux-x86-64.so.2"));
                command.arg("--library-path").arg(env::join_paths(all)?);
                command.arg(root.join(program));
                root.join(self.suite.folder)
            }
        };
        command.args(words).current_dir(folder);
        // A buffer object for each allocation.
        command.env("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1");
        let file = File::create(output).context("make a file")?;
        command
            .stdin(Stdio::null())
            .stderr(file.try_clone()?)
            .stdout(file);
        command.status().with_context(|| format!("run {command:?}"))
    }
}

/// `timeout`'s.
const TIMED_OUT: i32 = 124;

/// The end of it.
fn said(output: &Path) -> String {
    let text = fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or_default().chars().take(SAID).collect()
}
