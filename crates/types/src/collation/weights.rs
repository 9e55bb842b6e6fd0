//! Weights of single characters, for collations that do not need the Unicode algorithm.

use super::charset::{Charset, EightBitTable};
use super::weight_data::{EIGHT_BIT, EXPANSIONS, GENERAL};
use std::sync::LazyLock;

/// Pages of 256 weights; in a missing page the weight of each character is its own code.
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

    /// The weight of a byte, the first of two if it expands.
    pub(super) fn of_byte(&self, byte: u8) -> u32 {
        u32::from(self.weights[usize::from(byte)])
    }

    /// The weight of a character, two for the few that expand.
    pub(super) fn of_character(&self, character: char) -> (u32, Option<u32>) {
        let byte = match self.table {
            Some(table) => table.byte_of(character),
            None => character.is_ascii().then_some(character as u8),
        };
        match byte {
            Some(byte) => {
                let second = self.second.iter().find(|(known, _)| *known == byte);
                (self.of_byte(byte), second.map(|(_, weight)| u32::from(*weight)))
            }
            // Text of another set may still meet the collation; what the set lacks comes after everything it has.
            None => (0x100 + u32::from(character), None),
        }
    }
}
