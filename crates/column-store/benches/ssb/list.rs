//! The list of 400,000 of a million keys.

use arrow::array::{ArrayRef, Int64Array};
use squall_column_store::predicate::{Condition, DeltaColumns, Predicate, Test};
use squall_column_store::{CodedColumn, ColumnType, Datum, ListOptions, append_list};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

/// Keys from 1, and a tag of 0 to 9 for each; four of ten tags are in the list. `bench/star.py` has the same.
const KEYS: i64 = 1_000_000;

/// The best of the rounds as a JSON line, with the list.
pub fn measure(threads: usize, rounds: usize) -> String {
    let column = |value: fn(i64) -> i64| {
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values((1..=KEYS).map(value)));
        Arc::new(CodedColumn::from_arrays(ColumnType::Signed(8), &[array]).expect("codes"))
    };
    let rows = DeltaColumns::new(vec![column(|key| key), column(|key| ((key * 2_654_435_761) >> 16) % 10)]);
    let rows = rows.expect("columns of one length");
    let low = Test::Range { low: Bound::Unbounded, high: Bound::Excluded(Datum::Integer(4)) };
    let condition = Condition::from(&Predicate::test(1, low));
    let (mut best, mut list, mut values) = (f64::INFINITY, Vec::new(), 0);
    for _ in 0..rounds {
        list = Vec::new();
        let started = Instant::now();
        let options = ListOptions { separator: b",", threads };
        values = append_list(&rows, &condition, None, 0, options, &mut list).expect("a list");
        best = best.min(started.elapsed().as_secs_f64() * 1000.0);
    }
    let text = String::from_utf8(list).expect("digits and commas");
    format!("{{\"values\": {values}, \"ms\": {best:.3}, \"list\": \"{text}\"}}")
}
