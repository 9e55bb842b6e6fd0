//! The table that a path names, and the session that works on it.

use super::DATABASE;
use squall_catalog::NameKey;
use squall_fastbit::path::TablePath;
use squall_fastbit::query::{Output, Query, QueryError, SqlOptions};
use squall_fastbit::quote::{self, Dialect};
use squall_statement_context::{NestedResult, NestedStatements, StatementContext};
use squall_types::{ErrorCode, Level, SqlError, SqlMode, SqlResult, Value};

/// The user variable that the routines, not the functions, put before a path.
const DIRECTORY_VARIABLE: &str = "fbdir";
/// The user variable that [`super::files`] keeps `fb_debug`'s level in.
pub const DEBUG_VARIABLE: &str = "fb_debug";

/// The table that a path names.
#[derive(Clone, Debug)]
pub struct Place {
    path: TablePath,
    dialect: Dialect,
}

impl Place {
    /// The table of a path; `None` if it is none.
    pub fn of(path: &str, context: &StatementContext) -> Option<Place> {
        Some(Place { path: TablePath::parse(path)?, dialect: dialect(context) })
    }

    /// The same for a routine: `@fbdir`, if it is set, is put before the path.
    pub fn of_routine(path: &str, context: &StatementContext) -> Option<Place> {
        let directory = match context.user_variables.lock().get(&NameKey::new(DIRECTORY_VARIABLE)) {
            Some((Value::String(directory), _)) if !directory.is_empty() => Some(directory.clone()),
            _ => None,
        };
        match directory {
            Some(directory) => Place::of(&format!("{directory}/{path}"), context),
            None => Place::of(path, context),
        }
    }

    /// The path.
    pub fn path(&self) -> &TablePath {
        &self.path
    }

    /// The table as SQL names it: `` `fastbit`.`name` ``.
    pub fn table(&self) -> String {
        format!("{}.{}", quote::name(DATABASE), quote::name(&self.path.table_name()))
    }

    /// How texts are written.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// A query as SQL.
    ///
    /// # Errors
    /// If it asks for what is not there.
    pub fn sql(&self, query: &Query, output: Output<'_>) -> Result<String, QueryError> {
        query.to_sql(&self.options(&self.table()), output)
    }

    /// A query's condition as SQL.
    ///
    /// # Errors
    /// If it is more than a condition.
    pub fn condition_sql(&self, query: &Query) -> Result<String, QueryError> {
        query.condition_sql(&self.options(&self.table()))
    }

    fn options<'a>(&'a self, table: &'a str) -> SqlOptions<'a> {
        SqlOptions { table, partition: self.path.last(), dialect: self.dialect }
    }
}

/// How texts are written for a session.
pub fn dialect(context: &StatementContext) -> Dialect {
    Dialect { no_backslash_escapes: context.settings.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES) }
}

/// The session's way into SQL.
pub fn nested(context: &StatementContext) -> SqlResult<&dyn NestedStatements> {
    context.nested.as_deref().ok_or_else(|| SqlError::internal("a FastBit function outside of a session"))
}

/// Runs SQL in a session of its own and gives what its last statement answered.
pub fn run(sql: &str, context: &StatementContext) -> SqlResult<NestedResult> {
    if let Some((Value::Int(1..), _)) = context.user_variables.lock().get(&NameKey::new(DEBUG_VARIABLE)) {
        context.diagnostics.push(Level::Note, SqlError::with_message(ErrorCode::UnknownError, sql.to_string()));
    }
    Ok(nested(context)?.run(sql, context)?.pop().unwrap_or_default())
}

/// Whether an error means that the statement around has to fail, rather than that the answer is a code: the account may
/// not, or the statement was ended.
pub fn is_fatal(error: &SqlError) -> bool {
    const FATAL: [ErrorCode; 10] = [
        ErrorCode::AccessDenied,
        ErrorCode::DbAccessDenied,
        ErrorCode::TableAccessDenied,
        ErrorCode::ColumnAccessDenied,
        ErrorCode::OptionPreventsStatement,
        ErrorCode::ReadOnlyTransaction,
        ErrorCode::QueryInterrupted,
        ErrorCode::QueryTimeout,
        ErrorCode::SpNoRecursion,
        ErrorCode::UnknownError,
    ];
    FATAL.iter().any(|fatal| fatal.number() == error.code)
}

/// Whether an error says that there is no such table, or that none can have the name.
pub fn is_no_table(error: &SqlError) -> bool {
    let codes = [ErrorCode::NoSuchTable, ErrorCode::BadTable, ErrorCode::WrongTableName, ErrorCode::TooLongIdent];
    codes.iter().any(|code| code.number() == error.code)
}

/// Adds a warning and gives the code that is the answer.
pub fn refuse(code: i64, reason: SqlError, context: &StatementContext) -> Value {
    context.diagnostics.warn(reason);
    Value::Int(code)
}

/// A query's fault as a warning or error.
pub fn query_fault(error: &QueryError) -> SqlError {
    SqlError::with_message(ErrorCode::WrongArguments, error.to_string())
}

/// A path that names no table.
pub fn no_table(path: &str) -> SqlError {
    SqlError::with_message(ErrorCode::NoSuchTable, format!("There is no bitmap table '{path}'"))
}

/// A query read, or its fault.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    squall_fastbit::query::parse(text)
}
