//! Bound data changes.
//!
//! Expressions read rows by the ordinals of the target's columns. If a statement has two rows in scope, the columns of the second
//! follow those of the first.

use super::target::Target;
use crate::bind::BoundQuery;
use crate::point::PointAccess;
use squall_functions::expr::BoundExpr;
use squall_parser::ast::PackedRows;
use squall_types::SqlType;
use std::sync::Arc;

/// A data change of any kind.
#[derive(Clone, Debug)]
pub enum DmlPlan {
    /// INSERT and REPLACE.
    Insert(Box<InsertPlan>),
    /// UPDATE of one table without subqueries.
    Update(Box<UpdatePlan>),
    /// DELETE from one table without subqueries.
    Delete(Box<DeletePlan>),
    /// UPDATE or DELETE of several tables, or with subqueries: rows are found by a query.
    ByQuery(Box<QueryChangePlan>),
}

/// A value to store.
#[derive(Clone, Debug)]
pub enum NewValue {
    /// The word DEFAULT.
    Default,
    /// An expression.
    Expr(BoundExpr),
}

/// `column = value`.
#[derive(Clone, Debug)]
pub struct ColumnAssignment {
    /// Ordinal of the column.
    pub column: usize,
    /// Its new value.
    pub value: NewValue,
}

/// The treatment of a row whose key exists already.
#[derive(Clone, Debug)]
pub enum OnDuplicate {
    /// Error 1062, or with IGNORE a warning.
    Fail,
    /// REPLACE: the rows in the way are deleted.
    Replace,
    /// ON DUPLICATE KEY UPDATE, over the row in the way and then the new row.
    Update(Vec<ColumnAssignment>),
}

/// INSERT and REPLACE.
#[derive(Clone, Debug)]
pub struct InsertPlan {
    /// The table.
    pub target: Target,
    /// Ordinals of the columns that values are given for, in their order.
    pub columns: Vec<usize>,
    /// The values.
    pub source: InsertRows,
    /// The treatment of duplicates.
    pub on_duplicate: OnDuplicate,
    /// IGNORE.
    pub ignore: bool,
    /// RETURNING, over the row as it was stored.
    pub returning: Vec<Returned>,
}

/// A column of RETURNING.
#[derive(Clone, Debug)]
pub struct Returned {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub expr: BoundExpr,
}

/// Where the rows of an INSERT come from.
#[derive(Clone, Debug)]
pub enum InsertRows {
    /// VALUES and SET; expressions read the row as far as it has been filled in.
    Values(InsertValues),
    /// A query.
    Query(Box<BoundQuery>),
}

/// Rows of VALUES.
#[derive(Clone, Debug, Default)]
pub struct InsertValues {
    /// The first rows: all there are of a short statement.
    pub rows: Vec<Vec<NewValue>>,
    /// The rows behind them.
    pub packed: Option<PackedInsert>,
}

/// Rows of VALUES whose literals are bound when the row is inserted.
#[derive(Clone, Debug)]
pub struct PackedInsert {
    /// The rows, all of as many values as the statement has columns.
    pub rows: Arc<PackedRows>,
    /// [`PackedRows::exprs`], bound.
    pub exprs: Vec<NewValue>,
}

impl InsertValues {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() + self.packed.as_ref().map_or(0, |packed| packed.rows.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values that are bound, those of literals in packed rows left out.
    pub fn values(&self) -> impl Iterator<Item = &NewValue> {
        self.rows.iter().flatten().chain(self.packed.iter().flat_map(|packed| &packed.exprs))
    }
}

/// UPDATE of one table.
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// The table.
    pub target: Target,
    /// The assignments, carried out from left to right.
    pub assignments: Vec<ColumnAssignment>,
    /// Which rows.
    pub selection: Selection,
    /// IGNORE.
    pub ignore: bool,
}

/// DELETE from one table.
#[derive(Clone, Debug)]
pub struct DeletePlan {
    /// The table.
    pub target: Target,
    /// Which rows.
    pub selection: Selection,
    /// IGNORE.
    pub ignore: bool,
    /// RETURNING, over the row as it was.
    pub returning: Vec<Returned>,
}

/// WHERE, ORDER BY and LIMIT over one table.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The primary key, where the condition says that and nothing else.
    pub key: Option<PointAccess>,
    /// WHERE.
    pub condition: Option<BoundExpr>,
    /// ORDER BY: sort keys and whether they descend.
    pub order: Vec<(BoundExpr, bool)>,
    /// LIMIT.
    pub limit: Option<BoundExpr>,
}

/// A change of rows that a query finds.
#[derive(Clone, Debug)]
pub struct QueryChangePlan {
    /// The query: for each table of `changes` the key of its row, then that table's new values.
    pub query: Box<BoundQuery>,
    /// The change of each table's rows.
    pub changes: Vec<TableChange>,
    /// IGNORE.
    pub ignore: bool,
    /// Whether rows are deleted; otherwise they are updated.
    pub delete: bool,
}

/// One table of a change by query.
#[derive(Clone, Debug)]
pub struct TableChange {
    /// The table.
    pub target: Target,
    /// Which column of the query holds the row's key; NULL where an outer join found none.
    pub key_column: usize,
    /// New values: the table's column and the query's column that holds it (`None`: DEFAULT).
    pub values: Vec<(usize, Option<usize>)>,
}

/// The MySQL types of a query's columns.
pub fn column_types(query: &BoundQuery) -> Vec<SqlType> {
    query.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect()
}

impl Selection {
    /// The expressions over the table's rows.
    pub fn exprs(&self) -> impl Iterator<Item = &BoundExpr> {
        self.condition.iter().chain(self.order.iter().map(|(expr, _)| expr))
    }
}

impl InsertPlan {
    /// The query whose rows are inserted.
    pub fn query(&self) -> Option<&BoundQuery> {
        match &self.source {
            InsertRows::Query(query) => Some(query),
            InsertRows::Values(_) => None,
        }
    }
}

impl DmlPlan {
    /// INSERT or REPLACE, if it is one.
    pub fn insert(&self) -> Option<&InsertPlan> {
        match self {
            DmlPlan::Insert(plan) => Some(plan),
            DmlPlan::Update(_) | DmlPlan::Delete(_) | DmlPlan::ByQuery(_) => None,
        }
    }

    /// A change whose rows a query finds, if it is one.
    pub fn by_query(&self) -> Option<&QueryChangePlan> {
        match self {
            DmlPlan::ByQuery(plan) => Some(plan),
            DmlPlan::Insert(_) | DmlPlan::Update(_) | DmlPlan::Delete(_) => None,
        }
    }

    /// The tables that it changes.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let (one, several) = match self {
            DmlPlan::Insert(plan) => (Some(&plan.target), [].as_slice()),
            DmlPlan::Update(plan) => (Some(&plan.target), [].as_slice()),
            DmlPlan::Delete(plan) => (Some(&plan.target), [].as_slice()),
            DmlPlan::ByQuery(plan) => (None, plan.changes.as_slice()),
        };
        one.into_iter().chain(several.iter().map(|change| &change.target))
    }

    /// The query inside of it.
    pub fn query(&self) -> Option<&BoundQuery> {
        match self {
            DmlPlan::Insert(plan) => plan.query(),
            DmlPlan::ByQuery(plan) => Some(&plan.query),
            DmlPlan::Update(_) | DmlPlan::Delete(_) => None,
        }
    }

    /// The columns of RETURNING.
    pub fn returning(&self) -> &[Returned] {
        match self {
            DmlPlan::Insert(plan) => &plan.returning,
            DmlPlan::Delete(plan) => &plan.returning,
            DmlPlan::Update(_) | DmlPlan::ByQuery(_) => &[],
        }
    }
}
