//! Rules for names of databases, tables, columns, keys and constraints.

use squall_types::{ErrorCode, SqlError, SqlResult};

/// Most characters of a name.
const CHARACTERS_MAX: usize = 64;

fn check_length(name: &str) -> SqlResult<()> {
    if name.chars().count() > CHARACTERS_MAX {
        return Err(SqlError::new(ErrorCode::TooLongIdent, &[&name]));
    }
    Ok(())
}

fn is_blank_or_padded(name: &str) -> bool {
    name.is_empty() || name.ends_with(' ') || name.contains('\0')
}

/// A database's name (1102, 1059).
pub fn check_database_name(name: &str) -> SqlResult<()> {
    if is_blank_or_padded(name) {
        return Err(SqlError::new(ErrorCode::WrongDatabaseName, &[&name]));
    }
    check_length(name)
}

/// A table's or view's name (1103, 1059).
pub fn check_table_name(name: &str) -> SqlResult<()> {
    if is_blank_or_padded(name) {
        return Err(SqlError::new(ErrorCode::WrongTableName, &[&name]));
    }
    check_length(name)
}

/// A column's name (1166, 1059).
pub fn check_column_name(name: &str) -> SqlResult<()> {
    if is_blank_or_padded(name) {
        return Err(SqlError::new(ErrorCode::WrongColumnName, &[&name]));
    }
    check_length(name)
}

/// A key's name (1280, 1059); `PRIMARY` is the primary key's.
pub fn check_index_name(name: &str) -> SqlResult<()> {
    if is_blank_or_padded(name) || name.eq_ignore_ascii_case("PRIMARY") {
        return Err(SqlError::new(ErrorCode::WrongNameForIndex, &[&name]));
    }
    check_length(name)
}

/// A stored procedure's or function's name (1458, 1059).
pub fn check_routine_name(name: &str) -> SqlResult<()> {
    if is_blank_or_padded(name) {
        return Err(SqlError::new(ErrorCode::SpWrongName, &[&name]));
    }
    check_length(name)
}

/// A trigger's name (1059; a blank one is taken for that of a routine, 1458).
pub fn check_trigger_name(name: &str) -> SqlResult<()> {
    check_routine_name(name)
}

/// The name of a constraint, savepoint, prepared statement and the like (1059).
pub fn check_identifier(name: &str) -> SqlResult<()> {
    check_length(name)
}
