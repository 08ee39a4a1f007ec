//! The page of an export: what is in it, and what a restore needs.

use std::fmt::Write as _;

use strobe_proto::Manifest;

use super::{Kind, Report, SCRIPT};

/// In Markdown.
pub(super) fn text(manifest: &Manifest, report: &Report<'_>) -> String {
    let mut page = String::from("# A checkpoint as plain images of CRIU\n\n");
    let command = manifest.command_line.join(" ");
    let _ = writeln!(
        page,
        "Of process {} (`{}`), exported by Strobe. It comes back without Strobe's command:\n\n\
         ```console\n\
         $ sh {SCRIPT} --libdir /usr/lib/criu    # the folder with amdgpu_plugin.so; further options of criu restore\n\
         ```\n",
        manifest.pid,
        command.replace('`', "'"),
    );
    let _ = writeln!(
        page,
        "`{SCRIPT}` puts the files in place that are listed below as saved (what they have become is kept in\n\
         `FILE.strobe-later-N`), and starts `criu restore {}`\n\
         with the folder `images`. `CRIU=/path/to/criu` says which CRIU.\n",
        report.criu_options.join(" ")
    );
    page.push_str("Needed are root, CRIU 4.1 or newer (that of the checkpoint was ");
    page.push_str(match manifest.criu_version.as_str() {
        "" => "not recorded",
        version => version,
    });
    page.push_str(
        "), its amdgpu plugin (CRIU's own or\n\
         Strobe's), a GPU that stands in for that of the checkpoint, and the numbers of the program's processes and\n\
         threads (",
    );
    let numbers: Vec<_> = report.numbers.iter().map(u32::to_string).collect();
    let _ = writeln!(page, "{}).\n", numbers.join(", "));
    if report.agents.is_empty() {
        page.push_str("Strobe's library is not at work in the program.\n\n");
    } else {
        let agents: Vec<_> = report.agents.iter().map(u32::to_string).collect();
        let _ = writeln!(
            page,
            "Strobe's library, `libstrobe.so`, is at work in process {}. At the cut of the checkpoint it holds the\n\
             program's GPU calls back. It finds out that it was restored, by its process's start time and by the\n\
             GPU, which works again, and lets the program go on; `strobe checkpoint` takes the next checkpoint of it.\n",
            agents.join(", ")
        );
    }
    page.push_str("## Files of the program\n\n");
    let groups = [
        (Kind::Saved, "Saved here, and put back:"),
        (
            Kind::NotSaved,
            "Not saved (they were too large). They have to be what they were:",
        ),
        (
            Kind::Output,
            "What the program's output goes through; to be read there after a restore:",
        ),
        (Kind::Folder, "Folders, made where they are missing:"),
        (
            Kind::Needed,
            "Needed as they are, by their name and length:",
        ),
    ];
    for (kind, heading) in groups {
        let files = report.files.iter().filter(|file| file.kind == kind);
        let lines: Vec<_> = files
            .map(|file| match (&file.stored, kind) {
                (Some(stored), _) => format!("- `{}`: `{stored}`", file.path),
                (None, Kind::Folder) => format!("- `{}`", file.path),
                (None, _) => format!("- `{}`: {} bytes", file.path, file.size),
            })
            .collect();
        if !lines.is_empty() {
            let _ = writeln!(page, "{heading}\n\n{}\n", lines.join("\n"));
        }
    }
    if !report.shared_memory.is_empty() {
        page.push_str("Of the GPU's library, put back where there is none:\n\n");
        for file in &report.shared_memory {
            let _ = writeln!(page, "- `{file}`");
        }
    }
    page
}
