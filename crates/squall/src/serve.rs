//! `squall serve`: runs a server until it is told to end.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use squall_server::{Server, ServerOptions};
use squall_session::{Database, OpenOptions};
use squall_types::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// How long running statements may go on after SIGTERM before they are killed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long killed statements may take to notice.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest path that a Unix socket can have.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Serves a data directory to MySQL clients.
///
/// Everything else is a variable: SET PERSIST keeps it in the data directory.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Holds everything; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "./squall-data")]
    datadir: PathBuf,
    /// Addresses to listen on, separated by commas; * for all
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind_address: String,
    /// TCP port
    #[arg(long, default_value_t = 3306)]
    port: u16,
    /// Address of the administrative interface, which max_connections does not limit and which asks for the privilege
    /// SERVICE_CONNECTION_ADMIN [default: none]
    #[arg(long, value_name = "ADDRESS")]
    admin_address: Option<String>,
    /// TCP port of the administrative interface
    #[arg(long, value_name = "PORT", default_value_t = 33062)]
    admin_port: u16,
    /// Answer HTTP on this TCP port, 0 for any that is free, from the start on [default: what json_server_enabled says]
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
    /// Folder that LOAD DATA INFILE and SELECT ... INTO OUTFILE are confined to; '' for any [default: they are refused]
    #[arg(long, value_name = "DIR")]
    secure_file_priv: Option<String>,
    /// Unix socket [default: squall.sock in the data directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// The socket of a server that was not told another.
pub(crate) fn default_socket(data_directory: &Path) -> PathBuf {
    data_directory.join("squall.sock")
}

/// Sent by the system when a file would exceed the process's limit.
const SIGXFSZ: i32 = 25;

/// Serves until SIGTERM, SIGINT or SHUTDOWN.
pub(crate) fn run(args: &ServeArgs) -> Result<(), String> {
    let socket = match &args.socket {
        Some(socket) => Some(socket.clone()),
        // A directory deep down has no socket rather than no server.
        None => Some(default_socket(&args.datadir)).filter(|path| path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX),
    };
    let options = ServerOptions {
        data_directory: args.datadir.clone(),
        bind_address: args.bind_address.clone(),
        port: args.port,
        admin_address: args.admin_address.clone(),
        admin_port: args.admin_port,
        socket,
        event_loops: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        drain_timeout: DRAIN_TIMEOUT + KILL_TIMEOUT,
    };
    let loopback_only = options.is_loopback_only().map_err(|error| error.to_string())?;
    let socket_text = options.socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let shutdown = Arc::new(Notify::new());
    let mut startup_variables = vec![
        ("port".to_owned(), Value::Int(i64::from(args.port))),
        ("bind_address".to_owned(), Value::String(args.bind_address.clone())),
        ("admin_address".to_owned(), Value::String(args.admin_address.clone().unwrap_or_default())),
        ("admin_port".to_owned(), Value::Int(i64::from(args.admin_port))),
        ("socket".to_owned(), Value::String(socket_text.clone())),
        ("secure_file_priv".to_owned(), args.secure_file_priv.clone().map_or(Value::Null, Value::String)),
    ];
    if let Some(port) = args.http {
        startup_variables.push(("json_server_enabled".to_owned(), Value::Int(1)));
        startup_variables.push(("json_server_port".to_owned(), Value::UInt(u64::from(port))));
    }
    let database = Database::open(
        &args.datadir,
        OpenOptions {
            startup_variables,
            root_password: std::env::var("MYSQL_ROOT_PASSWORD").ok().filter(|password| !password.is_empty()),
            root_from_anywhere: !loopback_only,
            modules: squall_modules::all(),
            keep_freed_memory: Some(crate::keep_freed_memory),
            allocated_memory: Some(crate::allocated_memory),
            shutdown: Some(Arc::clone(&shutdown)),
            ..OpenOptions::default()
        },
    )
    .map_err(|error| error.message)?;
    if !loopback_only && !database.root_has_password() {
        return Err(format!(
            "not listening on {}{}: root has no password. Start on 127.0.0.1 and run ALTER USER, or set \
             MYSQL_ROOT_PASSWORD for the first start",
            args.bind_address,
            args.admin_address.iter().map(|address| format!(" and {address}")).collect::<String>()
        ));
    }
    let server = Server::start(&options, Arc::new(database.clone())).map_err(|error| error.to_string())?;
    announce(&server, &socket_text, &args.datadir, &database);
    wait_for_end(&shutdown)?;
    shut_down(server, &database)
}

fn announce(server: &Server, socket: &str, data_directory: &Path, database: &Database) {
    let mut places: Vec<String> = server.tcp_addresses().iter().map(ToString::to_string).collect();
    if let Some(address) = server.admin_address() {
        places.push(format!("{address} (administrative)"));
    }
    if !socket.is_empty() {
        places.push(socket.to_owned());
    }
    println!("squall is ready on {}, data in {}", places.join(" and "), data_directory.display());
    if !database.root_has_password() {
        println!("root has no password; to set one: ALTER USER root@localhost IDENTIFIED BY '...'");
    }
}

/// Waits for SIGTERM, SIGINT or SHUTDOWN.
fn wait_for_end(shutdown: &Notify) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime
        .block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            // A file that may not grow further is an error of the write that met it, not the end of the process.
            let _file_too_large = signal(SignalKind::from_raw(SIGXFSZ))?;
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = shutdown.notified() => {}
            }
            Ok::<(), std::io::Error>(())
        })
        .map_err(|error| format!("cannot wait for signals: {error}"))
}

/// Lets running statements end, kills those that take too long, and closes the database.
fn shut_down(server: Server, database: &Database) -> Result<(), String> {
    let (done, drained) = std::sync::mpsc::channel::<()>();
    let killer = {
        let database = database.clone();
        thread::spawn(move || {
            // Disconnected means that all statements have ended.
            if drained.recv_timeout(DRAIN_TIMEOUT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                database.kill_all();
            }
        })
    };
    let result = server.shut_down().map_err(|error| error.to_string());
    drop(done);
    killer.join().map_err(|_| "a thread panicked".to_owned())?;
    result.and(database.close().map_err(|error| error.message))
}
