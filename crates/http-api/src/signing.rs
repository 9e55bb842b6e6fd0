//! Signed URLs: requests for one value that anybody may send who has the URL, for a while, as the account that has signed it.
//!
//! The signature is by a key that ends with the server. It is of the method, the path with all parameters, and the account with its password, so
//! nothing of a URL can be changed, and another password ends it. What the account may do is asked when the URL is used.

use crate::problem::Problem;
use crate::secrets::{digest_of_account, is_same_digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use hyper::{StatusCode, Uri};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::Sha256;
use squall_front_end::Account;
use std::sync::OnceLock;

/// Parameters that a signed URL has behind its own, in this order. The last of them is the signature of all before it.
pub const PARAMETERS: [&str; 4] = ["user", "host", "expires", "signature"];

const KEY_BYTES: usize = 32;

/// The key of the server, made when it is first needed.
#[derive(Default)]
pub struct SigningKey(OnceLock<[u8; KEY_BYTES]>);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

/// What the parameters of a signed URL say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// User of the account.
    pub user: String,
    /// Host of the account.
    pub host: String,
    /// Until when it may be used, seconds since 1970 UTC.
    expires: i64,
    /// What was signed, apart from the account.
    text: String,
    signature: Vec<u8>,
}

impl Signed {
    /// Reads a URL; `None` if it is not signed.
    ///
    /// # Errors
    /// 401 for parameters that no signed URL has.
    pub fn of(uri: &Uri) -> Result<Option<Signed>, Problem> {
        let query = uri.query().unwrap_or_default();
        let Some((before, signature)) = query.rsplit_once("&signature=") else { return Ok(None) };
        let broken = || Problem::new(StatusCode::UNAUTHORIZED, "the URL is not signed");
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| broken())?;
        let mut last = before.rsplitn(4, '&');
        let mut next = |name: &str| last.next()?.strip_prefix(name)?.strip_prefix('=');
        let (expires, host, user) = (next("expires"), next("host"), next("user"));
        let decoded = |text: Option<&str>| percent_decode_str(text?).decode_utf8().ok().map(String::from);
        let expires = expires.and_then(|expires| expires.parse().ok());
        let (Some(expires), Some(host), Some(user)) = (expires, decoded(host), decoded(user)) else {
            return Err(broken());
        };
        Ok(Some(Signed { user, host, expires, text: format!("{}?{before}", uri.path()), signature }))
    }
}

impl SigningKey {
    fn digest(&self, account: &Account, text: &str) -> Result<Hmac<Sha256>, Problem> {
        let no_secret = || Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the system has no random bytes");
        let key = match self.0.get() {
            Some(key) => key,
            None => {
                let mut key = [0; KEY_BYTES];
                getrandom::fill(&mut key).map_err(|_| no_secret())?;
                self.0.get_or_init(|| key)
            }
        };
        let mut digest = Hmac::<Sha256>::new_from_slice(key).map_err(|_| no_secret())?;
        // Of a known length.
        digest.update(&digest_of_account(account));
        digest.update(text.as_bytes());
        Ok(digest)
    }

    /// The URL for a path, whose parameters it may have already, as an account, until a time in seconds since 1970 UTC.
    ///
    /// # Errors
    /// 500 when the system has no random bytes.
    pub fn sign(&self, account: &Account, path: &str, expires: i64) -> Result<String, Problem> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let (user, host) = (encoded(&account.user), encoded(&account.host));
        let text = format!("{path}{mark}user={user}&host={host}&expires={expires}");
        let signature = self.digest(account, &text)?.finalize().into_bytes();
        Ok(format!("{text}&signature={}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Checks a URL that names this account.
    ///
    /// # Errors
    /// 401 if it is not signed, or not any more.
    pub fn check(&self, account: &Account, signed: &Signed, now_seconds: i64) -> Result<(), Problem> {
        let expected = self.digest(account, &signed.text)?.finalize().into_bytes();
        if !is_same_digest(&expected, &signed.signature) {
            return Err(Problem::new(StatusCode::UNAUTHORIZED, "the URL is not signed"));
        }
        match now_seconds < signed.expires {
            true => Ok(()),
            false => Err(Problem::new(StatusCode::UNAUTHORIZED, "the signed URL has expired")),
        }
    }
}

/// The time, seconds since 1970 UTC.
pub fn now_seconds() -> i64 {
    squall_types::clock::now_micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, authentication: &[u8]) -> Account {
        Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            plugin: String::new(),
            authentication: authentication.to_vec(),
            second_authentication: Vec::new(),
            password_changed_micros: 1,
            locked: false,
            password_expired: false,
            tls: squall_session::api::TlsRequirement::None,
        }
    }

    fn read(url: &str) -> Option<Signed> {
        Signed::of(&url.parse().expect("a URL")).ok().flatten()
    }

    #[test]
    fn nothing_of_a_signed_url_can_be_changed() {
        let (key, web) = (SigningKey::default(), account("a&b=c%", b"pw"));
        for path in ["/1.0/blob/d/t/c/1", "/1.0/blob/d/t/c/1?type_column=k&user=x"] {
            let url = key.sign(&web, path, 1000).expect("a URL");
            let signed = read(&url).expect("a signature");
            assert_eq!((&*signed.user, &*signed.host), ("a&b=c%", "%"));
            assert!(key.check(&web, &signed, 999).is_ok());
            assert_eq!(key.check(&web, &signed, 1000).expect_err("too late").status, 401);
            assert!(key.check(&account("a&b=c%", b"other"), &signed, 999).is_err());
            assert!(SigningKey::default().check(&web, &signed, 999).is_err());
            // Another letter anywhere.
            for at in 1..url.len() {
                let mut other = url.clone().into_bytes();
                other[at] = if other[at] == b'0' { b'1' } else { b'0' };
                let other = String::from_utf8(other).expect("ASCII");
                let changed = other.parse::<Uri>().ok().and_then(|uri| Signed::of(&uri).ok().flatten());
                assert!(changed.is_none_or(|signed| key.check(&web, &signed, 999).is_err()), "{other}");
            }
            assert!(read(&format!("{url}&x=1")).is_none_or(|signed| key.check(&web, &signed, 999).is_err()));
        }
        assert!(read("/1.0/blob/d/t/c/1").is_none());
        for broken in [
            "?signature=",
            "?user=a&host=b&expires=1&signature=?",
            "?host=b&expires=1&signature=aa",
            "?user=%ff&host=b&expires=1&signature=aa",
        ] {
            assert!(read(&format!("/1.0/blob/d/t/c/1{broken}")).is_none(), "{broken}");
        }
    }
}
