//! A CRIU that takes its orders from somebody else, like podman or runc.
//!
//! They start a `criu` and tell it by arguments or a socket what to do, so which it is (dump, restore, or to say its
//! version) is not known here; and they pass hardly any of the environment on.

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

use crate::locate::{Criu, WITHIN_VARIABLE};
use crate::plugin_folder::PluginFolder;
use crate::run::preload;

/// Where CRIU looks for plugins, and for options, if it is told nothing else.
const PLUGINS_VARIABLE: &str = "CRIU_LIBS_DIR";
const OPTIONS_VARIABLE: &str = "CRIU_CONFIG_FILE";
const OPTIONS_FILE: &str = "criu.conf";
/// In a /dev/shm of its own a program makes the semaphore of AMD's thunk, which the C library maps under a name
/// that is gone, beside the one that is there. And HIP maps files that it has deleted, code of more than a
/// megabyte among them.
const OPTIONS: &str = "link-remap\nghost-limit 268435456\n";
/// Folders of links, which stay.
const FOLDERS: &str = "/run";

/// CRIU with our plugin, which is preloaded too; on the software GPU with its library as well.
pub fn command(criu: &Criu, plugin: &Path, softgpu: Option<&Path>) -> io::Result<Command> {
    let libraries: Vec<&Path> = [Some(plugin), softgpu].into_iter().flatten().collect();
    let folder = PluginFolder::lasting(Path::new(FOLDERS), &libraries)?;
    let options = folder.join(OPTIONS_FILE);
    if !fs::read_to_string(&options).is_ok_and(|text| text == OPTIONS) {
        // Others may be about to read it.
        let part = folder.join(format!("{OPTIONS_FILE}.{}", std::process::id()));
        fs::write(&part, OPTIONS)?;
        fs::rename(part, &options)?;
    }
    let mut command = Command::new(&criu.path);
    preload(&mut command, libraries);
    if env::var_os(OPTIONS_VARIABLE).is_none() {
        command.env(OPTIONS_VARIABLE, options);
    }
    command.env(PLUGINS_VARIABLE, folder);
    // What starts CRIU by this name may be found in its place.
    command.env(WITHIN_VARIABLE, "1");
    Ok(command)
}

/// Whether CRIU is being looked for, or runs, by our doing.
pub fn is_within() -> bool {
    env::var_os(WITHIN_VARIABLE).is_some()
}
