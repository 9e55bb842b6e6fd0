//! `squall serve`: runs a server until it is told to end.

mod first_start;
mod service_manager;

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use squall_server::{PassedSockets, Server, ServerOptions};
use squall_session::{Database, OpenOptions};
use squall_types::Value;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::connection::default_socket;
use service_manager::{ServiceManager, Watchdog, passed_sockets};

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
    /// At the first start on an empty data directory, do what the environment's variables say, which are those of MySQL's container
    /// images: MYSQL_ROOT_PASSWORD, MYSQL_RANDOM_ROOT_PASSWORD, MYSQL_ALLOW_EMPTY_PASSWORD, MYSQL_ROOT_HOST, MYSQL_DATABASE, MYSQL_USER,
    /// MYSQL_PASSWORD, and most of them with _FILE for a file that has the value. Then run --init-scripts
    #[arg(long)]
    init_from_env: bool,
    /// Folder of *.sql, *.sql.gz, *.sql.zst and *.sh that --init-from-env runs
    #[arg(long, value_name = "DIR", default_value = "/docker-entrypoint-initdb.d", requires = "init_from_env")]
    init_scripts: PathBuf,
}

/// Sent by the system when a file would exceed the process's limit.
const SIGXFSZ: i32 = 25;

/// Serves until SIGTERM, SIGINT or SHUTDOWN.
pub(crate) fn run(args: &ServeArgs) -> Result<(), String> {
    // Before anything else opens descriptors, of which their numbers could be.
    let passed = passed_sockets()?;
    let manager = ServiceManager::of_environment()?;
    if args.init_from_env {
        manager.tell("STATUS=Setting up the data directory");
        first_start::run_if_new(&args.datadir, &args.init_scripts)?;
    }
    manager.tell("STATUS=Opening the data directory");
    let options = server_options(args);
    let loopback_only = options.is_loopback_only(&passed).map_err(|error| error.to_string())?;
    let shutdown = Arc::new(Notify::new());
    let database = Database::open(
        &args.datadir,
        OpenOptions {
            startup_variables: startup_variables(args, &options, &passed),
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
    let may_be_open = args.init_from_env && first_start::allows_empty_password();
    if !loopback_only && !may_be_open && !database.root_has_password() {
        let places = match passed.ordinary.is_empty() {
            true => args.bind_address.clone(),
            false => "the sockets of the service manager".to_owned(),
        };
        return Err(format!(
            "not listening on {places}{}: root has no password. Start on 127.0.0.1 and run ALTER USER, or set \
             MYSQL_ROOT_PASSWORD for the first start",
            args.admin_address.iter().map(|address| format!(" and {address}")).collect::<String>()
        ));
    }
    let server = Server::start_on(&options, &passed, Arc::new(database.clone())).map_err(|error| error.to_string())?;
    // Whoever hears that the server is ready may end it at once.
    let mut signals = Signals::listen()?;
    let places = places(&server, &options, &passed);
    announce(&places, &args.datadir, &database);
    manager.tell(&format!("READY=1\nSTATUS=Ready on {places}"));
    let watchdog = Watchdog::start(&manager, server.pulse())?;
    signals.wait(&shutdown);
    manager.tell("STOPPING=1\nSTATUS=Letting statements end");
    drop(watchdog);
    shut_down(server, &database)
}

fn server_options(args: &ServeArgs) -> ServerOptions {
    let socket = match &args.socket {
        Some(socket) => Some(socket.clone()),
        // A directory deep down has no socket rather than no server.
        None => Some(default_socket(&args.datadir)).filter(|path| path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX),
    };
    ServerOptions {
        data_directory: args.datadir.clone(),
        bind_address: args.bind_address.clone(),
        port: args.port,
        admin_address: args.admin_address.clone(),
        admin_port: args.admin_port,
        socket,
        event_loops: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        drain_timeout: DRAIN_TIMEOUT + KILL_TIMEOUT,
    }
}

/// The values of variables that only the start knows.
fn startup_variables(args: &ServeArgs, options: &ServerOptions, passed: &PassedSockets) -> Vec<(String, Value)> {
    let (port, bind_address, socket) = match passed.ordinary.as_slice() {
        [] => (args.port, args.bind_address.clone(), options.socket.clone()),
        sockets => {
            let tcp: Vec<_> = sockets.iter().filter_map(|socket| socket.tcp_address()).collect();
            let addresses: Vec<String> = tcp.iter().map(|address| address.ip().to_string()).collect();
            let port = tcp.first().map_or(0, |address| address.port());
            (port, addresses.join(","), sockets.iter().find_map(|socket| socket.path()))
        }
    };
    let admin = passed.administrative.iter().find_map(|socket| socket.tcp_address());
    let (admin_address, admin_port) = match admin {
        Some(address) => (address.ip().to_string(), address.port()),
        None => (args.admin_address.clone().unwrap_or_default(), args.admin_port),
    };
    let socket = socket.map(|path| path.display().to_string()).unwrap_or_default();
    let mut variables = vec![
        ("port".to_owned(), Value::Int(i64::from(port))),
        ("bind_address".to_owned(), Value::String(bind_address)),
        ("admin_address".to_owned(), Value::String(admin_address)),
        ("admin_port".to_owned(), Value::Int(i64::from(admin_port))),
        ("socket".to_owned(), Value::String(socket)),
        ("secure_file_priv".to_owned(), args.secure_file_priv.clone().map_or(Value::Null, Value::String)),
    ];
    if let Some(port) = args.http {
        variables.push(("json_server_enabled".to_owned(), Value::Int(1)));
        variables.push(("json_server_port".to_owned(), Value::UInt(u64::from(port))));
    }
    variables
}

/// Where a server listens, for people.
fn places(server: &Server, options: &ServerOptions, passed: &PassedSockets) -> String {
    let mut places: Vec<String> = server.tcp_addresses().iter().map(ToString::to_string).collect();
    if let Some(address) = server.admin_address() {
        places.push(format!("{address} (administrative)"));
    }
    let paths = passed.ordinary.iter().filter_map(|socket| socket.path());
    let own = options.socket.iter().filter(|_| passed.ordinary.is_empty()).cloned();
    places.extend(paths.chain(own).map(|path| path.display().to_string()));
    places.join(" and ")
}

fn announce(places: &str, data_directory: &Path, database: &Database) {
    say(&format!("squall is ready on {places}, data in {}", data_directory.display()));
    if !database.root_has_password() {
        say("root has no password; to set one: ALTER USER root@localhost IDENTIFIED BY '...'");
    }
}

/// Prints a line. A server goes on when nobody reads it.
fn say(line: &str) {
    let _unread = writeln!(std::io::stdout(), "{line}");
}

/// The signals that end the server, from the making of this on: before that they end the process at once.
struct Signals {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    _file_too_large: Signal,
}

impl Signals {
    fn listen() -> Result<Self, String> {
        let listen = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let entered = runtime.enter();
            let terminate = signal(SignalKind::terminate())?;
            let interrupt = signal(SignalKind::interrupt())?;
            // A file that may not grow further is an error of the write that met it, not the end of the process.
            let _file_too_large = signal(SignalKind::from_raw(SIGXFSZ))?;
            drop(entered);
            Ok::<_, std::io::Error>(Self { runtime, terminate, interrupt, _file_too_large })
        };
        listen().map_err(|error| format!("cannot wait for signals: {error}"))
    }

    /// Waits for SIGTERM, SIGINT or SHUTDOWN.
    fn wait(&mut self, shutdown: &Notify) {
        let Self { runtime, terminate, interrupt, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = shutdown.notified() => {}
            }
        });
    }
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
