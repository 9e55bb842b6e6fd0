//! `squall import-config`: what an option file of MySQL or MariaDB becomes here.
//!
//! Reading order, from below: `option_file` (the files), `known` (options that are no variables here), `names`, `values`, `decide`
//! (what becomes of each option), `report`.

mod decide;
mod known;
mod names;
mod option_file;
mod report;
mod values;

use crate::shell::ShellError;
use clap::{Args, ValueEnum};
use squall_session::DeclaredVariables;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Shows what an option file of MySQL or MariaDB (my.cnf) becomes here, as a table or as SQL.
///
/// Each option is taken over (SET PERSIST), an option of squall serve, without meaning here, or unknown. Values are checked as SET does. No
/// server is asked. Ends with 1 if a value is bad or a name unknown, but for names with loose- before them.
#[derive(Debug, Args)]
pub(crate) struct ImportConfigArgs {
    /// The option file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A table for people, or SQL to be piped into a client
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Reads this section too, such as mysqld1 or mysqld-8.0; may be given several times
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each option
    Table,
    /// Statements, and comments on all other options
    Sql,
}

/// Sections that a server reads: those of MySQL 8.4, and of MariaDB in any version.
fn is_of_server(name: &str) -> bool {
    const PLAIN: &[&str] = &["mysqld", "server", "mariadb", "mariadbd", "client-server", "galera", "mysqld-8.4"];
    let version = ["mariadb-", "mariadbd-", "mysqld-"].iter().find_map(|program| name.strip_prefix(program));
    // MySQL's versions end below 10, where MariaDB's begin.
    let major = version.and_then(|version| version.split_once('.')).and_then(|(major, _)| major.parse::<u32>().ok());
    PLAIN.contains(&name) || major.is_some_and(|major| (10..100).contains(&major))
}

/// Reads the file and prints the report.
pub(crate) fn run(args: &ImportConfigArgs) -> Result<(), ShellError> {
    let is_read = |name: &str| is_of_server(name) || args.group.iter().any(|group| group == name);
    let files = option_file::read(&args.file, &is_read).map_err(ShellError::Message)?;
    let variables = DeclaredVariables::of(&squall_modules::all());
    let findings = decide::decide_all(&variables, &files.options);
    let file = args.file.display().to_string();
    let report = report::Report { file: &file, files: &files, findings: &findings };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let printed = match args.format {
        Format::Table => report.table(&mut out),
        Format::Sql => report.sql(&mut out),
    };
    printed.and_then(|()| out.flush()).map_err(|error| ShellError::Message(format!("cannot write: {error}")))?;
    let is_whole = files.problems.is_empty() && !findings.iter().any(decide::Finding::is_fault);
    if is_whole { Ok(()) } else { Err(ShellError::Reported) }
}
