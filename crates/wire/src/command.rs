//! Commands of a client after the handshake.

use crate::bytes::{DecodeError, Reader, put_u16, put_u32};
use crate::constants::{Capabilities, command_code};
use crate::handshake::ChangeUser;
use crate::parameters::{ExecuteParameters, Parameter, decode_query_attributes};

/// One command, borrowed from its packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Command<'a> {
    /// End the connection.
    Quit,
    /// Change the default database.
    InitDb(&'a [u8]),
    /// Run statements.
    Query {
        /// Their text.
        sql: &'a [u8],
        /// Query attributes, in order.
        attributes: Vec<Parameter<'a>>,
    },
    /// Describe the columns of a table.
    FieldList {
        /// The table.
        table: &'a [u8],
        /// A LIKE pattern for the columns; empty means all.
        wildcard: &'a [u8],
    },
    /// FLUSH of what the bits say, see [`refresh`].
    Refresh(u8),
    /// Stop the server.
    Shutdown,
    /// One line about the server.
    Statistics,
    /// End another connection.
    ProcessKill(u32),
    /// Write state to the server's log.
    Debug,
    /// Are you there?
    Ping,
    /// Become another user.
    ChangeUser(ChangeUser<'a>),
    /// Forget the session's state, keep the connection.
    ResetConnection,
    /// Switch multi-statements on (0) or off (1).
    SetOption(u16),
    /// Prepare a statement.
    StmtPrepare(&'a [u8]),
    /// Execute a prepared statement.
    StmtExecute(StmtExecute<'a>),
    /// Append to a parameter of a prepared statement. Has no answer.
    StmtSendLongData {
        /// The statement.
        statement_id: u32,
        /// Position of the parameter.
        parameter_ordinal: u16,
        /// Bytes to append.
        data: &'a [u8],
    },
    /// Forget a prepared statement. Has no answer.
    StmtClose(u32),
    /// Forget a prepared statement's long data and close its cursor.
    StmtReset(u32),
    /// Send rows of a cursor.
    StmtFetch {
        /// The statement.
        statement_id: u32,
        /// How many rows at most.
        row_count: u32,
    },
    /// A command that this protocol does not have, or has no more.
    Unknown(u8),
}

/// [`Command::Refresh`]'s bits.
#[allow(missing_docs, reason = "the names say it")]
pub mod refresh {
    pub const GRANT: u8 = 1;
    pub const LOG: u8 = 2;
    pub const HOSTS: u8 = 8;
    pub const STATUS: u8 = 16;
}

/// `COM_STMT_EXECUTE`. Its parameters can only be read with the current statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtExecute<'a> {
    /// The statement.
    pub statement_id: u32,
    /// Cursor flags.
    pub flags: u8,
    /// The parameters.
    pub parameters: ExecuteParameters<'a>,
}

/// [`StmtExecute::flags`]: open a read-only cursor instead of sending the rows.
pub const CURSOR_TYPE_READ_ONLY: u8 = 0x01;

impl<'a> Command<'a> {
    /// Reads a packet that begins a command. `in_force` is what client and server agreed on.
    pub fn decode(payload: &'a [u8], in_force: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        Ok(match reader.u8()? {
            command_code::QUIT => Self::Quit,
            command_code::INIT_DB => Self::InitDb(reader.take_rest()),
            command_code::QUERY => {
                let attributes = if in_force.contains(Capabilities::QUERY_ATTRIBUTES) {
                    decode_query_attributes(&mut reader)?
                } else {
                    Vec::new()
                };
                Self::Query { sql: reader.take_rest(), attributes }
            }
            command_code::FIELD_LIST => {
                Self::FieldList { table: reader.nul_bytes_or_rest(), wildcard: reader.take_rest() }
            }
            command_code::REFRESH => Self::Refresh(reader.u8()?),
            // How (at once, or after its clients have left) was never told apart.
            command_code::SHUTDOWN => Self::Shutdown,
            command_code::STATISTICS => Self::Statistics,
            command_code::PROCESS_KILL => Self::ProcessKill(reader.u32()?),
            command_code::DEBUG => Self::Debug,
            command_code::PING => Self::Ping,
            command_code::CHANGE_USER => Self::ChangeUser(ChangeUser::decode(reader, in_force)?),
            command_code::RESET_CONNECTION => Self::ResetConnection,
            command_code::SET_OPTION => Self::SetOption(reader.u16()?),
            command_code::STMT_PREPARE => Self::StmtPrepare(reader.take_rest()),
            command_code::STMT_EXECUTE => {
                let statement_id = reader.u32()?;
                let flags = reader.u8()?;
                // The iteration count is always 1.
                reader.u32()?;
                let parameters = ExecuteParameters::new(reader.take_rest(), flags, in_force);
                Self::StmtExecute(StmtExecute { statement_id, flags, parameters })
            }
            command_code::STMT_SEND_LONG_DATA => Self::StmtSendLongData {
                statement_id: reader.u32()?,
                parameter_ordinal: reader.u16()?,
                data: reader.take_rest(),
            },
            command_code::STMT_CLOSE => Self::StmtClose(reader.u32()?),
            command_code::STMT_RESET => Self::StmtReset(reader.u32()?),
            command_code::STMT_FETCH => Self::StmtFetch { statement_id: reader.u32()?, row_count: reader.u32()? },
            code => Self::Unknown(code),
        })
    }
}

/// Appends a command that is a code and text: `QUERY`, `STMT_PREPARE`, `INIT_DB`, or a bare code with no text.
///
/// `COM_QUERY` is written without query attributes, for connections that have not agreed on them.
pub fn encode_text_command(buf: &mut Vec<u8>, code: u8, text: &[u8]) {
    buf.push(code);
    buf.extend_from_slice(text);
}

/// Appends a command about one prepared statement: `STMT_CLOSE`, `STMT_RESET`.
pub fn encode_statement_command(buf: &mut Vec<u8>, code: u8, statement_id: u32) {
    buf.push(code);
    put_u32(buf, statement_id);
}

/// Appends the head of `COM_STMT_EXECUTE`; [`encode_parameters`](crate::parameters::encode_parameters) goes behind it.
pub fn encode_stmt_execute(buf: &mut Vec<u8>, statement_id: u32, flags: u8) {
    buf.push(command_code::STMT_EXECUTE);
    put_u32(buf, statement_id);
    buf.push(flags);
    put_u32(buf, 1);
}

/// Appends `COM_STMT_SEND_LONG_DATA`.
pub fn encode_stmt_send_long_data(buf: &mut Vec<u8>, statement_id: u32, parameter_ordinal: u16, data: &[u8]) {
    buf.push(command_code::STMT_SEND_LONG_DATA);
    put_u32(buf, statement_id);
    put_u16(buf, parameter_ordinal);
    buf.extend_from_slice(data);
}

/// Appends `COM_STMT_FETCH`.
pub fn encode_stmt_fetch(buf: &mut Vec<u8>, statement_id: u32, row_count: u32) {
    buf.push(command_code::STMT_FETCH);
    put_u32(buf, statement_id);
    put_u32(buf, row_count);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parameters::BinaryValue;

    #[test]
    fn commands_are_told_apart() {
        let decode = |payload: &'static [u8]| Command::decode(payload, Capabilities::EMPTY);
        assert_eq!(decode(&[1]), Ok(Command::Quit));
        assert_eq!(decode(b"\x02shop"), Ok(Command::InitDb(b"shop")));
        assert_eq!(decode(b"\x03SELECT 1"), Ok(Command::Query { sql: b"SELECT 1", attributes: vec![] }));
        assert_eq!(decode(b"\x04t\0a%"), Ok(Command::FieldList { table: b"t", wildcard: b"a%" }));
        assert_eq!(decode(&[7, 2]), Ok(Command::Refresh(refresh::LOG)));
        assert_eq!(decode(&[8, 0]), Ok(Command::Shutdown));
        assert_eq!(decode(&[0x0c, 5, 0, 0, 0]), Ok(Command::ProcessKill(5)));
        assert_eq!(decode(&[0x0c, 5]), Err(DecodeError::Truncated));
        assert_eq!(decode(&[]), Err(DecodeError::Truncated));
        assert_eq!(decode(&[0x7f]), Ok(Command::Unknown(0x7f)));
    }

    #[test]
    fn query_attributes_stand_before_the_text() {
        let payload = b"\x03\x01\x01\x00\x01\xfd\x00\x05trace\x03abcSELECT 1";
        let Ok(Command::Query { sql, attributes }) = Command::decode(payload, Capabilities::QUERY_ATTRIBUTES) else {
            panic!("a query");
        };
        assert_eq!(sql, b"SELECT 1");
        assert_eq!(attributes.len(), 1);
        assert_eq!(attributes[0].name, b"trace");
        assert_eq!(attributes[0].value, BinaryValue::Bytes(b"abc"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            code in 0u8..0x24,
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            capabilities in any::<u32>(),
        ) {
            let mut payload = vec![code];
            payload.extend_from_slice(&bytes);
            let _ = Command::decode(&payload, Capabilities(capabilities));
            let _ = Command::decode(&bytes, Capabilities(capabilities));
        }
    }
}
