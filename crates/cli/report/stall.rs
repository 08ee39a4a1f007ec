//! How long the program was held back, and for what.

use std::fmt::Write as _;

use strobe_proto::{HeldBy, Manifest, PluginStatistics, Statistics};

use crate::course::held_in_all;
use crate::figures::Stall;

const WIDE: f64 = 1100.0;
const HIGH: f64 = 30.0;

pub(super) fn section(manifest: &Manifest) -> String {
    let Some(agent) = &manifest.statistics else {
        return "<p class=\"quiet\">Not recorded: it was imported.</p>\n".into();
    };
    let plugin = manifest.plugin.clone().unwrap_or_default();
    let stall = of(manifest, &plugin, agent);
    let mut html = parts(&stall);
    html += &held(manifest, agent);
    html
}

fn of(manifest: &Manifest, plugin: &PluginStatistics, agent: &Statistics) -> Stall {
    let (mode, killed) = (manifest.mode(), manifest.killed);
    Stall::of(mode, killed, manifest.criu_frozen_us, plugin, agent)
}

fn parts(stall: &Stall) -> String {
    let mut parts = vec![
        (
            "wait",
            "GPU work: waiting for it, or stopping it",
            stall.drain,
        ),
        (
            "print",
            "fingerprints of device memory at the cut",
            stall.fingerprints,
        ),
        (
            "freeze",
            "CRIU's freeze: saving the CPU side",
            stall.criu_freeze,
        ),
        (
            "gate",
            "residual: device memory that the agent does not deliver",
            stall.residual,
        ),
        ("copy", "copying after the freeze", stall.copying),
    ];
    let named: f64 = parts.iter().map(|(.., ms)| ms).sum();
    parts.push((
        "unknown",
        "the rest: CRIU's start of the freeze, and words from one process to another",
        (stall.total - named).max(0.0),
    ));
    let all: f64 = parts.iter().map(|(.., ms)| ms).sum::<f64>().max(1e-9);
    let mut html = format!(
        "<div class=\"wide\"><svg viewBox=\"0 0 {WIDE} {HIGH}\" role=\"img\" aria-label=\"The stall by cause\">\n"
    );
    let mut x = 0.0;
    for (class, meaning, ms) in &parts {
        let wide = ms / all * WIDE;
        let _ = write!(
            html,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"0\" width=\"{wide:.1}\" height=\"{HIGH}\"><title>{meaning}: {ms:.1} ms</title></rect>"
        );
        if wide > 60.0 {
            let _ = write!(
                html,
                "<text class=\"in\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{}\">{ms:.1} ms</text>",
                x + wide / 2.0,
                HIGH / 2.0 + 4.0
            );
        }
        html.push('\n');
        x += wide;
    }
    html += "</svg></div>\n<table><tr><th>cause<th class=\"number\">ms<th class=\"number\">share</tr>\n";
    for (class, meaning, ms) in &parts {
        let _ = writeln!(
            html,
            "<tr><td><span class=\"key {class}\"></span>{meaning}<td class=\"number\">{ms:.1}<td class=\"number\">{:.0} %</tr>",
            ms / all * 100.0
        );
    }
    let _ = writeln!(
        html,
        "<tr><th>in all<th class=\"number\">{:.1}<th></tr></table>",
        stall.total
    );
    if named > stall.total {
        let _ = writeln!(
            html,
            "<p class=\"quiet\">The parts are {:.1} ms more than the whole: CRIU counts its freeze to its own end, when the gate \
             may be open already.</p>",
            named - stall.total
        );
    }
    html
}

fn held(manifest: &Manifest, agent: &Statistics) -> String {
    let Some(course) = &manifest.course else {
        return "<p class=\"quiet\">By which cause each call was held back is not recorded.</p>\n"
            .into();
    };
    let held = held_in_all(&course.processes);
    let waits: u64 = course
        .processes
        .iter()
        .map(|process| process.device_waits)
        .sum();
    let mut html = String::from("<h2>Calls that were held back</h2>\n");
    match (manifest.killed, held.is_empty()) {
        (true, _) => {
            html += "<p class=\"quiet\">The program did not go on: its calls were not asked.</p>\n"
        }
        (false, true) => html += "<p>None.</p>\n",
        (false, false) => {
            html += "<table><tr><th>cause<th class=\"number\">calls<th class=\"number\">ms, all threads\
                     <th class=\"number\">longest, ms</tr>\n";
            for of in &held {
                let ms = |ns: u64| ns as f64 / 1e6;
                let _ = writeln!(
                    html,
                    "<tr><td>{}<td class=\"number\">{}<td class=\"number\">{:.1}<td class=\"number\">{:.1}</tr>",
                    meaning(of.cause()),
                    of.calls,
                    ms(of.ns),
                    ms(of.longest_ns)
                );
            }
            html += "</table>\n";
        }
    }
    if waits > 0 {
        let _ = writeln!(
            html,
            "<p>Besides, {waits} times a stream was told to wait on the device for a copy, without holding its thread. How \
             long it did is not known here.</p>"
        );
    }
    let _ = writeln!(
        html,
        "<p class=\"quiet\">{} launches so far, of which {} could have written anything as far as their code tells.</p>",
        agent.launches, agent.footprints_conservative
    );
    html
}

fn meaning(by: HeldBy) -> &'static str {
    match by {
        HeldBy::Unspecified => "unknown",
        HeldBy::Lead => {
            "lead: the program was as far ahead of its GPU as it may be before a cut; no part of the stall"
        }
        HeldBy::Cut => "cut: the gate was closed",
        HeldBy::Room => "room: what the call was about to write could be put aside nowhere",
        HeldBy::Aside => "aside: what it was about to write was being copied inside the device",
        HeldBy::Link => "link: what it was about to write was being copied over the link",
        HeldBy::Free => "free: it frees memory that was being read",
    }
}
