//! FETCH FIRST n ROWS WITH TIES: the rows that are equal to the last one by ORDER BY come along.

use super::block::OrderKey;
use super::column::BlockId;
use super::context::{Context, plan_result};
use super::output::RowLimit;
use datafusion::common::ScalarValue;
use datafusion::functions_window::rank::rank_udwf;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, Filter, LogicalPlan, SortExpr, Window, WindowFrame, WindowFunctionDefinition, WindowUDF, lit,
};
use squall_registry::ExprType;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};
use std::sync::Arc;

impl Context<'_> {
    /// Keeps the rows of a limit and those equal to the last of them. The plan is to be sorted by the same keys behind it, and has two more
    /// columns, the rank and the number of the row.
    ///
    /// # Errors
    /// 4180 without ORDER BY.
    pub fn limit_with_ties(
        &mut self,
        plan: LogicalPlan,
        keys: &[OrderKey],
        is_ordered: bool,
        limit: RowLimit,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        if !is_ordered {
            return Err(SqlError::new(ErrorCode::WithTiesNeedsOrder, &[]));
        }
        let order = self.sort_exprs(keys, block)?;
        let Some(count) = limit.count.filter(|count| *count > 0) else { return self.limit(plan, limit) };
        if order.is_empty() {
            // Constants order nothing: all rows are equal.
            return self.limit(plan, RowLimit { count: None, ..limit });
        }
        let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, false);
        let rank = self.columns.add_computed(block, "rank", ty.clone());
        let number = self.columns.add_computed(block, "row_number", ty);
        let (rank, number) = (self.columns.name(rank).to_string(), self.columns.name(number).to_string());
        let numbered = vec![
            ranking(rank_udwf(), &order).alias(rank.clone()),
            ranking(row_number_udwf(), &order).alias(number.clone()),
        ];
        let plan = LogicalPlan::Window(plan_result(Window::try_new(numbered, Arc::new(plan)))?);
        let column = |name: String| Expr::Column(datafusion::common::Column::new_unqualified(name));
        let last = limit.offset.saturating_add(count);
        let kept = column(rank).lt_eq(lit(ScalarValue::UInt64(Some(last))));
        let kept = kept.and(column(number).gt(lit(ScalarValue::UInt64(Some(limit.offset)))));
        Ok(LogicalPlan::Filter(plan_result(Filter::try_new(kept, Arc::new(plan)))?))
    }
}

fn ranking(function: Arc<WindowUDF>, order: &[SortExpr]) -> Expr {
    let params = WindowFunctionParams {
        args: Vec::new(),
        partition_by: Vec::new(),
        order_by: order.to_vec(),
        window_frame: WindowFrame::new(Some(false)),
        filter: None,
        null_treatment: None,
        distinct: false,
    };
    Expr::WindowFunction(Box::new(WindowFunction { fun: WindowFunctionDefinition::WindowUDF(function), params }))
}
