//! Answers: OK, ERR, EOF, the head of a result set, the answer to a prepare, the request for a local file.

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_lenenc_int, put_u16, put_u32};
use crate::constants::{Capabilities, StatusFlags};

/// First byte of an OK packet.
pub const OK_HEADER: u8 = 0x00;
/// First byte of an ERR packet.
pub const ERR_HEADER: u8 = 0xff;
/// First byte of an EOF packet, and of the OK packet that ends a result set in its place.
pub const EOF_HEADER: u8 = 0xfe;
/// First byte of a request for a local file.
pub const LOCAL_INFILE_HEADER: u8 = 0xfb;

/// A statement is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket<'a> {
    /// Rows changed (or found, see [`Capabilities::FOUND_ROWS`]).
    pub affected_rows: u64,
    /// First generated AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// State after the statement.
    pub status: StatusFlags,
    /// How many warnings `SHOW WARNINGS` has.
    pub warning_count: u16,
    /// For people, such as `Records: 3  Duplicates: 0  Warnings: 0`.
    pub info: &'a [u8],
    /// Encoded [`SessionChange`](crate::session_track::SessionChange)s; only sent with
    /// [`StatusFlags::SESSION_STATE_CHANGED`], which encoding sets when there are any.
    pub session_changes: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>, in_force: Capabilities) {
        self.encode_with_header(buf, OK_HEADER, in_force);
    }

    /// Appends the end of a result set or of its column definitions: an OK packet in disguise when the client is past
    /// EOF packets, else an EOF packet.
    pub fn encode_eof(&self, buf: &mut Vec<u8>, in_force: Capabilities) {
        if in_force.contains(Capabilities::DEPRECATE_EOF) {
            self.encode_with_header(buf, EOF_HEADER, in_force);
        } else {
            EofPacket { warning_count: self.warning_count, status: self.status }.encode(buf);
        }
    }

    fn encode_with_header(&self, buf: &mut Vec<u8>, header: u8, in_force: Capabilities) {
        let tracked = in_force.contains(Capabilities::SESSION_TRACK) && !self.session_changes.is_empty();
        let mut status = self.status;
        status.set(StatusFlags::SESSION_STATE_CHANGED, tracked);
        buf.push(header);
        put_lenenc_int(buf, self.affected_rows);
        put_lenenc_int(buf, self.last_insert_id);
        put_u16(buf, status.bits());
        put_u16(buf, self.warning_count);
        if tracked {
            put_lenenc_bytes(buf, self.info);
            put_lenenc_bytes(buf, self.session_changes);
        } else if !self.info.is_empty() {
            put_lenenc_bytes(buf, self.info);
        }
    }

    /// Reads the payload; the header may be either of the two.
    pub fn decode(payload: &'a [u8], in_force: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if !matches!(reader.u8()?, OK_HEADER | EOF_HEADER) {
            return Err(DecodeError::Malformed("OK packet"));
        }
        let affected_rows = reader.lenenc_int()?;
        let last_insert_id = reader.lenenc_int()?;
        let status = StatusFlags(reader.u16()?);
        let warning_count = reader.u16()?;
        let info = if reader.is_empty() { b"" } else { reader.lenenc_bytes()? };
        let tracked = in_force.contains(Capabilities::SESSION_TRACK)
            && status.contains(StatusFlags::SESSION_STATE_CHANGED)
            && !reader.is_empty();
        let session_changes = if tracked { reader.lenenc_bytes()? } else { b"" };
        Ok(Self { affected_rows, last_insert_id, status, warning_count, info, session_changes })
    }
}

/// The end of column definitions or of a result set, for clients that still know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EofPacket {
    /// How many warnings `SHOW WARNINGS` has.
    pub warning_count: u16,
    /// State after the statement.
    pub status: StatusFlags,
}

impl EofPacket {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        buf.push(EOF_HEADER);
        put_u16(buf, self.warning_count);
        put_u16(buf, self.status.bits());
    }

    /// Reads the payload.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != EOF_HEADER {
            return Err(DecodeError::Malformed("EOF packet"));
        }
        Ok(Self { warning_count: reader.u16()?, status: StatusFlags(reader.u16()?) })
    }
}

/// Whether a packet among rows ends them. A row may begin with the same byte, but is then longer than 16 MB.
pub fn ends_rows(payload: &[u8], in_force: Capabilities) -> bool {
    let length_max = if in_force.contains(Capabilities::DEPRECATE_EOF) { 0xff_ffff } else { 9 };
    payload.first() == Some(&EOF_HEADER) && payload.len() < length_max
}

/// A statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE.
    pub sqlstate: [u8; 5],
    /// For people.
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        buf.push(ERR_HEADER);
        put_u16(buf, self.code);
        buf.push(b'#');
        buf.extend_from_slice(&self.sqlstate);
        buf.extend_from_slice(self.message);
    }

    /// Appends the payload as it is before the client has said what it can do: without a SQLSTATE.
    pub fn encode_before_handshake(&self, buf: &mut Vec<u8>) {
        buf.push(ERR_HEADER);
        put_u16(buf, self.code);
        buf.extend_from_slice(self.message);
    }

    /// Reads the payload, with or without a SQLSTATE.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != ERR_HEADER {
            return Err(DecodeError::Malformed("ERR packet"));
        }
        let code = reader.u16()?;
        let mut sqlstate = *b"HY000";
        if reader.peek() == Some(b'#') {
            reader.u8()?;
            sqlstate.copy_from_slice(reader.take(5)?);
        }
        Ok(Self { code, sqlstate, message: reader.take_rest() })
    }
}

/// Appends the head of a result set.
pub fn encode_column_count(buf: &mut Vec<u8>, column_count: usize) {
    put_lenenc_int(buf, column_count as u64);
}

/// Appends the request for a file of the client.
pub fn encode_local_infile_request(buf: &mut Vec<u8>, file_name: &[u8]) {
    buf.push(LOCAL_INFILE_HEADER);
    buf.extend_from_slice(file_name);
}

/// The head of the answer to `COM_STMT_PREPARE`; definitions of parameters and of columns follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement.
    pub statement_id: u32,
    /// Columns of its result set; 0 when it has none.
    pub column_count: u16,
    /// Parameters.
    pub parameter_count: u16,
    /// Warnings of preparing.
    pub warning_count: u16,
}

impl PrepareOk {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        buf.push(OK_HEADER);
        put_u32(buf, self.statement_id);
        put_u16(buf, self.column_count);
        put_u16(buf, self.parameter_count);
        buf.push(0);
        put_u16(buf, self.warning_count);
    }

    /// Reads the payload.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != OK_HEADER {
            return Err(DecodeError::Malformed("answer to a prepare"));
        }
        let statement_id = reader.u32()?;
        let column_count = reader.u16()?;
        let parameter_count = reader.u16()?;
        reader.u8()?;
        Ok(Self { statement_id, column_count, parameter_count, warning_count: reader.u16()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session_track::SessionChange;

    #[test]
    fn ok_round_trips_in_every_form() {
        let mut changes = Vec::new();
        SessionChange::Schema(b"shop").encode(&mut changes);
        let plain = OkPacket {
            affected_rows: 3,
            last_insert_id: 1 << 40,
            status: StatusFlags::AUTOCOMMIT,
            warning_count: 2,
            info: b"Records: 3",
            session_changes: b"",
        };
        let mut buf = Vec::new();
        plain.encode(&mut buf, Capabilities::EMPTY);
        assert_eq!(OkPacket::decode(&buf, Capabilities::EMPTY), Ok(plain));

        let tracked = OkPacket { session_changes: &changes, ..plain };
        let mut buf = Vec::new();
        tracked.encode(&mut buf, Capabilities::SESSION_TRACK);
        let decoded = OkPacket::decode(&buf, Capabilities::SESSION_TRACK).expect("an OK packet");
        assert_eq!(decoded.session_changes, changes);
        assert!(decoded.status.contains(StatusFlags::SESSION_STATE_CHANGED));

        let mut buf = Vec::new();
        plain.encode_eof(&mut buf, Capabilities::EMPTY);
        assert_eq!(EofPacket::decode(&buf), Ok(EofPacket { warning_count: 2, status: StatusFlags::AUTOCOMMIT }));
        assert!(ends_rows(&buf, Capabilities::EMPTY));
        let mut buf = Vec::new();
        plain.encode_eof(&mut buf, Capabilities::DEPRECATE_EOF);
        assert_eq!(OkPacket::decode(&buf, Capabilities::DEPRECATE_EOF), Ok(plain));
        assert!(ends_rows(&buf, Capabilities::DEPRECATE_EOF));
    }

    #[test]
    fn err_round_trips() {
        let err = ErrPacket { code: 1064, sqlstate: *b"42000", message: b"You have an error" };
        let mut buf = Vec::new();
        err.encode(&mut buf);
        assert_eq!(ErrPacket::decode(&buf), Ok(err));
        let mut buf = Vec::new();
        err.encode_before_handshake(&mut buf);
        assert_eq!(ErrPacket::decode(&buf), Ok(ErrPacket { sqlstate: *b"HY000", ..err }));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), capabilities in any::<u32>()) {
            let capabilities = Capabilities(capabilities);
            let _ = OkPacket::decode(&bytes, capabilities);
            let _ = EofPacket::decode(&bytes);
            let _ = ErrPacket::decode(&bytes);
            let _ = PrepareOk::decode(&bytes);
            let _ = ends_rows(&bytes, capabilities);
        }
    }
}
