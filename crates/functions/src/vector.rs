//! DISTANCE: the distance of two vectors.

use crate::operators::coerce;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Float64Array};
use squall_registry::{Argument, BoundCall, ExprType, ScalarFunction, ScalarKernel};
use squall_statement_context::StatementContext;
use squall_types::vector::{Metric, dimensions, shown};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// `DISTANCE(vector, vector, metric)`.
#[derive(Debug)]
pub(crate) struct Distance;

impl ScalarFunction for Distance {
    fn name(&self) -> &str {
        DISTANCE
    }

    fn aliases(&self) -> &[&str] {
        &["VECTOR_DISTANCE"]
    }

    fn arity(&self) -> (usize, usize) {
        (3, 3)
    }

    fn bind(&self, arguments: &[Argument<'_>], _context: &StatementContext) -> SqlResult<BoundCall> {
        let [left, right, metric] = arguments else {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&DISTANCE]));
        };
        let types = [left, right].map(|argument| &argument.expr_type.sql_type);
        if !types.into_iter().all(holds_vectors) || !is_text(&metric.expr_type.sql_type) {
            return Err(wrong_arguments());
        }
        let constant = match metric.literal {
            Some(Value::String(name)) => Some(Metric::of_name(name).ok_or_else(wrong_arguments)?),
            _ => None,
        };
        let kernel = DistanceKernel { metric: constant, metric_type: metric.expr_type.sql_type.clone() };
        let nullable = arguments.iter().any(|argument| argument.expr_type.nullable);
        let result = ExprType::numeric(SqlType::DOUBLE, nullable);
        Ok(BoundCall { result, kernel: Arc::new(kernel) })
    }
}

const DISTANCE: &str = "DISTANCE";

/// Whether an argument's bytes may be a vector: those of VECTOR(n) and byte strings.
pub(crate) fn holds_vectors(sql_type: &SqlType) -> bool {
    sql_type.is_binary_string() || *sql_type == SqlType::Null
}

fn is_text(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::String { .. } | SqlType::Null) && !sql_type.is_vector()
}

fn wrong_arguments() -> SqlError {
    SqlError::new(ErrorCode::WrongArguments, &[&"distance"])
}

/// Error 6138 for bytes that are no vector.
pub(crate) fn no_vector(bytes: &[u8]) -> SqlError {
    SqlError::new(ErrorCode::ToVectorConversion, &[&shown(bytes)])
}

/// A call of DISTANCE.
#[derive(Debug)]
pub struct DistanceKernel {
    /// The metric, if it is a literal.
    pub metric: Option<Metric>,
    metric_type: SqlType,
}

impl ScalarKernel for DistanceKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let [Value::Bytes(left), Value::Bytes(right), metric] = arguments else { return Ok(Value::Null) };
        let metric = match self.metric {
            Some(metric) => metric,
            None => match coerce::to_text(metric, &self.metric_type) {
                Some(name) => Metric::of_name(&name).ok_or_else(wrong_arguments)?,
                None => return Ok(Value::Null),
            },
        };
        distance(metric, left, right).map(Value::Double)
    }

    fn has_eval_arrays(&self) -> bool {
        self.metric.is_some()
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let metric = self.metric?;
        let [left, right, _] = arguments else { return None };
        let (left, right) = (left.as_binary_view_opt()?, right.as_binary_view_opt()?);
        Some(distances(metric, left, right, context).map(|distances| Arc::new(distances) as ArrayRef))
    }
}

fn distances(
    metric: Metric,
    left: &BinaryViewArray,
    right: &BinaryViewArray,
    context: &StatementContext,
) -> SqlResult<Float64Array> {
    context.kill.check()?;
    let mut distances = Float64Array::builder(left.len());
    for (left, right) in left.iter().zip(right) {
        match (left, right) {
            (Some(left), Some(right)) => distances.append_value(distance(metric, left, right)?),
            _ => distances.append_null(),
        }
    }
    Ok(distances.finish())
}

/// The distance of two values: vectors (6138) of as many dimensions (1210).
fn distance(metric: Metric, left: &[u8], right: &[u8]) -> SqlResult<f64> {
    for bytes in [left, right] {
        dimensions(bytes).ok_or_else(|| no_vector(bytes))?;
    }
    metric.distance(left, right).ok_or_else(wrong_arguments)
}
