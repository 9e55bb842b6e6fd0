//! Rows of a call that have the same argument as an earlier one: they get its result. Columns that queries compute with, dates above
//! all, often have few different values.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringViewArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::ColumnarValue;
use rustc_hash::FxHashMap;
use squall_types::{SqlError, SqlResult};

/// Rows after which it is known whether values repeat.
const ROWS_TRIED: usize = 256;
/// Longer texts are not compared.
const TEXT_BYTES_MAX: usize = 64;

/// What is known of the rows so far.
pub(super) struct Repeats<'a> {
    column: Column<'a>,
    /// The places of the results of values.
    known: FxHashMap<Key<'a>, u32>,
    /// The place of each row's result.
    places: Vec<u32>,
    results: u32,
    is_worth: bool,
}

enum Column<'a> {
    Integers(&'a Int64Array),
    Texts(&'a StringViewArray),
}

#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
}

impl<'a> Repeats<'a> {
    /// Of arguments of which one alone differs from row to row, as an integer, a date or a text; `None` of others.
    pub(super) fn of(args: &'a [ColumnarValue], row_count: usize) -> Option<Repeats<'a>> {
        let mut arrays = args.iter().filter_map(|arg| match arg {
            ColumnarValue::Array(array) => Some(array),
            ColumnarValue::Scalar(_) => None,
        });
        let (Some(array), None) = (arrays.next(), arrays.next()) else { return None };
        let column = match (array.as_primitive_opt::<Int64Type>(), array.as_string_view_opt()) {
            (Some(integers), _) => Column::Integers(integers),
            (None, Some(texts)) => Column::Texts(texts),
            (None, None) => return None,
        };
        let (known, places) = (FxHashMap::default(), Vec::with_capacity(row_count));
        Some(Repeats { column, known, places, results: 0, is_worth: true })
    }

    fn key(&self, row: usize) -> Option<Key<'a>> {
        Some(match self.column {
            Column::Integers(integers) if integers.is_null(row) => Key::Null,
            Column::Integers(integers) => Key::Integer(integers.value(row)),
            Column::Texts(texts) if texts.is_null(row) => Key::Null,
            Column::Texts(texts) => Key::Text(Some(texts.value(row)).filter(|text| text.len() <= TEXT_BYTES_MAX)?),
        })
    }

    /// Whether the next row has the result of an earlier one.
    pub(super) fn repeats(&mut self, row: usize) -> bool {
        if !self.is_worth {
            return false;
        }
        let known = self.key(row).and_then(|key| self.known.get(&key)).copied();
        self.places.extend(known);
        known.is_some()
    }

    /// The next row has a new result. If that gave warnings, rows with the same value do so too.
    pub(super) fn add(&mut self, row: usize, has_warned: bool) {
        if self.is_worth
            && !has_warned
            && let Some(key) = self.key(row)
        {
            self.known.insert(key, self.results);
        }
        self.places.push(self.results);
        self.results += 1;
        if self.places.len() == ROWS_TRIED && self.results as usize * 2 > ROWS_TRIED {
            self.is_worth = false;
            self.known.clear();
        }
    }

    /// The rows' results of the different ones.
    pub(super) fn of_rows(self, results: ArrayRef) -> SqlResult<ArrayRef> {
        if results.len() == self.places.len() {
            return Ok(results);
        }
        take(&results, &UInt32Array::from(self.places), None).map_err(|error| SqlError::internal(error.to_string()))
    }
}
