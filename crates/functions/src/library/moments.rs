//! Integers of dates and times, by arrays: the same functions of [`datetime_parts`](super::datetime_parts) and
//! [`datetime`](super::datetime) as a loop over the packed values.

use crate::typing::has_date;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use squall_types::temporal::{IntervalUnit, WeekMode};
use squall_types::{Date, DateTime, SqlType};
use std::sync::Arc;

/// What a call is of its dates, of which the second may be missing and the same as the first then.
pub type Moments = Box<dyn Fn(DateTime, DateTime) -> Option<i64>>;

/// The result for arrays of arguments of these types.
pub(super) fn eval(of: &Moments, arguments: &[ArrayRef], types: &[SqlType]) -> Option<ArrayRef> {
    // Dates are packed as their midnights.
    let mut moments = arguments.iter().zip(types).filter(|(_, ty)| has_date(ty)).map(|(array, _)| array);
    let first = moments.next()?.as_primitive_opt::<Int64Type>()?;
    let second = moments.next().map_or(Some(first), |second| second.as_primitive_opt::<Int64Type>())?;
    let result = |row: usize| {
        let is_null = first.is_null(row) || second.is_null(row);
        let moment = |array: &Int64Array| DateTime::from_packed(array.value(row));
        if is_null { None } else { of(moment(first), moment(second)) }
    };
    Some(Arc::new((0..first.len()).map(result).collect::<Int64Array>()))
}

/// Of each date, in the calendar or not.
pub fn of_date(part: fn(Date) -> i64) -> Option<Moments> {
    Some(Box::new(move |moment, _| Some(part(moment.date()))))
}

/// Of dates in the calendar; others give NULL.
pub fn of_real_date(part: fn(Date) -> i64) -> Option<Moments> {
    Some(Box::new(move |moment, _| Some(moment.date()).filter(|date| !date.has_zero_part()).map(part)))
}

/// Days from one date to the other.
pub fn days_between() -> Moments {
    Box::new(|left, right| {
        let (left, right) = (left.date(), right.date());
        (!left.has_zero_part() && !right.has_zero_part()).then(|| left.day_number() - right.day_number())
    })
}

/// Weeks of a mode.
pub fn week(mode: i64) -> Option<Moments> {
    let mode = WeekMode::from_number(mode);
    Some(Box::new(move |moment, _| {
        Some(moment.date()).filter(|date| !date.has_zero_part()).map(|date| i64::from(date.week(mode)))
    }))
}

/// EXTRACT of a unit, if that is part of a date.
pub fn extract(unit: IntervalUnit, week_mode: u8) -> Option<Moments> {
    use IntervalUnit::*;
    matches!(unit, Year | Quarter | Month | Week | Day | YearMonth).then_some(())?;
    Some(Box::new(move |moment, _| Some(date_part(moment.date(), unit, week_mode))))
}

/// A part of a date.
pub fn date_part(date: Date, unit: IntervalUnit, week_mode: u8) -> i64 {
    let (year, month) = (i64::from(date.year()), i64::from(date.month()));
    match unit {
        IntervalUnit::Year => year,
        IntervalUnit::Quarter => (month + 2) / 3,
        IntervalUnit::Month => month,
        IntervalUnit::Week => i64::from(date.week(WeekMode::from_number(i64::from(week_mode)))),
        IntervalUnit::YearMonth => year * 100 + month,
        _ => i64::from(date.day()),
    }
}
