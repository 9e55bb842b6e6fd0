//! Our own blocks in a segment's file: directory, dictionary, bitmap index, index of elements. A decoded block encodes to the same
//! bytes, and can be searched. Indexes of elements are also made from documents and then damaged, since random bytes seldom are an
//! index with many keys.

use crate::input::Input;
use arrow::array::{ArrayRef, StringViewArray};
use squall_column_store::coded::Dictionary;
use squall_column_store::index::{BitmapIndex, ElementIndex, element_key};
use squall_column_store::segment::Directory;
use squall_column_store::{CodedColumn, ColumnType, Domain};
use squall_types::{SqlType, Value};
use std::ops::Bound;
use std::sync::Arc;

/// Arrays of numbers, or no array.
type Documents = Vec<Option<Vec<u16>>>;

const ELEMENT: SqlType = SqlType::BIGINT_UNSIGNED;

/// The index of documents finds what is in them; damaged, it is an error or one of as many rows.
fn index_documents(documents: &Documents, damages: &[(u16, u8)], keep: u16) {
    if documents.is_empty() {
        return;
    }
    let texts = documents.iter().map(|numbers| numbers.as_ref().map(|numbers| format!("{numbers:?}")));
    let array: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
    let coded = CodedColumn::from_arrays(ColumnType::Document, &[array]).expect("documents");
    let index = ElementIndex::build(&coded, &ELEMENT);
    let rows = documents.len() as u32;
    assert_eq!(ElementIndex::decode(index.encode(), rows).as_ref(), Ok(&index));
    let key = |number: u16| element_key(&ELEMENT, &Value::UInt(u64::from(number))).expect("a number's key");
    let wanted: Vec<u16> = documents.iter().flatten().flatten().copied().step_by(7).take(5).chain([0, 7]).collect();
    for number in &wanted {
        let has = |row: u32| documents[row as usize].as_ref().is_some_and(|numbers| numbers.contains(number));
        assert!(index.any_of([&*key(*number)]).iter().eq((0..rows).filter(|row| has(*row))));
    }
    let mut bytes = index.encode().to_vec();
    for (at, flips) in damages {
        let at = usize::from(*at) % bytes.len();
        bytes[at] ^= flips;
    }
    bytes.truncate(bytes.len().saturating_sub(usize::from(keep % 8)));
    if let Ok(found) = ElementIndex::decode(&bytes, rows) {
        assert_eq!(found.encode(), bytes);
        let keys: Vec<_> = wanted.iter().map(|number| key(*number)).collect();
        assert!(found.any_of(keys.iter().map(|key| &**key)).len() <= u64::from(rows));
    }
}

fn documents(input: &mut Input<'_>) -> Documents {
    let count = input.byte();
    let document = |_| {
        let length = input.byte() % 8;
        (length != 7).then(|| (0..length).map(|_| input.u16()).collect())
    };
    (0..count).map(document).collect()
}

pub fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let (kind, rows, dictionary) = (input.byte(), input.u32(), input.bytes());
    let documents = documents(&mut input);
    let damages: Vec<(u16, u8)> = (0..input.byte() % 16).map(|_| (input.u16(), input.byte())).collect();
    let keep = input.u16();
    let bytes = input.rest();
    index_documents(&documents, &damages, keep);
    let dictionary = Dictionary::decode(dictionary).ok().map(Arc::new);
    if let Ok(directory) = Directory::decode(bytes) {
        assert_eq!(Directory::decode(&directory.encode()), Ok(directory));
    }
    if let Some(dictionary) = &dictionary {
        assert_eq!(Dictionary::decode(&dictionary.encode()).as_ref(), Ok(&**dictionary));
    }
    if let Ok(index) = ElementIndex::decode(bytes, rows % (1 << 20)) {
        assert_eq!(index.encode(), bytes);
        assert!(index.any_of([bytes, &[1], &[0, 0, 0, 0, 0, 0, 0, 7]]).len() <= u64::from(rows % (1 << 20)));
    }
    let domain = [Domain::Integer, Domain::Float, Domain::Bytes][usize::from(kind % 3)];
    if let Ok(index) = BitmapIndex::decode(bytes, domain, dictionary.as_ref(), rows % (1 << 20)) {
        let again = BitmapIndex::decode(&index.encode(), domain, dictionary.as_ref(), rows % (1 << 20));
        assert_eq!(again.as_ref().map(|index| index.nulls()), Ok(index.nulls()));
        let all = index.range(Bound::Unbounded, Bound::Unbounded);
        assert!(all.possible().is_disjoint(index.nulls()));
        index.matching(|ordinal| ordinal % 2 == 0);
    }
}
