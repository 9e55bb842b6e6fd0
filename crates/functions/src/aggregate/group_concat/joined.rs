//! The buffer that GROUP_CONCAT joins texts in.

use squall_statement_context::StatementContext;
use squall_types::convert::{write_int, write_text, write_uint};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::{Arc, OnceLock};

/// The longest text that is joined, bytes, whatever the settings say.
const BYTES_MAX: u64 = 1 << 30;

/// How texts are joined: the same for every group of a call.
#[derive(Clone, Debug)]
pub struct Joining {
    /// Stands between two texts.
    pub separator: Vec<u8>,
    /// `group_concat_max_len` or `max_allowed_packet`, bytes; at most [`BYTES_MAX`].
    pub bytes_max: usize,
    /// Whether byte strings are joined, which are cut anywhere; texts are cut between two characters.
    pub binary: bool,
    /// Where warnings go.
    pub context: Arc<StatementContext>,
    /// The error of what was cut, in a statement that stores only whole values.
    refused: Arc<OnceLock<SqlError>>,
}

impl Joining {
    /// Of values of a type, with what the statement says of lengths.
    pub fn new(separator: &str, source: &SqlType, context: Arc<StatementContext>) -> Self {
        let settings = &context.settings;
        let bytes_max = settings.group_concat_max_len.min(settings.max_allowed_packet).min(BYTES_MAX) as usize;
        Self {
            separator: separator.as_bytes().to_vec(),
            bytes_max,
            binary: source.is_binary_string(),
            context,
            refused: Arc::default(),
        }
    }

    /// Checks that nothing was cut that has to be whole.
    ///
    /// # Errors
    /// 1260 where values that do not fit are errors.
    pub fn check(&self) -> SqlResult<()> {
        self.refused.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// Something that is appended as text.
pub trait Piece {
    /// Appends it.
    fn append_to(self, out: &mut Vec<u8>);
}

impl Piece for &[u8] {
    fn append_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl Piece for i64 {
    fn append_to(self, out: &mut Vec<u8>) {
        write_int(self, out);
    }
}

impl Piece for u64 {
    fn append_to(self, out: &mut Vec<u8>) {
        write_uint(self, out);
    }
}

/// A value that is written as its type says.
impl Piece for (Value, &SqlType) {
    fn append_to(self, out: &mut Vec<u8>) {
        write_text(&self.0, self.1, out);
    }
}

/// Texts joined so far, cut at `group_concat_max_len`.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    /// The text.
    pub bytes: Vec<u8>,
    /// How many texts came, those behind the cut too.
    pub rows: u64,
    /// Whether something was left out.
    pub cut: bool,
}

impl Joined {
    /// Appends a text.
    #[inline]
    pub fn push(&mut self, piece: impl Piece, joining: &Joining) {
        self.rows += 1;
        if self.cut {
            return;
        }
        if self.rows > 1 {
            match *joining.separator.as_slice() {
                // A byte is appended faster than a slice of one.
                [separator] => self.bytes.push(separator),
                _ => self.bytes.extend_from_slice(&joining.separator),
            }
        }
        piece.append_to(&mut self.bytes);
        if self.bytes.len() > joining.bytes_max {
            self.cut_at(joining.bytes_max, joining);
        }
    }

    /// Appends what another state joined of the rows after this one's.
    pub fn append(&mut self, other: &JoinedRef<'_>, joining: &Joining) {
        if other.rows == 0 {
            return;
        }
        let warned = self.cut;
        self.push(other.bytes, joining);
        self.rows += other.rows - 1;
        // What was cut before had its warning then.
        self.cut |= warned || other.cut;
    }

    fn cut_at(&mut self, bytes_max: usize, joining: &Joining) {
        self.cut = true;
        let mut end = bytes_max;
        // Not within a character: UTF-8's continuation bytes are 10xxxxxx.
        while !joining.binary && end > 0 && self.bytes[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        self.bytes.truncate(end);
        let error = SqlError::new(ErrorCode::WarnCutValueGroupConcat, &[&self.rows]);
        match joining.context.strict_write {
            // The first one is told.
            true => _ = joining.refused.set(error),
            false => joining.context.diagnostics.warn(error),
        }
    }

    /// The text as a value; NULL if no text came.
    pub fn value(&self, joining: &Joining) -> Value {
        if self.rows == 0 {
            return Value::Null;
        }
        if joining.binary {
            return Value::Bytes(self.bytes.clone());
        }
        Value::String(text_of(self.bytes.clone()))
    }
}

/// The bytes are UTF-8, unless texts are mixed with byte strings: then invalid bytes are replaced.
pub fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// What a state says of itself to another.
#[derive(Clone, Copy, Debug)]
pub struct JoinedRef<'a> {
    /// See [`Joined`].
    pub bytes: &'a [u8],
    /// See [`Joined`].
    pub rows: u64,
    /// See [`Joined`].
    pub cut: bool,
}

impl<'a> JoinedRef<'a> {
    /// Whether it was cut, rows, and the rest is the text.
    const HEADER_BYTES: usize = 9;

    /// As bytes, for the operator that merges states.
    pub fn encode(&self) -> Vec<u8> {
        let mut state = Vec::with_capacity(Self::HEADER_BYTES + self.bytes.len());
        state.push(u8::from(self.cut));
        state.extend_from_slice(&self.rows.to_le_bytes());
        state.extend_from_slice(self.bytes);
        state
    }

    /// Out of [`JoinedRef::encode`]'s bytes.
    pub fn decode(state: &'a [u8]) -> Result<Self, SqlError> {
        let broken = || SqlError::internal("a broken state of an aggregate");
        let (cut, rest) = state.split_first().ok_or_else(broken)?;
        let (rows, bytes) = rest.split_first_chunk().ok_or_else(broken)?;
        Ok(Self { bytes, rows: u64::from_le_bytes(*rows), cut: *cut != 0 })
    }
}
