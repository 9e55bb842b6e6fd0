//! Bodies as text, and texts in URLs.

use encoding_rs::{Encoding, UTF_8};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameter `charset` of a `Content-Type`.
pub fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"')).filter(|value| !value.is_empty())
    })
}

/// A body as text: by the character set of its content type, else UTF-8.
///
/// # Errors
/// The body, if it is not text in that character set, or the character set is unknown.
pub fn decode(body: Vec<u8>, content_type: &str) -> Result<String, Vec<u8>> {
    let encoding = match charset_of(content_type) {
        Some(name) => Encoding::for_label(name.as_bytes()),
        None => Some(UTF_8),
    };
    let Some(encoding) = encoding else { return Err(body) };
    if encoding == UTF_8 && !body.starts_with(b"\xef\xbb\xbf") {
        return String::from_utf8(body).map_err(std::string::FromUtf8Error::into_bytes);
    }
    let text = match Encoding::for_bom(&body) {
        Some((marked, length)) if marked == encoding => body.get(length..).unwrap_or_default(),
        _ => &body,
    };
    match encoding.decode_without_bom_handling_and_without_replacement(text) {
        Some(text) => Ok(text.into_owned()),
        None => Err(body),
    }
}

/// A text that can stand anywhere in a URL: percent coding of UTF-8.
pub fn url_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The text that was percent-coded; `None` if the bytes are no UTF-8. A `%` without two digits behind it is itself.
pub fn url_decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_decoded() {
        let text = |body: &[u8], content_type| decode(body.to_vec(), content_type).ok();
        assert_eq!(text("☃𝄢".as_bytes(), "text/plain").as_deref(), Some("☃𝄢"));
        assert_eq!(text(b"\xe9", "text/plain; charset=ISO-8859-1").as_deref(), Some("é"));
        assert_eq!(text(b"\xa4\xa2", "text/html;CHARSET=\"euc-jp\"").as_deref(), Some("あ"));
        assert_eq!(text(b"\xff\xfe\x41\x00", "text/plain; charset=utf-16le").as_deref(), Some("A"));
        assert_eq!(text(b"\xef\xbb\xbfA", "").as_deref(), Some("A"));
        assert_eq!(text(b"\xe9", ""), None);
        assert_eq!(text(b"a", "text/plain; charset=klingon"), None);
        assert_eq!(charset_of("a/b; charset"), None);
    }

    #[test]
    fn urls_are_coded() {
        let all = "a-b._~ +&=?/%☃𝄢\0";
        assert_eq!(url_encode("☃ a"), "%E2%98%83%20a");
        assert_eq!(url_decode(&url_encode(all)).as_deref(), Some(all));
        assert_eq!(url_decode("100%+%zz").as_deref(), Some("100%+%zz"));
        assert_eq!(url_decode("%ff"), None);
    }
}
