//! The stored text of views.

use squall_catalog::{AccountKey, Invoker, ViewDef};
use squall_parser::ast::{Query, Statement};
use squall_parser::{ParseError, ParseOptions};
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult};

/// Parses a view's query as the sql_mode of its creation says.
///
/// # Errors
/// 1356 if its text is none, which only a damaged catalog has.
pub fn parse(view: &ViewDef, database: &str) -> SqlResult<Query> {
    let options = parse_options(SqlMode(view.sql_mode));
    match parse_text(&view.query, &options) {
        Some(query) => Ok(query),
        None => Err(SqlError::new(ErrorCode::ViewInvalid, &[&database, &view.name])),
    }
}

/// Parses a query that the server has written for a statement of that sql_mode.
///
/// # Errors
/// The parser's error.
pub fn parse_query(text: &str, mode: SqlMode) -> SqlResult<Query> {
    match squall_parser::parse(text, &parse_options(mode)).map(|parsed| parsed.statement) {
        Ok(Statement::Query(query)) => Ok(*query),
        Ok(_) => Err(SqlError::internal("a statement of the server's own that is no query")),
        Err(error) => Err(parse_error(error)),
    }
}

/// The parser's error as one of a statement.
pub fn parse_error(error: ParseError) -> SqlError {
    let sqlstate = error.sqlstate.as_bytes().try_into().unwrap_or(*b"HY000");
    SqlError::of_parts(error.code, sqlstate, error.message)
}

fn parse_text(text: &str, options: &ParseOptions) -> Option<Query> {
    match self::parse_statement(text, options)? {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
}

fn parse_statement(text: &str, options: &ParseOptions) -> Option<Statement> {
    squall_parser::parse(text, options).ok().map(|parsed| parsed.statement)
}

/// The parser's options by sql_mode.
pub fn parse_options(mode: SqlMode) -> ParseOptions {
    ParseOptions {
        ansi_quotes: mode.contains(SqlMode::ANSI_QUOTES),
        pipes_as_concat: mode.contains(SqlMode::PIPES_AS_CONCAT),
        no_backslash_escapes: mode.contains(SqlMode::NO_BACKSLASH_ESCAPES),
        ignore_space: mode.contains(SqlMode::IGNORE_SPACE),
        high_not_precedence: mode.contains(SqlMode::HIGH_NOT_PRECEDENCE),
        real_as_float: mode.contains(SqlMode::REAL_AS_FLOAT),
        ..ParseOptions::default()
    }
}

/// The account that uses the tables inside of a view, for a statement that uses the view as `outside`.
pub(crate) fn invoker_inside(view: &ViewDef, outside: &Invoker) -> Invoker {
    if view.security_invoker {
        return outside.clone();
    }
    let (user, host) = view.definer.rsplit_once('@').unwrap_or((&view.definer, ""));
    Invoker::Definer(AccountKey::new(user, host))
}
