//! What is seen of the program: its calls as observations, the memory and the code it has, and the
//! trace that turns launches into footprints.

pub(crate) mod cache_folder;
pub(crate) mod captures;
pub(crate) mod distrusted;
pub(crate) mod footprint_folder;
pub(crate) mod graphs;
pub(crate) mod handles;
pub(crate) mod image;
pub(crate) mod kernarg;
pub(crate) mod kernel;
pub(crate) mod launch_log;
pub(crate) mod module;
pub(crate) mod numbers;
pub(crate) mod observed;
pub(crate) mod reach;
pub(crate) mod registration;
pub(crate) mod registry;
pub(crate) mod relied;
pub(crate) mod ring;
pub(crate) mod tables;
pub(crate) mod trace;
pub(crate) mod user_cache;
