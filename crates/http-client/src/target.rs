//! The target of a request: the parts of its URL.

use crate::error::HttpError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use std::net::IpAddr;
use url::{Host, Url};

/// Most bytes of a URL.
pub const URL_BYTES_MAX: usize = 64 << 10;

/// A URL that may be asked for: `http` or `https`, with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Without credentials and fragment.
    url: Url,
    host: String,
    port: u16,
    /// What the credentials of the URL are as a header, unless it has none.
    authorization: Option<HeaderValue>,
}

impl Target {
    /// Reads a URL as browsers do (WHATWG), so that there is one meaning of it: `0x7f.1` is 127.0.0.1. Without a scheme it is `http`.
    ///
    /// # Errors
    /// [`HttpError::Invalid`] for what is no URL, [`HttpError::Blocked`] for other schemes.
    pub fn parse(text: &str) -> Result<Target, HttpError> {
        let text = text.trim();
        if text.len() > URL_BYTES_MAX {
            return Err(HttpError::Invalid(format!("the URL is longer than {URL_BYTES_MAX} bytes")));
        }
        let parsed = if has_scheme(text) { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
        Target::of_url(parsed.map_err(|error| HttpError::Invalid(format!("the URL means nothing: {error}")))?)
    }

    /// What a `Location` means in an answer of this target.
    ///
    /// # Errors
    /// As [`Target::parse`]; [`HttpError::Blocked`] for a way from `https` to `http`.
    pub fn redirected(&self, location: &str) -> Result<Target, HttpError> {
        if location.len() > URL_BYTES_MAX {
            return Err(HttpError::transfer("a redirect to a URL that is too long"));
        }
        let url = self
            .url
            .join(location)
            .map_err(|error| HttpError::transfer(format_args!("a redirect to a URL that means nothing: {error}")))?;
        let next = Target::of_url(url)?;
        if self.is_secure() && !next.is_secure() {
            return Err(HttpError::Blocked("a redirect from https to http".to_string()));
        }
        // Whoever redirects does not say as whom the next is asked.
        Ok(Target { authorization: None, ..next })
    }

    fn of_url(mut url: Url) -> Result<Target, HttpError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpError::Blocked("the scheme is neither http nor https".to_string()));
        }
        let host = match url.host() {
            Some(Host::Domain(domain)) => domain.trim_end_matches('.').to_string(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        };
        let port = url.port_or_known_default().filter(|port| *port != 0);
        let (false, Some(port)) = (host.is_empty(), port) else {
            return Err(HttpError::Invalid("the URL has no host".to_string()));
        };
        let authorization = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => Some(basic(&decoded(user), &decoded(password.unwrap_or_default()))?),
        };
        url.set_fragment(None);
        // These do not fail where there is a host.
        let _ = (url.set_username(""), url.set_password(None));
        Ok(Target { url, host, port, authorization })
    }

    /// The host: a name in ASCII without a dot at its end, or an address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// The port, also where the URL names none.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is `https`.
    pub fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether another target is of the same scheme, host and port.
    pub fn is_of_origin(&self, other: &Target) -> bool {
        self.is_secure() == other.is_secure() && self.host == other.host && self.port == other.port
    }

    /// Whether its path is a path or below it.
    pub fn is_within(&self, path: &str) -> bool {
        let rest = self.url.path().strip_prefix(path.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Its path alone.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// The URL without credentials and fragment.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The URL as others may read it: without credentials, and with `?…` in the place of its query.
    pub fn masked(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        let mut text = String::from(url);
        if self.url.query().is_some() {
            text.push_str("?…");
        }
        text
    }

    /// Path and query, as they are sent.
    pub fn path_and_query(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Host and port as they stand in the header `Host`.
    pub fn authority(&self) -> &str {
        &self.url[url::Position::BeforeHost..url::Position::AfterPort]
    }

    /// The credentials of the URL as the header `Authorization`.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

/// Basic authentication (RFC 7617).
///
/// # Errors
/// [`HttpError::Invalid`] for a user with a colon.
pub fn basic(user: &str, password: &str) -> Result<HeaderValue, HttpError> {
    if user.contains(':') {
        return Err(HttpError::Invalid("a user name with a colon".to_string()));
    }
    secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// A header value that is not shown.
///
/// # Errors
/// [`HttpError::Invalid`] if it cannot stand in a header.
pub fn secret(text: &str) -> Result<HeaderValue, HttpError> {
    let value = HeaderValue::from_bytes(text.as_bytes());
    let mut value = value.map_err(|_| HttpError::Invalid("credentials that no header can hold".to_string()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Whether a text begins with a scheme: `file:/etc/passwd` does, `localhost:8080` does not.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_name = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_name && !rest.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> String {
        Target::parse(text).unwrap().host().to_string()
    }

    #[test]
    fn spellings_of_one_address_are_one() {
        for text in [
            "http://127.0.0.1",
            "127.0.0.1",
            "http://0x7f.1",
            "http://0x7f000001/",
            "http://2130706433",
            "http://017700000001",
            "http://0177.0.0.1",
            "http://127.1",
            "http://127.0.0.1.",
            "http://user:pass@127.0.0.1",
            "http://a.com@127.0.0.1/",
            "http:\\\\127.0.0.1",
            "http:/127.0.0.1",
            "http://①②⑦.⓪.⓪.①",
            "\thttp://127.0.0.\n1",
            "HTTP://127.0.0.1",
            "http://127.0.0.1#@a.com",
            "http://%31%32%37.0.0.1/",
            "http://127.0.0.1\\@a.com/",
        ] {
            assert_eq!(host(text), "127.0.0.1", "{text}");
        }
        assert_eq!(host("http://[::ffff:127.0.0.1]:80/"), "::ffff:127.0.0.1");
        assert_eq!(host("EXAMPLE.com./x"), "example.com");
    }

    #[test]
    fn what_is_no_target() {
        for text in [
            "file:///etc/passwd",
            "file:/etc/passwd",
            "gopher://a",
            "ftp://a",
            "javascript:alert(1)",
            "data:text/plain,a",
        ] {
            assert!(matches!(Target::parse(text), Err(HttpError::Blocked(_))), "{text}");
        }
        for text in [
            "",
            "http://",
            "http:///",
            "http://a b/",
            "http://1.2.3.4.5/",
            "http://[::1",
            "http://a:99999/",
            "http://a:0/",
        ] {
            assert!(matches!(Target::parse(text), Err(HttpError::Invalid(_))), "{text}: {:?}", Target::parse(text));
        }
        assert!(Target::parse(&"a".repeat(URL_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn secrets_are_not_shown() {
        let target = Target::parse("http://ann:s%3Acret@a.com:81/p?token=1#f").unwrap();
        assert_eq!(target.masked(), "http://a.com:81/p?…");
        assert_eq!(target.url(), "http://a.com:81/p?token=1");
        assert_eq!((target.path_and_query(), target.authority()), ("/p?token=1", "a.com:81"));
        assert_eq!(target.authorization().unwrap(), "Basic YW5uOnM6Y3JldA==");
        assert!(!format!("{target:?}").contains("YW5u"));
    }

    #[test]
    fn redirects_stay_secure() {
        let target = Target::parse("https://a.com/x/y").unwrap();
        assert_eq!(target.redirected("../z?q").unwrap().url(), "https://a.com/z?q");
        assert!(target.redirected("//b.com/").unwrap().authorization().is_none());
        assert!(matches!(target.redirected("http://a.com/"), Err(HttpError::Blocked(_))));
        assert!(matches!(target.redirected("file:///x"), Err(HttpError::Blocked(_))));
        assert!(matches!(target.redirected("http://["), Err(HttpError::Transfer(_))));
    }
}
