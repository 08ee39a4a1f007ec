//! `strobe inspect`, on files made here.

#[path = "../../analysis/footprint/tests/words/code.rs"]
mod code;
#[path = "../../analysis/code-object/tests/elf/mod.rs"]
mod elf;

use std::fs;

use code::{CALL, STORE};
use elf::KernelSource;

use crate::{one_sentence, output, strobe, text};

/// A dword of each work-item, 64 of them for a work-group.
#[rustfmt::skip]
const OF_ALL: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x8e06_8802,               // s_lshl_b32 s6, s2, 8
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x6802_0206,               // v_add_u32_e32 v1, s6, v1
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

/// A code object for gfx906 in a folder that goes away.
fn file() -> (tempfile::TempDir, String) {
    let pointer = |name, code| KernelSource::new(name, code).args(&[(0, 8, "global_buffer")]);
    let kernels = [pointer("_Z5storePi", STORE), pointer("_Z4callPi", CALL)];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("object");
    fs::write(&path, elf::write(&kernels, &[0; 64], false)).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

fn inspect(arguments: &[&str]) -> String {
    let ended = output(&[&["inspect"], arguments].concat());
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    text(&ended.stdout).to_owned()
}

#[test]
fn all_that_a_file_has_is_listed_unless_one_target_is_asked_for() {
    let (_folder, path) = file();
    let all = inspect(&[&path]);
    assert!(all.contains("2 kernels"), "{all}");
    assert!(all.ends_with("the file has code for gfx906\n"), "{all}");
    assert!(inspect(&[&path, "--target", "gfx906"]).contains("2 kernels"));
    let other = output(&["inspect", &path, "--target", "gfx90a"]);
    one_sentence(&other, 1, "has no code for gfx90a, but for gfx906");
}

#[test]
fn kernels_have_their_names_in_cpp_and_in_json_the_mangled_ones_beside() {
    let (_folder, path) = file();
    let all = inspect(&[&path]);
    assert!(
        all.starts_with("store(int*) (gfx906, 1 arguments)\n"),
        "{all}"
    );
    let all = inspect(&[&path, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    assert_eq!(all[1]["name"], "call(int*)");
    assert_eq!(all[1]["mangled"], "_Z4callPi");
    assert_eq!(all[2]["targets"][0], "gfx906");
}

#[test]
fn what_is_not_exact_has_its_instruction_and_is_counted_by_reason() {
    let (_folder, path) = file();
    let all = inspect(&[&path]);
    let call = "0x10030: s_swappc_b64 s[30:31], s[4:5]";
    assert!(
        all.contains(&format!("because of unresolved call:\n    {call}\n")),
        "{all}"
    );
    assert!(
        all.contains("  because of unresolved call: reads of 1, writes of 1\n"),
        "{all}"
    );
    let all = inspect(&[&path, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    assert_eq!(all[1]["why"][0]["instruction"], call);
    assert_eq!(all[2]["reasons"]["unresolved call"]["writes"], 1);
}

#[test]
fn a_kernel_is_chosen_by_part_of_its_name_and_its_code_says_what_it_touches() {
    let (_folder, path) = file();
    for part in ["store(", "_Z5store"] {
        let one = inspect(&[&path, "--kernel", part, "--disassemble"]);
        assert!(one.contains("1 kernels"), "{one}");
        let (line, touched) = one
            .lines()
            .find_map(|line| line.split_once(" ; "))
            .expect("a line with what it touches");
        assert_eq!(line.trim(), "0x1001c: global_store_dword v[1:2], v0, off");
        assert_eq!(touched, "writes arg0[4*tid.x .. +4)");
        assert!(one.contains("\n    0x10024: s_endpgm\n"), "{one}");
    }
    let none = output(&["inspect", &path, "--kernel", "stored"]);
    one_sentence(&none, 1, "no kernel with stored in its name");
    let json = inspect(&[&path, "--kernel", "store", "--disassemble", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json[0]["code"][6]["touches"][0]["what"],
        "arg0[4*tid.x .. +4)"
    );
}

#[test]
fn of_one_launch_the_bytes_are_said() {
    let (_folder, path) = file();
    let launch = |text: &str| output(&["inspect", &path, "--kernel", "store", "--launch", text]);
    let ended = launch("grid=1,block=64,args=buf:4K");
    let said = text(&ended.stdout);
    assert!(
        said.contains("  launch reads 0 of 4096 bytes of A\n"),
        "{said}"
    );
    assert!(
        said.contains("  launch writes 256 of 4096 bytes of A [0, 256)\n"),
        "{said}"
    );
    one_sentence(
        &launch("grid=1,block=64,args=buf:4K,1"),
        1,
        "store(int*): it takes 1 arguments, 2 are given",
    );
    assert_eq!(launch("grid=1,block=0,args=1").status.code(), Some(2));
    let call = ["--kernel", "call", "--launch", "grid=1,block=1,args=buf:1"];
    let said = inspect(&[&[path.as_str()], &call[..]].concat());
    assert!(
        said.contains("  launch writes anything: unresolved call\n"),
        "{said}"
    );
    let json = inspect(&[&[path.as_str(), "--json"], &call[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[0]["launch"]["writes"], "unresolved call");
}

#[test]
fn the_grid_of_a_launch_is_counted_in_work_groups() {
    let all = [
        "--kernel",
        "of_all",
        "--launch",
        "grid=3,block=64,args=buf:4K",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("object");
    let kernel = KernelSource::new("of_all", OF_ALL).args(&[(0, 8, "global_buffer")]);
    fs::write(&path, elf::write(&[kernel], &[0; 64], false)).expect("a file");
    let said = inspect(&[&[path.to_str().expect("UTF-8")], &all[..]].concat());
    assert!(
        said.contains("  launch writes 768 of 4096 bytes of A [0, 768)\n"),
        "{said}"
    );
}

#[test]
fn the_page_has_all_kernels_and_nothing_beside_it() {
    let (folder, path) = file();
    let page = folder.path().join("page.html");
    let said = inspect(&[&path, "--html", page.to_str().expect("UTF-8")]);
    assert!(said.starts_with("2 kernels in"), "{said}");
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("<tr><td>store(int*)<td>gfx906<td>1<td>yes<td>yes<td>nothing"));
    assert!(page.contains("<tr><td>call(int*)<td>gfx906<td>1<td class=no>no"));
    assert!(page.ends_with("</html>\n"));
    assert!(!page.contains("http") && !page.contains("src="));
    let nowhere = folder.path().join("none/page.html");
    let ended = output(&["inspect", &path, "--html", nowhere.to_str().expect("UTF-8")]);
    one_sentence(&ended, 1, "cannot write");
}

#[test]
fn a_listing_that_cannot_be_written_is_a_failure_and_a_reader_that_goes_away_is_none() {
    let (_folder, path) = file();
    let full = fs::File::options().write(true).open("/dev/full");
    let mut command = strobe(&["inspect", &path]);
    let ended = command.stdout(full.expect("it is there")).output();
    one_sentence(&ended.expect("strobe starts"), 1, "cannot write to stdout");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = strobe(&["inspect", &path]).stdout(writer).output();
    let ended = ended.expect("strobe starts");
    assert!(ended.status.success());
    assert_eq!(text(&ended.stderr), "");
}
