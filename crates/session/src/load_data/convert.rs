//! Converts fields that have the text form of their columns directly to stored values.
//!
//! The binder converts all other fields: those that change when they are stored, or cause a warning.

use squall_catalog::ColumnDef;
use squall_planner::dml::InsertPlan;
use squall_planner::dml::rules::DefaultRule;
use squall_row_store::ValueRef;
use squall_types::collation::Charset;
use squall_types::{CollationId, Date, DateTime, Decimal, SqlType, StringKind, Value};

/// Where a column's value comes from.
enum Source {
    /// A field by its position.
    Field(usize, Kind, bool),
    /// A default.
    Value(Value),
    /// The next AUTO_INCREMENT value.
    Id(Kind),
}

/// The form that a field must have.
enum Kind {
    Signed {
        low: i64,
        high: i64,
        zero: bool,
    },
    Unsigned {
        high: u64,
        zero: bool,
    },
    Decimal {
        digits: usize,
        scale: u8,
        unsigned: bool,
    },
    Double {
        unsigned: bool,
    },
    Text {
        bytes: usize,
        ascii: bool,
        trimmed: bool,
    },
    Bytes {
        bytes: usize,
    },
    Date,
    DateTime,
    /// Nothing is sure.
    Other,
}

/// How the rows of a load are made of their fields.
pub struct DirectRow {
    sources: Vec<Source>,
    fields: usize,
}

impl DirectRow {
    /// `None` if every row needs the binder's conversions. `columns` are the ordinals of the fields' columns.
    pub fn new(plan: &InsertPlan, columns: &[usize], charset: Charset, ids_are_free: bool) -> Option<DirectRow> {
        let (def, rules) = (plan.target.def(), &plan.target.rules);
        let utf8 = matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3);
        if !utf8 {
            return None;
        }
        let sources = def
            .columns
            .iter()
            .enumerate()
            .map(|(ordinal, column)| {
                let mut fields = columns.iter().enumerate().filter(|(_, given)| **given == ordinal);
                match (fields.next(), fields.next()) {
                    (Some((field, _)), None) => Some(Source::Field(field, Kind::of(column), column.nullable)),
                    (Some(_), Some(_)) => None,
                    _ if column.auto_increment => ids_are_free.then(|| Source::Id(Kind::of(column))),
                    _ => match &rules.defaults[ordinal] {
                        DefaultRule::Value(value) => Some(Source::Value(value.clone())),
                        DefaultRule::None if column.nullable => Some(Source::Value(Value::Null)),
                        _ => None,
                    },
                }
            })
            .collect::<Option<Vec<_>>>()?;
        Some(DirectRow { sources, fields: columns.len() })
    }

    /// Whether every row takes an AUTO_INCREMENT value.
    pub fn takes_ids(&self) -> bool {
        self.sources.iter().any(|source| matches!(source, Source::Id(_)))
    }

    /// Replaces `row` by the values of all columns; `false` if that needs the binder's conversions. `id` is the AUTO_INCREMENT
    /// value of a row that gives none, and `fields` has room for as many fields as a row has to have.
    pub fn fill<'a>(
        &'a self,
        given: impl Iterator<Item = Option<&'a [u8]>>,
        id: u64,
        fields: &mut Vec<Option<&'a [u8]>>,
        row: &mut Vec<ValueRef<'a>>,
    ) -> bool {
        fields.clear();
        fields.extend(given);
        row.clear();
        if fields.len() != self.fields {
            return false;
        }
        for source in &self.sources {
            let value = match source {
                Source::Field(field, kind, nullable) => match fields[*field] {
                    None if *nullable => Some(ValueRef::Null),
                    None => None,
                    Some(text) => kind.value(text),
                },
                Source::Value(value) => Some(ValueRef::from(value)),
                Source::Id(kind) => kind.id(id),
            };
            match value {
                Some(value) => row.push(value),
                None => return false,
            }
        }
        true
    }
}

impl Kind {
    fn of(column: &ColumnDef) -> Kind {
        // Zero asks for the next AUTO_INCREMENT value.
        let zero = !column.auto_increment;
        match &column.sql_type {
            SqlType::Int { width, unsigned, .. } => {
                let bits = width.bits();
                if *unsigned {
                    Kind::Unsigned { high: u64::MAX >> (64 - bits), zero }
                } else {
                    Kind::Signed { low: i64::MIN >> (64 - bits), high: i64::MAX >> (64 - bits), zero }
                }
            }
            SqlType::Decimal { precision, scale, unsigned, .. } if *precision <= 18 => {
                Kind::Decimal { digits: usize::from(precision - scale), scale: *scale, unsigned: *unsigned }
            }
            SqlType::Double { unsigned, digits: None, .. } if zero => Kind::Double { unsigned: *unsigned },
            SqlType::String { kind: StringKind::Geometry(_) | StringKind::Vector, .. } => Kind::Other,
            SqlType::String { kind, length, collation } => Kind::of_string(*kind, *length as usize, *collation),
            SqlType::Date => Kind::Date,
            SqlType::DateTime { .. } => Kind::DateTime,
            _ => Kind::Other,
        }
    }

    fn of_string(kind: StringKind, length: usize, collation: CollationId) -> Kind {
        let fixed = kind == StringKind::Char;
        if collation == CollationId::BINARY {
            return if fixed { Kind::Other } else { Kind::Bytes { bytes: length } };
        }
        match collation.charset() {
            Charset::Utf8mb4 => Kind::Text { bytes: length, ascii: false, trimmed: fixed },
            Charset::Utf8mb3 | Charset::Latin1 | Charset::Ascii => {
                Kind::Text { bytes: length, ascii: true, trimmed: fixed }
            }
            _ => Kind::Other,
        }
    }

    fn id(&self, id: u64) -> Option<ValueRef<'static>> {
        match self {
            Kind::Signed { high, .. } => i64::try_from(id).ok().filter(|id| id <= high).map(ValueRef::Int),
            Kind::Unsigned { high, .. } => Some(id).filter(|id| id <= high).map(ValueRef::UInt),
            _ => None,
        }
    }

    fn value<'a>(&self, text: &'a [u8]) -> Option<ValueRef<'a>> {
        match self {
            Kind::Signed { low, high, zero } => plain_integer(text)
                .filter(|number| (low..=high).contains(&number) && (*zero || *number != 0))
                .map(ValueRef::Int),
            Kind::Unsigned { high, zero } => plain_integer(text)
                .and_then(|number| u64::try_from(number).ok())
                .filter(|number| number <= high && (*zero || *number != 0))
                .map(ValueRef::UInt),
            Kind::Decimal { digits, scale, unsigned } => decimal(text, *digits, *scale, *unsigned),
            Kind::Double { unsigned } => {
                double(text).filter(|number| !unsigned || *number >= 0.0).map(ValueRef::Double)
            }
            Kind::Text { bytes, ascii, trimmed } => {
                let text = std::str::from_utf8(text).ok()?;
                let fits = text.len() <= *bytes && (!ascii || text.is_ascii()) && !(*trimmed && text.ends_with(' '));
                fits.then_some(ValueRef::String(text))
            }
            Kind::Bytes { bytes } => (text.len() <= *bytes).then_some(ValueRef::Bytes(text)),
            Kind::Date => date(text).map(ValueRef::Date),
            Kind::DateTime => date_time(text).map(ValueRef::DateTime),
            Kind::Other => None,
        }
    }
}

/// A number written as digits only, with a sign at most, that is sure to fit.
pub fn plain_integer(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let (mut number, mut all_digits) = (0, true);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        all_digits &= digit < 10;
        number = number * 10 + i64::from(digit);
    }
    all_digits.then_some(if negative { -number } else { number })
}

/// Digits, and at most `scale` more behind a point.
fn decimal(text: &[u8], digits: usize, scale: u8, unsigned: bool) -> Option<ValueRef<'static>> {
    let (negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        text => (false, text),
    };
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || whole.len() > digits || fraction.len() > usize::from(scale) || (negative && unsigned) {
        return None;
    }
    let mut number = 0i64;
    for byte in whole.iter().chain(fraction) {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    for _ in fraction.len()..usize::from(scale) {
        number *= 10;
    }
    let number = if negative { -number } else { number };
    Some(ValueRef::Decimal(Decimal::from_i128(i128::from(number), scale)))
}

fn double(text: &[u8]) -> Option<f64> {
    let plain = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    if !text.first()?.is_ascii_digit() && text.first() != Some(&b'-') || !text.iter().all(plain) {
        return None;
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
}

/// `YYYY-MM-DD`, a day of the calendar.
fn date(text: &[u8]) -> Option<Date> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return None };
    let (year, month, day) = (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?);
    // Every month has 28 days; the calendar checks later days.
    let sure = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28,
        _ => return None,
    };
    if year == 0 || day == 0 || day > sure {
        return None;
    }
    Date::from_parts(year as u16, month as u8, day as u8)
}

/// `YYYY-MM-DD hh:mm:ss`.
fn date_time(text: &[u8]) -> Option<DateTime> {
    let (day, [b' ', h1, h2, b':', m1, m2, b':', s1, s2]) = text.split_at_checked(10)? else { return None };
    let (hour, minute, second) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?, number(&[*s1, *s2])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    DateTime::from_parts(date(day)?, hour as u8, minute as u8, second as u8, 0)
}
