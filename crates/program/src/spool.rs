//! The files that a program's output goes through where `strobe run` passes it on.

use std::path::Path;

/// Start of the folder's name; random letters and digits follow. (Containers may share the folder for
/// temporary files, and have processes of one number.)
pub const FOLDER: &str = "strobe-run-";
/// What the program writes to its standard output.
pub const STDOUT: &str = "stdout";
/// What it writes to its standard error.
pub const STDERR: &str = "stderr";

/// Whether a program's file is one of them.
pub fn is_spooled(path: &Path) -> bool {
    let name_of = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let is_ours = path.parent().and_then(name_of).is_some_and(|folder| {
        let rest = folder.strip_prefix(FOLDER);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    });
    is_ours && matches!(name_of(path).as_deref(), Some(STDOUT | STDERR))
}
