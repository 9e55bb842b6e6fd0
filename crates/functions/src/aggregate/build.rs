//! The making of aggregate calls: what the binder calls.

use super::call::AggregateCall;
use super::count::CountKernel;
use super::distinct::DistinctKernel;
use super::group_concat::{GroupConcatKernel, JoinKernel};
use super::native::{self, Family};
use super::sum::{SumInput, SumKernel};
use crate::build::{ExprBuilder, arguments_of, refuse_no_numbers, refuse_vectors, types_for};
use crate::expr::{BoundExpr, sort_key, sort_key_in};
use crate::typing::numeric::{NumericKind, numeric_kind};
use squall_registry::{AggregateFunction, AggregateKernel, BoundAggregate, Coercibility, ExprType};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// What GROUP_CONCAT has beside its arguments.
#[derive(Clone, Debug, Default)]
pub struct GroupConcatOptions {
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY: expressions and whether they are DESC.
    pub order_by: Vec<(BoundExpr, bool)>,
    /// SEPARATOR; `,` if absent.
    pub separator: Option<String>,
    /// LIMIT: offset and count.
    pub limit: Option<(u64, u64)>,
}

/// Aggregates of numbers, which refuse geometries.
const OF_NUMBERS: &[&str] = &["SUM", "AVG", "STD", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "VARIANCE"];

impl ExprBuilder<'_> {
    /// A call of an aggregate function by name, `COUNT(*)` without arguments; error 1305 if there is none.
    /// GROUP_CONCAT is [`ExprBuilder::group_concat`]'s.
    pub fn aggregate(&self, name: &str, args: Vec<BoundExpr>, distinct: bool) -> SqlResult<Arc<AggregateCall>> {
        let Some(function) = self.registry().aggregate(name) else {
            return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&"FUNCTION", &name]));
        };
        let function = function.clone();
        // Vectors have no order and no sum.
        if !matches!(function.name(), "COUNT" | "ANY_VALUE") {
            refuse_vectors(function.name(), &args)?;
        }
        if OF_NUMBERS.contains(&function.name()) {
            refuse_no_numbers(function.name(), &args)?;
        }
        let Some(family) = native::family(function.name()) else {
            return self.call_aggregate(&*function, args, distinct);
        };
        if family == Family::Count {
            return self.count(args, distinct);
        }
        let args = self.aggregate_arguments(family, args)?;
        let types = types_for(function.name(), &args);
        let bound = native::bind(
            function.name(),
            family,
            &arguments_of(&args, &types),
            self.context().settings.div_precision_increment,
        )?;
        let (args, bound) = match family {
            Family::Sum { average } => self.sum_of_all_digits(average, args, bound),
            _ => (args, bound),
        };
        // The extremes of a set are those of its different values.
        let matters = distinct && !matches!(family, Family::Extreme { .. } | Family::AnyValue);
        let kernel = if matters { self.distinct(bound.kernel, &args) } else { bound.kernel };
        Ok(Arc::new(AggregateCall::new(function.name(), kernel, args, bound.result)))
    }

    /// A sum with all digits that are known of its argument. The result has those that it has of what is shown.
    fn sum_of_all_digits(
        &self,
        average: bool,
        args: Vec<BoundExpr>,
        shown: BoundAggregate,
    ) -> (Vec<BoundExpr>, BoundAggregate) {
        let args: Vec<BoundExpr> = args.into_iter().map(|arg| self.unrounded(arg)).collect();
        let Some(SqlType::Decimal { precision, scale, .. }) = args.first().map(BoundExpr::sql_type) else {
            return (args, shown);
        };
        let input = SumInput::Decimal { precision, scale };
        let kernel = SumKernel { input, average, result: shown.result.sql_type.clone() };
        (args, BoundAggregate { kernel: Arc::new(kernel), ..shown })
    }

    /// A call of an aggregate function that the grammar does not know.
    ///
    /// # Errors
    /// Those of the function for these arguments.
    pub fn call_aggregate(
        &self,
        function: &dyn AggregateFunction,
        args: Vec<BoundExpr>,
        distinct: bool,
    ) -> SqlResult<Arc<AggregateCall>> {
        let types = types_for(function.name(), &args);
        let bound = function.bind(&arguments_of(&args, &types), distinct, self.context())?;
        Ok(Arc::new(AggregateCall::new(function.name(), bound.kernel, args, bound.result)))
    }

    /// A call of a stored aggregate function.
    ///
    /// # Errors
    /// Those of the function for these arguments.
    pub fn call_stored_aggregate(
        &self,
        function: &dyn AggregateFunction,
        args: Vec<BoundExpr>,
        distinct: bool,
    ) -> SqlResult<Arc<AggregateCall>> {
        let call = self.call_aggregate(function, args, distinct)?;
        if !distinct {
            return Ok(call);
        }
        let kernel = self.distinct(call.kernel.clone(), &call.args);
        Ok(Arc::new(AggregateCall::new(call.name.clone(), kernel, call.args.clone(), call.ty.clone())))
    }

    fn distinct(&self, inner: Arc<dyn AggregateKernel>, args: &[BoundExpr]) -> Arc<dyn AggregateKernel> {
        let collations = args.iter().map(|arg| string_collation(&arg.sql_type())).collect();
        Arc::new(DistinctKernel { inner, collations })
    }

    fn count(&self, args: Vec<BoundExpr>, distinct: bool) -> SqlResult<Arc<AggregateCall>> {
        let ty = ExprType::numeric(SqlType::BIGINT, false);
        if !distinct {
            // COUNT(1) counts what COUNT(*) does.
            let is_star = matches!(args.as_slice(), [BoundExpr::Literal(value, _)] if !value.is_null());
            let args = if is_star { Vec::new() } else { args };
            return Ok(Arc::new(AggregateCall::new("COUNT", Arc::new(CountKernel), args, ty)));
        }
        let keys: Vec<BoundExpr> = args.into_iter().map(sort_key).collect();
        if keys.len() == 1 {
            let mut call = AggregateCall::new("COUNT", Arc::new(CountKernel), keys, ty);
            call.distinct = true;
            return Ok(Arc::new(call));
        }
        let kernel = self.distinct(Arc::new(CountKernel), &keys);
        Ok(Arc::new(AggregateCall::new("COUNT", kernel, keys, ty)))
    }

    /// Arguments as the kernels of the family take them.
    fn aggregate_arguments(&self, family: Family, args: Vec<BoundExpr>) -> SqlResult<Vec<BoundExpr>> {
        args.into_iter()
            .map(|arg| {
                let arg = match family {
                    Family::Sum { .. } | Family::Variance { .. } => self.bytes_as_number(arg),
                    _ => arg,
                };
                let sql_type = arg.sql_type();
                if sql_type.digit_bytes().is_some()
                    && !matches!(family, Family::Count | Family::Extreme { .. } | Family::AnyValue)
                {
                    return self.spelled_out(arg);
                }
                match family {
                    Family::Sum { .. } => self.to_number_as(arg, &numeric_kind_of_sum(&sql_type)),
                    Family::Variance { .. } => self.to_number_as(arg, &SqlType::DOUBLE),
                    Family::Bits(_) if !sql_type.is_binary_string() => self.to_bits(arg),
                    Family::Extreme { .. } if matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) => {
                        let collation = sql_type.collation().unwrap_or(self.context().settings.collation);
                        self.to_text(arg, collation)
                    }
                    _ => Ok(arg),
                }
            })
            .collect()
    }

    /// `GROUP_CONCAT([DISTINCT] args [ORDER BY …] [SEPARATOR …] [LIMIT …])`.
    pub fn group_concat(&self, args: Vec<BoundExpr>, options: GroupConcatOptions) -> SqlResult<Arc<AggregateCall>> {
        if args.is_empty() {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&"GROUP_CONCAT"]));
        }
        refuse_vectors("group_concat", &args)?;
        let collation = self.string_collation(&args.iter().collect::<Vec<_>>(), "group_concat")?;
        let distinct_keys: Vec<BoundExpr> =
            if options.distinct { args.iter().cloned().map(sort_key).collect() } else { Vec::new() };
        let text = match args.as_slice() {
            [arg] if GroupConcatKernel::writes(&arg.sql_type(), collation) => arg.clone(),
            _ => {
                let texts = args.into_iter().map(|arg| self.to_text(arg, collation)).collect::<SqlResult<Vec<_>>>()?;
                self.concatenation(texts, collation)
            }
        };
        let kernel = GroupConcatKernel {
            source: text.sql_type(),
            distinct_count: distinct_keys.len(),
            descending: options.order_by.iter().map(|(_, descending)| *descending).collect(),
            separator: options.separator.unwrap_or_else(|| ",".to_string()),
            limit: options.limit,
        };
        let mut all = vec![text];
        all.extend(distinct_keys);
        all.extend(options.order_by.into_iter().map(|(expr, _)| order_key(expr)));
        let length = u32::try_from(self.context().settings.group_concat_max_len).unwrap_or(u32::MAX);
        let sql_type = crate::typing::string_of_length(length, collation);
        let ty = ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit };
        Ok(Arc::new(AggregateCall::new("GROUP_CONCAT", Arc::new(kernel), all, ty)))
    }

    /// The texts joined; NULL if any is.
    fn concatenation(&self, mut texts: Vec<BoundExpr>, collation: CollationId) -> BoundExpr {
        if texts.len() == 1 {
            return texts.swap_remove(0);
        }
        let ty = ExprType {
            sql_type: SqlType::longtext(collation),
            nullable: texts.iter().any(BoundExpr::nullable),
            coercibility: Coercibility::Implicit,
        };
        self.immutable("CONCAT", Arc::new(JoinKernel), texts, ty)
    }
}

/// The collation of character strings.
fn string_collation(sql_type: &SqlType) -> Option<CollationId> {
    match sql_type {
        SqlType::String { collation, .. } if *collation != CollationId::BINARY => Some(*collation),
        _ => None,
    }
}

/// What orders as the expression does.
fn order_key(expr: BoundExpr) -> BoundExpr {
    match expr.sql_type().collation() {
        Some(collation) if expr.sql_type().is_string() && collation != CollationId::BINARY => {
            sort_key_in(expr, collation)
        }
        _ if expr.sql_type() == SqlType::Json => sort_key(expr),
        _ => expr,
    }
}

/// The type that a value is summed as.
fn numeric_kind_of_sum(sql_type: &SqlType) -> SqlType {
    match numeric_kind(sql_type) {
        NumericKind::Int { unsigned } => NumericKind::Int { unsigned }.sql_type(),
        kind => kind.sql_type(),
    }
}
