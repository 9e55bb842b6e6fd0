//! Keys whose byte order is the collation's order, and comparisons that agree with them.

use super::CollationId;
use super::definition::{Collation, Rule};
use super::icu::UnicodeCollator;
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Appends a key of the text: keys compare as bytes as the texts do by the collation.
pub fn sort_key(collation: CollationId, text: &str, out: &mut Vec<u8>) {
    collation.info().sort_key(text, out);
}

/// The first eight bytes of a text's key as a number, with zeros behind a shorter one: texts whose numbers differ order as
/// the numbers do, others may still differ. Costs a fraction of the key where the text begins with ASCII.
pub fn sort_key_start(collation: CollationId, text: &str) -> u64 {
    /// Enough for eight bytes, unless many characters do not count.
    const START_BYTES: usize = 12;
    thread_local! {
        static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let info = collation.info();
    let start = text.get(..START_BYTES).filter(|start| start.is_ascii());
    // What most texts are: no key is made.
    if let Some(start) = start
        && let Some(collator) = info.unicode_collator()
        && let Some(number) = collator.ascii_key_start(start.trim_end_matches(is_padding).as_bytes())
    {
        return number;
    }
    KEY.with_borrow_mut(|key| {
        key.clear();
        let whole = match start {
            Some(start) => !info.key_of_beginning(start, key) || key.len() < 8,
            None => true,
        };
        if whole {
            key.clear();
            info.sort_key(text, key);
        }
        let mut start = [0; 8];
        let length = key.len().min(8);
        start[..length].copy_from_slice(&key[..length]);
        u64::from_be_bytes(start)
    })
}

/// Compares two texts.
pub fn compare(collation: CollationId, left: &str, right: &str) -> Ordering {
    collation.info().compare(left, right)
}

/// Whether two texts are equal by the collation.
pub fn eq(collation: CollationId, left: &str, right: &str) -> bool {
    left == right || collation.info().compare(left, right) == Ordering::Equal
}

/// Hashes a text so that texts which are equal by the collation hash alike.
pub fn hash<H: Hasher>(collation: CollationId, text: &str, state: &mut H) {
    thread_local! {
        /// Keys to hash are made here, one after the other.
        static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let collation = collation.info();
    if matches!(collation.rule, Rule::Binary) && !collation.pads_space {
        text.as_bytes().hash(state);
        return;
    }
    KEY.with_borrow_mut(|key| {
        key.clear();
        collation.sort_key(text, key);
        key.as_slice().hash(state);
    });
}

/// Most bytes that the key of this many characters has.
pub fn sort_key_length_max(collation: CollationId, characters: usize) -> usize {
    let info = collation.info();
    match &info.rule {
        Rule::Binary if !info.pads_space => characters.saturating_mul(4),
        // Each weight takes five bytes at most, each character two weights, and the end one byte.
        Rule::Encoded => characters.saturating_mul(5).saturating_add(1),
        Rule::EightBit(_) => characters.saturating_mul(8).saturating_add(1),
        Rule::Binary | Rule::General => characters.saturating_mul(4).saturating_add(1),
        // Five bytes for a primary weight and its compression, and no character expands to more than eighteen.
        Rule::Icu(rule) => characters.saturating_mul(5 * 18 * usize::from(rule.levels)),
    }
}

/// Appends a weight so that bytes order as weights: the form of UTF-8, carried on to 32 bits.
fn push_weight(out: &mut Vec<u8>, weight: u32) {
    let tail = |shift: u32| 0x80 | (weight >> shift & 0x3F) as u8;
    match weight {
        0..0x80 => out.push(weight as u8),
        0x80..0x800 => out.extend_from_slice(&[0xC0 | (weight >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[0xE0 | (weight >> 12) as u8, tail(6), tail(0)]),
        0x1_0000..0x20_0000 => out.extend_from_slice(&[0xF0 | (weight >> 18) as u8, tail(12), tail(6), tail(0)]),
        _ => {
            out.push(0xF8);
            out.extend_from_slice(&weight.to_be_bytes());
        }
    }
}

impl Collation {
    fn sort_key(&self, text: &str, out: &mut Vec<u8>) {
        if let Some(collator) = self.unicode_collator() {
            let text = self.unicode_text(text);
            if self.pads_space {
                // The first of the spaces without end that the text is padded with.
                collator.write_key_and_space(&text, out);
            } else {
                collator.write_key(&text, out);
            }
        } else if self.pads_space {
            self.padded_key(text, true, out);
        } else {
            self.unpadded_key(text, out);
        }
    }

    /// Keys for `NO PAD`: all weights. That of a text's beginning is the beginning of the text's key.
    fn unpadded_key(&self, text: &str, out: &mut Vec<u8>) {
        match self.rule {
            Rule::Binary => out.extend_from_slice(text.as_bytes()),
            _ => self.weights(text).for_each(|weight| push_weight(out, weight)),
        }
    }

    /// Keys for `PAD SPACE`: the end of a text has the weight of infinitely many spaces.
    ///
    /// Three weights take the place of the space's: a space before something smaller, the end, and a space before
    /// something greater (the next character that is no space decides). Weights above move up by two.
    fn padded_key(&self, text: &str, with_end: bool, out: &mut Vec<u8>) {
        let space = self.weights_of(' ').0;
        let mut pending = 0usize;
        out.reserve(text.len() + 1);
        for weight in self.weights(text) {
            if weight == space {
                pending += 1;
                continue;
            }
            let (marker, weight) = if weight < space { (space, weight) } else { (space + 2, weight.saturating_add(2)) };
            for _ in 0..std::mem::take(&mut pending) {
                push_weight(out, marker);
            }
            push_weight(out, weight);
        }
        if with_end {
            push_weight(out, space + 1);
        }
    }

    /// The start that the keys of all texts beginning with `text` share, if the collation has such a thing.
    pub(super) fn key_of_beginning(&self, text: &str, out: &mut Vec<u8>) -> bool {
        // Spaces at the end of the beginning weigh by what follows them.
        let text = text.trim_end_matches(is_padding);
        match self.unicode_collator() {
            Some(collator) if !collator.keys_extend() => return false,
            Some(collator) => collator.write_key(&self.unicode_text(text), out),
            None if self.pads_space => self.padded_key(text, false, out),
            None => self.unpadded_key(text, out),
        }
        true
    }

    /// The part of a text that counts for a Unicode collation.
    fn unicode_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = if self.pads_space { text.trim_end_matches(is_padding) } else { text };
        // The families before 5.2.0 know the basic plane only: all other characters are one.
        let old = self.sort_length == 8 && !self.name.contains("_520_");
        if old && text.bytes().any(|byte| byte >= 0xF0) {
            return Cow::Owned(text.chars().map(|c| if u32::from(c) > 0xFFFF { '\u{FFFD}' } else { c }).collect());
        }
        Cow::Borrowed(text)
    }

    pub(super) fn compare(&self, left: &str, right: &str) -> Ordering {
        if let Some(collator) = self.unicode_collator() {
            return self.compare_unicode(collator, left, right);
        }
        match self.rule {
            Rule::Binary if !self.pads_space => return left.cmp(right),
            _ if !self.pads_space => return self.weights(left).cmp(self.weights(right)),
            _ => {}
        }
        if let (Rule::Binary, Some(order)) = (&self.rule, compare_until_end(left, right)) {
            return order;
        }
        self.compare_padded(left, right)
    }

    fn compare_unicode(&self, collator: &UnicodeCollator, left: &str, right: &str) -> Ordering {
        if left == right {
            return Ordering::Equal;
        }
        let (left, right) = (self.unicode_text(left), self.unicode_text(right));
        if self.pads_space && (has_less_than_space(&left) || has_less_than_space(&right)) {
            return collator.compare(&format!("{left} "), &format!("{right} "));
        }
        collator.compare(&left, &right)
    }

    fn compare_padded(&self, left: &str, right: &str) -> Ordering {
        let space = self.weights_of(' ').0;
        // Most texts differ, if at all, in ASCII, where a weight is one look away.
        let (left_bytes, right_bytes) = (left.as_bytes(), right.as_bytes());
        let mut at = 0;
        while let (Some(left), Some(right)) = (left_bytes.get(at), right_bytes.get(at))
            && left.is_ascii()
            && right.is_ascii()
        {
            if left != right {
                let order = self.ascii_weight(*left).cmp(&self.ascii_weight(*right));
                if order.is_ne() {
                    return order;
                }
            }
            at += 1;
        }
        let (mut left, mut right) = (self.weights(&left[at..]), self.weights(&right[at..]));
        loop {
            match (left.next(), right.next()) {
                (Some(left), Some(right)) if left == right => {}
                (Some(left), Some(right)) => return left.cmp(&right),
                (None, None) => return Ordering::Equal,
                (Some(first), None) => return rest_against_spaces(first, left, space),
                (None, Some(first)) => return rest_against_spaces(first, right, space).reverse(),
            }
        }
    }
}

/// Whether a character weighs as much as a space in Unicode collations of one level.
fn is_padding(character: char) -> bool {
    matches!(character, ' ' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Whether a text has a character that weighs less than a space in Unicode collations: tabs and ends of lines.
fn has_less_than_space(text: &str) -> bool {
    text.chars().any(|character| matches!(character, '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}'))
}

/// The order of two texts if it shows before one of them ends.
fn compare_until_end(left: &str, right: &str) -> Option<Ordering> {
    let length = left.len().min(right.len());
    // UTF-8 orders as code points do, so bytes will do.
    match left.as_bytes()[..length].cmp(&right.as_bytes()[..length]) {
        Ordering::Equal if left.len() == right.len() => Some(Ordering::Equal),
        Ordering::Equal => None,
        order => Some(order),
    }
}

/// The order of what is left of a longer text against spaces.
fn rest_against_spaces(first: u32, mut rest: impl Iterator<Item = u32>, space: u32) -> Ordering {
    if first != space {
        return first.cmp(&space);
    }
    rest.find(|weight| *weight != space).map_or(Ordering::Equal, |weight| weight.cmp(&space))
}

#[cfg(test)]
#[path = "sort_key_tests.rs"]
mod tests;
