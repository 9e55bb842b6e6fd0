//! A row table as queries refer to it.

use super::column_filter::{column_predicate, element_predicate};
use super::filter::{any_word, is_sort_key};
use super::lock::TableLock;
use super::path::{AccessPath, COST_LOCK, IndexHints, TableEstimate};
use super::range::IndexRanges;
use crate::env::StatementEnv;
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use parking_lot::Mutex;
use squall_catalog::{ColumnDef, IndexDef, PartitionSet, TableDef};
use squall_column_store::predicate::Predicate;
use squall_column_tables::ColumnSnapshot;
use squall_functions::arrow_map::{expr_type_of, field_for};
use squall_functions::expr::sort_key;
use squall_functions::expr::{BoundExpr, ColumnRef, Depth, ExecutionSlot};
use squall_parser::ast;
use squall_registry::ExprType;
use squall_row_store::{Direction, Table, TableStore};
use squall_statement_context::StatementContext;
use squall_types::temporal::TimeZone;
use squall_types::{SqlResult, SqlType};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The name of the hidden column that holds a row's key, or its address ([`squall_column_tables::RowAddress`]) where it is in a segment and
/// read by column.
pub const ROW_KEY_COLUMN: &str = "_squall_row_key";

/// The name of the hidden column of a view that holds the keys of the rows of one of its tables: by the number of the table, of which a base
/// table is the first.
pub fn row_key_column(table: usize) -> String {
    match table {
        0 => ROW_KEY_COLUMN.to_owned(),
        _ => format!("{ROW_KEY_COLUMN}.{table}"),
    }
}

/// Whether a column holds keys of rows.
pub fn is_row_key_column(name: &str) -> bool {
    name.strip_prefix(ROW_KEY_COLUMN).is_some_and(|number| number.is_empty() || number.starts_with('.'))
}

/// Up to this many rows of a column table are read one by one if a key finds them.
pub const KEYED_ROWS_MAX: f64 = 256.0;

/// A snapshot of a column table, and the statement's sequence number for it.
type SeenColumns = ((u64, u64), Arc<ColumnSnapshot>);

/// One reference to a row table in one statement.
#[derive(Clone, Debug)]
pub struct RowTable {
    /// Its database.
    pub database: Arc<str>,
    /// Its name or alias in the statement.
    pub alias: Arc<str>,
    /// Its definition.
    pub def: Arc<TableDef>,
    /// FOR UPDATE, FOR SHARE.
    pub lock: Option<TableLock>,
    /// USE, IGNORE and FORCE INDEX.
    pub hints: IndexHints,
    /// PARTITION (…): nothing else is read.
    pub partitions: Option<Arc<PartitionSet>>,
    pub(super) schema: SchemaRef,
    /// The statement's snapshot of a column table.
    snapshot: Arc<Mutex<Option<SeenColumns>>>,
    /// Whether filters that can be answered by columns are left to the scan.
    pub(super) answers_filters: Arc<AtomicBool>,
    /// The store's table.
    pub table: Arc<Table>,
    /// Where it is.
    pub store: Arc<dyn TableStore>,
}

impl RowTable {
    /// A provider, if it is a table of the store.
    pub fn of(provider: &dyn TableProvider) -> Option<&RowTable> {
        (provider as &dyn Any).downcast_ref()
    }

    /// A reference to a table of the store.
    pub fn new(database: &str, alias: &str, def: Arc<TableDef>, store: Arc<dyn TableStore>) -> SqlResult<RowTable> {
        let table = store.table(&def)?;
        let mut fields = table_fields(&def);
        fields.push(Field::new(ROW_KEY_COLUMN, DataType::BinaryView, false));
        let schema = Arc::new(Schema::new(fields));
        Ok(RowTable {
            database: database.into(),
            alias: alias.into(),
            def,
            lock: None,
            hints: IndexHints::default(),
            partitions: None,
            schema,
            snapshot: Arc::default(),
            answers_filters: Arc::new(AtomicBool::new(table.traits().reads_by_column)),
            table,
            store,
        })
    }

    /// With a row lock.
    pub fn with_lock(mut self, lock: Option<TableLock>) -> RowTable {
        self.lock = lock;
        self
    }

    /// With some of its partitions.
    pub fn with_partitions(mut self, partitions: PartitionSet) -> RowTable {
        self.table = self.table.restricted(&partitions);
        self.partitions = Some(Arc::new(partitions));
        self
    }

    /// The table as a statement reads it, with those of its partitions that are meant.
    ///
    /// # Errors
    /// When the store cannot open it.
    pub fn open(&self, store: &dyn TableStore) -> SqlResult<Arc<Table>> {
        let table = store.table(&self.def)?;
        Ok(match &self.partitions {
            Some(partitions) => table.restricted(partitions),
            None => table,
        })
    }

    /// With index hints; hints that are for ORDER BY or GROUP BY alone restrict nothing here.
    pub fn with_hints(mut self, hints: &[ast::IndexHint]) -> RowTable {
        for hint in hints.iter().filter(|hint| hint.scope.is_none_or(|scope| scope == ast::IndexHintScope::Join)) {
            let positions = hint.indexes.iter().filter_map(|name| {
                self.def.indexes.iter().position(|index| squall_catalog::name::eq_ignore_case(&index.name, name))
            });
            match hint.kind {
                ast::IndexHintKind::Ignore => self.hints.ignored.extend(positions),
                kind => {
                    self.hints.only.get_or_insert_default().extend(positions);
                    self.hints.forced |= kind == ast::IndexHintKind::Force;
                }
            }
        }
        self
    }

    /// The schema of some of the columns.
    pub fn projected_schema(&self, projection: &[usize]) -> SchemaRef {
        let fields: Vec<_> =
            projection.iter().filter_map(|ordinal| self.schema.fields().get(*ordinal).cloned()).collect();
        Arc::new(Schema::new(fields))
    }

    /// Bytes that a row of these columns takes in memory, roughly.
    pub fn row_bytes(&self, projection: &[usize]) -> f64 {
        let width = |ordinal: &usize| match self.def.columns.get(*ordinal).map(|column| &column.sql_type) {
            Some(SqlType::String { length, .. }) => 16.0 + f64::from((*length).min(64)),
            Some(SqlType::Json) => 200.0,
            _ => 8.0,
        };
        projection.iter().map(width).sum::<f64>().max(1.0)
    }

    /// The orders of a path's rows that DataFusion can use: the index's order, and the order of the key parts after those that are
    /// equal to a constant. `sort_exprs` are those of [`RowTable::sort_exprs`].
    pub fn orderings(
        &self,
        path: &AccessPath,
        sort_exprs: &SortExprs,
        direction: Direction,
    ) -> Vec<Vec<PhysicalSortExpr>> {
        let constant = path.ranges.as_ref().map_or(0, |ranges| ranges.parts_constant);
        let mut orderings = vec![self.ordering_from(0, path, sort_exprs, direction)];
        if constant > 0 {
            orderings.push(self.ordering_from(constant, path, sort_exprs, direction));
        }
        orderings.retain(|ordering| !ordering.is_empty());
        orderings
    }

    fn ordering_from(
        &self,
        first: usize,
        path: &AccessPath,
        sort_exprs: &SortExprs,
        direction: Direction,
    ) -> Vec<PhysicalSortExpr> {
        let Some(index) = path.index_def(&self.def).filter(|index| !index.files_by_terms()) else { return Vec::new() };
        let backward = direction == Direction::Backward;
        let mut ordering = Vec::new();
        for part in index.parts.iter().skip(first) {
            let Some(ordinal) = self.def.ordinal(part.column) else { break };
            let Some(expr) = sort_exprs.get(&ordinal).filter(|_| part.prefix.is_none()) else { break };
            let descending = part.descending != backward;
            // NULL is the least value in every index.
            let options = SortOptions { descending, nulls_first: !descending };
            ordering.push(PhysicalSortExpr::new(expr.clone(), options));
        }
        ordering
    }

    /// For each indexed column that comes out, the expression that orders as the column's keys do: the column itself,
    /// or a text's sort key.
    pub fn sort_exprs(&self, projection: &[usize], session: &dyn Session) -> Result<SortExprs> {
        let mut exprs = SortExprs::new();
        for index in &self.def.indexes {
            for ordinal in self.def.index_ordinals(index) {
                let Some(at) = projection.iter().position(|wanted| *wanted == ordinal) else { continue };
                if exprs.contains_key(&ordinal) {
                    continue;
                }
                let column = &self.def.columns[ordinal];
                let plain: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&column.name, at));
                let expr = match &column.sql_type {
                    SqlType::String { .. } if !column.sql_type.is_binary_string() => {
                        self.sort_key(ordinal, projection, session)?
                    }
                    // Local times go back an hour once a year.
                    SqlType::Timestamp { .. } | SqlType::Json => continue,
                    _ => plain,
                };
                exprs.insert(ordinal, expr);
            }
        }
        Ok(exprs)
    }

    /// The sort key of a text column as the binder makes it.
    fn sort_key(&self, ordinal: usize, projection: &[usize], session: &dyn Session) -> Result<Arc<dyn PhysicalExpr>> {
        let column = &self.def.columns[ordinal];
        let reference = ColumnRef {
            ordinal,
            relation: None,
            name: column.name.as_str().into(),
            display: column.name.as_str().into(),
            ty: expr_type_of(&field_of(column)),
            depth: Depth::default(),
        };
        let slot = ExecutionSlot::new(Arc::new(StatementContext::default()));
        let expr = sort_key(BoundExpr::Column(Arc::new(reference))).to_datafusion(&slot)?;
        let schema = DFSchema::try_from(self.projected_schema(projection).as_ref().clone())?;
        session.create_physical_expr(expr, &schema)
    }

    /// Whether a filter is one that the scan of a column table applies itself.
    pub(super) fn answers(&self, filter: &Expr) -> bool {
        self.lock.is_none() && self.has_columns_of(filter) && column_predicate(&self.def, filter, None).is_some()
    }

    /// The index that answers a condition by its entries alone, and which entries: each row that it is true of has one of them at least, and no
    /// other row has any.
    pub(super) fn answered_by_entries(&self, filter: &Expr) -> Option<(usize, IndexRanges)> {
        let is_read_by_rows = !self.table.traits().reads_by_column && self.copy_def().is_none();
        any_word(&self.def, filter)
            .filter(|(position, _)| is_read_by_rows && self.lock.is_none() && self.hints.allows(*position))
    }

    /// The statement's snapshot of a column table; `None` if it is none. Made once for each reference and sequence number.
    pub fn column_snapshot(&self, env: &StatementEnv) -> SqlResult<Option<Arc<ColumnSnapshot>>> {
        let view = env.view()?;
        let mut kept = self.snapshot.lock();
        if let Some((seqno, snapshot)) = &*kept
            && *seqno == view.version()
        {
            return Ok(Some(snapshot.clone()));
        }
        let snapshot = ColumnSnapshot::by_columns(view, &self.table)?.map(Arc::new);
        *kept = snapshot.clone().map(|snapshot| (view.version(), snapshot));
        Ok(snapshot)
    }

    /// The condition of a filter on a column table; `None` if segments cannot answer all of it.
    pub fn column_predicate(&self, filter: &Expr, zone: &TimeZone) -> Option<Predicate> {
        column_predicate(&self.def, filter, Some(zone))
    }

    /// The part of any other filter that asks for elements of arrays, which keys of column tables find.
    pub(super) fn element_predicate(&self, filter: &Expr, zone: Option<&TimeZone>) -> Option<Predicate> {
        let usable = |index: &IndexDef| {
            let position = self.def.indexes.iter().position(|other| other.id == index.id);
            !index.invisible && position.is_some_and(|position| self.hints.allows(position))
        };
        element_predicate(&self.def, filter, zone, &usable).filter(|_| self.lock.is_none())
    }

    /// Whether an expression is the sort key of a column in the column's own collation.
    pub fn is_sort_key(&self, expr: &Expr, ordinal: usize) -> bool {
        match &self.def.columns[ordinal].sql_type {
            SqlType::String { collation, .. } => is_sort_key(expr, *collation),
            _ => false,
        }
    }

    /// A filter over all of the table's columns.
    pub fn physical_filter(&self, filter: Option<Expr>, state: &dyn Session) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let schema = DFSchema::try_from(self.schema.as_ref().clone())?;
        filter.map(|filter| state.create_physical_expr(unqualified(filter)?, &schema)).transpose()
    }

    /// Rows that have one value each in the first `parts` parts of an index.
    pub fn rows_per_key(&self, index: &IndexDef, parts: usize) -> f64 {
        TableEstimate::of(&*self.store, &self.table).rows_per_key(&*self.store, &self.table, index, parts)
    }

    /// Cost of locking one of its rows.
    pub fn lock_cost(&self) -> f64 {
        if self.lock.is_some() { COST_LOCK } else { 0.0 }
    }
}

/// A filter whose columns are those of the scan's schema.
pub fn unqualified(filter: Expr) -> Result<Expr> {
    let unqualified = filter.transform(|expr| match expr {
        Expr::Column(column) => Ok(Transformed::yes(Expr::Column(datafusion::common::Column::from_name(column.name)))),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(unqualified.data)
}

/// Expressions that order as the keys of columns do, by the column's ordinal.
pub type SortExprs = HashMap<usize, Arc<dyn PhysicalExpr>>;

/// The Arrow fields of a table's columns.
pub fn table_fields(def: &TableDef) -> Vec<Field> {
    def.columns.iter().map(field_of).collect()
}

/// The Arrow field of a column.
pub fn field_of(column: &ColumnDef) -> Field {
    let expr_type = ExprType::of_column(column.sql_type.clone(), column.nullable);
    field_for(&column.name, &expr_type)
}
