//! One software GPU with several programs on it, started from a shell inside.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use strobe_evaluation::session;
use strobe_program::process;

use super::{Folder, LIMIT, strobe};

/// Waits until `look` sees something.
#[track_caller]
pub(crate) fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "no {what} within {LIMIT:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The process of a program below a command, by the number that it has here.
pub(crate) fn number_of(command: &Child, program: &str) -> u32 {
    wait_until("program", || {
        let below = process::tree(command.id()).ok()?;
        let is_program = |pid: &u32| {
            let line = process::command_line(*pid).unwrap_or_default();
            line.first().is_some_and(|name| name == program)
        };
        below.into_iter().find(is_program)
    })
}

/// `strobe softgpu`, killed when dropped: the programs on it go with it.
pub(crate) struct Environment {
    keeper: Child,
    shell: ChildStdin,
    folder: PathBuf,
}

impl Environment {
    pub(crate) fn new(folder: &Folder, options: &[&str]) -> Self {
        let mut keeper = strobe()
            .command()
            .arg("softgpu")
            .args(options)
            .args(["--", "sh"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("strobe starts");
        let shell = keeper.stdin.take().expect("a pipe");
        Self {
            keeper,
            shell,
            folder: folder.path().to_owned(),
        }
    }

    /// Process id of `strobe softgpu`.
    pub(crate) fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    /// Starts a command whose output goes to the files `NAME.out` and `NAME.err`.
    pub(crate) fn start(&mut self, name: &str, command: &[&str]) -> Program {
        let head = format!("sh -c 'echo $$ > {name}.pid; exec \"$0\" \"$@\"'");
        self.launch(name, &head, command)
    }

    /// The same under `strobe run`.
    pub(crate) fn start_traced(&mut self, name: &str, command: &[&str]) -> Program {
        let strobe = strobe();
        let head = format!("{} run --pid-file {name}.pid --", strobe.path().display());
        self.launch(name, &head, command)
    }

    fn launch(&mut self, name: &str, head: &str, command: &[&str]) -> Program {
        let words = command.join(" ");
        let line = format!(
            "{{ {head} {words}; echo $? > {name}.code; }} > {name}.out 2> {name}.err < /dev/null &\n"
        );
        self.shell
            .write_all(line.as_bytes())
            .expect("the shell listens");
        let folder = self.folder.clone();
        let pid = wait_until(name, || whole(&folder.join(format!("{name}.pid"))));
        Program {
            name: name.to_owned(),
            pid: pid.trim().parse().expect("a number"),
            folder,
        }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

/// The text of a file whose last line has been written to its end.
fn whole(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .filter(|text| text.ends_with('\n'))
}

/// A program in an [`Environment`].
pub(crate) struct Program {
    name: String,
    pid: u32,
    folder: PathBuf,
}

impl Program {
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn is_alive(&self) -> bool {
        session::is_alive(self.pid)
    }

    pub(crate) fn signal(&self, name: &str) {
        session::signal(self.pid, name).expect("it runs");
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }

    /// What it wrote to stdout and stderr so far.
    pub(crate) fn output(&self) -> String {
        let read = |kind| fs::read_to_string(self.file(kind)).unwrap_or_default();
        read("out") + &read("err")
    }

    /// Waits for a line of its output that starts with `start`; the rest of that line.
    #[track_caller]
    pub(crate) fn says(&self, start: &str) -> String {
        wait_until(start, || {
            let text = whole(&self.file("out"))?;
            let rest = text.lines().find_map(|line| line.strip_prefix(start));
            assert!(
                rest.is_some() || !self.file("code").exists(),
                "{} ended without {start:?}: {}",
                self.name,
                self.output()
            );
            rest.map(str::to_owned)
        })
    }

    /// Waits for its end; the exit code as a shell has it.
    #[track_caller]
    pub(crate) fn code(&self) -> i32 {
        let text = wait_until(&self.name, || whole(&self.file("code")));
        text.trim().parse().expect("a number")
    }
}
