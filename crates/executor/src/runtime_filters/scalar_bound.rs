//! The value of a subquery that is the same for all rows, used as a bound of the column that orders the parts of a table.

use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::Column;
use parking_lot::Mutex;
use squall_functions::arrow_map::value_at;
use squall_registry::ColumnRange;
use squall_statement_context::StatementContext;
use squall_types::{SqlType, Value};
use std::ops::Bound;

/// A comparison of the column that orders the parts with the value of a subquery.
#[derive(Debug)]
pub(crate) struct ScalarBound {
    /// The column is on the left.
    op: Operator,
    /// The expression that it is compared with, over the subquery's columns.
    value: PhysicalExprRef,
    sql_type: SqlType,
    /// `None` until it is known.
    known: Mutex<Option<Value>>,
}

impl ScalarBound {
    /// A comparison of the column, on the left, with an expression over the subquery's columns.
    pub(crate) fn new(op: Operator, value: PhysicalExprRef, sql_type: SqlType) -> ScalarBound {
        ScalarBound { op, value, sql_type, known: Mutex::default() }
    }

    /// The subquery has run. What the expression has to say is said when the filter runs.
    pub(crate) fn publish(&self, rows: &RecordBatch, context: &StatementContext) {
        let warnings = context.diagnostics.count();
        let value = self.evaluate(rows);
        context.diagnostics.truncate(warnings);
        *self.known.lock() = value;
    }

    fn evaluate(&self, rows: &RecordBatch) -> Option<Value> {
        if rows.num_rows() == 0 {
            // Its columns are NULL; what an expression makes of that, the filter finds out.
            return self.value.is::<Column>().then_some(Value::Null);
        }
        let array = self.value.evaluate(rows).ok()?.into_array(rows.num_rows()).ok()?;
        value_at(array.as_ref(), 0, &self.sql_type).ok()
    }

    /// The range of parts that is left, if it is known: `Some(None)` is no part.
    pub(crate) fn range(&self, column: usize) -> Option<Option<ColumnRange>> {
        let value = self.known.lock().clone()?;
        if value.is_null() {
            return Some(None);
        }
        let (low, high) = match self.op {
            Operator::Eq => (Bound::Included(value.clone()), Bound::Included(value)),
            Operator::Lt => (Bound::Unbounded, Bound::Excluded(value)),
            Operator::LtEq => (Bound::Unbounded, Bound::Included(value)),
            Operator::Gt => (Bound::Excluded(value), Bound::Unbounded),
            Operator::GtEq => (Bound::Included(value), Bound::Unbounded),
            _ => return None,
        };
        Some(Some(ColumnRange { column, low, high }))
    }
}
