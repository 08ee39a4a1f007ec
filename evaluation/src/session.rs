//! One program under `strobe run` on a software GPU of its own.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::strobe::Strobe;

const PERIOD: Duration = Duration::from_millis(5);

/// What `strobe restore --json` prints, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct RestoreReport {
    pid: u32,
}

/// A running program, its device, and the folder it works in. Dropping it ends the program.
#[derive(Debug)]
pub struct Session {
    /// `strobe softgpu`, which lives as long as the device.
    device: Child,
    pid: u32,
    folder: PathBuf,
}

impl Session {
    /// Starts `program` in `folder`, which also gets its output (`stdout`, `stderr`), and waits
    /// until it runs. `device` are options of `strobe softgpu`.
    pub fn start(
        strobe: &Strobe,
        device: &[String],
        program: &[&str],
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let pid_file = folder.join("pid");
        let _ = fs::remove_file(&pid_file);
        let mut command = strobe.command();
        command
            .arg("softgpu")
            .args(device)
            .arg("--")
            .arg(strobe.path());
        command
            .args(["run", "--pid-file"])
            .arg(&pid_file)
            .arg("--")
            .args(program);
        let mut child = spawn(command, folder)?;
        let deadline = Instant::now() + Duration::from_secs(30);
        let pid = loop {
            if let Ok(text) = fs::read_to_string(&pid_file) {
                break text.trim().parse().context("the pid file")?;
            }
            if let Some(status) = child.try_wait()? {
                bail!("{program:?} did not start ({status}): {}", said(folder));
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                bail!("{program:?} did not start within 30 s");
            }
            thread::sleep(PERIOD);
        };
        Ok(Self {
            device: child,
            pid,
            folder: folder.to_owned(),
        })
    }

    /// Restores a checkpoint on a new device; it runs again when this returns. What the command says
    /// goes into `folder`, the program's own output where it always went.
    pub fn restore(
        strobe: &Strobe,
        device: &[String],
        images: &Path,
        folder: &Path,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        let mut command = strobe.command();
        command
            .arg("softgpu")
            .args(device)
            .arg("--")
            .arg(strobe.path());
        command.args(["restore", "--wait", "--json"]).arg(images);
        let mut child = spawn(command, folder)?;
        let deadline = Instant::now() + limit;
        let pid = loop {
            // Looked at before the report: a program that ends at once has been restored all the same.
            let ended = child.try_wait()?;
            let report = fs::read_to_string(folder.join("stdout")).unwrap_or_default();
            if let Ok(report) = serde_json::from_str::<RestoreReport>(&report) {
                break report.pid;
            }
            if let Some(status) = ended {
                bail!("strobe restore ended with {status}: {}", said(folder));
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                bail!("not restored within {limit:?}: {}", said(folder));
            }
            thread::sleep(PERIOD);
        };
        Ok(Self {
            device: child,
            pid,
            folder: folder.to_owned(),
        })
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The folder it works in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the program wrote to stdout so far.
    pub fn output(&self) -> String {
        fs::read_to_string(self.folder.join("stdout")).unwrap_or_default()
    }

    /// Waits until a line of `file` starts with `start`; an error when the program ends before.
    pub fn wait_for(&mut self, file: &str, start: &str, limit: Duration) -> anyhow::Result<()> {
        let path = self.folder.join(file);
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.device.try_wait()?;
            let text = fs::read_to_string(&path).unwrap_or_default();
            // The last line may still be on its way.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            if whole.lines().any(|line| line.starts_with(start)) {
                return Ok(());
            }
            if let Some(status) = ended {
                bail!(
                    "the program ended ({status}) before {start:?}: {}",
                    said(&self.folder)
                );
            }
            if Instant::now() > deadline {
                bail!(
                    "no {start:?} in {file} within {limit:?}: {}",
                    said(&self.folder)
                );
            }
            thread::sleep(PERIOD);
        }
    }

    /// Waits until `file` holds so many whole lines; false when the program ends before.
    pub fn wait_for_lines(
        &mut self,
        file: &Path,
        lines: usize,
        limit: Duration,
    ) -> anyhow::Result<bool> {
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.device.try_wait()?.is_some();
            let text = fs::read(file).unwrap_or_default();
            if text.iter().filter(|&&byte| byte == b'\n').count() >= lines {
                return Ok(true);
            }
            if ended {
                return Ok(false);
            }
            if Instant::now() > deadline {
                bail!(
                    "hang: no line {lines} in {} within {limit:?}: {}",
                    file.display(),
                    said(&self.folder)
                );
            }
            thread::sleep(PERIOD);
        }
    }

    /// Sends the program a signal, by its name without SIG.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        signal(self.pid, name)
    }

    /// Whether the program runs.
    pub fn is_alive(&self) -> bool {
        is_alive(self.pid)
    }

    /// Kills the program as hard as can be, and waits until it and its device are gone.
    pub fn kill(self) -> anyhow::Result<()> {
        self.kill_group()?;
        self.gone()
    }

    /// Kills the program and the processes that it has started, which are of its group.
    pub fn kill_group(&self) -> anyhow::Result<()> {
        send(&format!("-{}", self.pid), "KILL")
    }

    /// Waits until the program, which was killed, and its device are gone.
    pub fn gone(mut self) -> anyhow::Result<()> {
        self.device.wait()?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while Path::new(&format!("/proc/{}", self.pid)).exists() {
            if Instant::now() > deadline {
                bail!("{} does not go away", self.pid);
            }
            thread::sleep(PERIOD);
        }
        Ok(())
    }

    /// Waits for the program to end by itself.
    pub fn wait(mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        match wait(&mut self.device, limit)? {
            Some(status) => Ok(status),
            None => bail!(
                "{} still runs after {limit:?}: {}",
                self.pid,
                said(&self.folder)
            ),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if matches!(self.device.try_wait(), Ok(None)) {
            let _ = signal(self.pid, "KILL");
            let _ = wait(&mut self.device, Duration::from_secs(10));
            let _ = self.device.kill();
            let _ = self.device.wait();
        }
    }
}

/// Starts a command in `folder` with its output in files there, so that CRIU can save it.
pub fn spawn(mut command: Command, folder: &Path) -> anyhow::Result<Child> {
    let output = |name: &str| {
        let path = folder.join(name);
        File::options().create(true).append(true).open(path)
    };
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output("stdout").context("open the program's stdout")?)
        .stderr(output("stderr").context("open the program's stderr")?);
    command.spawn().with_context(|| format!("run {command:?}"))
}

/// Waits for a child; `None` when the time is over.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        thread::sleep(PERIOD);
    }
}

/// Sends a signal to a process.
pub fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    send(&pid.to_string(), name)
}

fn send(to: &str, name: &str) -> anyhow::Result<()> {
    // The shell's own: the program is in a package that need not be installed.
    let status = Command::new("sh")
        .args(["-c", &format!("kill -s {name} -- {to}")])
        .stderr(Stdio::null())
        .status()
        .context("run sh")?;
    if !status.success() {
        bail!("cannot send {name} to {to}");
    }
    Ok(())
}

/// Whether a process runs (a zombie does not).
pub fn is_alive(pid: u32) -> bool {
    let stat = strobe_proto::kernel_text::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The last lines of a program's stderr, for messages.
pub fn said(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" / ")
}
