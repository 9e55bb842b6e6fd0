//! `squall backup` and `squall restore`: backups of a server, and data directories made of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use squall_backup::{Backup, Repository, Unwatched, Watch};
use squall_client::{Client, Row};
use squall_session::{Database, OpenOptions};

use crate::connection::ConnectionArgs;
use crate::progress::Progress;

/// Time between two looks at how far a server is.
const PERIOD: Duration = Duration::from_millis(250);
const MEGABYTE: u64 = 1 << 20;

/// Backs up a server while it runs, lists and checks backups, and removes old ones.
///
/// The server writes the backup itself, so the directory is one of its machine; the account needs BACKUP_ADMIN. Files that the newest
/// backup in the directory has are not copied again, so each backup is a whole one and costs what is new. With --datadir it is a
/// data directory that no server has open.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct BackupArgs {
    /// Makes a backup in this directory, which is made if it is not there
    #[arg(long, value_name = "DIR", required_unless_present_any = ["list", "check"])]
    to: Option<PathBuf>,
    /// Then keeps the newest backups, so many of them, and removes the others
    #[arg(long, value_name = "COUNT", requires = "to", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Backs up this data directory, which no server may have open, instead of a server
    #[arg(long, value_name = "DIR", requires = "to")]
    datadir: Option<PathBuf>,
    /// Lists the backups in a directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["to", "check"])]
    list: Option<PathBuf>,
    /// Reads all files of a backup, and tells which are not as they were written
    #[arg(long, value_name = "DIR", conflicts_with = "to")]
    check: Option<PathBuf>,
    /// The backup to check [default: the newest]
    #[arg(long, value_name = "NAME", requires = "check")]
    backup: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Draws no progress
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Makes a data directory of a backup.
///
/// All content is compared with what was written. The directory is there, as a whole, when the command ends; a server is started on it
/// as on any other. It has what was committed when the backup began.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The directory of backups
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The backup [default: the newest]
    #[arg(long, value_name = "NAME")]
    backup: Option<String>,
    /// The data directory to make, which must not be there or be empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Draws no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Backs up, lists or checks.
pub(crate) fn run(args: &BackupArgs) -> Result<(), String> {
    match (&args.to, &args.list, &args.check) {
        (Some(to), ..) => back_up(args, to),
        (_, Some(directory), _) => list(directory),
        (_, _, Some(directory)) => check(directory, args),
        // The command line asks for one of them.
        _ => Ok(()),
    }
}

fn back_up(args: &BackupArgs, to: &Path) -> Result<(), String> {
    // The server may have been started elsewhere.
    let to = std::path::absolute(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let start = Instant::now();
    let (name, copied, bytes) = match &args.datadir {
        Some(datadir) => back_up_directory(datadir, &to)?,
        None => back_up_server(args, &to)?,
    };
    println!(
        "backup {name}: {} MB, of which {} MB were copied, in {:.1} s",
        bytes.div_ceil(MEGABYTE),
        copied.div_ceil(MEGABYTE),
        start.elapsed().as_secs_f64()
    );
    let Some(keep) = args.keep else { return Ok(()) };
    let removed = Repository::open_to_write(&to).and_then(|repository| repository.keep(keep as usize));
    let removed = removed.map_err(|error| error.to_string())?;
    for name in &removed.backups {
        println!("removed backup {name}");
    }
    if removed.files > 0 {
        println!("removed {} files, {} MB", removed.files, removed.bytes.div_ceil(MEGABYTE));
    }
    Ok(())
}

/// Its name, the bytes that were copied, and all of them.
type Made = (String, u64, u64);

fn back_up_directory(datadir: &Path, to: &Path) -> Result<Made, String> {
    if !datadir.is_dir() {
        return Err(format!("there is no directory {}", datadir.display()));
    }
    let datadir = std::path::absolute(datadir).map_err(|error| format!("{}: {error}", datadir.display()))?;
    let options = OpenOptions { modules: squall_modules::all(), without_background: true, ..OpenOptions::default() };
    let database = Database::open(datadir, options).map_err(|error| error.message)?;
    let summary = database.back_up(to).map_err(|error| error.message)?;
    for file in &summary.suspects {
        eprintln!("squall: {} is not as it was written: `squall check` tells of which table it is", file.display());
    }
    Ok((summary.name, summary.copied_bytes, summary.bytes))
}

fn back_up_server(args: &BackupArgs, to: &Path) -> Result<Made, String> {
    let path = to.to_str().ok_or_else(|| format!("{} is not UTF-8", to.display()))?;
    let mut client = args.connection.connect("")?;
    let watched = (!args.quiet).then(|| args.connection.connect("").ok()).flatten();
    let id = client.connection_id();
    let is_over = AtomicBool::new(false);
    let statement = format!("BACKUP SERVER TO '{}'", path.replace('\\', "\\\\").replace('\'', "''"));
    let made = thread::scope(|scope| {
        if let Some(watched) = watched {
            scope.spawn(|| show_state(watched, id, &is_over));
        }
        let made = made_by(&mut client, &statement);
        is_over.store(true, Ordering::Release);
        made
    });
    if made.is_ok() {
        for warning in rows(&mut client, "SHOW WARNINGS")? {
            eprintln!("squall: {}", text(&warning, 2));
        }
    }
    made
}

fn rows(client: &mut Client, statement: &str) -> Result<Vec<Row>, String> {
    let results = client.run(statement).map_err(|error| error.to_string())?;
    Ok(results.into_iter().flat_map(|(_, rows)| rows).collect())
}

fn text(row: &Row, at: usize) -> String {
    String::from_utf8_lossy(row.get(at).and_then(Option::as_deref).unwrap_or_default()).into_owned()
}

fn made_by(client: &mut Client, statement: &str) -> Result<Made, String> {
    let row = rows(client, statement)?.into_iter().next().ok_or("the server has not told of the backup")?;
    let number = |at: usize| text(&row, at).parse().unwrap_or(0);
    Ok((text(&row, 0), number(4), number(2)))
}

/// Draws what the process list says of a session, until it is over.
fn show_state(mut client: Client, id: u32, is_over: &AtomicBool) {
    let progress = Progress::new(false, None);
    let query = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
    while !is_over.load(Ordering::Acquire) {
        match rows(&mut client, &query).ok().and_then(|rows| rows.into_iter().next()) {
            Some(row) => progress.say(&text(&row, 0)),
            None => break,
        }
        thread::sleep(PERIOD);
    }
    progress.clear();
}

fn list(directory: &Path) -> Result<(), String> {
    let repository = Repository::open_to_read(directory).map_err(|error| error.to_string())?;
    println!("{:24}{:>12}{:>12}  server", "backup", "MB", "files");
    for name in repository.names().map_err(|error| error.to_string())? {
        match repository.backup(Some(&name)) {
            Ok(Backup { list, .. }) => {
                let (bytes, files) = (list.bytes().div_ceil(MEGABYTE), list.files.len());
                println!("{name:24}{bytes:>12}{files:>12}  {} ({})", list.header.server, list.header.version);
            }
            Err(error) => println!("{name:24}  {error}"),
        }
    }
    Ok(())
}

fn check(directory: &Path, args: &BackupArgs) -> Result<(), String> {
    let repository = Repository::open_to_read(directory).map_err(|error| error.to_string())?;
    let backup = repository.backup(args.backup.as_deref()).map_err(|error| error.to_string())?;
    let damages = drawn("checking", &backup, args.quiet, |watch| backup.damages(watch))?;
    for damage in &damages {
        println!("{}: {}", damage.file, damage.what);
    }
    let files = backup.list.files.len();
    match damages.len() {
        0 => {
            println!("backup {}: {files} files are as they were written", backup.name);
            Ok(())
        }
        damaged => Err(format!("{damaged} of {files} files of backup {} are damaged", backup.name)),
    }
}

/// Restores.
pub(crate) fn restore(args: &RestoreArgs) -> Result<(), String> {
    let start = Instant::now();
    let repository = Repository::open_to_read(&args.from).map_err(|error| error.to_string())?;
    let backup = repository.backup(args.backup.as_deref()).map_err(|error| error.to_string())?;
    let to = std::path::absolute(&args.to).map_err(|error| format!("{}: {error}", args.to.display()))?;
    drawn("restoring", &backup, args.quiet, |watch| backup.restore(&to, watch))?;
    println!(
        "backup {} is restored to {} in {:.1} s: `squall serve --datadir {}` starts a server on it",
        backup.name,
        args.to.display(),
        start.elapsed().as_secs_f64(),
        args.to.display()
    );
    Ok(())
}

/// Draws how far some work on a backup is.
struct Drawn(AtomicU64);

impl Watch for Drawn {
    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn goes_on(&self) -> bool {
        true
    }
}

fn drawn<T>(
    what: &str,
    backup: &Backup<'_>,
    quiet: bool,
    work: impl FnOnce(&dyn Watch) -> squall_backup::Result<T>,
) -> Result<T, String> {
    if quiet {
        return work(&Unwatched).map_err(|error| error.to_string());
    }
    let (done, total) = (Drawn(AtomicU64::new(0)), backup.list.bytes().max(1));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let progress = Progress::new(false, None);
            while !is_over.load(Ordering::Acquire) {
                let percent = done.0.load(Ordering::Relaxed) * 100 / total;
                progress.say(&format!("{what}: {percent} % of {} MB", total.div_ceil(MEGABYTE)));
                thread::sleep(PERIOD.min(Duration::from_millis(50)));
            }
            progress.clear();
        });
        let worked = work(&done);
        is_over.store(true, Ordering::Release);
        worked.map_err(|error| error.to_string())
    })
}
