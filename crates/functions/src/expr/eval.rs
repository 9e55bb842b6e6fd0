//! Evaluation on single rows, in MySQL's order: operands that are not needed are not evaluated.

use super::{BoundExpr, Call, CompareOp};
use crate::comparison::physical_order;
use crate::wrong_value::{lacks_expression, with_expression};
use arrow_buffer::i256;
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlError, SqlResult, Value};

/// Where column values and parameters come from.
pub trait RowSource {
    /// The value of a column.
    fn column(&self, ordinal: usize) -> SqlResult<Value>;

    /// The value of a parameter of the statement.
    fn parameter(&self, index: u32) -> SqlResult<Value> {
        Err(SqlError::internal(format!("parameter {index} was not given")))
    }
}

/// A row of values in order.
impl RowSource for [Value] {
    fn column(&self, ordinal: usize) -> SqlResult<Value> {
        self.get(ordinal).cloned().ok_or_else(|| SqlError::internal(format!("no column {ordinal} in the row")))
    }
}

impl RowSource for Vec<Value> {
    fn column(&self, ordinal: usize) -> SqlResult<Value> {
        self.as_slice().column(ordinal)
    }
}

/// The row of expressions without columns.
#[derive(Clone, Copy, Debug)]
pub struct EmptyRow;

impl RowSource for EmptyRow {
    fn column(&self, ordinal: usize) -> SqlResult<Value> {
        Err(SqlError::internal(format!("column {ordinal} where there is no row")))
    }
}

/// A row with the statement's parameters beside it.
#[derive(Clone, Copy, Debug)]
pub struct ParameterisedRow<'a, R: RowSource + ?Sized> {
    /// The row.
    pub row: &'a R,
    /// The parameters.
    pub parameters: &'a [Value],
}

impl<R: RowSource + ?Sized> RowSource for ParameterisedRow<'_, R> {
    fn column(&self, ordinal: usize) -> SqlResult<Value> {
        self.row.column(ordinal)
    }

    fn parameter(&self, index: u32) -> SqlResult<Value> {
        self.parameters
            .get(index as usize)
            .cloned()
            .ok_or_else(|| SqlError::internal(format!("parameter {index} was not given")))
    }
}

impl BoundExpr {
    /// The value on one row.
    pub fn eval<R: RowSource + ?Sized>(&self, row: &R, context: &StatementContext) -> SqlResult<Value> {
        match self {
            BoundExpr::Literal(value, _) => Ok(value.clone()),
            BoundExpr::Column(column) => row.column(column.ordinal),
            BoundExpr::Parameter { index, .. } => row.parameter(*index),
            BoundExpr::Call(call) => eval_call(call, row, context),
            BoundExpr::Case(case) => {
                for (when, then) in &case.branches {
                    if when.eval_condition(row, context)? == Some(true) {
                        return then.eval(row, context);
                    }
                }
                case.otherwise.as_ref().map_or(Ok(Value::Null), |otherwise| otherwise.eval(row, context))
            }
            BoundExpr::Coalesce { values, .. } => {
                for value in values {
                    let value = value.eval(row, context)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            BoundExpr::Opaque { expr, .. } => {
                Err(SqlError::internal(format!("row-wise evaluation of what only a query plan evaluates: {expr}")))
            }
            _ => Ok(self.eval_condition(row, context)?.map_or(Value::Null, Value::from)),
        }
    }

    /// The truth of the expression on one row; `None` is NULL.
    pub fn eval_condition<R: RowSource + ?Sized>(
        &self,
        row: &R,
        context: &StatementContext,
    ) -> SqlResult<Option<bool>> {
        match self {
            BoundExpr::And(conditions) => {
                let mut result = Some(true);
                for condition in conditions {
                    match condition.eval_condition(row, context)? {
                        Some(false) => return Ok(Some(false)),
                        None => result = None,
                        Some(true) => {}
                    }
                }
                Ok(result)
            }
            BoundExpr::Or(conditions) => {
                let mut result = Some(false);
                for condition in conditions {
                    match condition.eval_condition(row, context)? {
                        Some(true) => return Ok(Some(true)),
                        None => result = None,
                        Some(false) => {}
                    }
                }
                Ok(result)
            }
            BoundExpr::Not(operand) => Ok(operand.eval_condition(row, context)?.map(|truth| !truth)),
            BoundExpr::Xor(left, right) => {
                let Some(left) = left.eval_condition(row, context)? else { return Ok(None) };
                Ok(right.eval_condition(row, context)?.map(|right| left != right))
            }
            BoundExpr::IsNull { operand, negated } => Ok(Some(operand.eval(row, context)?.is_null() != *negated)),
            BoundExpr::IsTruth { operand, truth, negated } => {
                Ok(Some((operand.eval_condition(row, context)? == Some(*truth)) != *negated))
            }
            BoundExpr::Compare { op, left, right, collation } => {
                let left = left.eval(row, context)?;
                if left.is_null() && *op != CompareOp::NullSafeEqual {
                    return Ok(None);
                }
                let right = right.eval(row, context)?;
                compare(*op, &left, &right, *collation)
            }
            BoundExpr::InList { operand, list, negated, collation } => {
                let operand = operand.eval(row, context)?;
                if operand.is_null() {
                    return Ok(None);
                }
                let mut unknown = false;
                for item in list {
                    match compare(CompareOp::Equal, &operand, &item.eval(row, context)?, *collation)? {
                        Some(true) => return Ok(Some(!negated)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok((!unknown).then_some(*negated))
            }
            _ => truth_of(&self.eval(row, context)?),
        }
    }
}

fn eval_call<R: RowSource + ?Sized>(call: &Call, row: &R, context: &StatementContext) -> SqlResult<Value> {
    // Most calls have one or two arguments: those need no allocation.
    let result = match call.args.as_slice() {
        [] => call.kernel.eval(&[], context),
        [only] => call.kernel.eval(&[only.eval(row, context)?], context),
        [first, second] => call.kernel.eval(&[first.eval(row, context)?, second.eval(row, context)?], context),
        args => {
            let values = args.iter().map(|arg| arg.eval(row, context)).collect::<SqlResult<Vec<_>>>()?;
            call.kernel.eval(&values, context)
        }
    };
    result.map_err(|error| call.explain(error))
}

impl Call {
    /// An error of the kernel with the expression's text put in where its message asks for it.
    ///
    /// Error 1690 names the expression that overflowed. Kernels do not know it and leave its place empty.
    pub(super) fn explain(&self, error: SqlError) -> SqlError {
        if lacks_expression(&error) { with_expression(error, &self.source().to_string()) } else { error }
    }
}

/// The truth of a number or a temporal value: whether it is other than zero. `None` is NULL.
///
/// Strings are turned to numbers by an explicit call in the tree; here they are an error.
pub fn truth_of(value: &Value) -> SqlResult<Option<bool>> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Int(value) => *value != 0,
        Value::UInt(value) => *value != 0,
        Value::Double(value) => *value != 0.0,
        Value::Decimal(value) => value.unscaled() != i256::ZERO,
        Value::Date(value) => value.to_packed() != 0,
        Value::DateTime(value) => value.to_packed() != 0,
        Value::Time(value) => value.to_micros() != 0,
        Value::String(_) | Value::Bytes(_) | Value::Json(_) => {
            return Err(SqlError::internal("a condition that is neither number nor date"));
        }
    }))
}

/// Compares two values of one physical type.
fn compare(op: CompareOp, left: &Value, right: &Value, collation: Option<CollationId>) -> SqlResult<Option<bool>> {
    if op == CompareOp::NullSafeEqual && (left.is_null() || right.is_null()) {
        return Ok(Some(left.is_null() && right.is_null()));
    }
    let ordering = match (left, right, collation) {
        (Value::String(left), Value::String(right), Some(collation)) => {
            Some(squall_types::collation::compare(collation, left, right))
        }
        _ => physical_order(left, right)?,
    };
    Ok(ordering.map(|ordering| op.accepts(ordering)))
}
