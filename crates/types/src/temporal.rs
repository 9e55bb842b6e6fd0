//! Dates and times with MySQL's ranges: zero dates and zero parts are values, TIME spans ±838:59:59.999999.
//!
//! All three are packed integers that order as the values do, so that they can be keys and Arrow `Int64` values as
//! they are.

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
}

impl Time {
    /// 838:59:59.999999 in microseconds.
    pub const MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * 1_000_000 + 999_999;

    /// From microseconds, if in range.
    pub fn from_micros(micros: i64) -> Option<Time> {
        (-Self::MAX_MICROS..=Self::MAX_MICROS).contains(&micros).then_some(Time(micros))
    }

    /// Microseconds.
    pub fn to_micros(self) -> i64 {
        self.0
    }
}
