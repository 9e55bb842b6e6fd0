//! Who a request says it is from.

use crate::problem::Problem;
use crate::signing::Signed;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, COOKIE};

/// The cookie of `POST /1.0/session`.
pub const COOKIE_NAME: &str = "squall_session";
/// The header that has to come with the cookie.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// Credentials of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// There are none.
    Missing,
    /// User and password.
    Basic {
        /// User.
        user: String,
        /// Password.
        password: Vec<u8>,
    },
    /// An API token.
    Bearer(String),
    /// The cookie of a session and the token of its page.
    Session {
        /// The cookie.
        cookie: String,
        /// The header, if there is one.
        csrf: Option<String>,
    },
    /// The signature of the URL.
    Signed(Signed),
}

impl Credentials {
    /// Reads the headers of a request: `Authorization` goes before the cookie.
    ///
    /// # Errors
    /// 400 for a header that cannot be read, 401 for a scheme that there is not.
    pub fn of(headers: &HeaderMap) -> Result<Credentials, Problem> {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = all.next() else { return Ok(of_cookie(headers)) };
        let broken = || Problem::bad_request("the header Authorization cannot be read");
        if all.next().is_some() {
            return Err(broken());
        }
        let text = value.to_str().map_err(|_| broken())?;
        let (scheme, rest) = text.split_once(' ').ok_or_else(broken)?;
        let rest = rest.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => {
                let decoded = STANDARD.decode(rest).map_err(|_| broken())?;
                let colon = decoded.iter().position(|byte| *byte == b':').ok_or_else(broken)?;
                let user = String::from_utf8(decoded[..colon].to_vec()).map_err(|_| broken())?;
                Ok(Credentials::Basic { user, password: decoded[colon + 1..].to_vec() })
            }
            "bearer" => Ok(Credentials::Bearer(rest.to_owned())),
            _ => Err(Problem::new(StatusCode::UNAUTHORIZED, "Authorization is by Basic or by Bearer")),
        }
    }
}

/// The token of the page.
pub fn csrf_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok())
}

/// The cookie alone.
pub fn of_cookie(headers: &HeaderMap) -> Credentials {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
    let mut cookies = pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(name, _)| *name == COOKIE_NAME);
    match cookies.next() {
        None => Credentials::Missing,
        Some((_, cookie)) => {
            let csrf = csrf_of(headers).map(str::to_owned);
            Credentials::Session { cookie: cookie.to_owned(), csrf }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn of(name: &'static str, value: &'static str) -> Result<Credentials, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        Credentials::of(&headers).map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn headers_are_read() {
        let basic = Credentials::Basic { user: "u".to_owned(), password: b"p:w".to_vec() };
        assert_eq!(of("authorization", "basic dTpwOnc="), Ok(basic));
        assert_eq!(of("authorization", "Bearer abc"), Ok(Credentials::Bearer("abc".to_owned())));
        let session = Credentials::Session { cookie: "x".to_owned(), csrf: None };
        assert_eq!(of("cookie", "a=1; squall_session=x"), Ok(session));
        assert_eq!(of("cookie", "a=1"), Ok(Credentials::Missing));
        assert_eq!(of("authorization", "Basic ?"), Err(400));
        assert_eq!(of("authorization", "Basic dQ=="), Err(400));
        assert_eq!(of("authorization", "Digest x"), Err(401));
    }
}
