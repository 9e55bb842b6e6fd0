//! The tables of `big5`, `gb2312` and `gbk`: those of browsers (`encoding_rs`), without what browsers have added and MySQL has not.
//!
//! MySQL's `big5` is that of the Unicode consortium's former table, with Japanese and Cyrillic letters behind 0xC6A1; its `gbk` is
//! Windows' code page 936. The differences were found by comparing all codes and all characters of the Basic Multilingual Plane with
//! MariaDB, whose tables are the same.

use encoding_rs::{DecoderResult, Encoding};
use rustc_hash::FxHashMap;

/// First bytes begin here.
const FIRST_MIN: u8 = 0x81;
/// Second bytes, all of which are counted, begin here.
const SECOND_MIN: u8 = 0x40;
const SECONDS: usize = 0xFF - SECOND_MIN as usize;
const FIRSTS: usize = 0xFF - FIRST_MIN as usize;

/// The codes of two bytes of a set, both ways.
pub(super) struct CodeTable {
    characters: Vec<Option<char>>,
    codes: FxHashMap<char, [u8; 2]>,
}

/// What a set has else than browsers have.
pub(super) struct Differences {
    /// The first and last codes of ranges without characters.
    without: &'static [(u16, u16)],
    /// The first and last codes of ranges, with the character of the first one; the others follow it.
    other: &'static [(u16, u16, u32)],
}

pub(super) const BIG5_DIFFERENCES: Differences = Differences {
    // The single codes have U+FFFD in MySQL, from which they would not come back.
    without: &[
        (0xA15A, 0xA15A),
        (0xA1C3, 0xA1C3),
        (0xA1C5, 0xA1C5),
        (0xA1FE, 0xA1FE),
        (0xA240, 0xA240),
        (0xA2CC, 0xA2CC),
        (0xA2CE, 0xA2CE),
        (0xA3C0, 0xA3E1),
        (0xC7FD, 0xC8FE),
        (0xF9DD, 0xF9FE),
    ],
    other: &[
        (0xA145, 0xA145, 0x2022),
        (0xA14E, 0xA14E, 0xFF64),
        (0xA1C2, 0xA1C2, 0x203E),
        (0xA1E3, 0xA1E3, 0x223C),
        (0xA1F2, 0xA1F2, 0x2641),
        (0xA1F3, 0xA1F3, 0x2609),
        (0xA241, 0xA241, 0xFF0F),
        (0xA242, 0xA242, 0xFF3C),
        (0xA244, 0xA244, 0xA5),
        (0xA246, 0xA247, 0xA2),
        (0xC6A1, 0xC6A1, 0x30FE),
        (0xC6A2, 0xC6A3, 0x309D),
        (0xC6A4, 0xC6A4, 0x3005),
        (0xC6A5, 0xC6F7, 0x3041),
        (0xC6F8, 0xC7B0, 0x30A1),
        (0xC7B1, 0xC7B2, 0x0414),
        (0xC7B3, 0xC7B3, 0x0401),
        (0xC7B4, 0xC7BA, 0x0416),
        (0xC7BB, 0xC7CD, 0x0423),
        (0xC7CE, 0xC7CE, 0x0451),
        (0xC7CF, 0xC7E8, 0x0436),
        (0xC7E9, 0xC7F2, 0x2460),
        (0xC7F3, 0xC7FC, 0x2474),
    ],
};

pub(super) const GB2312_DIFFERENCES: Differences = Differences {
    without: &[
        (0xA2A1, 0xA2B0),
        (0xA2E3, 0xA2E4),
        (0xA2EF, 0xA2F0),
        (0xA2FD, 0xA2FE),
        (0xA4F4, 0xA4FE),
        (0xA5F7, 0xA5FE),
        (0xA6B9, 0xA6C0),
        (0xA6D9, 0xA6FE),
        (0xA7C2, 0xA7D0),
        (0xA7F2, 0xA7FE),
        (0xA8BB, 0xA8C4),
        (0xA8EA, 0xA9A3),
        (0xA9F0, 0xAFFE),
        (0xD7FA, 0xD7FE),
    ],
    other: &[(0xA1A4, 0xA1A4, 0x30FB), (0xA1AA, 0xA1AA, 0x2015)],
};

/// Characters of GB 18030, and private-use ones for codes that users define.
pub(super) const GBK_DIFFERENCES: Differences = Differences {
    without: &[
        (0xA140, 0xA1A0),
        (0xA240, 0xA2A0),
        (0xA2AB, 0xA2B0),
        (0xA2E3, 0xA2E4),
        (0xA2EF, 0xA2F0),
        (0xA2FD, 0xA3A0),
        (0xA440, 0xA4A0),
        (0xA4F4, 0xA5A0),
        (0xA5F7, 0xA6A0),
        (0xA6B9, 0xA6C0),
        (0xA6D9, 0xA6DF),
        (0xA6EC, 0xA6ED),
        (0xA6F3, 0xA6F3),
        (0xA6F6, 0xA7A0),
        (0xA7C2, 0xA7D0),
        (0xA7F2, 0xA7FE),
        (0xA896, 0xA8A0),
        (0xA8BC, 0xA8BC),
        (0xA8BF, 0xA8BF),
        (0xA8C1, 0xA8C4),
        (0xA8EA, 0xA8FE),
        (0xA958, 0xA958),
        (0xA95B, 0xA95B),
        (0xA95D, 0xA95F),
        (0xA989, 0xA995),
        (0xA997, 0xA9A3),
        (0xA9F0, 0xA9FE),
        (0xAAA1, 0xAAFE),
        (0xABA1, 0xABFE),
        (0xACA1, 0xACFE),
        (0xADA1, 0xADFE),
        (0xAEA1, 0xAEFE),
        (0xAFA1, 0xAFFE),
        (0xD7FA, 0xD7FE),
        (0xF8A1, 0xF8FE),
        (0xF9A1, 0xF9FE),
        (0xFAA1, 0xFAFE),
        (0xFBA1, 0xFBFE),
        (0xFCA1, 0xFCFE),
        (0xFDA1, 0xFDFE),
        (0xFE50, 0xFEFE),
    ],
    other: &[],
};

/// IBM's characters in `eucjpms`, in the order of their codes from 0x8FF3F3 on. Browsers have them only in Shift_JIS.
const EUC_IBM: &str = "\
    \u{2170}\u{2171}\u{2172}\u{2173}\u{2174}\u{2175}\u{2176}\u{2177}\u{2178}\u{2179}\u{2160}\u{2161}\
    \u{2162}\u{2163}\u{2164}\u{2165}\u{2166}\u{2167}\u{2168}\u{2169}\u{ff07}\u{ff02}\u{3231}\u{2116}\
    \u{2121}\u{70bb}\u{4efc}\u{50f4}\u{51ec}\u{5307}\u{5324}\u{fa0e}\u{548a}\u{5759}\u{fa0f}\u{fa10}\
    \u{589e}\u{5bec}\u{5cf5}\u{5d53}\u{fa11}\u{5fb7}\u{6085}\u{6120}\u{654e}\u{663b}\u{6665}\u{fa12}\
    \u{f929}\u{6801}\u{fa13}\u{fa14}\u{6a6b}\u{6ae2}\u{6df8}\u{6df2}\u{7028}\u{fa15}\u{fa16}\u{7501}\
    \u{7682}\u{769e}\u{fa17}\u{7930}\u{fa18}\u{fa19}\u{fa1a}\u{fa1b}\u{7ae7}\u{fa1c}\u{fa1d}\u{7da0}\
    \u{7dd6}\u{fa1e}\u{8362}\u{fa1f}\u{85b0}\u{fa20}\u{fa21}\u{8807}\u{fa22}\u{8b7f}\u{8cf4}\u{8d76}\
    \u{fa23}\u{fa24}\u{fa25}\u{90de}\u{fa26}\u{9115}\u{fa27}\u{fa28}\u{9592}\u{f9dc}\u{fa29}\u{973b}\
    \u{974d}\u{9751}\u{fa2a}\u{fa2b}\u{fa2c}\u{999e}\u{9ad9}\u{9b72}\u{fa2d}\u{9ed1}";
/// The first codes behind 0x8F with the same first byte.
const EUC_IBM_ROWS: [[u8; 2]; 2] = [[0xF3, 0xF3], [0xF4, 0xA1]];
/// How many codes the first row has.
const EUC_IBM_FIRST_ROW: usize = 12;

/// The character of IBM with a code behind 0x8F in `eucjpms`.
pub(super) fn euc_ibm([row, column]: [u8; 2]) -> Option<char> {
    let at = EUC_IBM_ROWS.iter().position(|[first, _]| *first == row)?;
    let place = usize::from(column.checked_sub(EUC_IBM_ROWS[at][1])?) + at * EUC_IBM_FIRST_ROW;
    EUC_IBM.chars().nth(place)
}

/// The code behind 0x8F of a character of IBM in `eucjpms`.
pub(super) fn code_of_euc_ibm(character: char) -> Option<[u8; 2]> {
    let place = EUC_IBM.chars().position(|known| known == character)?;
    let (at, place) = if place < EUC_IBM_FIRST_ROW { (0, place) } else { (1, place - EUC_IBM_FIRST_ROW) };
    let [row, first] = EUC_IBM_ROWS[at];
    Some([row, first + u8::try_from(place).ok()?])
}

/// The character of a code, if browsers have one.
pub(super) fn assigned(encoding: &'static Encoding, code: &[u8]) -> Option<char> {
    let mut text = String::with_capacity(8);
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (result, ..) = decoder.decode_to_string_without_replacement(code, &mut text, true);
    (result == DecoderResult::InputEmpty).then(|| text.chars().next()).flatten()
}

impl CodeTable {
    /// The table of a set with these codes, in order, which browsers read by `encoding`.
    pub fn new(
        encoding: &'static Encoding,
        pairs: impl Iterator<Item = [u8; 2]> + Clone,
        differences: &Differences,
    ) -> CodeTable {
        let mut characters = vec![None; FIRSTS * SECONDS];
        // The character of the next code of a range.
        let mut following = None;
        for code in pairs.clone() {
            let number = u16::from_be_bytes(code);
            let is_in = |first: u16, last: u16| (first..=last).contains(&number);
            let range = differences.other.iter().find(|(first, last, _)| is_in(*first, *last));
            let character = match range {
                Some((first, _, start)) => {
                    let place = following.filter(|_| number != *first).unwrap_or(*start);
                    following = Some(place + 1);
                    char::from_u32(place)
                }
                None if differences.without.iter().any(|(first, last)| is_in(*first, *last)) => None,
                None => assigned(encoding, &code),
            };
            if let Some(slot) = place(code).and_then(|place| characters.get_mut(place)) {
                *slot = character;
            }
        }
        let mut codes = FxHashMap::default();
        for code in pairs {
            if let Some(character) = place(code).and_then(|place| characters[place]) {
                codes.entry(character).or_insert(code);
            }
        }
        CodeTable { characters, codes }
    }

    /// The character of a code.
    pub fn character(&self, code: [u8; 2]) -> Option<char> {
        place(code).and_then(|place| self.characters.get(place).copied().flatten())
    }

    /// The code of a character.
    pub fn code(&self, character: char) -> Option<[u8; 2]> {
        self.codes.get(&character).copied()
    }
}

/// The place of a code in a table.
fn place([first, second]: [u8; 2]) -> Option<usize> {
    let (row, column) = (first.checked_sub(FIRST_MIN)?, second.checked_sub(SECOND_MIN)?);
    (usize::from(row) < FIRSTS && usize::from(column) < SECONDS)
        .then(|| usize::from(row) * SECONDS + usize::from(column))
}
