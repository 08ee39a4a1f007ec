//! CRIU from the outside: find it, run it in the namespaces of the program, read what it says.
//!
//! | module | job |
//! |---|---|
//! | [`locate`] | find CRIU and the plugin |
//! | [`plugin_folder`] | the folder of plugins for one run |
//! | [`image_folder`] | the folder of images for one restore |
//! | [`run`] | spawn `criu dump` and `criu restore` |
//! | [`release`] | free a program that a dead dump has left paused |
//! | [`failure`] | one clear sentence from CRIU's log |
//! | [`said`] | what the plugin says there for the command |
//! | [`fork`] | a copy of this process |
//! | [`guard`] | a process that puts in order what a killed command has left |
//! | [`left_over`] | what a killed restore has left |
//! | [`point_of_no_return`] | who decides whether a restored program runs |
//! | [`ghosts`] | stand-ins of deleted files while a program is restored |
//! | [`remapped`] | files that have another name than the program has opened them by |
//! | [`paths`] | paths of the program's things, and other ones in their place |
//! | [`network_lock`] | connections that a dead dump has left locked |
//! | [`plain`] | images of a dump by CRIU alone, whether all is there |
//! | [`statistics`] | CRIU's own times |
//! | [`pagemaps`] | where the images of memory are cut |
//! | [`ports`] | ports that saved sockets have, and whether they are free |
//! | [`tcp`] | TCP connections: whether they can be saved, and how CRIU is told |
//! | [`capabilities`] | what the saved processes may do |
//! | [`timers`] | timers that had expired at the cut |
//! | [`stand_in`] | a CRIU that others give its orders |
//! | [`wrapper`] | what a command owes to the program it stands for |

pub mod capabilities;
pub mod failure;
pub mod fork;
pub mod ghosts;
pub mod guard;
pub mod image_folder;
mod images;
pub mod left_over;
pub mod limits;
pub mod locate;
pub mod network_lock;
pub mod numbers;
mod pagemap;
pub mod pagemaps;
pub mod paths;
pub mod plain;
pub mod plugin_folder;
pub mod point_of_no_return;
pub mod ports;
pub mod release;
pub mod remapped;
pub mod run;
pub mod said;
pub mod stand_in;
pub mod statistics;
pub mod tcp;
pub mod timers;
pub mod wrapper;
