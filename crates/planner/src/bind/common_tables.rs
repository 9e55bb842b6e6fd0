//! The tables of WITH clauses that can be seen.

use squall_executor::operators::WorkTable;
use squall_parser::ast;
use squall_registry::ExprType;
use std::sync::Arc;

/// The tables of one WITH clause.
#[derive(Clone, Debug)]
pub(crate) struct CommonTableScope {
    pub(super) tables: Arc<[ast::CommonTable]>,
    pub(super) recursive: bool,
    /// How many of the tables can be seen from here: one sees those before it.
    pub(super) visible: usize,
    /// How many blocks were open around the WITH.
    pub(super) frames: usize,
    /// The table that is being bound recursively, and the plan of a reference to it.
    pub(super) work: Option<(usize, WorkReference)>,
}

/// The source of a reference to a recursive table.
#[derive(Clone, Debug)]
pub(super) struct WorkReference {
    pub(super) table: Arc<WorkTable>,
    pub(super) columns: Vec<(Arc<str>, ExprType)>,
}
