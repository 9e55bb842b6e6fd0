//! Character sets: names, default collations, and conversion to and from UTF-8.

use super::CollationId;
use super::charset_data::EIGHT_BIT;
use super::multi_byte::MultiByteSet;
use crate::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A character set. Strings are UTF-8 inside; the set decides which characters a column takes and how bytes look at the rim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// `utf8mb4`.
    Utf8mb4,
    /// `utf8mb3`.
    Utf8mb3,
    /// `latin1` (Windows-1252).
    Latin1,
    /// `ascii`.
    Ascii,
    /// `binary`.
    Binary,
    /// `ucs2`: two bytes for each character of the basic plane.
    Ucs2,
    /// `utf16`, big-endian.
    Utf16,
    /// `utf16le`.
    Utf16le,
    /// `utf32`, big-endian.
    Utf32,
    /// `big5`.
    Big5,
    /// `gb2312`.
    Gb2312,
    /// `gbk`.
    Gbk,
    /// `gb18030`.
    Gb18030,
    /// `sjis`.
    Sjis,
    /// `cp932`.
    Cp932,
    /// `ujis`.
    Ujis,
    /// `eucjpms`.
    Eucjpms,
    /// `euckr`.
    Euckr,
    /// One of the other eight-bit sets, by its place in the table of them.
    EightBit(u8),
}

/// The sets that are no eight-bit ones: name, description, default collation, most bytes for a character.
const NAMED: [(Charset, &str, &str, u16, u8); 18] = [
    (Charset::Utf8mb4, "utf8mb4", "UTF-8 Unicode", 255, 4),
    (Charset::Utf8mb3, "utf8mb3", "UTF-8 Unicode", 33, 3),
    (Charset::Latin1, "latin1", "cp1252 West European", 8, 1),
    (Charset::Ascii, "ascii", "US ASCII", 11, 1),
    (Charset::Binary, "binary", "Binary pseudo charset", 63, 1),
    (Charset::Ucs2, "ucs2", "UCS-2 Unicode", 35, 2),
    (Charset::Utf16, "utf16", "UTF-16 Unicode", 54, 4),
    (Charset::Utf16le, "utf16le", "UTF-16LE Unicode", 56, 4),
    (Charset::Utf32, "utf32", "UTF-32 Unicode", 60, 4),
    (Charset::Big5, "big5", "Big5 Traditional Chinese", 1, 2),
    (Charset::Gb2312, "gb2312", "GB2312 Simplified Chinese", 24, 2),
    (Charset::Gbk, "gbk", "GBK Simplified Chinese", 28, 2),
    (Charset::Gb18030, "gb18030", "China National Standard GB18030", 248, 4),
    (Charset::Sjis, "sjis", "Shift-JIS Japanese", 13, 2),
    (Charset::Cp932, "cp932", "SJIS for Windows Japanese", 95, 2),
    (Charset::Ujis, "ujis", "EUC-JP Japanese", 12, 3),
    (Charset::Eucjpms, "eucjpms", "UJIS for Windows Japanese", 97, 3),
    (Charset::Euckr, "euckr", "EUC-KR Korean", 19, 2),
];

/// Descriptions and default collations of the eight-bit sets.
const EIGHT_BIT_NAMES: [(&str, &str, u16); 23] = [
    ("armscii8", "ARMSCII-8 Armenian", 32),
    ("cp1250", "Windows Central European", 26),
    ("cp1251", "Windows Cyrillic", 51),
    ("cp1256", "Windows Arabic", 57),
    ("cp1257", "Windows Baltic", 59),
    ("cp850", "DOS West European", 4),
    ("cp852", "DOS Central European", 40),
    ("cp866", "DOS Russian", 36),
    ("dec8", "DEC West European", 3),
    ("geostd8", "GEOSTD8 Georgian", 92),
    ("greek", "ISO 8859-7 Greek", 25),
    ("hebrew", "ISO 8859-8 Hebrew", 16),
    ("hp8", "HP West European", 6),
    ("keybcs2", "DOS Kamenicky Czech-Slovak", 37),
    ("koi8r", "KOI8-R Relcom Russian", 7),
    ("koi8u", "KOI8-U Ukrainian", 22),
    ("latin2", "ISO 8859-2 Central European", 9),
    ("latin5", "ISO 8859-9 Turkish", 30),
    ("latin7", "ISO 8859-13 Baltic", 41),
    ("macce", "Mac Central European", 38),
    ("macroman", "Mac West European", 39),
    ("swe7", "7bit Swedish", 10),
    ("tis620", "TIS620 Thai", 18),
];

/// The characters of an eight-bit set and the way back.
pub(super) struct EightBitTable {
    /// Character of each byte; U+FFFD for none.
    characters: [char; 256],
    /// Characters outside ASCII (all for swe7), ordered, with their bytes.
    bytes: Vec<(char, u8)>,
}

impl EightBitTable {
    fn new(digits: &str) -> EightBitTable {
        let mut characters: [char; 256] = std::array::from_fn(|byte| char::from(byte as u8));
        let codes = digits.as_bytes().chunks_exact(4).filter_map(|code| std::str::from_utf8(code).ok());
        let first = 256 - digits.len() / 4;
        for (character, code) in characters[first..].iter_mut().zip(codes) {
            *character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32).unwrap_or('\u{FFFD}');
        }
        let pairs = characters.iter().zip(0u8..=255).map(|(character, byte)| (*character, byte));
        let mut bytes: Vec<_> = pairs.filter(|(character, _)| *character != '\u{FFFD}').collect();
        bytes.sort_unstable();
        bytes.dedup_by_key(|(character, _)| *character);
        EightBitTable { characters, bytes }
    }

    /// The byte of a character.
    pub(super) fn byte_of(&self, character: char) -> Option<u8> {
        if character.is_ascii() && self.characters[character as usize] == character {
            return Some(character as u8);
        }
        let at = self.bytes.binary_search_by_key(&character, |(known, _)| *known).ok()?;
        Some(self.bytes[at].1)
    }
}

/// The tables in the order of [`EIGHT_BIT_NAMES`], `latin1` last.
static TABLES: LazyLock<Vec<EightBitTable>> = LazyLock::new(|| {
    let names = EIGHT_BIT_NAMES.iter().map(|(name, ..)| *name).chain(["latin1"]);
    names
        .map(|name| {
            let digits = EIGHT_BIT.iter().find(|(known, _)| *known == name).map_or("", |(_, digits)| digits);
            EightBitTable::new(digits)
        })
        .collect()
});

/// Text decoded from bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text; what was malformed or stands for no character is `?`.
    pub text: Cow<'a, str>,
    /// Offset of the first byte that is no part of a character.
    pub invalid_at: Option<usize>,
}

impl Charset {
    /// Every character set.
    pub fn all() -> impl Iterator<Item = Charset> {
        let eight_bit = (0..EIGHT_BIT_NAMES.len()).map(|at| Charset::EightBit(at as u8));
        NAMED.iter().map(|(charset, ..)| *charset).chain(eight_bit)
    }

    /// The character set that a statement names.
    ///
    /// # Errors
    /// 1115 for an unknown one.
    pub fn named(name: &str) -> SqlResult<Charset> {
        Charset::from_name(name).ok_or_else(|| SqlError::new(ErrorCode::UnknownCharacterSet, &[&name]))
    }

    /// The set of a name, in any case; `utf8` is `utf8mb3` as in MySQL 8.4.
    pub fn from_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Charset::all().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    fn facts(self) -> (&'static str, &'static str, u16, u8) {
        if let Charset::EightBit(at) = self {
            let (name, description, default) =
                EIGHT_BIT_NAMES.get(usize::from(at)).copied().unwrap_or(("latin1", "", 8));
            return (name, description, default, 1);
        }
        let found = NAMED.iter().find(|(charset, ..)| *charset == self);
        found.map_or(("utf8mb4", "", 255, 4), |(_, name, description, default, bytes)| {
            (*name, *description, *default, *bytes)
        })
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// As `SHOW CHARACTER SET` describes it.
    pub fn description(self) -> &'static str {
        self.facts().1
    }

    /// The default collation.
    pub fn default_collation(self) -> CollationId {
        CollationId(self.facts().2)
    }

    /// Most bytes that a character takes in the set.
    pub fn bytes_per_character_max(self) -> u32 {
        u32::from(self.facts().3)
    }

    /// Fewest bytes that a character takes in the set.
    pub fn bytes_per_character_min(self) -> usize {
        match self {
            Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le => 2,
            Charset::Utf32 => 4,
            _ => 1,
        }
    }

    /// Whether bytes below 0x80 are ASCII characters and nothing else.
    pub fn is_ascii_compatible(self) -> bool {
        let wide = matches!(self, Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32);
        !wide && self.name() != "swe7"
    }

    /// The table of an eight-bit set.
    pub(super) fn eight_bit_table(self) -> Option<&'static EightBitTable> {
        match self {
            Charset::Latin1 => TABLES.last(),
            Charset::EightBit(at) => TABLES.get(usize::from(at)),
            _ => None,
        }
    }

    fn multi_byte(self) -> Option<MultiByteSet> {
        Some(match self {
            Charset::Big5 => MultiByteSet::Big5,
            Charset::Gb2312 => MultiByteSet::Gb2312,
            Charset::Gbk => MultiByteSet::Gbk,
            Charset::Gb18030 => MultiByteSet::Gb18030,
            Charset::Sjis => MultiByteSet::ShiftJis,
            Charset::Cp932 => MultiByteSet::ShiftJisMs,
            Charset::Ujis => MultiByteSet::EucJp,
            Charset::Eucjpms => MultiByteSet::EucJpMs,
            Charset::Euckr => MultiByteSet::EucKr,
            _ => return None,
        })
    }

    /// Whether the set has the character.
    pub fn has(self, character: char) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32 | Charset::Gb18030 => true,
            Charset::Utf8mb3 | Charset::Ucs2 => u32::from(character) < 0x1_0000,
            Charset::Ascii => character.is_ascii(),
            Charset::Binary => true,
            Charset::Latin1 | Charset::EightBit(_) => {
                self.eight_bit_table().is_some_and(|table| table.byte_of(character).is_some())
            }
            _ => character.is_ascii() || self.encode_character(character, &mut Vec::with_capacity(4)),
        }
    }

    /// Whether the set has every character of a text.
    pub fn has_all(self, text: &str) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Binary)
            || text.is_ascii() && self.is_ascii_compatible()
            || text.chars().all(|character| self.has(character))
    }

    /// Bytes of the set to text.
    pub fn decode(self, bytes: &[u8]) -> Decoded<'_> {
        if self.is_ascii_compatible() && bytes.is_ascii() {
            return decode_utf8(bytes);
        }
        match self {
            Charset::Utf8mb4 => decode_utf8(bytes),
            Charset::Utf8mb3 => decode_units(bytes, utf8mb3_unit),
            Charset::Ascii => decode_units(bytes, |bytes| (char::from(bytes[0]).into(), 1, bytes[0].is_ascii())),
            Charset::Ucs2 => decode_units(bytes, |bytes| wide_unit(bytes, 2, u16_big_endian)),
            Charset::Utf32 => decode_units(bytes, |bytes| wide_unit(bytes, 4, u32_big_endian)),
            Charset::Utf16 => decode_units(bytes, |bytes| utf16_unit(bytes, u16_big_endian)),
            Charset::Utf16le => decode_units(bytes, |bytes| utf16_unit(bytes, u16_little_endian)),
            Charset::Latin1 | Charset::EightBit(_) => match self.eight_bit_table() {
                Some(table) => decode_units(bytes, |bytes| {
                    let character = table.characters[usize::from(bytes[0])];
                    (Some(character), 1, character != '\u{FFFD}')
                }),
                None => decode_utf8(bytes),
            },
            // Bytes without a character set are read as Latin-1 code points where text is asked for.
            Charset::Binary => decode_utf8(bytes),
            _ => match self.multi_byte() {
                Some(set) => {
                    let (text, invalid_at) = set.decode(bytes);
                    Decoded { text, invalid_at }
                }
                None => decode_utf8(bytes),
            },
        }
    }

    /// Bytes of the set to text. Bytes of a part of a character at the beginning are its end: zeros are put in front of them.
    pub fn decode_padded(self, bytes: &[u8]) -> Decoded<'_> {
        let missing = bytes.len().next_multiple_of(self.bytes_per_character_min()) - bytes.len();
        if missing == 0 {
            return self.decode(bytes);
        }
        let mut padded = vec![0; missing];
        padded.extend_from_slice(bytes);
        let decoded = self.decode(&padded);
        let invalid_at = decoded.invalid_at.map(|at| at.saturating_sub(missing));
        Decoded { text: Cow::Owned(decoded.text.into_owned()), invalid_at }
    }

    /// Appends the text's bytes in the set; what the set lacks becomes `?`. Gives how many characters that were.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> usize {
        if matches!(self, Charset::Utf8mb4 | Charset::Binary) || (self.is_ascii_compatible() && text.is_ascii()) {
            out.extend_from_slice(text.as_bytes());
            return 0;
        }
        let mut lost = 0;
        for character in text.chars() {
            if !self.encode_character(character, out) {
                lost += 1;
                self.encode_character('?', out);
            }
        }
        lost
    }

    /// Appends one character, unless the set lacks it.
    pub(super) fn encode_character(self, character: char, out: &mut Vec<u8>) -> bool {
        let code = u32::from(character);
        let mut buffer = [0; 4];
        match self {
            Charset::Utf8mb4 | Charset::Binary => out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes()),
            Charset::Utf8mb3 if code < 0x1_0000 => {
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
            Charset::Ascii if code < 0x80 => out.push(code as u8),
            Charset::Ucs2 if code < 0x1_0000 => out.extend_from_slice(&(code as u16).to_be_bytes()),
            Charset::Utf32 => out.extend_from_slice(&code.to_be_bytes()),
            Charset::Utf16 | Charset::Utf16le => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let bytes = if self == Charset::Utf16 { unit.to_be_bytes() } else { unit.to_le_bytes() };
                    out.extend_from_slice(&bytes);
                }
            }
            Charset::Latin1 | Charset::EightBit(_) => match self.eight_bit_table().and_then(|t| t.byte_of(character)) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            _ => {
                return self.multi_byte().is_some_and(|set| set.encode(character, out));
            }
        }
        true
    }
}

fn decode_utf8(bytes: &[u8]) -> Decoded<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Decoded { text: Cow::Borrowed(text), invalid_at: None },
        Err(error) => Decoded {
            text: Cow::Owned(String::from_utf8_lossy(bytes).replace('\u{FFFD}', "?")),
            invalid_at: Some(error.valid_up_to()),
        },
    }
}

/// Decodes with `unit`, which gives for non-empty bytes the character, how many bytes it took and whether it was valid.
fn decode_units<'a>(bytes: &'a [u8], unit: impl Fn(&[u8]) -> (Option<char>, usize, bool)) -> Decoded<'a> {
    let mut text = String::with_capacity(bytes.len());
    let mut invalid_at = None;
    let mut at = 0;
    while at < bytes.len() {
        let (character, length, valid) = unit(&bytes[at..]);
        match character {
            Some(character) if valid => text.push(character),
            _ => {
                invalid_at = invalid_at.or(Some(at));
                text.push('?');
            }
        }
        at += length.max(1);
    }
    Decoded { text: Cow::Owned(text), invalid_at }
}

fn utf8mb3_unit(bytes: &[u8]) -> (Option<char>, usize, bool) {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => return (None, 1, false),
    };
    match bytes.get(..length).and_then(|unit| std::str::from_utf8(unit).ok()) {
        Some(text) => (text.chars().next(), length, true),
        None => (None, 1, false),
    }
}

fn u16_big_endian(bytes: &[u8]) -> Option<u32> {
    Some(u16::from_be_bytes(bytes.get(..2)?.try_into().ok()?).into())
}

fn u16_little_endian(bytes: &[u8]) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?).into())
}

fn u32_big_endian(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

fn wide_unit(bytes: &[u8], length: usize, read: fn(&[u8]) -> Option<u32>) -> (Option<char>, usize, bool) {
    let character = read(bytes).and_then(char::from_u32);
    (character, length, character.is_some())
}

fn utf16_unit(bytes: &[u8], read: fn(&[u8]) -> Option<u32>) -> (Option<char>, usize, bool) {
    let Some(first) = read(bytes) else { return (None, 2, false) };
    if !(0xD800..0xDC00).contains(&first) {
        let character = char::from_u32(first);
        return (character, 2, character.is_some());
    }
    match bytes.get(2..).and_then(read) {
        Some(second @ 0xDC00..0xE000) => {
            let character = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00));
            (character, 4, character.is_some())
        }
        _ => (None, 2, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_defaults() {
        assert_eq!(Charset::all().count(), 41);
        for charset in Charset::all() {
            assert_eq!(Charset::from_name(charset.name()), Some(charset));
            assert_eq!(charset.default_collation().charset(), charset, "{}", charset.name());
            let bin = charset.binary_collation();
            assert!(bin == CollationId::BINARY || bin.charset() == charset);
        }
        assert_eq!(Charset::from_name("UTF8"), Some(Charset::Utf8mb3));
        assert_eq!(Charset::Utf8mb4.binary_collation(), CollationId::UTF8MB4_BIN);
    }

    #[test]
    fn text_round_trips_through_every_set() {
        for charset in Charset::all() {
            let samples = ["plain", "é€Ä", "Привет", "日本語", "한국어", "Ελλάδα", "עברית", "😀"];
            for sample in samples.into_iter().filter(|sample| charset.has_all(sample)) {
                let mut bytes = Vec::new();
                assert_eq!(charset.encode(sample, &mut bytes), 0, "{} {sample}", charset.name());
                let decoded = charset.decode(&bytes);
                assert_eq!((decoded.text.as_ref(), decoded.invalid_at), (sample, None), "{}", charset.name());
            }
        }
    }

    #[test]
    fn conversions_agree_with_mysql() {
        let encoded = |charset: &str, text: &str| {
            let mut bytes = Vec::new();
            let lost = Charset::from_name(charset).unwrap().encode(text, &mut bytes);
            (bytes, lost)
        };
        assert_eq!(encoded("latin1", "é€日"), (vec![0xE9, 0x80, b'?'], 1));
        assert_eq!(encoded("utf16", "a😀"), (vec![0, 0x61, 0xD8, 0x3D, 0xDE, 0x00], 0));
        assert_eq!(encoded("ucs2", "a😀"), (vec![0, 0x61, 0, b'?'], 1));
        assert_eq!(encoded("koi8r", "Я"), (vec![0xF1], 0));
        assert_eq!(encoded("sjis", "日"), (vec![0x93, 0xFA], 0));
        assert_eq!(encoded("utf8mb3", "😀"), (vec![b'?'], 1));
    }

    #[test]
    fn malformed_bytes_are_located() {
        assert_eq!(Charset::Utf8mb4.decode(b"ab\xFFc").invalid_at, Some(2));
        assert_eq!(Charset::Utf8mb3.decode("a😀".as_bytes()).invalid_at, Some(1));
        assert_eq!(Charset::Ascii.decode(b"ab\x80").invalid_at, Some(2));
        assert_eq!(Charset::Sjis.decode(b"ab\x81").invalid_at, Some(2));
        assert_eq!(Charset::Utf16.decode(b"\xD8\x00\x00").text, "??");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..20)) {
            for charset in Charset::all() {
                let _ = charset.decode(&bytes);
            }
        }
    }
}
