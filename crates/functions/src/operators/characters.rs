//! CHAR(… USING charset): bytes of numbers as characters of a set.

use crate::wrong_value::report;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::collation::Charset;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// Bytes that a warning shows.
const SHOWN_MAX: usize = 3;

/// Puts zero bytes before a value up to a multiple of this many bytes: a character of a set whose characters take two or four.
#[derive(Debug)]
pub struct PadBytesKernel {
    /// Bytes.
    pub unit: usize,
}

impl ScalarKernel for PadBytesKernel {
    fn eval(&self, arguments: &[Value], _: &StatementContext) -> SqlResult<Value> {
        let Some(Value::Bytes(bytes)) = arguments.first() else { return Ok(Value::Null) };
        let mut padded = vec![0; bytes.len().next_multiple_of(self.unit) - bytes.len()];
        padded.extend_from_slice(bytes);
        Ok(Value::Bytes(padded))
    }
}

/// Takes bytes for characters of a set. Invalid bytes give a warning (1300). Then the result is NULL, or without strict mode the
/// part before them.
#[derive(Debug)]
pub struct CharactersKernel {
    /// The set.
    pub charset: Charset,
}

impl ScalarKernel for CharactersKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(Value::Bytes(bytes)) = arguments.first() else { return Ok(Value::Null) };
        let decoded = self.charset.decode_padded(bytes);
        let Some(at) = decoded.invalid_at else { return Ok(Value::String(decoded.text.into_owned())) };
        let shown: String = bytes[at..].iter().take(SHOWN_MAX).map(|byte| format!("{byte:02X}")).collect();
        let error = SqlError::new(ErrorCode::InvalidCharacterString, &[&self.charset.name(), &shown]);
        report(error, context)?;
        if context.settings.sql_mode.is_strict() {
            return Ok(Value::Null);
        }
        Ok(Value::String(self.charset.decode(&bytes[..at]).text.into_owned()))
    }
}
