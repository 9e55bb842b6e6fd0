//! Runs point plans.

use super::key::{Lookup, Operand, PointAccess};
use super::order::in_order;
use crate::bind::output::OutputColumn;
use squall_accounting::PlanCounts;
use squall_catalog::{Authorized, IndexId};
use squall_column_tables::from_utc;
use squall_executor::runtime::output::{member_text, put_bytes};
use squall_registry::AggregateKernel;
use squall_row_store::{Cursor, Direction, KeyRange, ReadView, Row, Table, TableStore, Transaction, ValueRef};
use squall_statement_context::StatementContext;
use squall_types::json::printed;
use squall_types::temporal::TimeZone;
use squall_types::{RowWriter, SqlResult, SqlType, StoredBytes, Value};
use std::sync::Arc;

/// The output of the rows.
#[derive(Clone, Debug)]
pub enum Shape {
    /// They come out.
    Rows {
        /// These columns of them.
        ordinals: Vec<usize>,
        /// ORDER BY, and whether it descends.
        order: Option<(usize, bool)>,
        /// DISTINCT, of the one column.
        distinct: bool,
    },
    /// One aggregate of one column.
    Aggregate {
        /// The column.
        ordinal: usize,
        /// The aggregate.
        kernel: Arc<dyn AggregateKernel>,
    },
}

/// A query of one table by a key.
#[derive(Clone, Debug)]
pub struct PointSelect {
    database: Arc<str>,
    table: Arc<Table>,
    access: PointAccess,
    /// The index that is looked into.
    index: Option<IndexId>,
    /// LIMIT.
    limit: Option<Operand>,
    outputs: Arc<[OutputColumn]>,
    shape: Shape,
}

/// Rows that a look-up reads at a time.
const ROWS_PER_READ: usize = 256;
/// Most rows that a look-up by an index reads; what finds more is not a small statement.
const ROWS_MAX: usize = 1000 + ROWS_PER_READ;
/// Stored bytes of a range's rows, beyond which it is no short range.
const BYTES_MAX: usize = 1 << 20;
/// Rows of the first read, which tells how long they are.
const FIRST_ROWS: usize = 8;

/// A look-up with its parameters in place.
#[derive(Clone, Debug)]
pub struct PreparedLookup {
    lookup: Lookup,
    /// LIMIT.
    pub limit: usize,
}

/// The view that a point plan reads from.
pub enum PointSource<'a> {
    /// Committed rows: for a statement of its own.
    Committed(&'a dyn TableStore),
    /// A transaction.
    Transaction(&'a mut Transaction),
}

impl PointSource<'_> {
    fn get(&mut self, table: &Table, key: &[u8]) -> SqlResult<Option<Row>> {
        match self {
            PointSource::Committed(store) => store.get(table, key),
            PointSource::Transaction(transaction) => transaction.get(table, key),
        }
    }

    fn scan(&mut self, table: &Arc<Table>, range: &KeyRange) -> Cursor {
        let view: ReadView = match self {
            PointSource::Committed(store) => store.read_view(),
            PointSource::Transaction(transaction) => transaction.read_view(),
        };
        view.scan(table, range, Direction::Forward)
    }
}

impl PointSelect {
    pub(super) fn new(
        database: Arc<str>,
        table: Arc<Table>,
        access: PointAccess,
        limit: Option<Operand>,
        outputs: Vec<OutputColumn>,
        shape: Shape,
    ) -> Self {
        let index = access.index(table.def());
        PointSelect { database, table, access, index, limit, outputs: outputs.into(), shape }
    }

    /// The result's columns.
    pub fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.outputs
    }

    /// The table's database.
    pub fn database(&self) -> &Arc<str> {
        &self.database
    }

    /// Whether an aggregate comes out, which needs the statement's context.
    pub fn is_aggregate(&self) -> bool {
        matches!(self.shape, Shape::Aggregate { .. })
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Whether one row at most is read, by its whole key.
    pub fn reads_one_row(&self) -> bool {
        matches!(self.access, PointAccess::Row { .. })
    }

    /// The index that is looked into.
    pub fn index(&self) -> Option<IndexId> {
        self.index
    }

    /// Ordinals of the columns that are read, for privileges: those shown and the key's.
    pub fn columns_read(&self) -> Vec<usize> {
        let def = self.table.def();
        let mut columns = match &self.shape {
            Shape::Rows { ordinals, .. } => ordinals.clone(),
            Shape::Aggregate { ordinal, .. } => vec![*ordinal],
        };
        let key = match &self.access {
            PointAccess::Row { index, .. } | PointAccess::Prefix { index, .. } => def.indexes.get(*index),
            PointAccess::Range { .. } => def.primary_key(),
        };
        columns.extend(key.map(|key| def.index_ordinals(key)).unwrap_or_default());
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// MySQL's counters of a look-up that has read this many rows.
    pub fn counts(&self, rows: u64) -> PlanCounts {
        let mut counts = PlanCounts::default();
        if matches!(self.access, PointAccess::Range { .. }) {
            counts.ranged(true);
        }
        if let Shape::Rows { order, distinct, .. } = &self.shape {
            if order.is_some() {
                counts.sorted(rows);
            }
            counts.tmp_tables += u64::from(*distinct);
        }
        counts
    }

    /// Puts the parameters in; `None` if they are of types that need the full planner.
    pub fn prepare(&self, parameters: &[Value]) -> SqlResult<Option<PreparedLookup>> {
        let limit = match self.limit.as_ref().map(|limit| limit.integer(parameters)) {
            None => usize::MAX,
            Some(Some(limit @ 0..)) => usize::try_from(limit).unwrap_or(usize::MAX),
            Some(_) => return Ok(None),
        };
        let lookup = self.access.lookup(&self.table, parameters)?;
        Ok(lookup.map(|lookup| PreparedLookup { lookup, limit }))
    }

    /// Reads the rows; `None` if they are more than a connection's own thread should read.
    pub fn read(
        plan: Authorized<&PointSelect>,
        prepared: &PreparedLookup,
        mut source: PointSource<'_>,
    ) -> SqlResult<Option<Vec<Row>>> {
        let (shape, table) = (&plan.get().shape, &plan.get().table);
        // Without an order the first rows will do.
        let ordered = !matches!(shape, Shape::Rows { order: None, distinct: false, .. });
        let enough = if ordered { usize::MAX } else { prepared.limit };
        let range = match &prepared.lookup {
            _ if prepared.limit == 0 => return Ok(Some(Vec::new())),
            Lookup::Nothing => return Ok(Some(Vec::new())),
            // Room for one row, not for the four that a vector begins with.
            Lookup::Row(key) => return Ok(Some(source.get(table, key)?.map_or_else(Vec::new, |row| vec![row]))),
            Lookup::Range(range) => range,
        };
        let mut rows = Vec::new();
        let mut cursor = source.scan(table, range);
        let (mut bytes, mut wanted) = (0, FIRST_ROWS);
        while rows.len() < enough && cursor.next_batch(wanted.min(enough), &mut rows)? {
            bytes += rows[rows.len().saturating_sub(wanted)..].iter().map(Row::size_bytes).sum::<usize>();
            if rows.len() > ROWS_MAX || bytes > BYTES_MAX {
                return Ok(None);
            }
            wanted = ROWS_PER_READ;
        }
        rows.truncate(enough);
        Ok(Some(rows))
    }

    /// Writes what is made of the rows; says how many were written. Only aggregates need the statement's context.
    pub fn write(
        &self,
        rows: &[Row],
        limit: usize,
        context: impl FnOnce() -> Arc<StatementContext>,
        zone: &TimeZone,
        writer: &mut dyn RowWriter,
    ) -> SqlResult<u64> {
        match &self.shape {
            Shape::Rows { ordinals, order: None, distinct: false } => {
                for row in rows {
                    self.write_row(row, ordinals, zone, writer)?;
                }
                Ok(rows.len() as u64)
            }
            Shape::Rows { ordinals, order, distinct } => {
                // DISTINCT is of one column, in whose order the rows may come.
                let by = order.map(|(ordinal, _)| ordinal).or(ordinals.first().copied()).unwrap_or_default();
                let descending = order.is_some_and(|(_, descending)| descending);
                let ordered = in_order(&self.table, rows, by, descending, *distinct)?;
                let written = ordered.len().min(limit);
                for row in &ordered[..written] {
                    self.write_row(row, ordinals, zone, writer)?;
                }
                Ok(written as u64)
            }
            Shape::Aggregate { ordinal, kernel } => {
                if limit == 0 {
                    return Ok(0);
                }
                let mut state = kernel.accumulator(context());
                for row in rows {
                    let value = row.view(&self.table).get_value(*ordinal)?;
                    state.update(std::slice::from_ref(&value))?;
                }
                let value = state.evaluate()?;
                writer.begin_row();
                let sql_type = self.outputs.first().map_or(SqlType::Null, |output| output.expr_type.sql_type.clone());
                squall_executor::runtime::output::write_value(&value, &sql_type, writer);
                writer.end_row();
                Ok(1)
            }
        }
    }

    fn write_row(&self, row: &Row, ordinals: &[usize], zone: &TimeZone, writer: &mut dyn RowWriter) -> SqlResult<()> {
        let view = row.view(&self.table);
        writer.begin_row();
        for ordinal in ordinals {
            let sql_type = &self.table.def().columns[*ordinal].sql_type;
            if matches!(sql_type, SqlType::String { .. })
                && writer.take_stored(&|| stored_bytes(row, &self.table, *ordinal))?
            {
                continue;
            }
            write_stored(view.get_as_bytes(*ordinal)?, sql_type, zone, writer);
        }
        writer.end_row();
        Ok(())
    }
}

/// A string of a row, for writers that read it in pieces.
fn stored_bytes(row: &Row, table: &Arc<Table>, ordinal: usize) -> SqlResult<Option<Arc<dyn StoredBytes>>> {
    let value = row.stored_value(table, ordinal)?;
    Ok(value.map(|value| Arc::new(value) as Arc<dyn StoredBytes>))
}

/// Writes a column's value as it is stored: TIMESTAMP in UTC, ENUM and SET as numbers.
pub(crate) fn write_stored(value: ValueRef<'_>, sql_type: &SqlType, zone: &TimeZone, writer: &mut dyn RowWriter) {
    match value {
        ValueRef::Null => writer.put_null(),
        ValueRef::Int(number) => writer.put_int(number),
        ValueRef::UInt(code) if matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) => {
            writer.put_bytes(member_text(sql_type, code).as_bytes());
        }
        ValueRef::UInt(number) => writer.put_uint(number),
        ValueRef::Float(number) => writer.put_double(f64::from(number)),
        ValueRef::Double(number) => writer.put_double(number),
        ValueRef::Decimal(number) => writer.put_decimal(number),
        ValueRef::String(text) => writer.put_bytes(text.as_bytes()),
        ValueRef::Json(stored) => writer.put_bytes(printed(stored).as_bytes()),
        ValueRef::Bytes(bytes) => put_bytes(bytes, sql_type, writer),
        ValueRef::Date(date) => writer.put_date(date),
        ValueRef::DateTime(moment) if matches!(sql_type, SqlType::Timestamp { .. }) => {
            writer.put_datetime(from_utc(zone, moment));
        }
        ValueRef::DateTime(moment) => writer.put_datetime(moment),
        ValueRef::Time(time) => writer.put_time(time),
    }
}
