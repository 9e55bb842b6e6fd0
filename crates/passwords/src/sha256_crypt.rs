//! The SHA-256 based `crypt` hash, as Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512" specifies it, for salts of
//! any length (MySQL uses 20 bytes where `crypt` stops at 16).

use sha2::{Digest as _, Sha256};

/// The 43 characters that end a crypt string.
pub(super) fn digest(password: &[u8], salt: &[u8], rounds: u32) -> String {
    let alternate: [u8; 32] =
        Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();

    let mut hasher = Sha256::new().chain_update(password).chain_update(salt);
    update_repeated(&mut hasher, &alternate, password.len());
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            hasher.update(alternate);
        } else {
            hasher.update(password);
        }
        bits >>= 1;
    }
    let mut state: [u8; 32] = hasher.finalize().into();

    let mut hasher = Sha256::new();
    for _ in 0..password.len() {
        hasher.update(password);
    }
    let password_sequence = repeated(&hasher.finalize().into(), password.len());

    let mut hasher = Sha256::new();
    for _ in 0..16 + usize::from(state[0]) {
        hasher.update(salt);
    }
    let salt_sequence = repeated(&hasher.finalize().into(), salt.len());

    for round in 0..rounds {
        let mut hasher = Sha256::new();
        let odd = round & 1 == 1;
        if odd {
            hasher.update(&password_sequence);
        } else {
            hasher.update(state);
        }
        if round % 3 != 0 {
            hasher.update(&salt_sequence);
        }
        if round % 7 != 0 {
            hasher.update(&password_sequence);
        }
        if odd {
            hasher.update(state);
        } else {
            hasher.update(&password_sequence);
        }
        state = hasher.finalize().into();
    }
    print(&state)
}

fn update_repeated(hasher: &mut Sha256, block: &[u8; 32], mut length: usize) {
    while length > 0 {
        let count = length.min(block.len());
        hasher.update(&block[..count]);
        length -= count;
    }
}

fn repeated(block: &[u8; 32], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

/// Which bytes of the digest make up each group of four characters.
const GROUPS: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// The digest in `crypt`'s own base 64, lowest six bits first.
fn print(state: &[u8; 32]) -> String {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = String::with_capacity(43);
    let mut put = |high: u8, middle: u8, low: u8, characters: usize| {
        let mut group = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
        for _ in 0..characters {
            text.push(char::from(ALPHABET[(group & 0x3f) as usize]));
            group >>= 6;
        }
    };
    for [high, middle, low] in GROUPS {
        put(state[high], state[middle], state[low], 4);
    }
    put(0, state[31], state[30], 3);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the C library's `crypt` answers for the same password, salt and rounds.
    #[test]
    fn agrees_with_crypt() {
        assert_eq!(digest(b"Hello world!", b"saltstring", 5000), "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        assert_eq!(digest(b"Hello world!", b"saltstringsaltst", 10_000), "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA");
        assert_eq!(digest(&[b'x'; 70], b"saltstring", 5000), "D1DsTGKixUiITWGe4c3jtSicDXvgr6h50agFIGXAx6/");
    }
}
