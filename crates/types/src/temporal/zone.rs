//! Time zones: `SYSTEM`, displacements such as `+05:30`, and names of the bundled zone database.

use super::calendar::UNIX_EPOCH_DAY;
use super::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};
use jiff::tz::AmbiguousOffset;
use std::sync::{Arc, LazyLock};

/// The bundled database: what a server answers must not hang on the machine's zone files.
static DATABASE: LazyLock<jiff::tz::TimeZoneDatabase> = LazyLock::new(jiff::tz::TimeZoneDatabase::bundled);

/// A value of `time_zone`.
#[derive(Clone, Debug)]
pub struct TimeZone {
    name: Arc<str>,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum Rules {
    /// Always this many seconds east of UTC: the usual case on servers, and the fast one.
    Fixed(i32),
    /// As the database says.
    Zone(jiff::tz::TimeZone),
}

/// A moment in UTC, found from local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtcMoment {
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    pub unix_micros: i64,
    /// The local time is skipped by the clock; the moment is the end of the gap.
    pub in_gap: bool,
}

/// A change of a zone's clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneChange {
    /// Seconds since 1970 UTC; `None` for what the clocks said before the first change.
    pub unix_seconds: Option<i64>,
    /// Seconds east of UTC from then on.
    pub offset_seconds: i32,
    /// Whether that is daylight saving time.
    pub is_dst: bool,
    /// Its name.
    pub abbreviation: String,
}

impl TimeZone {
    /// The zones of the database, by name.
    pub fn names() -> Vec<String> {
        let mut names: Vec<String> = DATABASE.available().map(|name| name.as_str().to_string()).collect();
        names.sort_unstable();
        names
    }

    /// The changes of the clocks of a zone of the database, in TIMESTAMP's range.
    pub fn changes(name: &str) -> Vec<ZoneChange> {
        let Ok(zone) = DATABASE.get(name) else { return Vec::new() };
        let first = zone.to_offset_info(jiff::Timestamp::UNIX_EPOCH);
        let mut changes = vec![ZoneChange {
            unix_seconds: None,
            offset_seconds: first.offset().seconds(),
            is_dst: first.dst().is_dst(),
            abbreviation: first.abbreviation().to_string(),
        }];
        let following = zone.following(jiff::Timestamp::UNIX_EPOCH);
        changes.extend(
            following.take_while(|change| change.timestamp().as_second() <= TimeZone::TIMESTAMP_MAX_SECONDS).map(
                |change| ZoneChange {
                    unix_seconds: Some(change.timestamp().as_second()),
                    offset_seconds: change.offset().seconds(),
                    is_dst: change.dst().is_dst(),
                    abbreviation: change.abbreviation().to_string(),
                },
            ),
        );
        changes
    }

    /// Last second of TIMESTAMP's range, 2038-01-19 03:14:07 UTC.
    pub const TIMESTAMP_MAX_SECONDS: i64 = i32::MAX as i64;

    /// UTC, named `+00:00`.
    pub fn utc() -> TimeZone {
        TimeZone { name: "+00:00".into(), rules: Rules::Fixed(0) }
    }

    /// The machine's zone, named `SYSTEM`.
    pub fn system() -> TimeZone {
        TimeZone { name: "SYSTEM".into(), rules: Rules::of(jiff::tz::TimeZone::system()) }
    }

    /// Reads a value of `time_zone`; `None` is MySQL's 1298.
    pub fn parse(text: &str) -> Option<TimeZone> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        if let Some(seconds) = parse_displacement(text) {
            let (sign, magnitude) = if seconds < 0 { ('-', -seconds) } else { ('+', seconds) };
            let name = format!("{sign}{:02}:{:02}", magnitude / 3600, magnitude / 60 % 60);
            return Some(TimeZone { name: name.into(), rules: Rules::Fixed(seconds) });
        }
        let zone = DATABASE.get(text).ok()?;
        let name = zone.iana_name().unwrap_or(text).into();
        Some(TimeZone { name, rules: Rules::of(zone) })
    }

    /// As `@@time_zone` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seconds east of UTC at a moment.
    pub fn offset_at(&self, unix_seconds: i64) -> i32 {
        match &self.rules {
            Rules::Fixed(seconds) => *seconds,
            Rules::Zone(zone) => match jiff::Timestamp::from_second(unix_seconds) {
                Ok(moment) => zone.to_offset(moment).seconds(),
                Err(_) => 0,
            },
        }
    }

    /// Abbreviation in use at a moment (`system_time_zone`), such as `CET`.
    pub fn abbreviation_at(&self, unix_seconds: i64) -> String {
        match (&self.rules, jiff::Timestamp::from_second(unix_seconds)) {
            (Rules::Zone(zone), Ok(moment)) => zone.to_offset_info(moment).abbreviation().to_string(),
            (Rules::Fixed(0), _) => "UTC".to_string(),
            _ => self.name.to_string(),
        }
    }

    /// Local time at a moment, for the years 1..=9999.
    pub fn from_unix_micros(&self, unix_micros: i64) -> Option<DateTime> {
        let offset = self.offset_at(unix_micros.div_euclid(MICROS_PER_SECOND));
        let local = unix_micros.checked_add(i64::from(offset) * MICROS_PER_SECOND)?;
        DateTime::from_micros(local.checked_add(UNIX_EPOCH_DAY * MICROS_PER_DAY)?)
    }

    /// The moment of a local time that exists as a date. A time the clock shows twice is the first of the two.
    pub fn to_unix_micros(&self, local: DateTime) -> UtcMoment {
        let as_if_utc = local.to_micros() - UNIX_EPOCH_DAY * MICROS_PER_DAY;
        let at_offset = |seconds: i32| as_if_utc - i64::from(seconds) * MICROS_PER_SECOND;
        let zone = match &self.rules {
            Rules::Fixed(seconds) => return UtcMoment { unix_micros: at_offset(*seconds), in_gap: false },
            Rules::Zone(zone) => zone,
        };
        let Ok(civil) = jiff::civil::DateTime::new(
            local.date().year() as i16,
            local.date().month() as i8,
            local.date().day() as i8,
            local.hour() as i8,
            local.minute() as i8,
            local.second() as i8,
            local.microsecond() as i32 * 1000,
        ) else {
            return UtcMoment { unix_micros: as_if_utc, in_gap: false };
        };
        match zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => {
                UtcMoment { unix_micros: at_offset(offset.seconds()), in_gap: false }
            }
            AmbiguousOffset::Fold { before, .. } => {
                UtcMoment { unix_micros: at_offset(before.seconds()), in_gap: false }
            }
            AmbiguousOffset::Gap { before, .. } => {
                // The moment by the old offset lies past the change by as much as the local time lies in the gap;
                // the change itself is the last whole moment before which the old offset still holds.
                let late = at_offset(before.seconds());
                UtcMoment { unix_micros: change_before(zone, late).unwrap_or(late), in_gap: true }
            }
        }
    }

    /// A local time in UTC; `None` outside the years 1..=9999.
    pub fn to_utc(&self, local: DateTime) -> Option<DateTime> {
        DateTime::from_micros(self.to_unix_micros(local).unix_micros + UNIX_EPOCH_DAY * MICROS_PER_DAY)
    }

    /// A time in UTC as local time; `None` outside the years 1..=9999.
    pub fn from_utc(&self, utc: DateTime) -> Option<DateTime> {
        if let Rules::Fixed(0) = self.rules {
            return Some(utc);
        }
        self.from_unix_micros(utc.to_micros() - UNIX_EPOCH_DAY * MICROS_PER_DAY)
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Rules {
    fn of(zone: jiff::tz::TimeZone) -> Rules {
        match zone.to_fixed_offset() {
            Ok(offset) => Rules::Fixed(offset.seconds()),
            Err(_) => Rules::Zone(zone),
        }
    }
}

/// The last change of the zone's clock at or before a moment.
fn change_before(zone: &jiff::tz::TimeZone, unix_micros: i64) -> Option<i64> {
    let moment = jiff::Timestamp::from_microsecond(unix_micros.checked_add(1)?).ok()?;
    Some(zone.preceding(moment).next()?.timestamp().as_microsecond())
}

/// `[+-]h[h]:mm` from -13:59 to +14:00, in seconds.
fn parse_displacement(text: &str) -> Option<i32> {
    let (negative, body) = match text.as_bytes().first()? {
        b'+' => (false, &text[1..]),
        b'-' => (true, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = body.split_once(':')?;
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let one_or_two = |part: &str| (1..=2).contains(&part.len());
    if !one_or_two(hours) || !one_or_two(minutes) || !all_digits(hours) || !all_digits(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = hours * 3600 + minutes * 60;
    let limit = if negative { 13 * 3600 + 59 * 60 } else { 14 * 3600 };
    (minutes < 60 && seconds <= limit).then_some(if negative { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::super::parse::{DateRules, parse_datetime};
    use super::*;

    fn local(text: &str) -> DateTime {
        parse_datetime(text, DateRules::LENIENT).unwrap().value
    }

    #[test]
    fn names_and_displacements() {
        assert_eq!(TimeZone::parse("+5:30").unwrap().name(), "+05:30");
        assert_eq!(TimeZone::parse("-13:59").unwrap().offset_at(0), -(13 * 3600 + 59 * 60));
        for wrong in ["+14:01", "-14:00", "+1", "", "Mars/Olympus", "+é:00"] {
            assert!(TimeZone::parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(TimeZone::parse("europe/berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(TimeZone::parse("system").unwrap().name(), "SYSTEM");
    }

    #[test]
    fn gaps_and_folds() {
        let met = TimeZone::parse("MET").unwrap();
        let unix = |text| met.to_unix_micros(local(text));
        assert_eq!(unix("2005-03-27 03:00:00").unix_micros, 1_111_885_200_000_000);
        assert_eq!(unix("2005-03-27 02:00:00"), UtcMoment { unix_micros: 1_111_885_200_000_000, in_gap: true });
        assert_eq!(unix("2005-03-27 02:59:59.5"), UtcMoment { unix_micros: 1_111_885_200_000_000, in_gap: true });
        assert_eq!(unix("2005-10-30 02:30:00").unix_micros, 1_130_632_200_000_000);
    }

    #[test]
    fn both_ways() {
        let kolkata = TimeZone::parse("Asia/Kolkata").unwrap();
        let noon = local("2020-06-01 12:00:00.25");
        assert_eq!(kolkata.to_utc(noon), Some(local("2020-06-01 06:30:00.25")));
        assert_eq!(kolkata.from_utc(kolkata.to_utc(noon).unwrap()), Some(noon));
        assert_eq!(TimeZone::utc().from_unix_micros(0), Some(local("1970-01-01")));
        assert_eq!(TimeZone::utc().from_unix_micros(i64::MAX), None);
        assert_eq!(TimeZone::utc().from_unix_micros(i64::MIN), None);
    }
}
