//! Writes new versions of segment rows into new segments.

use super::super::DmlContext;
use super::super::plan::NewValue;
use super::super::rules::DefaultRule;
use super::super::target::Target;
use super::chunk::SegmentChunk;
use super::{indexed_columns, note_columns};
use arrow::array::{ArrayRef, UInt32Array};
use squall_catalog::TableDef;
use squall_column_tables::{BulkChange, ColumnSnapshot, SEGMENT_BYTES_MAX};
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_functions::expr::BoundExpr;
use squall_row_store::StoreResult;
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;

/// An UPDATE of a table under way.
pub struct SegmentUpdate<'a> {
    pub target: &'a Target,
    pub snapshot: Arc<ColumnSnapshot>,
    /// By ordinal: whether anything reads the column.
    pub columns: Vec<bool>,
    /// The columns that get other values.
    changing: Vec<usize>,
    /// Those that indexes have entries of, if any of them changes.
    indexed: Vec<usize>,
    change: BulkChange,
    /// By segment.
    pending: Vec<Pending>,
    /// About what all that is pending takes.
    pending_bytes: usize,
}

impl<'a> SegmentUpdate<'a> {
    /// `assigned` columns and those that follow from them get other values; `also_read` is read for that.
    pub fn new<'e>(
        target: &'a Target,
        snapshot: Arc<ColumnSnapshot>,
        change: BulkChange,
        assigned: &[usize],
        also_read: impl Iterator<Item = &'e BoundExpr>,
    ) -> SegmentUpdate<'a> {
        let changing = target.rules.changing_columns(assigned);
        let indexed = indexed_columns(target.def());
        let indexed = if changing.iter().any(|ordinal| indexed.contains(ordinal)) { indexed } else { Vec::new() };
        let mut columns = vec![false; target.def().columns.len()];
        changing.iter().chain(&indexed).for_each(|ordinal| columns[*ordinal] = true);
        let rules = &target.rules;
        let checks = rules.checks.iter().map(|(_, check)| check);
        let checks = checks.chain(target.view.iter().flat_map(|view| &view.checks));
        let generated = rules.generated.iter().map(|(_, expr)| expr);
        checks.chain(generated).for_each(|expr| note_columns(expr, &mut columns));
        also_read.for_each(|expr| note_columns(expr, &mut columns));
        let pending = snapshot.segments.iter().map(|_| Pending::new(target.def(), &changing)).collect();
        SegmentUpdate { target, snapshot, columns, changing, indexed, change, pending, pending_bytes: 0 }
    }

    /// Whether entries of indexes change, for which a row's key has to be known.
    pub fn changes_entries(&self) -> bool {
        !self.indexed.is_empty()
    }

    /// Gives a row of a chunk other values, which have been checked; `key` is its storage key, if entries change.
    pub fn put(
        &mut self,
        context: &mut DmlContext<'_>,
        chunk: &SegmentChunk<'_>,
        (row, key): (usize, Option<&[u8]>),
        updated: &[Value],
    ) -> StoreResult<()> {
        let stored = self.target.stored_row(updated, &context.env.context.settings.time_zone);
        if self.changes_entries() {
            let key = key.ok_or_else(|| SqlError::internal("a row without its key"))?;
            let old = chunk.stored(row)?;
            let mut new = old.clone();
            self.changing.iter().for_each(|ordinal| new[*ordinal] = stored[*ordinal].clone());
            context.transaction.change_entries(&self.target.table, key, &old, &new)?;
        }
        let at = chunk.rows()[row];
        self.pending_bytes += self.pending[at.segment].push(at.position, &stored)?;
        if self.pending_bytes >= SEGMENT_BYTES_MAX {
            let greatest = (0..self.pending.len()).max_by_key(|segment| self.pending[*segment].bytes);
            greatest.map_or(Ok(()), |segment| self.write(segment))?;
        }
        Ok(())
    }

    /// Makes a segment of the new versions of rows of a segment.
    pub fn write(&mut self, segment: usize) -> SqlResult<()> {
        let pending = std::mem::replace(&mut self.pending[segment], Pending::new(self.target.def(), &self.changing));
        self.pending_bytes -= pending.bytes;
        pending.write(&mut self.change, &self.snapshot, segment)
    }

    /// Makes the list that has all new versions; gives how many.
    pub fn finish(mut self, context: &mut DmlContext<'_>) -> StoreResult<u64> {
        for segment in 0..self.pending.len() {
            context.env.context.kill.check()?;
            self.write(segment)?;
        }
        let changed = self.change.rows();
        context.transaction.change_list(&self.target.table, self.change.finish())?;
        Ok(changed)
    }
}

/// New versions of rows of one segment.
struct Pending {
    positions: Vec<u32>,
    columns: Vec<(usize, ValueArrayBuilder)>,
    /// About what the new values take.
    bytes: usize,
}

impl Pending {
    fn new(def: &TableDef, changing: &[usize]) -> Pending {
        let builder = |ordinal: &usize| (*ordinal, ValueArrayBuilder::new(&def.columns[*ordinal].sql_type, 0));
        Pending { positions: Vec::new(), columns: changing.iter().map(builder).collect(), bytes: 0 }
    }

    /// Gives about how many bytes it takes.
    fn push(&mut self, position: u32, row: &[Value]) -> SqlResult<usize> {
        self.positions.push(position);
        let mut bytes = 0;
        for (ordinal, builder) in &mut self.columns {
            builder.append(&row[*ordinal])?;
            bytes += value_bytes(&row[*ordinal]);
        }
        self.bytes += bytes;
        Ok(bytes)
    }

    fn write(self, change: &mut BulkChange, snapshot: &ColumnSnapshot, segment: usize) -> SqlResult<()> {
        if self.positions.is_empty() {
            return Ok(());
        }
        let columns = self.columns.into_iter().map(|(ordinal, mut builder)| (ordinal, builder.finish()));
        let mut columns: Vec<(usize, ArrayRef)> = columns.collect();
        let mut positions = self.positions;
        if !positions.is_sorted() {
            let mut order: Vec<u32> = (0..positions.len() as u32).collect();
            order.sort_unstable_by_key(|at| positions[*at as usize]);
            positions.sort_unstable();
            let order = UInt32Array::from(order);
            for (_, array) in &mut columns {
                *array = arrow::compute::take(array, &order, None).map_err(SqlError::internal)?;
            }
        }
        change.replace(snapshot, &snapshot.segments[segment].segment, &positions, columns)
    }
}

/// About what a value takes in memory.
pub fn value_bytes(value: &Value) -> usize {
    let beside = match value {
        Value::String(text) => text.len(),
        Value::Json(document) => document.stored().len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    size_of::<Value>() + beside
}

/// The columns that a DEFAULT reads.
pub fn default_expr<'a>(target: &'a Target, column: usize, value: &'a NewValue) -> Option<&'a BoundExpr> {
    match value {
        NewValue::Expr(expr) => Some(expr),
        NewValue::Default => match &target.rules.defaults[column] {
            DefaultRule::Expr(expr) => Some(expr),
            DefaultRule::None | DefaultRule::Value(_) | DefaultRule::Now => None,
        },
    }
}

/// Whether a statement goes on after an error of one row, of which it warns.
pub fn is_passed_over(context: &DmlContext<'_>, ignore: bool, result: StoreResult<()>) -> StoreResult<()> {
    match result {
        Err(error) if ignore && super::super::ignorable(&error) => {
            context.env.context.diagnostics.warn(error.into());
            Ok(())
        }
        other => other,
    }
}
