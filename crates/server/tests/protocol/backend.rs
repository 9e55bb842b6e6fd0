//! A database whose statements are a fixed list: it gives all kinds of answers that a server can send.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use squall_client::{Client, ConnectOptions, Target};
use squall_passwords::{native_auth_string, sha2_auth_string};
use squall_server::{Server, ServerOptions};
use squall_session::api::{
    Account, AtOnce, Backend, ColumnFlags, ColumnMeta, CompressionAlgorithms, Connection, ConnectionInfo,
    FrontEndContext, FrontEndSettings, HandshakeSettings, KillCallback, LocalFuture, NetTimeouts, OkInfo, PreparedInfo,
    ResultWriter, RoutineDescription, SessionChange, StatusInfo, TableDescription, TextRequest, TlsRequirement,
    Unanswered,
};
use squall_types::{
    CollationId, Date, DateTime, Decimal, ErrorCode, IntWidth, SqlError, SqlType, StringKind, TextSize, Time, Value,
};

/// Knobs and counters of a test's database.
#[derive(Default)]
pub struct Script {
    pub max_connections: AtomicUsize,
    pub idle_timeout_seconds: AtomicU64,
    pub connect_timeout_seconds: AtomicU64,
    pub failed_connects: AtomicUsize,
    pub refused_connections: AtomicUsize,
    last_id: AtomicU64,
    kills: Mutex<HashMap<u64, (Arc<AtomicBool>, KillCallback)>>,
    /// Attributes of the last session.
    pub attributes: Mutex<Vec<(String, String)>>,
}

pub struct ScriptBackend(pub Arc<Script>);

impl FrontEndContext for ScriptBackend {
    fn front_end_settings(&self) -> FrontEndSettings {
        FrontEndSettings {
            max_connections: self.0.max_connections.load(Ordering::Relaxed),
            connect_timeout_seconds: self.0.connect_timeout_seconds.load(Ordering::Relaxed),
            net_write_timeout_seconds: 2,
            require_secure_transport: false,
        }
    }

    fn account(&self, user: &str, _address: Option<IpAddr>) -> Option<Account> {
        let account = |plugin: &str, authentication: String| Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            plugin: plugin.to_owned(),
            authentication: authentication.into_bytes(),
            second_authentication: Vec::new(),
            password_changed_micros: 0,
            locked: user == "locked",
            password_expired: user == "expired",
            tls: if user == "secret_keeper" { TlsRequirement::Encrypted } else { TlsRequirement::None },
        };
        match user {
            "root" | "locked" | "secret_keeper" | "expired" => Some(account("caching_sha2_password", String::new())),
            "sha2" => {
                Some(account("caching_sha2_password", sha2_auth_string(b"pw", &[7; 20]).expect("a short password")))
            }
            "native" => Some(account("mysql_native_password", native_auth_string(b"pw"))),
            // These have got a new password, and keep the one before.
            "two_sha2" => {
                let auth_string = |password: &[u8]| sha2_auth_string(password, &[9; 20]).expect("a short password");
                let second_authentication = auth_string(b"pw").into_bytes();
                Some(Account { second_authentication, ..account("caching_sha2_password", auth_string(b"new")) })
            }
            "two_native" => {
                let second_authentication = native_auth_string(b"pw").into_bytes();
                Some(Account { second_authentication, ..account("mysql_native_password", native_auth_string(b"new")) })
            }
            _ => None,
        }
    }

    fn client_gone(&self, connection_id: u64) {
        if let Some((killed, wake)) = self.0.kills.lock().expect("no panic").get(&connection_id) {
            killed.store(true, Ordering::Release);
            wake();
        }
    }

    fn connection_aborted(&self, _connection_id: u64) {}

    fn connect_failed(&self) {
        self.0.failed_connects.fetch_add(1, Ordering::Relaxed);
    }

    fn connection_moved(&self) {}

    fn connection_refused(&self) {
        self.0.refused_connections.fetch_add(1, Ordering::Relaxed);
    }
}

impl Backend for ScriptBackend {
    fn handshake_settings(&self) -> HandshakeSettings {
        HandshakeSettings {
            version: "8.4.0-script".to_owned(),
            collation: 255,
            compression: CompressionAlgorithms { zlib: true, zstd: true, uncompressed: true },
        }
    }

    fn next_connection_id(&self) -> u64 {
        self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn connect(
        &self,
        connection_id: u64,
        account: &Account,
        info: ConnectionInfo,
        on_kill: KillCallback,
    ) -> Result<Box<dyn Connection>, SqlError> {
        if info.database == "missing" {
            return Err(SqlError::new(ErrorCode::BadDatabase, &[&info.database]));
        }
        if info.beyond_limit && account.user != "sha2" {
            return Err(SqlError::new(ErrorCode::TooManyConnections, &[]));
        }
        let killed = Arc::new(AtomicBool::new(false));
        self.0.kills.lock().expect("no panic").insert(connection_id, (Arc::clone(&killed), on_kill));
        *self.0.attributes.lock().expect("no panic") = info.attributes;
        Ok(Box::new(ScriptSession {
            id: connection_id,
            user: account.user.clone(),
            database: info.database,
            tls: info.tls.map(|tls| tls.version.to_string()),
            killed,
            script: Arc::clone(&self.0),
            statements: HashMap::new(),
            last_statement: 0,
            changes: Vec::new(),
        }))
    }

    fn login_refused(&self, _connection_id: u64, _info: &ConnectionInfo, _error: &SqlError) {}
}

struct ScriptSession {
    id: u64,
    user: String,
    database: String,
    tls: Option<String>,
    killed: Arc<AtomicBool>,
    script: Arc<Script>,
    /// Position of each cursor.
    statements: HashMap<u32, (String, i64)>,
    last_statement: u32,
    changes: Vec<SessionChange>,
}

pub fn column(name: &str, sql_type: SqlType) -> ColumnMeta {
    ColumnMeta {
        database: "db".into(),
        table: "alias".into(),
        org_table: "t".into(),
        name: name.into(),
        org_name: name.to_uppercase().into(),
        sql_type,
        flags: ColumnFlags {
            not_null: name == "id",
            primary_key: name == "id",
            part_key: name == "id",
            ..ColumnFlags::default()
        },
    }
}

fn int_column(name: &str) -> ColumnMeta {
    column(name, SqlType::BIGINT)
}

/// One column of each type.
pub fn all_types() -> Vec<ColumnMeta> {
    let int = |width, unsigned| SqlType::Int { width, unsigned, zerofill: false, display_width: None };
    let utf8 = CollationId::UTF8MB4_0900_AI_CI;
    vec![
        column("id", int(IntWidth::Tiny, false)),
        column("small", int(IntWidth::Small, true)),
        column("medium", int(IntWidth::Medium, false)),
        column("int", int(IntWidth::Int, true)),
        column("big", int(IntWidth::Big, true)),
        column("filled", SqlType::Int { width: IntWidth::Int, unsigned: true, zerofill: true, display_width: Some(6) }),
        column("decimal", SqlType::decimal(10, 2)),
        column("float", SqlType::Float { unsigned: false, zerofill: false, digits: None }),
        column("double", SqlType::DOUBLE),
        column("bit", SqlType::Bit { width: 12 }),
        column("year", SqlType::Year),
        column("date", SqlType::Date),
        column("time", SqlType::Time { fsp: 3 }),
        column("datetime", SqlType::DateTime { fsp: 6 }),
        column("timestamp", SqlType::Timestamp { fsp: 0 }),
        column("varchar", SqlType::varchar(20, utf8)),
        column("varbinary", SqlType::varchar(20, CollationId::BINARY)),
        column("text", SqlType::String { kind: StringKind::Text(TextSize::Normal), length: 65_535, collation: utf8 }),
        column("enum", SqlType::Enum { members: ["a".to_owned()].into(), collation: utf8 }),
        column("json", SqlType::Json),
        column("null", SqlType::INT),
    ]
}

fn put_all_types(writer: &mut dyn ResultWriter) {
    let date = Date::from_parts(2026, 11, 21).expect("a date");
    writer.begin_row();
    writer.put_int(-5);
    writer.put_uint(65_535);
    writer.put_int(-8_388_608);
    writer.put_uint(4_000_000_000);
    writer.put_uint(u64::MAX);
    writer.put_uint(42);
    writer.put_decimal(Decimal::parse("-12.30").value);
    writer.put_double(0.5);
    writer.put_double(1e20);
    writer.put_uint(0xabc);
    writer.put_uint(2026);
    writer.put_date(date);
    writer.put_time(Time::from_micros(-3_661_500_000).expect("a time"));
    writer.put_datetime(DateTime::from_parts(date, 1, 2, 3, 4).expect("a time"));
    writer.put_datetime(DateTime::from_parts(date, 1, 2, 3, 0).expect("a time"));
    writer.put_bytes("grün".as_bytes());
    writer.put_bytes(&[0, 255]);
    writer.put_bytes(b"long text");
    writer.put_bytes(b"a");
    writer.put_bytes(b"{\"a\": 1}");
    writer.put_null();
    writer.end_row();
}

impl ScriptSession {
    async fn run(&mut self, sql: &str, parameters: &[Value], writer: &mut dyn ResultWriter) -> Result<(), SqlError> {
        let mut words = sql.split_whitespace();
        match words.next().unwrap_or_default() {
            "one" => self.integers(writer, &[1]),
            "ok" => {
                let info =
                    OkInfo { affected_rows: 3, last_insert_id: 9, info: "Records: 3".to_owned(), ..OkInfo::default() };
                let status = StatusInfo { warnings: 2, ..self.status() };
                writer.ok(&info, &status);
            }
            "types" => {
                writer.begin_result_set(&all_types());
                put_all_types(writer);
                writer.end_result_set(&self.status());
            }
            "two" => {
                writer.begin_result_set(&[int_column("a")]);
                writer.begin_row();
                writer.put_int(1);
                writer.end_row();
                writer.end_result_set(&StatusInfo { more_results: true, ..self.status() });
                writer.ok(&OkInfo::default(), &self.status());
            }
            "count" => {
                let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
                self.counted_rows(writer, count).await?;
            }
            "fail_in_row" => {
                writer.begin_result_set(&[int_column("a"), int_column("b")]);
                writer.begin_row();
                writer.put_int(1);
                return Err(SqlError::new(ErrorCode::DivisionByZero, &[]));
            }
            "big" => {
                let length = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
                self.text(writer, "text", &vec![b'b'; length]);
            }
            "length" => self.integers(writer, &[i64::try_from(sql.len()).unwrap_or(i64::MAX)]),
            "infile" => {
                writer.local_infile(words.next().unwrap_or_default()).await?;
                let mut length = 0;
                while let Some(chunk) = writer.local_infile_chunk().await? {
                    length += chunk.len() as u64;
                }
                writer.ok(&OkInfo { affected_rows: length, ..OkInfo::default() }, &self.status());
            }
            "infile_fails" => {
                writer.local_infile(words.next().unwrap_or_default()).await?;
                writer.local_infile_chunk().await?;
                return Err(SqlError::new(ErrorCode::DivisionByZero, &[]));
            }
            "track" => {
                self.changes.push(SessionChange::Schema("shop".to_owned()));
                self.changes.push(SessionChange::SystemVariable("autocommit".to_owned(), "OFF".to_owned()));
                writer.ok(&OkInfo::default(), &self.status());
            }
            "whoami" => {
                let text = format!("{}/{}/{}", self.user, self.database, self.tls.as_deref().unwrap_or("plain"));
                self.text(writer, "who", text.as_bytes());
            }
            "sleep" => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                self.integers(writer, &[0]);
            }
            "echo" => {
                writer.begin_result_set(&[column("echo", SqlType::longtext(CollationId(255)))]);
                for parameter in parameters {
                    writer.begin_row();
                    writer.put_bytes(format!("{parameter:?}").as_bytes());
                    writer.end_row();
                }
                writer.end_result_set(&self.status());
            }
            _ => return Err(SqlError::new(ErrorCode::Parse, &[&"", &sql, &1])),
        }
        Ok(())
    }

    /// This many rows of a number and a text.
    async fn counted_rows(&mut self, writer: &mut dyn ResultWriter, count: i64) -> Result<(), SqlError> {
        writer.begin_result_set(&[int_column("n"), column("text", SqlType::longtext(CollationId(255)))]);
        let text = "x".repeat(100);
        for number in 0..count {
            writer.begin_row();
            writer.put_int(number);
            writer.put_bytes(text.as_bytes());
            writer.end_row();
            if writer.needs_flush() {
                writer.flush().await.map_err(SqlError::internal)?;
            }
        }
        writer.end_result_set(&self.status());
        Ok(())
    }

    /// One row of a text.
    fn text(&mut self, writer: &mut dyn ResultWriter, name: &str, text: &[u8]) {
        writer.begin_result_set(&[column(name, SqlType::longtext(CollationId(255)))]);
        writer.begin_row();
        writer.put_bytes(text);
        writer.end_row();
        writer.end_result_set(&self.status());
    }

    fn integers(&mut self, writer: &mut dyn ResultWriter, row: &[i64]) {
        let columns: Vec<_> = row.iter().map(|_| int_column("id")).collect();
        writer.begin_result_set(&columns);
        writer.begin_row();
        for &value in row {
            writer.put_int(value);
        }
        writer.end_row();
        writer.end_result_set(&self.status());
    }
}

impl Connection for ScriptSession {
    fn query_at_once(&mut self, _sql: &[u8], _writer: &mut dyn ResultWriter) -> AtOnce {
        AtOnce::Left(Unanswered::default())
    }

    fn execute_at_once(&mut self, _id: u32, _parameters: &[Value], _writer: &mut dyn ResultWriter) -> AtOnce {
        AtOnce::Left(Unanswered::default())
    }

    fn query<'a>(
        &'a mut self,
        sql: &'a Bytes,
        _unanswered: Unanswered,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(async move {
            if let Err(error) = self.run(&String::from_utf8_lossy(sql), &[], writer).await {
                writer.error(&error);
            }
            Ok(())
        })
    }

    fn run_text<'a>(
        &'a mut self,
        text: TextRequest<'a>,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        self.query(text.sql, Unanswered::default(), writer)
    }

    fn memory(&self) -> Arc<squall_session::api::SessionMemory> {
        Arc::default()
    }

    fn describe_table(&mut self, _database: &str, _table: &str) -> Result<TableDescription, SqlError> {
        Err(SqlError::unsupported("tables"))
    }

    fn follow_table(
        &mut self,
        _database: &str,
        _table: &str,
        _from: Option<u64>,
        _on_changes: squall_session::api::OnChanges,
    ) -> Result<Option<squall_session::api::FollowedTable>, SqlError> {
        Err(SqlError::unsupported("tables"))
    }

    fn describe_routine(
        &mut self,
        _database: &str,
        _name: &str,
        _is_function: bool,
    ) -> Result<RoutineDescription, SqlError> {
        Err(SqlError::unsupported("routines"))
    }

    fn set_read_only(&mut self) {}
    fn limit_to_databases(&mut self, _databases: std::collections::BTreeSet<String>) {}

    fn has_privilege(&self, _name: &str) -> bool {
        false
    }

    fn account_has_privilege(&self, _name: &str) -> bool {
        false
    }

    fn prepare<'a>(&'a mut self, sql: &'a [u8]) -> LocalFuture<'a, Result<PreparedInfo, SqlError>> {
        Box::pin(async move {
            let sql = String::from_utf8_lossy(sql).into_owned();
            let parameters = u16::try_from(sql.matches('?').count()).unwrap_or(u16::MAX);
            self.last_statement += 1;
            let columns = if sql.starts_with("types") { all_types() } else { vec![int_column("n")] };
            self.statements.insert(self.last_statement, (sql, 0));
            Ok(PreparedInfo { id: self.last_statement, parameters, columns, warnings: 0 })
        })
    }

    fn execute<'a>(
        &'a mut self,
        id: u32,
        parameters: Vec<Value>,
        cursor: bool,
        _unanswered: Unanswered,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(async move {
            let Some((sql, position)) = self.statements.get_mut(&id) else {
                writer.error(&SqlError::new(ErrorCode::UnknownStatementHandler, &[&id, &"mysqld_stmt_execute"]));
                return Ok(());
            };
            if cursor {
                *position = 0;
                writer.begin_result_set(&[int_column("n")]);
                writer.end_result_set(&StatusInfo { cursor_exists: true, ..self.status() });
                return Ok(());
            }
            let sql = sql.clone();
            if let Err(error) = self.run(&sql, &parameters, writer).await {
                writer.error(&error);
            }
            Ok(())
        })
    }

    fn fetch<'a>(
        &'a mut self,
        id: u32,
        rows: u32,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(async move {
            let mut status = StatusInfo { cursor_exists: true, ..self.status() };
            if let Some((_, position)) = self.statements.get_mut(&id) {
                for _ in 0..rows {
                    if *position == 5 {
                        status = StatusInfo { cursor_exists: false, last_row_sent: true, ..status };
                        break;
                    }
                    writer.begin_row();
                    writer.put_int(*position);
                    writer.end_row();
                    *position += 1;
                }
            }
            writer.end_result_set(&status);
            Ok(())
        })
    }

    fn prepared_columns(&self, id: u32) -> Option<Arc<[ColumnMeta]>> {
        self.statements.contains_key(&id).then(|| vec![int_column("n")].into())
    }

    fn close_statement(&mut self, id: u32) {
        self.statements.remove(&id);
    }

    fn count_long_data(&mut self) {}

    fn reset_statement(&mut self, id: u32) -> Result<(), SqlError> {
        if self.statements.contains_key(&id) {
            Ok(())
        } else {
            Err(SqlError::new(ErrorCode::UnknownStatementHandler, &[&id, &"mysqld_stmt_execute"]))
        }
    }

    fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        if name == "missing" {
            return Err(SqlError::new(ErrorCode::BadDatabase, &[&name]));
        }
        self.database = name.to_owned();
        self.changes.push(SessionChange::Schema(name.to_owned()));
        Ok(())
    }

    fn field_list(&mut self, _table: &str, _wildcard: &str) -> Result<Vec<ColumnMeta>, SqlError> {
        Ok(all_types())
    }

    fn statistics(&self) -> String {
        "Uptime: 1".to_owned()
    }

    fn set_multi_statements(&mut self, _on: bool) {}

    fn kill(&mut self, connection_id: u64) -> Result<(), SqlError> {
        let kills = self.script.kills.lock().expect("no panic");
        let (killed, wake) =
            kills.get(&connection_id).ok_or_else(|| SqlError::new(ErrorCode::NoSuchThread, &[&connection_id]))?;
        killed.store(true, Ordering::Release);
        wake();
        Ok(())
    }

    fn shut_down(&mut self) -> Result<(), SqlError> {
        Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&"SHUTDOWN"]))
    }

    fn reset(&mut self) {
        self.statements.clear();
        self.database.clear();
    }

    fn status(&mut self) -> StatusInfo {
        let changes = std::mem::take(&mut self.changes);
        StatusInfo { autocommit: true, changes, ..StatusInfo::default() }
    }

    fn connection_id(&self) -> u64 {
        self.id
    }

    fn busy_poll(&self) -> std::time::Duration {
        std::time::Duration::from_micros(50)
    }
    fn idle_timeout_seconds(&self) -> u64 {
        self.script.idle_timeout_seconds.load(Ordering::Relaxed)
    }

    fn net_timeouts(&self) -> NetTimeouts {
        NetTimeouts { read_seconds: 2, write_seconds: 2 }
    }

    fn max_allowed_packet(&self) -> usize {
        40 << 20
    }

    fn results_collation(&self) -> Option<u16> {
        Some(if self.user == "native" { 8 } else { 255 })
    }

    fn client_collation(&self) -> u16 {
        255
    }

    fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    fn note_command(&mut self, _name: &'static str) {}
}

/// A server on a free port.
pub struct TestServer {
    pub server: Option<Server>,
    pub script: Arc<Script>,
    pub directory: tempfile::TempDir,
}

impl TestServer {
    pub fn start() -> Self {
        let script = Arc::new(Script {
            max_connections: AtomicUsize::new(100),
            idle_timeout_seconds: AtomicU64::new(60),
            // A key is made at the first use, which takes its time on a busy machine.
            connect_timeout_seconds: AtomicU64::new(60),
            ..Script::default()
        });
        let directory = tempfile::tempdir().expect("a directory");
        let options = ServerOptions {
            data_directory: directory.path().to_owned(),
            bind_address: "127.0.0.1".to_owned(),
            port: 0,
            admin_address: None,
            admin_port: 0,
            socket: Some(directory.path().join("sock")),
            event_loops: NonZeroUsize::MIN.saturating_add(1),
            drain_timeout: Duration::from_secs(5),
        };
        let server = Server::start(&options, Arc::new(ScriptBackend(Arc::clone(&script)))).expect("a server");
        Self { server: Some(server), script, directory }
    }

    pub fn options(&self) -> ConnectOptions {
        let address = self.server.as_ref().expect("a running server").tcp_addresses()[0];
        ConnectOptions::new(Target::Tcp(address.ip().to_string(), address.port()))
    }

    pub fn socket_options(&self) -> ConnectOptions {
        ConnectOptions::new(Target::Unix(self.directory.path().join("sock")))
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.options()).expect("a connection")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shut_down().expect("an orderly end");
        }
    }
}

/// The error code of a failed call.
pub fn code<T: std::fmt::Debug>(result: Result<T, squall_client::ClientError>) -> u16 {
    match result {
        Err(squall_client::ClientError::Server(error)) => error.code,
        other => panic!("an error of the server was due, not {other:?}"),
    }
}
