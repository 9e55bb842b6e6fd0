//! The part of a URL behind its question mark.

use crate::problem::Problem;
use percent_encoding::percent_decode_str;

/// Checks that there are no parameters but these, and none of them twice.
///
/// # Errors
/// 400.
pub fn check(query: &str, known: &[&str]) -> Result<(), Problem> {
    let mut seen = Vec::new();
    for name in query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or_default())
    {
        let Some(known) = known.iter().find(|known| **known == name) else {
            return Err(Problem::bad_request(format!("the URL may have the parameters {}", known.join(", "))));
        };
        if seen.contains(known) {
            return Err(Problem::bad_request(format!("the URL has the parameter {known} twice")));
        }
        seen.push(*known);
    }
    Ok(())
}

/// The first value of a parameter as it is written.
pub fn find_raw<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
}

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
        assert_eq!((find_raw(query, "schema"), find_raw(query, "table")), (Some("a+b"), None));
        assert!(check("a=1&b=%26", &["a", "b"]).is_ok() && check("", &[]).is_ok());
        assert!(check("a=1&a=2", &["a"]).is_err() && check("c=1", &["a"]).is_err());
    }
}
