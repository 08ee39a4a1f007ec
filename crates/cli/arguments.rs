//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use strobe_program::path_map::PathRule;
use strobe_proto::{CheckpointMode, TcpConnections};
use strobe_softgpu::{FaultPlan, Model, options};

use crate::inspect::AskedLaunch;
use crate::size::parse_size;

const CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused (nothing was changed).
run, softgpu and restore --wait pass on the program's own code.
STROBE_LOG=error|warn|info|debug|trace says how much is reported on stderr; from debug on,
how long each phase took, by programs under strobe run too. STROBE_LOG_FORMAT=json makes it JSON.";

/// Takes checkpoints of GPU programs while they run, and brings them back.
#[derive(Debug, Parser)]
#[command(name = "strobe", version, after_help = CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The number of the program that the action names, in its own PID namespace, where this runs.
    #[arg(long, hide = true)]
    pub(crate) number_inside: Option<u32>,
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Run(RunArguments),
    Softgpu(Box<SoftgpuArguments>),
    Checkpoint(CheckpointArguments),
    Restore(RestoreArguments),
    Release(ReleaseArguments),
    Ps(PsArguments),
    Status(StatusArguments),
    Inspect(InspectArguments),
    Footprints(FootprintsArguments),
    Graph(GraphArguments),
    List(ListArguments),
    Info(InfoArguments),
    Report(ReportArguments),
    Diff(DiffArguments),
    Verify(VerifyArguments),
    Gc(GcArguments),
    Export(ExportArguments),
    Import(ImportArguments),
    Doctor(DoctorArguments),
    Criu(CriuArguments),
    #[command(hide = true)]
    Session(SessionArguments),
}

impl Action {
    /// The running program that it is about.
    pub(crate) fn program(&self) -> Option<u32> {
        match self {
            Self::Checkpoint(arguments) => Some(arguments.pid),
            Self::Release(arguments) => Some(arguments.pid),
            Self::Graph(arguments) if Path::new(&arguments.target).is_dir() => None,
            Self::Graph(arguments) => arguments.target.parse().ok(),
            _ => None,
        }
    }

    /// Files and folders that it is about, besides.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Checkpoint(arguments) => {
                let named = [&arguments.output, &arguments.base, &arguments.trace];
                named.into_iter().flatten().map(PathBuf::as_path).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The same program, by another number.
    pub(crate) fn set_program(&mut self, pid: u32) {
        match self {
            Self::Checkpoint(arguments) => arguments.pid = pid,
            Self::Release(arguments) => arguments.pid = pid,
            Self::Graph(arguments) => arguments.target = pid.to_string(),
            _ => {}
        }
    }
}

/// Run a program so that it can be checkpointed.
///
/// The program leads a session of its own. Output to a terminal or a pipe passes through a file, as
/// CRIU cannot save the other end of those. Within a program of another `strobe run`, which is saved as
/// one with all that it starts, it just becomes the program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe run -- ./train --steps 1000
  strobe softgpu -- strobe run -- ./train       on a machine without a GPU")]
pub(crate) struct RunArguments {
    /// Write the process id of the program to this file once it has started.
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,
    /// Append what each launch may read and write to this file, a JSON line a launch.
    #[arg(long, value_name = "FILE")]
    pub(crate) launch_log: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// Run a program on a software GPU, or several (needs root).
///
/// New devices are made for the program and are gone when it ends; if this command is killed, all
/// programs on them are. The ROCm libraries are the machine's own, unmodified.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe softgpu -- rocminfo
  strobe softgpu --gpus 4 --links pcie -- ./train
  strobe softgpu --target gfx90a -- ./train      the program needs code for it
  strobe softgpu --vram 4G --link-rate 11M --device-rate 340M -- strobe run -- ./train")]
pub(crate) struct SoftgpuArguments {
    /// What processors they are: gfx906, gfx90a or gfx942.
    #[arg(long, value_name = "TARGET", default_value = "gfx906", value_parser = Model::named)]
    pub(crate) target: &'static Model,
    /// How many GPUs there are.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) gpus: u8,
    /// How GPUs reach each other's memory.
    #[arg(long, value_enum, default_value_t = Interconnect::Xgmi)]
    pub(crate) links: Interconnect,
    /// In place of --gpus: the ids by which the driver knows the GPUs, in the order of their nodes, with
    /// commas between them.
    #[arg(long, value_name = "IDS", value_delimiter = ',', value_parser = parse_gpu_id,
          conflicts_with = "gpus")]
    pub(crate) gpu_ids: Vec<u32>,
    /// Processes can share memory by hipIpcGetMemHandle, as with AMD's out-of-tree driver; the kernel's
    /// own has no such request.
    #[arg(long)]
    pub(crate) ipc: bool,
    /// Memory of each GPU.
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = parse_size)]
    pub(crate) vram: u64,
    /// The CPU cannot map the device's memory.
    #[arg(long)]
    pub(crate) private_vram: bool,
    /// Bytes a second between the host and each GPU; full speed without.
    #[arg(long, value_name = "RATE", value_parser = parse_size)]
    pub(crate) link_rate: Option<u64>,
    /// Bytes a second from one GPU to another over XGMI; full speed without. PCIe shares the rate of
    /// the links to the host.
    #[arg(long, value_name = "RATE", value_parser = parse_size)]
    pub(crate) peer_rate: Option<u64>,
    /// Bytes a second of a copy inside a GPU; full speed without.
    #[arg(long, value_name = "RATE", value_parser = parse_size)]
    pub(crate) device_rate: Option<u64>,
    /// Shortest time of a kernel, in microseconds.
    #[arg(long, value_name = "MICROSECONDS")]
    pub(crate) kernel_floor: Option<u64>,
    /// Write how well these rates were kept to this file when the program ends, as JSON: milliseconds that copies
    /// should have taken, and how much later they ended; and how often `--faults` has evicted waves. Without it, a terminal is told when they were not kept.
    #[arg(long, value_name = "FILE")]
    pub(crate) pace: Option<PathBuf>,
    /// Write what each launch really read and wrote to this file, a JSON line a launch.
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// And what each launch was given: the code as it was loaded, the memory that is mapped, and of each pointer
    /// among its arguments up to 4 KiB that stood there before it ran.
    #[arg(long, requires = "access_log")]
    pub(crate) log_launches: bool,
    /// Driver calls of checkpoint and restore that fail on purpose, with commas between them:
    /// CALL@NUMBER=ERRNO (submit@3=EIO), CALL@every=ERRNO or random@SEED=PERCENT. evict@SEED=INSTRUCTIONS: a dispatch
    /// is evicted, and goes on, each time that a thread has executed so many instructions of its waves, on average.
    #[arg(long, value_name = "PLAN")]
    pub(crate) faults: Option<FaultPlan>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// Take a checkpoint of a running program.
///
/// The program goes on, unless --kill is given. If anything fails, it goes on too, and DIR is as it
/// was before. With --every, DIR is a folder of checkpoints, 000001 and so on, that share what has not changed;
/// DIR/latest is the newest. It ends with the program, or by Ctrl-C. What fails is said, and tried again in its turn.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  strobe checkpoint 4711 -o monday
  strobe checkpoint 4711 -o run --every 10m --keep 5     strobe restore run/latest brings it back
  strobe checkpoint 4711 -o monday --mode recopy --kill     to move it: it stands still for what is left
  strobe checkpoint 4711 -o monday --tcp established     its processes talk to one another by TCP
  strobe checkpoint 4711 --check     what would be amiss; 3 if anything is
Environment:
  KFD_MAX_BUFFER_SIZE=64M   bounds the memory that CRIU's plugin copies through, of each GPU")]
pub(crate) struct CheckpointArguments {
    /// Process id of the program; strobe ps lists them.
    pub(crate) pid: u32,
    /// Directory to make; it must not exist, but with --every.
    #[arg(short, long, value_name = "DIR", required_unless_present = "check")]
    pub(crate) output: Option<PathBuf>,
    /// Say what would refuse a checkpoint now, all that can be told without stopping the program.
    #[arg(long, conflicts_with = "output")]
    pub(crate) check: bool,
    /// How the program and the copying share the device.
    #[arg(long, value_enum, default_value_t = Mode::Cow)]
    pub(crate) mode: Mode,
    /// How much of device memory is compared with what it was at the cut.
    #[arg(long, value_enum, default_value_t = Validate::Full)]
    pub(crate) validate: Validate,
    /// An older checkpoint: chunks that have not changed since are shared with it.
    #[arg(long, value_name = "DIR")]
    pub(crate) base: Option<PathBuf>,
    /// Take one every so often (30s, 10m, 1h), the first when that has passed.
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["check", "base", "kill"])]
    pub(crate) every: Option<Duration>,
    /// Of those, keep so many: when a new one is complete the oldest beyond are removed.
    #[arg(long, value_name = "COUNT", requires = "every",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,
    /// What becomes of the GPU's work that is under way at the cut.
    #[arg(long, value_enum, default_value_t = Cut::Auto)]
    pub(crate) cut: Cut,
    /// Milliseconds of work that the program may be ahead of the GPU before the cut; 0: any.
    #[arg(long, value_name = "MS", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub(crate) run_ahead: u32,
    /// Seconds to wait for GPU work to end before giving way to the program; a few attempts are made.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) drain_timeout: u32,
    /// Seconds that anything of the program may be held back while nothing moves, beyond what the
    /// copies need; then the checkpoint is given up, and the program goes on.
    #[arg(long, value_name = "SECONDS", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) max_hold: u32,
    /// Seconds that CRIU may take beyond waiting for GPU work; then it is killed, and the program goes on.
    #[arg(long, value_name = "SECONDS", default_value_t = 1200)]
    pub(crate) criu_timeout: u32,
    /// Bytes of the files that the program writes that go into the checkpoint, so that they come back with
    /// it; larger ones are named in the report. No file that it has deleted may be larger.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_size)]
    pub(crate) files_limit: u64,
    /// What becomes of TCP connections.
    #[arg(long, value_enum, default_value_t = Tcp::Refuse)]
    pub(crate) tcp: Tcp,
    /// Write what was done and when to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "every"])]
    pub(crate) trace: Option<PathBuf>,
    /// End the program. It does nothing after the cut, and has ended when the checkpoint is complete.
    #[arg(long)]
    pub(crate) kill: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl CheckpointArguments {
    /// The directory to make; nowhere with --check.
    pub(crate) fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }

    /// A program that is killed does nothing after the cut, for what it would do is lost. With `auto`: what is prepared for,
    /// until it is chosen.
    pub(crate) fn mode(&self) -> CheckpointMode {
        match self.mode {
            Mode::Auto | Mode::Cow if !self.kill => CheckpointMode::Cow,
            Mode::Recopy => CheckpointMode::Recopy,
            Mode::Auto | Mode::Cow | Mode::Stop => CheckpointMode::Stop,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cut {
    /// It is waited for; what takes long is stopped in the middle.
    Auto,
    /// It is waited for.
    Drain,
    /// It is stopped in the middle, and goes on from there; what it may write yet is saved first.
    Evict,
}

impl From<Cut> for strobe_proto::Cut {
    fn from(cut: Cut) -> Self {
        match cut {
            Cut::Auto => Self::Auto,
            Cut::Drain => Self::Drain,
            Cut::Evict => Self::Evict,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tcp {
    /// A program that has any is refused.
    Refuse,
    /// They come back connected: right where the program has both ends.
    Established,
    /// They come back closed, as if the other end had gone away.
    Close,
}

impl From<Tcp> for TcpConnections {
    fn from(tcp: Tcp) -> Self {
        match tcp {
            Tcp::Refuse => Self::Refused,
            Tcp::Established => Self::Established,
            Tcp::Close => Self::Closed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Interconnect {
    /// By links of their own, all in one hive.
    Xgmi,
    /// Over PCIe, where the CPU maps their memory, too.
    Pcie,
    /// Not at all.
    None,
}

impl From<Interconnect> for options::Interconnect {
    fn from(links: Interconnect) -> Self {
        match links {
            Interconnect::Xgmi => Self::Xgmi,
            Interconnect::Pcie => Self::Pcie,
            Interconnect::None => Self::None,
        }
    }
}

/// A number as sysfs prints it, or hexadecimal with 0x.
fn parse_gpu_id(text: &str) -> Result<u32, std::num::ParseIntError> {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |digits| u32::from_str_radix(digits, 16))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// That of the others which costs the program least, by what is measured of it and of copies. The report says why.
    Auto,
    /// The program goes on while memory is copied.
    Cow,
    /// The program stands still until everything is copied.
    Stop,
    /// Memory is copied in rounds while the program runs, then it stands still for the rest; the state is that of the end.
    Recopy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Validate {
    /// All of it: an image that is not exact is not kept, but taken again.
    Full,
    /// An eighth of it, another one each time.
    Sampled,
    /// Nothing: the image is right if what was learned of the kernels is.
    Off,
}

/// Bring a program back from a checkpoint.
///
/// It gets its old process ids back, so they must be free, and runs on its own from then on. The files
/// that it was writing become what they were; what they have become since is kept beside them. The same
/// checkpoint can be restored as often as wanted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe restore monday
  strobe restore monday --check     what would be amiss; 3 if anything is
  strobe restore monday --wait      ends when the program ends, with its exit code
  strobe restore monday --demand    it runs at once, and its GPU memory comes as it is used
  strobe restore monday --map /home/ann/run=/data/run     its folder was moved since; with --check, too
  strobe restore monday --root /srv/image                 a copy of another machine's files
  strobe restore monday --demand --instance one           and --instance two, at the same time
  strobe softgpu -- strobe restore monday --wait
Environment, for GPUs that are not quite those of the checkpoint (1, YES: compared; 0, NO: not):
  KFD_FW_VER_CHECK, KFD_SDMA_FW_VER_CHECK, KFD_CACHES_COUNT_CHECK, KFD_NUM_GWS_CHECK,
  KFD_VRAM_SIZE_CHECK, KFD_NUMA_CHECK, KFD_CAPABILITY_CHECK; and KFD_MAX_BUFFER_SIZE=64M
  bounds the memory that contents are copied through")]
pub(crate) struct RestoreArguments {
    /// Directory of the checkpoint.
    pub(crate) directory: PathBuf,
    /// Say what would refuse a restore, and what would be done to the program's files; change nothing.
    #[arg(long, conflicts_with = "wait")]
    pub(crate) check: bool,
    /// Wait for the program and pass on its exit code.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Let the program run before all its GPU memory is back: each call waits for what it may touch, and the rest is loaded
    /// meanwhile. Where it cannot be loaded (a damaged chunk), the program is ended. This command ends when all is loaded.
    #[arg(long, conflicts_with = "check")]
    pub(crate) demand: bool,
    /// Load all of it first; this is the default.
    #[arg(long, conflicts_with = "demand")]
    pub(crate) eager: bool,
    /// What becomes of that which the program wrote to its files after the checkpoint.
    #[arg(long, value_enum, default_value_t = Tail::Keep)]
    pub(crate) tail: Tail,
    /// Take this file of the program as it is now. (Where it has another length than at the checkpoint,
    /// CRIU refuses all the same.)
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_changed: Vec<PathBuf>,
    /// Look for files, folders, sockets and whatever else lay under OLD at the checkpoint, under NEW, and put them
    /// back there. Absolute paths as the kernel has them, without links; as often as needed, and where several
    /// fit, the longest OLD counts. What the program itself remembers of paths stays as it was.
    #[arg(long, value_name = "OLD=NEW", value_parser = OsStringValueParser::new().try_map(|text| PathRule::parse(&text)))]
    pub(crate) map: Vec<PathRule>,
    /// Give the program this directory as its root, and look for all that it had below it: an unpacked copy of the file
    /// system that it ran on, with /dev, /proc and /sys mounted there (mount --rbind /dev DIR/dev).
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Bring it back as one of many that run at once: in a PID namespace of its own, with a view of the files in which
    /// what it writes goes to DIR, which is made. Outside nothing changes.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["check", "root"])]
    pub(crate) instance: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tail {
    /// It is moved to FILE.strobe-tail-N, or FILE.strobe-later-N if all of the file has changed, or is new.
    Keep,
    /// It is deleted once the program is back, if it is known to be the program's.
    Drop,
}

/// Let a program go on whose checkpoint was killed.
///
/// When everything that took a checkpoint was killed at once, the program's GPU queues may stay
/// stopped: its threads run, and whatever they ask of the GPU waits. The next checkpoint would end
/// that too. A program that does not stand still is not touched (needs root).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe release 4711")]
pub(crate) struct ReleaseArguments {
    /// Process id of the program.
    pub(crate) pid: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// In the program's namespaces, and on its GPU.
    #[arg(long, hide = true)]
    pub(crate) inside: bool,
    /// A dead run of CRIU, as it has named itself.
    #[arg(long, hide = true)]
    pub(crate) dead: Vec<String>,
}

/// List the programs that run under strobe.
#[derive(Debug, Args)]
pub(crate) struct PsArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what programs under strobe are doing, as to checkpoints.
///
/// Whether a checkpoint is under way and how far it is, what became of the last one, and what is known of what was
/// launched. No program is asked for it, or held up by it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe status
  strobe status 4711 --json")]
pub(crate) struct StatusArguments {
    /// Process id of one of them; all without it.
    pub(crate) pid: Option<u32>,
    /// Print JSON: an object, or a list where no program is named.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what the kernels of a file read and write.
///
/// From their machine code: which memory each kernel of a code object, executable or shared library
/// touches, in terms of its arguments, and why that is not known exactly where it is not. tid is the number of
/// a work-item in its work-group, wg that of the work-group, block its size, gid = wg*block+tid, and i3 counts
/// the rounds of a loop. For [..] there are no short words: --launch says which bytes they are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe inspect ./train
  strobe inspect ./train --target gfx906 --kernel adam --disassemble
  strobe inspect ./train --kernel saxpy --launch grid=16,block=256,args=4096,2.5,buf:16K,buf:16K
  strobe inspect --json /usr/lib/x86_64-linux-gnu/librocrand.so.1
  strobe inspect ./train --html train.html")]
pub(crate) struct InspectArguments {
    /// Code object, executable, shared library or offload bundle.
    pub(crate) file: PathBuf,
    /// Only code for this processor (gfx906); without it, all code that the file has.
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Only kernels with this in their name, be it as in the source or mangled.
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Print the kernel's code, and beside each instruction what it touches.
    #[arg(long, requires = "kernel", conflicts_with = "html")]
    pub(crate) disassemble: bool,
    /// Say which bytes one launch touches: grid=X[,Y,Z],block=X[,Y,Z],args=A,B,... The grid is counted in
    /// work-groups; an argument is a number, or buf:BYTES for a pointer to a buffer of that size. Buffers are
    /// called A, B and so on, and nothing is known of what stands in them.
    #[arg(long, requires = "kernel", conflicts_with = "html")]
    pub(crate) launch: Option<AskedLaunch>,
    /// Write a page with one table, which can be sorted.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
    /// Print a JSON array of one object a kernel, with a summary object at its end.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare what was predicted of launches with what they did.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct FootprintsArguments {
    #[command(subcommand)]
    pub(crate) action: FootprintsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FootprintsAction {
    Compare(CompareArguments),
}

/// Join the launch log and the access log of one process on one software GPU.
///
/// Of each kernel: how many launches there were, and of how many the writes and the reads were predicted
/// exactly; the bytes of the program's memory that were touched and not predicted, of which there should be none;
/// the bytes predicted over those written, and how many were predicted for nothing. Ends with 1 where a byte was
/// missed, or a launch stands in one log only.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe softgpu --access-log accesses -- strobe run --launch-log launches -- ./train
  strobe footprints compare launches accesses")]
pub(crate) struct CompareArguments {
    /// What strobe run --launch-log has written.
    #[arg(value_name = "LAUNCHES")]
    pub(crate) launches: PathBuf,
    /// What strobe softgpu --access-log has written.
    #[arg(value_name = "ACCESSES")]
    pub(crate) accesses: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a program has launched, and what happens before what.
///
/// Of a running program the latest launches, copies and waits, of a checkpoint those before it: which
/// bytes each touches, and what it waits for (the operation before it on its stream, unless something
/// else is said). Two of them that touch the same bytes in no order are named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe graph 4711
  strobe graph monday --dot | c++filt | dot -Tsvg > monday.svg")]
pub(crate) struct GraphArguments {
    /// Process id of a program, or directory of a checkpoint.
    #[arg(value_name = "PID|DIR")]
    pub(crate) target: String,
    /// Of the processes in a checkpoint, that with this number.
    #[arg(long, value_name = "PID")]
    pub(crate) process: Option<u32>,
    /// Show so many operations, the latest; without it about two rounds of the loop that the program is in.
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,
    /// Print a graph for graphviz.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dot: bool,
    /// Print JSON: without --last, all that is remembered.
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the checkpoints in a folder, the oldest first.
#[derive(Debug, Args)]
#[command(after_help = "\
OWN is what would be free if that checkpoint alone were removed: the rest it shares with others.
Examples:
  strobe list run")]
pub(crate) struct ListArguments {
    /// The folder.
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what a checkpoint is of, and what it has cost.
#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// Directory of the checkpoint.
    pub(crate) directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a page about a checkpoint, or a series of them, for a browser.
///
/// It needs nothing else: no network, and no other file. What was held when and for what, how each chunk got into the
/// image, what was launched before the cut, what was expected to be written next and what was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe report monday                  writes monday.html
  strobe report run -o run.html         of the checkpoints of --every in it")]
pub(crate) struct ReportArguments {
    /// Directory of a checkpoint, or folder of a series.
    pub(crate) directory: PathBuf,
    /// The file to write; DIR.html beside DIR without it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Say what has changed between two checkpoints of a program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe diff run/000004 run/000005")]
pub(crate) struct DiffArguments {
    /// Directory of the older one.
    pub(crate) before: PathBuf,
    /// Directory of the newer one.
    pub(crate) after: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Remove old checkpoints of a series (checkpoint --every), and what killed commands have left beside them.
///
/// None goes that a command has open. What others share with it they keep.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe gc run --keep 5 --dry-run
  strobe gc run --keep 5")]
pub(crate) struct GcArguments {
    /// The folder of the series.
    pub(crate) folder: PathBuf,
    /// How many of the newest stay.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: u32,
    /// Only say what would go.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check every byte of a checkpoint.
///
/// Ends with 1 and names the first file that is not what was written.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Directory of the checkpoint.
    pub(crate) directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make plain images of CRIU of a checkpoint, for a restore without strobe.
///
/// TO/images is what criu restore takes, with CRIU's own amdgpu plugin or strobe's. TO/restore.sh puts the
/// files of the program in place that the checkpoint has, and starts CRIU; TO/README.md says what is needed
/// besides. In the restored program strobe's library finds out that it was restored (its thread has slept less
/// often than at the cut, or its process has another start time; and the GPU works) and lets the program go
/// on; it can be checkpointed again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe export monday plain
  sh plain/restore.sh --libdir /usr/lib/criu
  CRIU=/opt/criu/criu sh plain/restore.sh --libdir /opt/criu/plugins --restore-detached
  strobe export monday plain --json     what was saved, and what is needed")]
pub(crate) struct ExportArguments {
    /// Directory of the checkpoint.
    pub(crate) directory: PathBuf,
    /// Directory to make; it must not exist.
    pub(crate) to: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a checkpoint of plain images of CRIU.
///
/// FROM is a folder of images as criu dump leaves it, with CRIU's own amdgpu plugin or strobe's; DIR is then a
/// checkpoint for strobe restore, verify and export. No agent is recorded in it, and no files of the program:
/// those have to be what they were at the dump. Images that are incomplete, or that no restore would bring
/// back, are refused by name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strobe import images monday
  strobe import images monday --tcp established     of a dump with --tcp-established
  strobe import plain/images monday                 those of an export")]
pub(crate) struct ImportArguments {
    /// Folder of the images.
    #[arg(value_name = "FROM")]
    pub(crate) images: PathBuf,
    /// Directory to make; it must not exist.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// What becomes of TCP connections, as at the dump.
    #[arg(long, value_enum, default_value_t = Tcp::Refuse)]
    pub(crate) tcp: Tcp,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check whether this machine has what checkpoints need.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run CRIU with Strobe's plugin, for podman, runc and others that start CRIU themselves.
///
/// They look for a command `criu`. Where that is a link to strobe, this is what it does; no other plugin has to be put
/// anywhere, and programs without a GPU are saved as before. CRIU itself is found like that of strobe checkpoint.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ln -s /opt/strobe/strobe /usr/local/sbin/criu
  podman container checkpoint NAME && podman container restore NAME
  runc --criu /usr/local/sbin/criu checkpoint NAME
  strobe criu dump -t 4711 -D images --shell-job
Environment:
  STROBE_CRIU=FILE   the CRIU to run")]
pub(crate) struct CriuArguments {
    /// CRIU's own arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// The start of a program under `strobe run`, between fork and exec.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// `30s`, `10m`, `1h 30m`; not less than a tenth of a second.
fn parse_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match time < Duration::from_millis(100) {
        true => Err("less than 100ms".into()),
        false => Ok(time),
    }
}
