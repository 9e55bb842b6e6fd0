//! FastBit's languages: paths, column specifications, queries, rows as text, result files.
//!
//! Everything here makes values or SQL text of text and uses nothing else. Reading order: [`path`], [`columns`], [`query`]
//! (and in it the lexer, the tree, the parser, the way into SQL), [`row_text`], [`result_file`].
//!
//! Must not know: tables, sessions, files.

pub mod columns;
pub mod path;
pub mod query;
pub mod quote;
pub mod result_file;
pub mod row_text;
