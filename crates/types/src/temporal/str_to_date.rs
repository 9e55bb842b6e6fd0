//! `STR_TO_DATE()`: reads text by a `DATE_FORMAT()`-like pattern, with English names.

use super::calendar::WeekMode;
use super::names::CalendarNames;
use super::parse::{DateRules, ParseProblem};
use super::{Date, DateTime, Time};

/// What a format's specifiers make of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatKind {
    /// Only date parts.
    Date,
    /// Only time parts; `fraction` with `%f`.
    Time {
        /// Whether microseconds are read.
        fraction: bool,
    },
    /// Both.
    DateTime {
        /// Whether microseconds are read.
        fraction: bool,
    },
}

impl FormatKind {
    /// The kind that a constant format gives `STR_TO_DATE()`.
    pub fn of(format: &str) -> FormatKind {
        let (mut date, mut time, mut fraction) = (false, false, false);
        let mut chars = format.chars();
        while let Some(character) = chars.next() {
            if character != '%' {
                continue;
            }
            match chars.next() {
                Some('f') => (time, fraction) = (true, true),
                Some('H' | 'I' | 'S' | 'T' | 'h' | 'i' | 'k' | 'l' | 'p' | 'r' | 's') => time = true,
                Some(
                    'M' | 'V' | 'U' | 'X' | 'Y' | 'W' | 'a' | 'b' | 'c' | 'j' | 'm' | 'v' | 'u' | 'x' | 'y' | 'w' | 'd'
                    | 'e' | 'D',
                ) => date = true,
                _ => {}
            }
        }
        match (date, time) {
            (true, true) => FormatKind::DateTime { fraction },
            (false, true) => FormatKind::Time { fraction },
            _ => FormatKind::Date,
        }
    }
}

/// The parts that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrToDate {
    /// The date part, zero where the format has none.
    pub date: Date,
    /// The time of day.
    pub time: Time,
    /// Text was left over.
    pub truncated: bool,
}

impl StrToDate {
    /// Date and time together.
    pub fn datetime(self) -> Option<DateTime> {
        DateTime::from_date_and_micros(self.date, self.time.to_micros())
    }
}

/// The fields gathered while reading.
#[derive(Default)]
struct Fields {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    micros: u64,
    half_of_day: u64,
    twelve_hours: bool,
    day_of_year: Option<u64>,
    /// Monday is 1.
    weekday: Option<u64>,
    /// The week and whether it begins on Sunday, whether its year is given by `%X`/`%x`.
    week: Option<(u64, bool, bool)>,
    /// The year of `%X`/`%x` and whether its weeks begin on Sunday.
    week_year: Option<(u64, bool)>,
}

/// Reads `text` by `format`.
pub fn str_to_date(text: &str, format: &str, rules: DateRules) -> Result<StrToDate, ParseProblem> {
    let mut fields = Fields::default();
    let mut rest = text.as_bytes();
    read(&mut rest, format.as_bytes(), &mut fields)?;
    let result = fields.finish()?;
    let kind = FormatKind::of(format);
    if !matches!(kind, FormatKind::Time { .. }) {
        rules.check(result.date)?;
    }
    Ok(StrToDate { truncated: !rest.trim_ascii().is_empty(), ..result })
}

fn read(rest: &mut &[u8], format: &[u8], fields: &mut Fields) -> Result<(), ParseProblem> {
    let mut format = format.iter();
    while let Some(&expected) = format.next() {
        *rest = rest.trim_ascii_start();
        if rest.is_empty() {
            break;
        }
        if expected == b'%' {
            match format.next() {
                Some(&specifier) => read_field(rest, specifier, fields)?,
                None => return Err(ParseProblem::Malformed),
            }
        } else if !expected.is_ascii_whitespace() {
            if rest[0] != expected {
                return Err(ParseProblem::Malformed);
            }
            *rest = &rest[1..];
        }
    }
    Ok(())
}

/// Reads one to `limit` digits; how many there were comes second.
fn number(rest: &mut &[u8], limit: usize) -> Result<(u64, usize), ParseProblem> {
    let length = rest.iter().take(limit).take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return Err(ParseProblem::Malformed);
    }
    let (digits, after) = rest.split_at(length);
    *rest = after;
    Ok((digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')), length))
}

/// The number of a day's name, 1 for Monday.
fn weekday(rest: &mut &[u8], letters: Option<usize>) -> Result<u64, ParseProblem> {
    let sunday_first = name(rest, CalendarNames::ENGLISH.days, letters)?;
    Ok((sunday_first + 5) % 7 + 1)
}

/// Reads a word and gives its 1-based place among the names: it is one of them, or the beginning of only one.
fn name(rest: &mut &[u8], names: &[&str], letters: Option<usize>) -> Result<u64, ParseProblem> {
    let (word, after) = rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count());
    let mut beginnings = names.iter().zip(1..).filter_map(|(name, place)| {
        let name = &name.as_bytes()[..letters.unwrap_or(name.len())];
        let begins = name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        begins.then_some((place, name.len() == word.len()))
    });
    let (first, second) = (beginnings.next(), beginnings.next());
    let place = match (first, second) {
        (Some((place, _)), None) | (Some((place, true)), _) | (_, Some((place, true))) => place,
        _ => return Err(ParseProblem::Malformed),
    };
    *rest = after;
    Ok(place)
}

fn two_digit_year(year: u64) -> u64 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

fn skip_while(rest: &mut &[u8], accept: impl Fn(&u8) -> bool) {
    let length = rest.iter().take_while(|byte| accept(byte)).count();
    *rest = &rest[length..];
}

fn read_field(rest: &mut &[u8], specifier: u8, fields: &mut Fields) -> Result<(), ParseProblem> {
    match specifier {
        b'Y' => {
            let (year, length) = number(rest, 4)?;
            fields.year = if length <= 2 { two_digit_year(year) } else { year };
        }
        b'y' => fields.year = two_digit_year(number(rest, 2)?.0),
        b'm' | b'c' => fields.month = number(rest, 2)?.0,
        b'M' => fields.month = name(rest, CalendarNames::ENGLISH.months, None)?,
        b'b' => fields.month = name(rest, CalendarNames::ENGLISH.months, Some(3))?,
        b'd' | b'e' => fields.day = number(rest, 2)?.0,
        b'D' => {
            fields.day = number(rest, 2)?.0;
            *rest = &rest[rest.len().min(2)..];
        }
        b'h' | b'I' | b'l' => {
            fields.twelve_hours = true;
            fields.hour = number(rest, 2)?.0;
        }
        b'H' | b'k' => fields.hour = number(rest, 2)?.0,
        b'i' => fields.minute = number(rest, 2)?.0,
        b's' | b'S' => fields.second = number(rest, 2)?.0,
        b'f' => {
            let (value, length) = number(rest, 6)?;
            fields.micros = value * 10u64.pow(6 - length as u32);
        }
        b'p' => {
            if rest.len() < 2 || !fields.twelve_hours {
                return Err(ParseProblem::Malformed);
            }
            let (half, after) = rest.split_at(2);
            fields.half_of_day = match half.to_ascii_uppercase().as_slice() {
                b"AM" => 0,
                b"PM" => 12,
                _ => return Err(ParseProblem::Malformed),
            };
            *rest = after;
        }
        b'W' => fields.weekday = Some(weekday(rest, None)?),
        b'a' => fields.weekday = Some(weekday(rest, Some(3))?),
        b'w' => {
            let (day, _) = number(rest, 1)?;
            if day > 6 {
                return Err(ParseProblem::Malformed);
            }
            fields.weekday = Some(if day == 0 { 7 } else { day });
        }
        b'j' => fields.day_of_year = Some(number(rest, 3)?.0),
        b'U' | b'V' | b'u' | b'v' => {
            let (week, _) = number(rest, 2)?;
            let sunday = matches!(specifier, b'U' | b'V');
            let own_year = matches!(specifier, b'V' | b'v');
            if week > 53 || (own_year && week == 0) {
                return Err(ParseProblem::Malformed);
            }
            fields.week = Some((week, sunday, own_year));
        }
        b'X' | b'x' => fields.week_year = Some((number(rest, 4)?.0, specifier == b'X')),
        b'r' => {
            // Its twelve hours are its own: fields after it may have twenty-four.
            let outer = (fields.twelve_hours, fields.half_of_day);
            (fields.twelve_hours, fields.half_of_day) = (false, 0);
            read(rest, b"%I:%i:%S %p", fields)?;
            fields.settle_twelve_hours()?;
            (fields.twelve_hours, fields.half_of_day) = outer;
        }
        b'T' => read(rest, b"%H:%i:%S", fields)?,
        b'.' => skip_while(rest, u8::is_ascii_punctuation),
        b'@' => skip_while(rest, u8::is_ascii_alphabetic),
        b'#' => skip_while(rest, u8::is_ascii_digit),
        _ => return Err(ParseProblem::Malformed),
    }
    Ok(())
}

impl Fields {
    fn settle_twelve_hours(&mut self) -> Result<(), ParseProblem> {
        if self.twelve_hours {
            if self.hour > 12 || self.hour < 1 {
                return Err(ParseProblem::Malformed);
            }
            self.hour = self.hour % 12 + self.half_of_day;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<StrToDate, ParseProblem> {
        self.settle_twelve_hours()?;
        if let Some(day) = self.day_of_year.filter(|day| *day > 0) {
            let january = Date::from_parts(self.year as u16, 1, 1).ok_or(ParseProblem::Malformed)?;
            self.set_date(january.day_number() + day as i64 - 1)?;
        }
        if let (Some((week, sunday, own_year)), Some(weekday)) = (self.week, self.weekday) {
            let year = match (own_year, self.week_year) {
                (true, Some((year, year_sunday))) if year_sunday == sunday => year,
                (false, None) => self.year,
                _ => return Err(ParseProblem::Malformed),
            };
            let mode = WeekMode { monday_first: !sunday, week_of_year: false, first_weekday: sunday };
            let in_week = if sunday { weekday % 7 } else { weekday - 1 };
            let first = first_day_of_week_one(year, mode)?;
            self.set_date(first + (week as i64 - 1) * 7 + in_week as i64)?;
        }
        if self.month > 12 || self.day > 31 || self.hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(ParseProblem::Malformed);
        }
        let date = Date::from_parts(self.year as u16, self.month as u8, self.day as u8);
        let time =
            Time::from_parts(false, self.hour as u32, self.minute as u32, self.second as u32, self.micros as u32);
        match (date, time) {
            (Some(date), Some(time)) => Ok(StrToDate { date, time, truncated: false }),
            _ => Err(ParseProblem::Malformed),
        }
    }

    fn set_date(&mut self, day: i64) -> Result<(), ParseProblem> {
        let date = Date::from_day_number(day).ok_or(ParseProblem::Malformed)?;
        (self.year, self.month, self.day) = (date.year().into(), date.month().into(), date.day().into());
        Ok(())
    }
}

/// Day number of the first day of week 1, found from the fourth of January, which lies in week 0 or 1.
fn first_day_of_week_one(year: u64, mode: WeekMode) -> Result<i64, ParseProblem> {
    let fourth =
        u16::try_from(year).ok().and_then(|year| Date::from_parts(year, 1, 4)).ok_or(ParseProblem::Malformed)?;
    let weekday = (i64::from(fourth.weekday()) + i64::from(!mode.monday_first)) % 7;
    let start = fourth.day_number() - weekday;
    Ok(if fourth.week(mode) == 0 { start + 7 } else { start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, format: &str) -> String {
        match str_to_date(text, format, DateRules::LENIENT) {
            Ok(result) => {
                let cut = if result.truncated { " cut" } else { "" };
                format!("{} {}{cut}", result.date.to_text(), result.time.to_text(6))
            }
            Err(_) => "NULL".to_string(),
        }
    }

    #[test]
    fn agrees_with_mysql() {
        for (text, format, expected) in [
            ("01,5,2013", "%d,%m,%Y", "2013-05-01 00:00:00.000000"),
            ("May 1, 2013", "%M %d,%Y", "2013-05-01 00:00:00.000000"),
            ("a09:30:17", "a%h:%i:%s", "0000-00-00 09:30:17.000000"),
            ("a09:30:17", "%h:%i:%s", "NULL"),
            ("09:30:17a", "%h:%i:%s", "0000-00-00 09:30:17.000000 cut"),
            ("abc", "abc", "0000-00-00 00:00:00.000000"),
            ("9", "%m", "0000-09-00 00:00:00.000000"),
            ("200442 Monday", "%X%V %W", "2004-10-18 00:00:00.000000"),
            ("2020 53 5", "%x %v %w", "2021-01-01 00:00:00.000000"),
            ("15-01-2001 12:59:58.5", "%d-%m-%Y %H:%i:%s.%f", "2001-01-15 12:59:58.500000"),
            ("10:11:12 pm", "%r", "0000-00-00 22:11:12.000000"),
            ("12:11:12 AM", "%r", "0000-00-00 00:11:12.000000"),
            ("2020 060", "%Y %j", "2020-02-29 00:00:00.000000"),
            ("Janu 5 2020", "%M %d %Y", "2020-01-05 00:00:00.000000"),
            ("Ju 5 2020", "%M %d %Y", "NULL"),
            ("January", "%b", "NULL"),
            ("JanJanuary", "%b%M", "NULL"),
            ("05:48:01 PM17", "%r%H", "0000-00-00 17:48:01.000000"),
            ("31st Dec 99", "%D %b %y", "1999-12-31 00:00:00.000000"),
            ("13:00:00 PM", "%r", "NULL"),
            ("2020-02-30", "%Y-%m-%d", "NULL"),
            ("2020x", "%Y%q", "NULL"),
        ] {
            assert_eq!(read_text(text, format), expected, "{text} {format}");
        }
        assert_eq!(FormatKind::of("%Y %f"), FormatKind::DateTime { fraction: true });
        assert_eq!(FormatKind::of("%T"), FormatKind::Time { fraction: false });
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,20}", digits in "[0-9]{0,12}", format in "(%[a-zA-Z.@#%]| |é){0,8}") {
            let _ = str_to_date(&text, &format, DateRules::LENIENT);
            let _ = str_to_date(&digits, &format, DateRules::LENIENT);
        }
    }
}
