//! Parquet files: rows there and back, and files that are damaged.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use proptest::prelude::*;
use squall_file_formats::{FieldKind, ParquetRows, ParquetWriter, RowsError};
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_types::json::Document;
use squall_types::temporal::{MICROS_PER_DAY, TimeZone};
use squall_types::{CollationId, Date, DateTime, Decimal, IntWidth, SqlType, Time, Value};
use std::fs::File;
use std::io::{Seek as _, Write as _};

fn text() -> SqlType {
    SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI)
}

fn columns() -> Vec<(String, SqlType)> {
    let columns = [
        ("small", SqlType::Int { width: IntWidth::Small, unsigned: false, zerofill: false, display_width: None }),
        ("wide", SqlType::BIGINT_UNSIGNED),
        ("decimal", SqlType::decimal(20, 4)),
        ("double", SqlType::DOUBLE),
        ("day", SqlType::Date),
        ("clock", SqlType::Time { fsp: 6 }),
        ("moment", SqlType::Timestamp { fsp: 6 }),
        ("text", text()),
        ("bytes", SqlType::longtext(CollationId::BINARY)),
        ("document", SqlType::Json),
    ];
    columns.map(|(name, sql_type)| (name.to_owned(), sql_type)).to_vec()
}

fn arrays(rows: &[Vec<Value>]) -> Vec<ArrayRef> {
    let array = |(at, (_, sql_type)): (usize, &(String, SqlType))| {
        let mut builder = ValueArrayBuilder::new(sql_type, rows.len());
        rows.iter().for_each(|row| builder.append(&row[at]).expect("a value of the type"));
        builder.finish()
    };
    columns().iter().enumerate().map(array).collect()
}

fn written(rows: &[Vec<Value>]) -> Vec<u8> {
    let mut writer = ParquetWriter::new(Vec::new(), columns(), TimeZone::utc()).expect("a file");
    for rows in rows.chunks(100) {
        writer.write(&arrays(rows), &mut |unfit| Err(unfit.error())).expect("rows");
    }
    writer.finish().expect("a file")
}

fn open(bytes: &[u8]) -> Result<ParquetRows, String> {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("rewound");
    ParquetRows::open(file)
}

/// All lines of a file; a line's tabs are between fields only.
fn lines(bytes: &[u8]) -> Result<Vec<String>, String> {
    let mut rows = open(bytes)?;
    let wanted: Vec<_> = rows.names().iter().map(|name| (name.clone(), FieldKind::Text)).collect();
    rows.select(&wanted)?;
    let (mut line, mut lines) = (Vec::new(), Vec::new());
    loop {
        match rows.next(&mut line) {
            Ok(true) => lines.push(String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned()),
            Ok(false) => return Ok(lines),
            Err(RowsError::Row(reason)) | Err(RowsError::File(reason)) => return Err(reason),
        }
    }
}

fn value(sql_type: &SqlType) -> BoxedStrategy<Value> {
    let date = || (1u16..=9999, 1u8..=12, 1u8..=28).prop_map(|(y, m, d)| Date::from_parts(y, m, d).expect("a date"));
    match sql_type {
        SqlType::Int { unsigned: false, .. } => any::<i16>().prop_map(|value| Value::Int(value.into())).boxed(),
        SqlType::Int { .. } => any::<u64>().prop_map(Value::UInt).boxed(),
        SqlType::Decimal { .. } => {
            any::<i64>().prop_map(|value| Value::Decimal(Decimal::from_i128(value.into(), 4))).boxed()
        }
        SqlType::Double { .. } => {
            any::<f64>().prop_filter("a number", |value| value.is_finite()).prop_map(Value::Double).boxed()
        }
        SqlType::Date => date().prop_map(Value::Date).boxed(),
        SqlType::Time { .. } => {
            (0..MICROS_PER_DAY).prop_map(|micros| Value::Time(Time::from_micros(micros).expect("a time"))).boxed()
        }
        SqlType::Timestamp { .. } => (date(), 0..MICROS_PER_DAY)
            .prop_map(|(date, micros)| Value::DateTime(DateTime::from_date_and_micros(date, micros).expect("a moment")))
            .boxed(),
        SqlType::Json => Just(Value::Json(Document::from_stored("{\"a\": [1, null]}"))).boxed(),
        _ if sql_type.is_binary_string() => any::<Vec<u8>>().prop_map(Value::Bytes).boxed(),
        _ => any::<String>().prop_map(Value::String).boxed(),
    }
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    columns()
        .iter()
        .map(|(_, sql_type)| prop_oneof![9 => value(sql_type), 1 => Just(Value::Null)].boxed())
        .collect::<Vec<_>>()
}

/// What LOAD DATA is to be told of a value.
fn field(value: &Value, sql_type: &SqlType) -> Vec<u8> {
    let mut field = Vec::new();
    let shown = match value {
        Value::Null => None,
        // As many digits as there are.
        Value::DateTime(_) | Value::Time(_) => Some(squall_types::convert::to_text(value, &SqlType::Null).into_bytes()),
        Value::Bytes(bytes) => Some(bytes.clone()),
        value => Some(squall_types::convert::to_text(value, sql_type).into_bytes()),
    };
    let zone = if matches!((value, sql_type), (Value::DateTime(_), SqlType::Timestamp { .. })) { "+00:00" } else { "" };
    squall_file_formats::push_field(shown.map(|shown| [&shown, zone.as_bytes()].concat()).as_deref(), &mut field);
    field
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rows_are_read_as_they_were_written(rows in prop::collection::vec(row(), 1..300)) {
        let bytes = written(&rows);
        let mut read = open(&bytes).expect("a file");
        prop_assert_eq!(read.rows_total(), rows.len() as u64);
        let wanted: Vec<_> = columns()
            .into_iter()
            .map(|(name, ty)| (name.to_uppercase(), if ty.is_binary_string() { FieldKind::Bytes } else { FieldKind::Text }))
            .collect();
        read.select(&wanted).expect("columns");
        for row in &rows {
            let mut line = Vec::new();
            prop_assert_eq!(read.next(&mut line), Ok(true));
            let fields: Vec<Vec<u8>> = row.iter().zip(columns()).map(|(value, (_, ty))| field(value, &ty)).collect();
            let mut expected = fields.join(&b'\t');
            expected.push(b'\n');
            prop_assert_eq!(String::from_utf8_lossy(&line), String::from_utf8_lossy(&expected));
        }
        prop_assert_eq!(read.next(&mut Vec::new()), Ok(false));
    }
}

/// A small file with something of everything.
fn example() -> Vec<u8> {
    let moment = DateTime::from_date_and_micros(Date::from_parts(2024, 2, 29).expect("a date"), 1).expect("a moment");
    let row = |at: i64| {
        vec![
            Value::Int(at),
            Value::UInt(u64::MAX - at as u64),
            Value::Decimal(Decimal::from_i128(i128::from(at), 4)),
            Value::Double(at as f64 / 3.0),
            Value::Date(moment.date()),
            Value::Time(Time::from_micros(at).expect("a time")),
            Value::DateTime(moment),
            Value::String(format!("text {}", at % 3)),
            Value::Bytes(vec![at as u8; 3]),
            if at % 2 == 0 { Value::Null } else { Value::Json(Document::from_stored("[1]")) },
        ]
    };
    written(&(0..40).map(row).collect::<Vec<_>>())
}

#[test]
fn damaged_files_are_errors_or_other_values() {
    let whole = example();
    assert_eq!(lines(&whole).expect("lines").len(), 40);
    // Panics of the library are caught; what they print is not wanted here.
    std::panic::set_hook(Box::new(|_| {}));
    for length in 0..whole.len() {
        assert!(lines(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
    }
    let mut found_out = 0;
    for at in 0..whole.len() {
        for bit in [0x01, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= bit;
            // Parquet has no checksums of its own, so a changed value may go unnoticed.
            found_out += usize::from(lines(&damaged).is_err());
        }
    }
    let _ = std::panic::take_hook();
    assert!(found_out > whole.len() / 2, "{found_out} of {} flipped bits", 2 * whole.len());
}

#[test]
fn what_parquet_has_no_form_for() {
    let columns = vec![("d".to_owned(), SqlType::Date), ("t".to_owned(), SqlType::Time { fsp: 0 })];
    let day = |year, month, day| Value::Date(Date::from_parts(year, month, day).expect("a date"));
    let mut dates = ValueArrayBuilder::new(&SqlType::Date, 3);
    let mut times = ValueArrayBuilder::new(&SqlType::Time { fsp: 0 }, 3);
    for (date, micros) in [(day(2000, 1, 1), 0), (day(0, 0, 0), -1), (Value::Null, MICROS_PER_DAY)] {
        dates.append(&date).expect("a date");
        times.append(&Value::Time(Time::from_micros(micros).expect("a time"))).expect("a time");
    }
    let arrays = [dates.finish(), times.finish()];
    let mut said = Vec::new();
    let mut writer = ParquetWriter::new(Vec::new(), columns, TimeZone::utc()).expect("a file");
    let mut note = |unfit: squall_file_formats::Unfit<'_>| {
        said.push(format!("{} {} {} {}", unfit.column, unfit.type_name, unfit.value, unfit.row));
        Ok(())
    };
    writer.write(&arrays, &mut note).expect("written");
    assert_eq!(said, ["d DATE 0000-00-00 2", "t TIME -00:00:00 2", "t TIME 24:00:00 3"]);
    assert_eq!(
        lines(&writer.finish().expect("a file")).expect("lines"),
        ["2000-01-01\t00:00:00\n", "\\N\t\\N\n", "\\N\t\\N\n"]
    );
}

#[test]
fn columns_that_no_table_has() {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("a file");
    assert!(ParquetRows::open(file).is_err());
    let list = arrow::array::ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]);
    let numbers: ArrayRef = list.values().slice(0, 1);
    assert_eq!(numbers.as_primitive::<Int64Type>().value(0), 1);
    let columns: [(&str, ArrayRef); 2] = [("l", std::sync::Arc::new(list)), ("n", numbers)];
    let batch = arrow::record_batch::RecordBatch::try_from_iter(columns).expect("a batch");
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a file");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    let select = |name: &str| open(&bytes).expect("a file").select(&[(name.to_owned(), FieldKind::Text)]);
    assert_eq!(select("N"), Ok(()));
    assert_eq!(select("l"), Err("its column 'l' has lists, which no column of a table takes".to_owned()));
    assert_eq!(select("x"), Err("it has no column 'x'".to_owned()));
}
