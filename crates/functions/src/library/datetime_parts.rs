//! Parts of dates and times, and dates and times as text.

use super::moments;
use super::support::{Args, Binding, Def, result};
use squall_registry::ExprType;
use squall_types::temporal::format::{date_format, get_format, time_format};
use squall_types::temporal::{IntervalUnit, WeekMode};
use squall_types::{Date, SqlResult, Time, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("YEAR", (1, 1), result::nullable_int, |args| of_date(args, year)).of_moments(|_| moments::of_date(year)),
    Def::new("MONTH", (1, 1), result::nullable_int, |args| of_date(args, month))
        .of_moments(|_| moments::of_date(month)),
    Def::new("DAYOFMONTH", (1, 1), result::nullable_int, |args| of_date(args, day))
        .also(&["DAY"])
        .of_moments(|_| moments::of_date(day)),
    Def::new("QUARTER", (1, 1), result::nullable_int, |args| of_date(args, quarter))
        .of_moments(|_| moments::of_date(quarter)),
    Def::new("DAYOFWEEK", (1, 1), result::nullable_int, |args| number_of_real_date(args, day_of_week))
        .of_moments(|_| moments::of_real_date(day_of_week)),
    Def::new("WEEKDAY", (1, 1), result::nullable_int, |args| number_of_real_date(args, weekday))
        .of_moments(|_| moments::of_real_date(weekday)),
    Def::new("DAYOFYEAR", (1, 1), result::nullable_int, |args| number_of_real_date(args, day_of_year))
        .of_moments(|_| moments::of_real_date(day_of_year)),
    Def::new("WEEK", (1, 2), result::nullable_int, |args| {
        let mode = args.i64_or(1, i64::from(args.context.settings.default_week_format))?;
        of_real_date(args, |date| Value::Int(i64::from(date.week(WeekMode::from_number(mode)))))
    })
    .of_moments(|args| moments::week(args.i64_or(1, i64::from(args.context.settings.default_week_format)).ok()?)),
    Def::new("WEEKOFYEAR", (1, 1), result::nullable_int, |args| {
        of_real_date(args, |date| Value::Int(i64::from(date.week(WeekMode::from_number(3)))))
    })
    .of_moments(|_| moments::week(3)),
    Def::new("YEARWEEK", (1, 2), result::nullable_int, |args| {
        let mode = args.i64(1)?;
        of_real_date(args, |date| Value::Int(i64::from(date.year_week(WeekMode::from_number(mode)))))
    }),
    Def::new("DAYNAME", (1, 1), result::short_text, |args| {
        let names = args.context.settings.time_names;
        of_real_date(args, |date| args.string(names.day(date.weekday()).unwrap_or_default()))
    }),
    Def::new("MONTHNAME", (1, 1), result::short_text, |args| {
        let Some(date) = args.date(0)? else { return Ok(Value::Null) };
        let name = args.context.settings.time_names.month(date.month());
        Ok(name.map_or(Value::Null, |name| args.string(name)))
    }),
    Def::new("TO_DAYS", (1, 1), result::nullable_bigint, |args| number_of_real_date(args, Date::day_number))
        .of_moments(|_| moments::of_real_date(Date::day_number)),
    Def::new("TO_SECONDS", (1, 1), result::nullable_bigint, to_seconds),
    Def::new("HOUR", (1, 1), result::nullable_int, |args| of_time(args, |time| i64::from(time.hours()))),
    Def::new("MINUTE", (1, 1), result::nullable_int, |args| of_time(args, |time| i64::from(time.minute()))),
    Def::new("SECOND", (1, 1), result::nullable_int, |args| of_time(args, |time| i64::from(time.second()))),
    Def::new("MICROSECOND", (1, 1), result::nullable_int, |args| of_time(args, |time| i64::from(time.microsecond()))),
    Def::new("TIME_TO_SEC", (1, 1), result::nullable_bigint, |args| {
        Ok(args.time(0)?.map_or(Value::Null, |time| Value::Int(time.to_micros() / 1_000_000)))
    }),
    Def::new("EXTRACT", (2, 2), result::nullable_bigint, extract).of_moments(|args| {
        moments::extract(IntervalUnit::from_name(&args.text(0))?, args.context.settings.default_week_format)
    }),
    Def::new("DATE_FORMAT", (2, 2), format_type, |args| {
        let Some(moment) = args.datetime(0)? else { return Ok(Value::Null) };
        Ok(text_or_null(args, date_format(moment, &args.text(1), args.context.settings.time_names)))
    }),
    Def::new("TIME_FORMAT", (2, 2), format_type, |args| {
        let Some(time) = args.time(0)? else { return Ok(Value::Null) };
        Ok(text_or_null(args, time_format(time, &args.text(1))))
    }),
    Def::new("GET_FORMAT", (2, 2), result::short_text, |args| {
        Ok(get_format(&args.text(0), &args.text(1)).map_or(Value::Null, |format| args.string(format)))
    }),
];

fn text_or_null(args: &Args<'_>, text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| args.string(text))
}

fn format_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    /// The longest text of one specifier but for names of months and days.
    const SPECIFIER_LENGTH: u32 = 10;
    let specifier_length = binding.context.settings.time_names.length_max().max(SPECIFIER_LENGTH);
    let length = match binding.literal(1) {
        Some(Value::String(format)) => {
            let specifiers = u32::try_from(format.matches('%').count()).unwrap_or(u32::MAX);
            binding.length(1).saturating_add(specifiers.saturating_mul(specifier_length))
        }
        _ => binding.length(1).saturating_mul(specifier_length),
    };
    Ok(ExprType { nullable: true, ..binding.connection_string(length) })
}

fn year(date: Date) -> i64 {
    i64::from(date.year())
}

fn month(date: Date) -> i64 {
    i64::from(date.month())
}

fn day(date: Date) -> i64 {
    i64::from(date.day())
}

fn quarter(date: Date) -> i64 {
    i64::from(date.month().div_ceil(3))
}

fn day_of_week(date: Date) -> i64 {
    i64::from((date.weekday() + 1) % 7) + 1
}

fn weekday(date: Date) -> i64 {
    i64::from(date.weekday())
}

fn day_of_year(date: Date) -> i64 {
    i64::from(date.day_of_year())
}

fn number_of_real_date(args: &Args<'_>, part: impl Fn(Date) -> i64) -> SqlResult<Value> {
    of_real_date(args, |date| Value::Int(part(date)))
}

fn of_date(args: &Args<'_>, part: impl Fn(Date) -> i64) -> SqlResult<Value> {
    Ok(args.date(0)?.map_or(Value::Null, |date| Value::Int(part(date))))
}

/// Of a date that is in the calendar; others give NULL.
fn of_real_date(args: &Args<'_>, part: impl Fn(Date) -> Value) -> SqlResult<Value> {
    Ok(args.date(0)?.filter(|date| !date.has_zero_part()).map_or(Value::Null, part))
}

fn of_time(args: &Args<'_>, part: impl Fn(Time) -> i64) -> SqlResult<Value> {
    Ok(args.time(0)?.map_or(Value::Null, |time| Value::Int(part(time))))
}

fn to_seconds(args: &Args<'_>) -> SqlResult<Value> {
    let Some(moment) = args.datetime(0)? else { return Ok(Value::Null) };
    if moment.date().has_zero_part() {
        return Ok(Value::Null);
    }
    Ok(Value::Int(moment.date().day_number() * 86_400 + moment.micros_of_day() / 1_000_000))
}

fn extract(args: &Args<'_>) -> SqlResult<Value> {
    use IntervalUnit::*;
    let Some(unit) = IntervalUnit::from_name(&args.text(0)) else { return Err(args.wrong_arguments()) };
    if matches!(unit, Year | Quarter | Month | Week | Day | YearMonth) {
        let Some(moment) = args.datetime(1)? else { return Ok(Value::Null) };
        return Ok(Value::Int(moments::date_part(moment.date(), unit, args.context.settings.default_week_format)));
    }
    // Time parts are those of a TIME, whose hours may be many; a day before them makes it a date and time.
    let with_days = matches!(unit, DayHour | DayMinute | DaySecond | DayMicrosecond);
    let (day, time) = match args.value(1) {
        Value::Date(_) | Value::DateTime(_) => {
            let Some(moment) = args.datetime(1)? else { return Ok(Value::Null) };
            (i64::from(moment.date().day()), moment.time())
        }
        Value::String(text) if text.matches('-').count() >= 2 => {
            let Some(moment) = args.datetime(1)? else { return Ok(Value::Null) };
            (i64::from(moment.date().day()), moment.time())
        }
        _ => match args.time(1)? {
            Some(time) => (0, time),
            None => return Ok(Value::Null),
        },
    };
    let (hour, minute, second, micro) =
        (i64::from(time.hours()), i64::from(time.minute()), i64::from(time.second()), i64::from(time.microsecond()));
    let hours = if with_days { day * 100 + hour } else { hour };
    let magnitude = match unit {
        Hour | DayHour => hours,
        Minute => minute,
        Second => second,
        Microsecond => micro,
        HourMinute | DayMinute => hours * 100 + minute,
        HourSecond | DaySecond => (hours * 100 + minute) * 100 + second,
        HourMicrosecond | DayMicrosecond => ((hours * 100 + minute) * 100 + second) * 1_000_000 + micro,
        MinuteSecond => minute * 100 + second,
        MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micro,
        _ => second * 1_000_000 + micro,
    };
    Ok(Value::Int(if time.is_negative() { -magnitude } else { magnitude }))
}
