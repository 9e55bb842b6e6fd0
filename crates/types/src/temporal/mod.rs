//! Dates and times with MySQL's ranges: zero dates and zero parts are values, TIME spans ±838:59:59.999999.
//!
//! All three are packed integers with the order of their values, so they can be keys and Arrow `Int64` values without conversion.
//!
//! Reading order: [`calendar`] (day numbers, weeks), [`parse`] (reading text and numbers), [`round`] (fractional digits), [`interval`]
//! (date arithmetic), [`format`](mod@format) (`DATE_FORMAT` and the plain text forms), [`str_to_date`], [`zone`].

pub mod calendar;
pub mod format;
pub mod interval;
pub mod names;
pub mod parse;
pub mod round;
pub mod str_to_date;
pub mod zone;

pub use calendar::WeekMode;
pub use interval::{Interval, IntervalUnit};
pub use parse::{DateRules, ParseProblem, Parsed};
pub use zone::{TimeZone, ZoneChange};

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A calendar date, possibly `0000-00-00` or with a zero month or day.
///
/// Packed as `year << 9 | month << 5 | day`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

/// A date with a time of day, in microseconds.
///
/// Packed as `date << 37 | hour << 32 | minute << 26 | second << 20 | microsecond`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime(i64);

/// A duration or time of day: microseconds, negative ones below zero, at most 838:59:59.999999 either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

impl Date {
    /// `0000-00-00`.
    pub const ZERO: Date = Date(0);

    /// A date of parts that are in their ranges (year ≤ 9999, month ≤ 12, day ≤ 31); whether the day exists is not checked.
    pub fn from_parts(year: u16, month: u8, day: u8) -> Option<Date> {
        (year <= 9999 && month <= 12 && day <= 31)
            .then(|| Date(u32::from(year) << 9 | u32::from(month) << 5 | u32::from(day)))
    }

    /// The packed form.
    pub fn to_packed(self) -> u32 {
        self.0
    }

    /// From the packed form.
    pub fn from_packed(packed: u32) -> Date {
        Date(packed)
    }

    /// The year.
    pub fn year(self) -> u16 {
        (self.0 >> 9) as u16
    }

    /// The month, 0..=12.
    pub fn month(self) -> u8 {
        (self.0 >> 5 & 15) as u8
    }

    /// The day of the month, 0..=31.
    pub fn day(self) -> u8 {
        (self.0 & 31) as u8
    }

    /// Whether this is `0000-00-00`.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether month or day is zero (also true of `0000-00-00`).
    pub fn has_zero_part(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// Midnight of the date.
    pub fn at_midnight(self) -> DateTime {
        DateTime(i64::from(self.0) << 37)
    }

    /// As the number 20200131.
    pub fn to_number(self) -> i64 {
        i64::from(self.year()) * 10_000 + i64::from(self.month()) * 100 + i64::from(self.day())
    }
}

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: DateTime = DateTime(0);

    /// A date and a time of day whose parts are in range.
    pub fn from_parts(date: Date, hour: u8, minute: u8, second: u8, microsecond: u32) -> Option<DateTime> {
        (hour < 24 && minute < 60 && second < 60 && microsecond < 1_000_000).then(|| {
            DateTime(
                i64::from(date.0) << 37
                    | i64::from(hour) << 32
                    | i64::from(minute) << 26
                    | i64::from(second) << 20
                    | i64::from(microsecond),
            )
        })
    }

    /// The packed form.
    pub fn to_packed(self) -> i64 {
        self.0
    }

    /// From the packed form.
    pub fn from_packed(packed: i64) -> DateTime {
        DateTime(packed)
    }

    /// The date part.
    pub fn date(self) -> Date {
        Date((self.0 >> 37) as u32)
    }

    /// The hour, 0..=23.
    pub fn hour(self) -> u8 {
        (self.0 >> 32 & 31) as u8
    }

    /// The minute.
    pub fn minute(self) -> u8 {
        (self.0 >> 26 & 63) as u8
    }

    /// The second.
    pub fn second(self) -> u8 {
        (self.0 >> 20 & 63) as u8
    }

    /// The microsecond.
    pub fn microsecond(self) -> u32 {
        (self.0 & 0xF_FFFF) as u32
    }

    /// Whether this is `0000-00-00 00:00:00`.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Microseconds since midnight.
    pub fn micros_of_day(self) -> i64 {
        (i64::from(self.hour()) * 3600 + i64::from(self.minute()) * 60 + i64::from(self.second())) * MICROS_PER_SECOND
            + i64::from(self.microsecond())
    }

    /// The time of day.
    pub fn time(self) -> Time {
        Time(self.micros_of_day())
    }

    /// The date with a time of day given in microseconds, `0..MICROS_PER_DAY`.
    pub fn from_date_and_micros(date: Date, micros: i64) -> Option<DateTime> {
        if !(0..MICROS_PER_DAY).contains(&micros) {
            return None;
        }
        let seconds = micros / MICROS_PER_SECOND;
        DateTime::from_parts(
            date,
            (seconds / 3600) as u8,
            (seconds / 60 % 60) as u8,
            (seconds % 60) as u8,
            (micros % MICROS_PER_SECOND) as u32,
        )
    }

    /// Microseconds since the day with number zero ([`Date::day_number`]).
    pub fn to_micros(self) -> i64 {
        self.date().day_number() * MICROS_PER_DAY + self.micros_of_day()
    }

    /// The inverse of [`DateTime::to_micros`] for the years 1..=9999.
    pub fn from_micros(micros: i64) -> Option<DateTime> {
        let date = Date::from_day_number(micros.div_euclid(MICROS_PER_DAY))?;
        DateTime::from_date_and_micros(date, micros.rem_euclid(MICROS_PER_DAY))
    }

    /// Microseconds since 1970-01-01 00:00:00, if the date exists in the years 1..=9999.
    pub fn unix_micros(self) -> Option<i64> {
        Some(i64::from(self.date().unix_days()?) * MICROS_PER_DAY + self.micros_of_day())
    }

    /// The inverse of [`DateTime::unix_micros`].
    pub fn from_unix_micros(micros: i64) -> Option<DateTime> {
        DateTime::from_micros(micros.checked_add(calendar::UNIX_EPOCH_DAY * MICROS_PER_DAY)?)
    }

    /// The date and time as the number 20200131235959, without the fraction.
    pub fn to_number(self) -> i64 {
        self.date().to_number() * 1_000_000
            + i64::from(self.hour()) * 10_000
            + i64::from(self.minute()) * 100
            + i64::from(self.second())
    }
}

impl Time {
    /// 838:59:59.999999 in microseconds.
    pub const MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * 1_000_000 + 999_999;
    /// `838:59:59`, the value of a time that is too large.
    pub const MAX: Time = Time(Self::MAX_MICROS - 999_999);

    /// From microseconds, if in range.
    pub fn from_micros(micros: i64) -> Option<Time> {
        (-Self::MAX_MICROS..=Self::MAX_MICROS).contains(&micros).then_some(Time(micros))
    }

    /// From microseconds; what is out of range becomes the nearest limit at whole seconds, `±838:59:59`.
    pub fn from_micros_clamped(micros: i64) -> Time {
        Time(micros.clamp(-Self::MAX.0, Self::MAX.0))
    }

    /// From parts; `None` if a part or the whole is out of range.
    pub fn from_parts(negative: bool, hour: u32, minute: u32, second: u32, microsecond: u32) -> Option<Time> {
        if hour > 838 || minute > 59 || second > 59 || microsecond > 999_999 {
            return None;
        }
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let micros = seconds * MICROS_PER_SECOND + i64::from(microsecond);
        Time::from_micros(if negative { -micros } else { micros })
    }

    /// Microseconds.
    pub fn to_micros(self) -> i64 {
        self.0
    }

    /// Whether the time is below zero.
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Whole hours without the sign, 0..=838.
    pub fn hours(self) -> u32 {
        (self.0.unsigned_abs() / (3600 * MICROS_PER_SECOND as u64)) as u32
    }

    /// The minute, 0..=59.
    pub fn minute(self) -> u8 {
        (self.0.unsigned_abs() / (60 * MICROS_PER_SECOND as u64) % 60) as u8
    }

    /// The second, 0..=59.
    pub fn second(self) -> u8 {
        (self.0.unsigned_abs() / MICROS_PER_SECOND as u64 % 60) as u8
    }

    /// The microsecond.
    pub fn microsecond(self) -> u32 {
        (self.0.unsigned_abs() % MICROS_PER_SECOND as u64) as u32
    }

    /// As the number ±8385959, without the fraction.
    pub fn to_number(self) -> i64 {
        let number = i64::from(self.hours()) * 10_000 + i64::from(self.minute()) * 100 + i64::from(self.second());
        if self.is_negative() { -number } else { number }
    }

    /// The moment that lies this time after midnight of `date`, as TIME converts to DATETIME.
    pub fn on_date(self, date: Date) -> Option<DateTime> {
        DateTime::from_micros(date.at_midnight().to_micros() + self.0)
    }
}
