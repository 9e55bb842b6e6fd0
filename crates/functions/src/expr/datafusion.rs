//! Bound expressions as DataFusion expressions.
//!
//! A condition is a Boolean to DataFusion and 0, 1 or NULL to MySQL. [`BoundExpr::to_predicate`] gives the one,
//! [`BoundExpr::to_value`] the other; a conversion stands only where a condition is used as a number or the reverse.

use super::call_udf::{CallUdf, ParameterUdf, changes_with_rows, each_row};
use super::long_literal::LongLiteralUdf;
use super::text_compare::TextCompareUdf;
use super::{BoundExpr, CompareOp, ExecutionSlot, datafusion_error};
use crate::arrow_map::{arrow_type, value_to_scalar};
use arrow::datatypes::DataType;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator, ScalarUDF};
use squall_registry::Volatility;
use squall_types::{CollationId, SqlType, Value};
use std::sync::Arc;

impl BoundExpr {
    /// The expression as a value of its type's Arrow type.
    pub fn to_datafusion(&self, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        self.to_value(slot)
    }

    /// The expression as a value of its type's Arrow type. A deep one is a single call to DataFusion.
    pub fn to_value(&self, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        match self.depth().is_shallow() {
            true => self.part_value(slot),
            false => self.clone().into_compound().part_value(slot),
        }
    }

    /// The expression as a DataFusion Boolean. Of conditions joined by AND each is looked at by itself.
    pub fn to_predicate(&self, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        if self.depth().is_shallow() {
            return self.part_predicate(slot);
        }
        match self {
            BoundExpr::And(list) if list.len() <= CONJUNCTS_MAX => {
                let compact = |part: &BoundExpr| match part.depth().is_shallow() {
                    true => part.clone(),
                    false => part.clone().into_compound(),
                };
                BoundExpr::And(list.iter().map(compact).collect()).part_predicate(slot)
            }
            _ => self.clone().into_compound().part_predicate(slot),
        }
    }

    fn part_value(&self, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        if self.is_condition() {
            return Ok(Expr::Cast(Cast::new(Box::new(self.part_predicate(slot)?), DataType::Int64)));
        }
        Ok(match self {
            BoundExpr::Literal(value, ty) => match LongLiteralUdf::expr_of(value, ty)? {
                Some(long) => long,
                None => Expr::Literal(value_to_scalar(value, &ty.sql_type).map_err(datafusion_error)?, None),
            },
            BoundExpr::Column(column) => Expr::Column(Column::new(column.relation.clone(), column.name.to_string())),
            BoundExpr::Parameter { index, ty, .. } => {
                let udf = ScalarUDF::new_from_impl(ParameterUdf::new(*index, ty, slot.clone()));
                Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(udf), Vec::new()))
            }
            BoundExpr::Call(call) => {
                let mut args = call.args.iter().map(|arg| arg.part_value(slot)).collect::<Result<Vec<_>>>()?;
                let udf = ScalarUDF::new_from_impl(CallUdf::over(&args, call, slot.clone()));
                if changes_with_rows(call) {
                    args.push(each_row());
                }
                Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(udf), args))
            }
            BoundExpr::Case(case) => {
                let when_then_expr = case
                    .branches
                    .iter()
                    .map(|(when, then)| Ok((Box::new(when.part_predicate(slot)?), Box::new(then.part_value(slot)?))))
                    .collect::<Result<Vec<_>>>()?;
                let otherwise = match &case.otherwise {
                    Some(otherwise) => otherwise.part_value(slot)?,
                    None => Expr::Literal(ScalarValue::try_from(&arrow_type(&case.ty.sql_type))?, None),
                };
                Expr::Case(Case::new(None, when_then_expr, Some(Box::new(otherwise))))
            }
            BoundExpr::Coalesce { values, .. } => self.coalesce(values, slot)?,
            BoundExpr::Opaque { expr, .. } => expr.as_ref().clone(),
            _ => return datafusion::common::internal_err!("a condition as a value: {self}"),
        })
    }

    fn part_predicate(&self, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        Ok(match self {
            BoundExpr::Literal(Value::Null, _) => Expr::Literal(ScalarValue::Boolean(None), None),
            BoundExpr::Literal(value @ (Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_)), _) => {
                Expr::Literal(ScalarValue::Boolean(super::truth_of(value).map_err(datafusion_error)?), None)
            }
            BoundExpr::And(list) => match grouped(list, CONJUNCTS_MAX, true) {
                Some(groups) => balanced(&groups, Operator::And, slot)?,
                None => balanced(list, Operator::And, slot)?,
            },
            BoundExpr::Or(list) => match grouped(list, DISJUNCTS_MAX, false) {
                Some(groups) => balanced(&groups, Operator::Or, slot)?,
                None => balanced(list, Operator::Or, slot)?,
            },
            BoundExpr::Not(operand) => Expr::Not(Box::new(operand.part_predicate(slot)?)),
            // `!=` on Booleans is NULL when either is.
            BoundExpr::Xor(left, right) => {
                binary(left.part_predicate(slot)?, Operator::NotEq, right.part_predicate(slot)?)
            }
            BoundExpr::IsNull { operand, negated } => {
                let operand = Box::new(operand.to_either(slot)?);
                if *negated { Expr::IsNotNull(operand) } else { Expr::IsNull(operand) }
            }
            BoundExpr::IsTruth { operand, truth, negated } => {
                let operand = Box::new(operand.part_predicate(slot)?);
                match (truth, negated) {
                    (true, false) => Expr::IsTrue(operand),
                    (true, true) => Expr::IsNotTrue(operand),
                    (false, false) => Expr::IsFalse(operand),
                    (false, true) => Expr::IsNotFalse(operand),
                }
            }
            BoundExpr::Compare { op, left, right, collation: Some(collation) }
                if *op != CompareOp::NullSafeEqual
                    && !is_plain(*collation)
                    && (left.is_constant() || right.is_constant()) =>
            {
                let udf = ScalarUDF::new_from_impl(TextCompareUdf::new(*op, *collation));
                let args = vec![left.part_value(slot)?, right.part_value(slot)?];
                Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(udf), args))
            }
            BoundExpr::Compare { op, left, right, collation } => {
                // The constant stands on the right: DataFusion takes `a = 1 AND 1 = a` for two different values of `a`.
                let (op, left, right) = match left.is_constant() && !right.is_constant() {
                    true => (op.swapped(), right, left),
                    false => (*op, left, right),
                };
                let op = match op {
                    CompareOp::Equal => Operator::Eq,
                    CompareOp::NullSafeEqual => Operator::IsNotDistinctFrom,
                    CompareOp::NotEqual => Operator::NotEq,
                    CompareOp::Less => Operator::Lt,
                    CompareOp::LessOrEqual => Operator::LtEq,
                    CompareOp::Greater => Operator::Gt,
                    CompareOp::GreaterOrEqual => Operator::GtEq,
                };
                binary(left.to_comparable(*collation, slot)?, op, right.to_comparable(*collation, slot)?)
            }
            BoundExpr::InList { operand, list, negated, collation } => {
                let list = list.iter().map(|item| item.to_comparable(*collation, slot)).collect::<Result<Vec<_>>>()?;
                Expr::InList(InList::new(Box::new(operand.to_comparable(*collation, slot)?), list, *negated))
            }
            BoundExpr::Opaque { expr, predicate: true, .. } => expr.as_ref().clone(),
            // Everything else is a number or a date: true when it is not zero.
            _ => {
                let sql_type = self.sql_type();
                if sql_type == SqlType::Null {
                    return Ok(Expr::Literal(ScalarValue::Boolean(None), None));
                }
                let zero = ScalarValue::new_zero(&arrow_type(&sql_type))?;
                binary(self.part_value(slot)?, Operator::NotEq, Expr::Literal(zero, None))
            }
        })
    }

    /// The value, or for strings of a collation their sort key, which compares as bytes.
    fn to_comparable(&self, collation: Option<CollationId>, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        match collation {
            None => self.part_value(slot),
            Some(collation) if is_plain(collation) => self.part_value(slot),
            Some(collation) => super::sort_key_in(self.clone(), collation).part_value(slot),
        }
    }

    /// A predicate where the node is a condition, else a value: for IS NULL, which takes either.
    fn to_either(&self, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        if self.is_condition() { self.part_predicate(slot) } else { self.part_value(slot) }
    }

    /// COALESCE as CASE, which looks at later values only where earlier ones are NULL, and at each value twice: values
    /// that must be looked at once are given names by the planner's projections beforehand or are last here.
    fn coalesce(&self, values: &[BoundExpr], slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        let (last, firsts) = match values {
            [] => return Ok(Expr::Literal(ScalarValue::Null, None)),
            [only] => return only.part_value(slot),
            [firsts @ .., last] => (last, firsts),
        };
        if firsts.iter().any(|value| value.is_larger_than(super::compound::COPIED_NODES_MAX)) {
            let ty = self.ty();
            return BoundExpr::Coalesce { values: values.to_vec(), ty }.into_compound().part_value(slot);
        }
        if firsts.iter().any(|value| value.volatility() == Volatility::Volatile) {
            let call = super::Call::new(
                "COALESCE",
                Arc::new(crate::operators::control::CoalesceKernel),
                values.to_vec(),
                self.ty(),
                Volatility::Volatile,
            );
            return BoundExpr::call(call).part_value(slot);
        }
        let mut branches = Vec::with_capacity(firsts.len());
        for value in firsts {
            let when = Expr::IsNotNull(Box::new(value.to_either(slot)?));
            branches.push((Box::new(when), Box::new(value.part_value(slot)?)));
        }
        Ok(Expr::Case(Case::new(None, branches, Some(Box::new(last.part_value(slot)?)))))
    }
}

/// Whether texts of a collation compare as their bytes: code points in UTF-8 order as bytes do.
fn is_plain(collation: CollationId) -> bool {
    collation.info().orders_as_utf8()
}

/// Most conditions joined by AND that DataFusion sees one by one. Its rules take them apart and put them together again
/// one below the other, as deep as there are conditions.
const CONJUNCTS_MAX: usize = 500;
/// Most conditions joined by OR, which stay as balanced as they were.
const DISJUNCTS_MAX: usize = 5000;

/// Groups that a longer chain becomes: nothing looks into them any more, and fewer are sooner planned.
const GROUPS: usize = 50;

/// A chain of more than `count_max` conditions as a shorter one, whose conditions are calls that look at many each.
fn grouped(list: &[BoundExpr], count_max: usize, and: bool) -> Option<Vec<BoundExpr>> {
    if list.len() <= count_max {
        return None;
    }
    let call = |group: &[BoundExpr]| {
        let group = group.to_vec();
        if and { BoundExpr::And(group) } else { BoundExpr::Or(group) }.into_compound()
    };
    Some(list.chunks(list.len().div_ceil(GROUPS)).map(call).collect())
}

/// Joins conditions as a balanced tree: a chain of thousands stays shallow.
fn balanced(list: &[BoundExpr], op: Operator, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
    match list {
        [] => Ok(Expr::Literal(ScalarValue::Boolean(Some(op == Operator::And)), None)),
        [only] => only.part_predicate(slot),
        _ => {
            let (left, right) = list.split_at(list.len() / 2);
            Ok(binary(balanced(left, op, slot)?, op, balanced(right, op, slot)?))
        }
    }
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}
