//! Converts statements from `character_set_client` to UTF-8.
//!
//! A text is converted before any other code reads it. From then on names, literals, comments and messages are UTF-8, and the character
//! set of a literal is a property of its value. The bytes of a string after an introducer such as `_latin1` or `_binary` stay as they
//! are.

use squall_parser::ParseOptions;
use squall_types::collation::Charset;
use std::borrow::Cow;

/// A client's text as UTF-8, and what of it is which part of the client's bytes.
#[derive(Debug)]
pub(crate) struct ClientText<'t> {
    /// The text. Bytes that are not UTF-8 here were invalid in the client's character set, or follow an introducer such as
    /// `_latin1`.
    pub utf8: Cow<'t, [u8]>,
    /// Where what has been decoded begins, in the text and in the client's bytes. Between are strings that stay.
    decoded: Vec<(usize, usize)>,
    charset: Charset,
}

impl<'t> ClientText<'t> {
    pub fn new(bytes: &'t [u8], charset: Charset, options: &ParseOptions) -> ClientText<'t> {
        let unchanged = ClientText { utf8: Cow::Borrowed(bytes), decoded: Vec::new(), charset };
        if is_read_as_utf8(charset) || bytes.is_ascii() {
            return unchanged;
        }
        let (mut utf8, mut decoded, mut at) = (Vec::with_capacity(bytes.len() * 3 / 2), Vec::new(), 0);
        let introduced = squall_parser::introduced_strings(bytes, options);
        for string in introduced.into_iter().chain(std::iter::once(bytes.len()..bytes.len())) {
            let part = charset.decode(&bytes[at..string.start]);
            if part.invalid_at.is_some() {
                // It may be bytes without an introducer; a column of text refuses them.
                return unchanged;
            }
            decoded.push((utf8.len(), at));
            utf8.extend_from_slice(part.text.as_bytes());
            utf8.extend_from_slice(&bytes[string.clone()]);
            at = string.end;
        }
        ClientText { utf8: Cow::Owned(utf8), decoded, charset }
    }

    pub fn into_owned(self) -> ClientText<'static> {
        ClientText { utf8: Cow::Owned(self.utf8.into_owned()), decoded: self.decoded, charset: self.charset }
    }

    /// Where in the client's bytes a statement begins that begins at a place of the text.
    pub fn place_in_bytes(&self, at: usize) -> usize {
        let Some(&(start, place)) = self.decoded.iter().rfind(|(start, _)| *start <= at) else { return at };
        let mut encoded = Vec::new();
        self.charset.encode(&String::from_utf8_lossy(&self.utf8[start..at]), &mut encoded);
        place + encoded.len()
    }
}

/// Whether text in the character set is taken as it comes.
pub(crate) fn is_read_as_utf8(charset: Charset) -> bool {
    matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(name: &str) -> Charset {
        Charset::from_name(name).expect("a character set")
    }

    fn read<'t>(bytes: &'t [u8], name: &str) -> ClientText<'t> {
        ClientText::new(bytes, charset(name), &ParseOptions::default())
    }

    #[test]
    fn texts_become_utf8_and_bytes_stay() {
        let text = read(b"SELECT '\xE4', _binary'\xE4\xFF', `\xFC`; SELECT '\xDF'", "latin1");
        assert_eq!(*text.utf8, b"SELECT '\xC3\xA4', _binary'\xE4\xFF', `\xC3\xBC`; SELECT '\xC3\x9F'"[..]);
        for at in ["SELECT '\u{DF}'".len(), "; SELECT '\u{DF}'".len()] {
            let place = text.place_in_bytes(text.utf8.len() - at);
            assert_eq!(place, b"SELECT '\xE4', _binary'\xE4\xFF', `\xFC`; SELECT '\xDF'".len() + 1 - at);
        }
        // The second byte of a character may be a backslash.
        assert_eq!(*read(b"SELECT '\x95\x5C', 1", "gbk").utf8, *"SELECT '\u{661E}', 1".as_bytes());
        assert_eq!(read(b"SELECT '\x95\x5C', 1; X", "gbk").place_in_bytes("SELECT '\u{661E}', 1;".len()), 15);
    }

    #[test]
    fn what_is_read_as_utf8_and_what_is_no_text_stays() {
        for (bytes, name) in
            [(&b"'\xE4'"[..], "utf8mb4"), (b"'\xE4'", "binary"), (b"'\xC4\xE3\xFF'", "gbk"), (b"'a'", "latin1")]
        {
            let text = read(bytes, name);
            assert!(matches!(text.utf8, Cow::Borrowed(same) if same == bytes), "{name}");
            assert_eq!(text.place_in_bytes(2), 2);
        }
    }
}
