//! `squall check`: checks the redo log and all tables of a data directory, and can set the log's end.

use std::path::{Path, PathBuf};

use clap::Args;
use squall_session::{CheckedTable, Database, LogContents, OpenOptions};

/// Checks a data directory that no server has open: its redo log, and each table.
///
/// The log is read first, and nothing is changed if it is damaged. A server does not start on a damaged log, because acknowledged
/// commits would be lost without an error. With the place that this tells, --recover-to gives up what cannot be read. Make a copy of
/// the directory before.
///
/// Then the directory is opened as by a server, and each table is checked as CHECK TABLE does: all rows are read, and indexes, segments
/// and copies by column are compared with them. The exit code is 1 if anything is damaged.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The data directory, which no server may have open
    #[arg(value_name = "DIR", default_value = "./squall-data")]
    datadir: PathBuf,
    /// Has the log end before this fragment. All commits after it are lost, except changes that tables' files already have: a
    /// transaction may be there in part
    #[arg(long, value_name = "FRAGMENT", conflicts_with = "tables")]
    recover_to: Option<u64>,
    /// Reads the redo log alone, and changes nothing
    #[arg(long, conflicts_with = "tables")]
    log_only: bool,
    /// Checks these tables instead of all
    #[arg(value_name = "DATABASE.TABLE")]
    tables: Vec<String>,
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
    if let Some(damage) = &contents.damage {
        return Err(format!(
            "the redo log is damaged: {damage}\n`squall check {} --recover-to {}` gives up what was committed from there on",
            args.datadir.display(),
            damage.fragment
        ));
    }
    if args.log_only || args.recover_to.is_some() || contents.folder.as_os_str().is_empty() {
        return Ok(());
    }
    check_tables(&args.datadir, &args.tables)
}

/// Checks tables, all if none is named.
fn check_tables(directory: &Path, wanted: &[String]) -> Result<(), String> {
    let options = OpenOptions { modules: squall_modules::all(), without_background: true, ..OpenOptions::default() };
    let database = Database::open(directory, options).map_err(|error| error.message)?;
    let all = database.base_tables();
    let shown = |(database, table): &(String, String)| format!("{database}.{table}");
    let unknown = wanted.iter().find(|wanted| !all.iter().any(|name| shown(name) == **wanted));
    if let Some(unknown) = unknown {
        return Err(format!("there is no table {unknown}"));
    }
    let (mut checked, mut damaged) = (0, 0);
    for name in all.iter().filter(|name| wanted.is_empty() || wanted.contains(&shown(name))) {
        let CheckedTable { faults, elapsed, .. } =
            database.check_table(&name.0, &name.1).map_err(|error| format!("{}: {}", shown(name), error.message))?;
        checked += 1;
        match faults.is_empty() {
            true => println!("{}: OK ({:.1} s)", shown(name), elapsed.as_secs_f64()),
            false => {
                damaged += 1;
                faults.iter().for_each(|fault| println!("{}: {fault}", shown(name)));
            }
        }
    }
    match damaged {
        0 => {
            println!("{checked} tables are whole");
            Ok(())
        }
        _ => Err(format!("{damaged} of {checked} tables are damaged")),
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
