//! What SIGNAL and RESIGNAL make of a state and what they set.

use squall_functions::operators::coerce::to_text;
use squall_parser::ast::SignalCondition;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// Characters of MESSAGE_TEXT; more are cut off.
const MESSAGE_CHARACTERS_MAX: usize = 128;

/// What SIGNAL may set of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalItem {
    /// MESSAGE_TEXT.
    MessageText,
    /// MYSQL_ERRNO.
    MysqlErrno,
}

impl SignalItem {
    /// By its name in capital letters (1235 for one that only GET DIAGNOSTICS would show).
    pub fn of(name: &str) -> SqlResult<SignalItem> {
        match name {
            "MESSAGE_TEXT" => Ok(SignalItem::MessageText),
            "MYSQL_ERRNO" => Ok(SignalItem::MysqlErrno),
            other => Err(SqlError::unsupported(format_args!("SIGNAL … SET {other}"))),
        }
    }

    /// Sets it.
    ///
    /// # Errors
    /// 1231 for a value that it cannot have.
    pub fn set(self, error: &mut SqlError, value: &Value, sql_type: &SqlType) -> SqlResult<()> {
        let text = to_text(value, sql_type).map(|text| text.into_owned());
        let wrong = |name: &str, value: &str| SqlError::new(ErrorCode::WrongValueForVar, &[&name, &value]);
        match self {
            SignalItem::MessageText => {
                let text = text.ok_or_else(|| wrong("MESSAGE_TEXT", "NULL"))?;
                error.message = text.chars().take(MESSAGE_CHARACTERS_MAX).collect();
            }
            SignalItem::MysqlErrno => {
                let number = text.unwrap_or_else(|| "NULL".to_string());
                let code = number.parse().ok().filter(|code| (1..u16::MAX).contains(code));
                error.code = code.ok_or_else(|| wrong("MYSQL_ERRNO", &number))?;
            }
        }
        Ok(())
    }
}

/// The state that a condition says, if it is no name.
pub(crate) fn state_of(condition: &SignalCondition) -> Option<[u8; 5]> {
    let SignalCondition::SqlState(state) = condition else { return None };
    let mut sqlstate = *b"45000";
    sqlstate.copy_from_slice(state.as_bytes().get(..5).unwrap_or(b"45000"));
    Some(sqlstate)
}

/// The number and the words of a state that says no more.
pub(crate) fn unhandled(sqlstate: [u8; 5]) -> SqlError {
    let (code, what) = match &sqlstate[..2] {
        b"01" => (1642, "warning"),
        b"02" => (1643, "not found"),
        _ => (1644, "exception"),
    };
    SqlError { code, sqlstate, message: format!("Unhandled user-defined {what} condition") }
}

/// Whether a state is that of a warning.
pub(crate) fn is_warning(error: &SqlError) -> bool {
    error.sqlstate.starts_with(b"01")
}
