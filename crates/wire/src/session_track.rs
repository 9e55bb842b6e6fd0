//! Session state changes, which an OK packet carries to clients that asked for them.
//!
//! They are collected in encoded form: each change is a type byte and a length-encoded string of its parts.

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_lenenc_int};

const SYSTEM_VARIABLE: u8 = 0;
const SCHEMA: u8 = 1;
const STATE_CHANGE: u8 = 2;
const GTIDS: u8 = 3;
const TRANSACTION_CHARACTERISTICS: u8 = 4;
const TRANSACTION_STATE: u8 = 5;

/// One change of session state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// A system variable that `session_track_system_variables` names has a new value.
    SystemVariable {
        /// Its name.
        name: &'a [u8],
        /// Its value, as text.
        value: &'a [u8],
    },
    /// The default database.
    Schema(&'a [u8]),
    /// Whether anything changed that a new connection would not have (`session_track_state_change`).
    StateChange(bool),
    /// Transaction ids (`session_track_gtids`), without the specification byte.
    Gtids(&'a [u8]),
    /// The statement that would start a transaction like this one.
    TransactionCharacteristics(&'a [u8]),
    /// Eight letters that say what the open transaction did.
    TransactionState(&'a [u8]),
}

impl<'a> SessionChange<'a> {
    /// Appends the change.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        match *self {
            Self::SystemVariable { name, value } => {
                buf.push(SYSTEM_VARIABLE);
                put_lenenc_int(buf, lenenc_length(name.len()) + lenenc_length(value.len()));
                put_lenenc_bytes(buf, name);
                put_lenenc_bytes(buf, value);
            }
            Self::Schema(name) => put_nested(buf, SCHEMA, name),
            Self::StateChange(changed) => put_nested(buf, STATE_CHANGE, if changed { b"1" } else { b"0" }),
            Self::Gtids(gtids) => {
                buf.push(GTIDS);
                put_lenenc_int(buf, 1 + lenenc_length(gtids.len()));
                buf.push(0);
                put_lenenc_bytes(buf, gtids);
            }
            Self::TransactionCharacteristics(statement) => put_nested(buf, TRANSACTION_CHARACTERISTICS, statement),
            Self::TransactionState(state) => put_nested(buf, TRANSACTION_STATE, state),
        }
    }

    /// Reads all changes; those of unknown types are left out.
    pub fn decode_all(encoded: &'a [u8]) -> Result<Vec<Self>, DecodeError> {
        let mut reader = Reader::new(encoded);
        let mut changes = Vec::new();
        while !reader.is_empty() {
            let kind = reader.u8()?;
            let mut parts = Reader::new(reader.lenenc_bytes()?);
            changes.push(match kind {
                SYSTEM_VARIABLE => Self::SystemVariable { name: parts.lenenc_bytes()?, value: parts.lenenc_bytes()? },
                SCHEMA => Self::Schema(parts.lenenc_bytes()?),
                STATE_CHANGE => Self::StateChange(parts.lenenc_bytes()? == b"1"),
                GTIDS => {
                    parts.u8()?;
                    Self::Gtids(parts.lenenc_bytes()?)
                }
                TRANSACTION_CHARACTERISTICS => Self::TransactionCharacteristics(parts.lenenc_bytes()?),
                TRANSACTION_STATE => Self::TransactionState(parts.lenenc_bytes()?),
                _ => continue,
            });
        }
        Ok(changes)
    }
}

fn put_nested(buf: &mut Vec<u8>, kind: u8, value: &[u8]) {
    buf.push(kind);
    put_lenenc_int(buf, lenenc_length(value.len()));
    put_lenenc_bytes(buf, value);
}

/// Length of a length-encoded string of `length` bytes.
fn lenenc_length(length: usize) -> u64 {
    let prefix = match length {
        0..=0xfa => 1,
        0xfb..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    };
    prefix + length as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_round_trip() {
        let long = vec![b'x'; 300];
        let changes = [
            SessionChange::Schema(b"shop"),
            SessionChange::SystemVariable { name: b"autocommit", value: b"OFF" },
            SessionChange::SystemVariable { name: b"long", value: &long },
            SessionChange::StateChange(true),
            SessionChange::Gtids(b""),
            SessionChange::TransactionCharacteristics(b"START TRANSACTION READ ONLY;"),
            SessionChange::TransactionState(b"T_______"),
        ];
        let mut buf = Vec::new();
        for change in &changes {
            change.encode(&mut buf);
        }
        assert_eq!(SessionChange::decode_all(&buf).expect("changes"), changes);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = SessionChange::decode_all(&bytes);
        }
    }
}
