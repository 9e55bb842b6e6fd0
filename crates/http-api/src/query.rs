//! The part of a URL behind its question mark.

use percent_encoding::percent_decode_str;

/// The first value of a parameter, with `+` for a space; bytes that are no UTF-8 are replaced.
pub fn find(query: &str, name: &str) -> Option<String> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(|(key, _)| decode(key) == name).map(|(_, value)| decode(value)).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = "schema=a+b&t%61ble=%E2%98%83&x&schema=c";
        assert_eq!(find(query, "schema").as_deref(), Some("a b"));
        assert_eq!(find(query, "table").as_deref(), Some("\u{2603}"));
        assert_eq!(find(query, "x").as_deref(), Some(""));
        assert_eq!(find(query, "y"), None);
    }
}
