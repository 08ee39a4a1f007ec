//! Options of the plugin, in the environment that CRIU runs in.

use strobe_criu::locate::Criu;
use strobe_criu::run::softgpu_library;
use strobe_program::process;

use super::harness::{Folder, hip_program};
use super::{Run, criu_after, start_bare, text, wait_until};

#[test]
fn what_a_user_sets_is_obeyed_or_named_with_what_it_may_be() {
    let folder = Folder::new("criu-options");
    let program = hip_program("holds.cpp");
    let (device, pid) = start_bare(&folder, &program, &["8", "7"]);
    let output = folder.join("output");
    wait_until("memory", || text(&output).contains("holding "));
    let library = softgpu_library(pid)
        .expect("its maps")
        .expect("it is on the software GPU");
    let installed = Criu::find(None).expect("CRIU is installed");
    let with = |name: &str, variable: &str| {
        let mut run = Run::new(&folder, name, Some(library.clone()));
        run.criu = criu_after(&folder, &installed, &format!("export {variable}"));
        run
    };
    let error = with("wrong", "KFD_MAX_BUFFER_SIZE=much").dump(pid, true);
    let sentence = error.expect_err("a wrong value").to_string();
    let expected = "KFD_MAX_BUFFER_SIZE is \"much\"; it may be a number of bytes";
    assert!(sentence.starts_with(expected), "{sentence}");
    // Contents through a sixteenth of what a buffer object has, and less.
    let mut run = with("images", "KFD_MAX_BUFFER_SIZE=64K");
    run.dump(pid, false).expect("CRIU dumps it");
    wait_until("free process number", || !process::exists(pid));
    drop(device);

    let smaller = ["--vram", "1G"];
    let mut refused = |variable: &str| {
        run.criu = criu_after(&folder, &installed, &format!("export {variable}"));
        let status = run.restore_on_new_device(&run.images, &smaller);
        assert!(!status.success(), "{variable}");
        run.log("restore.log")
    };
    let log = refused("KFD_FW_VER_CHECK=0");
    assert!(
        log.contains("vram_size was 2147483648 and is only 1073741824 here"),
        "{log}"
    );
    let log = refused("KFD_VRAM_SIZE_CHECK=off");
    let expected = "KFD_VRAM_SIZE_CHECK is \"off\"; it may be 0, NO, 1 or YES";
    assert!(log.contains(expected), "{log}");
    let lenient = "KFD_VRAM_SIZE_CHECK=no KFD_MAX_BUFFER_SIZE=8k";
    // To the end of the program, which looks at its memory. Before it runs a signal would end it.
    let log = run.work.join("restore.log");
    let log = log.display();
    let end = format!(
        "(while ! grep -qs 'finished successfully' {log}; do sleep 0.1; done; kill -TERM {pid}) &"
    );
    run.criu = criu_after(&folder, &installed, &format!("export {lenient}; {end}"));
    let status = run.restore_on_new_device(&run.images, &smaller);
    assert!(status.success(), "{}", run.log("restore.log"));
    assert!(text(&output).ends_with("kept\n"), "{}", text(&output));
}
