//! Conditions on one table's columns, in the only form that access paths understand.
//!
//! Any other condition is [`Predicate::Unknown`]: it restricts nothing, and the filter above the scan applies it. So an
//! access path may read too many rows, never too few.

use squall_functions::expr::CompareOp as BoundOp;
use squall_types::json::terms::TermRange;
use squall_types::{Decimal, SqlType, Value};

/// A comparison of a column with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`.
    Equal,
    /// `<=>`.
    NullSafeEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl CompareOp {
    /// The operator with its operands exchanged.
    pub fn swapped(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
            equal => equal,
        }
    }
}

/// A condition on columns, by their ordinals in the table.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// All of these.
    And(Vec<Predicate>),
    /// At least one of these.
    Or(Vec<Predicate>),
    /// A column compared with a value of the column's type.
    Compare {
        /// The column.
        column: usize,
        /// How it is compared.
        op: CompareOp,
        /// With what; NULL only for `<=>`.
        value: Value,
    },
    /// A column equal to one of the values, none of which is NULL.
    In {
        /// The column.
        column: usize,
        /// The values, of the column's type.
        values: Vec<Value>,
    },
    /// `IS NULL`.
    IsNull(usize),
    /// `IS NOT NULL`.
    IsNotNull(usize),
    /// `LIKE 'prefix%…'`: a text whose sort key lies in a range.
    SortKeys {
        /// The column.
        column: usize,
        /// First sort key.
        from: Vec<u8>,
        /// First sort key after the range.
        to: Option<Vec<u8>>,
    },
    /// A row with a term in one of the ranges, in an index of terms.
    Terms {
        /// Position of the index in the table's list.
        index: usize,
        /// The ranges.
        ranges: Vec<TermRange>,
        /// Whether they are what a MATCH looks for.
        of_match: bool,
    },
    /// A document with one of the values among its elements, in a column that a multi-valued key is of.
    Elements {
        /// The column.
        column: usize,
        /// The values, of the elements' type.
        values: Vec<Value>,
    },
    /// No row satisfies it.
    Never,
    /// Nothing that can be used.
    Unknown,
}

impl Predicate {
    /// A conjunction, flattened.
    pub fn and(parts: impl IntoIterator<Item = Predicate>) -> Predicate {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Predicate::And(inner) => flat.extend(inner),
                Predicate::Unknown => {}
                Predicate::Never => return Predicate::Never,
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Predicate::Unknown,
            1 => flat.remove(0),
            _ => Predicate::And(flat),
        }
    }

    /// A disjunction, flattened. One unusable part makes the whole unusable.
    pub fn or(parts: impl IntoIterator<Item = Predicate>) -> Predicate {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Predicate::Or(inner) => flat.extend(inner),
                Predicate::Unknown => return Predicate::Unknown,
                Predicate::Never => {}
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Predicate::Never,
            1 => flat.remove(0),
            _ => Predicate::any_term(&flat).unwrap_or(Predicate::Or(flat)),
        }
    }

    /// Terms of one index, or elements of one column, as one condition.
    fn any_term(parts: &[Predicate]) -> Option<Predicate> {
        if let Some(Predicate::Elements { column, .. }) = parts.first() {
            let column = *column;
            let own = |part: &Predicate| match part {
                Predicate::Elements { column: of, values } if *of == column => Some(values.clone()),
                _ => None,
            };
            let values = parts.iter().map(own).collect::<Option<Vec<_>>>()?.concat();
            return Some(Predicate::Elements { column, values });
        }
        let mut all = Vec::new();
        let (mut of, mut matches) = (None, false);
        for part in parts {
            let Predicate::Terms { index, ranges, of_match } = part else { return None };
            matches |= *of_match;
            if *of.get_or_insert(*index) != *index {
                return None;
            }
            all.extend(ranges.iter().cloned());
        }
        of.map(|index| Predicate::Terms { index, ranges: all, of_match: matches })
    }

    /// A row with a term in one of the ranges of an index, but not of what a MATCH looks for.
    pub fn terms(index: usize, ranges: Vec<TermRange>) -> Predicate {
        Predicate::Terms { index, ranges, of_match: false }
    }

    /// The comparison of a column of type `column_type` with a constant of any type, if the order of the column's own
    /// values decides it; otherwise [`Predicate::Unknown`].
    pub fn compare(column: usize, column_type: &SqlType, op: CompareOp, value: &Value) -> Predicate {
        if value.is_null() {
            return match op {
                CompareOp::NullSafeEqual => Predicate::IsNull(column),
                _ => Predicate::Never,
            };
        }
        match fit(column_type, value) {
            Fit::Exact(value) => Predicate::Compare { column, op, value },
            Fit::Between(below) => match op {
                CompareOp::Equal | CompareOp::NullSafeEqual => Predicate::Never,
                CompareOp::Less | CompareOp::LessOrEqual => {
                    Predicate::Compare { column, op: CompareOp::LessOrEqual, value: below }
                }
                CompareOp::Greater | CompareOp::GreaterOrEqual => {
                    Predicate::Compare { column, op: CompareOp::Greater, value: below }
                }
            },
            Fit::AboveAll => match op {
                CompareOp::Less | CompareOp::LessOrEqual => Predicate::IsNotNull(column),
                _ => Predicate::Never,
            },
            Fit::BelowAll => match op {
                CompareOp::Greater | CompareOp::GreaterOrEqual => Predicate::IsNotNull(column),
                _ => Predicate::Never,
            },
            Fit::Unusable => Predicate::Unknown,
        }
    }

    /// `column IN (values)`: NULLs match nothing; one value that cannot be used makes the list unusable.
    pub fn in_list(column: usize, column_type: &SqlType, list: &[Value]) -> Predicate {
        let mut values = Vec::with_capacity(list.len());
        for value in list {
            match Predicate::compare(column, column_type, CompareOp::Equal, value) {
                Predicate::Compare { value, .. } => values.push(value),
                Predicate::Never => {}
                _ => return Predicate::Unknown,
            }
        }
        if values.is_empty() { Predicate::Never } else { Predicate::In { column, values } }
    }
}

/// How a constant stands to the values of a column's type.
enum Fit {
    /// It is one of them.
    Exact(Value),
    /// It lies above this one and below the next.
    Between(Value),
    /// It is greater than all of them.
    AboveAll,
    /// It is less than all of them.
    BelowAll,
    /// Their order does not decide the comparison.
    Unusable,
}

fn fit(column_type: &SqlType, value: &Value) -> Fit {
    match column_type {
        SqlType::Int { unsigned, .. } => fit_integer(*unsigned, value),
        SqlType::Bit { .. } | SqlType::Year => match value {
            Value::UInt(_) => Fit::Exact(value.clone()),
            Value::Int(number) => match u64::try_from(*number) {
                // Two-digit years compare as four-digit ones.
                Ok(number) if !matches!(column_type, SqlType::Year) || number >= 100 => Fit::Exact(Value::UInt(number)),
                _ => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        SqlType::Decimal { precision, scale, .. } => fit_decimal(*precision, *scale, value),
        SqlType::Double { .. } => match value {
            Value::Double(_) => Fit::Exact(value.clone()),
            Value::Int(number) if number.unsigned_abs() <= 1 << 53 => Fit::Exact(Value::Double(*number as f64)),
            Value::UInt(number) if *number <= 1 << 53 => Fit::Exact(Value::Double(*number as f64)),
            _ => Fit::Unusable,
        },
        SqlType::Date => match value {
            Value::Date(_) => Fit::Exact(value.clone()),
            Value::DateTime(moment) => {
                let date = Value::Date(moment.date());
                let midnight = moment.hour() == 0 && moment.minute() == 0 && moment.second() == 0;
                if midnight && moment.microsecond() == 0 { Fit::Exact(date) } else { Fit::Between(date) }
            }
            _ => Fit::Unusable,
        },
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => match value {
            Value::DateTime(_) => Fit::Exact(value.clone()),
            Value::Date(date) => match squall_types::DateTime::from_parts(*date, 0, 0, 0, 0) {
                Some(moment) => Fit::Exact(Value::DateTime(moment)),
                None => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        SqlType::Time { .. } => match value {
            Value::Time(_) => Fit::Exact(value.clone()),
            _ => Fit::Unusable,
        },
        SqlType::String { .. } if column_type.is_binary_string() => match value {
            Value::Bytes(_) => Fit::Exact(value.clone()),
            Value::String(text) => Fit::Exact(Value::Bytes(text.as_bytes().to_vec())),
            _ => Fit::Unusable,
        },
        SqlType::Hex { .. } | SqlType::Uuid => match value {
            Value::Bytes(bytes) if column_type.digit_bytes() == Some(bytes.len()) => Fit::Exact(value.clone()),
            Value::String(text) => match column_type.parse_digits(text.as_bytes()) {
                Some(bytes) => Fit::Exact(Value::Bytes(bytes)),
                None => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        SqlType::String { .. } => match value {
            Value::String(_) => Fit::Exact(value.clone()),
            _ => Fit::Unusable,
        },
        // FLOAT compares as DOUBLE with digits that no FLOAT has; ENUM and SET compare as strings.
        SqlType::Float { .. } | SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Json | SqlType::Null => {
            Fit::Unusable
        }
    }
}

fn fit_integer(unsigned: bool, value: &Value) -> Fit {
    match value {
        Value::Int(number) => fit_i128(unsigned, i128::from(*number), true),
        Value::UInt(number) => fit_i128(unsigned, i128::from(*number), true),
        Value::Decimal(decimal) => {
            let (floor, exact) = decimal_floor(*decimal);
            match floor {
                Some(floor) => fit_i128(unsigned, floor, exact),
                None => Fit::Unusable,
            }
        }
        Value::Double(number) if number.abs() < 9e15 => {
            let floor = number.floor();
            fit_i128(unsigned, floor as i128, floor == *number)
        }
        // An integer column and a string compare as doubles.
        Value::String(text) => match text.trim().parse::<i64>() {
            Ok(number) if number.unsigned_abs() <= 1 << 53 => fit_i128(unsigned, i128::from(number), true),
            _ => Fit::Unusable,
        },
        _ => Fit::Unusable,
    }
}

fn fit_i128(unsigned: bool, floor: i128, exact: bool) -> Fit {
    let (low, high) = if unsigned { (0, i128::from(u64::MAX)) } else { (i128::from(i64::MIN), i128::from(i64::MAX)) };
    if floor > high {
        return Fit::AboveAll;
    }
    if floor < low {
        return Fit::BelowAll;
    }
    let value = match (unsigned, u64::try_from(floor), i64::try_from(floor)) {
        (true, Ok(number), _) => Value::UInt(number),
        (false, _, Ok(number)) => Value::Int(number),
        _ => return Fit::Unusable,
    };
    if exact { Fit::Exact(value) } else { Fit::Between(value) }
}

/// The greatest integer that is not above the number (if it is of a reasonable size), and whether it is the number.
fn decimal_floor(decimal: Decimal) -> (Option<i128>, bool) {
    let ten = arrow::datatypes::i256::from_i128(10);
    let divisor = ten.wrapping_pow(u32::from(decimal.scale()));
    let quotient = decimal.unscaled().wrapping_div(divisor);
    let exact = quotient.wrapping_mul(divisor) == decimal.unscaled();
    let negative = decimal.unscaled() < arrow::datatypes::i256::ZERO;
    let floor =
        quotient.to_i128().and_then(|number| if negative && !exact { number.checked_sub(1) } else { Some(number) });
    (floor, exact)
}

fn fit_decimal(precision: u8, scale: u8, value: &Value) -> Fit {
    use arrow::datatypes::i256;
    let power = |digits: u8| i256::from_i128(10).checked_pow(u32::from(digits));
    let scaled = |number: i256| power(scale).and_then(|factor| number.checked_mul(factor));
    // The greatest number of the column's scale that is not above the value, and whether it is the value.
    let (below, exact) = match value {
        Value::Int(number) => (scaled(i256::from_i128(i128::from(*number))), true),
        Value::UInt(number) => (scaled(i256::from_i128(i128::from(*number))), true),
        Value::Decimal(decimal) if decimal.scale() <= scale => {
            (power(scale - decimal.scale()).and_then(|factor| decimal.unscaled().checked_mul(factor)), true)
        }
        Value::Decimal(decimal) => {
            let Some(divisor) = power(decimal.scale() - scale) else { return Fit::Unusable };
            let quotient = decimal.unscaled().wrapping_div(divisor);
            let exact = quotient.wrapping_mul(divisor) == decimal.unscaled();
            let negative = !exact && decimal.unscaled() < i256::ZERO;
            (Some(if negative { quotient.wrapping_sub(i256::ONE) } else { quotient }), exact)
        }
        _ => (None, true),
    };
    // The column has numbers of this many digits only; codes of greater ones would be others'.
    let (Some(below), Some(end)) = (below, power(precision)) else { return Fit::Unusable };
    let number = Value::Decimal(Decimal::new(below, scale));
    match (below, exact) {
        (below, _) if below >= end => Fit::AboveAll,
        (below, _) if below <= end.wrapping_neg() => Fit::BelowAll,
        (_, true) => Fit::Exact(number),
        (_, false) => Fit::Between(number),
    }
}

/// The comparison that an expression's operator is; `None` for `<>`, which leaves no range.
pub(super) fn bound_op(op: BoundOp) -> Option<CompareOp> {
    Some(match op {
        BoundOp::Equal => CompareOp::Equal,
        BoundOp::NullSafeEqual => CompareOp::NullSafeEqual,
        BoundOp::Less => CompareOp::Less,
        BoundOp::LessOrEqual => CompareOp::LessOrEqual,
        BoundOp::Greater => CompareOp::Greater,
        BoundOp::GreaterOrEqual => CompareOp::GreaterOrEqual,
        BoundOp::NotEqual => return None,
    })
}
