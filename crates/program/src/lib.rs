//! A program as seen from outside: what another process finds of it and may do to it.
//!
//! | module | job |
//! |---|---|
//! | [`agent`] | the agent's page in another process |
//! | [`attributes`] | attributes of threads and processes that CRIU does not save |
//! | [`journal`] | the journal of the files that it writes |
//! | [`lease`] | one checkpoint of a program at a time |
//! | [`process`], [`maps`] | facts of /proc/PID |
//! | [`awaited`] | a process that may end or be stopped while somebody waits for it |
//! | [`namespaces`] | enter the program's namespaces |
//! | [`apart`] | processes and threads in namespaces of their own |
//! | [`descriptor`] | its descriptors, and copies of them |
//! | [`threads`], [`zombies`] | threads and ended children that CRIU cannot bring back |
//! | [`events`] | descriptors of events that CRIU brings back otherwise |
//! | [`nameless`] | open files that never had a name |
//! | [`system_v`] | semaphores and message queues of System V |
//! | [`unwatched`] | a process whose journal is not written |
//! | [`unsaved`] | descriptors that CRIU does not save |
//! | [`pipes`] | pipes whose other end is outside of the program |
//! | [`terminals`] | terminals whose other side is outside of the program |
//! | [`shared_memory`], [`program_files`] | files of the program that CRIU leaves where they are |
//! | [`path_map`] | where a restore looks for what had another path |
//! | [`rights`] | the rights of a user, where that user chooses the place |
//! | `handle` | what a path leads to, held so that it stays that |
//! | [`signals`] | threads that take none |
//! | [`sockets`] | what IP sockets have that CRIU does not save |
//! | `unix_sockets` | the names of unix sockets |
//! | [`spool`] | files that its output goes through |
//!
//! What must hold: nothing here runs CRIU or knows how it is run.

pub mod agent;
pub mod apart;
pub mod attributes;
pub mod awaited;
pub mod clock;
pub mod descriptor;
pub mod events;
mod handle;
pub mod journal;
pub mod lease;
pub mod maps;
pub mod nameless;
pub mod names;
pub mod namespaces;
pub mod path_map;
pub mod pipes;
pub mod process;
pub mod program_files;
pub mod rights;
pub mod shared_memory;
pub mod signals;
pub mod sockets;
pub mod spool;
pub mod system_v;
pub mod terminals;
pub mod threads;
mod unix_sockets;
pub mod unsaved;
pub mod unwatched;
pub mod zombies;
