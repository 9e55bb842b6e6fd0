//! Values that were written are read back unchanged, by us and by the plain Parquet reader.

use crate::generate::{Column, column, write_and_open};
use arrow::array::{Array, ArrayRef, Int64Array, StringViewArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use squall_column_store::coded::CodedValues;
use squall_column_store::index::IndexChoice;
use squall_column_store::segment::{ROW_GROUP_ROWS, remove_unlisted_segments};
use squall_column_store::{CodedColumn, ColumnType, Segment};
use squall_types::Date;
use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;

fn whole(parts: &[ArrayRef]) -> ArrayRef {
    concat(&parts.iter().map(|part| &**part).collect::<Vec<&dyn Array>>()).expect("parts of one type")
}

/// Columns as read equal columns as written, as arrays and through codes.
fn assert_equal(segment: &Segment, columns: &[Column]) {
    for (ordinal, column) in columns.iter().enumerate() {
        let rows = 0..segment.rows() as u32;
        let coded = segment.column(ordinal).expect("the column is read");
        let decoded = coded.to_array(column.column_type, rows.clone()).expect("codes are of the column's type");
        assert_eq!(&decoded, &column.array, "column {ordinal} through codes");
        if !matches!(column.column_type, ColumnType::Text | ColumnType::Bytes) {
            let read = segment.arrays(ordinal).expect("the column is read");
            assert_eq!(&whole(&read), &column.array, "column {ordinal} as arrays");
        }
        let delta = CodedColumn::from_arrays(column.column_type, std::slice::from_ref(&column.array)).expect("codes");
        for row in rows {
            assert_eq!(delta.datum(row as usize), coded.datum(row as usize));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_columns(columns in (1..300usize).prop_flat_map(|rows| prop::collection::vec(column(rows), 1..6))) {
        let folder = tempfile::tempdir().unwrap();
        let segment = write_and_open(&folder.path().join("s.parquet"), &columns);
        assert_equal(&segment, &columns);
        segment.check().unwrap();
    }
}

fn int_column(column_type: ColumnType, values: Vec<Option<i64>>) -> Column {
    Column { column_type, array: Arc::new(Int64Array::from(values)), index: IndexChoice::Auto }
}

#[test]
fn many_row_groups_and_zones() {
    let rows = 2 * ROW_GROUP_ROWS + 1000;
    let text: StringViewArray = (0..rows).map(|row| (row % 7 > 0).then(|| format!("value {}", row % 1000))).collect();
    let columns = [
        int_column(ColumnType::Signed(8), (0..rows as i64).map(Some).collect()),
        int_column(ColumnType::Signed(4), (0..rows as i64).map(|row| (row % 3 > 0).then_some(row % 100)).collect()),
        Column { column_type: ColumnType::Text, array: Arc::new(text), index: IndexChoice::Bitmap },
    ];
    let folder = tempfile::tempdir().unwrap();
    let segment = write_and_open(&folder.path().join("s.parquet"), &columns);
    assert_equal(&segment, &columns);
    assert_eq!(segment.zone_map(0).zones.len(), 5);
    assert_eq!(segment.zone_map(1).null_count(), rows.div_ceil(3) as u64);
    assert!(segment.has_index(2));
    assert_eq!(segment.column_ordinal(11), Some(1));
    assert_eq!(segment.column_ordinal(99), None);
}

#[test]
fn dates_are_narrow_codes() {
    let day = |day: i64| Date::from_day_number(730_000 + day).unwrap().at_midnight().to_packed();
    let coded = CodedColumn::from_integers(&(0..2500).map(day).collect::<Vec<_>>(), None);
    let CodedValues::Integers(integers) = coded.values() else { panic!("dates are integers") };
    assert_eq!(integers.codes.bits(), 16);
}

/// Other readers see Parquet's own types, with the same values.
#[test]
fn the_plain_reader_sees_dates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let day = |year, month, day| Date::from_parts(year, month, day).unwrap().at_midnight().to_packed();
    let columns = [
        int_column(ColumnType::Date, vec![Some(day(2024, 2, 29)), None]),
        int_column(ColumnType::Date, vec![Some(day(2024, 0, 0)), Some(day(2024, 2, 29))]),
        int_column(ColumnType::DateTime, vec![Some(day(1970, 1, 2)), None]),
        int_column(ColumnType::Time, vec![Some(1_000_000), Some(-1)]),
        int_column(ColumnType::Signed(2), vec![Some(-5), Some(5)]),
    ];
    let segment = write_and_open(&path, &columns);
    assert_equal(&segment, &columns);
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let raw = builder.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(raw.iter().any(|entry| entry.key == "squall.raw_columns" && entry.value.as_deref() == Some("c1,c3")));
    let batch = builder.build().unwrap().next().unwrap().unwrap();
    let types: Vec<DataType> = batch.columns().iter().map(|column| column.data_type().clone()).collect();
    let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
    assert_eq!(types, [DataType::Date32, DataType::Int64, moment, DataType::Int64, DataType::Int16]);
    let text = |column: usize| arrow::util::display::array_value_to_string(batch.column(column), 0).unwrap();
    assert_eq!([text(0), text(2), text(4)], ["2024-02-29", "1970-01-02T00:00:00", "-5"]);
}

#[test]
fn files_without_an_entry_go() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["1.parquet", "2.parquet", "notes.txt"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let listed = HashSet::from(["2.parquet".as_ref()]);
    assert_eq!(remove_unlisted_segments(folder.path(), &listed).unwrap(), 1);
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["2.parquet", "notes.txt"]);
}
