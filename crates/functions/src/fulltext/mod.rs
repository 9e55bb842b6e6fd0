//! MATCH … AGAINST: the search, the test of a row, and its relevance.
//!
//! Reading order: [`clause`] (the parts of a search), [`search`] (a search, and the entries of an index that lead to its rows), `boolean` (the grammar of boolean
//! searches), `tokens` (the searched words in a row), [`relevance`] (InnoDB's ranking), [`kernel`] (the function).
//!
//! The rows that an index finds are checked here too, so the index may give too many.

mod boolean;
pub mod clause;
pub mod kernel;
pub mod relevance;
pub mod search;
mod tokens;

pub use kernel::{MatchKernel, Mode};
pub use search::Search;

use squall_types::CollationId;

/// How texts are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// Into words of a collation.
    Words(CollationId),
    /// Into pieces of the words of a collation.
    Ngrams(CollationId),
    /// Into the lines that a document flattens to.
    Json,
}

#[cfg(test)]
mod tests;
