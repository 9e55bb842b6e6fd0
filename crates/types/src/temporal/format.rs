//! Dates and times as text: the plain forms and `DATE_FORMAT()`.

use super::calendar::WeekMode;
use super::names::CalendarNames;
use super::{Date, DateTime, Time};

/// Appends two digits.
fn push_two(out: &mut Vec<u8>, number: u8) {
    out.extend_from_slice(&[b'0' + number / 10 % 10, b'0' + number % 10]);
}

/// Appends a year of four digits.
fn push_year(out: &mut Vec<u8>, year: u16) {
    push_two(out, (year / 100) as u8);
    push_two(out, (year % 100) as u8);
}

/// Appends a point and the first `fsp` digits of the microseconds.
fn push_fraction(out: &mut Vec<u8>, microsecond: u32, fsp: u8) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let mut weight = 100_000;
    for _ in 0..fsp.min(6) {
        out.push(b'0' + (microsecond / weight % 10) as u8);
        weight /= 10;
    }
}

/// Appends an unsigned number padded with zeros to at least `width` digits.
fn push_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut rest = number;
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at = at.min(digits.len() - width.min(digits.len()));
    out.extend_from_slice(&digits[at..]);
}

fn ascii(bytes: Vec<u8>) -> String {
    // Only ASCII was written.
    String::from_utf8(bytes).unwrap_or_default()
}

impl Date {
    /// Appends `2020-01-31`.
    pub fn write_text(self, out: &mut Vec<u8>) {
        push_year(out, self.year());
        out.push(b'-');
        push_two(out, self.month());
        out.push(b'-');
        push_two(out, self.day());
    }

    /// `2020-01-31`.
    pub fn to_text(self) -> String {
        let mut out = Vec::with_capacity(10);
        self.write_text(&mut out);
        ascii(out)
    }
}

impl DateTime {
    /// Appends `2020-01-31 12:34:56.789` with `fsp` digits (surplus ones are cut).
    pub fn write_text(self, fsp: u8, out: &mut Vec<u8>) {
        self.date().write_text(out);
        out.push(b' ');
        push_two(out, self.hour());
        out.push(b':');
        push_two(out, self.minute());
        out.push(b':');
        push_two(out, self.second());
        push_fraction(out, self.microsecond(), fsp);
    }

    /// `2020-01-31 12:34:56.789` with `fsp` digits.
    pub fn to_text(self, fsp: u8) -> String {
        let mut out = Vec::with_capacity(26);
        self.write_text(fsp, &mut out);
        ascii(out)
    }
}

impl Time {
    /// Appends `-12:34:56.789` with `fsp` digits (surplus ones are cut).
    pub fn write_text(self, fsp: u8, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        push_padded(out, u64::from(self.hours()), 2);
        out.push(b':');
        push_two(out, self.minute());
        out.push(b':');
        push_two(out, self.second());
        push_fraction(out, self.microsecond(), fsp);
    }

    /// `-12:34:56.789` with `fsp` digits.
    pub fn to_text(self, fsp: u8) -> String {
        let mut out = Vec::with_capacity(17);
        self.write_text(fsp, &mut out);
        ascii(out)
    }
}

/// What `DATE_FORMAT()` and `TIME_FORMAT()` print: a moment, or a time whose hours may pass 23.
#[derive(Clone, Copy, Debug)]
struct Moment {
    date: Option<Date>,
    negative: bool,
    hours: u32,
    minute: u8,
    second: u8,
    microsecond: u32,
    names: CalendarNames,
}

/// `DATE_FORMAT(value, format)` with these names; `None` (NULL) when the format asks for what the value lacks, such
/// as the month name of month 0.
pub fn date_format(value: DateTime, format: &str, names: CalendarNames) -> Option<String> {
    Moment {
        date: Some(value.date()),
        negative: false,
        hours: u32::from(value.hour()),
        minute: value.minute(),
        second: value.second(),
        microsecond: value.microsecond(),
        names,
    }
    .format(format)
}

/// `TIME_FORMAT(value, format)`: date parts print as zeros or give `None`.
pub fn time_format(value: Time, format: &str) -> Option<String> {
    Moment {
        date: None,
        negative: value.is_negative(),
        hours: value.hours(),
        minute: value.minute(),
        second: value.second(),
        microsecond: value.microsecond(),
        names: CalendarNames::ENGLISH,
    }
    .format(format)
}

impl Moment {
    fn format(self, format: &str) -> Option<String> {
        let mut out = String::with_capacity(format.len() * 2);
        let mut chars = format.chars();
        if self.negative {
            out.push('-');
        }
        while let Some(character) = chars.next() {
            if character != '%' {
                out.push(character);
                continue;
            }
            match chars.next() {
                Some(specifier) => self.push_specifier(specifier, &mut out)?,
                None => out.push('%'),
            }
        }
        Some(out)
    }

    fn push_specifier(self, specifier: char, out: &mut String) -> Option<()> {
        let date = self.date.unwrap_or(Date::ZERO);
        let mut bytes = Vec::new();
        let mut padded = |number: u64, width: usize| push_padded(&mut bytes, number, width);
        let hour12 = u64::from((self.hours % 24 + 11) % 12 + 1);
        match specifier {
            'a' => out.push_str(self.names.day_short(self.weekday()?)?),
            'W' => out.push_str(self.names.day(self.weekday()?)?),
            'b' => out.push_str(self.names.month_short(date.month())?),
            'M' => out.push_str(self.names.month(date.month())?),
            'c' => padded(u64::from(date.month()), 1),
            'm' => padded(u64::from(date.month()), 2),
            'd' => padded(u64::from(date.day()), 2),
            'e' => padded(u64::from(date.day()), 1),
            'D' => {
                self.date?;
                padded(u64::from(date.day()), 1);
                bytes.extend_from_slice(ordinal_suffix(date.day()).as_bytes());
            }
            'f' => padded(u64::from(self.microsecond), 6),
            'H' => padded(u64::from(self.hours), 2),
            'k' => padded(u64::from(self.hours), 1),
            'h' | 'I' => padded(hour12, 2),
            'l' => padded(hour12, 1),
            'i' => padded(u64::from(self.minute), 2),
            's' | 'S' => padded(u64::from(self.second), 2),
            'p' => out.push_str(self.half_of_day()),
            'r' => {
                for (number, separator) in [(hour12, ":"), (self.minute.into(), ":"), (self.second.into(), " ")] {
                    push_padded(&mut bytes, number, 2);
                    bytes.extend_from_slice(separator.as_bytes());
                }
                bytes.extend_from_slice(self.half_of_day().as_bytes());
            }
            'T' => {
                for (number, separator) in [(self.hours, ":"), (self.minute.into(), ":"), (self.second.into(), "")] {
                    push_padded(&mut bytes, u64::from(number), 2);
                    bytes.extend_from_slice(separator.as_bytes());
                }
            }
            'j' => {
                self.date?;
                padded(u64::from(date.day_of_year()), 3);
            }
            'w' => {
                if date.is_zero() {
                    return None;
                }
                padded((u64::from(date.weekday()) + 1) % 7, 1);
            }
            'U' | 'u' | 'V' | 'v' | 'X' | 'x' => {
                self.date?;
                let mode = match specifier {
                    'U' => 0,
                    'u' => 1,
                    'V' | 'X' => 2,
                    _ => 3,
                };
                let (year, week) = date.year_and_week(WeekMode::from_number(mode));
                if matches!(specifier, 'X' | 'x') { padded(year.into(), 4) } else { padded(week.into(), 2) }
            }
            'Y' => padded(u64::from(date.year()), 4),
            'y' => padded(u64::from(date.year() % 100), 2),
            other => out.push(other),
        }
        out.push_str(&ascii(bytes));
        Some(())
    }

    fn weekday(self) -> Option<u8> {
        self.date.filter(|date| !date.is_zero()).map(Date::weekday)
    }

    fn half_of_day(self) -> &'static str {
        if self.hours % 24 < 12 { "AM" } else { "PM" }
    }
}

/// `st`, `nd`, `rd` or `th`.
fn ordinal_suffix(day: u8) -> &'static str {
    match (day % 10, day) {
        (_, 10..=19) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

/// The format string of `GET_FORMAT(kind, name)`.
pub fn get_format(kind: &str, name: &str) -> Option<&'static str> {
    const FORMATS: [(&str, [&str; 3]); 5] = [
        ("USA", ["%m.%d.%Y", "%Y-%m-%d %H.%i.%s", "%h:%i:%s %p"]),
        ("JIS", ["%Y-%m-%d", "%Y-%m-%d %H:%i:%s", "%H:%i:%s"]),
        ("ISO", ["%Y-%m-%d", "%Y-%m-%d %H:%i:%s", "%H:%i:%s"]),
        ("EUR", ["%d.%m.%Y", "%Y-%m-%d %H.%i.%s", "%H.%i.%s"]),
        ("INTERNAL", ["%Y%m%d", "%Y%m%d%H%i%s", "%H%i%s"]),
    ];
    let column = match kind.to_ascii_uppercase().as_str() {
        "DATE" => 0,
        "DATETIME" | "TIMESTAMP" => 1,
        "TIME" => 2,
        _ => return None,
    };
    FORMATS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, formats)| formats[column])
}

#[cfg(test)]
mod tests {
    use super::super::parse::{DateRules, parse_datetime, parse_time};
    use super::*;

    fn formatted(value: &str, format: &str) -> Option<String> {
        date_format(parse_datetime(value, DateRules::LENIENT).unwrap().value, format, CalendarNames::ENGLISH)
    }

    #[test]
    fn every_specifier_agrees_with_mysql() {
        let all = "%a|%b|%c|%D|%d|%e|%f|%H|%h|%I|%i|%j|%k|%l|%M|%m|%p|%r|%S|%s|%T|%U|%u|%V|%v|%W|%w|%X|%x|%Y|%y|%%|%z";
        assert_eq!(
            formatted("2009-10-04 22:23:00.5", all).unwrap(),
            "Sun|Oct|10|4th|04|4|500000|22|10|10|23|277|22|10|October|10|PM|10:23:00 PM|00|00|22:23:00|40|40|40|40|Sunday|0|2009|2009|2009|09|%|z"
        );
        assert_eq!(formatted("1999-01-01", "%X %V").unwrap(), "1998 52");
        assert_eq!(formatted("2006-06-00", "%d").unwrap(), "00");
        assert_eq!(formatted("2006-00-00", "%M"), None);
        assert_eq!(formatted("2020-01-02", "100%").unwrap(), "100%");
        assert_eq!(formatted("2020-01-13", "%D é").unwrap(), "13th é");
    }

    #[test]
    fn times_format_with_many_hours() {
        let time = |text: &str, format: &str| time_format(parse_time(text).unwrap().value, format);
        assert_eq!(time("100:00:00", "%H %k %h %I %l").unwrap(), "100 100 04 04 4");
        assert_eq!(time("-01:02:03.25", "%T.%f").unwrap(), "-01:02:03.250000");
        assert_eq!(time("01:02:03", "%W"), None);
        assert_eq!(get_format("date", "usa"), Some("%m.%d.%Y"));
    }

    #[test]
    fn plain_forms() {
        let value = parse_datetime("0999-01-02 03:04:05.678901", DateRules::LENIENT).unwrap().value;
        assert_eq!(value.to_text(3), "0999-01-02 03:04:05.678");
        assert_eq!(value.date().to_text(), "0999-01-02");
        assert_eq!(parse_time("-838:59:59").unwrap().value.to_text(2), "-838:59:59.00");
    }
}
