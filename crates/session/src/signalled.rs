//! Makes the error or warning of SIGNAL and RESIGNAL from an SQLSTATE and items.

use squall_functions::operators::coerce::to_text;
use squall_parser::ast::SignalCondition;
use squall_statement_context::StatementContext;
use squall_types::condition::ConditionItem;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// Characters of MESSAGE_TEXT.
const MESSAGE_CHARACTERS_MAX: usize = 128;

/// Characters of every other item.
const ITEM_CHARACTERS_MAX: usize = 64;

/// The items of a condition that SIGNAL may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalItem {
    /// MESSAGE_TEXT.
    MessageText,
    /// MYSQL_ERRNO.
    MysqlErrno,
    /// The items that only GET DIAGNOSTICS shows.
    Other(ConditionItem),
}

impl SignalItem {
    /// By its name in capital letters.
    pub fn of(name: &str) -> SqlResult<SignalItem> {
        match name {
            "MESSAGE_TEXT" => Ok(SignalItem::MessageText),
            "MYSQL_ERRNO" => Ok(SignalItem::MysqlErrno),
            other => ConditionItem::of_name(other)
                .map(SignalItem::Other)
                .ok_or_else(|| SqlError::unsupported(format_args!("SIGNAL … SET {other}"))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            SignalItem::MessageText => "MESSAGE_TEXT",
            SignalItem::MysqlErrno => "MYSQL_ERRNO",
            SignalItem::Other(item) => item.name(),
        }
    }

    /// Sets it.
    ///
    /// # Errors
    /// 1231 for a value that it cannot have; 1648 for a text that is too long, which is cut off with a warning (1647) where
    /// `sql_mode` is not strict.
    pub fn set(
        self,
        error: &mut SqlError,
        value: &Value,
        sql_type: &SqlType,
        context: &StatementContext,
    ) -> SqlResult<()> {
        let text = to_text(value, sql_type).map(|text| text.into_owned());
        let wrong = |value: &str| SqlError::new(ErrorCode::WrongValueForVar, &[&self.name(), &value]);
        let fitting = |characters_max: usize| {
            let text = text.clone().ok_or_else(|| wrong("NULL"))?;
            let Some((end, _)) = text.char_indices().nth(characters_max) else { return Ok(text) };
            if context.settings.sql_mode.is_strict() {
                return Err(SqlError::new(ErrorCode::CondItemTooLong, &[&self.name()]));
            }
            context.diagnostics.warn(SqlError::new(ErrorCode::CondItemTruncated, &[&self.name()]));
            Ok(text.get(..end).unwrap_or_default().to_owned())
        };
        match self {
            SignalItem::MessageText => error.message = fitting(MESSAGE_CHARACTERS_MAX)?,
            SignalItem::MysqlErrno => {
                let number = text.unwrap_or_else(|| "NULL".to_string());
                let code = number.parse().ok().filter(|code| (1..u16::MAX).contains(code));
                error.code = code.ok_or_else(|| wrong(&number))?;
            }
            SignalItem::Other(item) => error.items.set(item, fitting(ITEM_CHARACTERS_MAX)?),
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
    SqlError::of_parts(code, sqlstate, format!("Unhandled user-defined {what} condition"))
}

/// Whether a state is that of a warning.
pub(crate) fn is_warning(error: &SqlError) -> bool {
    error.sqlstate.starts_with(b"01")
}
