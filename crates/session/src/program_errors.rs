//! Errors of stored programs, with MySQL's numbers and texts.

use squall_parser::ast::Ident;
use squall_types::{ErrorCode, SqlError};

pub(crate) fn no_label(word: &str, label: &Ident) -> SqlError {
    SqlError::new(ErrorCode::LabelMismatch, &[&word, &label.as_str()])
}

pub(crate) fn label_redefined(label: &Ident) -> SqlError {
    SqlError::new(ErrorCode::LabelRedefined, &[&label.as_str()])
}

pub(crate) fn return_outside_function() -> SqlError {
    SqlError::new(ErrorCode::ReturnOutsideFunction, &[])
}

pub(crate) fn undefined_condition(name: &Ident) -> SqlError {
    SqlError::new(ErrorCode::UndefinedCondition, &[&name.as_str()])
}

pub(crate) fn undefined_cursor(name: &Ident) -> SqlError {
    SqlError::new(ErrorCode::UndefinedCursor, &[&name.as_str()])
}

pub(crate) fn cursor_already_open() -> SqlError {
    SqlError::new(ErrorCode::CursorAlreadyOpen, &[])
}

pub(crate) fn cursor_not_open() -> SqlError {
    SqlError::new(ErrorCode::CursorNotOpen, &[])
}

pub(crate) fn cursor_too_large(bytes_max: usize) -> SqlError {
    let message = format!("The rows of the cursor take more than {} MB of memory", bytes_max >> 20);
    SqlError::with_message(ErrorCode::OutOfResources, message)
}

pub(crate) fn undeclared_variable(name: &str) -> SqlError {
    SqlError::new(ErrorCode::UndeclaredVariable, &[&name])
}

pub(crate) fn wrong_number_of_fetch_variables() -> SqlError {
    SqlError::new(ErrorCode::WrongFetchVariables, &[])
}

pub(crate) fn no_data() -> SqlError {
    SqlError::new(ErrorCode::NoData, &[])
}

/// `code` is of a variable (1331), a condition (1332) or a cursor (1333).
pub(crate) fn duplicate(code: ErrorCode, name: &Ident) -> SqlError {
    SqlError::new(code, &[&name.as_str()])
}

pub(crate) fn case_not_found() -> SqlError {
    SqlError::new(ErrorCode::CaseNotFound, &[])
}

pub(crate) fn duplicate_handler() -> SqlError {
    SqlError::new(ErrorCode::DuplicateHandler, &[])
}

pub(crate) fn no_such_condition() -> SqlError {
    SqlError::new(ErrorCode::NoSuchCondition, &[])
}

pub(crate) fn stacked_without_handler() -> SqlError {
    SqlError::new(ErrorCode::StackedWithoutHandler, &[])
}

/// Of a condition that stands for a number.
pub(crate) fn signal_without_state() -> SqlError {
    SqlError::new(ErrorCode::SignalWithoutState, &[])
}

pub(crate) fn resignal_without_handler() -> SqlError {
    SqlError::new(ErrorCode::ResignalWithoutHandler, &[])
}
