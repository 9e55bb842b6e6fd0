//! Reads commands and lets the session answer them.

use std::borrow::Cow;
use std::future::Future as _;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Context;

use bytes::Bytes;
use squall_front_end::Transport;
use squall_front_end::busy_poll::BusyPoll;
use squall_front_end::neighbours::Neighbour;
use squall_front_end::protocol::{Services, kill_callback};
use squall_front_end::steering::Steering;
use squall_session::api::{AtOnce, Connection, OkInfo, ResultWriter as _, Unanswered};
use squall_types::{ErrorCode, SqlError};
use squall_wire::command::{CURSOR_TYPE_READ_ONLY, Command, StmtExecute, refresh};
use squall_wire::framing::FrameError;
use squall_wire::handshake::ChangeUser;
use squall_wire::response::PrepareOk;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::charset::charset_of;
use crate::column_metadata::parameter_definition;
use crate::conversation::{Conversation, Left};
use crate::established::Established;
use crate::handshake::{HandshakeError, change_user};
use crate::packet_stream::{PacketStream, ReadError};
use crate::prepared::PreparedStatements;
use crate::result_writer::{ClientWriter, RowFormat};
use crate::shared::Shared;

/// A goodbye that no command asked for is numbered as the answer to the next command: so clients that send one, not
/// knowing, read it.
const GOODBYE_SEQUENCE: u8 = 1;

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum End {
    /// The client said goodbye, or was killed.
    Quit,
    /// The client is gone.
    Gone(ReadError),
    /// The client should read why.
    Because(SqlError),
    /// Another loop goes on with it.
    Moves(usize),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Gone(ReadError::Io(error))
    }
}

impl From<ReadError> for End {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Frame(FrameError::Corrupt) => corrupt(),
            error => Self::Gone(error),
        }
    }
}

/// The client's bytes cannot be uncompressed.
fn corrupt() -> End {
    End::Because(SqlError::new(ErrorCode::NetUncompressError, &[]))
}

/// A connection after its handshake.
pub(crate) struct CommandLoop<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) services: &'a Services,
    pub(crate) session: Box<dyn Connection>,
    pub(crate) established: Established,
    pub(crate) client: ClientWriter,
    pub(crate) statements: PreparedStatements,
    /// Woken by KILL and by a shutdown.
    pub(crate) wake: Arc<Notify>,
    pub(crate) neighbour: &'a Neighbour,
    pub(crate) busy_poll: BusyPoll,
    pub(crate) steering: Steering,
}

impl CommandLoop<'_> {
    /// Answers commands until the connection ends, or leaves for another loop.
    pub(crate) async fn run(mut self) -> Option<Left> {
        let wake = Arc::clone(&self.wake);
        let mut woken = pin!(wake.notified());
        let end = loop {
            let packet = match self.next_command(&wake, woken.as_mut()).await {
                Ok(packet) => packet,
                Err(end) => break end,
            };
            self.neighbour.begin_command();
            let answered = self.answer(&packet).await;
            self.neighbour.end_command();
            if let Err(end) = answered {
                break end;
            }
            if self.session.is_killed() {
                break match self.client.io.flush().await {
                    Ok(()) => End::Quit,
                    Err(error) => error.into(),
                };
            }
        };
        let id = self.established.connection_id;
        if matches!(end, End::Gone(_) | End::Because(_)) {
            self.shared.backend.connection_aborted(id);
        }
        match end {
            End::Moves(to) => return self.leave(to),
            End::Quit => self.client.io.close().await,
            End::Gone(reason) => tracing::debug!("connection {id} ended: {reason}"),
            End::Because(error) => {
                tracing::debug!("connection {id} closed: {error}");
                self.client.io.say_goodbye(&error).await;
            }
        }
        None
    }

    fn leave(self, to: usize) -> Option<Left> {
        let CommandLoop { session, established, client, statements, wake, steering, .. } = self;
        let PacketStream { transport: Transport::Plain(socket), killed, socket: counted, .. } = client.io else {
            return None;
        };
        let conversation = Conversation { session, established, statements, killed, counted, steering };
        Some(Left { to, socket, wake, conversation })
    }

    /// The next command. Answers are sent only when there is none yet, so that those to pipelined commands go together.
    async fn next_command<'w>(&mut self, wake: &'w Notify, mut woken: Pin<&mut Notified<'w>>) -> Result<Bytes, End> {
        let io = &mut self.client.io;
        let timeouts = self.session.net_timeouts();
        io.set_net_timeouts(timeouts);
        io.reader.set_payload_bytes_max(self.session.max_allowed_packet());
        io.reader.set_sequence(0);
        loop {
            match io.reader.next_packet() {
                Ok(Some(packet)) => {
                    io.writer.set_sequence(io.reader.sequence());
                    if io.needs_flush() {
                        io.flush().await?;
                    }
                    return Ok(packet);
                }
                Ok(None) => {}
                Err(FrameError::TooLarge { next_sequence }) => {
                    io.writer.set_sequence(next_sequence);
                    return Err(End::Because(SqlError::new(ErrorCode::PacketTooLarge, &[])));
                }
                Err(FrameError::OutOfOrder { found, .. }) => {
                    io.writer.set_sequence(found.wrapping_add(1));
                    return Err(End::Because(SqlError::new(ErrorCode::PacketsOutOfOrder, &[])));
                }
                Err(FrameError::Corrupt) => return Err(corrupt()),
            }
            io.flush().await?;
            if io.is_between_packets()
                && let Some(socket) = io.plain_socket()
                && let Some(to) = self.services.steer(&mut self.steering, self.neighbour, socket)
            {
                return Err(End::Moves(to));
            }
            let busy_poll = self.session.busy_poll();
            let look = |context: &mut Context<'_>| pin!(io.fill()).poll(context);
            if let Some(read) = self.busy_poll.look(look, self.neighbour.awake(), busy_poll).await {
                read?;
                continue;
            }
            let seconds = match io.is_between_packets() {
                true => self.session.idle_timeout_seconds(),
                false => timeouts.read_seconds,
            };
            self.neighbour.start_idle(seconds);
            tokio::select! {
                biased;
                read = io.fill() => {
                    self.neighbour.stop_idle();
                    self.busy_poll.came(busy_poll);
                    read?;
                }
                () = woken.as_mut() => {
                    woken.set(wake.notified());
                    if self.session.is_killed() {
                        return Err(End::Quit);
                    }
                    if self.neighbour.is_ending() {
                        io.writer.set_sequence(GOODBYE_SEQUENCE);
                        return Err(End::Because(SqlError::new(ErrorCode::ServerShutdown, &[])));
                    }
                    if self.neighbour.is_idle_too_long() {
                        io.writer.set_sequence(GOODBYE_SEQUENCE);
                        return Err(End::Because(SqlError::new(ErrorCode::ClientInteractionTimeout, &[])));
                    }
                }
            }
        }
    }

    /// Answers one command.
    async fn answer(&mut self, packet: &Bytes) -> Result<(), End> {
        self.client.format = RowFormat::Text;
        self.client.set_results_collation(self.session.results_collation());
        let Ok(command) = Command::decode(packet, self.established.capabilities) else {
            self.client.error(&SqlError::new(ErrorCode::MalformedPacket, &[]));
            return Ok(());
        };
        match command {
            Command::Query { sql, .. } => {
                if let AtOnce::Left(unanswered) = self.session.query_at_once(sql, &mut self.client) {
                    self.session.query(&packet.slice_ref(sql), unanswered, &mut self.client).await?;
                    self.client.skip_file().await?;
                }
            }
            Command::StmtExecute(execute) => self.execute(&execute).await?,
            Command::StmtFetch { statement_id, row_count } => self.fetch(statement_id, row_count).await?,
            Command::StmtPrepare(sql) => self.prepare(sql).await,
            Command::StmtClose(id) => {
                self.statements.remove(id);
                self.session.close_statement(id);
            }
            Command::StmtSendLongData { statement_id, parameter_ordinal, data } => {
                self.session.count_long_data();
                let bytes_max = self.session.max_allowed_packet();
                self.statements.append_long_data(statement_id, parameter_ordinal, data, bytes_max);
            }
            Command::StmtReset(id) => {
                self.statements.reset(id);
                let result = self.session.reset_statement(id);
                self.ok_or_error(result);
            }
            Command::Refresh(what) => {
                let sql = flush_statement(what);
                self.session
                    .query(&Bytes::copy_from_slice(sql.as_bytes()), Unanswered::default(), &mut self.client)
                    .await?;
            }
            Command::ChangeUser(change) => self.change_user(&change).await?,
            Command::Quit => {
                self.session.note_command("Quit");
                return Err(End::Quit);
            }
            other => self.answer_short(&other),
        }
        Ok(())
    }

    /// Answers a command that is no statement and waits for nothing.
    fn answer_short(&mut self, command: &Command<'_>) {
        match *command {
            Command::Ping => {
                self.session.note_command("Ping");
                self.ok();
            }
            Command::InitDb(name) => {
                let result = self.session.use_database(&self.text(name));
                self.ok_or_error(result);
            }
            Command::FieldList { table, wildcard } => {
                let (table, wildcard) = (self.text(table), self.text(wildcard));
                self.field_list(&table, &wildcard);
            }
            Command::Statistics => {
                self.session.note_command("Statistics");
                let line = self.session.statistics();
                self.client.io.writer.packet(|buf| buf.extend_from_slice(line.as_bytes()));
            }
            Command::Debug => {
                self.session.note_command("Debug");
                tracing::info!("{}", self.session.statistics());
                self.eof();
            }
            Command::SetOption(option @ (0 | 1)) => {
                self.session.note_command("Set option");
                self.session.set_multi_statements(option == 0);
                self.eof();
            }
            Command::ProcessKill(id) => {
                let result = self.session.kill(u64::from(id));
                self.ok_or_error(result);
            }
            Command::Shutdown => match self.session.shut_down() {
                Ok(()) => self.eof(),
                Err(error) => self.client.error(&error),
            },
            Command::ResetConnection => {
                self.session.note_command("Reset Connection");
                self.statements.clear();
                self.session.reset();
                self.ok();
            }
            _ => self.client.error(&SqlError::new(ErrorCode::UnknownCommand, &[])),
        }
    }

    /// Bytes of the client as text.
    fn text<'t>(&self, bytes: &'t [u8]) -> Cow<'t, str> {
        charset_of(self.session.client_collation()).decode(bytes).text
    }

    fn ok(&mut self) {
        let status = self.session.status();
        self.client.ok(&OkInfo::default(), &status);
    }

    fn eof(&mut self) {
        let status = self.session.status();
        self.client.write_eof(&status);
    }

    fn ok_or_error(&mut self, result: Result<(), SqlError>) {
        match result {
            Ok(()) => self.ok(),
            Err(error) => self.client.error(&error),
        }
    }

    async fn prepare(&mut self, sql: &[u8]) {
        let info = match self.session.prepare(sql).await {
            Ok(info) => info,
            Err(error) => return self.client.error(&error),
        };
        self.statements.insert(&info);
        let Ok(column_count) = u16::try_from(info.columns.len()) else {
            return self.client.error(&SqlError::unsupported("more than 65535 columns"));
        };
        let head = PrepareOk {
            statement_id: info.id,
            column_count,
            parameter_count: info.parameters,
            warning_count: info.warnings,
        };
        self.client.io.writer.packet(|buf| head.encode(buf));
        if info.parameters > 0 {
            let definition = parameter_definition();
            for _ in 0..info.parameters {
                self.client.write_raw_definition(&definition);
            }
            self.client.end_definitions();
        }
        if !info.columns.is_empty() {
            for column in &info.columns {
                self.client.write_definition(column);
            }
            self.client.end_definitions();
        }
    }

    async fn execute(&mut self, execute: &StmtExecute<'_>) -> io::Result<()> {
        self.client.format = RowFormat::Binary;
        let parameters = match self.statements.values(execute, self.session.client_collation()) {
            Ok(parameters) => parameters,
            Err(error) => {
                self.client.error(&error);
                return Ok(());
            }
        };
        let cursor = execute.flags & CURSOR_TYPE_READ_ONLY != 0;
        let unanswered = match cursor {
            true => Unanswered::default(),
            false => match self.session.execute_at_once(execute.statement_id, &parameters, &mut self.client) {
                AtOnce::Answered => return Ok(()),
                AtOnce::Left(unanswered) => unanswered,
            },
        };
        self.session.execute(execute.statement_id, parameters, cursor, unanswered, &mut self.client).await
    }

    async fn fetch(&mut self, statement_id: u32, row_count: u32) -> io::Result<()> {
        self.client.format = RowFormat::Binary;
        match self.session.prepared_columns(statement_id) {
            Some(columns) => {
                self.client.resume_result_set(&columns);
                self.session.fetch(statement_id, row_count, &mut self.client).await
            }
            None => {
                let error = ErrorCode::UnknownStatementHandler;
                self.client.error(&SqlError::new(error, &[&statement_id, &"mysqld_stmt_fetch"]));
                Ok(())
            }
        }
    }

    fn field_list(&mut self, table: &str, wildcard: &str) {
        match self.session.field_list(table, wildcard) {
            Ok(columns) => {
                for column in &columns {
                    self.client.write_definition_with_default(column);
                }
                self.eof();
            }
            Err(error) => self.client.error(&error),
        }
    }

    /// Replaces the session by another user's. Failing that, the connection has none and ends.
    async fn change_user(&mut self, change: &ChangeUser<'_>) -> Result<(), End> {
        self.statements.clear();
        // Roll back and give up locks before the new session begins.
        self.session.reset();
        let on_kill = kill_callback(&self.wake, &self.client.io.killed);
        let io = &mut self.client.io;
        let result = change_user(io, self.shared, self.services, &self.established, change, on_kill).await;
        match result {
            Ok(session) => {
                self.session = session;
                self.client.set_knows_vectors(self.session.knows_vectors());
                self.ok();
                Ok(())
            }
            Err(HandshakeError::Refused(error)) => Err(End::Because(error)),
            Err(HandshakeError::Gone(error)) => Err(End::Gone(error)),
        }
    }
}

/// COM_REFRESH as the statement that took its place. What has no bit here keeps nothing that could be renewed; tables come alone.
fn flush_statement(what: u8) -> String {
    const TARGETS: [(u8, &str); 4] = [
        (refresh::GRANT, "PRIVILEGES"),
        (refresh::LOG, "LOGS"),
        (refresh::HOSTS, "HOSTS"),
        (refresh::STATUS, "STATUS"),
    ];
    let targets: Vec<&str> = TARGETS.iter().filter(|(bit, _)| what & bit != 0).map(|(_, name)| *name).collect();
    match targets.is_empty() {
        true => "FLUSH TABLES".to_owned(),
        false => format!("FLUSH {}", targets.join(", ")),
    }
}
