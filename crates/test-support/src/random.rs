//! A small random generator (xorshift64*) with a seed, so that a run can be repeated.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Write as _;

/// The seed of a test's run: `SQUALL_SEED`, which repeats one, or another in each run. It is printed before anything is done with
/// it and where the test runner does not keep it to itself, so that it is known even of a run that was ended from outside.
///
/// # Panics
/// If `SQUALL_SEED` is not a number.
pub fn seed(test: &str) -> u64 {
    let seed = match std::env::var("SQUALL_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("SQUALL_SEED is not a number: {text}")),
        // The standard library gives each of these keys of its own, from the system's randomness.
        Err(_) => RandomState::new().build_hasher().finish() >> 16,
    };
    // Where standard error is closed there is no reader to tell.
    let _ = writeln!(std::io::stderr(), "{test}: SQUALL_SEED={seed}");
    seed
}

/// Bytes of a number of [`Random`].
const NUMBER_BYTES: usize = 6;

/// Numbers that look random and are the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; any seed but 0 will do, and 0 is taken for another.
    pub fn new(seed: u64) -> Random {
        Random(seed.max(1))
    }

    /// The generator of a test's run: see [`seed`].
    pub fn of_run(test: &str) -> Random {
        Random::new(seed(test))
    }

    /// The next number, of 48 bits.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// Bytes that do not shrink when they are compressed.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.number().to_le_bytes()[..NUMBER_BYTES]);
        }
        bytes.truncate(length);
        bytes
    }

    /// A number from 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}
