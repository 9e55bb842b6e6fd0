//! FastBit's languages: paths, column specifications, queries, rows as text, result files.
//!
//! Everything here turns text into values or SQL text, and uses nothing else. Reading order: [`path`], [`columns`], [`query`] (lexer,
//! tree, parser, and the translation into SQL), [`row_text`], [`result_file`].
//!
//! Must not know: tables, sessions, files.

pub mod columns;
pub mod path;
pub mod query;
pub mod quote;
pub mod result_file;
pub mod row_text;
