//! `squall serve --init-from-env`: what the environment asks of the first start on a data directory. The variables are those of the
//! official container images of MySQL.
//!
//! A directory that is being set up has a file that says so, so that one that was left halfway is never served.

mod request;
mod scripts;

use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use squall_client::{Client, ConnectOptions, Target};
use squall_server::{Server, ServerOptions};
use squall_session::{Database, OpenOptions};
use squall_types::durable_files::{Readers, create_own_folder, replace_file, sync_folder};

use crate::connection::quoted;
use request::{Request, Root};

/// In a directory that is being set up.
const UNFINISHED: &str = "init-from-env.unfinished";
/// The socket of the server that the scripts see: nobody else knows it.
const SOCKET: &str = "init.sock";
/// How long statements may take to end after the last script.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the environment allows a `root` without password, also on addresses that other machines reach.
pub(super) fn allows_empty_password() -> bool {
    request::is_set(&|name| std::env::var(name).ok(), "MYSQL_ALLOW_EMPTY_PASSWORD")
}

/// Sets up a new data directory. One that is set up is left as it is.
///
/// # Errors
/// When the environment asks for nothing sensible, a script fails, or a directory was left halfway.
pub(super) fn run_if_new(directory: &Path, scripts: &Path) -> Result<(), String> {
    if !is_new(directory)? {
        return Ok(());
    }
    let request = Request::of_environment(&|name| std::env::var(name).ok())?;
    let failed = |error: io::Error| format!("cannot set up {}: {error}", directory.display());
    let marker = directory.join(UNFINISHED);
    create_own_folder(directory).map_err(failed)?;
    replace_file(&marker, b"A start that set this directory up has not ended.\n", Readers::Owner).map_err(failed)?;
    set_up(directory, scripts, &request).map_err(|error| {
        format!("{error}\nThe first start has failed; {} has to be emptied before another", directory.display())
    })?;
    fs::remove_file(&marker).and_then(|()| sync_folder(directory)).map_err(failed)
}

/// Whether there is nothing in a directory, or no directory.
fn is_new(directory: &Path) -> Result<bool, String> {
    if directory.join(UNFINISHED).exists() {
        return Err(format!("an earlier first start on {} has not ended; empty the directory", directory.display()));
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(format!("cannot read {}: {error}", directory.display())),
    };
    for entry in entries {
        // A file system of its own has this at its root.
        if entry.map_err(|error| error.to_string())?.file_name() != "lost+found" {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The server of a first start.
struct Site {
    server: Server,
    root_password: String,
    /// What scripts connect to; `None` if the directory's path is too long for a socket.
    socket: Option<PathBuf>,
    /// The database in which scripts begin; empty for none.
    database: String,
}

impl Site {
    /// A connection as root.
    fn connect(&self, database: &str) -> Result<Client, String> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        self.server.attach(theirs).map_err(|error| error.to_string())?;
        let options = ConnectOptions {
            password: self.root_password.clone(),
            database: database.to_owned(),
            ..ConnectOptions::new(Target::Unix(PathBuf::new()))
        };
        Client::connect_over(ours, &options).map_err(|error| error.to_string())
    }
}

fn set_up(directory: &Path, scripts: &Path, request: &Request) -> Result<(), String> {
    let root_password = match &request.root {
        Root::Password(password) => password.clone(),
        Root::Random => request::random_password()?,
        Root::Empty => String::new(),
    };
    let database = Database::open(
        directory,
        OpenOptions {
            root_password: Some(root_password.clone()).filter(|password| !password.is_empty()),
            modules: squall_modules::all(),
            keep_freed_memory: Some(crate::keep_freed_memory),
            allocated_memory: Some(crate::allocated_memory),
            ..OpenOptions::default()
        },
    )
    .map_err(|error| error.message)?;
    let socket = Some(directory.join(SOCKET)).filter(|path| path.as_os_str().len() <= super::SOCKET_PATH_BYTES_MAX);
    let options = ServerOptions {
        data_directory: directory.to_owned(),
        bind_address: String::new(),
        port: 0,
        admin_address: None,
        admin_port: 0,
        socket: socket.clone(),
        event_loops: NonZeroUsize::MIN,
        drain_timeout: DRAIN_TIMEOUT,
    };
    let server = Server::start(&options, Arc::new(database.clone())).map_err(|error| error.to_string())?;
    let site = Site { server, root_password, socket, database: request.database.clone().unwrap_or_default() };
    let done = accounts(&site, request).and_then(|()| scripts::run_all(&site, scripts));
    let ended = site.server.shut_down().map_err(|error| error.to_string());
    let closed = database.close().map_err(|error| error.message);
    done.and(ended).and(closed)?;
    if matches!(request.root, Root::Random) {
        // One that nobody has read is of no use.
        let printed = writeln!(io::stdout(), "GENERATED ROOT PASSWORD: {}", site.root_password);
        printed.map_err(|error| format!("cannot print root's password: {error}"))?;
    }
    Ok(())
}

/// Makes the accounts and the database that are asked for.
fn accounts(site: &Site, request: &Request) -> Result<(), String> {
    let mut statements = Vec::new();
    if request.root_host != "localhost" {
        let root = format!("'root'@{}", text(&request.root_host));
        statements.push(format!("CREATE USER {root} IDENTIFIED BY {}", text(&site.root_password)));
        statements.push(format!("GRANT ALL ON *.* TO {root} WITH GRANT OPTION"));
    }
    if let Some(database) = &request.database {
        statements.push(format!("CREATE DATABASE IF NOT EXISTS {}", quoted(database)));
    }
    if let Some((user, password)) = &request.user {
        let user = format!("{}@'%'", text(user));
        statements.push(format!("CREATE USER {user} IDENTIFIED BY {}", text(password)));
        if let Some(database) = &request.database {
            // In GRANT these two stand for others.
            let pattern = database.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
            statements.push(format!("GRANT ALL ON {}.* TO {user}", quoted(&pattern)));
        }
    }
    let mut client = site.connect("")?;
    for statement in statements {
        client.run(&statement).map_err(|error| error.to_string())?;
    }
    client.quit().map_err(|error| error.to_string())
}

/// A text literal, as a session reads it that has the default mode.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
