//! Covering indexes: they have all columns of a table that a small query reads, so their entries are read and no row.
//!
//! Keys have the sort keys of texts, not the texts. A text column that is only compared with a constant is equal to it in the
//! constant's range, so the constant is used instead.

use super::from::{FromClause, PlanTable};
use squall_catalog::IndexId;
use squall_executor::access::path::is_usable;
use squall_functions::expr::{BoundExpr, CompareOp, RowSource};
use squall_row_store::IndexEntry;
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// How often each column is read by the expressions of a query.
pub(super) type ColumnUses = HashMap<usize, usize>;

/// Counts the columns in expressions.
pub(super) fn column_uses<'e>(exprs: impl Iterator<Item = &'e BoundExpr>) -> ColumnUses {
    let mut uses = ColumnUses::new();
    for expr in exprs {
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                *uses.entry(column.ordinal).or_default() += 1;
            }
        });
    }
    uses
}

/// The index that a loop reads.
pub(super) struct ReadIndex {
    /// Which of the query's tables.
    pub(super) table: usize,
    /// Position of the index; `None` is the hidden order of a table without a primary key.
    pub(super) index: Option<usize>,
    pub(super) index_id: IndexId,
    pub(super) is_left_join: bool,
}

/// The columns of a table that a query reads, all of which an index has.
#[derive(Debug)]
pub(super) struct CoveringIndex {
    /// Their ordinals in the table.
    columns: Arc<[usize]>,
    sources: Vec<Source>,
    /// This many leading parts have to be equal to constants.
    pub(super) constant_parts: usize,
}

/// Where the value of a column comes from.
#[derive(Debug)]
enum Source {
    /// A part of the index.
    Part(usize),
    /// A part of the primary key, which is in every entry.
    Key(usize),
    /// The constant that the column equals.
    Constant(BoundExpr),
}

/// The columns of a row that an entry of an index has.
#[derive(Debug)]
pub(super) struct EntryRow {
    columns: Arc<[usize]>,
    values: Vec<Value>,
}

impl EntryRow {
    /// The value of a column, by its ordinal in the table.
    pub(super) fn column(&self, ordinal: usize) -> SqlResult<&Value> {
        let at = self.columns.iter().position(|column| *column == ordinal);
        let value = at.and_then(|at| self.values.get(at));
        value.ok_or_else(|| SqlError::internal("a column that its index does not have"))
    }
}

/// Whether keys give values of a type back as rows have them.
fn is_plain(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Int { zerofill: false, .. } | SqlType::Decimal { .. } | SqlType::Date | SqlType::DateTime { .. }
    )
}

impl CoveringIndex {
    /// The columns from the index of a loop; `None` if rows have to be fetched.
    pub(super) fn of(from: &FromClause, read: &ReadIndex, uses: &ColumnUses) -> Option<CoveringIndex> {
        let plan_table = &from.tables[read.table];
        let (table, def) = (&plan_table.table, plan_table.table.def());
        let index = def.indexes.get(read.index?).filter(|index| !index.primary && is_usable(index))?;
        if table.traits().reads_by_column || read.is_left_join {
            return None;
        }
        let parts = def.index_ordinals(index);
        let whole = |at: &usize| index.parts[*at].prefix.is_none();
        let reversible = table.reversible_parts(read.index_id);
        let key = def.primary_key().map_or_else(Vec::new, |key| def.index_ordinals(key));
        let key_reversible = table.reversible_parts(IndexId(0));
        let mut constant_parts = 0;
        let source = |ordinal: &usize| {
            let part = parts.iter().position(|part| part == ordinal).filter(whole);
            if is_plain(&def.columns[*ordinal].sql_type) {
                if let Some(at) = part.filter(|at| reversible.get(*at) == Some(&true)) {
                    return Some(Source::Part(at));
                }
                let at = key.iter().position(|part| part == ordinal);
                if let Some(at) = at.filter(|at| key_reversible.get(*at) == Some(&true)) {
                    return Some(Source::Key(at));
                }
            }
            // It stands nowhere but in that comparison.
            let once = uses.get(&(plan_table.first + ordinal)) == Some(&1);
            let constant = from.filters.iter().filter(|filter| filter.tables == 1 << read.table);
            let constant =
                constant.filter_map(|filter| constant_of(&filter.expr, plan_table.first + ordinal)).next()?;
            let at = part.filter(|_| once)?;
            constant_parts = constant_parts.max(at + 1);
            Some(Source::Constant(constant.clone()))
        };
        let sources = plan_table.columns.iter().map(source).collect::<Option<Vec<_>>>()?;
        Some(CoveringIndex { columns: plan_table.columns.as_slice().into(), sources, constant_parts })
    }

    /// The columns of the row that an entry is of.
    pub(super) fn row(
        &self,
        (table, index): (&PlanTable, IndexId),
        entry: &IndexEntry,
        row: &dyn RowSource,
        context: &StatementContext,
    ) -> SqlResult<EntryRow> {
        let missing = || SqlError::internal("an entry without a value that it should have");
        let part_of = |values: &[Option<Value>], at: usize| values.get(at).cloned().flatten().ok_or_else(missing);
        let parts = table.table.decode_key(index, entry.key())?;
        let mut key = None;
        let mut values = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            values.push(match source {
                Source::Part(at) => part_of(&parts, *at)?,
                Source::Constant(constant) => constant.eval(row, context)?,
                Source::Key(at) => {
                    if key.is_none() {
                        key = Some(table.table.decode_key(IndexId(0), &entry.row_key(&table.table)?)?);
                    }
                    part_of(key.as_deref().unwrap_or_default(), *at)?
                }
            });
        }
        Ok(EntryRow { columns: self.columns.clone(), values })
    }
}

/// The expression that a column equals by a condition, if it reads no column.
fn constant_of(condition: &BoundExpr, ordinal: usize) -> Option<&BoundExpr> {
    let BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } = condition else { return None };
    let is_column = |expr: &BoundExpr| matches!(expr, BoundExpr::Column(column) if column.ordinal == ordinal);
    let is_constant = |expr: &BoundExpr| {
        let mut reads = false;
        expr.visit(&mut |node| reads |= matches!(node, BoundExpr::Column(_)));
        !reads
    };
    match (&**left, &**right) {
        (column, constant) if is_column(column) && is_constant(constant) => Some(constant),
        (constant, column) if is_column(column) && is_constant(constant) => Some(constant),
        _ => None,
    }
}
