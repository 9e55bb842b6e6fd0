//! One table of numbers.

use squall_registry::{RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_types::{SqlResult, SqlType, Value};
use std::borrow::Cow;

/// Rows of a part.
const PART_ROWS: u128 = 8192;

/// Numbers from one to another, upwards or downwards.
#[derive(Debug)]
pub struct Numbers {
    database: String,
    name: String,
    columns: [VirtualColumn; 1],
    first: u64,
    /// Above 0.
    step: u64,
    /// At least 1.
    count: u128,
    downwards: bool,
}

impl Numbers {
    /// What `seq_FIRST_to_LAST` and `seq_FIRST_to_LAST_step_STEP` mean, in any letter case.
    pub fn of_name(database: &str, name: &str) -> Option<Numbers> {
        let lower = name.to_ascii_lowercase();
        let (first, rest) = lower.strip_prefix("seq_")?.split_once("_to_")?;
        let (last, step) = rest.split_once("_step_").unwrap_or((rest, "1"));
        let (first, last, step) = (number(first)?, number(last)?, number(step).filter(|step| *step > 0)?);
        let column = VirtualColumn {
            name: Cow::Borrowed("seq"),
            sql_type: SqlType::BIGINT_UNSIGNED,
            nullable: false,
            invisible: false,
        };
        Some(Numbers {
            database: database.to_string(),
            name: name.to_string(),
            columns: [column],
            first,
            step,
            count: u128::from(first.abs_diff(last) / step) + 1,
            downwards: first > last,
        })
    }

    /// The places of the numbers that a condition asks for, as a half-open range.
    fn places(&self, scan: &VirtualScan<'_>) -> (u128, u128) {
        let wanted = scan.numbers(0);
        // No more than the two numbers of the name are apart.
        let span = u64::try_from(self.count - 1).unwrap_or(u64::MAX).saturating_mul(self.step);
        let least = if self.downwards { self.first.saturating_sub(span) } else { self.first };
        if *wanted.end() < least || wanted.is_empty() {
            return (0, 0);
        }
        let low = u128::from(wanted.start().saturating_sub(least).div_ceil(self.step)).min(self.count);
        let high = self.count.min(u128::from((wanted.end() - least) / self.step) + 1);
        if self.downwards { (self.count - high, self.count - low) } else { (low, high) }
    }
}

/// A number without a sign; none with a letter or more than 64 bits.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl VirtualTable for Numbers {
    fn database(&self) -> &str {
        &self.database
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn parts(&self, scan: &VirtualScan<'_>) -> SqlResult<RowParts> {
        let (from, to) = self.places(scan);
        let (first, step, downwards) = (self.first, self.step, self.downwards);
        let part = move |from: u128, to: u128| -> Vec<Vec<Value>> {
            let at = |place: u128| {
                // A place is below the count, so the number lies between the two of the name.
                let distance = u64::try_from(place).unwrap_or(u64::MAX).saturating_mul(step);
                if downwards { first.saturating_sub(distance) } else { first.saturating_add(distance) }
            };
            (from..to).map(|place| vec![Value::UInt(at(place))]).collect()
        };
        let backward = scan.backward;
        let mut left = (from, to);
        Ok(Box::new(std::iter::from_fn(move || {
            let (from, to) = left;
            if from >= to {
                return None;
            }
            if backward {
                let start = to.saturating_sub(PART_ROWS).max(from);
                left = (from, start);
                let mut rows = part(start, to);
                rows.reverse();
                return Some(Ok(rows));
            }
            let end = (from + PART_ROWS).min(to);
            left = (end, to);
            Some(Ok(part(from, end)))
        })))
    }

    fn order(&self) -> Option<usize> {
        (!self.downwards).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_in_a_table() {
        let of = |name: &str| Numbers::of_name("d", name).map(|table| (table.first, table.step, table.count));
        assert_eq!(of("seq_1_to_10"), Some((1, 1, 10)));
        assert_eq!(of("SEQ_10_TO_1_STEP_3"), Some((10, 3, 4)));
        assert_eq!(of("seq_0_to_18446744073709551615"), Some((0, 1, 1 << 64)));
        assert_eq!(of("seq_1_to_18446744073709551616"), None);
        assert_eq!(of("seq_1_to_2_step_0"), None);
        assert_eq!(of("seq_a_to_2"), None);
        assert_eq!(of("seq_1_to_+2"), None);
        assert_eq!(of("seq__to_"), None);
    }
}
