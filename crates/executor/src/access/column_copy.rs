//! Column copies of row tables: when queries read the copy instead of the rows.

use super::filter::predicate_of;
use super::path::{COST_LOOKUP, choose};
use super::table::{KEYED_ROWS_MAX, RowTable};
use crate::env::StatementEnv;
use datafusion::logical_expr::Expr;
use squall_catalog::IndexDef;
use squall_column_tables::{COPY_CHANGES_MAX, ColumnTable};
use squall_row_store::ReadView;
use squall_types::SqlResult;
use squall_types::temporal::TimeZone;

/// Cost of one row of a scan by column, whose conditions are answered by codes and of which few columns are read; a row read in
/// the table's order costs 1.
pub(crate) const COST_COLUMN_ROW: f64 = 0.05;
/// Cost of beginning a scan by column.
pub(crate) const COST_COLUMN_SCAN: f64 = 200.0;

impl RowTable {
    /// The copy of columns, if the statement may use it: it is visible and no hint is against it, and no row is to be locked.
    pub fn copy_def(&self) -> Option<&IndexDef> {
        let indexes = self.def.indexes.iter().enumerate();
        let (_, index) = indexes.into_iter().find(|(position, index)| {
            index.is_columnar() && !index.invisible && self.hints.allows(*position) && self.lock.is_none()
        })?;
        // A hint that forces keys of rows means rows.
        (!self.hints.forced || self.hints.only.is_some()).then_some(index)
    }

    /// Whether columns, by their ordinals, can be read by column: all of a column table, those copied of others.
    pub fn has_by_column(&self, mut ordinals: impl Iterator<Item = usize>) -> bool {
        if self.table.traits().reads_by_column {
            return true;
        }
        let Some(index) = self.copy_def() else { return false };
        let copied = self.def.index_ordinals(index);
        // A copy has the primary key's columns, too, since rows are found by them.
        let key = self.def.primary_key().map(|key| self.def.index_ordinals(key)).unwrap_or_default();
        ordinals.all(|ordinal| copied.contains(&ordinal) || key.contains(&ordinal))
    }

    /// Whether a filter's columns can be read by column.
    pub fn has_columns_of(&self, filter: &Expr) -> bool {
        let ordinals: Option<Vec<usize>> =
            filter.column_refs().into_iter().map(|column| self.def.planned_column(&column.name)).collect();
        ordinals.is_some_and(|ordinals| self.has_by_column(ordinals.into_iter()))
    }

    /// Whether reading the copy is cheaper than rows along the best path for some filters, as a reader sees the table.
    /// `columns` are the ordinals of what is wanted, as far as it is known.
    pub fn prefers_copy(
        &self,
        view: &ReadView,
        filters: &[Expr],
        columns: &[usize],
        zone: &TimeZone,
    ) -> SqlResult<bool> {
        let Some(list) = ColumnTable::manifest_of_copy(view, &self.table)? else { return Ok(false) };
        let Some(copy) = ColumnTable::of_copy(&self.table) else { return Ok(false) };
        let rows: u64 = list.segments().iter().map(|segment| segment.live_rows()).sum();
        let changed = copy.delta_changes() as f64;
        if changed > COPY_CHANGES_MAX as f64 {
            return Ok(false);
        }
        let cost = COST_COLUMN_SCAN + rows as f64 * COST_COLUMN_ROW + changed * COST_LOOKUP;
        let predicate = predicate_of(&self.def, filters, zone);
        let path = choose(&*self.store, view, &self.table, &predicate, columns, &self.hints, 0.0)?;
        let few = path.ranges.is_some() && path.rows <= KEYED_ROWS_MAX;
        Ok(!path.unique && !few && cost < path.cost)
    }

    /// [`RowTable::prefers_copy`] as far as it can be told before the statement's sequence number is known.
    pub fn may_prefer_copy(&self, filters: &[Expr]) -> bool {
        // Nothing is said of columns: an index that has all of them is looked at when the scan is planned.
        let all: Vec<usize> = (0..self.def.columns.len()).collect();
        self.copy_def().is_some()
            && self.prefers_copy(&self.store.read_view(), filters, &all, &TimeZone::utc()).is_ok_and(|prefers| prefers)
    }

    /// Whether a scan of these columns under these filters goes by column.
    pub fn is_read_by_column(
        &self,
        env: &StatementEnv,
        projection: &[usize],
        filters: &[Expr],
        limit: Option<usize>,
    ) -> SqlResult<bool> {
        let (view, zone) = (env.view()?, &env.context.settings.time_zone);
        if self.lock.is_some() {
            return Ok(false);
        }
        if self.table.traits().reads_by_column {
            let predicate = predicate_of(&self.def, filters, zone);
            let path = choose(&*env.store, view, &self.table, &predicate, projection, &self.hints, 0.0)?;
            return Ok(path.ranges.is_none() || path.rows > KEYED_ROWS_MAX);
        }
        if !self.has_by_column(projection.iter().copied()) || limit.is_some_and(|limit| limit as f64 <= KEYED_ROWS_MAX)
        {
            return Ok(false);
        }
        self.prefers_copy(view, filters, projection, zone)
    }
}
