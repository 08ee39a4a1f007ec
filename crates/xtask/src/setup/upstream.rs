//! CRIU's own amdgpu plugin, which Debian does not ship, built from CRIU's source: what ours is compared
//! with. Nothing of it is in this repository, and nothing is linked with it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::apt::Source;
use super::archive::{Archive, Kind};
use super::criu::{Release, data, in_work_folder};
use crate::shell;

/// What it is built with besides a C compiler; bookworm's, as libdrm is.
const NEEDED: [&str; 8] = [
    "libcap-dev",
    "libdrm-dev",
    "libnl-3-dev",
    "libprotobuf-c-dev",
    "libprotobuf-dev",
    "libprotobuf32",
    "libprotoc32",
    "protobuf-c-compiler",
];
const NAME: &str = "amdgpu_plugin.so";

/// Where the test suite looks for the plugin of a CRIU.
pub(crate) fn plugin(release: &Release) -> anyhow::Result<PathBuf> {
    Ok(data()?
        .join(format!("upstream-{}", release.version))
        .join(NAME))
}

/// Builds those of these versions.
pub(crate) fn build(source: &Source, releases: &[&Release]) -> anyhow::Result<()> {
    in_work_folder(|work| {
        let tools = work.join("tools");
        println!("$ apt-get download {}", NEEDED.join(" "));
        let bookworm = Archive::open(source, Kind::Packages, &["bookworm"], work.join("bookworm"))?;
        bookworm.unpack(&NEEDED, &tools)?;
        for release in releases {
            let folder = work.join(release.version);
            let criu = folder.join("criu");
            let archive = Archive::open(
                source,
                Kind::Sources,
                release.suites,
                folder.join("archive"),
            )?;
            archive.unpack_source("criu", release.version, &criu)?;
            let place = plugin(release)?;
            println!(
                "$ cc {NAME} of CRIU {} (for {})",
                release.version,
                place.display()
            );
            let built = folder.join(NAME);
            compile(&criu, &tools, &built).with_context(|| format!("CRIU {}", release.version))?;
            fs::create_dir_all(place.parent().context("a path without a folder")?)?;
            fs::rename(built, place)?;
        }
        Ok(())
    })
}

/// As CRIU's own build does it, without CRIU.
fn compile(criu: &Path, tools: &Path, to: &Path) -> anyhow::Result<()> {
    let include = tools.join("usr/include");
    let messages = |folder: &Path, files: &[PathBuf]| {
        let mut protoc = Command::new(tools.join("usr/bin/protoc-c"));
        protoc.env("LD_LIBRARY_PATH", tools.join("usr/lib/x86_64-linux-gnu"));
        protoc.arg("--proto_path").arg(&include);
        protoc.arg("--proto_path").arg(folder);
        let out = format!("--c_out={}", folder.display());
        shell::output(protoc.arg(out).args(files))
    };
    let plugin = criu.join("plugins/amdgpu");
    messages(&plugin, &[plugin.join("criu-amdgpu.proto")])?;
    let images = criu.join("images");
    let mut all = files_with(&images, ".proto")?;
    all.push("google/protobuf/descriptor.proto".into());
    messages(&images, &all)?;
    // What its configuration finds out is not asked by what a plugin includes.
    fs::write(criu.join("criu/include/config.h"), "")?;
    fs::write(criu.join("include/common/config.h"), "")?;
    symlink("arch/x86/asm", criu.join("include/common/asm"))?;
    symlink(
        "../arch/x86/src/lib/include",
        criu.join("compel/include/asm"),
    )?;
    let standard = criu.join("compel/plugins/include/uapi/std");
    for header in files_with(&criu.join("compel/arch/x86/plugins/include/asm"), ".h")? {
        let name = header.file_name().context("a header without a name")?;
        fs::copy(&header, standard.join("asm").join(name))?;
    }
    fs::write(standard.join("syscall-codes.h"), "")?;

    let mut cc = Command::new("cc");
    // Its functions are its own: libsoftgpu.so, which is preloaded, is a plugin of CRIU's as well.
    cc.args([
        "-shared",
        "-fPIC",
        "-nostartfiles",
        "-Wl,-Bsymbolic",
        "-O1",
        "-w",
    ]);
    cc.args(["-D_GNU_SOURCE", "-DCONFIG_X86_64"]);
    for folder in [
        "include",
        "criu/include",
        "criu/arch/x86/include",
        ".",
        "images",
    ] {
        cc.args(["-iquote", folder]);
    }
    cc.args(["-I", "compel/include/uapi"]);
    for folder in ["", "libdrm", "libnl3"] {
        cc.arg("-I").arg(include.join(folder));
    }
    cc.args(files_with(&plugin, ".c")?);
    cc.arg("-o").arg(to);
    cc.args([
        "-lpthread",
        "-lrt",
        "-l:libdrm.so.2",
        "-l:libdrm_amdgpu.so.1",
    ]);
    shell::output(cc.current_dir(criu)).map(drop)
}

fn files_with(folder: &Path, end: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    files.sort_unstable();
    Ok(files)
}
