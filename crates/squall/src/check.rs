//! `squall check`: reads the redo log of a data directory, and can set its end.

use std::path::PathBuf;

use clap::Args;
use squall_session::{Database, LogContents};

/// Reads the redo log of a data directory and says whether it is whole.
///
/// A server does not start on a log that is damaged: what it had acknowledged would be gone without a word. With the place that this
/// tells, --recover-to gives up what cannot be read. Make a copy of the directory before.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The data directory, which no server may have open
    #[arg(value_name = "DIR", default_value = "./squall-data")]
    datadir: PathBuf,
    /// Has the log end before this fragment. All commits after it are lost, except changes that tables' files already have: a
    /// transaction may be there in part
    #[arg(long, value_name = "FRAGMENT")]
    recover_to: Option<u64>,
}

/// Checks; an error if there is damage.
pub(crate) fn run(args: &CheckArgs) -> Result<(), String> {
    if !args.datadir.is_dir() {
        return Err(format!("there is no directory {}", args.datadir.display()));
    }
    let contents = match args.recover_to {
        None => Database::check_log(&args.datadir),
        Some(fragment) => Database::end_log(&args.datadir, fragment),
    };
    let contents = contents.map_err(|error| error.message)?;
    println!("{}", description(&contents));
    match &contents.damage {
        None => Ok(()),
        Some(damage) => Err(format!(
            "the redo log is damaged: {damage}\n`squall check {} --recover-to {}` gives up what was committed from there on",
            args.datadir.display(),
            damage.fragment
        )),
    }
}

fn description(contents: &LogContents) -> String {
    let LogContents { folder, begin, end, batches, is_cut, .. } = contents;
    if folder.as_os_str().is_empty() {
        return "no redo log".to_owned();
    }
    let ends = if *is_cut { "is to end" } else { "ends" };
    format!(
        "redo log {}: {batches} transactions and other changes that are not in tables' files yet\n\
         it begins in segment {}, byte {}, with fragment {}; it {ends} in segment {}, byte {}, before fragment {}",
        folder.display(),
        begin.segment,
        begin.byte,
        begin.fragment,
        end.segment,
        end.byte,
        end.fragment
    )
}
