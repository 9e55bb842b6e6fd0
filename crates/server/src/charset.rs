//! Conversion between UTF-8, which the server uses, and the character set of a client.

use std::borrow::Cow;

use squall_types::{Charset, CollationId};

/// The character set of a collation id that a client named; unknown ids mean the default.
pub(crate) fn charset_of(collation: u16) -> Charset {
    CollationId(collation).charset()
}

/// Whether UTF-8 goes to a client of this character set as it is.
pub(crate) fn is_utf8(charset: Charset) -> bool {
    matches!(charset, Charset::Utf8mb4 | Charset::Binary)
}

/// UTF-8 as the client wants it. Characters that its character set lacks become `?`.
pub(crate) fn encode(charset: Charset, text: &[u8]) -> Cow<'_, [u8]> {
    if is_utf8(charset) || (charset.is_ascii_compatible() && text.is_ascii()) {
        return Cow::Borrowed(text);
    }
    let mut encoded = Vec::with_capacity(text.len());
    charset.encode(&String::from_utf8_lossy(text), &mut encoded);
    Cow::Owned(encoded)
}

/// The client's bytes as UTF-8; `None` if they are not text in its character set.
pub(crate) fn decode(charset: Charset, bytes: &[u8]) -> Option<Cow<'_, str>> {
    let decoded = charset.decode(bytes);
    decoded.invalid_at.is_none().then_some(decoded.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_out_in_the_clients_character_set() {
        let text = "grün €10 \u{1f600}".as_bytes();
        assert_eq!(encode(Charset::Utf8mb4, text), text);
        assert_eq!(encode(Charset::Utf8mb3, text), "grün €10 ?".as_bytes());
        assert_eq!(encode(Charset::Latin1, text).as_ref(), b"gr\xfcn \x8010 ?");
        assert_eq!(encode(Charset::Ascii, text).as_ref(), b"gr?n ?10 ?");
    }

    #[test]
    fn text_comes_in_from_the_clients_character_set() {
        assert_eq!(decode(Charset::Latin1, b"gr\xfcn").as_deref(), Some("grün"));
        assert_eq!(decode(Charset::Utf8mb4, b"gr\xfcn"), None);
        assert_eq!(decode(Charset::Ascii, b"gr\xfcn"), None);
    }
}
