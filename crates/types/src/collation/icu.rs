//! Collations by the Unicode collation algorithm, with a short cut for ASCII.

use super::definition::{Collation, IDS_MAX, IcuRule, Rule};
use icu_collator::CollatorBorrowed;
use icu_collator::options::{AlternateHandling, CollatorOptions, Strength};
use icu_locale_core::Locale;
use std::cmp::Ordering;
use std::sync::{LazyLock, OnceLock};

/// A collator and what makes it fast.
pub(super) struct UnicodeCollator {
    collator: CollatorBorrowed<'static>,
    /// Primary weights of ASCII; only where one level counts and no tailoring combines letters.
    ascii: Option<AsciiWeights>,
}

/// Primary weights of the ASCII characters, taken from the collator's own keys.
struct AsciiWeights {
    /// Up to four bytes from the top; 0 for characters that do not count.
    primaries: [u32; 128],
    /// Whether keys write the first byte once for neighbours that share it.
    compressible: [bool; 128],
}

/// Written before a first byte that is smaller than the one it takes over from.
const COMPRESSION_LOW: u8 = 0x03;
/// Written before a first byte that is greater.
const COMPRESSION_HIGH: u8 = 0xFF;

/// One for each collation, made when first used.
static COLLATORS: LazyLock<Vec<OnceLock<Box<UnicodeCollator>>>> =
    LazyLock::new(|| (0..IDS_MAX).map(|_| OnceLock::new()).collect());

impl Collation {
    /// The collator of a Unicode collation.
    pub(super) fn unicode_collator(&self) -> Option<&'static UnicodeCollator> {
        let Rule::Icu(rule) = self.rule else { return None };
        let cell = COLLATORS.get(usize::from(self.id.0))?;
        if let Some(collator) = cell.get() {
            return Some(collator);
        }
        let made = Box::new(UnicodeCollator::new(rule)?);
        Some(cell.get_or_init(|| made))
    }
}

impl UnicodeCollator {
    fn new(rule: IcuRule) -> Option<UnicodeCollator> {
        let mut options = CollatorOptions::default();
        options.strength = Some(match rule.levels {
            1 => Strength::Primary,
            2 => Strength::Secondary,
            3 => Strength::Tertiary,
            _ => Strength::Quaternary,
        });
        options.alternate_handling = Some(AlternateHandling::NonIgnorable);
        let locale: Locale = rule.locale.parse().ok()?;
        let collator = CollatorBorrowed::try_new((&locale).into(), options)
            .or_else(|_| CollatorBorrowed::try_new(Default::default(), options))
            .ok()?;
        let ascii = (rule.levels == 1 && rule.locale == "und").then(|| AsciiWeights::of(&collator));
        Some(UnicodeCollator { collator, ascii })
    }

    /// Appends the key of a text.
    pub(super) fn write_key(&self, text: &str, out: &mut Vec<u8>) {
        match &self.ascii {
            Some(ascii) if text.is_ascii() => ascii.write_key(text.as_bytes(), out),
            _ => {
                let Ok(()) = self.collator.write_sort_key_to(text, out);
            }
        }
    }

    /// The first eight bytes of the keys of all texts that begin with these ASCII characters, as a number; `None` if the characters do not
    /// tell so many.
    pub(super) fn ascii_key_start(&self, text: &[u8]) -> Option<u64> {
        let (mut start, mut length) = (0, 0);
        self.ascii.as_ref()?.each_byte(text, |byte| {
            start = start << 8 | u64::from(byte);
            length += 1;
            length < 8
        });
        (length == 8).then_some(start)
    }

    /// Appends the key of a text with a space behind it.
    pub(super) fn write_key_and_space(&self, text: &str, out: &mut Vec<u8>) {
        self.write_key(&format!("{text} "), out);
    }

    /// Compares two texts.
    pub(super) fn compare(&self, left: &str, right: &str) -> Ordering {
        match &self.ascii {
            Some(ascii) if left.is_ascii() && right.is_ascii() => ascii.compare(left.as_bytes(), right.as_bytes()),
            _ => self.collator.compare(left, right),
        }
    }

    /// The weight of an ASCII character, where one number tells all.
    pub(super) fn ascii_weight(&self, byte: u8) -> Option<u32> {
        self.ascii.as_ref()?.primaries.get(usize::from(byte)).copied()
    }

    /// Whether keys of longer texts begin with the key of their beginning.
    pub(super) fn keys_extend(&self) -> bool {
        self.ascii.is_some()
    }
}

impl AsciiWeights {
    fn of(collator: &CollatorBorrowed<'static>) -> AsciiWeights {
        let key = |text: &str| {
            let mut key = Vec::new();
            let Ok(()) = collator.write_sort_key_to(text, &mut key);
            key
        };
        let mut weights = AsciiWeights { primaries: [0; 128], compressible: [false; 128] };
        for byte in 0..128u8 {
            let text = char::from(byte).to_string();
            let primary = key(&text);
            let packed = primary
                .iter()
                .take(4)
                .fold((0u32, 24i32), |(sum, shift), part| (sum | u32::from(*part) << shift.max(0), shift - 8));
            weights.primaries[usize::from(byte)] = packed.0;
            // Two of a compressible character share the first byte.
            weights.compressible[usize::from(byte)] =
                !primary.is_empty() && key(&text.repeat(2)).len() < 2 * primary.len();
        }
        weights
    }

    /// Writes the collator's key, only faster: repeated first bytes are left out.
    fn write_key(&self, text: &[u8], out: &mut Vec<u8>) {
        self.each_byte(text, |byte| {
            out.push(byte);
            true
        });
    }

    /// Calls `push` with the bytes of the key of a text, as long as it returns `true`.
    #[inline]
    fn each_byte(&self, text: &[u8], mut push: impl FnMut(u8) -> bool) {
        let mut previous = 0u32;
        for byte in text {
            let at = usize::from(*byte & 0x7F);
            let primary = self.primaries[at];
            if primary == 0 {
                continue;
            }
            let [first, rest @ ..] = primary.to_be_bytes();
            if !self.compressible[at] || first != (previous >> 24) as u8 {
                if previous != 0 && !push(if primary < previous { COMPRESSION_LOW } else { COMPRESSION_HIGH }) {
                    return;
                }
                if !push(first) {
                    return;
                }
                previous = if self.compressible[at] { primary } else { 0 };
            }
            for part in rest.into_iter().take_while(|part| *part != 0) {
                if !push(part) {
                    return;
                }
            }
        }
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        // Equal bytes need no weights; most texts that are compared share their beginning.
        let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
        let mut left = left[same..].iter().map(|byte| self.primaries[usize::from(*byte & 0x7F)]);
        let mut right = right[same..].iter().map(|byte| self.primaries[usize::from(*byte & 0x7F)]);
        loop {
            // Characters without weight do not count.
            let left_weight = left.find(|weight| *weight != 0);
            let right_weight = right.find(|weight| *weight != 0);
            match (left_weight, right_weight) {
                (None, None) => return Ordering::Equal,
                (left, right) if left == right => {}
                (left, right) => return left.cmp(&right),
            }
        }
    }
}
