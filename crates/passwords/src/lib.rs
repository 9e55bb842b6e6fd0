//! Passwords of accounts: scrambles and authentication strings of the two password plugins.
//!
//! A *scramble* is what a client sends in place of its password, bound to the connection's nonce. An *authentication
//! string* is what an account keeps. With `mysql_native_password` the string is enough to check a scramble. With
//! `caching_sha2_password` the string is a slow salted hash, which takes the password itself (*full authentication*); a
//! server then remembers [`Sha2CacheEntry`], which is enough for scrambles (*fast authentication*).
//!
//! Must not know: packets, sockets, accounts.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

mod sha256_crypt;

/// Length of the random bytes that a password is scrambled with.
pub const NONCE_BYTES: usize = 20;
/// The random bytes that a password is scrambled with.
pub type Nonce = [u8; NONCE_BYTES];

/// Name of the default plugin.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
/// Name of the older plugin.
pub const MYSQL_NATIVE_PASSWORD: &str = "mysql_native_password";
/// Name of the plugin by which a client sends the password as it is.
pub const MYSQL_CLEAR_PASSWORD: &str = "mysql_clear_password";

/// Length of the salt in a `caching_sha2_password` authentication string.
pub const SHA2_SALT_BYTES: usize = 20;

/// The scramble of `mysql_native_password`: `SHA1(password) ^ SHA1(nonce, SHA1(SHA1(password)))`.
pub fn native_scramble(password: &[u8], nonce: &Nonce) -> [u8; 20] {
    let stage1: [u8; 20] = Sha1::digest(password).into();
    let stage2 = Sha1::digest(stage1);
    xor(stage1, Sha1::new().chain_update(nonce).chain_update(stage2).finalize().into())
}

/// Checks a scramble against an account's authentication string (`*` and 40 hexadecimal digits).
pub fn native_check(auth_string: &str, scramble: &[u8], nonce: &Nonce) -> bool {
    let (Some(stage2), Ok(scramble)) = (native_stage2(auth_string), <[u8; 20]>::try_from(scramble)) else {
        return false;
    };
    let stage1 = xor(scramble, Sha1::new().chain_update(nonce).chain_update(stage2).finalize().into());
    equal(&<[u8; 20]>::from(Sha1::digest(stage1)), &stage2)
}

/// The authentication string of `mysql_native_password`; empty for an empty password.
pub fn native_auth_string(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let mut text = String::from("*");
    for byte in Sha1::digest(Sha1::digest(password)) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn native_stage2(auth_string: &str) -> Option<[u8; 20]> {
    let digits = auth_string.strip_prefix('*')?.as_bytes();
    let mut stage2 = [0; 20];
    if digits.len() != 2 * stage2.len() {
        return None;
    }
    for (byte, pair) in stage2.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(stage2)
}

/// The scramble of `caching_sha2_password`: `SHA256(password) ^ SHA256(SHA256(SHA256(password)), nonce)`.
pub fn sha2_scramble(password: &[u8], nonce: &Nonce) -> [u8; 32] {
    let stage1: [u8; 32] = Sha256::digest(password).into();
    let stage2 = Sha256::digest(stage1);
    xor(stage1, Sha256::new().chain_update(stage2).chain_update(nonce).finalize().into())
}

/// What a server keeps after a full authentication so that the next scramble can be checked quickly.
#[derive(Clone, PartialEq, Eq)]
pub struct Sha2CacheEntry([u8; 32]);

impl std::fmt::Debug for Sha2CacheEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sha2CacheEntry(…)")
    }
}

impl Sha2CacheEntry {
    /// The entry for a password that full authentication has confirmed.
    pub fn new(password: &[u8]) -> Self {
        Self(Sha256::digest(Sha256::digest(password)).into())
    }

    /// Whether it is the entry of this password.
    pub fn is_of(&self, password: &[u8]) -> bool {
        equal(&Self::new(password).0, &self.0)
    }

    /// Checks a scramble.
    pub fn check(&self, scramble: &[u8], nonce: &Nonce) -> bool {
        let Ok(scramble) = <[u8; 32]>::try_from(scramble) else {
            return false;
        };
        let stage1 = xor(scramble, Sha256::new().chain_update(self.0).chain_update(nonce).finalize().into());
        equal(&<[u8; 32]>::from(Sha256::digest(stage1)), &self.0)
    }
}

const SHA2_PREFIX: &str = "$A$005$";
/// The `005` of the prefix, in thousands.
const SHA2_ROUNDS: u32 = 5000;

/// Longest password of `caching_sha2_password`, as MySQL has it. The work that the hash takes grows with the length.
pub const SHA2_PASSWORD_BYTES_MAX: usize = 256;

/// The authentication string of `caching_sha2_password`; empty for an empty password, `None` for one that is too long.
///
/// The salt's bytes are brought into the printable range without `$`, so that the string is text.
pub fn sha2_auth_string(password: &[u8], salt: &[u8; SHA2_SALT_BYTES]) -> Option<String> {
    if password.is_empty() {
        return Some(String::new());
    }
    if password.len() > SHA2_PASSWORD_BYTES_MAX {
        return None;
    }
    let salt = salt.map(|byte| match byte & 0x7f {
        byte @ (0x21..=0x23 | 0x25..=0x7e) => byte,
        byte => b'0' + byte % 10,
    });
    let mut text = String::from(SHA2_PREFIX);
    text.extend(salt.iter().map(|&byte| char::from(byte)));
    text.push_str(&sha256_crypt::digest(password, &salt, SHA2_ROUNDS));
    Some(text)
}

/// Checks a password against an account's authentication string. Slow on purpose: thousands of hashes. Input that is too long for a
/// password is refused without cost.
pub fn sha2_check(auth_string: &str, password: &[u8]) -> bool {
    if password.len() > SHA2_PASSWORD_BYTES_MAX {
        return false;
    }
    if auth_string.is_empty() {
        return password.is_empty();
    }
    let Some((salt, digest)) = auth_string
        .as_bytes()
        .strip_prefix(SHA2_PREFIX.as_bytes())
        .and_then(|rest| rest.split_at_checked(SHA2_SALT_BYTES))
    else {
        return false;
    };
    equal(sha256_crypt::digest(password, salt, SHA2_ROUNDS).as_bytes(), digest)
}

/// Undoes or applies the XOR that hides a password inside its RSA encryption.
pub fn xor_with_nonce(bytes: &mut [u8], nonce: &Nonce) {
    for (byte, mask) in bytes.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
}

fn xor<const N: usize>(mut left: [u8; N], right: [u8; N]) -> [u8; N] {
    for (byte, mask) in left.iter_mut().zip(right) {
        *byte ^= mask;
    }
    left
}

/// Compares without telling by the time taken where the first difference is.
fn equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONCE: Nonce = *b"0123456789abcdefghij";

    #[test]
    fn native_password_of_a_known_account() {
        // SELECT PASSWORD('password') of any server that has the function.
        assert_eq!(native_auth_string(b"password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        let scramble = native_scramble(b"password", &NONCE);
        assert!(native_check("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19", &scramble, &NONCE));
        assert!(!native_check("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E18", &scramble, &NONCE));
        assert!(!native_check("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19", &scramble[1..], &NONCE));
        assert!(!native_check("*é", &scramble, &NONCE));
    }

    #[test]
    fn sha2_password_fast_and_full() {
        let auth_string = sha2_auth_string(b"s3cret", &[0x24; SHA2_SALT_BYTES]).unwrap();
        assert_eq!(auth_string.len(), 7 + 20 + 43);
        assert!(sha2_check(&auth_string, b"s3cret"));
        assert!(!sha2_check(&auth_string, b"s3cres"));
        assert!(!sha2_check("$A$005$short", b"s3cret"));
        assert!(sha2_check("", b""));
        assert!(!sha2_check("", b"x"));
        let entry = Sha2CacheEntry::new(b"s3cret");
        assert!(entry.check(&sha2_scramble(b"s3cret", &NONCE), &NONCE));
        assert!(!entry.check(&sha2_scramble(b"other", &NONCE), &NONCE));
        assert!(entry.is_of(b"s3cret") && !entry.is_of(b"s3cres"));
    }

    #[test]
    fn no_password_is_longer_than_the_limit() {
        let longest = [b'x'; SHA2_PASSWORD_BYTES_MAX];
        let auth_string = sha2_auth_string(&longest, &[1; SHA2_SALT_BYTES]).unwrap();
        assert!(sha2_check(&auth_string, &longest));
        let longer = [b'x'; SHA2_PASSWORD_BYTES_MAX + 1];
        assert_eq!(sha2_auth_string(&longer, &[1; SHA2_SALT_BYTES]), None);
        assert!(!sha2_check(&auth_string, &longer));
        assert!(!sha2_check("", &longer));
    }

    proptest! {
        #[test]
        fn arbitrary_input_never_panics(auth_string in ".{0,80}", scramble in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(!native_check(&auth_string, &scramble, &NONCE));
            prop_assert!(!Sha2CacheEntry::new(b"x").check(&scramble, &NONCE));
        }
    }
}
