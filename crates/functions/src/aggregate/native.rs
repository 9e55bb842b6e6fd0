//! The aggregates that every query knows: their names and types.

use super::any_value::AnyValueKernel;
use super::bits::BitsKernel;
use super::collect::CollectKernel;
use super::count::CountKernel;
use super::group_concat::GroupConcatKernel;
use super::json::{JsonArrayKernel, JsonObjectKernel};
use super::min_max::{ExtremeKernel, JsonExtremeKernel, StringExtremeKernel};
use super::sum::{SumInput, SumKernel};
use super::variance::VarianceKernel;
use crate::operators::bits::BitOp;
use crate::typing::numeric::{NumericKind, double_of_places, integer_digits, numeric_kind, shown_places};
use squall_registry::{AggregateFunction, AggregateKernel, Argument, BoundAggregate, Coercibility, ExprType, Registry};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, Decimal, ErrorCode, GeometryKind, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// Aggregates that take their arguments alike, and what tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Count,
    Sum { average: bool },
    Extreme { max: bool },
    Bits(BitOp),
    Variance { sample: bool, deviation: bool },
    AnyValue,
    JsonArray,
    JsonObject,
    GroupConcat,
    Collect,
}

/// Name, aliases, family.
const NATIVE: &[(&str, &[&str], Family)] = &[
    ("COUNT", &[], Family::Count),
    ("SUM", &[], Family::Sum { average: false }),
    ("AVG", &[], Family::Sum { average: true }),
    ("MIN", &[], Family::Extreme { max: false }),
    ("MAX", &[], Family::Extreme { max: true }),
    ("BIT_AND", &[], Family::Bits(BitOp::And)),
    ("BIT_OR", &[], Family::Bits(BitOp::Or)),
    ("BIT_XOR", &[], Family::Bits(BitOp::Xor)),
    ("STDDEV_POP", &["STD", "STDDEV"], Family::Variance { sample: false, deviation: true }),
    ("STDDEV_SAMP", &[], Family::Variance { sample: true, deviation: true }),
    ("VAR_POP", &["VARIANCE"], Family::Variance { sample: false, deviation: false }),
    ("VAR_SAMP", &[], Family::Variance { sample: true, deviation: false }),
    ("ANY_VALUE", &[], Family::AnyValue),
    ("JSON_ARRAYAGG", &[], Family::JsonArray),
    ("JSON_OBJECTAGG", &[], Family::JsonObject),
    ("GROUP_CONCAT", &[], Family::GroupConcat),
    ("ST_COLLECT", &[], Family::Collect),
];

/// The family of a name.
pub(super) fn family(name: &str) -> Option<Family> {
    NATIVE.iter().find(|(known, _, _)| *known == name).map(|(_, _, family)| *family)
}

/// Declares them all.
pub fn register(registry: &mut Registry) {
    for (name, aliases, family) in NATIVE {
        registry.register_aggregate(Arc::new(NativeAggregate { name, aliases, family: *family }));
    }
}

#[derive(Debug)]
struct NativeAggregate {
    name: &'static str,
    aliases: &'static [&'static str],
    family: Family,
}

impl AggregateFunction for NativeAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[&str] {
        self.aliases
    }

    fn bind(
        &self,
        arguments: &[Argument<'_>],
        _distinct: bool,
        context: &StatementContext,
    ) -> SqlResult<BoundAggregate> {
        bind(self.name, self.family, arguments, context.settings.div_precision_increment)
    }
}

/// Types a call. `increment` is `div_precision_increment`.
pub(super) fn bind(name: &str, family: Family, arguments: &[Argument<'_>], increment: u8) -> SqlResult<BoundAggregate> {
    let expected = match family {
        Family::Count => arguments.len(),
        Family::JsonObject => 2,
        Family::GroupConcat => arguments.len().max(1),
        _ => 1,
    };
    let Some(first) = arguments.first().filter(|_| arguments.len() == expected) else {
        if family == Family::Count {
            return Ok(BoundAggregate {
                result: ExprType::numeric(SqlType::BIGINT, false),
                kernel: Arc::new(CountKernel),
            });
        }
        return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&name]));
    };
    let argument = &first.expr_type.sql_type;
    let (result, kernel): (ExprType, Arc<dyn AggregateKernel>) = match family {
        Family::Count => (ExprType::numeric(SqlType::BIGINT, false), Arc::new(CountKernel)),
        Family::Sum { average } => {
            let kernel = sum_kernel(argument, average, increment);
            (ExprType::numeric(kernel.result.clone(), true), Arc::new(kernel))
        }
        Family::Extreme { max } => {
            let result = ExprType { nullable: true, ..first.expr_type.clone() };
            match argument {
                SqlType::String { collation, .. } if *collation != CollationId::BINARY => {
                    (result, Arc::new(StringExtremeKernel { max, collation: *collation }))
                }
                SqlType::Json => (result, Arc::new(JsonExtremeKernel { max })),
                _ => (result, Arc::new(ExtremeKernel { max })),
            }
        }
        Family::Bits(op) => {
            if let SqlType::String { length, .. } = argument
                && argument.is_binary_string()
            {
                /// Longest byte string that bits are aggregated of.
                const BYTES_MAX: u32 = 511;
                let byte_length = Some((*length).min(BYTES_MAX) as usize);
                (first.expr_type.clone(), Arc::new(BitsKernel { op, byte_length }))
            } else {
                (ExprType::numeric(SqlType::BIGINT_UNSIGNED, false), Arc::new(BitsKernel { op, byte_length: None }))
            }
        }
        Family::Variance { sample, deviation } => {
            (ExprType::numeric(SqlType::DOUBLE, true), Arc::new(VarianceKernel { sample, deviation }))
        }
        Family::AnyValue => (ExprType { nullable: true, ..first.expr_type.clone() }, Arc::new(AnyValueKernel)),
        Family::JsonArray => (document(), Arc::new(JsonArrayKernel { value_type: argument.clone() })),
        Family::JsonObject => {
            let value_type = arguments.get(1).map_or(SqlType::Null, |argument| argument.expr_type.sql_type.clone());
            (document(), Arc::new(JsonObjectKernel { key_type: argument.clone(), value_type }))
        }
        Family::Collect => {
            let sql_type = SqlType::geometry(GeometryKind::Geometry);
            (ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit }, Arc::new(CollectKernel))
        }
        Family::GroupConcat => {
            let collation = argument.collation().unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
            let ty = ExprType {
                sql_type: SqlType::longtext(collation),
                nullable: true,
                coercibility: Coercibility::Implicit,
            };
            (ty, Arc::new(GroupConcatKernel::plain(argument.clone())))
        }
    };
    Ok(BoundAggregate { result, kernel })
}

fn document() -> ExprType {
    ExprType { sql_type: SqlType::Json, nullable: true, coercibility: Coercibility::Implicit }
}

/// Digits that a sum may have before the point beyond its values'.
const SUM_EXTRA_DIGITS: u8 = 22;

fn sum_kernel(argument: &SqlType, average: bool, increment: u8) -> SumKernel {
    let (input, precision, scale) = match numeric_kind(argument) {
        NumericKind::Double => {
            let increment = if average { increment } else { 0 };
            let places = shown_places(argument).and_then(|places| places.checked_add(increment));
            return SumKernel { input: SumInput::Double, average, result: double_of_places(places) };
        }
        NumericKind::Int { .. } => (SumInput::Integer, integer_digits(argument), 0),
        NumericKind::Decimal { precision, scale } => (SumInput::Decimal { precision, scale }, precision, scale),
    };
    let result = if average {
        let result_scale = (scale + increment).min(Decimal::SCALE_MAX);
        SqlType::decimal((precision + result_scale - scale).min(Decimal::PRECISION_MAX), result_scale)
    } else {
        SqlType::decimal(precision.saturating_add(SUM_EXTRA_DIGITS).min(Decimal::PRECISION_MAX), scale)
    };
    SumKernel { input, average, result }
}
