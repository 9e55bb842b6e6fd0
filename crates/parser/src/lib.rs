//! The text of MySQL's SQL: lexer, syntax tree, grammar, digest and printer. No name is looked up here.

pub mod ast;
mod digest;
mod error;
mod introduced_strings;
mod keyword;
mod lexer;
mod normalize;
mod parser;
mod printer;
mod qualified;
mod secrets;
mod token;

use ::bytes::Bytes;
use ast::{DataType, Expr, Ident, Span, Statement};
pub use digest::{Digest, digest};
pub use error::ParseError;
pub use introduced_strings::introduced_strings;
pub use keyword::keywords;
pub use normalize::{NormalizedLiteral, Normalizer};
pub use qualified::qualified_by;
pub use secrets::{
    SECRET, may_hold_secrets, may_hold_strings, message_without_secrets, placeholders, secrets, without_secrets,
};

/// The parts of sql_mode that change how text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParseOptions {
    /// ANSI_QUOTES: `"` quotes names instead of strings.
    pub ansi_quotes: bool,
    /// PIPES_AS_CONCAT: `||` joins strings instead of meaning OR.
    pub pipes_as_concat: bool,
    /// NO_BACKSLASH_ESCAPES: `\` in a string is a character like any other.
    pub no_backslash_escapes: bool,
    /// IGNORE_SPACE: spaces may stand between the name of a built-in function and its `(`.
    pub ignore_space: bool,
    /// HIGH_NOT_PRECEDENCE: `NOT` binds like `!`.
    pub high_not_precedence: bool,
    /// REAL_AS_FLOAT: `REAL` is `FLOAT` instead of `DOUBLE`.
    pub real_as_float: bool,
    /// Memory that a statement may take while it is read, bound and planned, in bytes, as far as its text tells; 3170 if
    /// it takes more.
    pub memory_max: u64,
}

/// The default of [`ParseOptions::memory_max`].
pub const PARSER_MEMORY_MAX: u64 = 256 << 20;

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            ansi_quotes: false,
            pipes_as_concat: false,
            no_backslash_escapes: false,
            ignore_space: false,
            high_not_precedence: false,
            real_as_float: false,
            memory_max: PARSER_MEMORY_MAX,
        }
    }
}

/// A statement and its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// The offset behind the statement's last token; a delimiter is not part of it.
    pub end: usize,
    /// Where the next statement begins, when another follows.
    pub rest: Option<usize>,
    /// How many `?` there are.
    pub placeholders: u32,
    /// What the statement takes of [`ParseOptions::memory_max`].
    pub memory: u64,
}

/// Parses the first statement of `sql`.
pub fn parse(sql: &str, options: &ParseOptions) -> Result<Parsed, ParseError> {
    parse_bytes(sql.as_bytes(), options)
}

/// Parses the first statement of `sql`, whose strings may hold any bytes (`_binary'…'`).
pub fn parse_bytes(sql: &[u8], options: &ParseOptions) -> Result<Parsed, ParseError> {
    parser::parse_statement(sql, None, options).map_err(|error| *error)
}

/// Parses the first statement of what follows `start` in `text`. A string that is
/// a large part of it is no copy but keeps `text`.
pub fn parse_shared(text: &Bytes, start: usize, options: &ParseOptions) -> Result<Parsed, ParseError> {
    parser::parse_statement(&text[start..], Some(text), options).map_err(|error| *error)
}

/// Parses an expression that stands alone: a stored default, check or generated column.
pub fn parse_expr(sql: &str, options: &ParseOptions) -> Result<Expr, ParseError> {
    parser::parse_alone(sql, options, |parser| parser.expr()).map_err(|error| *error)
}

/// Parses the body of a stored program that stands alone; its source.
pub fn parse_body(sql: &str, options: &ParseOptions) -> Result<(Statement, Span), ParseError> {
    parser::parse_alone(sql, options, |parser| parser.body_with_span()).map_err(|error| *error)
}

/// The language and the source of a stored routine's body, as the catalog has it; `None` for a body in SQL.
pub fn parse_external_body(sql: &str, options: &ParseOptions) -> Result<Option<(Ident, Box<str>)>, ParseError> {
    // A body in SQL cannot begin so.
    match sql.get(..LANGUAGE.len()) {
        Some(word) if word.eq_ignore_ascii_case(LANGUAGE) => {
            parser::parse_alone(sql, options, |parser| parser.external_body()).map_err(|error| *error)
        }
        _ => Ok(None),
    }
}

/// What the catalog's bodies in other languages than SQL begin with.
const LANGUAGE: &str = "LANGUAGE ";

/// Parses a data type that stands alone.
pub fn parse_data_type(sql: &str, options: &ParseOptions) -> Result<DataType, ParseError> {
    parser::parse_alone(sql, options, |parser| parser.data_type()).map_err(|error| *error)
}
