//! Images through CRIU's image streamer (`criu --stream`).

use std::fs;
use std::path::Path;

use strobe_criu::locate::{CRIU_VARIABLE, Criu};
use strobe_criu::run::softgpu_library;
use strobe_program::process;

use super::harness::streamer::{capture, serve};
use super::harness::{Ended, Folder, hip_program, start, strobe};
use super::{Run, criu_after, start_bare, text, wait_until};

const STREAM: &str = "set -- \"$@\" --stream";

#[test]
fn a_gpu_program_is_streamed_and_comes_back_with_every_image_asked_for_once() {
    let folder = Folder::new("criu-stream");
    let program = hip_program("mixed.cpp");
    let output = strobe()
        .command()
        .args(["softgpu", "--", &program, "60"])
        .output()
        .expect("strobe starts");
    let expected = String::from_utf8(output.stdout).expect("text");
    let (device, pid) = start_bare(&folder, &program, &["60", "log", "100"]);
    let log = folder.join("log");
    wait_until("round", || text(&log).contains("round 3 "));
    let library = softgpu_library(pid)
        .expect("its maps")
        .expect("it is on the software GPU");
    let installed = Criu::find(None).expect("CRIU is installed");
    let criu = criu_after(&folder, &installed, STREAM);
    let mut run = Run::new(&folder, "images", Some(library.clone()));
    run.criu = criu.clone();
    let streamer = capture(&run.images);
    run.dump(pid, false).expect("CRIU dumps it");
    let images = streamer.join().expect("no panic").expect("a capture");
    assert!(
        text(&log).lines().count() < 60,
        "the program was too fast for the test"
    );
    wait_until("free process number", || !process::exists(pid));
    drop(device);
    let beside: Vec<_> = fs::read_dir(&run.images)
        .expect("the folder")
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| !name.to_string_lossy().ends_with(".sock"))
        .collect();
    assert_eq!(beside, [""; 0], "images beside the stream");
    let ours = |name: &&String| name.starts_with("amdgpu-") || name.starts_with("strobe-");
    let captured: Vec<String> = images.keys().filter(ours).cloned().collect();
    let numbers: Vec<&str> = captured
        .iter()
        .filter_map(|name| name.split('-').nth(2))
        .collect();
    let [kfd, pages, node] = &captured[..] else {
        panic!("{captured:?}")
    };
    assert_eq!(kfd, &format!("amdgpu-kfd-{}", numbers[0]));
    let number = numbers[0].trim_end_matches(".img");
    assert!(
        pages.starts_with(&format!("amdgpu-pages-{number}-")),
        "{pages}"
    );
    assert!(node.starts_with("amdgpu-renderD-"), "{node}");

    // An image that ends too early.
    let mut cut = images.clone();
    let bytes = cut.get_mut(pages).expect("it is there");
    bytes.truncate(bytes.len() / 2);
    let streamer = serve(&run.images, cut);
    let status = run.restore_on_new_device(&run.images, &[]);
    assert!(!status.success(), "{}", run.log("restore.log"));
    let said = format!("image {pages} cannot be read");
    let why = run.log("restore.log");
    assert!(why.contains(&said), "{why}");
    streamer.join().expect("no panic").expect("a restore");

    fs::remove_file(run.images.join("streamer-serve.sock")).expect("the socket");
    // What the restore that failed has left ends in its own time.
    wait_until("free process number", || !process::exists(pid));
    let streamer = serve(&run.images, images);
    let status = run.restore_on_new_device(&run.images, &[]);
    assert!(status.success(), "{}", run.log("restore.log"));
    assert_eq!(
        text(&log),
        expected,
        "the program came back other than it was"
    );
    // As CRIU's own plugin asks: what a number is of is known by the image that there is.
    let asked = streamer.join().expect("no panic").expect("a restore");
    let not_there = node.replace("renderD", "kfd");
    let asked: Vec<&String> = asked.iter().filter(ours).collect();
    assert_eq!(asked, [kfd, pages, &not_there, node]);
}

#[test]
fn a_checkpoint_that_is_not_read_in_one_order_is_refused_before_the_program_stands_still() {
    let folder = Folder::new("criu-stream-agent");
    let program = hip_program("mixed.cpp");
    let session = start(&folder, &[&program, "200", "log", "100"]);
    let log = folder.join("log");
    wait_until("round", || text(&log).contains("round 3 "));
    // Somebody who listens, in whatever folder the images are in, as long as CRIU is there.
    let listen = "python3 -c 'import os,socket,sys\n\
                  s=socket.socket(socket.AF_UNIX)\n\
                  s.bind(sys.argv[sys.argv.index(\"--images-dir\")+1]+\"/streamer-capture.sock\")\n\
                  s.listen()\n\
                  if os.fork(): os._exit(0)\n\
                  s.accept()[0].recv(1)' \"$@\";";
    let installed = Criu::find(None).expect("CRIU is installed");
    let criu = criu_after(&folder, &installed, &format!("{listen} {STREAM}"));
    let images = folder.join("images");
    let output = strobe()
        .command()
        .env(CRIU_VARIABLE, &criu.path)
        .args(["checkpoint", &session.pid().to_string(), "-o"])
        .arg(&images)
        .output()
        .expect("strobe starts");
    let ended = Ended::new(&output).badly(&["stream its images", "criu dump --stream"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(!Path::new(&images).exists(), "a checkpoint");
    let rounds = text(&log).lines().count();
    wait_until("round", || text(&log).lines().count() > rounds + 2);
}
