//! Scans of tables of the store, as DataFusion asks for them.

use super::chosen_path::{ChosenPath, filters_of_values};
use super::column_filter::column_predicate;
use super::column_scan::ColumnScanExec;
use super::filter::predicate_of;
use super::path::{AccessPath, choose};
use super::scan::RowScanExec;
use super::scan_conditions::ScanConditions;
use super::table::{RowTable, unqualified};
use crate::env::StatementEnv;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics, stats::Precision};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExecBuilder;
use squall_column_store::predicate::Predicate;
use squall_functions::expr::datafusion_error;
use squall_row_store::Direction;
use squall_types::SqlResult;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl RowTable {
    /// The scan by column, unless the table has none, rows are locked or known by their keys, or reading rows is
    /// cheaper.
    fn column_scan(
        &self,
        state: &dyn Session,
        env: &StatementEnv,
        projection: &Arc<[usize]>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !self.is_read_by_column(env, projection, filters, limit).map_err(datafusion_error)? {
            return Ok(None);
        }
        let zone = &env.context.settings.time_zone;
        let snapshot = self.column_snapshot(env).map_err(datafusion_error)?;
        let Some(snapshot) = snapshot else { return Ok(None) };
        let by_column = filters.iter().filter(|filter| self.has_columns_of(filter));
        let asked = |filter: &Expr| {
            column_predicate(&self.def, filter, Some(zone)).or_else(|| self.element_predicate(filter, Some(zone)))
        };
        let conditions: Vec<_> = by_column.filter_map(asked).collect();
        let fetch = limit.filter(|_| filters.iter().all(|filter| self.answers(filter)));
        let is_asked = |filter: &&Expr| self.answers(filter) || self.element_predicate(filter, None).is_some();
        let shown = conjunction(filters.iter().filter(is_asked).cloned());
        let shown = self.physical_filter(shown, state)?;
        let partitions = state.config().target_partitions();
        let source = Arc::new(self.clone());
        let condition = Predicate::And(conditions);
        let scan = ColumnScanExec::new(source, snapshot, projection.clone(), &condition, shown, fetch, partitions);
        Ok(Some(Arc::new(scan)))
    }

    /// The scan of rows along the cheapest path.
    fn row_scan(
        &self,
        state: &dyn Session,
        env: &StatementEnv,
        projection: Arc<[usize]>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<RowScanExec> {
        let path = self.choose_path(env, &projection, filters).map_err(datafusion_error)?;
        let chosen = ChosenPath::new(filters, &path);
        let sort_exprs = Arc::new(self.sort_exprs(&projection, state)?);
        let scan = RowScanExec::new(Arc::new(self.clone()), path, projection, sort_exprs, Direction::Forward, limit);
        let view = env.view().map_err(datafusion_error)?;
        let conditions = ScanConditions::new(self, &filters_of_values(filters), &env.context.settings.time_zone);
        let scan = scan.chosen_by(chosen).below(Arc::new(conditions));
        scan.split(view, &self.table, state.config().target_partitions()).map_err(datafusion_error)
    }

    /// The cheapest way to read the rows that satisfy the conditions, with the values that parameters have now.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(super) fn choose_path(
        &self,
        env: &StatementEnv,
        projection: &[usize],
        filters: &[Expr],
    ) -> SqlResult<AccessPath> {
        let filters = filters_of_values(filters);
        let predicate = predicate_of(&self.def, &filters, &env.context.settings.time_zone);
        let columns = self.needed_columns(projection);
        choose(&*env.store, env.view()?, &self.table, &predicate, &columns, &self.hints, self.lock_cost())
    }

    fn needed_columns(&self, projection: &[usize]) -> Vec<usize> {
        // An index alone gives neither the row's key nor a lock on the row, so both need what no index has.
        let mut columns = projection.to_vec();
        if self.lock.is_some() {
            columns.push(usize::MAX);
        }
        columns
    }
}

#[async_trait]
impl TableProvider for RowTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Filters only choose the ranges to read. The filter above the scan decides whether a row qualifies, except for conditions
        // that a column table evaluates. A copy of columns answers them where it may be read; if rows are read after all, the scan
        // applies them itself.
        if self.copy_def().is_some()
            && self.may_prefer_copy(&filters.iter().map(|filter| (*filter).clone()).collect::<Vec<_>>())
        {
            self.answers_filters.store(true, Ordering::Release);
        }
        let by_column = self.answers_filters.load(Ordering::Acquire);
        let support = |filter: &&Expr| match by_column && self.answers(filter) {
            true => TableProviderFilterPushDown::Exact,
            // If another way of reading is cheaper, the scan applies it, too.
            false if self.answered_by_entries(filter).is_some() => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(support).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        let rows = self.store.table_stats(&self.table).row_count;
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = Precision::Inexact(usize::try_from(rows).unwrap_or(usize::MAX));
        Some(statistics)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let env = StatementEnv::of(state.config())?;
        let projection: Arc<[usize]> = match projection {
            Some(projection) => projection.as_slice().into(),
            None => (0..self.schema.fields().len()).collect(),
        };
        if let Some(scan) = self.column_scan(state, &env, &projection, filters, limit)? {
            return Ok(scan);
        }
        let left_to_scan = self.answers_filters.load(Ordering::Acquire);
        let answered = filters
            .iter()
            .filter(|filter| (left_to_scan && self.answers(filter)) || self.answered_by_entries(filter).is_some());
        let answered: Vec<Expr> = answered.cloned().collect();
        // A limit is passed down only where no filter stands in between.
        let limit = limit.filter(|_| answered.len() == filters.len());
        if answered.is_empty() {
            return Ok(Arc::new(self.row_scan(state, &env, projection, filters, limit)?));
        }
        if let [only] = answered.as_slice()
            && let Some((position, ranges)) = self.answered_by_entries(only)
        {
            let scan = self.row_scan(state, &env, projection.clone(), filters, limit)?;
            if scan.path.index == Some(position) && scan.path.ranges.as_ref() == Some(&ranges) {
                return Ok(Arc::new(scan.answering()));
            }
        }
        // No operator above the scan applies these or has asked for their columns.
        let mut wider = projection.to_vec();
        for column in answered.iter().flat_map(Expr::column_refs) {
            let ordinal = self.schema.index_of(&column.name)?;
            if !wider.contains(&ordinal) {
                wider.push(ordinal);
            }
        }
        let scan = self.row_scan(state, &env, wider.into(), filters, None)?;
        let Some(condition) = conjunction(answered) else { return Ok(Arc::new(scan)) };
        let condition = unqualified(condition)?;
        let condition = state.create_physical_expr(condition, &DFSchema::try_from(scan.schema().as_ref().clone())?)?;
        let wanted: Vec<usize> = (0..projection.len()).collect();
        let filter = FilterExecBuilder::new(condition, Arc::new(scan)).apply_projection(Some(wanted))?.build()?;
        Ok(Arc::new(filter))
    }
}
