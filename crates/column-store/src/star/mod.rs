//! Star queries: filter, join to dimensions by key, group by a few codes, aggregate.
//!
//! ```sql
//! SELECT d_year, p_brand, SUM(lo_revenue) FROM lineorder, dates, part, supplier
//! WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND … GROUP BY d_year, p_brand
//! ```
//!
//! The planner evaluates the dimensions first: a filter on a dimension and its group columns become a [`KeyMap`] from key to group code
//! (O'Neil, O'Neil, Chen: "Star Schema Benchmark", 2009, for the form of the queries; the join is the *invisible join* of Abadi, Madden
//! and Hachem: "Column-stores vs. row-stores", 2008, with dense arrays in place of hash tables). Then there is one pass over the fact
//! table's codes, zone by zone:
//!
//! 1. The condition on the fact table's own columns becomes a mask (`predicate`); zone maps may decide a zone without it.
//! 2. The remaining rows of each block become a *selection vector*, which each join shrinks, the most selective for its
//!    cost first.
//! 3. Group codes become one index: into an array where the product of the groups is small, else into a hash table.
//! 4. Aggregates are evaluated for the selected rows only. Sums are kept in 128 bits, and whether a value or a sum could
//!    leave its width is decided before the pass, from the bounds of the columns; no step can overflow silently.
//!
//! Some zones are not read, because zone maps have the whole answer: COUNT, MIN and MAX of all rows, or of none. If that is true for
//! all zones of a segment, its columns are not read either. MIN and MAX of texts come from dictionaries if zone maps have another order
//! than the texts' collation (`known`). MIN and MAX of values that are not whole numbers use ranks (`rank`). The distinct values of one
//! column come from the dictionaries and indexes of whole segments (`distinct`).
//!
//! Threads take zones from one counter until none is left. Each thread has its own groups, which are added up at the end.

mod accumulate;
mod bind;
mod code_table;
mod dimension;
mod distinct;
mod expression;
mod float_order;
mod key_map;
mod known;
mod rank;
mod run;
mod selection;
mod text_order;
mod zone;

pub use dimension::{Dimension, dimension};
pub use expression::{Expression, Operator};
pub use float_order::float_of;
pub use key_map::KeyMap;
pub use run::run_star_query;
pub use text_order::{OrderedText, SortKey, TextOrder};

use crate::domain::Datum;
use crate::predicate::{ColumnSource, Condition, SkippedRows};
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A star query, with its dimensions as maps.
#[derive(Clone, Debug)]
pub struct StarQuery {
    /// What has to be true of the fact table's columns.
    pub condition: Condition,
    /// The joins. Each removes the rows whose key is NULL or not in its map.
    pub joins: Vec<StarJoin>,
    /// What rows are grouped by; nothing makes one group, also of no rows.
    pub groups: Vec<GroupBy>,
    /// What is computed for each group.
    pub aggregates: Vec<Aggregate>,
}

impl StarQuery {
    /// The fact table's columns that it reads, in order.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = self.condition.columns();
        columns.extend(self.joins.iter().map(|join| join.column));
        columns.extend(self.groups.iter().filter_map(|group| match group {
            GroupBy::Column(column) => Some(*column),
            GroupBy::Join(_) => None,
        }));
        self.aggregates.iter().filter_map(Aggregate::argument).for_each(|argument| argument.columns(&mut columns));
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

impl Aggregate {
    /// What is counted, added up or compared.
    pub(crate) fn argument(&self) -> Option<&Expression> {
        match self {
            Aggregate::CountRows => None,
            Aggregate::Count(of) | Aggregate::Sum(of) | Aggregate::Min(of) | Aggregate::Max(of) => Some(of),
            Aggregate::MinText(text) | Aggregate::MaxText(text) => Some(&text.argument),
        }
    }
}

/// A join to a dimension by its key.
#[derive(Clone, Debug)]
pub struct StarJoin {
    /// The fact table's column, of whole numbers.
    pub column: usize,
    /// The dimension's rows that qualify.
    pub keys: Arc<KeyMap>,
}

/// A part of the group key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// The group code that a join's map gives, by the join's position.
    Join(usize),
    /// A column of the fact table: whole numbers that span at most 2^20, or strings with dictionaries.
    Column(usize),
}

/// An aggregate over the rows of a group. AVG is SUM by COUNT.
#[derive(Clone, Debug)]
pub enum Aggregate {
    /// COUNT(*).
    CountRows,
    /// COUNT of the rows whose value is not NULL.
    Count(Expression),
    /// SUM.
    Sum(Expression),
    /// MIN, of a floating point column too: see [`float_of`].
    Min(Expression),
    /// MAX, likewise.
    Max(Expression),
    /// MIN of a column of texts: its value is a rank among [`StarAnswer::texts`].
    MinText(OrderedText),
    /// MAX, likewise.
    MaxText(OrderedText),
}

/// How a star query is run.
#[derive(Clone, Copy)]
pub struct StarOptions<'a> {
    /// Up to as many threads work, the caller's among them.
    pub threads: usize,
    /// More groups are refused with [`Error::Invalid`](crate::Error::Invalid): they are for an operator that can spill. The bound is
    /// on each thread's groups, so an answer of as many is never refused.
    pub groups_max: usize,
    /// Refuse arguments of which integers, also on the way, may exceed 64 bits with [`Error::Invalid`](crate::Error::Invalid): SQL has an
    /// error for them, if there are any. DECIMALs may take 128 bits.
    pub arguments_of_64_bits: bool,
    /// Asked before each zone; once it says so the query ends with [`Error::Cancelled`](crate::Error::Cancelled).
    pub cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
}

/// Rows that a star query reads: a Segment, or delta rows.
#[derive(Clone, Copy)]
pub struct StarSource<'a> {
    /// The columns.
    pub columns: &'a (dyn ColumnSource + Sync),
    /// Positions of deleted rows.
    pub deleted: Option<&'a RoaringBitmap>,
}

/// The answer to a star query.
#[derive(Clone, Debug, PartialEq)]
pub struct StarAnswer {
    /// The groups, in no order that means anything.
    pub groups: Vec<Group>,
    /// Zones that were not read, because zone maps have their result.
    pub zones_known: usize,
    /// Zones that were read.
    pub zones_read: usize,
    /// Sources of which a dictionary or an index told the groups, or the extremes of a text.
    pub dictionaries: usize,
    /// For columns whose extremes are asked for: the texts by rank.
    pub texts: FxHashMap<usize, Vec<Box<[u8]>>>,
    /// Rows that the condition leaves out before a code is looked at, of sources that had to be read.
    pub skipped: SkippedRows,
    /// Sources of which it leaves no row.
    pub segments_skipped: usize,
}

/// One group of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// For each [`GroupBy`].
    pub keys: Vec<GroupKey>,
    /// For each [`Aggregate`]; `None` is NULL, of SUM, MIN and MAX over no values. Extremes of floating point columns are what
    /// [`float_of`] takes, those of texts are ranks.
    pub values: Vec<Option<i128>>,
}

/// A part of a group's key.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupKey {
    /// The group code of a join's map.
    Code(u32),
    /// The value of a column; `None` is NULL.
    Value(Option<Datum>),
}
