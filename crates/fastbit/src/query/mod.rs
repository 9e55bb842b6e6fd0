//! FastBit's query language: `[SELECT list] [FROM names] [WHERE condition] [ORDER BY list] [LIMIT [start,] count]`.
//!
//! [`parse`] makes a [`Query`] of a text, [`Query::to_sql`] SQL text of that. Keywords are known in any case and never within
//! literals; names and texts reach the SQL quoted, numbers as they were checked to be numbers, and functions by a list, so no
//! part of the text is read as SQL.

mod functions;
mod lexer;
mod parser;
mod sql;
#[cfg(test)]
mod tests;
mod tree;

pub use parser::parse;
pub use sql::{Output, SqlOptions};
pub use tree::{Query, QueryError};
