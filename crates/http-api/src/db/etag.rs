//! Conditions of requests: `If-Match` and `If-None-Match` (RFC 9110, 13.1).

use crate::problem::Problem;
use hyper::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use hyper::{HeaderMap, StatusCode};

/// The tags of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tags {
    /// `*`: those of any row.
    Any,
    List(Vec<String>),
}

impl Tags {
    fn of(headers: &HeaderMap, name: HeaderName) -> Option<Tags> {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let all = values.reduce(|all, more| format!("{all},{more}"))?;
        if all.trim() == "*" {
            return Some(Tags::Any);
        }
        // Tags of this server have no commas; others match no row.
        Some(Tags::List(all.split(',').map(|tag| tag.trim().to_owned()).collect()))
    }
}

/// The conditions of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    matching: Option<Tags>,
    none_matching: Option<Tags>,
}

impl Conditions {
    pub fn of(headers: &HeaderMap) -> Conditions {
        Conditions { matching: Tags::of(headers, IF_MATCH), none_matching: Tags::of(headers, IF_NONE_MATCH) }
    }

    /// Whether the row has to be known before it is changed.
    pub fn are_given(&self) -> bool {
        self.matching.is_some() || self.none_matching.is_some()
    }

    /// Whether a client has this row already.
    pub fn has(&self, tag: &str) -> bool {
        self.none_matching.as_ref().is_some_and(|tags| is_among(tags, Some(tag), true))
    }

    /// Checks that a request may be done to the row with this tag, or to none.
    ///
    /// # Errors
    /// 412.
    pub fn check(&self, tag: Option<&str>) -> Result<(), Problem> {
        self.check_match(tag)?;
        let refused = self.none_matching.as_ref().is_some_and(|tags| is_among(tags, tag, true));
        match refused {
            true => Err(Problem::new(StatusCode::PRECONDITION_FAILED, "there is a row that If-None-Match excludes")),
            false => Ok(()),
        }
    }

    /// Checks If-Match alone.
    ///
    /// # Errors
    /// 412.
    pub fn check_match(&self, tag: Option<&str>) -> Result<(), Problem> {
        let matches = self.matching.as_ref().is_none_or(|tags| is_among(tags, tag, false));
        let detail = "the row is not the one that If-Match names: it has been changed or deleted";
        matches.then_some(()).ok_or_else(|| Problem::new(StatusCode::PRECONDITION_FAILED, detail))
    }
}

/// `weakly` also tags that are marked as weak count.
fn is_among(tags: &Tags, tag: Option<&str>, weakly: bool) -> bool {
    let Some(tag) = tag else { return false };
    match tags {
        Tags::Any => true,
        Tags::List(tags) => tags.iter().any(|known| {
            let known = known.strip_prefix("W/").filter(|_| weakly).unwrap_or(known);
            known == tag
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn conditions_are_those_of_http() {
        let of = |name: HeaderName, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(name, HeaderValue::from_static(value));
            Conditions::of(&headers)
        };
        let matching = of(IF_MATCH, "\"a\", \"b\"");
        assert!(matching.check(Some("\"b\"")).is_ok() && matching.check(Some("\"c\"")).is_err());
        assert!(matching.check(None).is_err());
        assert!(of(IF_MATCH, "W/\"a\"").check(Some("\"a\"")).is_err());
        assert!(of(IF_MATCH, "*").check(Some("\"a\"")).is_ok() && of(IF_MATCH, "*").check(None).is_err());
        let none = of(IF_NONE_MATCH, "W/\"a\"");
        assert!(none.check(Some("\"a\"")).is_err() && none.has("\"a\"") && !none.has("\"b\""));
        let any = of(IF_NONE_MATCH, "*");
        assert!(any.check(None).is_ok() && any.check(Some("\"a\"")).is_err());
        assert!(!Conditions::default().are_given() && Conditions::default().check(None).is_ok());
    }
}
