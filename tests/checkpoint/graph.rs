//! `strobe graph`: of a program and of its checkpoint.

use std::path::Path;

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{Ended, Folder, LIMIT, checkpoint_of, hip_program, run, start};

fn shown(target: &str, options: &[&str]) -> Ended {
    run(["graph", target].into_iter().chain(options.iter().copied())).well()
}

fn as_json(target: &str) -> Value {
    serde_json::from_str(&shown(target, &["--json"]).stdout).expect("JSON")
}

fn operations(graph: &Value) -> &[Value] {
    graph["operations"].as_array().expect("a list")
}

fn is_named(operation: &Value, name: &str) -> bool {
    let named = operation["name"].as_str().expect("a name");
    named == name || named.contains(&format!("{}{name}", name.len()))
}

fn latest<'a>(graph: &'a Value, name: &str) -> &'a Value {
    let mut latest_first = operations(graph).iter().rev();
    let found = latest_first.find(|operation| is_named(operation, name));
    found.unwrap_or_else(|| panic!("no {name} in {graph:#}"))
}

/// Whether the latest `later` waits for the latest `earlier`, and by what.
fn waits(graph: &Value, later: &str, earlier: &str, by: &str) -> bool {
    let number = &latest(graph, earlier)["number"];
    let after = latest(graph, later)["after"].as_array().expect("a list");
    after
        .iter()
        .any(|one| one["number"] == *number && one["by"] == by)
}

fn works(folder: &Folder) -> Session {
    let mut session = start(folder, &[&hip_program("unordered.cpp"), "5"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    session
}

#[test]
fn what_a_program_has_launched_is_shown_with_what_orders_it() {
    let folder = Folder::new("graph");
    let session = works(&folder);
    let pid = session.pid().to_string();
    let graph = as_json(&pid);
    assert_eq!(
        graph["period"], 7,
        "kernels, callback, copy and graph of a round"
    );
    assert_eq!(graph["buffers"].as_array().map(Vec::len), Some(4));
    let count = |name: &str| {
        let all = operations(&graph).iter();
        all.filter(|operation| is_named(operation, name)).count()
    };
    // A graph is what was captured, each time that it is launched; and who knows, when it was captured.
    assert_eq!([count("left"), count("callback")], [5; 2]);
    assert_eq!(count("captured"), 6);
    assert_eq!(count("graph"), 0);
    assert!(waits(&graph, "before", "left", "stream"));
    assert!(waits(&graph, "behind", "before", "event"));
    assert!(waits(&graph, "behind", "right", "stream"));
    assert!(waits(&graph, "captured", "before", "stream"));
    let bytes = |name: &str, side: &str| latest(&graph, name)[side]["extents"][0]["bytes"].clone();
    assert_eq!(bytes("left", "writes"), 256);
    assert_eq!(bytes("copy", "reads"), 256);
    assert_eq!(bytes("copy", "writes"), Value::Null, "it goes to the host");
    assert_eq!(bytes("captured", "writes"), 256);
    // Only those two are in no order.
    let races = graph["races"].as_array().expect("a list");
    let named = |number: &Value| {
        let mut all = operations(&graph).iter();
        all.find(|operation| operation["number"] == *number)
            .expect("it is there")
    };
    assert_eq!(races.len(), 1, "{races:?}");
    assert!(is_named(named(&races[0]["first"]), "left"));
    assert!(is_named(named(&races[0]["second"]), "right"));
    let table = shown(&pid, &[]).stdout;
    assert!(table.contains("a loop of 7 operations"), "{table}");
    assert!(table.contains("nothing orders"), "{table}");
    assert_eq!(
        shown(&pid, &["--last", "2", "--dot"])
            .stdout
            .matches(" [label=")
            .count(),
        2
    );
    run(["graph", "/nowhere"]).badly(&["no process", "no directory"]);
}

#[test]
fn a_checkpoint_has_what_was_launched_before_it() {
    let folder = Folder::new("graph-checkpoint");
    let session = works(&folder);
    let before = as_json(&session.pid().to_string());
    let images = folder.join("images");
    checkpoint_of(session.pid(), &images, &[]).well();
    let target = images.to_str().expect("UTF-8");
    assert_eq!(as_json(target), before, "it waits, and launches nothing");
    let name = format!("strobe-launches-{}.img", session.pid());
    let image = Path::new(target).join("criu").join(&name);
    let bytes = std::fs::read(&image).expect("the window");
    std::fs::write(&image, &bytes[..bytes.len() / 2]).expect("its folder is ours");
    run(["graph", target]).badly(&[&name]);
}
