//! CRIU from the outside: find it, run it in the namespaces of the program, read what it says.
//!
//! | module | job |
//! |---|---|
//! | [`locate`] | find CRIU and the plugin |
//! | [`plugin_folder`] | the folder of plugins for one run |
//! | [`namespaces`] | enter the program's namespaces |
//! | [`run`] | spawn `criu dump` and `criu restore` |
//! | [`release`] | free a program that a dead dump has left paused |
//! | [`failure`] | one clear sentence from CRIU's log |
//! | [`lease`] | one checkpoint of a program at a time |
//! | [`ghosts`] | stand-ins of deleted files while a program is restored |
//! | [`statistics`] | CRIU's own times |
//! | [`process`], [`maps`] | facts of /proc/PID |
//! | [`awaited`] | a process that may end or be stopped while somebody waits for it |
//! | [`threads`], [`zombies`] | threads and ended children that CRIU cannot bring back |
//! | [`pipes`] | pipes whose other end is outside of the program |
//! | [`wrapper`] | what a command owes to the program it stands for |
//! | [`agent`] | the agent's page in another process |
//! | [`shared_memory`], [`writable_files`] | files of the program that CRIU leaves where they are |

pub mod agent;
pub mod awaited;
mod descriptor;
pub mod failure;
pub mod ghosts;
pub mod lease;
pub mod locate;
pub mod maps;
pub mod namespaces;
pub mod pipes;
pub mod plugin_folder;
pub mod process;
pub mod release;
pub mod run;
pub mod shared_memory;
pub mod statistics;
pub mod threads;
pub mod wrapper;
pub mod writable_files;
pub mod zombies;
