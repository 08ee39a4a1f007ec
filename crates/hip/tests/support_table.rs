//! The published support table says what the list says.

use expect_test::expect_file;
use std::fmt::Write;
use strobe_hip::{Api, FunctionClass, hsa};

#[test]
fn the_published_table_is_fresh() {
    let mut text = String::from(
        "# What Strobe does with each function of HIP\n\n\
         Generated from `crates/hip/src/list.rs` (`UPDATE_EXPECT=1 cargo test -p strobe-hip`). The \
         list is that of\n`libamdhip64` of ROCm 5.2.3, 5.7.1, 6.4.3 and 7.2.4. A function that none of \
         them has is refused by its name; so is HIP\nthat is there twice in one process.\n\n\
         - **modelled**: wrapped; what it does to GPU memory is known.\n\
         - **pure**: changes nothing that a checkpoint would have to know.\n\
         - **refused**: passed on, but a program that has used it is not checkpointed; the refusal \
         names it.\n\n",
    );
    let count = |class| Api::ALL.iter().filter(|api| api.class() == class).count();
    writeln!(
        text,
        "{} functions: {} modelled, {} pure, {} refused.\n",
        Api::ALL.len(),
        count(FunctionClass::Modelled),
        count(FunctionClass::Pure),
        count(FunctionClass::Refused)
    )
    .unwrap();
    text.push_str(
        "| function | releases | symbol version | class | effect |\n|---|---|---|---|---|\n",
    );
    let mut all: Vec<&Api> = Api::ALL.iter().collect();
    all.sort_by_key(|api| (api.name().trim_start_matches('_'), api.symbol()));
    for api in all {
        let class = match api.class() {
            FunctionClass::Modelled => "modelled",
            FunctionClass::Pure => "pure",
            FunctionClass::Refused => "refused",
        };
        let effect = api.effect().unwrap_or_default().replace('_', " ");
        writeln!(
            text,
            "| `{}` | {} | {} | {class} | {effect} |",
            api.name(),
            api.releases(),
            api.since()
        )
        .unwrap();
    }
    text.push_str(
        "\n# The HSA runtime beside HIP\n\n\
         A program that calls one of these itself is not checkpointed; HIP may. All other functions \
         of\n`libhsa-runtime64.so.1`, ROCm 5.2.3 and 7.2.4, are pure. Functions of either library that are not \
         known, because they\nare newer, are refused by name once they are called or linked to.\n\n",
    );
    for name in hsa::REFUSED {
        writeln!(text, "- `{}`", name.to_string_lossy()).unwrap();
    }
    expect_file!["../../../interpose/API.md"].assert_eq(&text);
}

#[test]
fn no_function_is_named_twice() {
    let mut symbols: Vec<_> = Api::ALL.iter().map(|api| api.symbol()).collect();
    symbols.sort_unstable();
    let before = symbols.len();
    symbols.dedup();
    assert_eq!(symbols.len(), before);
}
