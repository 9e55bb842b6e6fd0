//! The values of a sequence that this server has reserved, and how more are reserved.

use squall_catalog::SequenceRow;

/// Values that no other call gets. The row says that they are reserved; a crash loses those that were not handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reserved {
    /// The row as it is stored.
    pub row: SequenceRow,
    /// The next value, if there is one left.
    next: i64,
    /// How many are left.
    left: u64,
}

impl Reserved {
    /// None yet.
    pub fn nothing(row: SequenceRow) -> Reserved {
        Reserved { next: row.next_not_cached, row, left: 0 }
    }

    /// The next value that is reserved.
    pub fn take(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next;
        // Behind the last one there may be no number any more; then it is not asked for.
        self.next = value.saturating_add(self.row.increment);
        Some(value)
    }

    /// The next values, with the row that reserves them; `None` if the sequence has run out.
    pub fn more(&self) -> Option<Reserved> {
        let row = &self.row;
        let (minimum, maximum) = (i128::from(row.minimum), i128::from(row.maximum));
        let (first, step) = (i128::from(row.next_not_cached), i128::from(row.increment));
        let is_over = if row.increment > 0 { first > maximum } else { first < minimum };
        let (first, cycle_count) = match (is_over, row.cycle) {
            (true, false) => return None,
            (true, true) if row.increment > 0 => (minimum, row.cycle_count.saturating_add(1)),
            (true, true) => (maximum, row.cycle_count.saturating_add(1)),
            // ALTER SEQUENCE may have moved the bound beyond it.
            (false, _) => (first.clamp(minimum, maximum), row.cycle_count),
        };
        let room = if row.increment > 0 { maximum - first } else { first - minimum };
        let count = (room / step.abs() + 1).min(i128::from(row.cache.max(1)));
        let next_not_cached = within(row, first + step * count);
        let row = SequenceRow { next_not_cached, cycle_count, ..row.clone() };
        Some(Reserved { next: within(&row, first), left: u64::try_from(count).unwrap_or(1), row })
    }

    /// What is reserved after SETVAL: nothing, and a row that goes on behind the value; `None` if the sequence is beyond it already.
    pub fn set_to(&self, value: i64, is_used: bool, round: i64) -> Option<Reserved> {
        let step = if is_used { i128::from(self.row.increment) } else { 0 };
        let wanted = i128::from(value) + step;
        let next = i128::from(if self.left > 0 { self.next } else { self.row.next_not_cached });
        let is_behind = if self.row.increment > 0 { wanted < next } else { wanted > next };
        if round < self.row.cycle_count || (round == self.row.cycle_count && is_behind) {
            return None;
        }
        let next_not_cached = within(&self.row, wanted);
        Some(Reserved::nothing(SequenceRow { next_not_cached, cycle_count: round, ..self.row.clone() }))
    }
}

/// A value within the bounds, or one step of 1 beyond them.
fn within(row: &SequenceRow, value: i128) -> i64 {
    let bounded = value.clamp(i128::from(row.minimum) - 1, i128::from(row.maximum) + 1);
    // Valid bounds leave room for that.
    i64::try_from(bounded).unwrap_or(row.maximum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows() -> impl Strategy<Value = SequenceRow> {
        let small = (-20_i64..20, 1_i64..40, -7_i64..7, 0_u64..9, any::<bool>());
        let extreme = (Just(i64::MIN + 1), Just(i64::MAX), -7_i64..7, 0_u64..9, any::<bool>());
        prop_oneof![small, extreme].prop_filter_map("no sequence", |(minimum, width, increment, cache, cycle)| {
            let maximum = minimum.saturating_add(width);
            let start = if increment > 0 { minimum } else { maximum };
            let row = SequenceRow {
                next_not_cached: start,
                minimum,
                maximum,
                start,
                increment,
                cache,
                cycle,
                cycle_count: 0,
            };
            row.is_valid().then_some(row)
        })
    }

    proptest! {
        /// Whatever is cached, the values are those of a counter that steps one by one.
        #[test]
        fn values_are_those_of_a_counter(row in rows()) {
            let mut reserved = Reserved::nothing(row.clone());
            let mut counter = Some(i128::from(row.start));
            for _ in 0..100 {
                let value = reserved.take().or_else(|| {
                    reserved = reserved.more()?;
                    reserved.take()
                });
                prop_assert_eq!(value.map(i128::from), counter);
                prop_assert!(reserved.row.is_valid());
                let Some(now) = counter else { break };
                let next = now + i128::from(row.increment);
                let bounds = i128::from(row.minimum)..=i128::from(row.maximum);
                let again = i128::from(if row.increment > 0 { row.minimum } else { row.maximum });
                counter = if bounds.contains(&next) { Some(next) } else { row.cycle.then_some(again) };
            }
        }

        /// A crash after any call never brings a value back before the sequence begins again.
        #[test]
        fn no_value_comes_twice_over_crashes(row in rows(), crashes in prop::collection::vec(any::<bool>(), 1..60)) {
            let mut reserved = Reserved::nothing(row);
            let mut last = None;
            for crash in crashes {
                if crash {
                    reserved = Reserved::nothing(reserved.row);
                }
                let Some(value) = reserved.take().or_else(|| {
                    reserved = reserved.more()?;
                    reserved.take()
                }) else { break };
                if let Some((before, round)) = last && round == reserved.row.cycle_count {
                    let goes_on = if reserved.row.increment > 0 { value > before } else { value < before };
                    prop_assert!(goes_on, "{} after {}", value, before);
                }
                last = Some((value, reserved.row.cycle_count));
            }
        }

        /// SETVAL never goes back within a round, and what it lets happen comes next.
        #[test]
        fn set_values_are_next(row in rows(), value in -25_i64..45, is_used: bool, taken in 0..5) {
            let mut reserved = Reserved::nothing(row.clone());
            for _ in 0..taken {
                if reserved.take().is_none() && let Some(more) = reserved.more() {
                    reserved = more;
                    reserved.take();
                }
            }
            let round = reserved.row.cycle_count;
            let Some(set) = reserved.set_to(value, is_used, round) else { return Ok(()) };
            let wanted = i128::from(value) + if is_used { i128::from(row.increment) } else { 0 };
            let next = set.more().and_then(|mut more| more.take());
            if (i128::from(row.minimum)..=i128::from(row.maximum)).contains(&wanted) {
                prop_assert_eq!(next.map(i128::from), Some(wanted));
            }
            prop_assert_eq!(reserved.set_to(value, is_used, round - 1), None);
        }
    }
}
