//! DuckDB, pandas and Spark read a segment as it is.

use crate::generate::{Column, specs};
use arrow::array::{
    ArrayRef, BinaryViewArray, Decimal128Array, Float64Array, Int64Array, StringViewArray, UInt64Array,
};
use squall_column_store::index::IndexChoice;
use squall_column_store::{ColumnType, SegmentWriter};
use squall_types::{Date, DateTime};
use std::process::Command;
use std::sync::Arc;

fn integers(values: [Option<i64>; 3]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn decimals(precision: u8, scale: i8, values: [Option<i128>; 3]) -> ArrayRef {
    let array = Decimal128Array::from(values.to_vec());
    Arc::new(array.with_precision_and_scale(precision, scale).expect("the digits fit"))
}

/// Columns whose values `read_segment.py` lists, too: Spark reads the same.
fn columns() -> Vec<(&'static str, ColumnType, ArrayRef)> {
    let day = |year, month, day| Date::from_parts(year, month, day).expect("a date");
    let packed = |date: Date, micros| DateTime::from_date_and_micros(date, micros).expect("a moment").to_packed();
    let end = 86_399_999_999;
    vec![
        ("tiny", ColumnType::Signed(1), integers([Some(-128), None, Some(127)])),
        ("big", ColumnType::Signed(8), integers([Some(i64::MIN), Some(i64::MAX), None])),
        ("unsigned_big", ColumnType::Unsigned(8), Arc::new(UInt64Array::from(vec![Some(0), None, Some(u64::MAX)]))),
        (
            "price",
            ColumnType::Decimal { precision: 12, scale: 2 },
            decimals(12, 2, [Some(-123_456_789), Some(1), None]),
        ),
        (
            "wide",
            ColumnType::Decimal { precision: 30, scale: 4 },
            decimals(30, 4, [Some(123_456_789_012_345_678_901_234_567_890), None, Some(-1)]),
        ),
        ("ratio", ColumnType::Double, Arc::new(Float64Array::from(vec![Some(0.1), None, Some(-2.5)]))),
        (
            "day",
            ColumnType::Date,
            integers([Some(packed(day(1992, 1, 1), 0)), Some(packed(day(9999, 12, 31), 0)), None]),
        ),
        (
            "moment",
            ColumnType::DateTime,
            integers([Some(packed(day(2024, 2, 29), end)), None, Some(packed(day(1970, 1, 1), 0))]),
        ),
        ("clock", ColumnType::Time, integers([Some(end), Some(0), None])),
        ("name", ColumnType::Text, Arc::new(StringViewArray::from(vec![Some("Zürich 🦆"), None, Some("")]))),
        ("data", ColumnType::Bytes, Arc::new(BinaryViewArray::from(vec![Some(&[0u8, 0xff][..]), Some(&[]), None]))),
    ]
}

#[test]
fn duckdb_and_pandas() {
    read_by("duckdb_and_pandas", "duckdb, pandas, pyarrow", "read_segment.py");
}

#[test]
fn spark() {
    // It needs a Java machine.
    if !Command::new("java").arg("-version").output().is_ok_and(|output| output.status.success()) {
        return squall_test_support::skip("spark", "apt-get install default-jre-headless");
    }
    read_by("spark", "duckdb, pandas, pyspark", "read_segment_with_spark.py");
}

/// A script that needs these packages reads a segment.
fn read_by(test: &str, packages: &str, script: &str) {
    let there = Command::new("python3").args(["-c", &format!("import {packages}")]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return squall_test_support::skip(test, &format!("pip install {}", packages.replace(',', "")));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let (names, columns): (Vec<_>, Vec<_>) = columns()
        .into_iter()
        .map(|(name, column_type, array)| (name, Column { column_type, array, index: IndexChoice::Bitmap }))
        .unzip();
    let mut specs = specs(&columns);
    specs.iter_mut().zip(names).for_each(|(spec, name)| spec.name = name.to_string());
    let arrays: Vec<ArrayRef> = columns.into_iter().map(|column| column.array).collect();
    SegmentWriter::new(&path, &specs, Default::default()).write(&arrays).unwrap();
    let script = format!("{}/tests/store/{script}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3").arg(script).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
