//! Prints what was decided: a table for people, or SQL for a client.

use super::decide::{Assignment, Finding, Outcome};
use super::option_file::{OptionFiles, Place};
use super::values::{SECRET, one_line};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr as _;

/// Columns of the table are not padded beyond this.
const WIDTH_MAX: usize = 48;

/// What is printed.
pub(super) struct Report<'a> {
    /// What was asked for, as it was named.
    pub file: &'a str,
    /// What was read.
    pub files: &'a OptionFiles,
    /// What was decided.
    pub findings: &'a [Finding],
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::TakenOver(_) => "taken over",
        Outcome::StartOption(_) => "start option",
        Outcome::NoMeaning => "without meaning here",
        Outcome::Overridden => "overridden",
        Outcome::Bad => "bad value",
        Outcome::Unknown => "unknown",
    }
}

fn statement(assignment: &Assignment, value: &str) -> String {
    let scope = if assignment.at_start { "PERSIST_ONLY" } else { "PERSIST" };
    format!("SET {scope} {} = {value};", assignment.name)
}

fn option(finding: &Finding) -> String {
    let value = finding.value.as_deref().map_or_else(String::new, |value| format!(" = {value}"));
    one_line(&format!("{}{value}", finding.name))
}

fn place(place: &Place) -> String {
    one_line(&format!("{}:{}", place.file, place.line))
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" -- ")
}

impl Report<'_> {
    /// Writes a table, a line for each option, and what else there is to know.
    pub(super) fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let mut rows = vec![["WHERE", "OPTION", "RESULT", "STATEMENT, FLAG OR REASON"].map(str::to_owned)];
        for finding in self.findings {
            let what = match &finding.outcome {
                Outcome::TakenOver(assignments) => assignments
                    .iter()
                    .map(|assignment| statement(assignment, if finding.is_secret { SECRET } else { &assignment.value }))
                    .collect::<Vec<_>>()
                    .join(" "),
                Outcome::StartOption(flag) => flag.clone(),
                _ => String::new(),
            };
            let told = one_line(&joined(&[&what, &finding.note]));
            rows.push([place(&finding.place), option(finding), word(&finding.outcome).to_owned(), told]);
        }
        let mut widths = [0; 3];
        for (at, width) in widths.iter_mut().enumerate() {
            *width = rows.iter().map(|row| row[at].width().min(WIDTH_MAX)).max().unwrap_or(0);
        }
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat((width + 2).saturating_sub(cell.width()).max(2)));
            }
            line.push_str(&row[3]);
            writeln!(out, "{}", line.trim_end())?;
        }
        self.problems("", out)?;
        writeln!(out)?;
        writeln!(out, "{}", self.counts())?;
        self.rest("", out)
    }

    /// Writes SQL: the statements, and comments on all other options.
    pub(super) fn sql(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "-- The configuration of {}, by squall import-config.", one_line(self.file))?;
        writeln!(out, "SET NAMES utf8mb4;")?;
        // Literals below are read by these rules, and a value that is not allowed is an error.
        writeln!(out, "SET SESSION sql_mode = 'TRADITIONAL';")?;
        // The character set before its collation, whatever their order.
        let mut last = Vec::new();
        for finding in self.findings {
            let here = place(&finding.place);
            if let Outcome::TakenOver(assignments) = &finding.outcome {
                if !finding.note.is_empty() {
                    writeln!(out, "-- {here} {}: {}", option(finding), one_line(&finding.note))?;
                }
                for assignment in assignments {
                    let text = statement(assignment, &assignment.value);
                    match assignment.name == "collation_server" {
                        true => last.push(text),
                        false => writeln!(out, "{text}")?,
                    }
                }
                continue;
            }
            let what = match &finding.outcome {
                Outcome::StartOption(flag) => flag,
                _ => "",
            };
            let told = one_line(&joined(&[what, &finding.note]));
            writeln!(out, "-- {here} {}: {}: {told}", option(finding), word(&finding.outcome))?;
        }
        last.into_iter().try_for_each(|text| writeln!(out, "{text}"))?;
        self.problems("-- ", out)?;
        self.rest("-- ", out)
    }

    fn problems(&self, begin: &str, out: &mut impl Write) -> io::Result<()> {
        let mut problems = self.files.problems.iter();
        problems.try_for_each(|(at, text)| writeln!(out, "{begin}{}: {}", place(at), one_line(text)))
    }

    fn counts(&self) -> String {
        let outcomes = ["taken over", "start option", "without meaning here", "overridden", "bad value", "unknown"];
        let count = |name| self.findings.iter().filter(|finding| word(&finding.outcome) == name).count();
        let counts: Vec<String> = outcomes
            .iter()
            .map(|name| (count(*name), name))
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        match self.findings.len() {
            0 => "no options of a server".to_owned(),
            1 => format!("1 option: {}", counts.join(", ")),
            all => format!("{all} options: {}", counts.join(", ")),
        }
    }

    /// How to start the server, and which sections were not read.
    fn rest(&self, begin: &str, out: &mut impl Write) -> io::Result<()> {
        let flags = self.findings.iter().filter_map(|finding| match &finding.outcome {
            Outcome::StartOption(flag) => Some(flag.as_str()),
            _ => None,
        });
        let flags: Vec<&str> = flags.collect();
        if !flags.is_empty() {
            writeln!(out, "{begin}Start with: squall serve {}", one_line(&flags.join(" ")))?;
        }
        if !self.files.left_out.is_empty() {
            let names: Vec<String> = self.files.left_out.iter().map(|name| format!("[{name}]")).collect();
            writeln!(out, "{begin}Sections left out (--group reads one more): {}", one_line(&names.join(" ")))?;
        }
        Ok(())
    }
}
