//! Indexes of arrays' elements against the arrays themselves.

use crate::generate::{Column, write_and_open};
use arrow::array::StringViewArray;
use proptest::prelude::*;
use roaring::RoaringBitmap;
use squall_column_store::index::{ElementIndex, IndexChoice, element_key};
use squall_column_store::predicate::{ColumnSource, Condition, DeltaColumns, Predicate, Test, matching_rows};
use squall_column_store::{CodedColumn, ColumnCache, ColumnType, Datum, SegmentColumns};
use squall_types::{CollationId, SqlType, StringKind, Value};
use std::sync::Arc;

/// A document of numbers, or none.
type Numbers = Option<Vec<u64>>;

fn documents(rows: &[Numbers]) -> StringViewArray {
    rows.iter().map(|row| row.as_ref().map(|row| format!("{row:?}"))).collect()
}

fn rows() -> impl Strategy<Value = Vec<Numbers>> {
    let number = prop_oneof![4 => 0..40u64, 1 => any::<u64>()];
    prop::collection::vec(prop::option::weighted(0.9, prop::collection::vec(number, 0..6)), 1..300)
}

fn keys(numbers: &[u64]) -> Vec<Box<[u8]>> {
    let key = |number: &u64| element_key(&SqlType::BIGINT_UNSIGNED, &Value::UInt(*number)).expect("a number");
    numbers.iter().map(key).collect()
}

fn having(rows: &[Numbers], wanted: &[u64]) -> RoaringBitmap {
    let has =
        |row: &&u32| rows[**row as usize].as_ref().is_some_and(|row| row.iter().any(|number| wanted.contains(number)));
    (0..rows.len() as u32).collect::<Vec<_>>().iter().filter(has).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_of_elements(rows in rows(), wanted in prop::collection::vec(0..45u64, 0..5), other in 0..300i64) {
        let column = Column {
            column_type: ColumnType::Document,
            array: Arc::new(documents(&rows)),
            index: IndexChoice::Elements(SqlType::BIGINT_UNSIGNED),
        };
        let numbers: arrow::array::Int64Array = (0..rows.len() as i64).map(Some).collect();
        let numbers =
            Column { column_type: ColumnType::Signed(8), array: Arc::new(numbers), index: IndexChoice::None };
        let folder = tempfile::tempdir().unwrap();
        let segment = write_and_open(&folder.path().join("s.parquet"), &[column, numbers]);
        segment.check().unwrap();
        let cache = ColumnCache::new(1 << 20);
        let sealed = SegmentColumns { segment: &segment, cache: &cache };
        let expected = having(&rows, &wanted);
        let has = Predicate::test(0, Test::Elements(keys(&wanted)));
        prop_assert_eq!(&matching_rows(&Condition::from(&has), &sealed, None).unwrap(), &expected);
        // Beside a condition whose rows have to be checked.
        let least = std::ops::Bound::Included(Datum::Integer(i128::from(other)));
        let above = Predicate::test(1, Test::Range { low: least, high: std::ops::Bound::Unbounded });
        let all: RoaringBitmap = (0..rows.len() as u32).collect();
        let greater: RoaringBitmap = all.iter().filter(|row| i64::from(*row) >= other).collect();
        let both = Condition::from(&Predicate::And(vec![above.clone(), has.clone()]));
        prop_assert_eq!(matching_rows(&both, &sealed, None).unwrap(), &greater & &expected);
        let either = Condition::from(&Predicate::Or(vec![has.clone(), above]));
        prop_assert_eq!(matching_rows(&either, &sealed, None).unwrap(), &greater | &expected);
        // What has no index may have any element, and nothing follows from one that is not found.
        let delta = DeltaColumns::new(vec![sealed.column(0).unwrap()]).unwrap();
        prop_assert_eq!(&matching_rows(&Condition::from(&has), &delta, None).unwrap(), &all);
        prop_assert_eq!(&matching_rows(&Condition::from(&!has), &sealed, None).unwrap(), &all);
    }

    #[test]
    fn damaged_blocks(
        rows in rows(),
        damages in prop::collection::vec((prop::collection::vec(any::<(u16, u8)>(), 0..4), 0..2000u16), 40),
    ) {
        let array: arrow::array::ArrayRef = Arc::new(documents(&rows));
        let coded = CodedColumn::from_arrays(ColumnType::Document, &[array]).unwrap();
        let index = ElementIndex::build(&coded, &SqlType::BIGINT_UNSIGNED);
        prop_assert_eq!(ElementIndex::decode(index.encode(), rows.len() as u32), Ok(index.clone()));
        for (changes, keep) in damages {
            let mut bytes = index.encode().to_vec();
            crate::blocks::damage(&mut bytes, &changes, keep);
            if let Ok(found) = ElementIndex::decode(&bytes, rows.len() as u32) {
                prop_assert!(found.any_of(keys(&[1, 7, 44]).iter().map(|key| &**key)).len() <= rows.len() as u64);
            }
        }
    }
}

/// Texts that begin alike, scalars, `null`, an empty array, a document that is no array of the type.
#[test]
fn odd_documents() {
    let text = SqlType::String { kind: StringKind::Varchar, length: 10, collation: CollationId::UTF8MB4_0900_BIN };
    let many: Vec<String> = (0..500).map(|number| format!("\"text {number}\"")).collect();
    let many = format!("[{}]", many.join(", "));
    let odd = [
        Some(&*many),
        Some("\"text 7\""),
        Some("null"),
        Some("[]"),
        None,
        Some("{\"a\": 1}"),
        Some("[\"text\", \"\"]"),
    ];
    let array: arrow::array::ArrayRef = Arc::new(StringViewArray::from(odd.to_vec()));
    let coded = CodedColumn::from_arrays(ColumnType::Document, &[array]).unwrap();
    let index = ElementIndex::build(&coded, &text);
    let of = |wanted: &str| -> Vec<u32> {
        let key = element_key(&text, &Value::String(wanted.into())).unwrap();
        index.any_of([&*key]).iter().collect()
    };
    // Row 5 cannot be read as an array of texts: a key does not let such rows in, but if there is one, it is not lost.
    assert_eq!(of("text 7"), [0, 1, 5]);
    assert_eq!(of("text 499"), [0, 5]);
    assert_eq!(of("text"), [5, 6]);
    assert_eq!(of(""), [5, 6]);
    assert_eq!(of("text 77a"), [5]);
    assert_eq!(index.keys(), 503);
    assert_eq!(element_key(&text, &Value::Null), None);
}
