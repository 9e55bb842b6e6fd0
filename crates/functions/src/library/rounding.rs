//! ROUND, TRUNCATE, CEIL, FLOOR.

use super::support::{Args, Binding, Def};
use crate::typing::numeric::{NumericKind, decimal_of_digits, numeric_kind};
use crate::wrong_value::out_of_range;
use squall_registry::ExprType;
use squall_types::{Decimal, SqlResult, SqlType, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ROUND", (1, 2), places_type, |args| to_places(args, true)),
    Def::new("TRUNCATE", (2, 2), places_type, |args| to_places(args, false)),
    Def::new("CEILING", (1, 1), whole_type, |args| to_whole(args, Decimal::ceil, f64::ceil)).also(&["CEIL"]),
    Def::new("FLOOR", (1, 1), whole_type, |args| to_whole(args, Decimal::floor, f64::floor)),
];

fn numeric(sql_type: SqlType) -> ExprType {
    ExprType::numeric(sql_type, false)
}

/// A decimal keeps as many places as are asked for by a literal, all of them otherwise.
fn places_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let places = if binding.arguments.len() == 1 { Some(0) } else { binding.literal_i64(1) };
    let (precision, scale) = match (numeric_kind(binding.arg(0)), places) {
        (NumericKind::Decimal { precision, scale }, _) => (precision, scale),
        // A double rounded to this many places shows this many.
        (NumericKind::Double, Some(places)) => {
            let shown = places.clamp(0, i64::from(Decimal::SCALE_MAX)) as u8;
            let digits = Some((17 + shown, shown));
            return Ok(numeric(SqlType::Double { unsigned: false, zerofill: false, digits }));
        }
        (kind, _) => return Ok(numeric(kind.sql_type())),
    };
    let integer_digits = u32::from(precision.saturating_sub(scale));
    let kept = match places {
        Some(places) => places.clamp(0, i64::from(scale)) as u32,
        None => u32::from(scale),
    };
    // Rounding can carry into a new digit.
    let carry = u32::from(binding.name == "ROUND" && kept < u32::from(scale));
    let (precision, scale) = decimal_of_digits(integer_digits + carry, kept);
    Ok(numeric(SqlType::decimal(precision, scale)))
}

fn to_places(args: &Args<'_>, round: bool) -> SqlResult<Value> {
    let places = i32::try_from(args.i64(1)?.clamp(-400, 400)).unwrap_or(0);
    match numeric_kind(args.ty(0)) {
        NumericKind::Int { unsigned } => {
            let number = args.integer(0)?;
            let result = if places >= 0 { number } else { integer_to_places(number, places.unsigned_abs(), round) };
            if unsigned {
                u64::try_from(result).map(Value::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED"))
            } else {
                i64::try_from(result).map(Value::Int).map_err(|_| out_of_range("BIGINT"))
            }
        }
        NumericKind::Decimal { .. } => {
            let number = args.decimal(0)?;
            let scale = match args.result {
                SqlType::Decimal { scale, .. } => *scale,
                _ => 0,
            };
            // More places are known of a quotient than the result shows.
            let places = places.clamp(-i32::from(Decimal::PRECISION_MAX), i32::from(scale.min(number.scale())));
            let result = if round { number.round(places) } else { number.truncate(places) };
            let result = result.and_then(|result| result.rescale(scale));
            result.map(Value::Decimal).ok_or_else(|| out_of_range("DECIMAL"))
        }
        NumericKind::Double => Ok(Value::Double(double_to_places(args.f64(0)?, places, round) + 0.0)),
    }
}

fn integer_to_places(number: i128, digits: u32, round: bool) -> i128 {
    let Some(unit) = 10_i128.checked_pow(digits) else { return 0 };
    let cut = number / unit * unit;
    let rest = (number - cut).unsigned_abs();
    if round && rest * 2 >= unit.unsigned_abs() { cut + unit * number.signum() } else { cut }
}

fn double_to_places(number: f64, places: i32, round: bool) -> f64 {
    let adjust = |number: f64| if round { number.round_ties_even() } else { number.trunc() };
    let power = 10_f64.powi(places.abs());
    let result = if places < 0 {
        if power.is_infinite() {
            return 0.0;
        }
        adjust(number / power) * power
    } else {
        let scaled = number * power;
        if power.is_infinite() || scaled.is_infinite() {
            return number;
        }
        adjust(scaled) / power
    };
    if result.is_finite() { result } else { number }
}

fn whole_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(numeric(match numeric_kind(binding.arg(0)) {
        NumericKind::Decimal { precision, scale } => {
            let digits = precision.saturating_sub(scale) + 1;
            /// Digits that every BIGINT has room for.
            const BIGINT_DIGITS: u8 = 18;
            if digits <= BIGINT_DIGITS { SqlType::BIGINT } else { SqlType::decimal(digits, 0) }
        }
        kind => kind.sql_type(),
    }))
}

fn to_whole(args: &Args<'_>, decimal: fn(Decimal) -> Option<Decimal>, double: fn(f64) -> f64) -> SqlResult<Value> {
    match numeric_kind(args.ty(0)) {
        NumericKind::Int { unsigned: true } => {
            u64::try_from(args.integer(0)?).map(Value::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED"))
        }
        NumericKind::Int { unsigned: false } => {
            i64::try_from(args.integer(0)?).map(Value::Int).map_err(|_| out_of_range("BIGINT"))
        }
        NumericKind::Double => Ok(Value::Double(double(args.f64(0)?) + 0.0)),
        NumericKind::Decimal { .. } => {
            let whole = decimal(args.decimal(0)?).ok_or_else(|| out_of_range("DECIMAL"))?;
            match args.result {
                SqlType::Decimal { .. } => Ok(Value::Decimal(whole)),
                _ => whole
                    .to_i128()
                    .and_then(|whole| i64::try_from(whole).ok())
                    .map(Value::Int)
                    .ok_or_else(|| out_of_range("BIGINT")),
            }
        }
    }
}
