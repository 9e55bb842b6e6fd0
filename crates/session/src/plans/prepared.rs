//! A prepared statement: it was parsed once.

use crate::plans::long_statement::LongStatement;
use crate::result::writer::ColumnMeta;
use bytes::Bytes;
use squall_instrumentation::prepared::PreparedUse;
use squall_parser::ast::Statement;
use squall_parser::{Digest, ParseOptions};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A statement that was parsed once. Cheap to clone: sessions that share one have a copy each, so that none counts
/// references where another does.
#[derive(Clone, Debug)]
pub struct PreparedStatement {
    /// Its text.
    pub sql: Bytes,
    /// Its tree.
    pub(crate) statement: StatementTree,
    /// How many `?` it has.
    pub placeholders: u32,
    /// Columns of its result, empty if it has none.
    pub columns: Arc<[ColumnMeta]>,
    /// How its text was read.
    pub options: ParseOptions,
    /// The positions of its `?`, once a caller has asked.
    pub places: OnceLock<Box<[usize]>>,
    /// Its digest, once it has run.
    pub digest: OnceLock<Arc<Digest>>,
    /// Whether its text may have secrets, once a caller has asked.
    pub may_hold_secrets: OnceLock<bool>,
    /// Where its executions are counted, once it is one that a client has prepared.
    pub(crate) counted: OnceLock<Arc<PreparedUse>>,
}

/// The tree of a prepared statement, shared by its copies.
#[derive(Clone, Debug)]
pub(crate) enum StatementTree {
    Short(Arc<Statement>),
    /// Bound on the query pool, and dropped there.
    Long(Arc<LongStatement>),
}

impl StatementTree {
    /// The statement, if it is long.
    pub fn long(&self) -> Option<&Arc<LongStatement>> {
        match self {
            StatementTree::Short(_) => None,
            StatementTree::Long(long) => Some(long),
        }
    }
}

impl Deref for StatementTree {
    type Target = Statement;

    fn deref(&self) -> &Statement {
        match self {
            StatementTree::Short(statement) => statement,
            StatementTree::Long(long) => long.statement(),
        }
    }
}

impl PreparedStatement {
    /// Its digest.
    pub fn digest(&self) -> &Arc<Digest> {
        self.digest.get_or_init(|| match self.statement.long() {
            Some(long) => long.digest().clone(),
            None => Arc::new(squall_parser::digest(&self.sql, &self.options)),
        })
    }

    /// Whether its text has anything that looks like a secret.
    pub fn may_hold_secrets(&self) -> bool {
        *self
            .may_hold_secrets
            .get_or_init(|| squall_parser::may_hold_strings(&self.sql) && squall_parser::may_hold_secrets(&self.sql))
    }

    /// Where the `?` are in the text.
    pub fn places(&self) -> &[usize] {
        self.places.get_or_init(|| squall_parser::placeholders(&self.sql, &self.options).into())
    }
}
