//! Another release of ROCm than the machine's, as `cargo xtask setup --tests` unpacks it: programs are compiled by its
//! clang, linked to its HIP, and started by its C library's loader.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use strobe_criu::locate;
use strobe_evaluation::compile::{TARGET, sources};
use strobe_isa::Target;

use super::programs;

/// See the module's documentation.
pub(crate) struct Rocm {
    /// "7.2", and the versions of its HIP and its LLVM.
    pub(crate) release: &'static str,
    hip: u32,
    llvm: u32,
}

pub(crate) const ROCM_72: Rocm = Rocm {
    release: "7.2",
    hip: 7,
    llvm: 22,
};

impl Rocm {
    fn root(&self) -> PathBuf {
        let criu = locate::private_prefix().expect("a home");
        let root = criu.with_file_name(format!("rocm-{}", self.release));
        assert!(
            root.exists(),
            "no {}: cargo xtask setup --tests",
            root.display()
        );
        root
    }

    pub(crate) fn libraries(&self) -> PathBuf {
        self.root().join("usr/lib/x86_64-linux-gnu")
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.libraries()
            .join(format!("libamdhip64.so.{}", self.hip))
    }

    /// What goes before a program of it: libraries that it opens by name are found there.
    pub(crate) fn environment(&self) -> [String; 2] {
        let libraries = self.libraries();
        [
            "env".to_owned(),
            format!("LD_LIBRARY_PATH={}", libraries.display()),
        ]
    }

    /// A HIP program of tests/programs, compiled once.
    pub(crate) fn program(&self, source: &str) -> String {
        self.program_for(TARGET, source)
    }

    /// The same for any target.
    pub(crate) fn program_for(&self, target: &Target, source: &str) -> String {
        static COMPILER: Mutex<()> = Mutex::new(());
        let _turn = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = programs().join(format!("rocm-{}", self.release));
        fs::create_dir_all(&folder).expect("a folder");
        let name = source.replace('/', "-").replace(".cpp", "");
        let name = match target == TARGET {
            true => name,
            false => format!("{name}-{target}"),
        };
        let program = folder.join(&name);
        let path = sources().join(source);
        let made = |file: &Path| fs::metadata(file).and_then(|meta| meta.modified()).ok();
        if made(&program) <= made(&path) {
            self.compile(target, &path, &program);
        }
        program.into_os_string().into_string().expect("UTF-8")
    }

    fn compile(&self, target: &Target, source: &Path, program: &Path) {
        let part = |end: &str| program.with_extension(end);
        let (device, bundle, host) = (part("co"), part("hipfb"), part("o"));
        run(self
            .clang(target, program)
            .args(["--cuda-device-only", "--no-gpu-bundle-output"])
            .arg(source)
            .arg("-o")
            .arg(&device));
        let entry = format!("hipv4-amdgcn-amd-amdhsa--{target}");
        run(Command::new("clang-offload-bundler-15")
            .args(["-type=o", "-bundle-align=4096", "-input=/dev/null"])
            .arg(format!("-targets=host-x86_64-unknown-linux,{entry}"))
            .arg(format!("-input={}", device.display()))
            .arg(format!("-output={}", bundle.display())));
        run(self
            .clang(target, program)
            .args([
                "--cuda-host-only",
                "-Xclang",
                "-fcuda-include-gpubinary",
                "-Xclang",
            ])
            .arg(&bundle)
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(&host));
        let libraries = self.libraries();
        let loader = libraries.join("ld-linux-x86-64.so.2");
        run(Command::new("c++")
            .arg("-no-pie")
            .arg(&host)
            .arg("-o")
            .arg(program)
            .arg(self.library())
            .args(["-lpthread", "-ldl", "-Wl,--allow-shlib-undefined"])
            .arg(format!("-L{}", libraries.display()))
            .args(["-Wl,--as-needed", "-lrocrand"])
            .arg(format!("-Wl,-dynamic-linker,{}", loader.display())));
    }

    /// Its compiler, by its own loader; the scripts stand beside the program, where clang finds its linker, too.
    fn clang(&self, target: &Target, program: &Path) -> Command {
        let (root, libraries) = (self.root(), self.libraries());
        let llvm = root.join(format!("usr/lib/llvm-{}", self.llvm));
        let folder = program.parent().expect("a folder");
        for (script, tool) in [
            ("clang++", format!("clang-{}", self.llvm)),
            ("ld.lld", "lld".to_owned()),
            ("lld", "lld".to_owned()),
        ] {
            let text = format!(
                "#!/bin/sh\nexec '{libraries}/ld-linux-x86-64.so.2' --library-path '{libraries}:{llvm}/lib' --argv0 \"$0\" '{llvm}/bin/{tool}' \"$@\"\n",
                libraries = libraries.display(),
                llvm = llvm.display(),
            );
            let path = folder.join(script);
            fs::write(&path, text).expect("our folder");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our file");
        }
        let resources = llvm.join(format!("lib/clang/{}", self.llvm));
        let mut command = Command::new(folder.join("clang++"));
        command
            .args(["-no-canonical-prefixes", "-x", "hip", "-O2", "-std=c++17"])
            .arg(format!("--offload-arch={target}"))
            .arg("-resource-dir")
            .arg(&resources)
            .arg("-isystem")
            .arg(root.join("usr/include"))
            .arg(format!("-I{}", sources().display()))
            .arg(format!("--rocm-path={}", root.join("usr").display()))
            .arg(format!("--hip-version={}.0", self.release))
            .arg(format!(
                "--rocm-device-lib-path={}",
                resources.join("amdgcn/bitcode").display()
            ))
            .arg("-D__HIP_PLATFORM_AMD__");
        if *target == Target::GFX942 {
            // As the newest compilers do by themselves: what kernels are called with stands in registers.
            command.args(["-mllvm", "-amdgpu-kernarg-preload-count=16"]);
        }
        command
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}
