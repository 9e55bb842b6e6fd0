//! The syntax tree of a query.

use super::functions::{Aggregate, Function};
use std::fmt;

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What is selected; empty for all columns.
    pub items: Vec<Item>,
    /// Names after FROM.
    pub from: Vec<String>,
    /// WHERE.
    pub condition: Option<Expr>,
    /// ORDER BY: expressions and whether they descend.
    pub order: Vec<(Expr, bool)>,
    /// LIMIT: rows to leave out, and rows.
    pub limit: Option<(u64, u64)>,
}

/// An item of the select list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The expression; `None` for `*`.
    pub expr: Option<Expr>,
    /// Its name: the alias, or the text of an expression that is no column.
    pub name: Option<String>,
}

/// Operators between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Or,
    Xor,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitOr,
    BitAnd,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// An expression or condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A column, after the name of a partition if there was one.
    Column { partition: Option<String>, name: String },
    /// A number, as it was written.
    Number(String),
    /// A text.
    Text(String),
    /// NULL.
    Null,
    /// Operands with operators of one rank between them, which count from left to right.
    Row { first: Box<Expr>, rest: Vec<(Operator, Expr)> },
    /// A comparison, or a power.
    Binary { operator: Operator, left: Box<Expr>, right: Box<Expr> },
    /// `10 <= b < 20` and longer: all of the comparisons.
    Chain { first: Box<Expr>, rest: Vec<(Operator, Expr)> },
    /// `-x`.
    Negate(Box<Expr>),
    /// `NOT x`, `! x`.
    Not(Box<Expr>),
    /// `x IS [NOT] NULL`, `x NOT NULL`.
    IsNull { operand: Box<Expr>, negated: bool },
    /// `x [NOT] BETWEEN low AND high`.
    Between { operand: Box<Expr>, low: Box<Expr>, high: Box<Expr>, negated: bool },
    /// `x [NOT] IN (…)`.
    In { operand: Box<Expr>, list: Vec<Expr>, negated: bool },
    /// `x [NOT] LIKE pattern`.
    Like { operand: Box<Expr>, pattern: Box<Expr>, negated: bool },
    /// A function of rows' values.
    Call { function: Function, arguments: Vec<Expr> },
    /// An aggregate; no argument for `COUNT(*)`.
    Aggregate { aggregate: Aggregate, argument: Option<Box<Expr>> },
}

impl Query {
    /// Puts the names of all columns in the place of `*`.
    pub fn name_columns(&mut self, names: impl IntoIterator<Item = String>) {
        let all = matches!(self.items.as_slice(), [] | [Item { expr: None, .. }]);
        if all {
            let column = |name| Item { expr: Some(Expr::Column { partition: None, name }), name: None };
            self.items = names.into_iter().map(column).collect();
        }
    }
}

impl Expr {
    /// Whether an aggregate is in it.
    pub fn has_aggregate(&self) -> bool {
        match self {
            Expr::Aggregate { .. } => true,
            _ => self.children().into_iter().any(Expr::has_aggregate),
        }
    }

    /// Whether it reads a column.
    pub fn has_column(&self) -> bool {
        match self {
            Expr::Column { .. } => true,
            _ => self.children().into_iter().any(Expr::has_column),
        }
    }

    /// Operands and arguments.
    fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Column { .. } | Expr::Number(_) | Expr::Text(_) | Expr::Null => Vec::new(),
            Expr::Binary { left, right, .. } => vec![left, right],
            Expr::Row { first, rest } | Expr::Chain { first, rest } => {
                std::iter::once(&**first).chain(rest.iter().map(|(_, expr)| expr)).collect()
            }
            Expr::Negate(operand) | Expr::Not(operand) | Expr::IsNull { operand, .. } => vec![operand],
            Expr::Between { operand, low, high, .. } => vec![operand, low, high],
            Expr::In { operand, list, .. } => std::iter::once(&**operand).chain(list).collect(),
            Expr::Like { operand, pattern, .. } => vec![operand, pattern],
            Expr::Call { arguments, .. } => arguments.iter().collect(),
            Expr::Aggregate { argument, .. } => argument.iter().map(|argument| &**argument).collect(),
        }
    }
}

/// Why a text is no query that can be run. [`QueryError::code`] is what FastBit's status says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// Nothing but blanks.
    Empty,
    /// FROM, but neither WHERE nor a select list.
    OnlyFrom,
    /// Neither WHERE nor a select list.
    NothingSelected,
    /// It cannot be parsed, or asks for a missing feature; with the reason.
    Failed(String),
}

impl QueryError {
    /// The number in `processSelect reported error: <n>`.
    pub fn code(&self) -> i32 {
        match self {
            QueryError::Failed(_) => -1,
            QueryError::Empty => -100,
            QueryError::OnlyFrom => -200,
            QueryError::NothingSelected => -300,
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryError::Empty => write!(f, "the query is empty"),
            QueryError::OnlyFrom => write!(f, "the query has neither a select list nor a WHERE beside FROM"),
            QueryError::NothingSelected => write!(f, "the query has neither a select list nor a WHERE"),
            QueryError::Failed(reason) => write!(f, "{reason}"),
        }
    }
}
