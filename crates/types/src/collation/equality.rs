//! When two characters are equal, for searches that compare one at a time.

use super::definition::{Collation, Rule};
use super::icu::UnicodeCollator;

/// When two characters are equal.
#[derive(Clone, Copy)]
pub(super) enum CharacterEquality {
    /// Only to themselves.
    Same,
    /// When their weights are.
    Weights(&'static Collation),
    /// By the Unicode algorithm.
    Unicode(&'static UnicodeCollator),
}

impl CharacterEquality {
    /// Of a collation.
    pub(super) fn of(collation: &'static Collation) -> CharacterEquality {
        match (&collation.rule, collation.unicode_collator()) {
            (Rule::Binary, _) => CharacterEquality::Same,
            (_, Some(collator)) => CharacterEquality::Unicode(collator),
            _ => CharacterEquality::Weights(collation),
        }
    }

    /// Whether ASCII characters are equal or not wherever they stand.
    pub(super) fn is_of_ascii_alone(self) -> bool {
        match self {
            CharacterEquality::Same | CharacterEquality::Weights(_) => true,
            CharacterEquality::Unicode(collator) => collator.ascii_weight(0).is_some(),
        }
    }

    /// Whether two characters are.
    pub(super) fn holds(self, left: char, right: char) -> bool {
        if left == right {
            return true;
        }
        match self {
            CharacterEquality::Same => false,
            CharacterEquality::Weights(collation) => collation.weights_of(left) == collation.weights_of(right),
            CharacterEquality::Unicode(collator) => {
                if left.is_ascii()
                    && right.is_ascii()
                    && let Some(weight) = collator.ascii_weight(left as u8)
                {
                    return Some(weight) == collator.ascii_weight(right as u8);
                }
                let (mut left_bytes, mut right_bytes) = ([0; 4], [0; 4]);
                let order = collator.compare(left.encode_utf8(&mut left_bytes), right.encode_utf8(&mut right_bytes));
                order.is_eq()
            }
        }
    }
}
