//! Fractional second digits: rounding and cutting to a column's `fsp`.

use super::{DateTime, MICROS_PER_DAY, Time};

/// How surplus fractional digits go: rounded half up, or cut with `TIME_TRUNCATE_FRACTIONAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fraction {
    /// Round half away from zero.
    #[default]
    Round,
    /// Cut off.
    Truncate,
}

/// Microseconds in a unit of the last of `fsp` digits.
fn unit(fsp: u8) -> i64 {
    10i64.pow(u32::from(6 - fsp.min(6)))
}

/// `micros ≥ 0` plus `nanos` (0..1000) to `fsp` digits.
fn adjust(micros: i64, nanos: u16, fsp: u8, fraction: Fraction) -> i64 {
    let unit = unit(fsp);
    let cut = micros - micros % unit;
    if fraction == Fraction::Truncate {
        return cut;
    }
    let rest_nanos = (micros % unit) * 1000 + i64::from(nanos);
    if rest_nanos * 2 >= unit * 1000 { cut + unit } else { cut }
}

impl Time {
    /// The time at `fsp` digits; `nanos` (0..1000) are what stood behind the microseconds. At the far end it stays in range.
    pub fn with_fsp(self, nanos: u16, fsp: u8, fraction: Fraction) -> Time {
        let adjusted = adjust(self.to_micros().abs(), nanos, fsp, fraction);
        Time::from_micros_clamped(if self.is_negative() { -adjusted } else { adjusted })
    }
}

impl DateTime {
    /// The moment at `fsp` digits; `nanos` (0..1000) are what stood behind the microseconds. `None` if rounding leaves
    /// the year 9999 or would have to carry into a date with zero parts.
    pub fn with_fsp(self, nanos: u16, fsp: u8, fraction: Fraction) -> Option<DateTime> {
        let micros = self.micros_of_day();
        let adjusted = adjust(micros, nanos, fsp, fraction);
        if adjusted < MICROS_PER_DAY {
            return DateTime::from_date_and_micros(self.date(), adjusted);
        }
        if self.date().has_zero_part() {
            return None;
        }
        Some(self.date().add_days(1)?.at_midnight())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::Date;

    #[test]
    fn datetimes_round_up_over_midnight() {
        let date = Date::from_parts(2020, 12, 31).unwrap();
        let last = DateTime::from_parts(date, 23, 59, 59, 999_999).unwrap();
        assert_eq!(last.with_fsp(0, 0, Fraction::Round).unwrap().to_number(), 20_210_101_000_000);
        assert_eq!(last.with_fsp(0, 3, Fraction::Truncate).unwrap().microsecond(), 999_000);
        assert_eq!(last.with_fsp(499, 6, Fraction::Round), Some(last));
        assert_eq!(last.with_fsp(500, 6, Fraction::Round).unwrap().to_number(), 20_210_101_000_000);
        let end = DateTime::from_parts(Date::from_parts(9999, 12, 31).unwrap(), 23, 59, 59, 500_000).unwrap();
        assert_eq!(end.with_fsp(0, 0, Fraction::Round), None);
    }

    #[test]
    fn times_round_away_from_zero() {
        assert_eq!(Time::from_micros(-1_500_000).unwrap().with_fsp(0, 0, Fraction::Round).to_micros(), -2_000_000);
        assert_eq!(Time::from_micros(-1_500_000).unwrap().with_fsp(0, 0, Fraction::Truncate).to_micros(), -1_000_000);
        assert_eq!(Time::from_micros(Time::MAX_MICROS).unwrap().with_fsp(0, 0, Fraction::Round), Time::MAX);
    }
}
