//! A wrong byte is found, named, and never becomes a value or a panic.

use crate::generate::{Column, write};
use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use squall_column_store::index::IndexChoice;
use squall_column_store::{ColumnType, Error, Segment};
use std::fs;
use std::sync::Arc;

fn columns() -> Vec<Column> {
    let rows = 3000;
    let numbers: Int64Array = (0..rows).map(|row| (row % 11 > 0).then_some(row % 50 * 1000)).collect();
    let texts: StringViewArray = (0..rows).map(|row| Some(format!("text {}", row % 40))).collect();
    let unique: StringViewArray = (0..rows).map(|row| Some(format!("{row}"))).collect();
    let column = |column_type, array: ArrayRef, index| Column { column_type, array, index };
    vec![
        column(ColumnType::Signed(4), Arc::new(numbers), IndexChoice::Equality),
        column(ColumnType::Text, Arc::new(texts), IndexChoice::Range),
        column(ColumnType::Text, Arc::new(unique), IndexChoice::Binned),
    ]
}

/// Opens and reads everything.
fn read(path: &std::path::Path, identity: squall_column_store::SegmentIdentity) -> Result<(), Error> {
    Segment::open(path, identity)?.check()
}

#[test]
fn every_flipped_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let identity = write(&path, &columns());
    let sound = fs::read(&path).unwrap();
    read(&path, identity).unwrap();
    let mut blocks = std::collections::BTreeSet::new();
    for position in (0..sound.len()).step_by(13).chain(sound.len() - 40..sound.len()) {
        let mut bytes = sound.clone();
        bytes[position] ^= 1 << (position % 8);
        fs::write(&path, &bytes).unwrap();
        match read(&path, identity) {
            Err(Error::Corrupt(corruption)) => {
                assert_eq!(corruption.path, path);
                blocks.insert((corruption.column.unwrap_or_default(), corruption.block));
            }
            other => panic!("byte {position} of {} flipped: {other:?}", sound.len()),
        }
    }
    let expected = [
        ("", "directory"),
        ("", "footer"),
        ("", "header"),
        ("c0", "bitmap index"),
        ("c0", "row group 0"),
        ("c1", "bitmap index"),
        ("c1", "dictionary"),
        ("c1", "row group 0"),
        ("c2", "bitmap index"),
        ("c2", "row group 0"),
    ];
    let found: Vec<(&str, &str)> = blocks.iter().map(|(column, block)| (&**column, &**block)).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_truncation_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let identity = write(&path, &columns());
    let sound = fs::read(&path).unwrap();
    for length in (0..sound.len()).step_by(97) {
        fs::write(&path, &sound[..length]).unwrap();
        assert!(matches!(read(&path, identity), Err(Error::Corrupt(_))), "cut to {length}");
    }
    fs::write(&path, [&sound[..], b"x"].concat()).unwrap();
    assert!(matches!(read(&path, identity), Err(Error::Corrupt(_))));
}

#[test]
fn the_error_names_file_column_and_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.parquet");
    let identity = write(&path, &columns());
    let mut bytes = fs::read(&path).unwrap();
    bytes[60] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = read(&path, identity).unwrap_err();
    assert_eq!(error.to_string(), format!("segment {}: column c0: row group 0: checksum mismatch", path.display()));
}

#[test]
fn a_failed_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let mut columns = columns();
    columns[0].column_type = ColumnType::Signed(1);
    let arrays: Vec<ArrayRef> = columns.iter().map(|column| column.array.clone()).collect();
    let specs = crate::generate::specs(&columns);
    let writer = squall_column_store::SegmentWriter::new(&path, &specs, Default::default());
    // 49,000 is no TINYINT.
    assert!(matches!(writer.write(&arrays), Err(Error::Invalid(_))));
    assert!(!path.exists());
}
