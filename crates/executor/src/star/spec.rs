//! The description of a recognized star query.

use crate::access::RowTable;
use arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;
use squall_column_store::predicate::Predicate;
use squall_column_store::star::Aggregate;
use squall_functions::aggregate::AggregateCall;
use squall_types::SqlType;
use std::fmt;
use std::sync::Arc;

/// The parts of a star query beside the dimensions' plans.
#[derive(Clone)]
pub struct StarSpec {
    /// The column table.
    pub fact: Arc<RowTable>,
    /// The condition on its columns.
    pub condition: Predicate,
    /// The same as a filter of the column table's columns.
    pub filter: Option<Expr>,
    /// The joins, one for each dimension's plan.
    pub joins: Vec<Join>,
    /// The parts of the group key.
    pub groups: Vec<GroupPart>,
    /// The kernel's aggregates.
    pub kernel: Vec<Aggregate>,
    /// The aggregates, behind the groups in the output.
    pub outputs: Vec<Output>,
    /// Instead of all that: how many groups there are whose key is not NULL.
    pub counts_groups: bool,
    /// Instead of all that, too: a GROUP_CONCAT without clauses of all rows.
    pub list: Option<List>,
}

/// GROUP_CONCAT of a column of the column table.
#[derive(Clone, Debug)]
pub struct List {
    /// Its ordinal.
    pub ordinal: usize,
    /// How it is joined.
    pub call: Arc<AggregateCall>,
}

/// A join to a dimension. Its plan gives the key first, then the groups, then other columns of a group's first row.
#[derive(Clone, Debug)]
pub struct Join {
    /// Ordinal of the column table's column.
    pub column: usize,
    /// The dimension's name.
    pub alias: Arc<str>,
    /// How many columns of the dimension's plan its rows are told apart by.
    pub groups: usize,
}

/// One of the expressions that rows are grouped by.
#[derive(Clone, Debug)]
pub enum GroupPart {
    /// A column of a dimension's plan.
    Dimension {
        /// The join.
        join: usize,
        /// The column's position among its groups.
        at: usize,
    },
    /// A column of the column table that compares by its own values.
    Column {
        /// Its ordinal.
        ordinal: usize,
        /// Its type.
        sql_type: SqlType,
    },
    /// A text column of the column table, by its sort key.
    Text {
        /// Its ordinal.
        ordinal: usize,
        /// Its type, with the collation.
        sql_type: SqlType,
    },
}

/// One of the aggregates of the plan.
#[derive(Clone, Debug)]
pub enum Output {
    /// COUNT: the value of a kernel's aggregate.
    Count(usize),
    /// MIN or MAX: likewise.
    Extreme {
        /// The kernel's aggregate.
        at: usize,
        /// The output.
        data_type: DataType,
    },
    /// MIN or MAX of a text: a rank among the column's texts.
    ExtremeText {
        /// The kernel's aggregate.
        at: usize,
        /// The column table's column.
        ordinal: usize,
        /// The output: text or bytes.
        data_type: DataType,
    },
    /// MIN or MAX of a TIMESTAMP, which is stored in UTC.
    ExtremeMoment {
        /// The kernel's aggregate.
        at: usize,
        /// MAX.
        greatest: bool,
    },
    /// SUM or AVG: a kernel's sum and count.
    Sum {
        /// The sum.
        sum: usize,
        /// The count.
        count: usize,
        /// Makes the result of them.
        call: Arc<AggregateCall>,
    },
    /// Any value of a dimension's column: that of the group's first row.
    AnyOfDimension {
        /// The join.
        join: usize,
        /// The column's position behind the key.
        at: usize,
    },
    /// Any value of a text column that rows are grouped by.
    AnyOfText {
        /// The group's position.
        group: usize,
    },
}

impl fmt::Debug for StarSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StarSpec")
            .field("fact", &self.fact.alias)
            .field("condition", &self.condition)
            .field("joins", &self.joins)
            .field("groups", &self.groups)
            .field("kernel", &self.kernel)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
