//! The report as one page of HTML that needs nothing else.

use std::fmt::Write;

use super::plot::{PARTS, plot};
use super::report::{FAMILIES, FootprintReport};
use super::tally::{LibraryTally, SideTally, WayTally};
use crate::launches::section;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub fn page(report: &FootprintReport) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Footprints of kernels for {target}</title>\n<style>{STYLE}</style></head><body>\n\
         <h1>Footprints of kernels for {target}</h1>\n",
        target = escape(&report.target),
    );
    introduction(report, &mut html);
    html.push_str("<h2>What is known of the writes</h2>\n<p class=\"legend\">");
    for (class, meaning) in PARTS {
        let _ = write!(html, "<span><i class=\"{class}\"></i>{meaning}</span> ");
    }
    html.push_str("</p>\n");
    let all: Vec<&LibraryTally> = report.libraries.iter().chain([&report.total]).collect();
    html.push_str(&plot(&all));
    html.push_str("<h2>Libraries</h2>\n");
    libraries(&all, &mut html);
    html.push_str("<h2>Why writes are not exact by machine code</h2>\n");
    reasons(&report.total.machine.writes, &report.total, &mut html);
    html.push_str("<h2>Why reads are not exact by machine code</h2>\n");
    reasons(&report.total.machine.reads, &report.total, &mut html);
    html.push_str("<h2>Each library</h2>\n");
    for library in &all {
        details(library, &mut html);
    }
    if let Some(launches) = &report.launches {
        html.push_str(&section(launches));
    }
    let _ = writeln!(html, "<script>{SCRIPT}</script></body></html>");
    html
}

fn introduction(report: &FootprintReport, html: &mut String) {
    html.push_str(
        "<p>Which memory a kernel may write and read, found in three ways, for kernels of libraries that were \
         written by others. By the <b>signature</b>: a pointer to const is read, another pointer is read and \
         written, a structure is not known. By the <b>metadata</b> in the code object: as the compiler says, else \
         read and written; a structure is not known. By the <b>machine code</b>, once for all launches: exact \
         where all accesses are resolved to arguments, without a look into device memory. \
         \"In words\" are those of which each write's place is said in terms of arguments and ids; of the others it is \
         known at a launch at the earliest.</p>\n\
         <p>Where the machine code is exact, the other two are held against it: they say the same arguments, too \
         many, or leave one out. It may itself name an argument that no launch ever touches, so a few of what is \
         \"left out\" may be its mistake.</p>\n\
         <p>Once tables are known: also those that write through pointers in tables in memory which are reached from \
         arguments; what stands there is known at a launch, if at all. Kernels without a body, which a compiler has taken \
         for unreachable, are counted, and no part of any percentage.</p>\n",
    );
    html.push_str(match report.launches {
        Some(_) => "<p>All this without executing anything; launches follow at the end.</p>\n",
        None => "<p>Nothing was executed. How footprints compare with what launches really touch is not measured here.</p>\n",
    });
    let sentence = |what: &str, names: &[String], html: &mut String| {
        if !names.is_empty() {
            let _ = writeln!(html, "<p>{what}: {}.</p>", escape(&names.join("; ")));
        }
    };
    sentence("No kernel for this target in", &report.without, html);
    sentence("Not evaluated", &report.failed, html);
    sentence("Could not be read", &report.total.refused, html);
    let cut = report.libraries.iter().filter(|library| library.cut);
    let cut: Vec<String> = cut.map(|library| library.library.clone()).collect();
    sentence("Only the first kernels of", &cut, html);
}

fn libraries(all: &[&LibraryTally], html: &mut String) {
    let heads = [
        "library",
        "kernels",
        "different names",
        "without body",
        "signature: writes exact %",
        "of all, too wide %",
        "of all, misses %",
        "metadata: writes exact %",
        "of all, too wide %",
        "of all, misses %",
        "machine code: writes exact %",
        "or once tables are known %",
        "in words %",
        "signature: reads exact %",
        "metadata: reads exact %",
        "machine code: reads exact %",
        "kernels a second and core",
        "slowest, s",
        "memory, MiB",
    ];
    html.push_str("<div class=\"wide-table\"><table class=\"sortable\"><thead><tr>");
    for head in heads {
        let _ = write!(html, "<th><button>{head}</button></th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    for library in all {
        let writes = |way: &WayTally| {
            let findings = &way.writes.findings;
            [
                library.share(way.writes.exact),
                library.share(findings.wide),
                library.share(findings.missed + findings.beyond),
            ]
        };
        let mut cells = vec![
            (library.kernels as f64, 0),
            (library.names as f64, 0),
            (library.empty as f64, 0),
        ];
        for way in [&library.signature, &library.metadata] {
            cells.extend(writes(way).map(|share| (share, 1)));
        }
        let exact = library.machine.writes.exact;
        cells.push((library.share(exact), 1));
        cells.push((library.share(exact + library.writes_by_tables), 1));
        cells.push((library.share(library.writes_worded), 1));
        for way in [&library.signature, &library.metadata, &library.machine] {
            cells.push((library.share(way.reads.exact), 1));
        }
        cells.push((library.rate(), 0));
        cells.push((library.slowest.seconds, 3));
        cells.push((library.peak_memory as f64 / f64::from(1 << 20), 1));
        let _ = write!(html, "<tr><td>{}</td>", escape(&library.library));
        for (value, digits) in cells {
            let _ = write!(html, "<td data-value=\"{value}\">{value:.digits$}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn reasons(side: &SideTally, library: &LibraryTally, html: &mut String) {
    if side.reasons.is_empty() {
        html.push_str("<p>All are.</p>\n");
        return;
    }
    html.push_str(
        "<table><thead><tr><th>reason</th><th>kernels</th><th>%</th><th>made of these functions, and one of them</th></tr></thead><tbody>\n",
    );
    for (reason, count) in side.ranked() {
        let families = count.most(FAMILIES).into_iter();
        let families: Vec<String> = families
            .map(|(name, kernels)| format!("{name} ({kernels})"))
            .collect();
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{:.2}</td><td>{}<br><code>{}</code> <small>{}</small></td></tr>",
            escape(reason),
            count.kernels,
            library.share(count.kernels),
            escape(&families.join(", ")),
            escape(&count.example),
            escape(&count.file),
        );
    }
    html.push_str("</tbody></table>\n");
}

fn details(library: &LibraryTally, html: &mut String) {
    let _ = writeln!(
        html,
        "<details><summary>{} ({} kernels)</summary>\n<p>Slowest: <code>{}</code> <small>{}</small>, {:.3} s.</p>",
        escape(&library.library),
        library.kernels,
        escape(&library.slowest.name),
        escape(&library.slowest.file),
        library.slowest.seconds,
    );
    let ways = [
        ("signature", &library.signature),
        ("metadata", &library.metadata),
        ("machine code", &library.machine),
    ];
    for (name, way) in ways {
        for (side, tally) in [("writes", &way.writes), ("reads", &way.reads)] {
            let _ = writeln!(html, "<h3>{name}: {side} not exact</h3>");
            reasons(tally, library, html);
            if let Some(example) = &tally.missed_example {
                let example = escape(example);
                let missed = tally.findings.missed;
                let _ = writeln!(
                    html,
                    "<p>{missed} leave an argument out, as of <code>{example}</code>.</p>"
                );
            }
        }
    }
    html.push_str("</details>\n");
}

/// Names come from files: nothing in them is markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::claims::Claim;
    use super::*;

    fn library() -> LibraryTally {
        let mut library = LibraryTally {
            library: "lib<script>".into(),
            kernels: 2,
            writes_worded: 1,
            ..LibraryTally::default()
        };
        let exact = Claim::Arguments([0].into());
        let unknown = Claim::Inexact("a & b".into());
        library.machine.writes.add(&exact, None, "one", "file");
        library
            .machine
            .writes
            .add(&unknown, None, "two<int>", "file");
        library
            .signature
            .writes
            .add(&exact, Some(&exact), "one", "file");
        library
            .signature
            .writes
            .add(&exact, Some(&unknown), "two<int>", "file");
        library
    }

    #[test]
    fn a_page_needs_nothing_else_and_names_are_no_markup() {
        let report = FootprintReport::new("gfx906", vec![library()], Vec::new(), None);
        let html = page(&report);
        assert!(html.contains("lib&lt;script&gt;") && !html.contains("lib<script>"));
        assert!(html.contains("two&lt;int&gt;") && html.contains("a &amp; b"));
        for outside in ["http:", "https:", "src=", "href=", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert_eq!(html.matches("<svg").count(), 1);
        // Half known, half unknown.
        assert!(html.contains("machine code: not known (1 kernels, 50.0 %)"));
        assert!(html.contains("is not measured here"));
    }
}
