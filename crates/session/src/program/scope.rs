//! Blocks that a program is in, and their cursors.

use squall_accounting::GrowingCharge;
use squall_parser::ast::{Declaration, Ident, Statement};
use squall_types::{SqlType, Value};
use std::sync::Arc;

/// A block that the program is in.
pub(super) struct Scope<'a> {
    pub declarations: &'a [Declaration],
    pub cursors: Vec<Cursor<'a>>,
    /// One of its handlers runs.
    pub is_handling: bool,
}

/// A cursor that a block has declared.
pub(super) struct Cursor<'a> {
    pub name: &'a Ident,
    pub statement: &'a Statement,
    /// While it is open.
    pub rows: Option<CursorRows>,
}

/// The rows of an open cursor.
pub(super) struct CursorRows {
    /// Those that were not fetched yet.
    pub left: std::vec::IntoIter<Vec<Value>>,
    pub types: Arc<[SqlType]>,
    /// The charge of all of them, until the cursor is closed.
    _charge: Option<GrowingCharge>,
}

impl CursorRows {
    /// Of all rows, with their charge.
    pub fn new(rows: Vec<Vec<Value>>, types: Arc<[SqlType]>, charge: Option<GrowingCharge>) -> CursorRows {
        CursorRows { left: rows.into_iter(), types, _charge: charge }
    }
}

impl<'a> Scope<'a> {
    pub fn new(declarations: &'a [Declaration]) -> Self {
        let cursor = |declaration: &'a Declaration| match declaration {
            Declaration::Cursor { name, statement } => Some(Cursor { name, statement, rows: None }),
            _ => None,
        };
        Scope { declarations, cursors: declarations.iter().filter_map(cursor).collect(), is_handling: false }
    }
}
