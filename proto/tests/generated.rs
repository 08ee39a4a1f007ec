//! The committed Rust types are what the `.proto` files say.

use std::path::Path;

/// `STROBE_BLESS=1 cargo test -p strobe-proto` writes the files anew.
#[test]
fn committed_code_is_what_the_proto_files_generate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["strobe.proto", "amdgpu.proto", "stats.proto"];
    let descriptors = protox::compile(files, [root]).expect("the .proto files compile");
    let out = tempfile::tempdir().expect("a temporary directory");
    prost_build::Config::new()
        .out_dir(out.path())
        // Large beside the others.
        .boxed(".strobe.FromAgent.body.done")
        .compile_fds(descriptors)
        .expect("code is generated");
    for file in files {
        let name = file.replace(".proto", ".rs");
        let fresh = std::fs::read_to_string(out.path().join(&name)).expect("one file a package");
        let committed = root.join("src").join(&name);
        if std::env::var_os("STROBE_BLESS").is_some() {
            std::fs::write(&committed, &fresh).expect("the source folder is writable");
        }
        let committed = std::fs::read_to_string(&committed).unwrap_or_default();
        assert!(
            committed == fresh,
            "src/{name} is not what {file} generates: run STROBE_BLESS=1 cargo test -p strobe-proto"
        );
    }
}
