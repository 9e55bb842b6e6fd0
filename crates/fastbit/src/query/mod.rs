//! FastBit's query language: `[SELECT list] [FROM names] [WHERE condition] [ORDER BY list] [LIMIT [start,] count]`.
//!
//! [`parse`] turns a text into a [`Query`], and [`Query::to_sql`] turns that into SQL. Keywords have any case and are never inside
//! literals. Names and texts are quoted in the SQL, numbers are checked, and functions come from a list. So no part of the text is read
//! as SQL.

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
