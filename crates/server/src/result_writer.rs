//! Writes the answers of a session as packets.

use std::io;
use std::sync::Arc;

use squall_session::api::{ColumnMeta, LocalFuture, OkInfo, ResultWriter, SessionChange as Change, StatusInfo};
use squall_types::double_text::{write_double, write_fixed, write_float};
use squall_types::{Charset, CollationId, Date, DateTime, Decimal, ErrorCode, RowWriter, SqlError, SqlType, Time};
use squall_wire::binary_row::{BinaryRowEncoder, BinaryRowPosition};
use squall_wire::column::ColumnDefinition;
use squall_wire::constants::{Capabilities, ColumnType, StatusFlags};
use squall_wire::response::{OkPacket, encode_column_count, encode_local_infile_request};
use squall_wire::session_track::SessionChange;
use squall_wire::text_row::TextRowEncoder;

use crate::charset::{charset_of, encode, is_utf8};
use crate::column_metadata::{definition, length, wire_type};
use crate::packet_stream::{PacketStream, ReadError};

/// How the values of one column are written.
#[derive(Debug, Clone, Copy)]
struct ColumnEncoding {
    column_type: ColumnType,
    /// Fractional digits of a time, or of a number that has a fixed count of them.
    decimals: Option<u8>,
    /// Least width of a ZEROFILL number.
    zerofill_width: u8,
    /// Bytes of a BIT.
    bit_bytes: u8,
    /// Set where text has to be converted for the client.
    convert_to: Option<Charset>,
}

impl ColumnEncoding {
    fn new(column: &ColumnMeta, results_charset: Option<Charset>) -> Self {
        let sql_type = &column.sql_type;
        let (decimals, zerofill) = match sql_type {
            SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => (Some(*fsp), false),
            SqlType::Float { digits, zerofill, .. } | SqlType::Double { digits, zerofill, .. } => {
                (digits.map(|(_, decimals)| decimals), *zerofill)
            }
            SqlType::Int { zerofill, .. } | SqlType::Decimal { zerofill, .. } => (None, *zerofill),
            _ => (None, false),
        };
        let own_charset = sql_type.collation().filter(|_| !sql_type.is_binary_string()).map(CollationId::charset);
        let convert_to = match results_charset.filter(|charset| *charset != Charset::Binary) {
            Some(results) => own_charset.map(|_| results),
            // As they are stored. What the server tells of itself is called utf8mb3 and may have any character.
            None => own_charset.filter(|own| *own != Charset::Utf8mb3),
        };
        Self {
            column_type: wire_type(column),
            decimals,
            zerofill_width: if zerofill { length(sql_type, Charset::Binary).try_into().unwrap_or(u8::MAX) } else { 0 },
            bit_bytes: if let SqlType::Bit { width } = sql_type { width.div_ceil(8).clamp(1, 8) } else { 0 },
            convert_to: convert_to.filter(|charset| !is_utf8(*charset)),
        }
    }

    fn fsp(self) -> u8 {
        self.decimals.unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowFormat {
    Text,
    Binary,
}

/// Column definitions as they were written once, as the first packets of an answer.
#[derive(Debug)]
struct KeptDefinitions {
    columns: Arc<[ColumnMeta]>,
    results_collation: Option<u16>,
    packets: Vec<u8>,
    encodings: Vec<ColumnEncoding>,
    /// Sequence id behind them.
    sequence: u8,
}

/// How many results' definitions a connection keeps.
const KEPT_DEFINITIONS_MAX: usize = 16;
/// Longest definitions that are kept.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// Writes results to one client. Its buffers are used by every statement of the connection.
#[derive(Debug)]
pub(crate) struct ClientWriter {
    pub(crate) io: PacketStream,
    pub(crate) capabilities: Capabilities,
    pub(crate) format: RowFormat,
    results_collation: Option<u16>,
    /// Whether the client has heard of VECTOR.
    knows_vectors: bool,
    columns: Vec<ColumnEncoding>,
    column_ordinal: usize,
    /// Definitions that were written before.
    kept_definitions: Vec<KeptDefinitions>,
    /// Where the open binary row is.
    position: BinaryRowPosition,
    in_row: bool,
    /// Column definitions are written but not their end: only the first row, or the end of the result set, tells
    /// whether a cursor holds the rows back.
    definitions_open: bool,
    /// Status of the last OK or EOF packet, for the EOF behind column definitions.
    last_status: StatusFlags,
    /// Where numbers are printed.
    scratch: Vec<u8>,
    session_changes: Vec<u8>,
    /// The client sends a file, whose end has not come yet.
    receiving_file: bool,
    /// An error that must wait for the end of the file.
    pending_error: Option<SqlError>,
}

impl ClientWriter {
    pub(crate) fn new(io: PacketStream, capabilities: Capabilities) -> Self {
        Self {
            io,
            capabilities,
            format: RowFormat::Text,
            results_collation: None,
            knows_vectors: true,
            columns: Vec::new(),
            column_ordinal: 0,
            kept_definitions: Vec::new(),
            position: BinaryRowPosition::default(),
            in_row: false,
            definitions_open: false,
            last_status: StatusFlags::AUTOCOMMIT,
            scratch: Vec::new(),
            session_changes: Vec::new(),
            receiving_file: false,
            pending_error: None,
        }
    }

    /// Prepares for rows of a result set whose definitions the client has already (`COM_STMT_FETCH`).
    pub(crate) fn resume_result_set(&mut self, columns: &[ColumnMeta]) {
        let results_charset = self.results_collation.map(charset_of);
        self.columns.clear();
        self.columns.extend(columns.iter().map(|column| ColumnEncoding::new(column, results_charset)));
        self.definitions_open = false;
    }

    /// Vectors are BLOBs for clients that do not know them, whose programs would take their bytes for text.
    pub(crate) fn set_knows_vectors(&mut self, knows_vectors: bool) {
        if self.knows_vectors != knows_vectors {
            self.knows_vectors = knows_vectors;
            self.kept_definitions.clear();
        }
    }

    fn definition<'c>(&self, column: &'c ColumnMeta) -> ColumnDefinition<'c> {
        let definition = definition(column, self.results_collation);
        match definition.column_type {
            ColumnType::Vector if !self.knows_vectors => {
                ColumnDefinition { column_type: ColumnType::Blob, ..definition }
            }
            _ => definition,
        }
    }

    /// Writes one column definition; names go out in the client's character set.
    pub(crate) fn write_definition(&mut self, column: &ColumnMeta) {
        let definition = self.definition(column);
        let charset = self.results_charset();
        if is_utf8(charset) {
            self.write_raw_definition(&definition);
            return;
        }
        self.write_raw_definition(&ColumnDefinition {
            schema: &encode(charset, definition.schema),
            table: &encode(charset, definition.table),
            org_table: &encode(charset, definition.org_table),
            name: &encode(charset, definition.name),
            org_name: &encode(charset, definition.org_name),
            ..definition
        });
    }

    /// The character set of names and messages.
    fn results_charset(&self) -> Charset {
        self.results_collation.map_or(Charset::Utf8mb4, charset_of)
    }

    /// Writes a definition that is not of a session's making.
    pub(crate) fn write_raw_definition(&mut self, definition: &ColumnDefinition<'_>) {
        self.io.writer.packet(|buf| definition.encode(buf));
    }

    /// Writes a definition as `COM_FIELD_LIST` wants it.
    pub(crate) fn write_definition_with_default(&mut self, column: &ColumnMeta) {
        let definition = self.definition(column);
        self.io.writer.packet(|buf| definition.encode_with_default(buf, None));
    }

    /// Ends a list of definitions for clients that still want an EOF there.
    pub(crate) fn end_definitions(&mut self) {
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let packet = OkPacket { status: self.last_status, ..OkPacket::default() };
            let capabilities = self.capabilities;
            self.io.writer.packet(|buf| packet.encode_eof(buf, capabilities));
        }
    }

    /// Writes an EOF packet, or the OK packet that stands for it.
    pub(crate) fn write_eof(&mut self, status: &StatusInfo) {
        let flags = self.note_status(status);
        let packet = OkPacket {
            status: flags,
            warning_count: status.warnings,
            session_changes: &self.session_changes,
            ..OkPacket::default()
        };
        let capabilities = self.capabilities;
        self.io.writer.packet(|buf| packet.encode_eof(buf, capabilities));
    }

    fn note_status(&mut self, status: &StatusInfo) -> StatusFlags {
        let flags = status_flags(status);
        self.last_status = flags.difference(StatusFlags::MORE_RESULTS_EXISTS | StatusFlags::LAST_ROW_SENT);
        self.session_changes.clear();
        if self.capabilities.contains(Capabilities::SESSION_TRACK) {
            encode_changes(&mut self.session_changes, &status.changes);
        }
        flags
    }

    fn close_definitions(&mut self) {
        if self.definitions_open {
            self.definitions_open = false;
            self.end_definitions();
        }
    }

    /// Reads what is left of a file that the statement did not read to its end.
    pub(crate) async fn skip_file(&mut self) -> Result<(), ReadError> {
        while self.receiving_file {
            let packet = self.io.read_reply(self.io.read_timeout).await?;
            self.receiving_file = !packet.is_empty();
        }
        if let Some(error) = self.pending_error.take() {
            self.error(&error);
        }
        Ok(())
    }

    /// The encoding of the next value; `None` past the last column, which would be a bug of the session.
    fn next_column(&mut self) -> Option<ColumnEncoding> {
        let column = self.columns.get(self.column_ordinal).copied();
        debug_assert!(column.is_some(), "more values than columns");
        self.column_ordinal += 1;
        column
    }

    fn text(&mut self) -> TextRowEncoder<'_> {
        TextRowEncoder::new(self.io.writer.open())
    }

    fn binary(&mut self, encode: impl FnOnce(&mut BinaryRowEncoder<'_>)) {
        let mut row = BinaryRowEncoder::resume(self.io.writer.open(), self.position);
        encode(&mut row);
        self.position = row.position();
    }

    /// Writes a value that is the same string in both formats.
    fn put_string(&mut self, value: &[u8]) {
        match self.format {
            RowFormat::Text => self.text().bytes(value),
            RowFormat::Binary => self.binary(|row| row.bytes(value)),
        }
    }

    fn put_integer(&mut self, column: ColumnEncoding, value: i64) {
        match self.format {
            RowFormat::Text => self.text().int(value),
            RowFormat::Binary => self.binary(|row| row.int(column.column_type, value)),
        }
    }

    /// Writes what `scratch` holds, with leading zeros up to the width.
    fn put_scratch(&mut self, zerofill_width: u8) {
        let mut text = std::mem::take(&mut self.scratch);
        let missing = usize::from(zerofill_width).saturating_sub(text.len());
        if missing > 0 && text.first() != Some(&b'-') {
            text.splice(..0, std::iter::repeat_n(b'0', missing));
        }
        self.put_string(&text);
        self.scratch = text;
    }
}

pub(crate) fn status_flags(status: &StatusInfo) -> StatusFlags {
    let mut flags = StatusFlags::EMPTY;
    flags.set(StatusFlags::IN_TRANS, status.in_transaction);
    flags.set(StatusFlags::IN_TRANS_READONLY, status.in_read_only_transaction);
    flags.set(StatusFlags::AUTOCOMMIT, status.autocommit);
    flags.set(StatusFlags::MORE_RESULTS_EXISTS, status.more_results);
    flags.set(StatusFlags::NO_BACKSLASH_ESCAPES, status.no_backslash_escapes);
    flags.set(StatusFlags::CURSOR_EXISTS, status.cursor_exists);
    flags.set(StatusFlags::LAST_ROW_SENT, status.last_row_sent);
    flags.set(StatusFlags::PS_OUT_PARAMS, status.out_parameters);
    flags.set(StatusFlags::DB_DROPPED, status.database_dropped);
    flags.set(StatusFlags::NO_INDEX_USED, status.no_index_used);
    flags
}

fn encode_changes(buf: &mut Vec<u8>, changes: &[Change]) {
    for change in changes {
        match change {
            Change::SystemVariable(name, value) => {
                SessionChange::SystemVariable { name: name.as_bytes(), value: value.as_bytes() }
            }
            Change::Schema(name) => SessionChange::Schema(name.as_bytes()),
            Change::StateChange => SessionChange::StateChange(true),
            Change::TransactionCharacteristics(text) => SessionChange::TransactionCharacteristics(text.as_bytes()),
            Change::TransactionState(text) => SessionChange::TransactionState(text.as_bytes()),
        }
        .encode(buf);
    }
}

impl RowWriter for ClientWriter {
    fn begin_row(&mut self) {
        self.close_definitions();
        self.in_row = true;
        self.column_ordinal = 0;
        let column_count = self.columns.len();
        let buf = self.io.writer.begin();
        if self.format == RowFormat::Binary {
            self.position = BinaryRowEncoder::new(buf, column_count).position();
        }
    }

    fn put_null(&mut self) {
        if self.next_column().is_some() {
            match self.format {
                RowFormat::Text => self.text().null(),
                RowFormat::Binary => self.binary(|row| row.null()),
            }
        }
    }

    fn put_int(&mut self, value: i64) {
        if let Some(column) = self.next_column() {
            self.put_integer(column, value);
        }
    }

    fn put_uint(&mut self, value: u64) {
        let Some(column) = self.next_column() else {
            return;
        };
        match (self.format, column.column_type) {
            (_, ColumnType::Bit) => {
                let bytes = value.to_be_bytes();
                self.put_string(&bytes[bytes.len() - usize::from(column.bit_bytes)..]);
            }
            (RowFormat::Text, ColumnType::Year) => self.text().uint_padded(value, 4),
            (RowFormat::Text, _) if column.zerofill_width > 0 => self.text().uint_padded(value, column.zerofill_width),
            (RowFormat::Text, _) => self.text().uint(value),
            // The bits of an unsigned integer, as wide as its column.
            (RowFormat::Binary, column_type) => self.binary(|row| row.int(column_type, value as i64)),
        }
    }

    fn put_double(&mut self, value: f64) {
        let Some(column) = self.next_column() else {
            return;
        };
        let is_float = column.column_type == ColumnType::Float;
        match (self.format, is_float) {
            (RowFormat::Binary, true) => self.binary(|row| row.float(value as f32)),
            (RowFormat::Binary, false) => self.binary(|row| row.double(value)),
            (RowFormat::Text, _) => {
                self.scratch.clear();
                match column.decimals {
                    Some(decimals) => write_fixed(value, decimals, &mut self.scratch),
                    None if is_float => write_float(value, &mut self.scratch),
                    None => write_double(value, &mut self.scratch),
                }
                self.put_scratch(column.zerofill_width);
            }
        }
    }

    fn put_decimal(&mut self, value: Decimal) {
        let Some(column) = self.next_column() else {
            return;
        };
        self.scratch.clear();
        value.write_text(&mut self.scratch);
        self.put_scratch(column.zerofill_width);
    }

    fn put_bytes(&mut self, value: &[u8]) {
        let Some(column) = self.next_column() else {
            return;
        };
        match column.convert_to {
            Some(charset) => self.put_string(&encode(charset, value)),
            None => self.put_string(value),
        }
    }

    fn put_date(&mut self, value: Date) {
        if self.next_column().is_some() {
            let (year, month, day) = (value.year(), value.month(), value.day());
            match self.format {
                RowFormat::Text => self.text().date(year, month, day),
                RowFormat::Binary => self.binary(|row| row.date(year, month, day)),
            }
        }
    }

    fn put_datetime(&mut self, value: DateTime) {
        let Some(column) = self.next_column() else {
            return;
        };
        let date = value.date();
        let (year, month, day) = (date.year(), date.month(), date.day());
        let (hour, minute, second, micros) = (value.hour(), value.minute(), value.second(), value.microsecond());
        match self.format {
            RowFormat::Text => self.text().datetime(year, month, day, hour, minute, second, micros, column.fsp()),
            RowFormat::Binary => self.binary(|row| row.datetime(year, month, day, hour, minute, second, micros)),
        }
    }

    fn put_time(&mut self, value: Time) {
        let Some(column) = self.next_column() else {
            return;
        };
        let micros = value.to_micros();
        let negative = micros < 0;
        let (seconds, micros) = (micros.unsigned_abs() / 1_000_000, (micros.unsigned_abs() % 1_000_000) as u32);
        let (hours, minute, second) = ((seconds / 3600) as u16, (seconds / 60 % 60) as u8, (seconds % 60) as u8);
        match self.format {
            RowFormat::Text => self.text().time(negative, hours, minute, second, micros, column.fsp()),
            RowFormat::Binary => self.binary(|row| row.time(negative, hours, minute, second, micros)),
        }
    }

    fn end_row(&mut self) {
        debug_assert_eq!(self.column_ordinal, self.columns.len(), "fewer values than columns");
        // A client could not read a row that lacks values; NULL is what an absent value means.
        while self.column_ordinal < self.columns.len() {
            self.put_null();
        }
        self.in_row = false;
        self.io.writer.end();
    }
}

impl ResultWriter for ClientWriter {
    fn set_results_collation(&mut self, collation: Option<u16>) {
        self.results_collation = collation;
    }

    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.io.writer.packet(|buf| encode_column_count(buf, columns.len()));
        for column in columns {
            self.write_definition(column);
        }
        self.resume_result_set(columns);
        self.definitions_open = true;
    }

    fn begin_kept_result_set(&mut self, columns: &Arc<[ColumnMeta]>) {
        let first = self.io.writer.sequence() == 1;
        let results_collation = self.results_collation;
        let known = self
            .kept_definitions
            .iter()
            .find(|kept| first && Arc::ptr_eq(&kept.columns, columns) && kept.results_collation == results_collation);
        if let Some(kept) = known {
            self.io.writer.append_packets(&kept.packets, kept.sequence);
            self.columns.clear();
            self.columns.extend_from_slice(&kept.encodings);
            self.definitions_open = true;
            return;
        }
        let start = self.io.writer.len();
        self.begin_result_set(columns);
        let packets = &self.io.writer.bytes()[start..];
        if first && packets.len() <= KEPT_BYTES_MAX {
            let packets = packets.to_vec();
            if self.kept_definitions.len() == KEPT_DEFINITIONS_MAX {
                self.kept_definitions.remove(0);
            }
            self.kept_definitions.push(KeptDefinitions {
                columns: Arc::clone(columns),
                results_collation,
                packets,
                encodings: self.columns.clone(),
                sequence: self.io.writer.sequence(),
            });
        }
    }

    fn end_result_set(&mut self, status: &StatusInfo) {
        // With a cursor the end of the definitions is also the end of the answer.
        if status.cursor_exists && self.definitions_open {
            self.definitions_open = false;
        }
        self.close_definitions();
        self.write_eof(status);
    }

    fn ok(&mut self, ok: &OkInfo, status: &StatusInfo) {
        let flags = self.note_status(status);
        let packet = OkPacket {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            status: flags,
            warning_count: status.warnings,
            info: ok.info.as_bytes(),
            session_changes: &self.session_changes,
        };
        let capabilities = self.capabilities;
        self.io.writer.packet(|buf| packet.encode(buf, capabilities));
    }

    fn error(&mut self, error: &SqlError) {
        if self.receiving_file {
            self.pending_error = Some(error.clone());
            return;
        }
        if std::mem::take(&mut self.in_row) {
            self.io.writer.abandon();
        }
        self.close_definitions();
        let charset = self.results_charset();
        let message = encode(charset, error.message.as_bytes());
        self.io.write_error_message(error, &message);
    }

    fn needs_flush(&self) -> bool {
        self.io.needs_flush()
    }

    fn flush(&mut self) -> LocalFuture<'_, io::Result<()>> {
        Box::pin(self.io.flush())
    }

    fn local_infile<'a>(&'a mut self, name: &'a str) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async move {
            if !self.capabilities.contains(Capabilities::LOCAL_FILES) {
                return Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[]));
            }
            self.io.writer.packet(|buf| encode_local_infile_request(buf, name.as_bytes()));
            self.receiving_file = true;
            Ok(())
        })
    }

    fn local_infile_chunk(&mut self) -> LocalFuture<'_, Result<Option<Vec<u8>>, SqlError>> {
        Box::pin(async move {
            if !self.receiving_file {
                return Ok(None);
            }
            let timeout = self.io.read_timeout;
            match self.io.read_reply(timeout).await {
                Ok(packet) if packet.is_empty() => {
                    self.receiving_file = false;
                    Ok(None)
                }
                Ok(packet) => Ok(Some(packet.into())),
                Err(error) => {
                    self.receiving_file = false;
                    tracing::debug!("receiving a file: {error}");
                    Err(SqlError::new(ErrorCode::NetReadInterrupted, &[]))
                }
            }
        })
    }
}
