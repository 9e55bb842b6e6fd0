//! What a collation is: its character set, its rule, and the weights of single characters.

use super::CollationId;
use super::charset::Charset;
use super::weights::{EightBitWeights, general_weight};
use std::sync::OnceLock;

/// Above all ids.
pub(super) const IDS_MAX: usize = 3100;

/// The characters that are equal to each ASCII character: the first of them stands for all.
pub(super) type AsciiClasses = [u8; 128];

/// A collation.
#[derive(Debug)]
pub struct Collation {
    /// MySQL's id.
    pub id: CollationId,
    /// MySQL's name.
    pub name: String,
    /// The character set.
    pub charset: Charset,
    /// Whether it is the default of its character set.
    pub is_default: bool,
    /// Which differences of texts count beside those of letters.
    pub sensitivity: Sensitivity,
    /// Whether spaces at the end do not count (`PAD SPACE`).
    pub pads_space: bool,
    /// `Sortlen` of `SHOW COLLATION`.
    pub sort_length: u8,
    pub(super) rule: Rule,
    /// Found out when it is first asked for.
    pub(super) ascii_classes: OnceLock<Option<AsciiClasses>>,
}

/// How much a collation tells apart, as the end of its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// Neither upper and lower case (`_ci`).
    CaseInsensitive,
    /// Case, too (`_cs`, and `_ks`, which also tells kinds of kana apart).
    CaseSensitive,
    /// Every byte or code point (`_bin`, `binary`).
    Binary,
}

impl Sensitivity {
    pub(super) fn of_name(name: &str) -> Sensitivity {
        match name.rsplit_once('_').map_or(name, |(_, end)| end) {
            "bin" | "binary" => Sensitivity::Binary,
            "cs" | "ks" => Sensitivity::CaseSensitive,
            _ => Sensitivity::CaseInsensitive,
        }
    }
}

/// How a collation orders text.
#[derive(Debug)]
pub(super) enum Rule {
    /// By bytes, or by code points, which for UTF-8 is the same.
    Binary,
    /// By `general_ci`'s weights of single characters.
    General,
    /// By weights of the bytes of an eight-bit character set.
    EightBit(Box<EightBitWeights>),
    /// By the bytes of a multi-byte character set, ASCII letters without case.
    Encoded,
    /// By the Unicode collation algorithm.
    Icu(IcuRule),
}

/// The settings of a Unicode collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IcuRule {
    /// Tailoring, `und` for none.
    pub(super) locale: &'static str,
    /// Levels that count: 1 letters, 2 accents, 3 case, 4 kana.
    pub(super) levels: u8,
}

impl Collation {
    /// Whether texts order as their UTF-8 does.
    pub fn orders_as_utf8(&self) -> bool {
        matches!(self.rule, Rule::Binary) && !self.pads_space
    }

    /// The weight of a character, two for the few that expand. Not for Unicode collations.
    pub(super) fn weights_of(&self, character: char) -> (u32, Option<u32>) {
        match &self.rule {
            Rule::General => (general_weight(character), None),
            Rule::EightBit(weights) => weights.of_character(character),
            Rule::Encoded => (self.encoded_weight(character), None),
            Rule::Binary | Rule::Icu(_) => (u32::from(character), None),
        }
    }

    fn encoded_weight(&self, character: char) -> u32 {
        if character.is_ascii() {
            return u32::from(character.to_ascii_uppercase());
        }
        let mut bytes = Vec::with_capacity(4);
        if self.charset.encode_character(character, &mut bytes) {
            bytes.iter().take(4).fold(0, |weight, byte| weight << 8 | u32::from(*byte))
        } else {
            u32::MAX
        }
    }

    /// The weight of an ASCII character.
    pub(super) fn ascii_weight(&self, byte: u8) -> u32 {
        match &self.rule {
            Rule::General | Rule::Encoded => u32::from(byte.to_ascii_uppercase()),
            Rule::EightBit(weights) => weights.of_byte(byte),
            Rule::Binary | Rule::Icu(_) => u32::from(byte),
        }
    }

    /// The weights of a text in turn.
    pub(super) fn weights<'a>(&'a self, text: &'a str) -> impl Iterator<Item = u32> + 'a {
        text.chars().flat_map(|character| {
            let (first, second) = self.weights_of(character);
            std::iter::once(first).chain(second)
        })
    }
}
