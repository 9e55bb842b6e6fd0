//! `name:/path`: texts that name an endpoint, and their targets.

use super::super::options::wrong;
use super::super::running::sql_error;
use super::super::{BLOCKED, Shared};
use super::Endpoint;
use squall_http_client::{HeaderMap, Target};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// Most characters of a name.
const NAME_CHARACTERS_MAX: usize = 64;

/// What a URL or a reference to an endpoint asks for.
pub(in super::super) struct Destination {
    /// Of whom.
    pub target: Target,
    /// The endpoint's headers; no others of these names may be given.
    pub headers: HeaderMap,
    /// See [`squall_http_client::Request::scope`].
    pub scope: Option<Arc<str>>,
}

/// Whether a text can name an endpoint: a letter, then letters, digits, `_` and `-`; no scheme that URLs may have.
pub(super) fn is_name(name: &str) -> bool {
    let schemes = ["http", "https", "ftp", "file", "ws", "wss", "data", "javascript"];
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= NAME_CHARACTERS_MAX
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && !schemes.iter().any(|scheme| scheme.eq_ignore_ascii_case(name))
}

/// The name and what stands behind its colon, if a text may be a reference. Behind a host a port follows, which is a number.
fn split(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.trim().split_once(':')?;
    (is_name(name) && !rest.starts_with(|first: char| first.is_ascii_digit())).then_some((name, rest))
}

impl Shared {
    /// The target of a text: a URL, or `name:`, `name:/path`, `name:?query` of an endpoint that the statement's account may use.
    ///
    /// # Errors
    /// 1210 for what means nothing or leads out of the endpoint, 50411 for other schemes and endpoints that are not there for the account.
    pub(in super::super) fn destination(
        &self,
        function: &'static str,
        text: &str,
        context: &StatementContext,
    ) -> SqlResult<Destination> {
        if let Some((name, rest)) = split(text) {
            if let Some(endpoint) = self.endpoint(name)?.filter(|endpoint| endpoint.is_for(context)) {
                let target = Target::below(&endpoint.url, rest).map_err(|error| sql_error(function, &error))?;
                let headers = endpoint.headers(function)?;
                return Ok(Destination { target, headers, scope: Some(scope_of(&endpoint)) });
            }
            // `http://name:/path` is no way to say it either.
            if rest.starts_with('/') && !rest.starts_with("//") {
                let what =
                    "the scheme is neither http nor https, and no HTTP endpoint of this name is there for the account";
                return Err(SqlError::of_module(&BLOCKED, &[&function, &what]));
            }
        }
        let target = Target::parse(text).map_err(|error| sql_error(function, &error))?;
        Ok(Destination { target, headers: HeaderMap::new(), scope: None })
    }
}

/// Adds an endpoint's headers to those that a call gives.
///
/// # Errors
/// 1210 for a header that both have.
pub(in super::super) fn add_headers(function: &str, given: &mut HeaderMap, endpoint: HeaderMap) -> SqlResult<()> {
    if let Some(name) = endpoint.keys().find(|name| given.contains_key(*name)) {
        return Err(wrong(function, &format!("the header {name} is the endpoint's to give")));
    }
    given.extend(endpoint);
    Ok(())
}

/// Below which path an endpoint's headers go.
fn scope_of(endpoint: &Endpoint) -> Arc<str> {
    Target::parse(&endpoint.url).map_or_else(|_| Arc::from("/"), |target| Arc::from(target.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_from_urls() {
        for (text, expected) in [
            ("api:/x", Some(("api", "/x"))),
            (" my_api: ", Some(("my_api", ""))),
            ("api:?q", Some(("api", "?q"))),
            ("api://x", Some(("api", "//x"))),
            ("http://x", None),
            ("HTTPS:/x", None),
            ("file:/etc/passwd", None),
            ("localhost:8080/", None),
            ("a.b:/x", None),
            ("1a:/x", None),
            ("example.com", None),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
        assert!(!is_name(&"a".repeat(65)));
    }
}
