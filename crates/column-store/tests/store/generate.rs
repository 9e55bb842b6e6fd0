//! Columns of every type, with the values that are hard.

use arrow::array::{
    ArrayRef, BinaryViewArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array, StringViewArray, UInt64Array,
};
use arrow::datatypes::i256;
use proptest::prelude::*;
use squall_column_store::index::IndexChoice;
use squall_column_store::segment::{Compression, SegmentIdentity, SegmentWriter};
use squall_column_store::{ColumnSpec, ColumnType, Segment};
use squall_types::{Date, DateTime};
use std::path::Path;
use std::sync::Arc;

/// A column and what it is written as.
#[derive(Clone, Debug)]
pub struct Column {
    pub column_type: ColumnType,
    pub array: ArrayRef,
    pub index: IndexChoice,
}

/// Any column of `rows` rows.
pub fn column(rows: usize) -> impl Strategy<Value = Column> {
    let index = prop_oneof![
        Just(IndexChoice::Auto),
        Just(IndexChoice::None),
        Just(IndexChoice::Bitmap),
        Just(IndexChoice::Equality),
        Just(IndexChoice::Range),
        Just(IndexChoice::Binned),
    ];
    (typed_array(rows), index).prop_map(|((column_type, array), index)| Column { column_type, array, index })
}

fn typed_array(rows: usize) -> BoxedStrategy<(ColumnType, ArrayRef)> {
    prop_oneof![
        4 => integers(rows, ColumnType::Signed(4), prop_oneof![-3i64..3, any::<i32>().prop_map(i64::from)]),
        2 => integers(rows, ColumnType::Signed(8), any::<i64>()),
        1 => integers(rows, ColumnType::Signed(1), any::<i8>().prop_map(i64::from)),
        2 => integers(rows, ColumnType::Date, packed_date()),
        2 => integers(rows, ColumnType::DateTime, packed_moment()),
        1 => integers(rows, ColumnType::Timestamp, packed_moment()),
        1 => integers(rows, ColumnType::Time, -3_020_399_000_000i64..3_020_399_000_000),
        1 => options(rows, any::<u64>()).prop_map(|values| (ColumnType::Unsigned(8), Arc::new(UInt64Array::from(values)) as ArrayRef)),
        1 => options(rows, 0u64..200).prop_map(|values| (ColumnType::Unsigned(1), Arc::new(UInt64Array::from(values)) as ArrayRef)),
        1 => options(rows, -1e6f64..1e6).prop_map(|values| (ColumnType::Double, Arc::new(Float64Array::from(values)) as ArrayRef)),
        1 => options(rows, any::<i8>().prop_map(|value| f64::from(value) / 4.0)).prop_map(|values| (ColumnType::Float, Arc::new(Float64Array::from(values)) as ArrayRef)),
        2 => options(rows, prop_oneof!["[a-c]{0,2}", "\\PC{0,9}", "x{70,80}[a-c]"]).prop_map(|values| (ColumnType::Text, Arc::new(StringViewArray::from(values)) as ArrayRef)),
        1 => options(rows, prop::collection::vec(any::<u8>(), 0..4)).prop_map(|values| {
            let values = values.iter().map(Option::as_deref).collect::<Vec<_>>();
            (ColumnType::Bytes, Arc::new(BinaryViewArray::from(values)) as ArrayRef)
        }),
        1 => options(rows, -999_999i128..999_999).prop_map(|values| decimal128(12, 2, values)),
        1 => options(rows, any::<i64>().prop_map(|value| i128::from(value) * 1_000_000)).prop_map(|values| decimal128(30, 4, values)),
        1 => options(rows, any::<i128>().prop_map(i256::from_i128)).prop_map(|values| {
            let array = Decimal256Array::from(values).with_precision_and_scale(60, 10).expect("60 digits");
            (ColumnType::Decimal { precision: 60, scale: 10 }, Arc::new(array) as ArrayRef)
        }),
    ]
    .boxed()
}

fn decimal128(precision: u8, scale: i8, values: Vec<Option<i128>>) -> (ColumnType, ArrayRef) {
    let array = Decimal128Array::from(values).with_precision_and_scale(precision, scale).expect("digits");
    (ColumnType::Decimal { precision, scale: scale as u8 }, Arc::new(array))
}

fn options<T: std::fmt::Debug + Clone>(
    rows: usize,
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<Option<T>>> {
    prop::collection::vec(prop::option::weighted(0.9, value), rows)
}

fn integers(
    rows: usize,
    column_type: ColumnType,
    value: impl Strategy<Value = i64> + 'static,
) -> BoxedStrategy<(ColumnType, ArrayRef)> {
    options(rows, value).prop_map(move |values| (column_type, Arc::new(Int64Array::from(values)) as ArrayRef)).boxed()
}

/// Mostly dates that exist, sometimes zero dates and the like.
fn packed_date() -> impl Strategy<Value = i64> {
    let date = |years: std::ops::Range<u16>, months: std::ops::Range<u8>, days: std::ops::Range<u8>| {
        (years, months, days).prop_map(|(year, month, day)| {
            Date::from_parts(year, month, day).expect("a packable date").at_midnight().to_packed()
        })
    };
    prop_oneof![200 => date(1990..2030, 1..13, 1..29), 1 => date(0..2030, 0..13, 0..32)]
}

fn packed_moment() -> impl Strategy<Value = i64> {
    (packed_date(), 0..86_400_000_000i64).prop_map(|(packed, micros)| {
        DateTime::from_date_and_micros(DateTime::from_packed(packed).date(), micros)
            .expect("a packable moment")
            .to_packed()
    })
}

/// What the columns are called in the file.
pub fn specs(columns: &[Column]) -> Vec<ColumnSpec> {
    let spec = |(ordinal, column): (usize, &Column)| ColumnSpec {
        id: ordinal as u32 + 10,
        name: format!("c{ordinal}"),
        column_type: column.column_type,
        index: column.index.clone(),
    };
    columns.iter().enumerate().map(spec).collect()
}

/// Writes a segment of the columns.
pub fn write(path: &Path, columns: &[Column]) -> SegmentIdentity {
    let arrays: Vec<ArrayRef> = columns.iter().map(|column| column.array.clone()).collect();
    SegmentWriter::new(path, &specs(columns), Compression::default()).write(&arrays).expect("the segment is written")
}

/// Writes a segment of the columns and opens it.
pub fn write_and_open(path: &Path, columns: &[Column]) -> Segment {
    Segment::open(path, write(path, columns)).expect("a written segment opens")
}
