//! The clock, and making and computing with dates and times.

use super::moments;
use super::support::{Args, Binding, Def, result};
use crate::operators::coerce;
use crate::typing::has_date;
use squall_registry::ExprType;
use squall_types::clock::now_micros;
use squall_types::temporal::calendar::{months_to_period, period_to_months};
use squall_types::temporal::format::date_format;
use squall_types::temporal::{Interval, IntervalUnit, TimeZone, str_to_date};
use squall_types::{Date, DateTime, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Time, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("NOW", (0, 1), moment_type, |args| Ok(moment(args, coerce::now(args.context))))
        .also(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"])
        .stable(),
    Def::new("SYSDATE", (0, 1), moment_type, sysdate).generating(),
    Def::new("CURDATE", (0, 0), date_type, |args| Ok(Value::Date(coerce::now(args.context).date())))
        .also(&["CURRENT_DATE"])
        .stable(),
    Def::new("CURTIME", (0, 1), clock_type, |args| Ok(clock(args, coerce::now(args.context))))
        .also(&["CURRENT_TIME"])
        .stable(),
    Def::new("UTC_DATE", (0, 0), date_type, |args| Ok(Value::Date(utc_now(args).date()))).stable(),
    Def::new("UTC_TIME", (0, 1), clock_type, |args| Ok(clock(args, utc_now(args)))).stable(),
    Def::new("UTC_TIMESTAMP", (0, 1), moment_type, |args| Ok(moment(args, utc_now(args)))).stable(),
    Def::new("UNIX_TIMESTAMP", (0, 1), unix_timestamp_type, unix_timestamp).takes_null().stable(),
    Def::new("FROM_UNIXTIME", (1, 2), from_unixtime_type, from_unixtime).stable(),
    Def::new("CONVERT_TZ", (3, 3), datetime_type, convert_tz),
    Def::new("DATE", (1, 1), result::date, |args| Ok(args.date(0)?.map_or(Value::Null, Value::Date))),
    Def::new("TIME", (1, 1), time_type, |args| Ok(args.time(0)?.map_or(Value::Null, Value::Time))),
    Def::new("TIMESTAMP", (1, 2), datetime_type, timestamp),
    Def::new("LAST_DAY", (1, 1), result::date, |args| {
        Ok(args.date(0)?.and_then(Date::last_day).map_or(Value::Null, Value::Date))
    }),
    Def::new("FROM_DAYS", (1, 1), result::date, |args| {
        Ok(Value::Date(Date::from_day_number(args.i64(0)?).unwrap_or(Date::ZERO)))
    }),
    Def::new("MAKEDATE", (2, 2), result::date, makedate),
    Def::new("MAKETIME", (3, 3), time_type, maketime),
    Def::new("SEC_TO_TIME", (1, 1), time_type, sec_to_time),
    Def::new("DATEDIFF", (2, 2), result::nullable_bigint, datediff)
        .of_moments(|args| args.types.iter().all(has_date).then(moments::days_between)),
    Def::new("TIMEDIFF", (2, 2), time_type, timediff),
    Def::new("ADDTIME", (2, 2), add_time_type, |args| add_time(args, 1)),
    Def::new("SUBTIME", (2, 2), add_time_type, |args| add_time(args, -1)),
    Def::new("TIMESTAMPDIFF", (3, 3), result::nullable_bigint, timestampdiff),
    Def::new("PERIOD_ADD", (2, 2), result::bigint, period_add),
    Def::new("PERIOD_DIFF", (2, 2), result::bigint, |args| {
        let months = |at| -> SqlResult<i64> { Ok(period_to_months(args.i64(at)?.max(0) as u64) as i64) };
        Ok(Value::Int(months(0)? - months(1)?))
    }),
    Def::new("STR_TO_DATE", (2, 2), str_to_date_type, str_to_date_function),
];

fn temporal(sql_type: SqlType) -> SqlResult<ExprType> {
    Ok(ExprType::numeric(sql_type, true))
}

/// The fractional digits that a literal argument asks for; error 1426 for more than six.
fn asked_fsp(binding: &Binding<'_>) -> SqlResult<u8> {
    match binding.literal_i64(0) {
        None if binding.arguments.is_empty() => Ok(0),
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        Some(fsp) => Err(SqlError::new(ErrorCode::TooBigPrecision, &[&fsp, &binding.name.to_lowercase(), &6])),
        None => Err(SqlError::new(ErrorCode::WrongArguments, &[&binding.name.to_lowercase()])),
    }
}

fn moment_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType { nullable: false, ..temporal(SqlType::DateTime { fsp: asked_fsp(binding)? })? })
}

fn clock_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType { nullable: false, ..temporal(SqlType::Time { fsp: asked_fsp(binding)? })? })
}

fn date_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType { nullable: false, ..temporal(SqlType::Date)? })
}

/// Fractional digits of a value as a date or time.
fn fsp_of(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => *fsp,
        SqlType::Decimal { scale, .. } => (*scale).min(6),
        SqlType::String { .. } | SqlType::Float { .. } | SqlType::Double { .. } => 6,
        _ => 0,
    }
}

/// Fractional digits of an argument: of a literal string those that it has.
fn argument_fsp(binding: &Binding<'_>, at: usize) -> u8 {
    match binding.literal(at) {
        Some(Value::String(text)) => {
            let digits = text.rsplit_once('.').map_or(0, |(_, digits)| digits.trim_end().len());
            u8::try_from(digits.min(6)).unwrap_or(6)
        }
        _ => fsp_of(binding.arg(at)),
    }
}

fn largest_fsp(binding: &Binding<'_>) -> u8 {
    (0..binding.arguments.len()).map(|at| argument_fsp(binding, at)).max().unwrap_or(0)
}

fn datetime_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    temporal(SqlType::DateTime { fsp: largest_fsp(binding) })
}

fn time_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let fsp = if binding.name == "MAKETIME" { argument_fsp(binding, 2) } else { largest_fsp(binding) };
    temporal(SqlType::Time { fsp })
}

fn result_fsp(args: &Args<'_>) -> u8 {
    fsp_of(args.result)
}

/// A point in time with the digits of the result, surplus ones cut.
fn moment(args: &Args<'_>, now: DateTime) -> Value {
    let unit = 10_i64.pow(u32::from(6 - result_fsp(args).min(6)));
    let micros = now.micros_of_day();
    DateTime::from_date_and_micros(now.date(), micros - micros % unit).map_or(Value::Null, Value::DateTime)
}

fn clock(args: &Args<'_>, now: DateTime) -> Value {
    match moment(args, now) {
        Value::DateTime(now) => Value::Time(now.time()),
        other => other,
    }
}

fn utc_now(args: &Args<'_>) -> DateTime {
    TimeZone::utc().from_unix_micros(args.context.now_micros).unwrap_or_default()
}

fn session_zone<'a>(args: &'a Args<'_>) -> &'a TimeZone {
    &args.context.settings.time_zone
}

/// The one function that does not stand still while the statement runs.
fn sysdate(args: &Args<'_>) -> SqlResult<Value> {
    let now = session_zone(args).from_unix_micros(now_micros()).unwrap_or_default();
    Ok(moment(args, now))
}

fn unix_timestamp_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let fsp = if binding.arguments.is_empty() { 0 } else { argument_fsp(binding, 0) };
    let sql_type = if fsp == 0 { SqlType::BIGINT } else { SqlType::decimal(11 + fsp, fsp) };
    Ok(ExprType::numeric(sql_type, binding.any_nullable()))
}

fn unix_timestamp(args: &Args<'_>) -> SqlResult<Value> {
    let micros = if args.is_empty() {
        args.context.now_micros
    } else {
        if args.value(0).is_null() {
            return Ok(Value::Null);
        }
        let Some(moment) = args.datetime(0)? else { return Ok(zero_like(args)) };
        if moment.date().has_zero_part() {
            return Ok(zero_like(args));
        }
        session_zone(args).to_unix_micros(moment).unix_micros
    };
    /// 3001-01-18 23:59:59 UTC, the last moment that UNIX_TIMESTAMP knows.
    const LAST_SECOND: i64 = 32_536_771_199;
    if micros < 0 || micros / 1_000_000 > LAST_SECOND {
        return Ok(zero_like(args));
    }
    Ok(match args.result {
        SqlType::Decimal { scale, .. } => {
            let exact = Decimal::from_i128(i128::from(micros), 6);
            Value::Decimal(exact.truncate(i32::from(*scale)).and_then(|number| number.rescale(*scale)).unwrap_or(exact))
        }
        _ => Value::Int(micros / 1_000_000),
    })
}

fn zero_like(args: &Args<'_>) -> Value {
    match args.result {
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal::from_i128(0, *scale)),
        _ => Value::Int(0),
    }
}

fn from_unixtime_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    if binding.arguments.len() == 2 {
        return Ok(ExprType { nullable: true, ..binding.connection_string(255) });
    }
    datetime_type(binding)
}

fn from_unixtime(args: &Args<'_>) -> SqlResult<Value> {
    /// The last second that FROM_UNIXTIME takes.
    const LAST_SECOND: i128 = 32_536_771_199;
    let micros = args.decimal(0)?.to_i128_at(6).unwrap_or(-1);
    if micros < 0 || micros / 1_000_000 > LAST_SECOND {
        return Ok(Value::Null);
    }
    let Some(moment) = session_zone(args).from_unix_micros(micros as i64) else { return Ok(Value::Null) };
    if args.len() == 2 {
        let text = date_format(moment, &args.text(1), args.context.settings.time_names);
        return Ok(text.map_or(Value::Null, |text| args.string(text)));
    }
    Ok(Value::DateTime(moment))
}

fn convert_tz(args: &Args<'_>) -> SqlResult<Value> {
    let Some(moment) = args.datetime(0)? else { return Ok(Value::Null) };
    let (Some(from), Some(to)) = (TimeZone::parse(&args.text(1)), TimeZone::parse(&args.text(2))) else {
        return Ok(Value::Null);
    };
    if moment.date().has_zero_part() {
        return Ok(Value::Null);
    }
    let utc = from.to_unix_micros(moment).unix_micros;
    /// Moments outside of what TIMESTAMP holds are left as they are.
    const LAST_SECOND: i64 = 32_536_771_199;
    if utc < 0 || utc / 1_000_000 > LAST_SECOND {
        return Ok(Value::DateTime(moment));
    }
    Ok(to.from_unix_micros(utc).map_or(Value::Null, Value::DateTime))
}

fn timestamp(args: &Args<'_>) -> SqlResult<Value> {
    let Some(moment) = args.datetime(0)? else { return Ok(Value::Null) };
    if args.len() == 1 {
        return Ok(Value::DateTime(moment));
    }
    let Some(time) = args.time(1)? else { return Ok(Value::Null) };
    Ok(moment.add_interval(Interval::from_micros(time.to_micros())).map_or(Value::Null, Value::DateTime))
}

fn makedate(args: &Args<'_>) -> SqlResult<Value> {
    let (year, day) = (args.i64(0)?, args.i64(1)?);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let first = u16::try_from(year).ok().and_then(|year| Date::from_parts(year, 1, 1));
    let date = first.filter(|_| day > 0).and_then(|first| first.add_days(day - 1));
    Ok(date.map_or(Value::Null, Value::Date))
}

fn maketime(args: &Args<'_>) -> SqlResult<Value> {
    let (hour, minute) = (args.i64(0)?, args.i64(1)?);
    let micros = args.decimal(2)?.to_i128_at(6).unwrap_or(-1);
    if !(0..60).contains(&minute) || !(0..60_000_000).contains(&micros) {
        return Ok(Value::Null);
    }
    let magnitude = i128::from(hour.unsigned_abs()) * 3_600_000_000 + i128::from(minute) * 60_000_000 + micros;
    let signed = if hour < 0 { -magnitude } else { magnitude };
    let time = clamped_time(args, signed)?;
    // Out of range shows whole seconds.
    Ok(Value::Time(time))
}

/// A time at most 838:59:59, with a warning when it had to be cut.
fn clamped_time(args: &Args<'_>, micros: i128) -> SqlResult<Time> {
    const LIMIT: i128 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;
    if micros.abs() > LIMIT {
        let text = format!("{}", micros / 1_000_000);
        args.warn(SqlError::new(ErrorCode::TruncatedWrongValue, &[&"time", &text]))?;
    }
    Ok(Time::from_micros_clamped(micros.clamp(-LIMIT, LIMIT) as i64))
}

fn sec_to_time(args: &Args<'_>) -> SqlResult<Value> {
    let micros = args.decimal(0)?.to_i128_at(6).unwrap_or(0);
    clamped_time(args, micros).map(Value::Time)
}

fn datediff(args: &Args<'_>) -> SqlResult<Value> {
    let (Some(left), Some(right)) = (args.date(0)?, args.date(1)?) else { return Ok(Value::Null) };
    if left.has_zero_part() || right.has_zero_part() {
        return Ok(Value::Null);
    }
    Ok(Value::Int(left.day_number() - right.day_number()))
}

/// Whether a value is a time of day rather than a date.
fn is_time(value: &Value, text: &str) -> bool {
    match value {
        Value::Time(_) => true,
        Value::Date(_) | Value::DateTime(_) => false,
        // A date has two dashes between its numbers, or is one number of this many digits.
        _ => {
            let text = text.trim().trim_start_matches('-');
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            text.matches('-').count() < 2 && digits < 12
        }
    }
}

fn timediff(args: &Args<'_>) -> SqlResult<Value> {
    let left_is_time = is_time(args.value(0), &args.text(0));
    let right_is_time = is_time(args.value(1), &args.text(1));
    if left_is_time != right_is_time {
        return Ok(Value::Null);
    }
    let micros = if left_is_time {
        let (Some(left), Some(right)) = (args.time(0)?, args.time(1)?) else { return Ok(Value::Null) };
        i128::from(left.to_micros()) - i128::from(right.to_micros())
    } else {
        let (Some(left), Some(right)) = (args.datetime(0)?, args.datetime(1)?) else { return Ok(Value::Null) };
        let days = left.date().day_number() - right.date().day_number();
        i128::from(days) * 86_400_000_000 + i128::from(left.micros_of_day() - right.micros_of_day())
    };
    clamped_time(args, micros).map(Value::Time)
}

fn add_time_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let fsp = largest_fsp(binding);
    match binding.arg(0) {
        SqlType::Time { .. } => temporal(SqlType::Time { fsp }),
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } => temporal(SqlType::DateTime { fsp }),
        _ => Ok(ExprType { nullable: true, ..binding.connection_string(29) }),
    }
}

fn add_time(args: &Args<'_>, sign: i64) -> SqlResult<Value> {
    let text = args.text(1);
    if !is_time(args.value(1), &text) {
        return Ok(Value::Null);
    }
    let Some(delta) = args.time(1)? else { return Ok(Value::Null) };
    let delta = delta.to_micros() * sign;
    let as_text = args.result.is_string();
    if is_time(args.value(0), &args.text(0)) {
        let Some(time) = args.time(0)? else { return Ok(Value::Null) };
        let sum = clamped_time(args, i128::from(time.to_micros()) + i128::from(delta))?;
        if as_text {
            let fsp = if sum.microsecond() == 0 { 0 } else { 6 };
            return Ok(args.string(sum.to_text(fsp)));
        }
        return Ok(Value::Time(sum));
    }
    let Some(moment) = args.datetime(0)? else { return Ok(Value::Null) };
    if moment.date().has_zero_part() {
        return Ok(Value::Null);
    }
    let Some(sum) = moment.add_interval(Interval::from_micros(delta)) else { return Ok(Value::Null) };
    if as_text {
        let fsp = if sum.microsecond() == 0 { 0 } else { 6 };
        return Ok(args.string(sum.to_text(fsp)));
    }
    Ok(Value::DateTime(sum))
}

fn timestampdiff(args: &Args<'_>) -> SqlResult<Value> {
    let Some(unit) = IntervalUnit::from_name(&args.text(0)) else { return Err(args.wrong_arguments()) };
    let (Some(from), Some(to)) = (args.datetime(1)?, args.datetime(2)?) else { return Ok(Value::Null) };
    if from.date().has_zero_part() || to.date().has_zero_part() {
        return Ok(Value::Null);
    }
    Ok(Value::Int(from.difference(to, unit)))
}

fn period_add(args: &Args<'_>) -> SqlResult<Value> {
    let (period, months) = (args.i64(0)?, args.i64(1)?);
    if period <= 0 || !(1..=12).contains(&(period % 100)) {
        return Err(args.wrong_arguments());
    }
    let months = (period_to_months(period as u64) as i64).saturating_add(months).max(0);
    Ok(Value::Int(months_to_period(months as u64) as i64))
}

fn str_to_date_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    use str_to_date::FormatKind;
    let kind = match binding.literal(1) {
        Some(Value::String(format)) => FormatKind::of(format),
        _ => return temporal(SqlType::DateTime { fsp: 6 }),
    };
    temporal(match kind {
        FormatKind::Date => SqlType::Date,
        FormatKind::Time { fraction } => SqlType::Time { fsp: if fraction { 6 } else { 0 } },
        FormatKind::DateTime { fraction } => SqlType::DateTime { fsp: if fraction { 6 } else { 0 } },
    })
}

fn str_to_date_function(args: &Args<'_>) -> SqlResult<Value> {
    let (text, format) = (args.text(0), args.text(1));
    let rules = squall_types::temporal::DateRules::from(args.context.settings.sql_mode);
    let parsed = match str_to_date::str_to_date(&text, &format, rules) {
        Ok(parsed) => parsed,
        Err(_) => {
            let error = SqlError::new(ErrorCode::WrongValueForType, &[&"datetime", &text, &"str_to_date"]);
            args.warn(error)?;
            return Ok(Value::Null);
        }
    };
    if parsed.truncated {
        args.warn(SqlError::new(ErrorCode::TruncatedWrongValue, &[&"datetime", &text]))?;
    }
    Ok(match args.result {
        SqlType::Date => Value::Date(parsed.date),
        SqlType::Time { .. } => Value::Time(parsed.time),
        _ => parsed.datetime().map_or(Value::Null, Value::DateTime),
    })
}
