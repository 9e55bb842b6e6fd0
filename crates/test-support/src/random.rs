//! A small generator (xorshift64*), so that a run has a seed.

/// Numbers that look random and are the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; any seed but 0 will do, and 0 is taken for another.
    pub fn new(seed: u64) -> Random {
        Random(seed.max(1))
    }

    /// The next number, of 48 bits.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number from 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}
