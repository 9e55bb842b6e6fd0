//! Window functions.

use super::block::OrderKey;
use super::column::BlockId;
use super::context::{Context, plan_result};
use super::scope::Clause;
use super::window_call::{Bound, Window, WindowKind};
use datafusion::common::ScalarValue;
use datafusion::functions_window::cume_dist::cume_dist_udwf;
use datafusion::functions_window::lead_lag::{lag_udwf, lead_udwf};
use datafusion::functions_window::nth_value::{first_value_udwf, last_value_udwf, nth_value_udwf};
use datafusion::functions_window::ntile::ntile_udwf;
use datafusion::functions_window::rank::{dense_rank_udwf, percent_rank_udwf, rank_udwf};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, LogicalPlan, SortExpr, Window as WindowPlan, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition,
};
use squall_functions::arrow_map::value_to_scalar;
use squall_functions::build::refuse_vectors;
use squall_functions::expr::BoundExpr;
use squall_parser::ast;
use squall_registry::ExprType;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::collections::HashSet;
use std::sync::Arc;

impl Window {
    /// Its expressions, for rewriting.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut BoundExpr> {
        self.args.iter_mut().chain(&mut self.partition).chain(self.order.iter_mut().map(|key| &mut key.expr))
    }
}

impl Context<'_> {
    /// Binds a ranking function or its like.
    pub fn bind_window_call(&mut self, call: &ast::WindowCall) -> SqlResult<BoundExpr> {
        let name = function_name(call.function);
        self.check_window_allowed(name)?;
        if call.from_last {
            return Err(SqlError::unsupported("FROM LAST"));
        }
        if call.ignore_nulls {
            return Err(SqlError::unsupported("IGNORE NULLS"));
        }
        let mut args = self.inside_window(|context| {
            call.arguments.iter().map(|arg| context.bind_expr(arg)).collect::<SqlResult<Vec<_>>>()
        })?;
        let ty = self.window_type(call.function, name, &mut args)?;
        self.add_window(WindowKind::Ranking(call.function), args, &call.over, ty, name)
    }

    /// Binds an aggregate with OVER.
    pub fn bind_window_aggregate(
        &mut self,
        name: &str,
        call: &ast::AggregateCall,
        over: &ast::WindowReference,
    ) -> SqlResult<BoundExpr> {
        self.check_window_allowed(name)?;
        if call.distinct {
            return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
        }
        let call = self.inside_window(|context| context.aggregate_call(name, call))?;
        let (args, ty) = (call.args.clone(), call.ty.clone());
        self.add_window(WindowKind::Aggregate(call), args, over, ty, name)
    }

    fn check_window_allowed(&mut self, name: &str) -> SqlResult<()> {
        let frame = self.frame()?;
        match frame.windows_allowed && !frame.in_aggregate {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::WindowInvalidUse, &[&name.to_ascii_lowercase()])),
        }
    }

    /// Binds what stands inside of a window function, where no other may.
    fn inside_window<T>(&mut self, f: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        self.frame()?.windows_allowed = false;
        let result = f(self);
        self.frame()?.windows_allowed = true;
        result
    }

    fn add_window(
        &mut self,
        kind: WindowKind,
        args: Vec<BoundExpr>,
        over: &ast::WindowReference,
        ty: ExprType,
        name: &str,
    ) -> SqlResult<BoundExpr> {
        let (specification, window_name) = match over {
            ast::WindowReference::Name(name) => (self.named_window(name)?, name.as_str()),
            ast::WindowReference::Specification(specification) => (self.expanded(specification, UNNAMED, 0)?, UNNAMED),
        };
        check_no_positions(&specification, window_name)?;
        let (partition, order) = self.inside_window(|context| {
            let clause = context.clause();
            context.frame()?.clause = Clause::WindowPartition;
            let partition =
                specification.partition_by.iter().map(|expr| context.bind_expr(expr)).collect::<SqlResult<Vec<_>>>()?;
            context.frame()?.clause = Clause::WindowOrder;
            let order = specification
                .order_by
                .iter()
                .map(|item| Ok(OrderKey { expr: context.bind_expr(&item.expr)?, descending: item.descending }))
                .collect::<SqlResult<Vec<_>>>()?;
            context.frame()?.clause = clause;
            Ok((partition, order))
        })?;
        let frame = specification.frame.as_ref();
        let (units, start, end, order) = self.bind_frame(frame, order, window_name)?;
        let mut window = Window { id: 0, kind, args, partition, order, units, start, end };
        // The same call again is the same column.
        let known = self.frame()?.windows.iter().find(|known| **known == Window { id: known.id, ..window.clone() });
        if let Some(known) = known.map(|known| known.id) {
            return Ok(self.columns.expr(known));
        }
        let block = self.frame()?.scope.block;
        window.id = self.columns.add_computed(block, name, ty);
        let id = window.id;
        self.frame()?.windows.push(window);
        Ok(self.columns.expr(id))
    }

    fn named_window(&mut self, name: &ast::Ident) -> SqlResult<ast::WindowSpecification> {
        let windows = &self.frame()?.named_windows;
        match windows.iter().find(|window| window.name.is(name)) {
            Some(window) => {
                let specification = window.window.clone();
                self.expanded(&specification, name.as_str(), 0)
            }
            None => Err(SqlError::new(ErrorCode::WindowNoSuchName, &[&name.as_str()])),
        }
    }

    /// A window with what it takes from the window it names.
    fn expanded(
        &mut self,
        specification: &ast::WindowSpecification,
        name: &str,
        depth: usize,
    ) -> SqlResult<ast::WindowSpecification> {
        let Some(base_name) = &specification.base else { return Ok(specification.clone()) };
        let windows = &self.frame()?.named_windows;
        let Some(found) = windows.iter().find(|window| window.name.is(base_name)) else {
            return Err(SqlError::new(ErrorCode::WindowNoSuchName, &[&base_name.as_str()]));
        };
        if depth > windows.len() {
            return Err(SqlError::new(ErrorCode::WindowCircularity, &[]));
        }
        let found = found.window.clone();
        let base = self.expanded(&found, base_name.as_str(), depth + 1)?;
        if !specification.partition_by.is_empty() {
            return Err(SqlError::new(ErrorCode::WindowNoChildPartitioning, &[]));
        }
        if base.frame.is_some() {
            return Err(SqlError::new(ErrorCode::WindowNoInheritFrame, &[&base_name.as_str()]));
        }
        if !specification.order_by.is_empty() && !base.order_by.is_empty() {
            return Err(SqlError::new(ErrorCode::WindowNoRedefineOrderBy, &[&name, &base_name.as_str()]));
        }
        let mut whole = specification.clone();
        whole.base = None;
        whole.partition_by = base.partition_by;
        if whole.order_by.is_empty() {
            whole.order_by = base.order_by;
        }
        Ok(whole)
    }

    fn bind_frame(
        &mut self,
        frame: Option<&ast::WindowFrame>,
        order: Vec<OrderKey>,
        name: &str,
    ) -> SqlResult<(WindowFrameUnits, Bound, Bound, Vec<OrderKey>)> {
        let Some(frame) = frame else {
            return Ok(match order.is_empty() {
                true => (WindowFrameUnits::Rows, Bound::UnboundedPreceding, Bound::UnboundedFollowing, order),
                false => (WindowFrameUnits::Range, Bound::UnboundedPreceding, Bound::CurrentRow, order),
            });
        };
        if frame.exclusion.as_ref().is_some_and(|exclusion| *exclusion != ast::FrameExclusion::NoOthers) {
            return Err(SqlError::unsupported("EXCLUDE"));
        }
        let end = frame.end.as_ref().unwrap_or(&ast::FrameBound::CurrentRow);
        check_bounds(&frame.start, end, name)?;
        match frame.unit {
            ast::FrameUnit::Groups => Err(SqlError::unsupported("GROUPS")),
            ast::FrameUnit::Rows => {
                let bigint = SqlType::BIGINT_UNSIGNED;
                let mut offsets = [&frame.start, end].into_iter().filter_map(offset_of);
                if offsets.any(|offset| matches!(offset, ast::Expr::Interval { .. })) {
                    return Err(SqlError::new(ErrorCode::WindowRowsIntervalUse, &[&name]));
                }
                let start = self.bind_bound(&frame.start, &bigint, name)?;
                let end = self.bind_bound(end, &bigint, name)?;
                let (start, end) = if are_reversed(&start, &end) { beyond_the_end() } else { (start, end) };
                Ok((WindowFrameUnits::Rows, start, end, order))
            }
            ast::FrameUnit::Range => {
                let may_be_null = order.iter().any(|key| key.expr.ty().nullable);
                let (units, start, end, order) = self.bind_range(&frame.start, end, order, name)?;
                match are_reversed(&start, &end) {
                    false => Ok((units, start, end, order)),
                    // No row is in it, but that of a NULL has all NULLs: nothing is before or behind them.
                    true if !may_be_null => {
                        let (start, end) = beyond_the_end();
                        Ok((WindowFrameUnits::Rows, start, end, order))
                    }
                    true => Err(SqlError::unsupported(
                        "RANGE that ends before its start, in an order that may have NULL (use one that is NOT NULL, or COALESCE)",
                    )),
                }
            }
        }
    }

    fn bind_range(
        &mut self,
        start: &ast::FrameBound,
        end: &ast::FrameBound,
        mut order: Vec<OrderKey>,
        name: &str,
    ) -> SqlResult<(WindowFrameUnits, Bound, Bound, Vec<OrderKey>)> {
        let offsets = [offset_of(start), offset_of(end)];
        if offsets == [None, None] {
            if order.is_empty() {
                // All rows are peers.
                return Ok((WindowFrameUnits::Rows, Bound::UnboundedPreceding, Bound::UnboundedFollowing, order));
            }
            let start = self.bind_bound(start, &SqlType::BIGINT, name)?;
            let end = self.bind_bound(end, &SqlType::BIGINT, name)?;
            return Ok((WindowFrameUnits::Range, start, end, order));
        }
        let [key] = order.as_mut_slice() else {
            return Err(SqlError::new(ErrorCode::WindowRangeNeedsOrder, &[&name]));
        };
        let ty = key.expr.ty();
        if ty.sql_type.is_temporal() {
            // Distances between moments are counted in microseconds.
            let unit = self.binder.builder().literal(Value::String("MICROSECOND".to_string()));
            let origin = squall_types::Date::from_parts(1, 1, 1).unwrap_or_default().at_midnight();
            let origin = self.binder.builder().literal(Value::DateTime(origin));
            key.expr = super::expr::micros_between(self, unit, origin, key.expr.clone())?;
            let start = self.bind_bound(start, &SqlType::Time { fsp: 6 }, name)?;
            let end = self.bind_bound(end, &SqlType::Time { fsp: 6 }, name)?;
            return Ok((WindowFrameUnits::Range, start, end, order));
        }
        if !ty.sql_type.is_numeric() {
            return Err(SqlError::new(ErrorCode::WindowRangeNeedsOrder, &[&name]));
        }
        if offsets.into_iter().flatten().any(|offset| matches!(offset, ast::Expr::Interval { .. })) {
            return Err(SqlError::new(ErrorCode::WindowRangeNumericType, &[&name]));
        }
        if ty.sql_type.is_integer() {
            // Differences of unsigned numbers may be negative on the way.
            let signed = ExprType { sql_type: SqlType::BIGINT, ..ty };
            key.expr = self.binder.builder().convert(key.expr.clone(), &signed)?;
        }
        let sql_type = key.expr.sql_type();
        let start = self.bind_bound(start, &sql_type, name)?;
        let end = self.bind_bound(end, &sql_type, name)?;
        Ok((WindowFrameUnits::Range, start, end, order))
    }

    fn bind_bound(&mut self, bound: &ast::FrameBound, sql_type: &SqlType, name: &str) -> SqlResult<Bound> {
        Ok(match bound {
            ast::FrameBound::CurrentRow => Bound::CurrentRow,
            ast::FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            ast::FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
            ast::FrameBound::Preceding(expr) => {
                let (value, ty) = self.frame_offset(expr, sql_type, name)?;
                Bound::Preceding(value, ty)
            }
            ast::FrameBound::Following(expr) => {
                let (value, ty) = self.frame_offset(expr, sql_type, name)?;
                Bound::Following(value, ty)
            }
        })
    }

    fn frame_offset(&mut self, expr: &ast::Expr, sql_type: &SqlType, name: &str) -> SqlResult<(Value, SqlType)> {
        let wrong = || SqlError::new(ErrorCode::WindowFrameIllegal, &[&name]);
        let varies = || SqlError::new(ErrorCode::WindowBoundNotConstant, &[&name]);
        if let ast::Expr::Interval { value, unit } = expr {
            let unit = super::types::interval_unit(*unit);
            let value = self.bind_expr(value)?;
            let Some(value) = value.as_literal() else { return Err(varies()) };
            let text = super::expr::value_text(value).ok_or_else(wrong)?;
            if unit.is_month_unit() {
                return Err(SqlError::unsupported("RANGE INTERVAL of months or years"));
            }
            let interval = squall_types::temporal::Interval::parse(&text, unit);
            let origin = squall_types::DateTime::from_micros(0).unwrap_or_default();
            let start =
                squall_types::Date::from_day_number(1_000).map(squall_types::Date::at_midnight).unwrap_or(origin);
            let end = start.add_interval(interval).ok_or_else(wrong)?;
            return Ok((Value::Int(end.to_micros() - start.to_micros()), SqlType::BIGINT));
        }
        if matches!(sql_type, SqlType::Time { .. }) {
            return Err(SqlError::new(ErrorCode::WindowRangeTemporalType, &[&name]));
        }
        let bound = self.bind_expr(expr)?;
        if *sql_type == SqlType::BIGINT_UNSIGNED && !bound.sql_type().is_integer() {
            return Err(wrong());
        }
        let ty = ExprType::numeric(sql_type.clone(), false);
        let converted = self.binder.builder().convert(bound, &ty)?;
        match converted.as_literal() {
            Some(Value::Int(number)) if *number < 0 => Err(wrong()),
            Some(Value::Null) => Err(wrong()),
            None => Err(varies()),
            Some(value) => Ok((value.clone(), sql_type.clone())),
        }
    }

    /// Types a window function and checks its arguments.
    fn window_type(
        &mut self,
        function: ast::WindowFunction,
        name: &str,
        args: &mut [BoundExpr],
    ) -> SqlResult<ExprType> {
        use ast::WindowFunction as F;
        let count = match function {
            F::RowNumber | F::Rank | F::DenseRank | F::PercentRank | F::CumeDist => 0..=0,
            F::Ntile | F::FirstValue | F::LastValue => 1..=1,
            F::NthValue => 2..=2,
            F::Lead | F::Lag => 1..=3,
        };
        if !count.contains(&args.len()) {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&name.to_ascii_lowercase()]));
        }
        let number = |sql_type| ExprType::numeric(sql_type, false);
        let wrong = || SqlError::new(ErrorCode::WrongArguments, &[&name.to_ascii_lowercase()]);
        refuse_vectors(name, args.iter())?;
        Ok(match function {
            F::RowNumber | F::Rank | F::DenseRank => number(SqlType::BIGINT_UNSIGNED),
            F::PercentRank | F::CumeDist => number(SqlType::DOUBLE),
            F::Ntile => {
                positive(&mut args[0], 1).ok_or_else(wrong)?;
                ExprType { nullable: true, ..number(SqlType::BIGINT_UNSIGNED) }
            }
            F::FirstValue | F::LastValue => ExprType { nullable: true, ..args[0].ty() },
            F::NthValue => {
                positive(&mut args[1], 1).ok_or_else(wrong)?;
                ExprType { nullable: true, ..args[0].ty() }
            }
            F::Lead | F::Lag => {
                if args.len() > 1 {
                    positive(&mut args[1], 0).ok_or_else(wrong)?;
                }
                let mut ty = ExprType { nullable: true, ..args[0].ty() };
                if args.len() == 3 {
                    ty = self.binder.builder().unified_type(&[&args[0], &args[2]], name)?;
                    ty.nullable = true;
                    for position in [0, 2] {
                        let arg = std::mem::replace(&mut args[position], BoundExpr::null());
                        args[position] = self.binder.builder().convert(arg, &ty)?;
                    }
                    if args[2].as_literal().is_none() {
                        return Err(SqlError::unsupported("a default of LEAD or LAG that is not a constant"));
                    }
                }
                ty
            }
        })
    }

    /// Puts the block's window functions into its plan, those over one order together.
    pub fn window(&mut self, mut plan: LogicalPlan, block: BlockId) -> SqlResult<LogicalPlan> {
        let windows = std::mem::take(&mut self.frame()?.windows);
        let mut groups: Vec<(Vec<Expr>, Vec<SortExpr>, Vec<Expr>)> = Vec::new();
        for window in &windows {
            let partition = window
                .partition
                .iter()
                .map(|expr| self.value(&self.sort_key(expr.clone()), block))
                .collect::<SqlResult<Vec<_>>>()?;
            let order = self.sort_exprs(&window.order, block)?;
            let expr = self.window_expr(window, &partition, &order, block)?.alias(self.columns.name(window.id));
            match groups.iter_mut().find(|(known, sort, _)| *known == partition && *sort == order) {
                Some((_, _, exprs)) => exprs.push(expr),
                None => groups.push((partition, order, vec![expr])),
            }
        }
        for (_, _, exprs) in groups {
            plan = LogicalPlan::Window(plan_result(WindowPlan::try_new(exprs, Arc::new(plan)))?);
        }
        Ok(plan)
    }

    fn window_expr(&self, window: &Window, partition: &[Expr], order: &[SortExpr], block: BlockId) -> SqlResult<Expr> {
        use ast::WindowFunction as F;
        let values = || window.args.iter().map(|arg| self.value(arg, block)).collect::<SqlResult<Vec<_>>>();
        let (fun, args) = match &window.kind {
            WindowKind::Aggregate(call) => {
                let mut call = call.as_ref().clone();
                call.args.clone_from(&window.args);
                let parts = plan_result(self.placed_call(&Arc::new(call), block).parts(&self.slot))?;
                (WindowFunctionDefinition::AggregateUDF(parts.function), parts.args)
            }
            WindowKind::Ranking(function) => (
                WindowFunctionDefinition::WindowUDF(match function {
                    F::RowNumber => row_number_udwf(),
                    F::Rank => rank_udwf(),
                    F::DenseRank => dense_rank_udwf(),
                    F::PercentRank => percent_rank_udwf(),
                    F::CumeDist => cume_dist_udwf(),
                    F::Ntile => ntile_udwf(),
                    F::Lead => lead_udwf(),
                    F::Lag => lag_udwf(),
                    F::FirstValue => first_value_udwf(),
                    F::LastValue => last_value_udwf(),
                    F::NthValue => nth_value_udwf(),
                }),
                values()?,
            ),
        };
        let (start, end) = (bound(&window.start)?, bound(&window.end)?);
        let mut units = window.units;
        // A constant orders nothing: every row is a peer of every other.
        let (start, end) = if order.is_empty() && units == WindowFrameUnits::Range {
            units = WindowFrameUnits::Rows;
            (
                WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
                WindowFrameBound::Following(ScalarValue::UInt64(None)),
            )
        } else {
            (start, end)
        };
        let params = WindowFunctionParams {
            args,
            partition_by: partition.to_vec(),
            order_by: order.to_vec(),
            window_frame: WindowFrame::new_bounds(units, start, end),
            filter: None,
            null_treatment: None,
            distinct: false,
        };
        Ok(Expr::WindowFunction(Box::new(WindowFunction { fun, params })))
    }
}

/// The name that messages give a window without one.
const UNNAMED: &str = "<unnamed window>";

/// Error 3592 for a number in the place of a column, which in other clauses is the column's position.
fn check_no_positions(window: &ast::WindowSpecification, name: &str) -> SqlResult<()> {
    let mut keys = window.partition_by.iter().chain(window.order_by.iter().map(|item| &item.expr));
    match keys.any(|key| matches!(key.peeled(), ast::Expr::Literal(ast::Literal::Integer(_)))) {
        true => Err(SqlError::new(ErrorCode::WindowIllegalOrderBy, &[&name])),
        false => Ok(()),
    }
}

/// Error 3591 for two windows of one name.
pub(crate) fn check_names(windows: &[ast::NamedWindow]) -> SqlResult<()> {
    let mut names = HashSet::new();
    for window in windows {
        if !names.insert(window.name.as_str().to_lowercase()) {
            return Err(SqlError::new(ErrorCode::WindowDuplicateName, &[&window.name.as_str()]));
        }
    }
    Ok(())
}

/// The distance of a bound from the current row.
fn offset_of(bound: &ast::FrameBound) -> Option<&ast::Expr> {
    match bound {
        ast::FrameBound::Preceding(offset) | ast::FrameBound::Following(offset) => Some(offset),
        _ => None,
    }
}

/// Checks what the kinds of two bounds say already: a frame does not end before its start.
fn check_bounds(start: &ast::FrameBound, end: &ast::FrameBound, name: &str) -> SqlResult<()> {
    use ast::FrameBound as B;
    match (start, end) {
        (B::UnboundedFollowing, _) => Err(SqlError::new(ErrorCode::WindowFrameStartIllegal, &[&name])),
        (_, B::UnboundedPreceding) => Err(SqlError::new(ErrorCode::WindowFrameEndIllegal, &[&name])),
        (B::CurrentRow | B::Following(_), B::Preceding(_)) | (B::Following(_), B::CurrentRow) => {
            Err(SqlError::new(ErrorCode::WindowFrameIllegal, &[&name]))
        }
        _ => Ok(()),
    }
}

/// Whether the distances of two bounds of a kind are in the wrong order, so that the frame is empty.
fn are_reversed(start: &Bound, end: &Bound) -> bool {
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Double(number) => Some(*number),
        Value::Decimal(number) => Some(number.to_f64()),
        _ => None,
    };
    match (start, end) {
        (Bound::Preceding(start, _), Bound::Preceding(end, _)) => number(start) < number(end),
        (Bound::Following(start, _), Bound::Following(end, _)) => number(start) > number(end),
        _ => false,
    }
}

/// A frame that no row is in: DataFusion takes none whose bounds are in the wrong order.
fn beyond_the_end() -> (Bound, Bound) {
    /// More rows than any partition has.
    const ROWS_BEYOND: u64 = 1 << 48;
    let bound = Bound::Following(Value::UInt(ROWS_BEYOND), SqlType::BIGINT_UNSIGNED);
    (bound.clone(), bound)
}

fn bound(bound: &Bound) -> SqlResult<WindowFrameBound> {
    Ok(match bound {
        Bound::UnboundedPreceding => WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
        Bound::UnboundedFollowing => WindowFrameBound::Following(ScalarValue::UInt64(None)),
        Bound::CurrentRow => WindowFrameBound::CurrentRow,
        Bound::Preceding(value, ty) => WindowFrameBound::Preceding(value_to_scalar(value, ty)?),
        Bound::Following(value, ty) => WindowFrameBound::Following(value_to_scalar(value, ty)?),
    })
}

/// Checks that an argument is a whole number of at least `least`; DataFusion takes it as BIGINT.
fn positive(arg: &mut BoundExpr, least: u64) -> Option<()> {
    let number = match arg.as_literal()? {
        Value::Int(number) => u64::try_from(*number).ok()?,
        Value::UInt(number) => *number,
        _ => return None,
    };
    if number < least {
        return None;
    }
    let ty = ExprType::numeric(SqlType::BIGINT, false);
    *arg = BoundExpr::Literal(Value::Int(i64::try_from(number).ok()?), ty);
    Some(())
}

fn function_name(function: ast::WindowFunction) -> &'static str {
    use ast::WindowFunction as F;
    match function {
        F::RowNumber => "ROW_NUMBER",
        F::Rank => "RANK",
        F::DenseRank => "DENSE_RANK",
        F::PercentRank => "PERCENT_RANK",
        F::CumeDist => "CUME_DIST",
        F::Ntile => "NTILE",
        F::Lead => "LEAD",
        F::Lag => "LAG",
        F::FirstValue => "FIRST_VALUE",
        F::LastValue => "LAST_VALUE",
        F::NthValue => "NTH_VALUE",
    }
}
