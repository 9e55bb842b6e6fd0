//! Runs code that reads foreign data (packets, statements, documents, files) on random inputs.
//!
//! A target is a function of bytes that panics on an error. It runs on the inputs of its corpus, `fuzz/corpus/TARGET`, and then on
//! changed ones ([`mutate`]). An input that reaches new code ([`coverage`]) is changed further. Each target runs in its own process,
//! since it may also run out of stack, take too much memory ([`memory`]) or not end. Then the input is saved in a file, and
//! `squall-fuzz replay TARGET FILE` runs it again.
//!
//! `cargo xtask fuzz` builds and starts it; it needs nothing but a stable compiler.

mod corpus;
mod coverage;
mod input;
mod memory;
mod mutate;
mod run;
mod supervise;
mod targets;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
Usage: squall-fuzz [--seconds N] [--keep] [TARGET...]
       squall-fuzz replay TARGET FILE

  --seconds N  How long each target runs, 60 if it is not said
  --keep       Writes inputs that reach code nothing has reached before into fuzz/corpus
SQUALL_SEED=N in the environment begins as an earlier run did.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["replay", target, file] => replay(target, Path::new(file)),
        ["child", rest @ ..] => options(rest).and_then(|options| run::run(&options)),
        rest => options(rest).and_then(|options| supervise::run(&options)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// What is run.
#[derive(Clone, Debug)]
struct Options {
    targets: Vec<&'static targets::Target>,
    time: Duration,
    keep: bool,
}

fn options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { targets: Vec::new(), time: Duration::from_secs(60), keep: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--keep" => options.keep = true,
            "--seconds" => {
                let seconds = arguments.next().and_then(|text| text.parse().ok()).ok_or(USAGE)?;
                options.time = Duration::from_secs(seconds);
            }
            name => options.targets.push(targets::find(name).ok_or_else(|| format!("no target `{name}`\n{USAGE}"))?),
        }
    }
    if options.targets.is_empty() {
        options.targets.extend(targets::TARGETS);
    }
    Ok(options)
}

fn replay(target: &str, file: &Path) -> Result<(), String> {
    let target = targets::find(target).ok_or(USAGE)?;
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    run::once(target, &bytes)
}
