//! `INTERVAL` values: units, their text forms, and adding them to dates and times.

use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, Time};

/// The unit after `INTERVAL expr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// MICROSECOND.
    Microsecond,
    /// SECOND, which may have a fraction.
    Second,
    /// MINUTE.
    Minute,
    /// HOUR.
    Hour,
    /// DAY.
    Day,
    /// WEEK.
    Week,
    /// MONTH.
    Month,
    /// QUARTER.
    Quarter,
    /// YEAR.
    Year,
    /// `'seconds.microseconds'`.
    SecondMicrosecond,
    /// `'minutes:seconds.microseconds'`.
    MinuteMicrosecond,
    /// `'minutes:seconds'`.
    MinuteSecond,
    /// `'hours:minutes:seconds.microseconds'`.
    HourMicrosecond,
    /// `'hours:minutes:seconds'`.
    HourSecond,
    /// `'hours:minutes'`.
    HourMinute,
    /// `'days hours:minutes:seconds.microseconds'`.
    DayMicrosecond,
    /// `'days hours:minutes:seconds'`.
    DaySecond,
    /// `'days hours:minutes'`.
    DayMinute,
    /// `'days hours'`.
    DayHour,
    /// `'years-months'`.
    YearMonth,
}

use IntervalUnit::*;

impl IntervalUnit {
    /// Every unit with its keyword.
    pub const ALL: [(IntervalUnit, &'static str); 20] = [
        (Microsecond, "MICROSECOND"),
        (Second, "SECOND"),
        (Minute, "MINUTE"),
        (Hour, "HOUR"),
        (Day, "DAY"),
        (Week, "WEEK"),
        (Month, "MONTH"),
        (Quarter, "QUARTER"),
        (Year, "YEAR"),
        (SecondMicrosecond, "SECOND_MICROSECOND"),
        (MinuteMicrosecond, "MINUTE_MICROSECOND"),
        (MinuteSecond, "MINUTE_SECOND"),
        (HourMicrosecond, "HOUR_MICROSECOND"),
        (HourSecond, "HOUR_SECOND"),
        (HourMinute, "HOUR_MINUTE"),
        (DayMicrosecond, "DAY_MICROSECOND"),
        (DaySecond, "DAY_SECOND"),
        (DayMinute, "DAY_MINUTE"),
        (DayHour, "DAY_HOUR"),
        (YearMonth, "YEAR_MONTH"),
    ];

    /// The unit of a keyword, also with the ODBC prefix `SQL_TSI_`.
    pub fn from_name(name: &str) -> Option<IntervalUnit> {
        let name = match name.get(..8) {
            Some(prefix) if prefix.eq_ignore_ascii_case("SQL_TSI_") => &name[8..],
            _ => name,
        };
        Self::ALL.iter().find(|(_, keyword)| keyword.eq_ignore_ascii_case(name)).map(|(unit, _)| *unit)
    }

    /// The keyword.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, keyword)| keyword)
    }

    /// Whether adding the unit to a DATE keeps it a DATE.
    pub fn is_date_unit(self) -> bool {
        matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Whether the unit is one of whole months.
    pub fn is_month_unit(self) -> bool {
        matches!(self, Month | Quarter | Year | YearMonth)
    }

    /// Whether values of the unit have microseconds.
    pub fn has_microseconds(self) -> bool {
        matches!(self, Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond)
    }

    /// Weights of the fields of a composite unit, largest first: months for YEAR_MONTH, microseconds for the others.
    fn composite(self) -> Option<&'static [i128]> {
        const MICRO: i128 = 1;
        const SECOND: i128 = 1_000_000;
        const MINUTE: i128 = 60 * SECOND;
        const HOUR: i128 = 60 * MINUTE;
        const DAY: i128 = 24 * HOUR;
        Some(match self {
            SecondMicrosecond => &[SECOND, MICRO],
            MinuteMicrosecond => &[MINUTE, SECOND, MICRO],
            MinuteSecond => &[MINUTE, SECOND],
            HourMicrosecond => &[HOUR, MINUTE, SECOND, MICRO],
            HourSecond => &[HOUR, MINUTE, SECOND],
            HourMinute => &[HOUR, MINUTE],
            DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, MICRO],
            DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            DayMinute => &[DAY, HOUR, MINUTE],
            DayHour => &[DAY, HOUR],
            YearMonth => &[12, 1],
            _ => return None,
        })
    }

    /// Whether values of the unit are written as text with several numbers.
    pub fn is_composite(self) -> bool {
        self.composite().is_some()
    }
}

/// An amount of time to add: months or microseconds, one of them zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    months: i64,
    micros: i128,
}

impl Interval {
    /// `count` of a simple unit. For composite units the number is their last field, as its text would be.
    pub fn from_integer(count: i64, unit: IntervalUnit) -> Interval {
        let wide = i128::from(count);
        let seconds = |each: i128| Interval { months: 0, micros: wide * each * 1_000_000 };
        match unit {
            Microsecond => Interval { months: 0, micros: wide },
            Second => seconds(1),
            Minute => seconds(60),
            Hour => seconds(3600),
            Day => seconds(86_400),
            Week => seconds(7 * 86_400),
            Month => Interval { months: count, micros: 0 },
            Quarter => Interval { months: count.saturating_mul(3), micros: 0 },
            Year => Interval { months: count.saturating_mul(12), micros: 0 },
            _ => Interval::parse(&count.to_string(), unit),
        }
    }

    /// The length of time that a text such as `1 WEEK` or `7200 second` says: a number above zero and a unit that is not a
    /// composite one. `None` for any other text.
    pub fn parse_period(text: &str) -> Option<Interval> {
        let mut words = text.split_ascii_whitespace();
        let (count, unit, end) = (words.next()?, words.next()?, words.next());
        let unit = IntervalUnit::from_name(unit).filter(|unit| end.is_none() && !unit.is_composite())?;
        let count: i64 = count.parse().ok().filter(|count| *count > 0)?;
        Some(Interval::from_integer(count, unit))
    }

    /// The moment that lies so long before another, both in microseconds since 1970 UTC; `None` if there is none.
    pub fn before(self, unix_micros: i64) -> Option<i64> {
        DateTime::from_unix_micros(unix_micros)?.add_interval(self.negate())?.unix_micros()
    }

    /// A fraction of seconds, for SECOND.
    pub fn from_micros(micros: i64) -> Interval {
        Interval { months: 0, micros: i128::from(micros) }
    }

    /// Reads the text of a unit: `'1:30'` for MINUTE_SECOND, `'1 2:3:4.5'` for DAY_MICROSECOND, `'1.5'` for SECOND.
    /// Numbers may be separated by anything that is no digit; missing ones are the leading ones.
    pub fn parse(text: &str, unit: IntervalUnit) -> Interval {
        let trimmed = text.trim_start();
        let (negative, body) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        let interval = match unit.composite() {
            Some(weights) => Self::parse_composite(body.as_bytes(), weights, unit),
            None => Self::parse_simple(body, unit),
        };
        if negative { interval.negate() } else { interval }
    }

    fn parse_simple(body: &str, unit: IntervalUnit) -> Interval {
        let body = body.trim_start();
        let body = body.strip_prefix('+').unwrap_or(body).as_bytes();
        let whole_length = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = saturating_number(&body[..whole_length]);
        let mut interval = Interval::from_integer(whole, unit);
        if unit == Second && body.get(whole_length) == Some(&b'.') {
            let fraction = body[whole_length + 1..].iter().take_while(|byte| byte.is_ascii_digit());
            interval.micros += i128::from(scaled_micros(fraction.copied()));
        }
        interval
    }

    fn parse_composite(body: &[u8], weights: &[i128], unit: IntervalUnit) -> Interval {
        let mut fields: Vec<&[u8]> = Vec::with_capacity(weights.len());
        let mut rest = body;
        while fields.len() < weights.len() {
            let Some(start) = rest.iter().position(u8::is_ascii_digit) else { break };
            rest = &rest[start..];
            let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            fields.push(&rest[..length]);
            rest = &rest[length..];
        }
        let mut sum = 0i128;
        let last = weights.len() - 1;
        let skipped = weights.len() - fields.len();
        for (at, digits) in fields.iter().enumerate() {
            let weight_at = at + skipped;
            // The microsecond field is a fraction: '.5' is half a second.
            let number = if weight_at == last && unit.has_microseconds() {
                scaled_micros(digits.iter().copied())
            } else {
                saturating_number(digits)
            };
            sum += i128::from(number) * weights[weight_at];
        }
        if unit == YearMonth {
            Interval { months: sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64, micros: 0 }
        } else {
            Interval { months: 0, micros: sum }
        }
    }

    /// The interval in the other direction.
    pub fn negate(self) -> Interval {
        Interval { months: self.months.saturating_neg(), micros: -self.micros }
    }

    /// This many of it; `None` if that is more than a date can be moved by.
    pub fn times(self, count: i64) -> Option<Interval> {
        let (months, micros) = (self.months.checked_mul(count)?, self.micros.checked_mul(i128::from(count))?);
        i64::try_from(micros).ok().map(|_| Interval { months, micros })
    }

    /// Whether it goes forward.
    pub fn is_positive(self) -> bool {
        self.months > 0 || self.micros > 0
    }

    /// How many whole ones lie between two moments, as far as months are of equal length: one more or less may. `None` for an
    /// interval that does not go forward.
    pub fn count_between(self, from: DateTime, to: DateTime) -> Option<i64> {
        if !self.is_positive() {
            return None;
        }
        if self.months > 0 {
            return Some(from.difference(to, Month) / self.months);
        }
        i64::try_from(i128::from(to.to_micros() - from.to_micros()) / self.micros).ok()
    }

    fn micros_i64(self) -> Option<i64> {
        i64::try_from(self.micros).ok()
    }
}

/// Digits to a number, at most `i64::MAX`.
fn saturating_number(digits: &[u8]) -> i64 {
    digits.iter().fold(0i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
}

/// Digits behind a point to microseconds.
fn scaled_micros(digits: impl Iterator<Item = u8>) -> i64 {
    digits.take(6).fold((0, 100_000), |(sum, weight), digit| (sum + i64::from(digit - b'0') * weight, weight / 10)).0
}

impl Date {
    /// Adds an interval of whole days or months; `None` when the result leaves the years 0..=9999.
    pub fn add_interval(self, interval: Interval) -> Option<Date> {
        Some(self.at_midnight().add_interval(interval)?.date())
    }
}

impl DateTime {
    /// Adds an interval; `None` when the result leaves the years 0..=9999 (MySQL's 1441, and NULL).
    pub fn add_interval(self, interval: Interval) -> Option<DateTime> {
        if interval.months != 0 {
            let date = self.date().add_months(interval.months)?;
            return DateTime::from_date_and_micros(date, self.micros_of_day());
        }
        let micros = self.to_micros().checked_add(interval.micros_i64()?)?;
        DateTime::from_micros(micros).or_else(|| {
            // Dates of year 0 are no results of date arithmetic but for an interval of nothing.
            (interval.micros == 0).then_some(self)
        })
    }

    /// `TIMESTAMPDIFF(unit, self, other)`: whole units from `self` to `other`.
    pub fn difference(self, other: DateTime, unit: IntervalUnit) -> i64 {
        let micros = other.to_micros() - self.to_micros();
        match unit {
            Microsecond => micros,
            Second => micros / MICROS_PER_SECOND,
            Minute => micros / (60 * MICROS_PER_SECOND),
            Hour => micros / (3600 * MICROS_PER_SECOND),
            Day => micros / MICROS_PER_DAY,
            Week => micros / (7 * MICROS_PER_DAY),
            _ => {
                let (first, last) = if micros >= 0 { (self, other) } else { (other, self) };
                let months = |value: DateTime| i64::from(value.date().year()) * 12 + i64::from(value.date().month());
                let rest = |value: DateTime| (value.date().day(), value.micros_of_day());
                let whole = months(last) - months(first) - i64::from(rest(last) < rest(first));
                let whole = if micros >= 0 { whole } else { -whole };
                match unit {
                    Month => whole,
                    Quarter => whole / 3,
                    _ => whole / 12,
                }
            }
        }
    }
}

impl Time {
    /// Adds an interval of days or smaller; `None` out of TIME's range or for units of months.
    pub fn add_interval(self, interval: Interval) -> Option<Time> {
        if interval.months != 0 {
            return None;
        }
        Time::from_micros(self.to_micros().checked_add(interval.micros_i64()?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{DateRules, parse_datetime};
    use super::*;

    fn add(text: &str, amount: &str, unit: IntervalUnit) -> String {
        let value = parse_datetime(text, DateRules::LENIENT).unwrap().value;
        match value.add_interval(Interval::parse(amount, unit)) {
            Some(sum) => sum.to_text(if sum.microsecond() == 0 { 0 } else { 6 }),
            None => "NULL".to_string(),
        }
    }

    #[test]
    fn adding_agrees_with_date_add() {
        for (start, amount, unit, expected) in [
            ("2020-01-31", "1", Month, "2020-02-29 00:00:00"),
            ("2020-02-29", "1", Year, "2021-02-28 00:00:00"),
            ("2020-02-29", "-1", Quarter, "2019-11-29 00:00:00"),
            ("2020-12-31 23:59:59", "1", Second, "2021-01-01 00:00:00"),
            ("2020-12-31 23:59:59", "1.5", Second, "2021-01-01 00:00:00.500000"),
            ("2020-12-31 23:59:59", "1:1", MinuteSecond, "2021-01-01 00:01:00"),
            ("2025-01-01 00:00:00", "-1 1:1:1", DaySecond, "2024-12-30 22:58:59"),
            ("1900-01-01 00:00:00", "-1 10", DayHour, "1899-12-30 14:00:00"),
            ("1992-12-31 23:59:59.000002", "-1.999999", SecondMicrosecond, "1992-12-31 23:59:57.000003"),
            ("2020-01-01", "1-2", YearMonth, "2021-03-01 00:00:00"),
            ("2020-01-01", "2", YearMonth, "2020-03-01 00:00:00"),
            ("2020-01-01", "1.9", Day, "2020-01-02 00:00:00"),
            ("9999-12-31", "1", Day, "NULL"),
            ("2020-01-01", "99999999999999999999", Day, "NULL"),
            ("2020-01-01", "99999999999999999999", Year, "NULL"),
            ("2020-01-01", "2 3:4", DayMinute, "2020-01-03 03:04:00"),
            ("2020-01-01", "1 2 3 4.5", DayMicrosecond, "2020-01-02 02:03:04.500000"),
        ] {
            assert_eq!(add(start, amount, unit), expected, "{start} {amount} {unit:?}");
        }
    }

    #[test]
    fn differences_agree_with_timestampdiff() {
        let parse = |text| parse_datetime(text, DateRules::LENIENT).unwrap().value;
        let diff = |a, b, unit| parse(a).difference(parse(b), unit);
        assert_eq!(diff("2003-02-01", "2003-05-01", Month), 3);
        assert_eq!(diff("2002-05-01", "2001-01-01", Year), -1);
        assert_eq!(diff("2003-02-01", "2003-05-01 12:05:55", Minute), 128_885);
        assert_eq!(diff("2020-01-31", "2020-02-29", Month), 0);
        assert_eq!(diff("2020-01-31 10:00", "2019-12-31 09:00", Month), -1);
    }

    #[test]
    fn periods_are_above_zero() {
        for text in ["1 WEEK", "7200 second", " 2  DAY ", "1 MONTH"] {
            assert!(Interval::parse_period(text).is_some_and(Interval::is_positive), "{text}");
        }
        for text in ["", "WEEK", "1", "0 DAY", "-1 DAY", "1.5 DAY", "1 DAY 2 HOUR", "1 PARSEC", "1:30 MINUTE_SECOND"] {
            assert_eq!(Interval::parse_period(text), None, "{text}");
        }
    }

    #[test]
    fn units_have_names() {
        for (unit, name) in IntervalUnit::ALL {
            assert_eq!(IntervalUnit::from_name(name), Some(unit));
            assert_eq!(unit.name(), name);
        }
        assert_eq!(IntervalUnit::from_name("sql_tsi_day"), Some(Day));
        assert_eq!(IntervalUnit::from_name("é"), None);
    }
}
