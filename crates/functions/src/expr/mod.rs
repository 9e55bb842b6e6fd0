//! The bound expression: names resolved, types known, conversions explicit.
//!
//! One tree serves both ways to run a statement. A point plan calls [`BoundExpr::eval`] on single rows; a query plan
//! turns the tree into a DataFusion expression with [`BoundExpr::to_datafusion`]. Conditions, comparisons and CASE are
//! nodes of their own so that DataFusion sees joins and filters in them; every other operation is a [`Call`].
//!
//! Build trees with [`crate::build::ExprBuilder`], which knows MySQL's typing rules.

mod brief;
mod call_udf;
mod compound;
mod datafusion;
mod eval;
mod hidden_digits;
mod long_literal;
mod print;
mod quiet;
mod repeats;
mod slot;
mod sort_key;
mod text_compare;
mod walk;

pub use crate::comparison::CompareOp;
pub(crate) use crate::comparison::physical_order;
pub use crate::error::{datafusion_error, sql_error_from};
pub(crate) use brief::{is_brief, is_long};
pub use call_udf::{CallUdf, EACH_ROW_NAME, ParameterUdf};
pub use compound::{Depth, with_value_of};
pub(crate) use compound::{with_operand, with_operands};
pub use eval::{EmptyRow, ParameterisedRow, RowSource, truth_of};
pub(crate) use hidden_digits::{has_hidden_digits, is_unrounded, scale_of_parts};
pub use long_literal::LongLiteralUdf;
pub use slot::ExecutionSlot;
pub use sort_key::{sort_key, sort_key_in};
pub use text_compare::TextCompareUdf;

use ::datafusion::common::TableReference;
use ::datafusion::logical_expr::Expr;
use squall_registry::{Coercibility, ExprType, ScalarKernel, Volatility};
use squall_types::{CollationId, SqlType, Value};
use std::any::Any;
use std::sync::Arc;

/// An expression whose names and types are known.
#[derive(Clone, Debug)]
pub enum BoundExpr {
    /// A constant.
    Literal(Value, ExprType),
    /// A column of the row.
    Column(Arc<ColumnRef>),
    /// A parameter of the statement, given when it runs.
    Parameter {
        /// Its number, from 0.
        index: u32,
        /// The type it was bound with.
        ty: ExprType,
        /// Whether it is an integer that is never negative.
        non_negative: bool,
    },
    /// A function or operator.
    Call(Arc<Call>),
    /// All of the conditions.
    And(Vec<BoundExpr>),
    /// Any of the conditions.
    Or(Vec<BoundExpr>),
    /// The opposite of a condition.
    Not(Box<BoundExpr>),
    /// Exactly one of two conditions.
    Xor(Box<BoundExpr>, Box<BoundExpr>),
    /// `IS [NOT] NULL`.
    IsNull {
        /// What is looked at.
        operand: Box<BoundExpr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `IS [NOT] TRUE`, `IS [NOT] FALSE`.
    IsTruth {
        /// The condition looked at.
        operand: Box<BoundExpr>,
        /// TRUE or FALSE.
        truth: bool,
        /// IS NOT.
        negated: bool,
    },
    /// A comparison of two values of one physical type.
    Compare {
        /// Which comparison.
        op: CompareOp,
        /// Left side.
        left: Box<BoundExpr>,
        /// Right side.
        right: Box<BoundExpr>,
        /// How character strings compare; `None` for what compares as Arrow compares it.
        collation: Option<CollationId>,
    },
    /// `operand [NOT] IN (list)`, all of one physical type.
    InList {
        /// The value looked for.
        operand: Box<BoundExpr>,
        /// Where.
        list: Vec<BoundExpr>,
        /// NOT IN.
        negated: bool,
        /// How character strings compare; `None` for what compares as Arrow compares it.
        collation: Option<CollationId>,
    },
    /// The first branch whose condition is true; branches are of the CASE's type.
    Case(Arc<Case>),
    /// The first of the values that is not NULL; values are of the result's type.
    Coalesce {
        /// The values.
        values: Vec<BoundExpr>,
        /// The result.
        ty: ExprType,
    },
    /// Something that only DataFusion evaluates: a subquery, the output of an aggregate or a window.
    Opaque {
        /// What it is to DataFusion.
        expr: Box<Expr>,
        /// Its type.
        ty: ExprType,
        /// Whether `expr` is a DataFusion Boolean (EXISTS, IN (subquery)) rather than a value of the type's Arrow type.
        predicate: bool,
    },
}

/// A reference to a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    /// Its place in the rows that a [`RowSource`] gives.
    pub ordinal: usize,
    /// The qualifier that DataFusion knows it by.
    pub relation: Option<TableReference>,
    /// The name that DataFusion knows it by.
    pub name: Arc<str>,
    /// Its form in error texts: `` `db`.`t`.`c` ``.
    pub display: Arc<str>,
    /// Its type.
    pub ty: ExprType,
    /// How deep the expression is that makes it; nothing for a table's column.
    pub depth: Depth,
}

/// A call of a function or operator.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function's name; for DataFusion's eyes it also tells calls of different meaning apart.
    pub name: Arc<str>,
    /// The code.
    pub kernel: Arc<dyn ScalarKernel>,
    /// Arguments, of the types that the kernel was bound with.
    pub args: Vec<BoundExpr>,
    /// The result.
    pub ty: ExprType,
    /// When equal arguments give equal results.
    pub volatility: Volatility,
    /// Name and kernel as text: two calls of one fingerprint and equal arguments are the same.
    fingerprint: Arc<str>,
}

impl Call {
    /// A call; `kernel` was bound with the types of `args`.
    pub fn new(
        name: impl Into<Arc<str>>,
        kernel: Arc<dyn ScalarKernel>,
        args: Vec<BoundExpr>,
        ty: ExprType,
        volatility: Volatility,
    ) -> Self {
        let name = name.into();
        let fingerprint = format!("{name}\0{kernel:?}").into();
        Self { name, kernel, args, ty, volatility, fingerprint }
    }

    /// The kernel, if it is one of this type.
    pub fn kernel_as<K: ScalarKernel>(&self) -> Option<&K> {
        (self.kernel.as_ref() as &dyn Any).downcast_ref()
    }
}

/// `CASE WHEN … THEN … ELSE … END`.
#[derive(Clone, Debug)]
pub struct Case {
    /// Conditions and results.
    pub branches: Vec<(BoundExpr, BoundExpr)>,
    /// The result when no condition is true; NULL if absent.
    pub otherwise: Option<BoundExpr>,
    /// The result.
    pub ty: ExprType,
}

impl Case {
    /// What it may be: of each branch, and otherwise.
    pub(crate) fn results(&self) -> impl Iterator<Item = &BoundExpr> {
        self.branches.iter().map(|(_, result)| result).chain(&self.otherwise)
    }
}

/// The type of a condition's value: 0, 1 or NULL.
pub fn boolean_type(nullable: bool) -> ExprType {
    ExprType::numeric(SqlType::BOOL, nullable)
}

impl BoundExpr {
    /// A bare NULL.
    pub fn null() -> Self {
        BoundExpr::Literal(
            Value::Null,
            ExprType { sql_type: SqlType::Null, nullable: true, coercibility: Coercibility::Ignorable },
        )
    }

    /// The condition that is always true or always false.
    pub fn boolean(value: bool) -> Self {
        BoundExpr::Literal(Value::from(value), boolean_type(false))
    }

    /// A call.
    pub fn call(call: Call) -> Self {
        BoundExpr::Call(Arc::new(call))
    }

    /// Its type.
    pub fn ty(&self) -> ExprType {
        match self {
            BoundExpr::Literal(_, ty)
            | BoundExpr::Parameter { ty, .. }
            | BoundExpr::Coalesce { ty, .. }
            | BoundExpr::Opaque { ty, .. } => ty.clone(),
            BoundExpr::Column(column) => column.ty.clone(),
            BoundExpr::Call(call) => call.ty.clone(),
            BoundExpr::Case(case) => case.ty.clone(),
            _ => boolean_type(self.nullable()),
        }
    }

    /// Its MySQL type.
    pub fn sql_type(&self) -> SqlType {
        match self.type_ref() {
            Some(ty) => ty.sql_type.clone(),
            None => SqlType::BOOL,
        }
    }

    /// The type where the node holds one; conditions do not.
    pub(crate) fn type_ref(&self) -> Option<&ExprType> {
        match self {
            BoundExpr::Literal(_, ty)
            | BoundExpr::Parameter { ty, .. }
            | BoundExpr::Coalesce { ty, .. }
            | BoundExpr::Opaque { ty, .. } => Some(ty),
            BoundExpr::Column(column) => Some(&column.ty),
            BoundExpr::Call(call) => Some(&call.ty),
            BoundExpr::Case(case) => Some(&case.ty),
            _ => None,
        }
    }

    /// Whether NULL can come out.
    pub fn nullable(&self) -> bool {
        match self {
            BoundExpr::And(list) | BoundExpr::Or(list) => list.iter().any(BoundExpr::nullable),
            BoundExpr::Not(operand) => operand.nullable(),
            BoundExpr::Xor(left, right) => left.nullable() || right.nullable(),
            BoundExpr::IsNull { .. } | BoundExpr::IsTruth { .. } => false,
            BoundExpr::Compare { op: CompareOp::NullSafeEqual, .. } => false,
            BoundExpr::Compare { left, right, .. } => left.nullable() || right.nullable(),
            BoundExpr::InList { operand, list, .. } => operand.nullable() || list.iter().any(BoundExpr::nullable),
            _ => self.type_ref().is_none_or(|ty| ty.nullable),
        }
    }

    /// The value, if it is a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        match self {
            BoundExpr::Literal(value, _) => Some(value),
            _ => None,
        }
    }

    /// Whether the node is a condition: DataFusion has it as a Boolean, MySQL as 0, 1 or NULL.
    pub fn is_condition(&self) -> bool {
        matches!(
            self,
            BoundExpr::And(_)
                | BoundExpr::Or(_)
                | BoundExpr::Not(_)
                | BoundExpr::Xor(..)
                | BoundExpr::IsNull { .. }
                | BoundExpr::IsTruth { .. }
                | BoundExpr::Compare { .. }
                | BoundExpr::InList { .. }
                | BoundExpr::Opaque { predicate: true, .. }
        )
    }

    /// How freely it may be folded or moved: the least free of its parts.
    pub fn volatility(&self) -> Volatility {
        let mut worst = Volatility::Immutable;
        self.visit(&mut |expr| {
            if let BoundExpr::Call(call) = expr {
                worst = match (worst, call.volatility) {
                    (Volatility::Volatile, _) | (_, Volatility::Volatile) => Volatility::Volatile,
                    (Volatility::Stable, _) | (_, Volatility::Stable) => Volatility::Stable,
                    _ => Volatility::Immutable,
                };
            }
        });
        worst
    }

    /// Whether it needs no row: no column and nothing opaque in it.
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.visit(&mut |expr| {
            if matches!(expr, BoundExpr::Column(_) | BoundExpr::Opaque { .. }) {
                constant = false;
            }
        });
        constant
    }

    /// Whether it can be evaluated on rows: nothing opaque in it.
    pub fn is_row_wise(&self) -> bool {
        let mut row_wise = true;
        self.visit(&mut |expr| row_wise &= !matches!(expr, BoundExpr::Opaque { .. }));
        row_wise
    }
}

/// Structural equality: the same operations on the same columns. Equal volatile calls are not the same value.
impl PartialEq for BoundExpr {
    fn eq(&self, other: &Self) -> bool {
        use BoundExpr::*;
        match (self, other) {
            (Literal(a, a_type), Literal(b, b_type)) => a_type == b_type && a == b,
            (Column(a), Column(b)) => Arc::ptr_eq(a, b) || a == b,
            (
                Parameter { index: a, ty: a_type, non_negative: a_sign },
                Parameter { index: b, ty: b_type, non_negative: b_sign },
            ) => a == b && a_type == b_type && a_sign == b_sign,
            (Call(a), Call(b)) => Arc::ptr_eq(a, b) || a == b,
            (And(a), And(b)) | (Or(a), Or(b)) => a == b,
            (Not(a), Not(b)) => a == b,
            (Xor(a, b), Xor(c, d)) => a == c && b == d,
            (IsNull { operand: a, negated: an }, IsNull { operand: b, negated: bn }) => an == bn && a == b,
            (IsTruth { operand: a, truth: at, negated: an }, IsTruth { operand: b, truth: bt, negated: bn }) => {
                at == bt && an == bn && a == b
            }
            (
                Compare { op: a, left: al, right: ar, collation: ac },
                Compare { op: b, left: bl, right: br, collation: bc },
            ) => a == b && ac == bc && al == bl && ar == br,
            (
                InList { operand: a, list: al, negated: an, collation: ac },
                InList { operand: b, list: bl, negated: bn, collation: bc },
            ) => an == bn && ac == bc && a == b && al == bl,
            (Case(a), Case(b)) => {
                Arc::ptr_eq(a, b) || (a.ty == b.ty && a.branches == b.branches && a.otherwise == b.otherwise)
            }
            (Coalesce { values: a, ty: a_type }, Coalesce { values: b, ty: b_type }) => a_type == b_type && a == b,
            (Opaque { expr: a, ty: at, .. }, Opaque { expr: b, ty: bt, .. }) => at == bt && a == b,
            _ => false,
        }
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty && self.fingerprint == other.fingerprint && self.args == other.args
    }
}

#[cfg(test)]
mod tests;
