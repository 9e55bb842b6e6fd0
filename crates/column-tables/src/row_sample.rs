//! What a sample of a row table's rows tells of its columns, and of conditions on them.

use crate::columns::coded_array;
use crate::decode::{ColumnDecoder, append_column};
use squall_catalog::{IndexDef, IndexId};
use squall_column_store::predicate::{ColumnSource, Condition, DeltaColumns, matching_rows};
use squall_column_store::{CodedColumn, ColumnType};
use squall_row_store::{KeptSample, SampledRows, Table, TableStore};
use squall_types::{SqlError, SqlResult, SqlType};
use std::any::Any;
use std::sync::Arc;

/// Values that may be longer are not decoded for estimates, in characters.
const LENGTH_MAX: u32 = 1024;
/// Changes of a table's size that are none for a small one.
const ROWS_GROWN_MIN: u64 = 200;

/// A sample of a row table's rows, by columns.
#[derive(Debug)]
pub struct RowSample {
    /// Of the table's definition: a later one may have other columns.
    version: u64,
    /// The table's rows when the sample was taken.
    table_rows: u64,
    rows: usize,
    columns: DeltaColumns,
    /// By ordinal; `None` of columns whose values may be long.
    distinct: Vec<Option<f64>>,
}

impl RowSample {
    /// The sample of a table: the one that was taken last, unless the table has another definition or a tenth more or fewer rows since.
    ///
    /// # Errors
    /// Those of reading the rows.
    pub fn of(store: &dyn TableStore, table: &Arc<Table>) -> SqlResult<Arc<RowSample>> {
        let rows = store.table_stats(table).row_count;
        let kept = store.kept_sample(table).map(|kept| kept as Arc<dyn Any + Send + Sync>);
        if let Some(kept) = kept.and_then(|kept| kept.downcast::<RowSample>().ok())
            && kept.version == table.def().version
            && kept.table_rows.abs_diff(rows) <= (kept.table_rows / 10).max(ROWS_GROWN_MIN)
        {
            return Ok(kept);
        }
        let sample = Arc::new(RowSample::taken(store, &store.sample_rows(table)?, table, rows)?);
        store.keep_sample(table, sample.clone());
        Ok(sample)
    }

    fn taken(store: &dyn TableStore, sampled: &SampledRows, table: &Table, table_rows: u64) -> SqlResult<RowSample> {
        let rows = sampled.rows.len();
        let defs = &table.def().columns;
        let (mut columns, mut distinct) = (Vec::new(), vec![None; defs.len()]);
        for (ordinal, def) in defs.iter().enumerate() {
            let sql_type = &def.sql_type;
            if !is_short(sql_type) || ColumnType::of(sql_type).is_none() {
                continue;
            }
            let mut decoder = ColumnDecoder::stored(sql_type, rows);
            append_column(table, &sampled.rows, ordinal, &mut decoder)?;
            let column = Arc::new(coded_array(sql_type, decoder.finish())?);
            let by_index = || distinct_by_index(store, table, ordinal);
            distinct[ordinal] = by_index().or_else(|| distinct_values(&column, sampled, table_rows as f64));
            columns.push((ordinal, column));
        }
        let columns = DeltaColumns::of_some(rows, columns).map_err(SqlError::internal)?;
        Ok(RowSample { version: table.def().version, table_rows, rows, columns, distinct })
    }

    /// The share of the table's rows for which a condition is true, nearly; `None` if the sample does not tell. A condition that no row of
    /// the sample meets is taken to be met by half of one.
    pub fn share(&self, condition: &Condition) -> Option<f64> {
        if self.rows == 0 || condition.columns().iter().any(|ordinal| self.columns.column(*ordinal).is_err()) {
            return None;
        }
        let found = matching_rows(condition, &self.columns, None).ok()?.len() as f64;
        Some(found.max(0.5) / self.rows as f64)
    }

    /// How many different values a column has in all rows, nearly; `None` if the sample does not tell.
    pub fn distinct_values(&self, ordinal: usize) -> Option<f64> {
        self.distinct.get(ordinal).copied().flatten()
    }
}

impl KeptSample for RowSample {
    fn bytes(&self) -> usize {
        let columns = (0..self.distinct.len()).filter_map(|ordinal| self.columns.column(ordinal).ok());
        size_of::<RowSample>() + columns.map(|column| column.memory_bytes()).sum::<usize>()
    }
}

/// The different values of a column that an index begins with, as the index was last sampled.
fn distinct_by_index(store: &dyn TableStore, table: &Table, ordinal: usize) -> Option<f64> {
    let def = table.def();
    let begins = |index: &&IndexDef| {
        def.index_ordinals(index).first() == Some(&ordinal)
            && index.parts[0].prefix.is_none()
            && !index.files_by_terms()
    };
    let index = def.indexes.iter().find(begins)?;
    let id = if index.primary { IndexId(0) } else { index.id };
    let distinct = store.distinct_prefixes(table, id)?.first().copied()?;
    (distinct > 0).then_some(distinct as f64)
}

/// Whether values of a type are so short that they are decoded and kept for estimates.
pub fn is_short(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::String { length, .. } => *length <= LENGTH_MAX,
        SqlType::Json => false,
        _ => true,
    }
}

/// An estimate of the different values of a column in a whole table. The first rows of the places are independent of each other, so they
/// tell it by how many values only one of them has (estimator Duj1 of Haas and Stokes: "Estimating the number of classes in a finite
/// population", 1998). A column whose values change with every nth row of the table only has no more values than that.
fn distinct_values(column: &CodedColumn, sampled: &SampledRows, table_rows: f64) -> Option<f64> {
    let seen = column.value_counts(0..column.rows())?.len() as f64;
    if sampled.is_whole {
        return Some(seen.max(1.0));
    }
    let counts = column.value_counts(sampled.places.iter().copied())?;
    let read = counts.iter().sum::<usize>().max(1) as f64;
    let once = counts.iter().filter(|count| **count == 1).count() as f64;
    let unread = 1.0 - (read / table_rows.max(read));
    let estimated = counts.len() as f64 / (1.0 - unread * once / read).max(1.0 / table_rows.max(1.0));
    let runs = table_rows * share_of_changes(column, sampled);
    Some(estimated.min(runs).clamp(seen.max(1.0), table_rows.max(1.0)))
}

/// The share of rows that have another value than the row before them.
fn share_of_changes(column: &CodedColumn, sampled: &SampledRows) -> f64 {
    let is_first = |row: &usize| sampled.places.binary_search(row).is_ok();
    let pairs: Vec<usize> = (1..column.rows()).filter(|row| !is_first(row)).collect();
    let changes = pairs.iter().filter(|row| column.datum(**row) != column.datum(**row - 1)).count();
    changes.max(1) as f64 / pairs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of a column of so many rows whose row `n` has the value `value(n)`: 256 places of four rows.
    fn estimate(rows: usize, value: impl Fn(usize) -> i64) -> f64 {
        let places = (0..256).map(|place| place * rows / 256);
        let numbers: Vec<usize> = places.flat_map(|first| first..first + 4).collect();
        let values: Vec<i64> = numbers.iter().map(|number| value(*number)).collect();
        let places = (0..256).map(|place| 4 * place).collect();
        let sampled = SampledRows { rows: Vec::new(), places, is_whole: false };
        distinct_values(&CodedColumn::from_integers(&values, None), &sampled, rows as f64).unwrap()
    }

    fn scattered(number: usize, values: usize) -> i64 {
        let mixed = (number as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33) as i64 % values as i64
    }

    #[test]
    fn distinct_values_are_estimated() {
        let rows = 1_000_000;
        let near = |estimated: f64, values: f64, factor: f64| {
            assert!(estimated <= values * factor && estimated >= values / factor, "{estimated} of {values}");
        };
        near(estimate(rows, |_| 7), 1.0, 1.0);
        near(estimate(rows, |number| number as i64), 1e6, 1.01);
        for values in [2, 25, 200, 2_500] {
            near(estimate(rows, |number| scattered(number, values)), values as f64, 2.0);
        }
        // A value for every fourth row, in the order of the key.
        near(estimate(rows, |number| number as i64 / 4), 250_000.0, 2.0);
        // No more than a part of a large number of values can be told by so few rows, but never more values than rows.
        assert!(estimate(rows, |number| scattered(number, 100_000)) > 5_000.0);
        assert!(estimate(rows, |number| scattered(number, 900_000)) <= 1e6);
    }
}
