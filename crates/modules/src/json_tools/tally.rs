//! JSUM, JMIN, JMAX, JAVG and JCOUNT: aggregates of lists of lines, and of a key's values.

use super::{DATABASE, document_argument, malformed, no_number};
use squall_functions::library::support::{Args, Binding, Def, result};
use squall_registry::ExprType;
use squall_statement_context::StatementContext;
use squall_types::json::JsonError;
use squall_types::json::lines::scalars;
use squall_types::json::stored::scalars_of;
use squall_types::{Decimal, ErrorCode, SqlError, SqlResult, SqlType, Value};

/// Digits after the point of every result.
pub(super) const SCALE: u8 = 5;
/// Units of the last digit in one.
const UNITS: i128 = 100_000;
/// Digits that are summed without a thought of overflow.
const FAST_DIGITS_MAX: usize = 18;

/// The family: each of a list, and of a document's key, which the first becomes when its list is just extracted.
pub const FUNCTIONS: &[Def] = &[
    Def::new("JSUM", (1, 1), decimal, |args| of_list(args)?.sum("jsum"))
        .in_database(DATABASE)
        .fused_with(&[("RAPID_EXTRACT_ALL", "JSON_KEY_SUM")]),
    Def::new("JMIN", (1, 1), decimal, |args| of_list(args)?.min("jmin"))
        .in_database(DATABASE)
        .fused_with(&[("RAPID_EXTRACT_ALL", "JSON_KEY_MIN")]),
    Def::new("JMAX", (1, 1), decimal, |args| of_list(args)?.max("jmax"))
        .in_database(DATABASE)
        .fused_with(&[("RAPID_EXTRACT_ALL", "JSON_KEY_MAX")]),
    Def::new("JAVG", (1, 1), decimal, |args| of_list(args)?.avg("javg"))
        .in_database(DATABASE)
        .fused_with(&[("RAPID_EXTRACT_ALL", "JSON_KEY_AVG")]),
    Def::new("JCOUNT", (1, 1), result::nullable_bigint, |args| Ok(of_list(args)?.count()))
        .in_database(DATABASE)
        .fused_with(&[("RAPID_EXTRACT_ALL", "JSON_KEY_COUNT")]),
    Def::new("JSON_KEY_SUM", (2, 2), decimal, |args| of_key(args, |tally| tally.sum("json_key_sum")))
        .reading_documents(|args, document| of_stored(args, document, |tally| tally.sum("json_key_sum"))),
    Def::new("JSON_KEY_MIN", (2, 2), decimal, |args| of_key(args, |tally| tally.min("json_key_min")))
        .reading_documents(|args, document| of_stored(args, document, |tally| tally.min("json_key_min"))),
    Def::new("JSON_KEY_MAX", (2, 2), decimal, |args| of_key(args, |tally| tally.max("json_key_max")))
        .reading_documents(|args, document| of_stored(args, document, |tally| tally.max("json_key_max"))),
    Def::new("JSON_KEY_AVG", (2, 2), decimal, |args| of_key(args, |tally| tally.avg("json_key_avg")))
        .reading_documents(|args, document| of_stored(args, document, |tally| tally.avg("json_key_avg"))),
    Def::new("JSON_KEY_COUNT", (2, 2), result::nullable_bigint, |args| of_key(args, |tally| Ok(tally.count())))
        .reading_documents(|args, document| of_stored(args, document, |tally| Ok(tally.count()))),
];

/// DECIMAL(65,5).
pub(super) fn decimal_type() -> ExprType {
    ExprType::numeric(SqlType::decimal(65, SCALE), true)
}

fn decimal(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(decimal_type())
}

fn of_list(args: &Args<'_>) -> SqlResult<Tally> {
    let mut tally = Tally::default();
    for line in args.text(0).split('\n') {
        tally.add_line(line, args.context);
    }
    Ok(tally)
}

fn of_key(args: &Args<'_>, result: impl Fn(&Tally) -> SqlResult<Value>) -> SqlResult<Value> {
    if let Value::Json(document) = args.value(0) {
        return of_stored(args, document.stored(), result);
    }
    document_argument(args).map_or(Ok(Value::Null), |document| of_document(args, &document, false, result))
}

fn of_stored(args: &Args<'_>, document: &str, result: impl Fn(&Tally) -> SqlResult<Value>) -> SqlResult<Value> {
    of_document(args, document, true, result)
}

fn of_document(
    args: &Args<'_>,
    document: &str,
    stored: bool,
    result: impl Fn(&Tally) -> SqlResult<Value>,
) -> SqlResult<Value> {
    let mut tally = Tally::default();
    match tally.add_key(document, stored, &args.text(1), args.context) {
        Ok(()) => result(&tally),
        Err(error) => {
            malformed(error, "rapid_extract_all", args.context);
            Ok(Value::Null)
        }
    }
}

/// What is known of the values so far. Numbers of few digits are kept apart from others, in units of the last digit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Values, `NULL` and what is no number included.
    count: u64,
    /// Numbers.
    numbers: u64,
    sum: i128,
    min: Option<i128>,
    max: Option<i128>,
    wide_sum: Option<Decimal>,
    wide_min: Option<Decimal>,
    wide_max: Option<Decimal>,
    overflow: bool,
}

impl Tally {
    /// Takes a key's values in a document in, which may be one as it is stored. After an error the tally is of no use.
    pub fn add_key(
        &mut self,
        document: &str,
        stored: bool,
        key: &str,
        context: &StatementContext,
    ) -> Result<(), JsonError> {
        if stored {
            return scalars_of(document, key, |scalar| self.add_line(&scalar.text(), context));
        }
        scalars(document, |name, scalar| {
            if name == Some(key) {
                self.add_line(&scalar.text(), context);
            }
        })
    }

    /// Takes one value in: blanks are none, `NULL` is no number, and neither is any other text, with a warning.
    fn add_line(&mut self, line: &str, context: &StatementContext) {
        let text = line.trim();
        if text.is_empty() {
            return;
        }
        self.count += 1;
        if let Some(units) = fast_units(text.as_bytes()) {
            self.add_units(units);
            return;
        }
        if text == "NULL" {
            return;
        }
        let parsed = Decimal::parse(text);
        if parsed.no_number || parsed.truncated {
            // A line that was cut out of a text of several is shown as it is in the list.
            context.diagnostics.warn(no_number(text));
            return;
        }
        let fitted = parsed.value.fit(65, SCALE);
        self.overflow |= fitted.clamped;
        self.add_wide(fitted.value);
    }

    fn add_units(&mut self, units: i128) {
        self.numbers += 1;
        // 2^64 numbers of eighteen digits and five more stay below 2^127.
        self.sum += units;
        self.min = Some(self.min.map_or(units, |min| min.min(units)));
        self.max = Some(self.max.map_or(units, |max| max.max(units)));
    }

    fn add_wide(&mut self, value: Decimal) {
        self.numbers += 1;
        self.add_wide_sum(value);
        self.wide_min = Some(self.wide_min.map_or(value, |min| min.min(value)));
        self.wide_max = Some(self.wide_max.map_or(value, |max| max.max(value)));
    }

    fn add_wide_sum(&mut self, value: Decimal) {
        match self.wide_sum.map_or(Some(value), |sum| sum.checked_add(value)) {
            Some(sum) => self.wide_sum = Some(sum),
            None => self.overflow = true,
        }
    }

    /// Takes in what another tally knows.
    pub fn merge(&mut self, other: &Tally) {
        let least = |left: Option<i128>, right: Option<i128>| left.into_iter().chain(right).min();
        let wide_least = |left: Option<Decimal>, right: Option<Decimal>| left.into_iter().chain(right).min();
        self.count += other.count;
        self.numbers += other.numbers;
        self.sum += other.sum;
        self.min = least(self.min, other.min);
        self.max = self.max.into_iter().chain(other.max).max();
        self.wide_min = wide_least(self.wide_min, other.wide_min);
        self.wide_max = self.wide_max.into_iter().chain(other.wide_max).max();
        self.overflow |= other.overflow;
        if let Some(sum) = other.wide_sum {
            self.add_wide_sum(sum);
        }
    }

    /// 1690 if a number was beyond what results can be.
    fn check_range(&self, function: &str) -> SqlResult<()> {
        if self.overflow { Err(out_of_range(function)) } else { Ok(()) }
    }

    fn total(&self, function: &str) -> SqlResult<Decimal> {
        self.check_range(function)?;
        let out_of_range = || out_of_range(function);
        let sum = Decimal::from_i128(self.sum, SCALE);
        let Some(wide) = self.wide_sum else { return Ok(sum) };
        let total = sum.checked_add(wide).ok_or_else(out_of_range)?.fit(65, SCALE);
        if total.clamped { Err(out_of_range()) } else { Ok(total.value) }
    }

    /// The sum; 0 of nothing.
    pub fn sum(&self, function: &str) -> SqlResult<Value> {
        Ok(Value::Decimal(self.total(function)?))
    }

    /// The sum by the number of numbers, NULL of nothing.
    pub fn avg(&self, function: &str) -> SqlResult<Value> {
        if self.numbers == 0 {
            return Ok(Value::Null);
        }
        let total = self.total(function)?;
        if let Some(units) = total.to_i128_at(SCALE) {
            let numbers = i128::from(self.numbers);
            let (quotient, rest) = (units / numbers, units % numbers);
            // Half a unit rounds away from zero.
            let up = i128::from(rest.unsigned_abs() * 2 >= numbers.unsigned_abs());
            return Ok(Value::Decimal(Decimal::from_i128(quotient + up * rest.signum(), SCALE)));
        }
        let average = total.checked_div(Decimal::from(self.numbers), SCALE).and_then(|value| value.round(SCALE.into()));
        let average = average.ok_or_else(|| out_of_range(function))?;
        Ok(Value::Decimal(average.fit(65, SCALE).value))
    }

    /// The least number, NULL of nothing.
    pub fn min(&self, function: &str) -> SqlResult<Value> {
        self.check_range(function)?;
        let narrow = self.min.map(|units| Decimal::from_i128(units, SCALE));
        Ok(narrow.into_iter().chain(self.wide_min).min().map_or(Value::Null, Value::Decimal))
    }

    /// The greatest number, NULL of nothing.
    pub fn max(&self, function: &str) -> SqlResult<Value> {
        self.check_range(function)?;
        let narrow = self.max.map(|units| Decimal::from_i128(units, SCALE));
        Ok(narrow.into_iter().chain(self.wide_max).max().map_or(Value::Null, Value::Decimal))
    }

    /// How many values.
    pub fn count(&self) -> Value {
        Value::Int(i64::try_from(self.count).unwrap_or(i64::MAX))
    }

    /// What [`Tally::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let narrow = |units: Option<i128>| units.map_or("-".to_string(), |units| units.to_string());
        let wide = |value: Option<Decimal>| value.map_or("-".to_string(), |value| value.to_string());
        format!(
            "{} {} {} {} {} {} {} {} {}",
            self.count,
            self.numbers,
            self.sum,
            narrow(self.min),
            narrow(self.max),
            wide(self.wide_sum),
            wide(self.wide_min),
            wide(self.wide_max),
            u8::from(self.overflow)
        )
        .into_bytes()
    }

    /// A tally from its bytes.
    pub fn decode(bytes: &[u8]) -> Option<Tally> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut parts = text.split(' ');
        let mut next = || parts.next();
        let narrow = |text: &str| text.parse::<i128>().ok();
        let wide = |text: &str| (text != "-").then(|| Decimal::parse(text).value);
        Some(Tally {
            count: next()?.parse().ok()?,
            numbers: next()?.parse().ok()?,
            sum: next()?.parse().ok()?,
            min: narrow(next()?),
            max: narrow(next()?),
            wide_sum: wide(next()?),
            wide_min: wide(next()?),
            wide_max: wide(next()?),
            overflow: next()? == "1",
        })
    }
}

fn out_of_range(function: &str) -> SqlError {
    SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&"DECIMAL", &function])
}

/// A number of few digits in units of the last digit that results have; further digits are rounded.
fn fast_units(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > FAST_DIGITS_MAX || digits == b"." {
        return None;
    }
    let mut whole: i128 = 0;
    let mut fraction: Option<usize> = None;
    let mut round_up = false;
    for byte in digits {
        match (byte, &mut fraction) {
            (b'0'..=b'9', None) => whole = whole * 10 + i128::from(byte - b'0'),
            (b'0'..=b'9', Some(places)) => {
                *places += 1;
                match *places {
                    ..=5 => whole = whole * 10 + i128::from(byte - b'0'),
                    6 => round_up = *byte >= b'5',
                    _ => {}
                }
            }
            (b'.', None) => fraction = Some(0),
            _ => return None,
        }
    }
    let missing = usize::from(SCALE).saturating_sub(fraction.unwrap_or(0));
    let factor = match missing {
        0 => 1,
        _ => UNITS / 10i128.pow(u32::from(SCALE) - missing as u32),
    };
    let units = whole * factor + i128::from(round_up);
    Some(if negative { -units } else { units })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_read_in_units() {
        for (text, units) in [
            ("0", Some(0)),
            ("-1", Some(-100_000)),
            ("0.55", Some(55_000)),
            ("1.000005", Some(100_001)),
            ("-1.000005", Some(-100_001)),
            ("1.0000049", Some(100_000)),
            ("7.", Some(700_000)),
            (".5", Some(50_000)),
            ("0001", Some(100_000)),
            (".", None),
            ("", None),
            ("1e3", None),
            ("1 2", None),
            ("1234567890123456789", None),
        ] {
            assert_eq!(fast_units(text.as_bytes()), units, "{text}");
        }
    }

    #[test]
    fn tallies_survive_their_bytes_and_merge() {
        let context = StatementContext::default();
        let tally = |lines: &[&str]| {
            let mut tally = Tally::default();
            lines.iter().for_each(|line| tally.add_line(line, &context));
            tally
        };
        let (left, right) = (tally(&["1", "NULL", "12345678901234567890123"]), tally(&["-2.5", "x", ""]));
        for one in [&left, &right, &Tally::default()] {
            assert_eq!(Tally::decode(&one.encode()).as_ref(), Some(one));
        }
        let mut merged = left.clone();
        merged.merge(&right);
        assert_eq!(merged.count(), Value::Int(5));
        assert_eq!(merged.sum("f").unwrap(), Value::Decimal(Decimal::parse("12345678901234567890121.50000").value));
        assert_eq!(merged.min("jmin").unwrap(), Value::Decimal(Decimal::parse("-2.50000").value));
    }
}
