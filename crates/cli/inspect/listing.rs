//! What is found, as it is found.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use strobe_footprint::inspect::{InspectedKernel, Report};

use crate::arguments::InspectArguments;
use crate::demangle::demangled;
use crate::inspect::{elements, page};

/// A JSON array has one element a line, and the summary last; a page goes to a file, and the totals to stdout, too.
pub(super) struct Listing<'a> {
    arguments: &'a InspectArguments,
    stdout: io::StdoutLock<'static>,
    page: Option<BufWriter<File>>,
}

impl<'a> Listing<'a> {
    pub(super) fn begin(arguments: &'a InspectArguments) -> anyhow::Result<Self> {
        let page = arguments.html.as_ref().map(|path| {
            let page = File::create(path).and_then(|file| {
                let mut page = BufWriter::new(file);
                page.write_all(page::HEAD.as_bytes()).map(|()| page)
            });
            page.with_context(|| format!("cannot write {}", path.display()))
        });
        let mut listing = Self {
            arguments,
            stdout: io::stdout().lock(),
            page: page.transpose()?,
        };
        if arguments.json {
            listing.say("[\n")?;
        }
        Ok(listing)
    }

    pub(super) fn kernel(&mut self, kernel: &InspectedKernel<'_>) -> anyhow::Result<()> {
        if self.page.is_some() {
            return self.write(&page::row(kernel));
        }
        let name = demangled(&kernel.kernel.name);
        let launch = self.arguments.launch.as_ref();
        let launch = launch.map(|launch| launch.evaluate(kernel.kernel, &kernel.footprint));
        let launch = launch.transpose().with_context(|| name.clone())?;
        if self.arguments.json {
            let mut element = elements::kernel(kernel);
            if self.arguments.disassemble {
                element["code"] = elements::code(kernel);
            }
            if let Some(launch) = launch {
                element["launch"] = launch.json();
            }
            return self.say(&format!("{element},\n"));
        }
        self.say(&format!("{name} {kernel}\n"))?;
        if self.arguments.disassemble {
            self.say(&code(kernel))?;
        }
        match launch {
            Some(launch) => self.say(&launch.text()),
            None => Ok(()),
        }
    }

    pub(super) fn end(mut self, report: &Report) -> anyhow::Result<()> {
        let totals = totals(report);
        if self.page.is_some() {
            self.write(&page::end(&totals))?;
        }
        match self.arguments.json {
            true => self.say(&format!("{}\n]\n", elements::summary(report)))?,
            false => self.say(&totals)?,
        }
        self.stdout.flush().context(NO_STDOUT)?;
        match self.page {
            Some(mut page) => page.flush().context("cannot write the page"),
            None => Ok(()),
        }
    }

    fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.stdout.write_all(text.as_bytes()).context(NO_STDOUT)
    }

    /// Into the page, where there is one.
    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        let page = self.page.as_mut();
        let written = page.map_or(Ok(()), |page| page.write_all(text.as_bytes()));
        written.context("cannot write the page")
    }
}

const NO_STDOUT: &str = "cannot write to stdout";

/// One instruction a line, with what it touches.
fn code(kernel: &InspectedKernel<'_>) -> String {
    let lines = kernel.code().into_iter().map(|(instruction, touches)| {
        let line = format!("    {:#x}: {}", instruction.address, instruction.text);
        let touches = touches.iter();
        let touches: Vec<String> = touches
            .map(|touch| format!("{} {}", touch.deed(), touch.what))
            .collect();
        match touches.is_empty() {
            true => line + "\n",
            false => format!("{line:<64} ; {}\n", touches.join(", ")),
        }
    });
    lines.collect()
}

fn totals(report: &Report) -> String {
    let mut text = format!(
        "{} kernels in {:.2} s: writes exact {}, reads exact {}, conservative {}\n",
        report.kernels,
        report.time.as_secs_f64(),
        report.writes_exact,
        report.reads_exact,
        report.conservative,
    );
    for (obstacle, [reads, writes]) in &report.reasons {
        text += &format!("  because of {obstacle}: reads of {reads}, writes of {writes}\n");
    }
    if report.contradicted > 0 {
        text += &format!(
            "  contradicted by their metadata: {}\n",
            report.contradicted
        );
    }
    text + &format!("the file has code for {}\n", report.targets.join(", "))
}
