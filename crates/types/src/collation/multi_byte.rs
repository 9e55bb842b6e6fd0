//! Character sets of East Asia: characters of one to three bytes, by the tables that browsers have (`encoding_rs`), or by those of
//! `code_table` where these are others.
//!
//! Browsers decode Japanese as Windows does, which is the same as `eucjpms` and `cp932`. `ujis` and `sjis` follow JIS X 0208: six
//! characters differ, and the characters that Windows adds do not exist. User-defined characters are private-use ones from U+E000 on.
//!
//! A column of such a set accepts every well-formed code, as in MySQL, even one without a character. Text is UTF-8 inside the server,
//! so such a code is stored as a private-use character of planes 15 and 16, and becomes the same bytes again.

use super::code_table::{
    BIG5_DIFFERENCES, CodeTable, Differences, GB2312_DIFFERENCES, GBK_DIFFERENCES, assigned, code_of_euc_ibm, euc_ibm,
};
use encoding_rs::{DecoderResult, Encoding};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Codes of two bytes begin here.
const PLANE_OF_TWO: u32 = 0x10_0000;
/// Codes of three bytes, which all begin with [`THREE_BYTES`], begin here.
const PLANE_OF_THREE: u32 = 0xF_0000;
/// What begins a code of three bytes in `ujis` and `eucjpms`: one of JIS X 0212.
const THREE_BYTES: u8 = 0x8F;

/// Characters of JIS X 0212, which browsers read and never write.
static JIS_X_0212: LazyLock<FxHashMap<char, [u8; 3]>> = LazyLock::new(|| {
    let mut codes = FxHashMap::default();
    for second in 0xA1..=0xFE {
        for third in 0xA1..=0xFE {
            let code = [THREE_BYTES, second, third];
            if let Some(character) = assigned(encoding_rs::EUC_JP, &code) {
                codes.insert(character, code);
            }
        }
    }
    codes
});

/// The private-use character that stands for a code without one.
fn kept(code: &[u8]) -> Option<char> {
    match *code {
        [first, second] => char::from_u32(PLANE_OF_TWO + u32::from(u16::from_be_bytes([first, second]))),
        [THREE_BYTES, second, third] => char::from_u32(PLANE_OF_THREE + u32::from(u16::from_be_bytes([second, third]))),
        _ => None,
    }
}

/// What Windows has in place of characters of JIS X 0208, and these. Its backslash of full width is left as it is: in MySQL that becomes the
/// one of ASCII and never comes back.
const WINDOWS_AND_JIS: [(char, char); 6] = [
    ('\u{ff5e}', '\u{301c}'),
    ('\u{2225}', '\u{2016}'),
    ('\u{ff0d}', '\u{2212}'),
    ('\u{ffe0}', '\u{a2}'),
    ('\u{ffe1}', '\u{a3}'),
    ('\u{ffe2}', '\u{ac}'),
];

/// What Windows has in place of the broken bar of JIS X 0212.
const WINDOWS_BROKEN_BAR: char = '\u{ffe4}';

/// Codes of EUC-JP with the same first byte, and so many of these that users define.
const EUC_ROW: u32 = 94;
const EUC_USER_ROWS: u32 = 10;
/// The first byte of those (the second one behind [`THREE_BYTES`]).
const EUC_USER_FIRST: u8 = 0xF5;
const USER_CHARACTERS: u32 = 0xE000;

/// The character of a code of EUC-JP that users define.
fn user_defined_of_euc(code: &[u8]) -> Option<char> {
    let (before, row, column) = match *code {
        [row, column] => (0, row, column),
        [THREE_BYTES, row, column] => (EUC_USER_ROWS * EUC_ROW, row, column),
        _ => return None,
    };
    let row = row.checked_sub(EUC_USER_FIRST)?;
    char::from_u32(USER_CHARACTERS + before + u32::from(row) * EUC_ROW + u32::from(column.checked_sub(0xA1)?))
}

/// The code in EUC-JP of a character that users define.
fn euc_of_user_defined(character: char, out: &mut Vec<u8>) -> bool {
    let Some(place) = u32::from(character).checked_sub(USER_CHARACTERS) else { return false };
    if place >= 2 * EUC_USER_ROWS * EUC_ROW {
        return false;
    }
    let (half, place) = (place / (EUC_USER_ROWS * EUC_ROW), place % (EUC_USER_ROWS * EUC_ROW));
    if half == 1 {
        out.push(THREE_BYTES);
    }
    // Both are below 94.
    out.extend([EUC_USER_FIRST + (place / EUC_ROW) as u8, 0xA1 + (place % EUC_ROW) as u8]);
    true
}

/// The code of a character that users of Shift_JIS define (from 0xF040 on), which browsers read and never write.
fn user_defined(character: char) -> Option<[u8; 2]> {
    /// Codes with the same first byte.
    const ROW: u32 = 188;
    let place = u32::from(character).checked_sub(0xE000).filter(|place| *place < 10 * ROW)?;
    let (row, column) = (place / ROW, place % ROW);
    // 0x7F is no second byte.
    let second = if column < 63 { 0x40 + column } else { 0x41 + column };
    Some([u8::try_from(0xF0 + row).ok()?, u8::try_from(second).ok()?])
}

/// Such a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MultiByteSet {
    Big5,
    /// `ujis`.
    EucJp,
    /// `eucjpms`.
    EucJpMs,
    EucKr,
    Gb18030,
    Gb2312,
    Gbk,
    /// `sjis`.
    ShiftJis,
    /// `cp932`.
    ShiftJisMs,
}

static BIG5: LazyLock<CodeTable> = LazyLock::new(|| MultiByteSet::Big5.make_table(&BIG5_DIFFERENCES));
static GB2312: LazyLock<CodeTable> = LazyLock::new(|| MultiByteSet::Gb2312.make_table(&GB2312_DIFFERENCES));
static GBK: LazyLock<CodeTable> = LazyLock::new(|| MultiByteSet::Gbk.make_table(&GBK_DIFFERENCES));

/// How many bytes the first character has by the rules of the set. `None` if it is malformed.
fn well_formed(set: MultiByteSet, bytes: &[u8]) -> Option<usize> {
    use MultiByteSet as Set;
    let is_pair =
        |first: bool, second: fn(u8) -> bool| (first && bytes.get(1).is_some_and(|byte| second(*byte))).then_some(2);
    let high = |byte: u8| (0xA1..=0xFE).contains(&byte);
    match (set, *bytes.first()?) {
        (_, 0..=0x7F) => Some(1),
        (Set::EucJp | Set::EucJpMs, 0x8E) => is_pair(true, |byte| (0xA1..=0xDF).contains(&byte)),
        (Set::EucJp | Set::EucJpMs, THREE_BYTES) => (bytes.len() > 2 && high(bytes[1]) && high(bytes[2])).then_some(3),
        (Set::EucJp | Set::EucJpMs, first) => is_pair(high(first), |byte| (0xA1..=0xFE).contains(&byte)),
        (Set::ShiftJis | Set::ShiftJisMs, 0xA1..=0xDF) => Some(1),
        (Set::ShiftJis | Set::ShiftJisMs, first) => {
            is_pair(matches!(first, 0x81..=0x9F | 0xE0..=0xFC), |byte| matches!(byte, 0x40..=0x7E | 0x80..=0xFC))
        }
        (Set::Gb2312, first) => is_pair(matches!(first, 0xA1..=0xF7), |byte| (0xA1..=0xFE).contains(&byte)),
        (Set::Big5, first) => is_pair(matches!(first, 0xA1..=0xF9), |byte| matches!(byte, 0x40..=0x7E | 0xA1..=0xFE)),
        (Set::EucKr, first) => {
            is_pair(matches!(first, 0x81..=0xFE), |byte| matches!(byte, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE))
        }
        (Set::Gbk, first) => is_pair(matches!(first, 0x81..=0xFE), |byte| matches!(byte, 0x40..=0x7E | 0x80..=0xFE)),
        // All its codes have characters; those of four bytes are left to the tables.
        _ => None,
    }
}

impl MultiByteSet {
    /// All well-formed codes of two bytes, in order.
    fn pairs(self) -> impl Iterator<Item = [u8; 2]> + Clone {
        let all = (0x81..=0xFE).flat_map(|first| (0x40..=0xFE).map(move |second| [first, second]));
        all.filter(move |code| well_formed(self, code) == Some(2))
    }

    fn make_table(self, differences: &Differences) -> CodeTable {
        CodeTable::new(self.encoding(), self.pairs(), differences)
    }

    /// The table of its own, if browsers have another.
    fn table(self) -> Option<&'static CodeTable> {
        match self {
            MultiByteSet::Big5 => Some(&BIG5),
            MultiByteSet::Gb2312 => Some(&GB2312),
            MultiByteSet::Gbk => Some(&GBK),
            _ => None,
        }
    }

    /// What browsers read it by.
    fn encoding(self) -> &'static Encoding {
        match self {
            MultiByteSet::Big5 => encoding_rs::BIG5,
            MultiByteSet::EucJp | MultiByteSet::EucJpMs => encoding_rs::EUC_JP,
            MultiByteSet::EucKr => encoding_rs::EUC_KR,
            MultiByteSet::Gb18030 => encoding_rs::GB18030,
            MultiByteSet::Gb2312 | MultiByteSet::Gbk => encoding_rs::GBK,
            MultiByteSet::ShiftJis | MultiByteSet::ShiftJisMs => encoding_rs::SHIFT_JIS,
        }
    }

    /// Whether it is what browsers read.
    fn is_of_browsers(self) -> bool {
        matches!(self, MultiByteSet::EucKr | MultiByteSet::Gb18030 | MultiByteSet::ShiftJisMs)
    }

    /// The character of a well-formed code, if one is assigned to it.
    fn character(self, code: &[u8]) -> Option<char> {
        if let [byte @ ..0x80] = *code {
            return Some(char::from(byte));
        }
        if let Some(table) = self.table() {
            return table.character(code.try_into().ok()?);
        }
        let is_jis = match (self, code) {
            (
                MultiByteSet::EucJp | MultiByteSet::EucJpMs,
                [EUC_USER_FIRST..=0xFF, _] | [THREE_BYTES, EUC_USER_FIRST..=0xFF, _],
            ) => {
                return user_defined_of_euc(code);
            }
            (MultiByteSet::EucJpMs, [THREE_BYTES, 0xA2, 0xC3]) => return Some(WINDOWS_BROKEN_BAR),
            (MultiByteSet::EucJpMs, [THREE_BYTES, row @ (0xF3 | 0xF4), column]) => return euc_ibm([*row, *column]),
            // NEC's characters, and IBM's.
            (MultiByteSet::EucJp, [0xAD, _] | [THREE_BYTES, 0xF3 | 0xF4, _]) => return None,
            (MultiByteSet::ShiftJis, [0x87 | 0xED | 0xEE | 0xF0..=0xFF, _]) => return None,
            (MultiByteSet::EucJp | MultiByteSet::ShiftJis, [_, _]) => true,
            _ => false,
        };
        let character = assigned(self.encoding(), code)?;
        let jis = WINDOWS_AND_JIS.iter().find(|(windows, _)| is_jis && *windows == character);
        Some(jis.map_or(character, |(_, jis)| *jis))
    }

    /// Decodes bytes of the set; malformed ones become `?`. Also gives the position of the first malformed one.
    pub fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, Option<usize>) {
        let encoding = self.encoding();
        if (self.is_of_browsers() || bytes.is_ascii())
            && let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes)
        {
            return (text, None);
        }
        if !self.is_of_browsers() {
            return self.decode_by_codes(bytes);
        }
        let (mut text, mut at, mut invalid_at) = (String::new(), 0, None);
        while at < bytes.len() {
            // What has characters is read at once, up to the first code that has none.
            let mut decoder = encoding.new_decoder_without_bom_handling();
            text.reserve(decoder.max_utf8_buffer_length_without_replacement(bytes.len() - at).unwrap_or(0));
            let (result, read) = decoder.decode_to_string_without_replacement(&bytes[at..], &mut text, true);
            let DecoderResult::Malformed(malformed, behind) = result else { break };
            at += read - usize::from(malformed) - usize::from(behind);
            let rest = &bytes[at..];
            let code = well_formed(self, rest).map(|length| &rest[..length]);
            let character = code.and_then(kept);
            if character.is_none() {
                invalid_at = invalid_at.or(Some(at));
            }
            text.push(character.unwrap_or('?'));
            at += code.filter(|_| character.is_some()).map_or(1, <[u8]>::len);
        }
        (Cow::Owned(text), invalid_at)
    }

    /// As [`decode`](Self::decode), code by code.
    fn decode_by_codes(self, bytes: &[u8]) -> (Cow<'static, str>, Option<usize>) {
        let (mut text, mut at, mut invalid_at) = (String::with_capacity(bytes.len()), 0, None);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let code = well_formed(self, rest).map(|length| &rest[..length]);
            let character = code.and_then(|code| self.character(code).or_else(|| kept(code)));
            if character.is_none() {
                invalid_at = invalid_at.or(Some(at));
            }
            text.push(character.unwrap_or('?'));
            at += code.filter(|_| character.is_some()).map_or(1, <[u8]>::len);
        }
        (Cow::Owned(text), invalid_at)
    }

    /// Appends the bytes of a character, if the set has it.
    pub fn encode(self, character: char, out: &mut Vec<u8>) -> bool {
        let (code, encoding) = (u32::from(character), self.encoding());
        if code >= PLANE_OF_THREE {
            let [_, _, first, second] = code.to_be_bytes();
            let (three, two) = ([THREE_BYTES, first, second], [first, second]);
            let bytes = if code < PLANE_OF_TWO { &three[..] } else { &two[..] };
            // Only what has no character is kept that way.
            if well_formed(self, bytes) == Some(bytes.len()) && self.character(bytes).is_none() {
                out.extend_from_slice(bytes);
                return true;
            }
        }
        if let Some(table) = self.table() {
            match (u8::try_from(character), table.code(character)) {
                (Ok(byte @ ..0x80), _) => out.push(byte),
                (_, Some(code)) => out.extend(code),
                _ => return false,
            }
            return true;
        }
        let is_jis = matches!(self, MultiByteSet::EucJp | MultiByteSet::ShiftJis);
        let windows = WINDOWS_AND_JIS.iter().find(|(_, jis)| is_jis && *jis == character);
        let sought = windows.map_or(character, |(windows, _)| *windows);
        let mut buffer = [0; 4];
        let (bytes, _, unmappable) = encoding.encode(sought.encode_utf8(&mut buffer));
        if !unmappable && (self.is_of_browsers() || self.character(&bytes) == Some(character)) {
            out.extend_from_slice(&bytes);
            return true;
        }
        match self {
            MultiByteSet::EucJp | MultiByteSet::EucJpMs if euc_of_user_defined(character, out) => true,
            MultiByteSet::EucJp | MultiByteSet::EucJpMs => {
                let of_jis = JIS_X_0212.get(&character).copied().filter(|code| self.character(code) == Some(character));
                let of_windows = || match character {
                    WINDOWS_BROKEN_BAR => Some([0xA2, 0xC3]),
                    character => code_of_euc_ibm(character),
                };
                let is_of_windows = self == MultiByteSet::EucJpMs;
                let code = of_jis.or_else(|| {
                    of_windows().filter(|_| is_of_windows).map(|[second, third]| [THREE_BYTES, second, third])
                });
                code.is_some_and(|code| {
                    out.extend_from_slice(&code);
                    true
                })
            }
            MultiByteSet::ShiftJisMs => user_defined(character).is_some_and(|code| {
                out.extend_from_slice(&code);
                true
            }),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MultiByteSet as Set;

    #[test]
    fn every_well_formed_code_comes_back() {
        let japanese = [Set::EucJp, Set::EucJpMs, Set::ShiftJis, Set::ShiftJisMs];
        for set in [Set::Big5, Set::EucKr, Set::Gb2312, Set::Gbk].into_iter().chain(japanese) {
            let pairs = (0x81..=0xFEu8).flat_map(|first| (0x40..=0xFEu8).map(move |second| vec![first, second]));
            let high = 0xA1..=0xFEu8;
            let triples =
                high.clone().flat_map(|second| high.clone().map(move |third| vec![THREE_BYTES, second, third]));
            let mut duplicates = 0;
            for code in pairs.chain(triples).filter(|code| well_formed(set, code) == Some(code.len())) {
                let (text, invalid_at) = set.decode(&code);
                assert_eq!(invalid_at, None, "{set:?} {code:x?}");
                let mut encoded = Vec::new();
                assert!(text.chars().all(|character| set.encode(character, &mut encoded)), "{set:?} {code:x?}");
                // Of several codes of one character one comes back.
                duplicates += usize::from(encoded != code);
            }
            assert!(duplicates < 1000, "{set:?}: {duplicates}");
        }
    }

    #[test]
    fn japanese_is_by_jis_or_by_windows() {
        let decoded = |set: Set, code: &[u8]| set.decode(code).0.into_owned();
        for (euc, shift_jis, jis, windows) in [
            (b"\xA1\xC1", b"\x81\x60", "\u{301c}", "\u{ff5e}"),
            (b"\xA1\xDD", b"\x81\x7C", "\u{2212}", "\u{ff0d}"),
            (b"\xA2\xCC", b"\x81\xCA", "\u{ac}", "\u{ffe2}"),
        ] {
            assert_eq!(decoded(Set::EucJp, euc), jis);
            assert_eq!(decoded(Set::EucJpMs, euc), windows);
            assert_eq!(decoded(Set::ShiftJis, shift_jis), jis);
            assert_eq!(decoded(Set::ShiftJisMs, shift_jis), windows);
        }
        assert_eq!(decoded(Set::EucJpMs, b"\xAD\xA1"), "①");
        // Those of IBM, and the broken bar of Windows.
        for (code, character) in [
            (&b"\x8F\xF3\xF3"[..], "ⅰ"),
            (b"\x8F\xF3\xFC", "ⅹ"),
            (b"\x8F\xF4\xA9", "＇"),
            (b"\x8F\xF4\xFE", "黑"),
            (b"\x8F\xA2\xC3", "￤"),
        ] {
            assert_eq!(decoded(Set::EucJpMs, code), character);
            let mut encoded = Vec::new();
            assert!(character.chars().all(|character| Set::EucJpMs.encode(character, &mut encoded)));
            assert_eq!(encoded, code);
        }
        assert_eq!(decoded(Set::ShiftJisMs, b"\x87\x40"), "①");
        assert!(!Set::EucJp.encode('①', &mut Vec::new()) && !Set::ShiftJis.encode('①', &mut Vec::new()));
        for (code, character) in [
            (&b"\xF5\xA1"[..], "\u{e000}"),
            (b"\xFE\xFE", "\u{e3ab}"),
            (b"\x8F\xF5\xA1", "\u{e3ac}"),
            (b"\x8F\xFE\xFE", "\u{e757}"),
        ] {
            assert_eq!((decoded(Set::EucJp, code), decoded(Set::EucJpMs, code)), (character.into(), character.into()));
        }
    }

    #[test]
    fn kept_codes_are_of_their_set_and_malformed_ones_are_told() {
        let (text, invalid_at) = Set::EucJp.decode(b"a\xA2\xAFb");
        assert_eq!((text.chars().count(), invalid_at), (3, None));
        assert_eq!(Set::EucJp.decode(b"a\xA2").1, Some(1));
        assert_eq!(Set::EucJp.decode(b"\xA1\xA1\xA2\x20").1, Some(2));
        let mut bytes = Vec::new();
        assert!(Set::EucJp.encode('\u{a6}', &mut bytes));
        assert_eq!(bytes, [THREE_BYTES, 0xA2, 0xC3]);
        assert!(!Set::ShiftJis.encode('\u{a6}', &mut bytes));
    }

    /// Some codes, with what MariaDB has for them, by `SELECT HEX(CONVERT(v USING utf8mb4))`.
    #[test]
    fn codes_have_the_characters_of_mysql() {
        let character = |set: Set, code: u16| set.table().and_then(|table| table.character(code.to_be_bytes()));
        for (set, code, expected) in [
            (Set::Big5, 0xA145, Some('\u{2022}')),
            (Set::Big5, 0xA247, Some('\u{a3}')),
            (Set::Big5, 0xC6FE, Some('\u{30a7}')),
            (Set::Big5, 0xC740, Some('\u{30a8}')),
            (Set::Big5, 0xC7B0, Some('\u{30f6}')),
            (Set::Big5, 0xC7FC, Some('\u{247d}')),
            (Set::Big5, 0xC940, Some('\u{4e42}')),
            (Set::Big5, 0xF9D5, Some('\u{9f98}')),
            (Set::Big5, 0xA3C0, None),
            (Set::Big5, 0x8740, None),
            (Set::Gb2312, 0xA1A4, Some('\u{30fb}')),
            (Set::Gb2312, 0xB0A1, Some('\u{554a}')),
            (Set::Gb2312, 0xA2A1, None),
            (Set::Gb2312, 0x8140, None),
            (Set::Gbk, 0x8140, Some('\u{4e02}')),
            (Set::Gbk, 0xA1A4, Some('\u{b7}')),
            (Set::Gbk, 0xA2A1, Some('\u{2170}')),
            (Set::Gbk, 0xA8BF, None),
            (Set::Gbk, 0xFE50, None),
        ] {
            assert_eq!(character(set, code), expected, "{set:?} {code:x}");
        }
    }

    /// The number of codes that have characters in MariaDB, and a digest of them and their characters.
    #[test]
    fn all_codes_are_as_in_mysql() {
        for (set, count, digest) in [
            (Set::Big5, 13_710, 11_651_888_081_032_865_657_u64),
            (Set::Gb2312, 7_445, 5_027_016_817_720_064_531),
            (Set::Gbk, 21_791, 16_254_910_019_923_762_943),
        ] {
            let table = set.table().expect("a table");
            let assigned = set.pairs().filter_map(|code| Some((code, table.character(code)?)));
            let mut found = (0, 0_u64);
            for (code, character) in assigned {
                let code_and_character = u64::from(u16::from_be_bytes(code)) * 65_599 + u64::from(character);
                found = (found.0 + 1, found.1.wrapping_mul(31).wrapping_add(code_and_character));
                assert_eq!(table.code(character), Some(code), "{set:?} {code:x?}");
            }
            assert_eq!(found, (count, digest), "{set:?}");
        }
    }
}
