//! Reads dates and times from text and numbers, in all the relaxed forms that MySQL accepts.

use super::round::Fraction;
use super::{Date, DateTime, Time};
use crate::SqlMode;

/// Which dates with zero or missing parts are valid, by `sql_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DateRules {
    /// Refuse `0000-00-00`.
    pub no_zero_date: bool,
    /// Refuse a zero month or day.
    pub no_zero_in_date: bool,
    /// Take any day up to 31 in any month.
    pub allow_invalid: bool,
    /// How surplus fractional digits go.
    pub fraction: Fraction,
}

impl DateRules {
    /// Everything but a day that does not exist is taken: the rules for function arguments.
    pub const LENIENT: DateRules =
        DateRules { no_zero_date: false, no_zero_in_date: false, allow_invalid: false, fraction: Fraction::Round };

    /// Whether a date with parts in their ranges is valid under the rules.
    pub fn check(self, date: Date) -> Result<(), ParseProblem> {
        if date.is_zero() {
            return if self.no_zero_date { Err(ParseProblem::ZeroDate) } else { Ok(()) };
        }
        if date.has_zero_part() && self.no_zero_in_date {
            return Err(ParseProblem::ZeroDate);
        }
        let exists = date.has_zero_part() || self.allow_invalid || date.exists();
        // A day without a month may be anything up to 31.
        let fits = date.month() == 0 || date.day() == 0 || exists;
        if fits { Ok(()) } else { Err(ParseProblem::OutOfRange) }
    }
}

impl From<SqlMode> for DateRules {
    fn from(mode: SqlMode) -> Self {
        DateRules {
            no_zero_date: mode.contains(SqlMode::NO_ZERO_DATE),
            no_zero_in_date: mode.contains(SqlMode::NO_ZERO_IN_DATE),
            allow_invalid: mode.contains(SqlMode::ALLOW_INVALID_DATES),
            fraction: if mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
                Fraction::Truncate
            } else {
                Fraction::Round
            },
        }
    }
}

/// Why text or a number is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseProblem {
    /// Not of the form of a date or time at all.
    Malformed,
    /// Well formed, but a part or the whole is out of range.
    OutOfRange,
    /// A zero date, or a zero part, that the rules forbid.
    ZeroDate,
}

/// A value read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value, cut to microseconds.
    pub value: T,
    /// The nanoseconds behind the microseconds, 0..1000.
    pub nanos: u16,
    /// Something other than spaces followed the value.
    pub truncated: bool,
    /// The value was out of range and became the nearest limit (TIME only).
    pub clamped: bool,
    /// The text had a time of day (for dates and datetimes), or a date part that was dropped (for times).
    pub has_other_part: bool,
    /// The displacement `+hh:mm` in seconds that followed a datetime.
    pub offset_seconds: Option<i32>,
}

impl<T> Parsed<T> {
    fn plain(value: T) -> Parsed<T> {
        Parsed { value, nanos: 0, truncated: false, clamped: false, has_other_part: false, offset_seconds: None }
    }
}

/// A position in the text.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn digit_at(&self, at: usize) -> bool {
        self.rest.get(at).is_some_and(u8::is_ascii_digit)
    }

    fn advance(&mut self, count: usize) {
        self.rest = &self.rest[count.min(self.rest.len())..];
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.advance(1);
        }
    }

    /// Reads up to `limit` digits; the value saturates.
    fn digits(&mut self, limit: usize) -> (u64, usize) {
        let mut value = 0u64;
        let mut count = 0;
        while count < limit && self.digit_at(0) {
            value = value.saturating_mul(10).saturating_add(u64::from(self.rest[0] - b'0'));
            count += 1;
            self.advance(1);
        }
        (value, count)
    }

    /// Reads the digits of a fraction: microseconds and the nanoseconds after them (the seventh digit only counts).
    fn fraction(&mut self) -> (u32, u16) {
        let (value, count) = self.digits(6);
        let micros = value as u32 * 10u32.pow(6 - count as u32);
        let nanos = match self.peek() {
            Some(digit @ b'0'..=b'9') => u16::from(digit - b'0') * 100,
            _ => 0,
        };
        self.digits(usize::MAX);
        (micros, nanos)
    }

    fn only_spaces_left(&self) -> bool {
        self.rest.iter().all(|&byte| is_space(byte))
    }
}

fn is_space(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}

/// A displacement `[+-]hh:mm` between -13:59 and +14:00, in seconds.
fn displacement(text: &[u8]) -> Option<i32> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = *text else { return None };
    if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |tens: u8, ones: u8| i32::from(tens - b'0') * 10 + i32::from(ones - b'0');
    let (hours, minutes) = (number(h1, h2), number(m1, m2));
    let seconds = hours * 3600 + minutes * 60;
    let seconds = if sign == b'-' { -seconds } else { seconds };
    // "-00:00" is refused as in MySQL.
    if minutes > 59 || !(-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&seconds) || (sign == b'-' && seconds == 0) {
        return None;
    }
    Some(seconds)
}

/// Index of the day among year, month, day, hour, minute, second, fraction.
const DAY: usize = 2;
/// Index of the second.
const SECOND: usize = 5;
/// Index of the fraction.
const FRACTION: usize = 6;

/// The result of reading a text that might be a datetime.
enum Outcome {
    /// Not of the form of a datetime: the text may still be a time.
    NotDateTime,
    /// Of the form of a datetime, but wrong.
    Problem(ParseProblem),
}

/// Reads a DATE, DATETIME or TIMESTAMP: `2020-01-31 12:34:56.5`, `20200131123456`, `20-1-31`, `2020^01^31T12`…
pub fn parse_datetime(text: &str, rules: DateRules) -> Result<Parsed<DateTime>, ParseProblem> {
    read_datetime(text.as_bytes(), rules, false).map_err(|outcome| match outcome {
        Outcome::NotDateTime => ParseProblem::Malformed,
        Outcome::Problem(problem) => problem,
    })
}

/// Reads a DATE; a time of day is noted in `has_other_part` and dropped.
pub fn parse_date(text: &str, rules: DateRules) -> Result<Parsed<Date>, ParseProblem> {
    let parsed = parse_datetime(text, rules)?;
    Ok(Parsed {
        value: parsed.value.date(),
        nanos: 0,
        truncated: parsed.truncated,
        clamped: false,
        has_other_part: parsed.value.micros_of_day() != 0,
        offset_seconds: parsed.offset_seconds,
    })
}

/// The fields of a datetime, as far as they were there.
struct Fields<'t> {
    /// Year to microseconds.
    parts: [u64; 7],
    count: usize,
    /// Digits of the year.
    year_length: usize,
    fraction_nanos: u16,
    offset_seconds: Option<i32>,
    found_delimiter: bool,
    found_space: bool,
    /// What follows the last field: garbage is measured from there.
    rest: &'t [u8],
}

/// The character behind a field.
enum Next {
    /// Maybe another field.
    Field,
    /// None that is read.
    End,
}

impl<'t> Fields<'t> {
    fn read(mut cursor: Cursor<'t>) -> Result<Fields<'t>, Outcome> {
        let run = cursor.rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
        let undelimited = cursor.rest.len() == run || cursor.rest[run] == b'.';
        // Undelimited text has a year of two or four digits by its length; a delimited year runs to its delimiter.
        let year_digits = if undelimited && !matches!(run, 4 | 8 | 14..) { 2 } else { 4 };
        let mut fields = Fields {
            parts: [0; 7],
            count: 0,
            year_length: 0,
            fraction_nanos: 0,
            offset_seconds: None,
            found_delimiter: false,
            found_space: false,
            rest: cursor.rest,
        };
        while fields.count < fields.parts.len() && cursor.digit_at(0) {
            let (value, length) = match fields.count {
                FRACTION => {
                    let (micros, nanos) = cursor.fraction();
                    fields.fraction_nanos = nanos;
                    (u64::from(micros), 6)
                }
                0 if undelimited => cursor.digits(year_digits),
                _ if undelimited => cursor.digits(2),
                _ => cursor.digits(usize::MAX),
            };
            if value > 999_999 {
                return Err(Outcome::NotDateTime);
            }
            if fields.count == 0 {
                fields.year_length = length;
            }
            fields.parts[fields.count] = value;
            fields.count += 1;
            fields.rest = cursor.rest;
            if let Next::End = fields.pass_delimiter(&mut cursor)? {
                break;
            }
        }
        Ok(fields)
    }

    /// Passes what stands between two fields.
    fn pass_delimiter(&mut self, cursor: &mut Cursor<'t>) -> Result<Next, Outcome> {
        let Some(next) = cursor.peek() else { return Ok(Next::End) };
        let done = self.count - 1;
        if done == DAY && next == b'T' {
            cursor.advance(1);
            return Ok(Next::Field);
        }
        if done >= SECOND && matches!(next, b'+' | b'-') {
            match displacement(cursor.rest.trim_ascii_end()) {
                Some(seconds) => {
                    self.offset_seconds = Some(seconds);
                    self.rest = &[];
                }
                None if done == FRACTION => {}
                None => return Err(Outcome::Problem(ParseProblem::Malformed)),
            }
            return Ok(Next::End);
        }
        if done == SECOND && next == b'.' {
            cursor.advance(1);
            self.rest = cursor.rest;
            return Ok(Next::Field);
        }
        if done >= SECOND {
            return Ok(Next::End);
        }
        while let Some(byte) = cursor.peek() {
            if is_space(byte) {
                if done != DAY {
                    return Err(Outcome::NotDateTime);
                }
                self.found_space = true;
            } else if !byte.is_ascii_punctuation() {
                break;
            }
            self.found_delimiter = true;
            cursor.advance(1);
        }
        Ok(Next::Field)
    }
}

/// `needs_time`: delimited text must have a space before its time of day to count as a datetime (`00:00:00.000001` is
/// none when a time is asked for).
fn read_datetime(text: &[u8], rules: DateRules, needs_time: bool) -> Result<Parsed<DateTime>, Outcome> {
    let mut cursor = Cursor { rest: text };
    cursor.skip_spaces();
    if !cursor.digit_at(0) {
        return Err(Outcome::NotDateTime);
    }
    let fields = Fields::read(cursor)?;
    if fields.found_delimiter && !fields.found_space && needs_time {
        return Err(Outcome::NotDateTime);
    }
    let [mut year, month, day, hour, minute, second, micros] = fields.parts;
    let not_zero = fields.parts.iter().any(|part| *part != 0);
    if fields.year_length <= 2 && not_zero {
        year += if year < 70 { 2000 } else { 1900 };
    }
    let rest = Cursor { rest: fields.rest };
    if fields.count < 3 || year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        let zero = !not_zero && rest.only_spaces_left();
        return Err(Outcome::Problem(if zero { ParseProblem::ZeroDate } else { ParseProblem::Malformed }));
    }
    let date = Date::from_parts(year as u16, month as u8, day as u8);
    let value = date.and_then(|date| DateTime::from_parts(date, hour as u8, minute as u8, second as u8, micros as u32));
    let value = value.ok_or(Outcome::Problem(ParseProblem::OutOfRange))?;
    rules.check(value.date()).map_err(Outcome::Problem)?;
    Ok(Parsed {
        value,
        nanos: fields.fraction_nanos,
        truncated: !rest.only_spaces_left(),
        clamped: false,
        has_other_part: fields.count > DAY + 1,
        offset_seconds: fields.offset_seconds,
    })
}

/// Reads a TIME: `[-][D ]HH:MM:SS.ffffff`, `HHMMSS`, `SS`, or a whole datetime, whose date is dropped.
pub fn parse_time(text: &str) -> Result<Parsed<Time>, ParseProblem> {
    let mut cursor = Cursor { rest: text.as_bytes() };
    cursor.skip_spaces();
    let negative = cursor.peek() == Some(b'-');
    if negative {
        cursor.advance(1);
    }
    if cursor.rest.is_empty() {
        return Err(ParseProblem::Malformed);
    }
    if cursor.rest.len() >= 12 {
        match read_datetime(cursor.rest, DateRules::LENIENT, true) {
            Ok(parsed) => {
                let time = parsed.value.time();
                let value = if negative { Time::from_micros_clamped(-time.to_micros()) } else { time };
                return Ok(Parsed {
                    value,
                    nanos: parsed.nanos,
                    truncated: parsed.truncated,
                    clamped: false,
                    has_other_part: true,
                    offset_seconds: None,
                });
            }
            Err(Outcome::Problem(problem)) => return Err(problem),
            Err(Outcome::NotDateTime) => {}
        }
    }
    if !cursor.digit_at(0) {
        return Err(ParseProblem::Malformed);
    }
    let (parts, mut cursor) = read_clock(cursor);
    let (mut micros, mut nanos) = (0, 0);
    if cursor.peek() == Some(b'.') && cursor.digit_at(1) {
        cursor.advance(1);
        (micros, nanos) = cursor.fraction();
    } else if cursor.rest == b"." {
        cursor.advance(1);
    }
    // A number in scientific notation is no time at all.
    if matches!(cursor.peek(), Some(b'e' | b'E'))
        && (cursor.digit_at(1) || (matches!(cursor.rest.get(1), Some(b'+' | b'-')) && cursor.digit_at(2)))
    {
        return Err(ParseProblem::Malformed);
    }
    let [days, hours, minutes, seconds] = parts;
    if parts.iter().any(|part| *part > u64::from(u32::MAX)) {
        return Err(ParseProblem::Malformed);
    }
    if minutes > 59 || seconds > 59 {
        return Err(ParseProblem::OutOfRange);
    }
    let total = (days * 24 + hours) * 3600 + minutes * 60 + seconds;
    let micros = total.saturating_mul(1_000_000).saturating_add(u64::from(micros)).min(i64::MAX as u64) as i64;
    let signed = if negative { -micros } else { micros };
    Ok(Parsed {
        value: Time::from_micros_clamped(signed),
        nanos,
        truncated: !cursor.only_spaces_left(),
        clamped: micros > Time::MAX.to_micros(),
        has_other_part: false,
        offset_seconds: None,
    })
}

/// Days, hours, minutes and seconds of a time that begins with a digit, and what follows.
fn read_clock(mut cursor: Cursor<'_>) -> ([u64; 4], Cursor<'_>) {
    let (first, _) = cursor.digits(usize::MAX);
    let after_number = cursor.rest.len();
    cursor.skip_spaces();
    let spaces = cursor.rest.len() < after_number;
    let mut parts = [0u64; 4];
    let mut filled;
    // A single digit after a space is not enough to make the first number one of days.
    if spaces && cursor.digit_at(0) && cursor.rest.len() > 1 {
        parts[0] = first;
        filled = 1;
    } else if cursor.peek() == Some(b':') && cursor.digit_at(1) {
        parts[1] = first;
        filled = 2;
        cursor.advance(1);
    } else {
        // One number: HHMMSS.
        return ([0, first / 10_000, first / 100 % 100, first % 100], cursor);
    }
    loop {
        (parts[filled], _) = cursor.digits(usize::MAX);
        filled += 1;
        if filled == 4 || cursor.peek() != Some(b':') || !cursor.digit_at(1) {
            return (parts, cursor);
        }
        cursor.advance(1);
    }
}

/// Reads a number such as 20200131, 200131 or 20200131123456 as a datetime; `has_other_part` tells whether it had a time.
pub fn datetime_from_number(number: i64, rules: DateRules) -> Result<Parsed<DateTime>, ParseProblem> {
    let whole = match number {
        0 => 0,
        101..=691_231 => (number + 20_000_000) * 1_000_000,
        700_101..=991_231 => (number + 19_000_000) * 1_000_000,
        // Years before 1000 are written with leading zeros, which a number does not keep.
        10_000_101..=99_991_231 => number * 1_000_000,
        101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
        700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
        10_000_101_000_000..=99_999_999_999_999 => number,
        _ => return Err(ParseProblem::Malformed),
    };
    let (date, time) = (whole / 1_000_000, whole % 1_000_000);
    let date = u16::try_from(date / 10_000)
        .ok()
        .and_then(|year| Date::from_parts(year, (date / 100 % 100) as u8, (date % 100) as u8))
        .ok_or(ParseProblem::OutOfRange)?;
    let value = DateTime::from_parts(date, (time / 10_000) as u8, (time / 100 % 100) as u8, (time % 100) as u8, 0)
        .ok_or(ParseProblem::OutOfRange)?;
    rules.check(date)?;
    Ok(Parsed { has_other_part: number > 99_991_231, ..Parsed::plain(value) })
}

/// Reads a number such as 123456 (12:34:56) as a time; numbers of ten and more digits may be datetimes.
pub fn time_from_number(number: i64) -> Result<Parsed<Time>, ParseProblem> {
    let magnitude = number.unsigned_abs();
    if magnitude > 8_385_959 {
        if number >= 10_000_000_000
            && let Ok(parsed) = datetime_from_number(number, DateRules::LENIENT)
        {
            return Ok(Parsed { has_other_part: true, ..Parsed::plain(parsed.value.time()) });
        }
        let value = Time::from_micros_clamped(if number < 0 { i64::MIN } else { i64::MAX });
        return Ok(Parsed { clamped: true, ..Parsed::plain(value) });
    }
    let parts = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
    Time::from_parts(number < 0, parts.0 as u32, parts.1 as u32, parts.2 as u32, 0)
        .map(Parsed::plain)
        .ok_or(ParseProblem::OutOfRange)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
