//! Random bytes from the system, for salts, passwords and identities.

/// Random bytes. Where the system's source cannot be read, the hasher seeds of the standard library, which come from
/// the system too, stand in.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if getrandom::fill(&mut bytes).is_err() {
        use std::hash::{BuildHasher, Hasher};
        for chunk in bytes.chunks_mut(8) {
            let word = std::hash::RandomState::new().build_hasher().finish().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
    bytes
}
