//! Mathematics.

use super::support::{Args, Binding, Def, MANY, result};
use crate::typing::numeric::{NumericKind, double_of_places, numeric_kind, shown_places};
use crate::wrong_value::{division_by_zero, out_of_range};
use squall_registry::ExprType;
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ABS", (1, 1), abs_type, abs),
    Def::new("SIGN", (1, 1), result::int, |args| {
        let number = args.f64(0)?;
        Ok(Value::Int(if number > 0.0 { 1 } else { -i64::from(number < 0.0) }))
    }),
    Def::new("PI", (0, 0), pi_type, |_| Ok(Value::Double(std::f64::consts::PI))),
    Def::new("SQRT", (1, 1), result::nullable_double, |args| domain(args, |x| x >= 0.0, f64::sqrt)),
    Def::new("EXP", (1, 1), result::nullable_double, |args| finite(args.f64(0)?.exp())),
    Def::new("LN", (1, 1), result::nullable_double, |args| logarithm(args, args.f64(0)?, f64::ln)),
    Def::new("LOG2", (1, 1), result::nullable_double, |args| logarithm(args, args.f64(0)?, f64::log2)),
    Def::new("LOG10", (1, 1), result::nullable_double, |args| logarithm(args, args.f64(0)?, f64::log10)),
    Def::new("LOG", (1, 2), result::nullable_double, log),
    Def::new("POW", (2, 2), result::nullable_double, |args| finite(args.f64(0)?.powf(args.f64(1)?))).also(&["POWER"]),
    Def::new("SIN", (1, 1), result::nullable_double, |args| finite(args.f64(0)?.sin())),
    Def::new("COS", (1, 1), result::nullable_double, |args| finite(args.f64(0)?.cos())),
    Def::new("TAN", (1, 1), result::nullable_double, |args| finite(args.f64(0)?.tan())),
    Def::new("COT", (1, 1), result::nullable_double, cot),
    Def::new("ASIN", (1, 1), result::nullable_double, |args| domain(args, |x| x.abs() <= 1.0, f64::asin)),
    Def::new("ACOS", (1, 1), result::nullable_double, |args| domain(args, |x| x.abs() <= 1.0, f64::acos)),
    Def::new("ATAN", (1, 2), result::nullable_double, atan).also(&["ATAN2"]),
    Def::new("DEGREES", (1, 1), result::nullable_double, |args| finite(args.f64(0)?.to_degrees())),
    Def::new("RADIANS", (1, 1), result::nullable_double, |args| finite(args.f64(0)?.to_radians())),
    Def::new("CRC32", (1, 1), result::nullable_unsigned, |args| {
        Ok(Value::UInt(u64::from(crc32fast::hash(&args.encoded(0)))))
    }),
    // MariaDB's: the Castagnoli polynomial, or continued from a first argument.
    Def::new("CRC32C", (1, 2), result::nullable_unsigned, |args| {
        let begun = if args.len() == 2 { args.i64(0)? as u32 } else { 0 };
        Ok(Value::UInt(u64::from(crc32c(begun, &args.encoded(args.len() - 1)))))
    }),
    Def::new("BIT_COUNT", (1, 1), result::bigint, bit_count),
    Def::new("INTERVAL", (2, MANY), result::int, interval).takes_null(),
];

/// CRC-32C of bytes behind others whose sum is `begun`.
fn crc32c(begun: u32, bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    let step = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum));
    !bytes.iter().fold(!begun, byte)
}

fn abs_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let sql_type = match numeric_kind(binding.arg(0)) {
        NumericKind::Double => double_of_places(shown_places(binding.arg(0))),
        kind => kind.sql_type(),
    };
    Ok(ExprType::numeric(sql_type, false))
}

/// PI() shows six digits and computes with all.
fn pi_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    let sql_type = SqlType::Double { unsigned: false, zerofill: false, digits: Some((8, 6)) };
    Ok(ExprType::numeric(sql_type, false))
}

fn abs(args: &Args<'_>) -> SqlResult<Value> {
    Ok(match numeric_kind(args.ty(0)) {
        NumericKind::Int { unsigned: true } => Value::UInt(u64::try_from(args.integer(0)?).unwrap_or(u64::MAX)),
        NumericKind::Int { unsigned: false } => {
            let number = i64::try_from(args.integer(0)?).unwrap_or(i64::MIN);
            Value::Int(number.checked_abs().ok_or_else(|| out_of_range("BIGINT"))?)
        }
        NumericKind::Decimal { .. } => Value::Decimal(args.decimal(0)?.abs()),
        NumericKind::Double => Value::Double(args.f64(0)?.abs()),
    })
}

/// A result that is no number is an overflow.
fn finite(number: f64) -> SqlResult<Value> {
    if number.is_finite() { Ok(Value::Double(number + 0.0)) } else { Err(out_of_range("DOUBLE")) }
}

/// NULL outside of a function's domain.
fn domain(args: &Args<'_>, inside: fn(f64) -> bool, f: fn(f64) -> f64) -> SqlResult<Value> {
    let number = args.f64(0)?;
    if inside(number) { finite(f(number)) } else { Ok(Value::Null) }
}

fn logarithm(args: &Args<'_>, number: f64, f: fn(f64) -> f64) -> SqlResult<Value> {
    if number <= 0.0 {
        if args.context.settings.sql_mode.contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
            let error = SqlError::new(ErrorCode::InvalidArgumentForLogarithm, &[]);
            args.warn(error)?;
        }
        return Ok(Value::Null);
    }
    finite(f(number))
}

fn log(args: &Args<'_>) -> SqlResult<Value> {
    if args.len() == 1 {
        return logarithm(args, args.f64(0)?, f64::ln);
    }
    let (base, number) = (args.f64(0)?, args.f64(1)?);
    if base <= 0.0 || number <= 0.0 {
        return logarithm(args, 0.0, f64::ln);
    }
    if base == 1.0 {
        division_by_zero(args.context)?;
        return Ok(Value::Null);
    }
    finite(number.ln() / base.ln())
}

fn cot(args: &Args<'_>) -> SqlResult<Value> {
    finite(1.0 / args.f64(0)?.tan())
}

fn atan(args: &Args<'_>) -> SqlResult<Value> {
    if args.len() == 2 { finite(args.f64(0)?.atan2(args.f64(1)?)) } else { finite(args.f64(0)?.atan()) }
}

fn bit_count(args: &Args<'_>) -> SqlResult<Value> {
    if let Value::Bytes(bytes) = args.value(0) {
        return Ok(Value::Int(bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()));
    }
    let number = args.integer(0)?;
    Ok(Value::Int(i64::from((number as u64).count_ones())))
}

fn interval(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() {
        return Ok(Value::Int(-1));
    }
    let number = args.f64(0)?;
    let mut at = 1;
    while at < args.len() && (args.value(at).is_null() || args.f64(at)? <= number) {
        at += 1;
    }
    Ok(Value::Int(at as i64 - 1))
}
