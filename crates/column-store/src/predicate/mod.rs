//! Conditions on columns, and the rows for which they are true.
//!
//! A condition is evaluated in two steps. First, zone maps and bitmap indexes tell which rows match, which may match, and which do not
//! ([`indexed_rows`]). Then the codes of the rows that may match are compared in memory, 65,536 rows at a time ([`matching_rows`], [`matching_zones`]). No
//! value is decoded.
//!
//! # NULL
//!
//! SQL's logic has three values, and a row qualifies if its condition is *true*. NOT is first pushed down to the single tests by De
//! Morgan's laws, which hold in three-valued logic; a negated test is true for the rows that are not NULL and do not match. Then AND
//! and OR need only the rows for which their parts are true. Unknown rows need no record.

mod evaluate;
mod key_set;
mod mask;
mod normal_form;
mod prepared;
mod zone_rows;

pub use evaluate::{ColumnSource, DeltaColumns, SkippedRows, estimated_share, indexed_rows, matching_rows};
pub(crate) use evaluate::{Prepared, zone_verdicts};
pub use key_set::KeySet;
pub(crate) use mask::{Mask, gather};
pub use normal_form::Condition;
pub use zone_rows::{ZoneRows, matching_zones};

use crate::domain::{Datum, prefix_successor};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// A condition as SQL states it.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// TRUE or FALSE.
    Constant(bool),
    /// Unknown for every row, as `c = NULL` is.
    Unknown,
    /// A test of one column; unknown where that is NULL, except for [`Test::IsNull`].
    Test {
        /// The column's ordinal.
        column: usize,
        /// The test.
        test: Test,
    },
    /// All are true.
    And(Vec<Predicate>),
    /// One is true.
    Or(Vec<Predicate>),
    /// It is false.
    Not(Box<Predicate>),
}

/// A function that tells whether a byte string matches.
pub type StringTest = dyn Fn(&[u8]) -> bool + Send + Sync;

/// What is asked of a column's value.
#[derive(Clone)]
pub enum Test {
    /// It is NULL.
    IsNull,
    /// It lies in a range: `=`, `<`, `<=`, `>`, `>=`, BETWEEN, LIKE with a prefix under a binary collation. A bound of
    /// another domain than the column's never matches.
    Range {
        /// The lower bound.
        low: Bound<Datum>,
        /// The upper bound.
        high: Bound<Datum>,
    },
    /// It is one of these: IN.
    AnyOf(Vec<Datum>),
    /// It is one of these whole numbers, which may be very many: the keys of a join.
    Keys(Arc<KeySet>),
    /// A function says so: comparisons under a collation, LIKE, REGEXP. Of a column with a dictionary it is asked once per
    /// distinct value. Never matches values that are not byte strings.
    Matches(Arc<StringTest>),
    /// An array has one of the elements with these keys ([`element_key`](crate::index::element_key)), as far as an index of
    /// elements tells: without one it is true of every row. So it may be true of rows that have none, and its negation,
    /// which then says nothing, is true of all.
    Elements(Vec<Box<[u8]>>),
}

impl Test {
    /// `=`.
    pub fn equal(value: Datum) -> Test {
        Test::Range { low: Bound::Included(value.clone()), high: Bound::Included(value) }
    }

    /// The values it compares with.
    fn values(&self) -> impl Iterator<Item = &Datum> {
        let (bounds, list) = match self {
            Test::Range { low, high } => ([low.as_ref(), high.as_ref()], &[][..]),
            Test::AnyOf(values) => ([Bound::Unbounded; 2], &values[..]),
            Test::IsNull | Test::Keys(_) | Test::Matches(_) | Test::Elements(_) => ([Bound::Unbounded; 2], &[][..]),
        };
        let value = |bound| match bound {
            Bound::Included(value) | Bound::Excluded(value) => Some(value),
            Bound::Unbounded => None,
        };
        bounds.into_iter().filter_map(value).chain(list)
    }

    /// Begins with these bytes.
    pub fn prefix(prefix: &[u8]) -> Test {
        let low = Bound::Included(Datum::Bytes(prefix.into()));
        let high = prefix_successor(prefix).map_or(Bound::Unbounded, |end| Bound::Excluded(Datum::Bytes(end)));
        Test::Range { low, high }
    }
}

impl Predicate {
    /// A test of a column.
    pub fn test(column: usize, test: Test) -> Predicate {
        Predicate::Test { column, test }
    }
}

impl std::ops::Not for Predicate {
    type Output = Predicate;

    fn not(self) -> Predicate {
        Predicate::Not(Box::new(self))
    }
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::IsNull => f.write_str("IsNull"),
            Test::Range { low, high } => write!(f, "Range({low:?}, {high:?})"),
            Test::AnyOf(values) => write!(f, "AnyOf({values:?})"),
            Test::Keys(keys) => write!(f, "Keys({} in {:?})", keys.count(), keys.bounds()),
            Test::Matches(_) => f.write_str("Matches"),
            Test::Elements(keys) => write!(f, "Elements({keys:?})"),
        }
    }
}
