//! The part of a store that plans and changes use.

use crate::{
    BulkLoad, KeptSample, Nearest, ReadView, Row, RowStore, SampledRows, Table, TableStatistics, Transaction,
    TransactionOptions,
};
use squall_catalog::{IndexId, TableDef};
use squall_types::SqlResult;
use std::fmt::Debug;
use std::sync::Arc;

/// Tables with their statistics, views of them, and new rows: what the planner and access paths ask of a store. Files, recovery,
/// definitions and background work are [`RowStore`]'s alone.
pub trait TableStore: Debug + Send + Sync {
    /// See [`RowStore::table`].
    ///
    /// # Errors
    /// 1412 if the definition is not the current one; 1286 if the table's engine is missing.
    fn table(&self, def: &Arc<TableDef>) -> SqlResult<Arc<Table>>;

    /// See [`RowStore::table_stats`].
    fn table_stats(&self, table: &Table) -> TableStatistics;

    /// See [`RowStore::distinct_prefixes`].
    fn distinct_prefixes(&self, table: &Table, index: IndexId) -> Option<Vec<u64>>;

    /// See [`RowStore::sample_rows`].
    ///
    /// # Errors
    /// Those of reading the rows.
    fn sample_rows(&self, table: &Arc<Table>) -> SqlResult<SampledRows>;

    /// See [`RowStore::kept_sample`].
    fn kept_sample(&self, table: &Table) -> Option<Arc<dyn KeptSample>>;

    /// See [`RowStore::keep_sample`].
    fn keep_sample(&self, table: &Table, sample: Arc<dyn KeptSample>);

    /// See [`RowStore::read_view`].
    fn read_view(&self) -> ReadView;

    /// See [`RowStore::get`].
    ///
    /// # Errors
    /// Those of reading files.
    fn get(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Row>>;

    /// Keys of up to `width` rows of a view whose vectors are nearest to one, by a vector index; `None` if all rows have to be read. The
    /// rows that the view has at these keys are those to be measured.
    ///
    /// # Errors
    /// Those of reading the writes of the view's transaction.
    fn nearest(
        &self,
        view: &ReadView,
        table: &Arc<Table>,
        index: IndexId,
        vector: &[u8],
        width: usize,
    ) -> SqlResult<Option<Nearest>>;

    /// See [`RowStore::next_auto_increment`].
    fn next_auto_increment(&self, table: &Table, count: u64) -> u64;

    /// See [`RowStore::bulk_load`].
    fn bulk_load(&self, table: &Arc<Table>) -> BulkLoad;

    /// A transaction of a session, or of none. See [`RowStore::begin_with`].
    fn begin_with(&self, options: TransactionOptions, session: Option<u64>) -> Transaction;

    /// The same store, for one who keeps it longer than a call.
    fn shared(&self) -> Arc<dyn TableStore>;
}

impl TableStore for RowStore {
    fn table(&self, def: &Arc<TableDef>) -> SqlResult<Arc<Table>> {
        RowStore::table(self, def)
    }

    fn table_stats(&self, table: &Table) -> TableStatistics {
        RowStore::table_stats(self, table)
    }

    fn distinct_prefixes(&self, table: &Table, index: IndexId) -> Option<Vec<u64>> {
        RowStore::distinct_prefixes(self, table, index)
    }

    fn sample_rows(&self, table: &Arc<Table>) -> SqlResult<SampledRows> {
        RowStore::sample_rows(self, table)
    }

    fn kept_sample(&self, table: &Table) -> Option<Arc<dyn KeptSample>> {
        RowStore::kept_sample(self, table)
    }

    fn keep_sample(&self, table: &Table, sample: Arc<dyn KeptSample>) {
        RowStore::keep_sample(self, table, sample);
    }

    fn read_view(&self) -> ReadView {
        RowStore::read_view(self)
    }

    fn get(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Row>> {
        RowStore::get(self, table, key)
    }

    fn nearest(
        &self,
        view: &ReadView,
        table: &Arc<Table>,
        index: IndexId,
        vector: &[u8],
        width: usize,
    ) -> SqlResult<Option<Nearest>> {
        view.nearest(self, table, index, vector, width)
    }

    fn next_auto_increment(&self, table: &Table, count: u64) -> u64 {
        RowStore::next_auto_increment(self, table, count)
    }

    fn bulk_load(&self, table: &Arc<Table>) -> BulkLoad {
        RowStore::bulk_load(self, table)
    }

    fn begin_with(&self, options: TransactionOptions, session: Option<u64>) -> Transaction {
        RowStore::begin_with(self, options, session)
    }

    fn shared(&self) -> Arc<dyn TableStore> {
        Arc::new(self.clone())
    }
}
