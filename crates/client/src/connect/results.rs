//! Statements by text, and their results.

use std::fs::File;
use std::io::Read as _;

use squall_wire::bytes::Reader;
use squall_wire::column::ColumnDefinition;
use squall_wire::command::encode_text_command;
use squall_wire::constants::{Capabilities, ColumnFlags, ColumnType, StatusFlags, command_code};
use squall_wire::response::{
    EOF_HEADER, ERR_HEADER, EofPacket, ErrPacket, LOCAL_INFILE_HEADER, OK_HEADER, OkPacket, ends_rows,
};
use squall_wire::session_track::SessionChange;
use squall_wire::text_row::decode_text_row;

use crate::connect::Client;
use crate::error::{ClientError, LoadError, ServerError};

/// How much of a local file goes into one packet.
const FILE_CHUNK_BYTES: usize = 256 << 10;

/// One row by text; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// What stands at the end of a result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OkResult {
    /// Rows changed.
    pub affected_rows: u64,
    /// First generated AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// State of the session.
    pub status: StatusFlags,
    /// Number of warnings.
    pub warning_count: u16,
    /// For people.
    pub info: String,
    /// The new default database, if it changed.
    pub schema: Option<String>,
    /// System variables that changed.
    pub variables: Vec<(String, String)>,
    /// Whether anything of the session changed, if the server was asked to tell.
    pub state_changed: bool,
    /// The transaction's state as eight letters, if it changed.
    pub transaction_state: Option<String>,
    /// The statements that start such a transaction again, if they changed.
    pub transaction_characteristics: Option<String>,
}

impl OkResult {
    pub(crate) fn new(packet: &OkPacket<'_>) -> Result<Self, ClientError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut result = Self {
            affected_rows: packet.affected_rows,
            last_insert_id: packet.last_insert_id,
            status: packet.status,
            warning_count: packet.warning_count,
            info: text(packet.info),
            ..Self::default()
        };
        for change in SessionChange::decode_all(packet.session_changes)? {
            match change {
                SessionChange::Schema(name) => result.schema = Some(text(name)),
                SessionChange::SystemVariable { name, value } => result.variables.push((text(name), text(value))),
                SessionChange::StateChange(changed) => result.state_changed = changed,
                SessionChange::TransactionState(state) => result.transaction_state = Some(text(state)),
                SessionChange::TransactionCharacteristics(statements) => {
                    result.transaction_characteristics = Some(text(statements));
                }
                _ => {}
            }
        }
        Ok(result)
    }
}

/// One column of a result set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Database of the table.
    pub schema: String,
    /// Alias of the table.
    pub table: String,
    /// The table's own name.
    pub org_table: String,
    /// Alias of the column.
    pub name: String,
    /// The column's own name.
    pub org_name: String,
    /// Collation id.
    pub collation: u16,
    /// Longest value, in bytes.
    pub length: u32,
    /// Type.
    pub column_type: ColumnType,
    /// Flags.
    pub flags: ColumnFlags,
    /// Digits after the point.
    pub decimals: u8,
}

impl Column {
    fn new(definition: &ColumnDefinition<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            schema: text(definition.schema),
            table: text(definition.table),
            org_table: text(definition.org_table),
            name: text(definition.name),
            org_name: text(definition.org_name),
            collation: definition.collation,
            length: definition.length,
            column_type: definition.column_type,
            flags: definition.flags,
            decimals: definition.decimals,
        }
    }
}

/// The head of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryResult {
    /// A statement without rows is done.
    Ok(OkResult),
    /// Rows follow: read them with [`Client::next_row`].
    Rows(Vec<Column>),
}

/// What the server will send next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadState {
    /// Nothing.
    #[default]
    Idle,
    /// Another result.
    Result,
    /// Rows of this many columns.
    Rows(usize),
}

impl Client {
    /// Sends statements; read what they answer with [`Client::next_result`].
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<(), ClientError> {
        self.text_command(command_code::QUERY, sql.as_ref())?;
        self.state = ReadState::Result;
        Ok(())
    }

    /// The next result, or `None` when all have been read. Rows that were left unread are skipped.
    pub fn next_result(&mut self) -> Result<Option<QueryResult>, ClientError> {
        while self.next_row()?.is_some() {}
        if self.state == ReadState::Idle {
            return Ok(None);
        }
        let packet = self.read_answer()?;
        match packet.first() {
            Some(&OK_HEADER) => {
                let ok = OkResult::new(&OkPacket::decode(&packet, self.capabilities)?)?;
                self.end_of_result(ok.status);
                Ok(Some(QueryResult::Ok(ok)))
            }
            Some(&LOCAL_INFILE_HEADER) => {
                self.send_file(&packet[1..])?;
                self.next_result()
            }
            _ => {
                let count = Reader::new(&packet).lenenc_int()?;
                let columns = self.read_columns(usize::try_from(count).unwrap_or(usize::MAX))?;
                self.end_of_definitions()?;
                self.state = ReadState::Rows(columns.len());
                Ok(Some(QueryResult::Rows(columns)))
            }
        }
    }

    /// The next row of the result set, or `None` behind the last.
    pub fn next_row(&mut self) -> Result<Option<Row>, ClientError> {
        let ReadState::Rows(column_count) = self.state else {
            return Ok(None);
        };
        let packet = self.read_answer()?;
        if ends_rows(&packet, self.capabilities) {
            self.end_of_rows(&packet)?;
            return Ok(None);
        }
        let row = decode_text_row(&packet, column_count)?;
        Ok(Some(row.into_iter().map(|value| value.map(<[u8]>::to_vec)).collect()))
    }

    /// The end of the last result set: warnings and status.
    pub fn last_ok(&self) -> &OkResult {
        &self.last_ok
    }

    /// Runs statements and collects everything: the head of each result and its rows.
    pub fn run(&mut self, sql: &str) -> Result<Vec<(QueryResult, Vec<Row>)>, ClientError> {
        self.query(sql)?;
        let mut results = Vec::new();
        while let Some(result) = self.next_result()? {
            let mut rows = Vec::new();
            while let Some(row) = self.next_row()? {
                rows.push(row);
            }
            results.push((result, rows));
        }
        Ok(results)
    }

    /// Sends a command that is answered by OK, EOF or ERR.
    pub fn simple_command(&mut self, code: u8, text: &[u8]) -> Result<OkResult, ClientError> {
        self.text_command(code, text)?;
        let packet = self.read_answer()?;
        if packet.first() == Some(&EOF_HEADER) && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let eof = EofPacket::decode(&packet)?;
            return Ok(OkResult { status: eof.status, warning_count: eof.warning_count, ..OkResult::default() });
        }
        OkResult::new(&OkPacket::decode(&packet, self.capabilities)?)
    }

    /// Asks whether the server is there.
    pub fn ping(&mut self) -> Result<OkResult, ClientError> {
        self.simple_command(command_code::PING, b"")
    }

    /// Changes the default database.
    pub fn use_database(&mut self, name: &str) -> Result<OkResult, ClientError> {
        self.simple_command(command_code::INIT_DB, name.as_bytes())
    }

    /// One line about the server.
    pub fn statistics(&mut self) -> Result<String, ClientError> {
        self.text_command(command_code::STATISTICS, b"")?;
        Ok(String::from_utf8_lossy(&self.read_answer()?).into_owned())
    }

    pub(crate) fn text_command(&mut self, code: u8, text: &[u8]) -> Result<(), ClientError> {
        self.begin_command();
        self.writer.packet(|buf| encode_text_command(buf, code, text));
        self.send()
    }

    /// Reads a packet; an ERR packet is an error and ends the command.
    pub(crate) fn read_answer(&mut self) -> Result<Vec<u8>, ClientError> {
        let packet = self.read_packet()?;
        if packet.first() == Some(&ERR_HEADER) {
            self.state = ReadState::Idle;
            return Err(ErrPacket::decode(&packet)?.into());
        }
        Ok(packet)
    }

    pub(crate) fn read_columns(&mut self, count: usize) -> Result<Vec<Column>, ClientError> {
        let mut columns = Vec::new();
        for _ in 0..count {
            let packet = self.read_answer()?;
            columns.push(Column::new(&ColumnDefinition::decode(&packet)?));
        }
        Ok(columns)
    }

    /// Reads the EOF behind definitions, where there still is one.
    pub(crate) fn end_of_definitions(&mut self) -> Result<(), ClientError> {
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let packet = self.read_answer()?;
            self.last_ok.status = EofPacket::decode(&packet)?.status;
        }
        Ok(())
    }

    pub(crate) fn end_of_rows(&mut self, packet: &[u8]) -> Result<(), ClientError> {
        self.last_ok = if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            OkResult::new(&OkPacket::decode(packet, self.capabilities)?)?
        } else {
            let eof = EofPacket::decode(packet)?;
            OkResult { status: eof.status, warning_count: eof.warning_count, ..OkResult::default() }
        };
        self.end_of_result(self.last_ok.status);
        Ok(())
    }

    fn end_of_result(&mut self, status: StatusFlags) {
        let more = status.contains(StatusFlags::MORE_RESULTS_EXISTS);
        self.state = if more { ReadState::Result } else { ReadState::Idle };
    }

    /// Runs a LOAD DATA LOCAL statement whose file is what `source` puts into the buffer, piece by piece; it is over when
    /// a piece is empty. Should the source fail, the connection has to be dropped: the server then loads nothing.
    pub fn load_local(
        &mut self,
        sql: &str,
        mut source: impl FnMut(&mut Vec<u8>) -> Result<(), String>,
    ) -> Result<OkResult, LoadError> {
        self.query(sql)?;
        let mut packet = self.read_answer()?;
        if packet.first() == Some(&LOCAL_INFILE_HEADER) {
            let mut piece = Vec::new();
            loop {
                piece.clear();
                source(&mut piece).map_err(LoadError::Source)?;
                if piece.is_empty() {
                    break;
                }
                for part in piece.chunks(FILE_CHUNK_BYTES) {
                    self.writer.packet(|buf| buf.extend_from_slice(part));
                    self.send()?;
                }
            }
            self.writer.packet(|_| {});
            self.send()?;
            packet = self.read_answer()?;
        }
        let ok = OkResult::new(&OkPacket::decode(&packet, self.capabilities).map_err(ClientError::from)?)?;
        self.end_of_result(ok.status);
        Ok(ok)
    }

    /// Sends a file of this machine, and an empty packet. A file that cannot be read is sent as empty, and is an error
    /// once the server has answered.
    fn send_file(&mut self, name: &[u8]) -> Result<(), ClientError> {
        let name = String::from_utf8_lossy(name).into_owned();
        let mut failure = None;
        match File::open(&name) {
            Ok(mut file) => {
                let mut chunk = vec![0; FILE_CHUNK_BYTES];
                loop {
                    match file.read(&mut chunk) {
                        Ok(0) => break,
                        Ok(length) => {
                            self.writer.packet(|buf| buf.extend_from_slice(&chunk[..length]));
                            self.send()?;
                        }
                        Err(error) => {
                            failure = Some(error);
                            break;
                        }
                    }
                }
            }
            Err(error) => failure = Some(error),
        }
        self.writer.packet(|_| {});
        self.send()?;
        let Some(failure) = failure else {
            return Ok(());
        };
        while self.next_result()?.is_some() {}
        Err(ClientError::Server(ServerError {
            code: 2,
            sqlstate: *b"HY000",
            message: format!("File '{name}' cannot be read: {failure}"),
        }))
    }
}
