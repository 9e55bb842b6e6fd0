//! Scripts of a first start: files of SQL, compressed or not, and of the shell.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::say;
use super::Site;
use crate::load::source;
use crate::shell::{self, ShellError};

/// More files than this are a mistake.
const FILES_MAX: usize = 10_000;

/// What a script of the shell may call, as in the official images, if it is not a program of its own.
const FUNCTIONS: &str = r#"
mysql_log() { printf '%s [%s]: %s\n' "$(date --rfc-3339=seconds)" "$1" "$2"; }
mysql_note() { mysql_log Note "$*"; }
mysql_warn() { mysql_log Warn "$*" >&2; }
mysql_error() { mysql_log ERROR "$*" >&2; exit 1; }
docker_process_sql() {
    squall_database=$MYSQL_DATABASE
    for squall_argument; do
        shift
        case $squall_argument in
        --database=*) squall_database=${squall_argument#--database=} ;;
        --dont-use-mysql-root-password) ;;
        *) set -- "$@" "$squall_argument" ;;
        esac
    done
    "$SQUALL" sql --socket "$MYSQL_UNIX_PORT" ${squall_database:+"$squall_database"} "$@"
}
. "$0"
"#;

/// Runs the scripts of a folder by their names. No folder is none.
pub(super) fn run_all(site: &Site, folder: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in entries {
        files.push(entry.map_err(failed)?.path());
        if files.len() > FILES_MAX {
            return Err(format!("{} has more than {FILES_MAX} files", folder.display()));
        }
    }
    files.sort();
    for file in files {
        run(site, &file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn run(site: &Site, file: &Path) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends_with(&[".sql", ".sql.gz", ".sql.zst"]) {
        say(&format!("first start: running {}", file.display()));
        return sql(site, file);
    }
    if ends_with(&[".sh"]) {
        say(&format!("first start: running {}", file.display()));
        return program(site, file);
    }
    if ends_with(&[".sql.bz2", ".sql.xz"]) {
        return Err("only .gz and .zst can be decompressed".to_owned());
    }
    say(&format!("first start: ignoring {}", file.display()));
    Ok(())
}

fn sql(site: &Site, file: &Path) -> Result<(), String> {
    let script = source::open(file, &Default::default())?;
    let mut client = site.connect(&site.database)?;
    match shell::run_script(&mut client, script) {
        Ok(()) => client.quit().map_err(|error| error.to_string()),
        Err(ShellError::Reported) => Err("a statement has failed".to_owned()),
        Err(ShellError::Message(message)) => Err(message),
    }
}

/// Runs a script of the shell: by itself if it may be executed, or inside of a shell with [`FUNCTIONS`].
fn program(site: &Site, file: &Path) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let may_run = fs::metadata(file).map_err(failed)?.permissions().mode() & 0o111 != 0;
    let mut command = if may_run {
        Command::new(file)
    } else {
        let shell = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
        let mut command = Command::new(shell.unwrap_or("/bin/sh"));
        command.arg("-ec").arg(FUNCTIONS).arg(file);
        command
    };
    command.env("SQUALL", env::current_exe().map_err(failed)?).env("MYSQL_PWD", &site.root_password);
    // What it says is not of the server's state.
    command.env_remove("NOTIFY_SOCKET");
    if let Some(socket) = &site.socket {
        command.env("MYSQL_UNIX_PORT", socket);
    }
    let status = command.status().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(format!("the script has failed: {status}")) }
}
