//! Targets below a base URL that another user has chosen.

use crate::error::HttpError;
use crate::target::Target;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// How often a path may be encoded, at most, for it to be looked through.
const ENCODINGS_MAX: usize = 4;

impl Target {
    /// The URL that a path, a query or nothing makes of a base URL. It stays below that, however the path is encoded.
    ///
    /// # Errors
    /// [`HttpError::Invalid`] for what leads out of it, and for any other text; as [`Target::parse`].
    pub fn below(url: &str, rest: &str) -> Result<Target, HttpError> {
        let invalid = |what: &str| HttpError::Invalid(what.to_string());
        let base = Target::parse(url)?;
        let text = match rest.chars().next() {
            None | Some('?') => format!("{url}{rest}"),
            Some('/') => format!("{}{rest}", url.trim_end_matches('/')),
            Some(_) => return Err(invalid("behind an endpoint's name stands nothing, a path or a query")),
        };
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        if rest.contains(|c: char| c == '\\' || c.is_ascii_control()) || path.starts_with("//") || leads_out(path) {
            return Err(invalid("the path leads out of the endpoint"));
        }
        let target = Target::parse(&text)?;
        match target.is_of_origin(&base) && target.is_within(base.path()) && target.authorization().is_none() {
            true => Ok(target),
            false => Err(invalid("the path leads out of the endpoint")),
        }
    }
}

/// Whether a path has a part `.` or `..`, as servers may read it: encoded, more than once, with parameters, or in more bytes than it takes.
fn leads_out(path: &str) -> bool {
    let mut path = Cow::Borrowed(path);
    for _ in 0..ENCODINGS_MAX {
        let is_dot = |part: &str| matches!(part.split(';').next().unwrap_or_default().trim(), "." | "..");
        if path.split(['/', '\\']).any(is_dot) || path.contains(|c: char| c.is_ascii_control()) {
            return true;
        }
        let decoded: Vec<u8> = percent_decode_str(&path).collect();
        if decoded.iter().any(|byte| matches!(byte, 0xc0 | 0xc1)) {
            return true;
        }
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        if decoded == *path {
            return false;
        }
        path = Cow::Owned(decoded);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_endpoint() {
        for url in ["https://h.example/v1", "https://h.example/v1/", "https://h.example"] {
            for rest in [
                "/..",
                "/../x",
                "/a/../../x",
                "/%2e%2e/x",
                "/.%2E/x",
                "/%252e%252e/x",
                "/%25252e./x",
                "/a/..;p=1/x",
                "/..%2fx",
                "/%2e%2e%5cx",
                "/..\\x",
                "\\..\\x",
                "//evil.example",
                "//evil.example/..",
                "@evil.example/",
                ":80@evil.example",
                "x",
                "/.\t./x",
                "/\n../x",
                "/%c0%ae%c0%ae/x",
                "/%00",
                "/%0d%0aHost:%20x",
                "/.",
                "/a/.",
                ".evil.example/",
            ] {
                assert!(Target::below(url, rest).is_err(), "{url} {rest}: {:?}", Target::below(url, rest));
            }
            for rest in ["", "/", "/x/y?z=..", "?a=../..", "/a..b/...", "/☃", "/@evil.example", "/a:80", "/x#/../.."]
            {
                let target = Target::below(url, rest).unwrap_or_else(|error| panic!("{url} {rest}: {error}"));
                assert_eq!((target.host(), target.is_secure()), ("h.example", true), "{url} {rest}");
            }
        }
        assert_eq!(Target::below("https://h/v1", "").unwrap().url(), "https://h/v1");
        assert_eq!(Target::below("https://h/v1/", "/x?y").unwrap().url(), "https://h/v1/x?y");
        assert_eq!(Target::below("https://h/v1", "/x").unwrap().url(), "https://h/v1/x");
        assert!(Target::parse("https://h/v10").is_ok_and(|target| !target.is_within("/v1")));
    }
}
