//! Where CRIU and the plugin are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io, iter};

use crate::run::preload;

/// Names a CRIU explicitly.
pub const CRIU_VARIABLE: &str = "STROBE_CRIU";
/// Set for a CRIU that is looked for or run: a `criu` that is this very command in disguise finds by it that it is
/// asked by itself.
pub(crate) const WITHIN_VARIABLE: &str = "STROBE_WITHIN_CRIU";
/// Names the plugin explicitly.
pub const PLUGIN_VARIABLE: &str = "STROBE_CRIU_PLUGIN";

/// CRIU's version: major, minor, sub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CriuVersion(pub u32, pub u32, pub u32);

impl CriuVersion {
    /// The oldest CRIU whose plugin interface has what we need, and that runs on current kernels.
    pub const OLDEST: Self = Self(4, 1, 0);
}

impl fmt::Display for CriuVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, sub) = self;
        write!(f, "{major}.{minor}.{sub}")
    }
}

/// A CRIU that starts.
#[derive(Clone, Debug)]
pub struct Criu {
    /// The program.
    pub path: PathBuf,
    /// As it says.
    pub version: CriuVersion,
}

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum LocateError {
    #[error("CRIU is not installed (looked for {})", list(.0))]
    NoCriu(Vec<PathBuf>),
    #[error("{0} does not start: {1}")]
    Start(PathBuf, io::Error),
    #[error("{0} does not say which version of CRIU it is")]
    NoVersion(PathBuf),
    #[error("{path} is CRIU {version}; at least {oldest} is needed", oldest = CriuVersion::OLDEST)]
    TooOld { path: PathBuf, version: CriuVersion },
    #[error("Strobe's CRIU plugin is missing (looked for {})", list(.0))]
    NoPlugin(Vec<PathBuf>),
}

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|p| p.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Strobe's own place for a CRIU: `$XDG_DATA_HOME/strobe/criu`, the command `criu` in it.
pub fn private_prefix() -> Option<PathBuf> {
    let data = match env::var_os("XDG_DATA_HOME") {
        Some(home) if Path::new(&home).is_absolute() => PathBuf::from(home),
        // By the list of users, if the environment has none.
        _ => env::home_dir()?.join(".local/share"),
    };
    Some(data.join("strobe/criu"))
}

impl Criu {
    /// Finds CRIU: the one named, else by [`CRIU_VARIABLE`], else beside our executable, else in
    /// the [`private_prefix`], else in PATH. The first that exists must be good.
    pub fn find(explicit: Option<&Path>) -> Result<Self, LocateError> {
        let candidates = criu_candidates(explicit);
        let path = first_file(&candidates).ok_or(LocateError::NoCriu(candidates))?;
        Self::check(path)
    }

    fn check(path: PathBuf) -> Result<Self, LocateError> {
        // An absolute path: CRIU is started in other folders and namespaces.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let mut version = Command::new(&path);
        preload(&mut version, []);
        let output = version
            .arg("--version")
            .env(WITHIN_VARIABLE, "1")
            .output()
            .map_err(|e| LocateError::Start(path.clone(), e))?;
        Self::accept(path, &String::from_utf8_lossy(&output.stdout))
    }

    /// Judges what the command at `path` says of its version.
    fn accept(path: PathBuf, says: &str) -> Result<Self, LocateError> {
        let Some(version) = parse_version(says) else {
            return Err(LocateError::NoVersion(path));
        };
        if version < CriuVersion::OLDEST {
            return Err(LocateError::TooOld { path, version });
        }
        Ok(Self { path, version })
    }
}

/// Finds the plugin: by [`PLUGIN_VARIABLE`], else beside our executable.
pub fn find_plugin() -> Result<PathBuf, LocateError> {
    let candidates = match env::var_os(PLUGIN_VARIABLE) {
        Some(path) => vec![PathBuf::from(path)],
        // The last two: as cargo leaves it.
        None => beside_executable(&[
            "criu-plugins/amdgpu_plugin.so",
            "libamdgpu_plugin.so",
            "deps/libamdgpu_plugin.so",
        ]),
    };
    let path = first_file(&candidates).ok_or(LocateError::NoPlugin(candidates))?;
    Ok(fs::canonicalize(&path).unwrap_or(path))
}

fn criu_candidates(explicit: Option<&Path>) -> Vec<PathBuf> {
    if let Some(path) = explicit {
        return vec![path.to_path_buf()];
    }
    if let Some(path) = env::var_os(CRIU_VARIABLE) {
        return vec![path.into()];
    }
    let mut candidates = beside_executable(&["criu/criu"]);
    candidates.extend(private_prefix().map(|prefix| prefix.join("criu")));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(iter::once("/usr/sbin".into()));
    let named = folders.map(|folder| folder.join("criu"));
    // A link of that name to this command stands in for CRIU, and is none.
    let own = env::current_exe().ok();
    candidates.extend(named.filter(|path| own.is_none() || fs::canonicalize(path).ok() != own));
    candidates
}

fn beside_executable(names: &[&str]) -> Vec<PathBuf> {
    let Ok(executable) = env::current_exe() else {
        return Vec::new();
    };
    let Some(folder) = executable.parent() else {
        return Vec::new();
    };
    names.iter().map(|name| folder.join(name)).collect()
}

fn first_file(candidates: &[PathBuf]) -> Option<PathBuf> {
    candidates.iter().find(|path| path.is_file()).cloned()
}

fn parse_version(text: &str) -> Option<CriuVersion> {
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("Version:"))?
        .trim();
    let mut parts = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    Some(CriuVersion(
        major,
        minor,
        parts.next().flatten().unwrap_or(0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_criu_prints_them() {
        assert_eq!(
            parse_version("Version: 4.1.1\nGitID: 0\n"),
            Some(CriuVersion(4, 1, 1))
        );
        assert_eq!(parse_version("Version: 4.3"), Some(CriuVersion(4, 3, 0)));
        assert_eq!(
            parse_version("Version: 3.17.1 (x)"),
            Some(CriuVersion(3, 17, 1))
        );
        assert_eq!(parse_version("criu 4"), None);
    }

    #[test]
    fn an_old_criu_and_a_missing_one_are_refused_by_name() {
        let error = Criu::accept("/a/criu".into(), "Version: 3.17.1\n")
            .unwrap_err()
            .to_string();
        assert_eq!(error, "/a/criu is CRIU 3.17.1; at least 4.1.0 is needed");
        let error = Criu::find(Some(Path::new("/absent/criu")))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "CRIU is not installed (looked for /absent/criu)");
        let error = Criu::find(Some(Path::new("/bin/true"))).unwrap_err();
        assert!(matches!(error, LocateError::NoVersion(_)), "{error}");
    }

    #[test]
    fn a_current_criu_is_accepted() {
        let criu = Criu::accept("/a/criu".into(), "Version: 4.2.1\n").unwrap();
        assert_eq!(criu.version, CriuVersion(4, 2, 1));
    }
}
