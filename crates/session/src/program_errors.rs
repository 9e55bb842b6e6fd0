//! Errors of stored programs, with MySQL's numbers and texts.

use squall_parser::ast::Ident;
use squall_types::SqlError;

fn error(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> SqlError {
    SqlError::of_parts(code, *sqlstate, message)
}

pub(crate) fn no_label(word: &str, label: &Ident) -> SqlError {
    error(1308, b"42000", format!("{word} with no matching label: {}", label.as_str()))
}

pub(crate) fn label_redefined(label: &Ident) -> SqlError {
    error(1309, b"42000", format!("Redefining label {}", label.as_str()))
}

pub(crate) fn return_outside_function() -> SqlError {
    error(1313, b"42000", "RETURN is only allowed in a FUNCTION")
}

pub(crate) fn undefined_condition(name: &Ident) -> SqlError {
    error(1319, b"42000", format!("Undefined CONDITION: {}", name.as_str()))
}

pub(crate) fn undefined_cursor(name: &Ident) -> SqlError {
    error(1324, b"42000", format!("Undefined CURSOR: {}", name.as_str()))
}

pub(crate) fn cursor_already_open() -> SqlError {
    error(1325, b"24000", "Cursor is already open")
}

pub(crate) fn cursor_not_open() -> SqlError {
    error(1326, b"24000", "Cursor is not open")
}

pub(crate) fn cursor_too_large(bytes_max: usize) -> SqlError {
    error(1041, b"HY000", format!("The rows of the cursor take more than {} MB of memory", bytes_max >> 20))
}

pub(crate) fn undeclared_variable(name: &str) -> SqlError {
    error(1327, b"42000", format!("Undeclared variable: {name}"))
}

pub(crate) fn wrong_number_of_fetch_variables() -> SqlError {
    error(1328, b"HY000", "Incorrect number of FETCH variables")
}

pub(crate) fn no_data() -> SqlError {
    error(1329, b"02000", "No data - zero rows fetched, selected, or processed")
}

/// `what` is a variable (1331), a condition (1332) or a cursor (1333).
pub(crate) fn duplicate(code: u16, what: &str, name: &Ident) -> SqlError {
    error(code, b"42000", format!("Duplicate {what}: {}", name.as_str()))
}

pub(crate) fn case_not_found() -> SqlError {
    error(1339, b"20000", "Case not found for CASE statement")
}

pub(crate) fn duplicate_handler() -> SqlError {
    error(1413, b"42000", "Duplicate handler declared in the same block")
}

pub(crate) fn no_such_condition() -> SqlError {
    error(1758, b"35000", "Invalid condition number")
}

pub(crate) fn stacked_without_handler() -> SqlError {
    error(1887, b"0Z002", "GET STACKED DIAGNOSTICS when handler not active")
}

/// Of a condition that stands for a number.
pub(crate) fn signal_without_state() -> SqlError {
    error(1646, b"HY000", "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE")
}

pub(crate) fn resignal_without_handler() -> SqlError {
    error(1645, b"0K000", "RESIGNAL when handler not active")
}
