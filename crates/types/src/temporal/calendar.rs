//! The proleptic Gregorian calendar as MySQL counts it: day numbers, weekdays, weeks of the year.

use super::Date;

/// Day number of 1970-01-01.
pub const UNIX_EPOCH_DAY: i64 = 719_528;
/// Day number of 9999-12-31, the last one.
pub const LAST_DAY: i64 = 3_652_424;
/// Day number of 0001-01-01, the first that [`Date::from_day_number`] gives.
pub const FIRST_DAY: i64 = 366;

/// Whether the year has a 29th of February.
pub fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// Days of a month; 0 for a month that is not in 1..=12.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Days before the first of each month of a year that is no leap year. December of the year before stands in for month 0, all months
/// being taken as 31 days long there.
const DAYS_BEFORE_MONTH: [i64; 13] = [-31, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// Days before the first of January of a year. Year 0 is no leap year in MySQL's count and its first day has number 1.
fn days_before_year(year: i64) -> i64 {
    let previous = year - 1;
    if year <= 0 {
        return 1 + 365 * year;
    }
    366 + 365 * previous + previous / 4 - previous / 100 + previous / 400
}

/// The mode argument of `WEEK()` and `YEARWEEK()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekMode {
    /// Weeks begin on Monday, not Sunday.
    pub monday_first: bool,
    /// Days before week 1 belong to the last week of the year before (1..=53), not to week 0.
    pub week_of_year: bool,
    /// Week 1 is the first with its first day in the year, not the first with four days.
    pub first_weekday: bool,
}

impl WeekMode {
    /// ISO 8601 weeks, mode 3.
    pub const ISO: WeekMode = WeekMode { monday_first: true, week_of_year: true, first_weekday: false };

    /// From MySQL's mode number; only its lowest three bits count.
    pub fn from_number(mode: i64) -> WeekMode {
        let monday_first = mode & 1 != 0;
        // Bit 2 means "four days" for Sunday weeks and "first weekday" for Monday weeks.
        WeekMode { monday_first, week_of_year: mode & 2 != 0, first_weekday: (mode & 4 != 0) == monday_first }
    }

    /// Day number of the first day of week 1.
    fn first_week(self, year: i64) -> i64 {
        let january = days_before_year(year);
        let weekday = weekday_of(january, self.monday_first);
        let week_has_january = if self.first_weekday { weekday == 0 } else { weekday <= 3 };
        if week_has_january { january - weekday } else { january + 7 - weekday }
    }
}

/// Weekday of a day number: 0 is Monday with `monday_first`, Sunday without.
fn weekday_of(day: i64, monday_first: bool) -> i64 {
    (day + if monday_first { 5 } else { 6 }).rem_euclid(7)
}

impl Date {
    /// `TO_DAYS()`: days since the start of year 0. A zero month or day counts on from the month before, as in MySQL.
    pub fn day_number(self) -> i64 {
        if self.is_zero() {
            return 0;
        }
        let (year, month, day) = (self.year(), self.month(), i64::from(self.day()));
        let before = match DAYS_BEFORE_MONTH.get(usize::from(month)) {
            Some(days) => days + i64::from(month > 2 && is_leap_year(year)),
            None => 365,
        };
        days_before_year(i64::from(year)) + before + day - 1
    }

    /// `FROM_DAYS()` for the years 1..=9999; `None` outside.
    pub fn from_day_number(day: i64) -> Option<Date> {
        if !(FIRST_DAY..=LAST_DAY).contains(&day) {
            return None;
        }
        // Count years from the first of March, so that the leap day is the last of its year.
        let shifted = day - 60;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Date::from_parts(year as u16, month as u8, day_of_month as u8)
    }

    /// Days since 1970-01-01, if the date exists in the years 1..=9999.
    pub fn unix_days(self) -> Option<i32> {
        let number = self.day_number();
        let exists = Date::from_day_number(number) == Some(self);
        if exists { i32::try_from(number - UNIX_EPOCH_DAY).ok() } else { None }
    }

    /// The inverse of [`Date::unix_days`].
    pub fn from_unix_days(days: i64) -> Option<Date> {
        Date::from_day_number(days.checked_add(UNIX_EPOCH_DAY)?)
    }

    /// Whether month and day exist (`false` for zero parts).
    pub fn exists(self) -> bool {
        self.day() >= 1 && self.day() <= days_in_month(self.year(), self.month())
    }

    /// `WEEKDAY()`: 0 is Monday.
    pub fn weekday(self) -> u8 {
        weekday_of(self.day_number(), true) as u8
    }

    /// `DAYOFYEAR()`.
    pub fn day_of_year(self) -> u16 {
        (self.day_number() - days_before_year(i64::from(self.year())) + 1).max(0) as u16
    }

    /// `LAST_DAY()`; `None` for a zero month.
    pub fn last_day(self) -> Option<Date> {
        match days_in_month(self.year(), self.month()) {
            0 => None,
            days => Date::from_parts(self.year(), self.month(), days),
        }
    }

    /// The year and week that `YEARWEEK()` and `WEEK()` give in a mode.
    pub fn year_and_week(self, mode: WeekMode) -> (u16, u8) {
        let day = self.day_number();
        let year = i64::from(self.year());
        let first = mode.first_week(year);
        let (year, first) = if day < first {
            if !mode.week_of_year {
                return (self.year(), 0);
            }
            (year - 1, mode.first_week(year - 1))
        } else if mode.week_of_year && day >= mode.first_week(year + 1) {
            (year + 1, mode.first_week(year + 1))
        } else {
            (year, first)
        };
        // Year -1 exists only for the first days of year 0; MySQL shows it as the unsigned wrap, we as year 0.
        (year.max(0) as u16, ((day - first) / 7 + 1) as u8)
    }

    /// `WEEK(date, mode)`.
    pub fn week(self, mode: WeekMode) -> u8 {
        self.year_and_week(mode).1
    }

    /// `YEARWEEK(date, mode)`: 202053. Weeks before week 1 always belong to the year before.
    pub fn year_week(self, mode: WeekMode) -> u32 {
        let (year, week) = self.year_and_week(WeekMode { week_of_year: true, ..mode });
        u32::from(year) * 100 + u32::from(week)
    }

    /// The date `days` later (earlier if negative); `None` outside the years 1..=9999.
    pub fn add_days(self, days: i64) -> Option<Date> {
        Date::from_day_number(self.day_number().checked_add(days)?)
    }

    /// The date `months` later, at the last day of the month if the day does not exist there.
    pub fn add_months(self, months: i64) -> Option<Date> {
        let total = (i64::from(self.year()) * 12 + i64::from(self.month()) - 1).checked_add(months)?;
        if !(0..120_000).contains(&total) {
            return None;
        }
        let (year, month) = ((total / 12) as u16, (total % 12 + 1) as u8);
        Date::from_parts(year, month, self.day().min(days_in_month(year, month)))
    }
}

/// Months since year 0 of `PERIOD_ADD`/`PERIOD_DIFF` arguments (`YYMM` or `YYYYMM`).
pub fn period_to_months(period: u64) -> u64 {
    if period == 0 {
        return 0;
    }
    let year = match period / 100 {
        year @ 0..70 => year + 2000,
        year @ 70..100 => year + 1900,
        year => year,
    };
    year.saturating_mul(12).saturating_add(period % 100).saturating_sub(1)
}

/// The `YYYYMM` form of a number of months since year 0.
pub fn months_to_period(months: u64) -> u64 {
    if months == 0 {
        return 0;
    }
    let year = match months / 12 {
        year @ 0..70 => year + 2000,
        year @ 70..100 => year + 1900,
        year => year,
    };
    year.saturating_mul(100).saturating_add(months % 12 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u16, month: u8, day: u8) -> Date {
        Date::from_parts(year, month, day).unwrap()
    }

    #[test]
    fn day_numbers_agree_with_to_days() {
        assert_eq!(date(1970, 1, 1).day_number(), 719_528);
        assert_eq!(date(0, 1, 1).day_number(), 1);
        assert_eq!(date(0, 3, 1).day_number(), 60);
        assert_eq!(date(1, 1, 1).day_number(), 366);
        assert_eq!(date(9999, 12, 31).day_number(), LAST_DAY);
        assert_eq!(date(2020, 2, 29).day_number(), 737_849);
        assert_eq!(Date::from_day_number(365), None);
        assert_eq!(Date::from_day_number(LAST_DAY + 1), None);
    }

    #[test]
    fn every_day_number_round_trips() {
        let mut previous = Date::ZERO;
        for day in FIRST_DAY..=LAST_DAY {
            let date = Date::from_day_number(day).unwrap();
            assert!(date > previous && date.exists());
            assert_eq!(date.day_number(), day);
            previous = date;
        }
    }

    #[test]
    fn weeks_agree_with_mysql() {
        let weeks = |d: Date| -> Vec<u8> { (0..8).map(|mode| d.week(WeekMode::from_number(mode))).collect() };
        assert_eq!(weeks(date(2008, 2, 20)), [7, 8, 7, 8, 8, 7, 8, 7]);
        assert_eq!(weeks(date(2000, 1, 1)), [0, 0, 52, 52, 0, 0, 52, 52]);
        assert_eq!(weeks(date(2020, 12, 31)), [52, 53, 52, 53, 53, 52, 53, 52]);
        assert_eq!(date(1987, 1, 1).year_week(WeekMode::from_number(0)), 198_652);
        assert_eq!(date(2020, 12, 31).year_week(WeekMode::ISO), 202_053);
    }

    #[test]
    fn months_clamp_the_day() {
        assert_eq!(date(2020, 1, 31).add_months(1), Some(date(2020, 2, 29)));
        assert_eq!(date(2020, 3, 31).add_months(-1), Some(date(2020, 2, 29)));
        assert_eq!(date(9999, 12, 1).add_months(1), None);
        assert_eq!(date(2020, 1, 1).weekday(), 2);
        assert_eq!(date(2020, 12, 31).day_of_year(), 366);
        assert_eq!(date(2021, 2, 3).last_day(), Some(date(2021, 2, 28)));
    }

    #[test]
    fn periods_are_months() {
        assert_eq!(months_to_period(period_to_months(200_801) + 2), 200_803);
        assert_eq!(period_to_months(200_802) - period_to_months(200_703), 11);
    }
}
