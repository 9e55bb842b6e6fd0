//! Prepared statements.

use squall_wire::binary_row::decode_binary_row;
use squall_wire::bytes::Reader;
use squall_wire::command::{
    CURSOR_TYPE_READ_ONLY, encode_statement_command, encode_stmt_execute, encode_stmt_fetch, encode_stmt_send_long_data,
};
use squall_wire::constants::{Capabilities, ColumnFlags, ColumnType, StatusFlags, command_code};
use squall_wire::parameters::{BinaryValue, encode_parameters};
use squall_wire::response::{OK_HEADER, OkPacket, PrepareOk, ends_rows};

use crate::connect::Client;
use crate::connect::results::{Column, OkResult};
use crate::error::ClientError;

/// A statement that the server has prepared.
#[derive(Debug, Clone)]
pub struct PreparedStatement {
    /// The server's number for it.
    pub id: u32,
    /// Definitions of its parameters.
    pub parameters: Vec<Column>,
    /// Columns of its result set; empty when it has none.
    pub columns: Vec<Column>,
    /// Warnings of preparing.
    pub warning_count: u16,
}

/// A value of a binary row, outside of its packet.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the variants are those of BinaryValue")]
pub enum OwnedValue {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    DateTime { year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8, micros: u32 },
    Time { negative: bool, hours: u32, minute: u8, second: u8, micros: u32 },
}

/// One row of a prepared statement.
pub type BinaryRow = Vec<OwnedValue>;

impl From<BinaryValue<'_>> for OwnedValue {
    fn from(value: BinaryValue<'_>) -> Self {
        match value {
            BinaryValue::Null => Self::Null,
            BinaryValue::Int(value) => Self::Int(value),
            BinaryValue::UInt(value) => Self::UInt(value),
            BinaryValue::Float(value) => Self::Float(value),
            BinaryValue::Double(value) => Self::Double(value),
            BinaryValue::Bytes(value) => Self::Bytes(value.to_vec()),
            BinaryValue::DateTime { year, month, day, hour, minute, second, micros } => {
                Self::DateTime { year, month, day, hour, minute, second, micros }
            }
            BinaryValue::Time { negative, hours, minute, second, micros } => {
                Self::Time { negative, hours, minute, second, micros }
            }
        }
    }
}

impl Client {
    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Result<PreparedStatement, ClientError> {
        self.text_command(command_code::STMT_PREPARE, sql.as_bytes())?;
        let head = PrepareOk::decode(&self.read_answer()?)?;
        let mut parameters = Vec::new();
        if head.parameter_count > 0 {
            parameters = self.read_columns(usize::from(head.parameter_count))?;
            self.end_of_definitions()?;
        }
        let mut columns = Vec::new();
        if head.column_count > 0 {
            columns = self.read_columns(usize::from(head.column_count))?;
            self.end_of_definitions()?;
        }
        Ok(PreparedStatement { id: head.statement_id, parameters, columns, warning_count: head.warning_count })
    }

    /// Executes a statement and collects its rows. With `cursor` rows stay at the server, for [`Client::fetch`].
    pub fn execute(
        &mut self,
        statement: &PreparedStatement,
        parameters: &[BinaryValue<'_>],
        cursor: bool,
    ) -> Result<(OkResult, Vec<Column>, Vec<BinaryRow>), ClientError> {
        let flags = if cursor { CURSOR_TYPE_READ_ONLY } else { 0 };
        self.begin_command();
        self.writer.packet(|buf| {
            encode_stmt_execute(buf, statement.id, flags);
            encode_parameters(buf, parameters);
        });
        self.send()?;
        let packet = self.read_answer()?;
        if packet.first() == Some(&OK_HEADER) {
            return Ok((OkResult::new(&OkPacket::decode(&packet, self.capabilities)?)?, Vec::new(), Vec::new()));
        }
        let count = usize::try_from(Reader::new(&packet).lenenc_int()?).unwrap_or(usize::MAX);
        let columns = self.read_columns(count)?;
        self.last_ok = OkResult::default();
        self.end_of_definitions()?;
        let held_back = self.last_ok.status.contains(StatusFlags::CURSOR_EXISTS);
        if held_back && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            return Ok((self.last_ok.clone(), columns, Vec::new()));
        }
        let rows = self.read_binary_rows(&columns)?;
        Ok((self.last_ok.clone(), columns, rows))
    }

    /// Executes a statement whose rows are read one by one with [`Client::next_binary_row`]; their columns.
    pub fn execute_rows(
        &mut self,
        statement: &PreparedStatement,
        parameters: &[BinaryValue<'_>],
    ) -> Result<Vec<Column>, ClientError> {
        self.begin_command();
        self.writer.packet(|buf| {
            encode_stmt_execute(buf, statement.id, 0);
            encode_parameters(buf, parameters);
        });
        self.send()?;
        let packet = self.read_answer()?;
        if packet.first() == Some(&OK_HEADER) {
            self.last_ok = OkResult::new(&OkPacket::decode(&packet, self.capabilities)?)?;
            return Ok(Vec::new());
        }
        let count = usize::try_from(Reader::new(&packet).lenenc_int()?).unwrap_or(usize::MAX);
        let columns = self.read_columns(count)?;
        self.end_of_definitions()?;
        Ok(columns)
    }

    /// The next row of [`Client::execute_rows`], or `None` behind the last.
    pub fn next_binary_row(&mut self, columns: &[Column]) -> Result<Option<BinaryRow>, ClientError> {
        let packet = self.read_answer()?;
        if ends_rows(&packet, self.capabilities) {
            self.end_of_rows(&packet)?;
            return Ok(None);
        }
        let row = decode_binary_row(&packet, &types_of(columns))?;
        Ok(Some(row.into_iter().map(OwnedValue::from).collect()))
    }

    /// Reads the next rows of a cursor.
    pub fn fetch(
        &mut self,
        statement: &PreparedStatement,
        columns: &[Column],
        row_count: u32,
    ) -> Result<(OkResult, Vec<BinaryRow>), ClientError> {
        self.begin_command();
        self.writer.packet(|buf| encode_stmt_fetch(buf, statement.id, row_count));
        self.send()?;
        let rows = self.read_binary_rows(columns)?;
        Ok((self.last_ok.clone(), rows))
    }

    fn read_binary_rows(&mut self, columns: &[Column]) -> Result<Vec<BinaryRow>, ClientError> {
        let types = types_of(columns);
        let mut rows = Vec::new();
        loop {
            let packet = self.read_answer()?;
            if ends_rows(&packet, self.capabilities) {
                self.end_of_rows(&packet)?;
                return Ok(rows);
            }
            let row = decode_binary_row(&packet, &types)?;
            rows.push(row.into_iter().map(OwnedValue::from).collect());
        }
    }

    /// Appends to a parameter before execution. The server does not answer.
    pub fn send_long_data(
        &mut self,
        statement: &PreparedStatement,
        parameter_ordinal: u16,
        data: &[u8],
    ) -> Result<(), ClientError> {
        self.begin_command();
        self.writer.packet(|buf| encode_stmt_send_long_data(buf, statement.id, parameter_ordinal, data));
        self.send()
    }

    /// Forgets long data and closes the cursor.
    pub fn reset_statement(&mut self, statement: &PreparedStatement) -> Result<OkResult, ClientError> {
        self.begin_command();
        self.writer.packet(|buf| encode_statement_command(buf, command_code::STMT_RESET, statement.id));
        self.send()?;
        let packet = self.read_answer()?;
        OkResult::new(&OkPacket::decode(&packet, self.capabilities)?)
    }

    /// Has the server forget a statement, which it does not answer.
    pub fn close_statement(&mut self, statement: &PreparedStatement) -> Result<(), ClientError> {
        self.begin_command();
        self.writer.packet(|buf| encode_statement_command(buf, command_code::STMT_CLOSE, statement.id));
        self.send()
    }
}

fn types_of(columns: &[Column]) -> Vec<(ColumnType, bool)> {
    columns.iter().map(|column| (column.column_type, column.flags.contains(ColumnFlags::UNSIGNED))).collect()
}
