//! Random texts that clients keep, of which the server keeps the digests.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use squall_front_end::Account;

/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// A new secret, in letters, digits, `-` and `_`.
///
/// # Errors
/// When the system has no random bytes.
pub fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The digest by which a secret is found. It has so many random bits that it needs no salt and no slow digest.
pub fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The digest of what proves an account: both verifiers, and when the password was set. Any change of a password makes another one, and so
/// does another account of the same name.
pub fn digest_of_account(account: &Account) -> [u8; 32] {
    let mut hash = Sha256::new();
    for verifier in [&account.authentication, &account.second_authentication] {
        // With the length: bytes of one verifier are none of the other's.
        hash.update((verifier.len() as u64).to_le_bytes());
        hash.update(verifier);
    }
    hash.update(account.password_changed_micros.to_le_bytes());
    hash.finalize().into()
}

/// Whether two digests are the same, in a time that does not tell how far they are.
pub fn is_same_digest(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Whether two secrets are the same, in a time that does not tell how far they are.
pub fn is_same(one: &str, other: &str) -> bool {
    is_same_digest(&digest(one), &digest(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ() {
        let (one, other) = (new_secret().expect("a secret"), new_secret().expect("a secret"));
        assert_eq!(one.len(), 43);
        assert!(is_same(&one, &one.clone()) && !is_same(&one, &other));
    }
}
