//! Strings with an introducer: a character set before the string.

use std::ops::Range;

use crate::ParseOptions;
use crate::lexer::Lexer;
use crate::token::TokenKind;

/// The character sets that can introduce a literal.
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932",
    "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r",
    "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis",
    "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
];

/// The longest of the words, with its underscore.
const INTRODUCER_BYTES_MAX: usize = 9;

/// The character set that a word like `_utf8mb4` names.
pub(crate) fn introduced_charset(word: &[u8]) -> Option<&'static str> {
    let name = word.strip_prefix(b"_")?;
    CHARSETS.iter().find(|charset| charset.as_bytes().eq_ignore_ascii_case(name)).copied()
}

/// The strings after introducers such as `_latin1` and `_binary`, with their quotes, in order. Their bytes are their value, in any
/// character set of the text.
///
/// Costs one pass over the bytes if there are none.
pub fn introduced_strings(sql: &[u8], options: &ParseOptions) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if u32::try_from(sql.len()).is_err() || !memchr::memchr_iter(b'_', sql).any(|at| begins_with_introducer(&sql[at..]))
    {
        return found;
    }
    let mut lexer = Lexer::new(sql, options);
    let mut is_introduced = false;
    loop {
        let token = lexer.next();
        let span = token.start as usize..token.end as usize;
        match token.kind {
            TokenKind::Eof | TokenKind::Invalid => return found,
            // Strings side by side are one.
            TokenKind::String if is_introduced => found.push(span),
            _ => is_introduced = introduced_charset(&sql[span]).is_some(),
        }
    }
}

fn begins_with_introducer(text: &[u8]) -> bool {
    let text = &text[..text.len().min(INTRODUCER_BYTES_MAX + 1)];
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    introduced_charset(&text[..end]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &[u8]) -> Vec<&[u8]> {
        introduced_strings(sql, &ParseOptions::default()).into_iter().map(|span| &sql[span]).collect()
    }

    #[test]
    fn the_longest_word_is_known() {
        assert_eq!(CHARSETS.iter().map(|charset| charset.len() + 1).max(), Some(INTRODUCER_BYTES_MAX));
        assert!(begins_with_introducer(b"_armscii8") && !begins_with_introducer(b"_armscii8x"));
    }

    #[test]
    fn strings_behind_the_words_are_found() {
        assert_eq!(found(b"SELECT '_binary', \"\xE4\""), Vec::<&[u8]>::new());
        assert_eq!(found(b"SELECT 'a', _BINARY'\xFF\\'\xFE' 'b', 'c'"), [&b"'\xFF\\'\xFE'"[..], b"'b'"]);
        assert_eq!(found(b"VALUES (_latin1 /* _binary 'x' */ \"\x00\xFF\"), ('_binary ''x''')"), [b"\"\x00\xFF\""]);
        assert_eq!(found(b"SELECT `_binary` 'x', _nothing 'x', _binary 'never ends"), Vec::<&[u8]>::new());
    }
}
