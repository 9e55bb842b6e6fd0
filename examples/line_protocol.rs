//! An example protocol on the server's front end: each statement is a line, and so is each row.
//!
//! `cargo run --example line_protocol -- DIRECTORY` serves a data directory with it beside MySQL's protocol. It listens on a Unix socket in
//! the directory, and on a TCP port with TLS, once it is switched on:
//!
//! ```sql
//! SET PERSIST lines_port = 3307;
//! SET PERSIST lines_enabled = ON;
//! ```
//!
//! ```text
//! $ openssl s_client -quiet -connect localhost:3307
//! root⇥secret          a user and a password
//! OK 0
//! SELECT 1, 'a'
//! 1⇥a
//! OK 1                 this many rows
//! ```

use bytes::Bytes;
use squall_front_end::protocol::{Interrupted, before_session, kill_callback};
use squall_front_end::{
    Address, Client, ConnectionLimit, CountedStream, Listen, Listeners, LocalFuture, Moving, OwnLimit, Protocol,
    Socket, Transport,
};
use squall_logs::error_log::{Severity, error_log};
use squall_registry::Registry;
use squall_session::api::{
    Backend as _, ColumnMeta, Connection, ConnectionInfo, Credentials, FrontEndContext as _, OkInfo, ResultWriter,
    RowWriter, SocketUse, StatusInfo, Unanswered, log_in,
};
use squall_session::time_slice::TimeSlice;
use squall_session::{Database, Module, WeakDatabase};
use squall_system_variables::definition::{boolean, unsigned};
use squall_system_variables::{Scope, VariableDef};
use squall_types::convert::write_text;
use squall_types::{Date, DateTime, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Time, Value};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::timeout;

const NAME: &str = "lines";
const ENABLED: &str = "lines_enabled";
const PORT: &str = "lines_port";
const CONNECTIONS_MAX: &str = "lines_connections_max";
const VARIABLES: &[VariableDef] = &[
    boolean(ENABLED, Scope::Global, false, "Whether clients of the line protocol are served."),
    unsigned(PORT, Scope::Global, 0, 0, 65_535, "TCP port of the line protocol; 0 for any that is free."),
    unsigned(CONNECTIONS_MAX, Scope::Global, 10, 1, 10_000, "Most connections of the line protocol."),
];
/// The longest line of a client that has not logged in.
const LOGIN_BYTES_MAX: usize = 1 << 10;
/// Past this many bytes a result is sent on before more of it is made.
const FLUSH_BYTES: usize = 64 << 10;
/// Room for one read.
const READ_BYTES: usize = 4 << 10;
/// The greatest buffer that an idle connection keeps.
const BUFFER_KEPT_BYTES: usize = 64 << 10;

/// The module.
#[derive(Debug)]
pub struct Lines {
    socket: PathBuf,
    limit: Arc<OwnLimit>,
    database: OnceLock<WeakDatabase>,
    /// Known once there is a front end, which may be never.
    listeners: OnceLock<Listeners>,
    open: Mutex<Option<Open>>,
}

/// The listener as it is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// What was asked for.
    port: u64,
    address: SocketAddr,
}

impl Lines {
    /// Listens on this path, among others.
    pub fn new(socket: PathBuf) -> Lines {
        let limit = Arc::new(OwnLimit::new(1));
        Lines { socket, limit, database: OnceLock::new(), listeners: OnceLock::new(), open: Mutex::default() }
    }

    /// Opens or closes the listener, as the variables say.
    fn follow_variables(&self) -> io::Result<()> {
        let database = self.database.get().and_then(WeakDatabase::upgrade);
        let (Some(database), Some(listeners)) = (database, self.listeners.get()) else { return Ok(()) };
        let (registry, globals) = (database.registry(), database.globals());
        let number = |name| match registry.variables.find(name).map(|id| globals.get(id)) {
            Some(Value::UInt(number)) => *number,
            Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        self.limit.set_max(usize::try_from(number(CONNECTIONS_MAX)).unwrap_or(usize::MAX));
        let wanted = (number(ENABLED) == 1).then(|| number(PORT));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.map(|open| open.port) == wanted {
            return Ok(());
        }
        if open.take().is_some()
            && let Err(error) = listeners.close(NAME)
        {
            // It is closed all the same.
            error_log().write(Severity::Warning, &format!("the line protocol: {error}"));
        }
        let Some(port) = wanted else { return Ok(()) };
        let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).map_err(io::Error::other)?));
        let opened = listeners.open(Listen {
            name: NAME.to_owned(),
            addresses: vec![Address::Tcp(address), Address::Unix(self.socket.clone())],
            protocol: Arc::new(LineProtocol(database.downgrade())),
            limit: ConnectionLimit::Own(self.limit.clone()),
            administrative: false,
        })?;
        *open = opened.first().map(|address| Open { port, address: *address });
        Ok(())
    }

    fn follow(&self) -> SqlResult<()> {
        self.follow_variables().map_err(|error| {
            let message = format!("the line protocol: {error}");
            error_log().write(Severity::Error, &message);
            SqlError::with_message(ErrorCode::WrongValueForVar, message)
        })
    }
}

impl Module for Lines {
    fn name(&self) -> &str {
        NAME
    }

    fn declare(&self, registry: &mut Registry) {
        for definition in VARIABLES {
            registry.variables.declare(*definition);
        }
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        // No other task starts it.
        let _first = self.database.set(database.downgrade());
        Ok(())
    }

    fn front_end_started(&self, listeners: &Listeners) {
        let _first = self.listeners.set(listeners.clone());
        // The error log has it.
        let _followed = self.follow();
    }

    fn variables_changed(&self) -> SqlResult<()> {
        self.follow()
    }

    fn status(&self) -> Vec<(&'static str, u64)> {
        let open = *self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let port = open.map_or(0, |open| u64::from(open.address.port()));
        vec![("Lines_connected", self.limit.count() as u64), ("Lines_port", port)]
    }
}

struct LineProtocol(WeakDatabase);

impl Protocol for LineProtocol {
    fn name(&self) -> &str {
        NAME
    }

    fn application_protocols(&self) -> Vec<Vec<u8>> {
        vec![b"squall-lines".to_vec()]
    }

    fn serve(self: Arc<Self>, client: Client) -> LocalFuture<'static, io::Result<Option<Moving>>> {
        Box::pin(async move {
            let database = self.0.upgrade().ok_or(io::ErrorKind::ConnectionAborted)?;
            serve(&database, client).await.map(|()| None)
        })
    }

    fn refuse(self: Arc<Self>, mut socket: Socket, time_max: Duration, error: SqlError) -> LocalFuture<'static, ()> {
        Box::pin(async move {
            // Who comes by TCP reads nothing that is not encrypted.
            if matches!(socket, Socket::Unix(_)) {
                let _gone = timeout(time_max, socket.write_all(&error_line(&error))).await;
            }
        })
    }
}

fn error_line(error: &SqlError) -> Vec<u8> {
    format!("ERR {} {}\n", error.code, error.message.replace('\n', " ")).into_bytes()
}

/// A client from its first byte to its last.
async fn serve(database: &Database, client: Client) -> io::Result<()> {
    let transport = match client.peer.address {
        Some(_) => client.accept_tls().await.inspect_err(|_| database.connect_failed())?,
        None => Transport::Plain(client.socket.clone()),
    };
    let counted = Arc::new(SocketUse::new(client.socket.descriptor()));
    let mut stream = LineStream {
        stream: CountedStream::new(transport, counted.clone()),
        received: Vec::new(),
        taken: 0,
        searched: 0,
        killed: Arc::default(),
        write_timeout: Duration::from_secs(database.front_end_settings().net_write_timeout_seconds.max(1)),
    };
    let settings = database.front_end_settings();
    let login = before_session(&client.wake, &settings, read_login(database, &client, &mut stream, counted)).await;
    let mut session = match login {
        Ok(Ok(Ok(session))) => session,
        Ok(Ok(Err(refused))) => {
            client.place.give_back();
            return stream.say_goodbye(&refused).await;
        }
        Ok(Err(error)) => {
            database.connect_failed();
            return Err(error);
        }
        Err(Interrupted::TimedOut) => {
            database.connect_failed();
            return Ok(());
        }
        Err(Interrupted::Ending) => return Ok(()),
    };
    stream.send(b"OK 0\n").await?;
    client.neighbour.set_connection_id(session.connection_id());
    let end = answer_lines(&client, &mut *session, &mut stream).await;
    if end.is_err() {
        database.connection_aborted(session.connection_id());
    }
    match end? {
        Some(error) => stream.say_goodbye(&error).await,
        None => stream.close().await,
    }
}

/// The session of the client's first line.
async fn read_login(
    database: &Database,
    client: &Client,
    stream: &mut LineStream,
    counted: Arc<SocketUse>,
) -> io::Result<SqlResult<Box<dyn Connection>>> {
    let line = loop {
        match stream.take_line(LOGIN_BYTES_MAX) {
            Ok(Some(line)) => break line,
            Ok(None) => stream.receive().await?,
            Err(error) => return Ok(Err(error)),
        }
    };
    let text = String::from_utf8_lossy(&line);
    let (user, password) = text.split_once('\t').unwrap_or((&text, ""));
    let transport = stream.stream.transport();
    let (tls, is_secure) = (transport.tls_use().map(Arc::new), transport.is_secure());
    let info = ConnectionInfo { tls, socket: Some(counted), ..ConnectionInfo::new(user.to_owned(), &client.peer) };
    let credentials = Credentials {
        peer: &client.peer,
        place: &client.place,
        password: password.as_bytes(),
        is_secure,
        can_change_password: false,
    };
    let on_kill = kill_callback(&client.wake, &stream.killed);
    let id = database.next_connection_id();
    Ok(log_in(database, client.services.login(), id, info, credentials, on_kill).await)
}

/// Answers lines until the client says goodbye, or the session has to end: what the client should read then.
async fn answer_lines(
    client: &Client,
    session: &mut dyn Connection,
    stream: &mut LineStream,
) -> io::Result<Option<SqlError>> {
    let neighbour = &client.neighbour;
    loop {
        let line = match stream.take_line(session.max_allowed_packet()) {
            Ok(Some(line)) if line == b"quit" => return Ok(None),
            Ok(Some(line)) => line,
            Ok(None) => {
                neighbour.start_idle(session.idle_timeout_seconds());
                tokio::select! {
                    biased;
                    received = stream.receive() => {
                        neighbour.stop_idle();
                        received?;
                    }
                    () = client.wake.notified() => {
                        if session.is_killed() {
                            return Ok(None);
                        }
                        if neighbour.is_ending() {
                            return Ok(Some(SqlError::new(ErrorCode::ServerShutdown, &[])));
                        }
                        if neighbour.is_idle_too_long() {
                            return Ok(Some(SqlError::new(ErrorCode::ClientInteractionTimeout, &[])));
                        }
                    }
                }
                continue;
            }
            Err(error) => return Ok(Some(error)),
        };
        stream.write_timeout = Duration::from_secs(session.net_timeouts().write_seconds);
        neighbour.begin_command();
        let mut writer = LineWriter::new(stream);
        let answered = match session.query(&Bytes::from(line), Unanswered::default(), &mut writer).await {
            Ok(()) => writer.flush().await,
            gone => gone,
        };
        neighbour.end_command();
        answered?;
        if session.is_killed() {
            return Ok(None);
        }
    }
}

/// Lines on a socket.
struct LineStream {
    stream: CountedStream,
    /// Bytes that have come: up to `taken` lines that were taken, up to `searched` no end of another.
    received: Vec<u8>,
    taken: usize,
    searched: usize,
    /// Told by KILL, so that no statement waits for its client any more.
    killed: Arc<Notify>,
    write_timeout: Duration,
}

impl LineStream {
    /// A line that has come, without its end; 1153 for one that is too long.
    fn take_line(&mut self, bytes_max: usize) -> SqlResult<Option<Vec<u8>>> {
        let found = self.received[self.searched..].iter().position(|byte| *byte == b'\n');
        let end = found.map_or(self.received.len(), |at| self.searched + at);
        if end - self.taken > bytes_max {
            return Err(SqlError::new(ErrorCode::PacketTooLarge, &[]));
        }
        if found.is_none() {
            self.received.drain(..self.taken);
            self.received.shrink_to(self.received.len().max(BUFFER_KEPT_BYTES));
            (self.taken, self.searched) = (0, self.received.len());
            return Ok(None);
        }
        let line = self.received[self.taken..end].to_vec();
        (self.taken, self.searched) = (end + 1, end + 1);
        Ok(Some(line))
    }

    async fn receive(&mut self) -> io::Result<()> {
        self.received.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Sends something to a client that takes it in time.
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self { stream, killed, write_timeout, .. } = self;
        let sending = async {
            stream.write_all(bytes).await?;
            stream.flush().await
        };
        tokio::select! {
            biased;
            sent = timeout(*write_timeout, sending) => sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?,
            () = killed.notified() => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    async fn say_goodbye(&mut self, error: &SqlError) -> io::Result<()> {
        self.send(&error_line(error)).await?;
        self.close().await
    }

    /// Ends the connection in order: TLS has something to say even now, to a client that may not read.
    async fn close(&mut self) -> io::Result<()> {
        let closed = timeout(self.write_timeout, self.stream.shutdown()).await;
        closed.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

/// Writes results as lines.
struct LineWriter<'a> {
    stream: &'a mut LineStream,
    buffer: Vec<u8>,
    types: Vec<SqlType>,
    column: usize,
    rows: u64,
    slice: TimeSlice,
}

impl<'a> LineWriter<'a> {
    fn new(stream: &'a mut LineStream) -> LineWriter<'a> {
        let (buffer, types, slice) = (Vec::new(), Vec::new(), TimeSlice::default());
        LineWriter { stream, buffer, types, column: 0, rows: 0, slice }
    }

    fn put(&mut self, value: &Value) {
        if self.column > 0 {
            self.buffer.push(b'\t');
        }
        let start = self.buffer.len();
        match (value, self.types.get(self.column)) {
            (Value::Null, _) | (_, None) => self.buffer.extend_from_slice(b"\\N"),
            (value, Some(sql_type)) => write_text(value, sql_type, &mut self.buffer),
        }
        self.escape_from(start);
        self.column += 1;
    }

    /// A value has no line or tab of its own.
    fn escape_from(&mut self, start: usize) {
        for byte in &mut self.buffer[start..] {
            if matches!(*byte, b'\n' | b'\t') {
                *byte = b' ';
            }
        }
    }

    fn end(&mut self, count: u64) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.buffer, "OK {count}");
    }
}

impl RowWriter for LineWriter<'_> {
    fn begin_row(&mut self) {
        self.column = 0;
    }

    fn put_null(&mut self) {
        self.put(&Value::Null);
    }

    fn put_int(&mut self, value: i64) {
        self.put(&Value::Int(value));
    }

    fn put_uint(&mut self, value: u64) {
        self.put(&Value::UInt(value));
    }

    fn put_double(&mut self, value: f64) {
        self.put(&Value::Double(value));
    }

    fn put_decimal(&mut self, value: Decimal) {
        self.put(&Value::Decimal(value));
    }

    fn put_bytes(&mut self, value: &[u8]) {
        if self.column > 0 {
            self.buffer.push(b'\t');
        }
        let start = self.buffer.len();
        self.buffer.extend_from_slice(value);
        self.escape_from(start);
        self.column += 1;
    }

    fn put_date(&mut self, value: Date) {
        self.put(&Value::Date(value));
    }

    fn put_datetime(&mut self, value: DateTime) {
        self.put(&Value::DateTime(value));
    }

    fn put_time(&mut self, value: Time) {
        self.put(&Value::Time(value));
    }

    fn end_row(&mut self) {
        self.rows += 1;
        self.buffer.push(b'\n');
    }
}

impl ResultWriter for LineWriter<'_> {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.types = columns.iter().map(|column| column.sql_type.clone()).collect();
        self.rows = 0;
    }

    fn end_result_set(&mut self, _: &StatusInfo) {
        self.end(self.rows);
    }

    fn ok(&mut self, ok: &OkInfo, _: &StatusInfo) {
        self.end(ok.affected_rows);
    }

    fn error(&mut self, error: &SqlError) {
        self.buffer.extend_from_slice(&error_line(error));
    }

    fn needs_flush(&self) -> bool {
        self.buffer.len() >= FLUSH_BYTES || self.slice.is_over()
    }

    fn flush(&mut self) -> LocalFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.stream.send(&self.buffer).await?;
            self.buffer.clear();
            self.slice.give_way().await;
            Ok(())
        })
    }
}

/// Serves a data directory with the module until the process is ended.
#[allow(dead_code, reason = "the test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: line_protocol DIRECTORY")?;
    let (_database, _server) = serve_directory(directory.as_ref(), 3306)?;
    loop {
        std::thread::park();
    }
}

/// A server with the module.
pub fn serve_directory(
    directory: &std::path::Path,
    port: u16,
) -> Result<(Database, squall_server::Server), Box<dyn std::error::Error>> {
    let modules: Vec<Arc<dyn Module>> = vec![Arc::new(Lines::new(directory.join("lines.sock")))];
    let options = squall_session::OpenOptions { modules, ..Default::default() };
    let database = Database::open(directory, options).map_err(|error| error.message)?;
    let options = squall_server::ServerOptions {
        data_directory: directory.to_path_buf(),
        bind_address: "127.0.0.1".into(),
        port,
        admin_address: None,
        admin_port: 0,
        socket: None,
        event_loops: std::num::NonZeroUsize::MIN.saturating_add(1),
        drain_timeout: Duration::from_secs(5),
    };
    let server = squall_server::Server::start(&options, Arc::new(database.clone()))?;
    Ok((database, server))
}
