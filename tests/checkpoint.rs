//! Checkpoints end to end: real hipcc, HIP, CRIU and plugin on the software GPU.
//!
//! | module | what must hold |
//! |---|---|
//! | `attributes` | threads run where and how they did, or it is said |
//! | `captures` | a stream capture is under way when HIP says so |
//! | `unseen` | what passes by the wrappers is refused by its name, and what is not known waits |
//! | `round_trip` | what comes back goes on as if nothing had been |
//! | `faults` | a driver that refuses costs one sentence, and nothing else |
//! | `newer_rocm` | programs of ROCm 7.2 come back, too |
//! | `hostile` | hundreds of checkpoints of kernels that lie are right |
//! | `missed_writes` | who writes unannounced spoils no image |
//! | `files` | what comes back works on its files as they were, or not at all |
//! | `gem` | what a program holds at render nodes itself comes back, or is refused by its handle |
//! | `graph` | what was launched is shown, and what orders it |
//! | `chosen` | the mode that costs a program least is taken where none is named, and said beside what it has cost |
//! | `containers` | a program in a container is saved from the host, or refused by name |
//! | `instances` | many programs of one checkpoint run at once, each with what it writes for itself |
//! | `moved` | what has another path now is found there where that is said |
//! | `namespaces` | a program in namespaces of its own is saved from outside |
//! | `targets` | what runs on another processor comes back on such a one, and on no other |
//! | `neighbours` | one of two programs on a device is saved and comes back; the other goes on |
//! | `refusals` | what cannot be done is said in one sentence, and nothing is lost |
//! | `held` | nothing of ours stands in the program's way, or not for long |
//! | `damage` | a checkpoint that is not what was written is not restored |
//! | `recopy` | what is copied while the program writes is right at the end, and little is left to copy then |
//! | `demand` | a program runs before all its memory is back, and never sees that |
//! | `output` | a pipe gets all of a program's output, once; phases are reported |
//! | `killed_criu` | a CRIU that dies or hangs costs one checkpoint, and never the program |
//! | `killed_command` | a command that is killed leaves nothing behind that harms |
//! | `several_gpus` | programs on several GPUs come back, on those or on others |
//! | `shared_memory` | memory that processes share is one memory again, and with others nothing is shared |
//! | `surroundings` | daemons, terminals, other users: what comes back is where it was, and what lacks is named |
//! | `tables` | tables of pointers that nobody knew before are known behind a cut |
//! | `trees` | several processes are saved at one cut and come back together |
//! | `eviction` | work in the middle of which a cut comes goes on from there, on both sides |
//! | `lead` | a cut does not wait for all that was enqueued before it |
//! | `seen` | what is told of a checkpoint is what was done, and agrees with itself |
//! | `series` | of checkpoints one after the other the newest is there, and comes back |
//! | `interruptions` | whoever dies, and whenever: complete or absent, and the program runs on |

#[path = "harness/mod.rs"]
mod harness;

#[path = "checkpoint/attributes.rs"]
mod attributes;
#[path = "checkpoint/captures.rs"]
mod captures;
#[path = "checkpoint/chosen.rs"]
mod chosen;
#[path = "checkpoint/containers.rs"]
mod containers;
#[path = "checkpoint/damage.rs"]
mod damage;
#[path = "checkpoint/demand.rs"]
mod demand;
#[path = "checkpoint/eviction.rs"]
mod eviction;
#[path = "checkpoint/faults.rs"]
mod faults;
#[path = "checkpoint/files.rs"]
mod files;
#[path = "checkpoint/gem.rs"]
mod gem;
#[path = "checkpoint/graph.rs"]
mod graph;
#[path = "checkpoint/held.rs"]
mod held;
#[path = "checkpoint/hostile.rs"]
mod hostile;
#[path = "checkpoint/instances.rs"]
mod instances;
#[path = "checkpoint/interruptions.rs"]
mod interruptions;
#[path = "checkpoint/killed_command.rs"]
mod killed_command;
#[path = "checkpoint/killed_criu.rs"]
mod killed_criu;
#[path = "checkpoint/lead.rs"]
mod lead;
#[path = "checkpoint/missed_writes.rs"]
mod missed_writes;
#[path = "checkpoint/moved.rs"]
mod moved;
#[path = "checkpoint/namespaces.rs"]
mod namespaces;
#[path = "checkpoint/neighbours.rs"]
mod neighbours;
#[path = "checkpoint/newer_rocm.rs"]
mod newer_rocm;
#[path = "checkpoint/output.rs"]
mod output;
#[path = "checkpoint/podman.rs"]
mod podman;
#[path = "checkpoint/recopy.rs"]
mod recopy;
#[path = "checkpoint/refusals.rs"]
mod refusals;
#[path = "checkpoint/round_trip.rs"]
mod round_trip;
#[path = "checkpoint/seen.rs"]
mod seen;
#[path = "checkpoint/series.rs"]
mod series;
#[path = "checkpoint/several_gpus.rs"]
mod several_gpus;
#[path = "checkpoint/shared_memory.rs"]
mod shared_memory;
#[path = "checkpoint/sockets.rs"]
mod sockets;
#[path = "checkpoint/surroundings.rs"]
mod surroundings;
#[path = "checkpoint/tables.rs"]
mod tables;
#[path = "checkpoint/targets.rs"]
mod targets;
#[path = "checkpoint/trees.rs"]
mod trees;
#[path = "checkpoint/unseen.rs"]
mod unseen;
