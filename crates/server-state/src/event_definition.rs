//! The definition of an event, the times when it is due, and its record.

use squall_catalog::AccountKey;
use squall_row_store::{Malformed, Reader, Writer};
use squall_types::temporal::{Interval, IntervalUnit, TimeZone};
use squall_types::{SqlError, SqlResult};

/// The kind of records that hold events; the key is database and name with a zero byte between them.
pub const SPACE: &str = "event";
/// Version of the layout.
const FORMAT: u8 = 1;

/// Whether an event runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs.
    Enabled,
    /// It does not.
    Disabled,
    /// It does not here, but where the statement came from.
    DisabledOnReplica,
}

impl Status {
    /// As information_schema shows it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Enabled => "ENABLED",
            Self::Disabled => "DISABLED",
            Self::DisabledOnReplica => "REPLICA_SIDE_DISABLED",
        }
    }

    /// As SQL says it.
    pub fn clause(self) -> &'static str {
        match self {
            Self::Enabled => "ENABLE",
            Self::Disabled => "DISABLE",
            Self::DisabledOnReplica => "DISABLE ON REPLICA",
        }
    }
}

/// When an event is due. Times are microseconds since 1970 UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Once.
    At(i64),
    /// Again and again.
    Every {
        /// The amount as it was given, such as `1` or `1:30`.
        amount: String,
        /// Its unit.
        unit: IntervalUnit,
        /// The first time.
        starts: i64,
        /// No time is later.
        ends: Option<i64>,
    },
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDef {
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// In whose name it runs.
    pub definer: AccountKey,
    /// Its statement.
    pub body: String,
    /// When it runs.
    pub schedule: Schedule,
    /// Whether it runs.
    pub status: Status,
    /// ON COMPLETION PRESERVE.
    pub preserve: bool,
    /// COMMENT.
    pub comment: String,
    /// `time_zone`, `sql_mode` and character sets of the session that made it, by name.
    pub time_zone: String,
    /// See `time_zone`.
    pub sql_mode: String,
    /// See `time_zone`.
    pub client_charset: String,
    /// See `time_zone`.
    pub connection_collation: String,
    /// The default collation of its database.
    pub database_collation: String,
    /// Microseconds since 1970 UTC.
    pub created_micros: i64,
    /// Microseconds since 1970 UTC.
    pub altered_micros: i64,
    /// Microseconds since 1970 UTC; `None` if it has not run yet.
    pub executed_micros: Option<i64>,
}

impl EventDef {
    /// The key of its record.
    pub fn key(database: &str, name: &str) -> Vec<u8> {
        [database.as_bytes(), &[0], name.to_lowercase().as_bytes()].concat()
    }

    /// Its time zone.
    pub fn zone(&self) -> TimeZone {
        TimeZone::parse(&self.time_zone).unwrap_or_else(TimeZone::system)
    }

    /// When it is due next, from `now` on; `None` if never again. An event that runs once and has not run yet stays due, even after
    /// a long time.
    pub fn next(&self, now: i64) -> Option<i64> {
        match &self.schedule {
            Schedule::At(at) => self.executed_micros.is_none().then_some(*at),
            Schedule::Every { amount, unit, starts, ends } => {
                // Not the slot that it has run in.
                let now = self.executed_micros.map_or(now, |executed| now.max(executed + 1));
                let next = next_slot(*starts, interval(amount, *unit), &self.zone(), now)?;
                (ends.is_none_or(|ends| next <= ends)).then_some(next)
            }
        }
    }

    /// The record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new(FORMAT);
        for text in [&self.database, &self.name, &self.definer.user, &self.definer.host, &self.body] {
            out.str(text);
        }
        match &self.schedule {
            Schedule::At(at) => {
                out.u8(0);
                out.i64(*at);
            }
            Schedule::Every { amount, unit, starts, ends } => {
                out.u8(1);
                out.str(amount);
                out.str(unit.name());
                out.i64(*starts);
                out.option(*ends, Writer::i64);
            }
        }
        out.u8(self.status as u8);
        out.bool(self.preserve);
        let settings = [
            &self.time_zone,
            &self.sql_mode,
            &self.client_charset,
            &self.connection_collation,
            &self.database_collation,
        ];
        out.str(&self.comment);
        settings.into_iter().for_each(|text| out.str(text));
        out.i64(self.created_micros);
        out.i64(self.altered_micros);
        out.option(self.executed_micros, Writer::i64);
        out.finish()
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(record: &[u8]) -> SqlResult<EventDef> {
        Self::read(&mut Reader::new(record)).map_err(|_| SqlError::internal("the record of an event is damaged"))
    }

    fn read(reader: &mut Reader<'_>) -> Result<EventDef, Malformed> {
        if reader.u8()? != FORMAT {
            return Err(Malformed);
        }
        Ok(EventDef {
            database: reader.string()?,
            name: reader.string()?,
            definer: AccountKey::new(reader.string()?, reader.string()?),
            body: reader.string()?,
            schedule: match reader.u8()? {
                0 => Schedule::At(reader.i64()?),
                1 => Schedule::Every {
                    amount: reader.string()?,
                    unit: IntervalUnit::from_name(&reader.string()?).ok_or(Malformed)?,
                    starts: reader.i64()?,
                    ends: reader.option(Reader::i64)?,
                },
                _ => return Err(Malformed),
            },
            status: match reader.u8()? {
                0 => Status::Enabled,
                1 => Status::Disabled,
                2 => Status::DisabledOnReplica,
                _ => return Err(Malformed),
            },
            preserve: reader.bool()?,
            comment: reader.string()?,
            time_zone: reader.string()?,
            sql_mode: reader.string()?,
            client_charset: reader.string()?,
            connection_collation: reader.string()?,
            database_collation: reader.string()?,
            created_micros: reader.i64()?,
            altered_micros: reader.i64()?,
            executed_micros: reader.option(Reader::i64)?,
        })
    }
}

/// The beginning of the second that a time is in, microseconds: times of schedules have no fractions, so an event that is made for now is due.
pub fn whole_seconds(micros: i64) -> i64 {
    micros - micros.rem_euclid(1_000_000)
}

/// The interval of an event.
pub fn interval(amount: &str, unit: IntervalUnit) -> Interval {
    match amount.parse() {
        Ok(count) if !unit.is_composite() => Interval::from_integer(count, unit),
        _ => Interval::parse(amount, unit),
    }
}

/// The first time not before `now` that is a whole number of intervals after the start, by the zone's clock.
fn next_slot(starts: i64, interval: Interval, zone: &TimeZone, now: i64) -> Option<i64> {
    if now <= starts {
        return Some(starts);
    }
    let (first, current) = (zone.from_unix_micros(starts)?, zone.from_unix_micros(now)?);
    let mut count = interval.count_between(first, current)?;
    loop {
        let slot = zone.to_unix_micros(first.add_interval(interval.times(count)?)?).unix_micros;
        if slot >= now {
            return Some(slot);
        }
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    fn next(amount: &str, unit: IntervalUnit, zone: &str, starts: &str, now: &str) -> String {
        let zone = TimeZone::parse(zone).expect("a zone");
        let moment = |text: &str| {
            let rules = squall_types::temporal::DateRules::default();
            let local = squall_types::temporal::parse::parse_datetime(text, rules).expect("a moment").value;
            zone.to_unix_micros(local).unix_micros
        };
        let slot = next_slot(moment(starts), interval(amount, unit), &zone, moment(now)).expect("a slot");
        zone.from_unix_micros(slot).expect("a date").to_text(0)
    }

    #[test]
    fn slots_are_whole_intervals_after_the_start_by_the_local_clock() {
        use IntervalUnit::*;
        for (amount, unit, zone, starts, now, expected) in [
            ("1", Day, "UTC", "2026-01-01 10:00:00", "2025-12-01 00:00:00", "2026-01-01 10:00:00"),
            ("1", Day, "UTC", "2026-01-01 10:00:00", "2026-01-05 10:00:00", "2026-01-05 10:00:00"),
            ("1", Day, "UTC", "2026-01-01 10:00:00", "2026-01-05 10:00:01", "2026-01-06 10:00:00"),
            ("1:30", MinuteSecond, "UTC", "2026-01-01 00:00:00", "2026-01-01 00:01:31", "2026-01-01 00:03:00"),
            ("1", Month, "UTC", "2026-01-31 00:00:00", "2026-02-01 00:00:00", "2026-02-28 00:00:00"),
            ("1", Month, "UTC", "2026-01-31 00:00:00", "2026-03-01 00:00:00", "2026-03-31 00:00:00"),
            ("1", Day, "Europe/Berlin", "2026-03-28 12:00:00", "2026-03-29 11:59:59", "2026-03-29 12:00:00"),
            ("1", Week, "Europe/Berlin", "2026-10-20 02:30:00", "2026-10-26 00:00:00", "2026-10-27 02:30:00"),
        ] {
            assert_eq!(next(amount, unit, zone, starts, now), expected, "{amount} {unit:?} {now}");
        }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let schedules = [
            Schedule::At(7),
            Schedule::Every { amount: "1:30".into(), unit: IntervalUnit::HourMinute, starts: DAY, ends: Some(2 * DAY) },
        ];
        for schedule in schedules {
            let event = EventDef {
                database: "d".into(),
                name: "Ereignis ü".into(),
                definer: AccountKey::new("u", "%"),
                body: "DO 1".into(),
                schedule,
                status: Status::DisabledOnReplica,
                preserve: true,
                comment: "c".into(),
                time_zone: "SYSTEM".into(),
                sql_mode: "ANSI".into(),
                client_charset: "utf8mb4".into(),
                connection_collation: "utf8mb4_bin".into(),
                database_collation: "utf8mb4_0900_ai_ci".into(),
                created_micros: 1,
                altered_micros: 2,
                executed_micros: None,
            };
            let record = event.encode();
            assert_eq!(EventDef::decode(&record), Ok(event));
            assert!((0..record.len()).all(|end| EventDef::decode(&record[..end]).is_err()));
        }
    }
}
