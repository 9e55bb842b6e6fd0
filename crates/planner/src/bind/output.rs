//! The results of binding.

use arrow::datatypes::SchemaRef;
use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use squall_catalog::{Invoker, TableDef, ViewDef};
use squall_functions::expr::{BoundExpr, CallUdf, ExecutionSlot};
use squall_parser::ast::{LockStrength, SelectInto};
use squall_registry::{ExprType, Volatility};
use squall_types::{IntWidth, SqlType, Value};
use std::sync::Arc;

/// A query bound to the catalog.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// The plan; its columns are `columns` in order.
    pub plan: LogicalPlan,
    /// The result's columns.
    pub columns: Vec<OutputColumn>,
    /// Tables and views that are read, also inside views and subqueries.
    pub tables: Vec<TableUse>,
    /// INTO of the outermost query.
    pub into: Option<SelectInto>,
    /// With SQL_CALC_FOUND_ROWS: the LIMIT, which is not in the plan: the session counts all rows for FOUND_ROWS()
    /// and sends these.
    pub calc_found_rows: Option<RowLimit>,
    /// Whether the statement assigns user variables, so that rows must be made one after another on one thread.
    pub row_order_matters: bool,
    /// Whether the statement's text and the catalog determine its tables and its result's columns in every session.
    pub is_told_by_text: bool,
    /// The numbers of the parameters that stand nowhere in conditions but opposite to plain columns: the plan holds for other values
    /// of their kinds.
    pub plain_parameters: Vec<u32>,
    /// What [`BoundQuery::has_effects`] has said of a plan that is no longer here.
    pub known_effects: Option<bool>,
    /// Where the plan's expressions find the statement.
    pub slot: Arc<ExecutionSlot>,
}

impl BoundQuery {
    /// It without its plan, for executions that have a physical one.
    pub fn without_plan(self) -> BoundQuery {
        let known_effects = Some(self.has_effects());
        BoundQuery { plan: LogicalPlan::default(), known_effects, ..self }
    }

    /// Whether making its rows may do more than that: assign a variable, take a lock, wait. All of them are made then, even those that are not read.
    pub fn has_effects(&self) -> bool {
        if let Some(known) = self.known_effects {
            return known;
        }
        let mut has_effects = self.row_order_matters;
        // Looking cannot fail.
        let _ = self.plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    if let Expr::ScalarFunction(function) = expr {
                        let udf = CallUdf::of(&function.func);
                        has_effects |= udf.is_some_and(|udf| {
                            udf.call().volatility == Volatility::Volatile || udf.call().kernel.waits()
                        });
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        });
        has_effects
    }

    /// Whether rows that it reads are locked: by itself, or by a view or subquery in it.
    pub fn locks(&self) -> bool {
        self.tables.iter().any(|table| table.lock.is_some())
    }
}

/// LIMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowLimit {
    /// Rows left out first.
    pub offset: u64,
    /// Rows sent at most.
    pub count: Option<u64>,
    /// Whether rows equal to the last one come along.
    pub with_ties: bool,
}

/// A column of a result.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Name or alias.
    pub name: Arc<str>,
    /// Type.
    pub expr_type: ExprType,
    /// Where its values come from, if it is a plain column.
    pub origin: Option<Arc<ColumnOrigin>>,
    /// How the plan knows it.
    pub column: Column,
    /// The type that clients are told, if it is not [`OutputColumn::expr_type`]'s: see `announced_type`.
    pub announced: Option<SqlType>,
}

/// The type that clients are told of a calculated integer. MySQL calculates in BIGINT and says so, although a table made of
/// the result gets an INT; only where a column's own type shows through is it INT for both.
pub(crate) fn announced_type(expr: &BoundExpr) -> Option<SqlType> {
    let SqlType::Int { width: IntWidth::Int, unsigned, .. } = expr.ty().sql_type else { return None };
    let display_width = match expr {
        // Its digits, and room for a sign.
        BoundExpr::Literal(Value::Int(number), _) => {
            u8::try_from(number.unsigned_abs().checked_ilog10().unwrap_or(0) + 2).ok()
        }
        _ => None,
    };
    let announced = SqlType::Int { width: IntWidth::Big, unsigned, zerofill: false, display_width };
    is_calculated(expr).then_some(announced)
}

/// Whether an integer is not just a column's, or one of several columns'.
fn is_calculated(expr: &BoundExpr) -> bool {
    match expr {
        BoundExpr::Column(_) | BoundExpr::Opaque { .. } => false,
        BoundExpr::Case(case) => {
            case.branches.iter().map(|(_, result)| result).chain(&case.otherwise).any(is_calculated)
        }
        BoundExpr::Coalesce { values, .. } => values.iter().any(is_calculated),
        BoundExpr::Call(call) if ["greatest", "least"].iter().any(|name| call.name.eq_ignore_ascii_case(name)) => {
            call.args.iter().any(is_calculated)
        }
        BoundExpr::Literal(value, _) => *value != Value::Null,
        _ => true,
    }
}

/// The column of a table that a result column shows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnOrigin {
    /// Database.
    pub database: Arc<str>,
    /// The table's alias in the statement.
    pub table: Arc<str>,
    /// Name of the table; for a view the view's.
    pub org_table: Arc<str>,
    /// Name of the column in its table.
    pub org_name: Arc<str>,
    /// The base table and the ordinal in it.
    pub base: Option<(Arc<TableDef>, usize)>,
    /// The same of a column of a view or derived table, that shows it unchanged.
    pub behind: Option<(Arc<TableDef>, usize)>,
}

/// A table or view that a statement reads.
#[derive(Clone, Debug)]
pub struct TableUse {
    /// Database.
    pub database: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Its alias in the statement.
    pub alias: Arc<str>,
    /// The name of its scan in the plan; empty for a view.
    pub scan_name: Arc<str>,
    /// The definition of a base table.
    pub definition: Option<Arc<TableDef>>,
    /// The schema of a virtual table.
    pub virtual_schema: Option<SchemaRef>,
    /// Ordinals of the columns that the statement names, for column privileges.
    pub columns: Vec<usize>,
    /// As whom it is read: inside of a view that says so its definer.
    pub invoker: Invoker,
    /// The outermost view that the reference stands in, as `(database, name)`.
    pub inside_view: Option<(Arc<str>, Arc<str>)>,
    /// The view, if this is one itself.
    pub view: Option<Arc<ViewDef>>,
    /// How its rows are locked as they are read.
    pub lock: Option<LockStrength>,
    /// Whether that is so because a change reads it, and not by a locking clause, which asks for privileges.
    pub locked_by_change: bool,
    /// Whether it is read by a subquery of an expression, each time again: what the statement changes cannot be.
    pub in_subquery: bool,
}
