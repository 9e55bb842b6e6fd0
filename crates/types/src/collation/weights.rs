//! Weights of single characters, for collations that do not need the Unicode algorithm.

use super::charset::EightBitTable;
use super::registry::Rule;
use super::weight_data::{EIGHT_BIT, EXPANSIONS, GENERAL};
use super::{Charset, Collation};
use std::sync::LazyLock;

/// Pages of 256 weights; a missing page is one of characters that weigh what they are.
static GENERAL_PAGES: LazyLock<Vec<Option<Box<[u16; 256]>>>> = LazyLock::new(|| {
    let mut pages: Vec<Option<Box<[u16; 256]>>> = (0..256).map(|_| None).collect();
    for (first, count, step, weight, weight_step) in GENERAL {
        for at in 0..*count {
            let character = first + at * step;
            let number = character >> 8;
            let page = pages[usize::from(number)]
                .get_or_insert_with(|| Box::new(std::array::from_fn(|low| number << 8 | low as u16)));
            page[usize::from(character & 0xFF)] = weight + at * weight_step;
        }
    }
    pages
});

/// What every character outside the basic plane weighs in `general_ci`.
const REPLACEMENT_WEIGHT: u32 = 0xFFFD;

/// The `general_ci` weight of a character.
pub(super) fn general_weight(character: char) -> u32 {
    if character.is_ascii() {
        return u32::from(character.to_ascii_uppercase());
    }
    let code = u32::from(character);
    match u16::try_from(code) {
        Err(_) => REPLACEMENT_WEIGHT,
        Ok(small) => match &GENERAL_PAGES[usize::from(small >> 8)] {
            Some(page) => u32::from(page[usize::from(small & 0xFF)]),
            None => code,
        },
    }
}

/// The weights of an eight-bit collation.
pub(super) struct EightBitWeights {
    table: Option<&'static EightBitTable>,
    weights: [u8; 256],
    second: Vec<(u8, u8)>,
}

impl std::fmt::Debug for EightBitWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EightBitWeights").field("weights", &self.weights).finish_non_exhaustive()
    }
}

impl EightBitWeights {
    /// The weights of a collation that has a table.
    pub(super) fn of(name: &str, charset: Charset) -> Option<EightBitWeights> {
        let (_, digits) = EIGHT_BIT.iter().find(|(known, _)| *known == name)?;
        let mut weights = [0; 256];
        for (weight, pair) in weights.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *weight = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())?;
        }
        let second = EXPANSIONS.iter().filter(|(known, ..)| *known == name).map(|(_, byte, weight)| (*byte, *weight));
        Some(EightBitWeights { table: charset.eight_bit_table(), weights, second: second.collect() })
    }

    /// The weights of an eight-bit collation that orders by bytes.
    pub(super) fn bytes(charset: Charset) -> Option<EightBitWeights> {
        let table = charset.eight_bit_table()?;
        Some(EightBitWeights {
            table: Some(table),
            weights: std::array::from_fn(|byte| byte as u8),
            second: Vec::new(),
        })
    }

    fn of_character(&self, character: char) -> (u32, Option<u32>) {
        let byte = match self.table {
            Some(table) => table.byte_of(character),
            None => character.is_ascii().then_some(character as u8),
        };
        match byte {
            Some(byte) => {
                let second = self.second.iter().find(|(known, _)| *known == byte);
                (u32::from(self.weights[usize::from(byte)]), second.map(|(_, weight)| u32::from(*weight)))
            }
            // Text of another set may still meet the collation; what the set lacks comes after everything it has.
            None => (0x100 + u32::from(character), None),
        }
    }
}

impl Collation {
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
            Rule::EightBit(weights) => u32::from(weights.weights[usize::from(byte)]),
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
