//! Memory of aggregate states that their operators do not charge.
//!
//! An operator asks for a state's size after each batch, and charges it or spills. Within a batch a state may grow by any amount, and
//! windows never ask. This module charges that part.

use parking_lot::Mutex;
use squall_accounting::Charge;
use squall_statement_context::StatementContext;
use squall_types::SqlResult;

/// The charge of one state.
#[derive(Debug)]
pub(super) struct StateCharge(Mutex<Parts>);

#[derive(Debug)]
struct Parts {
    charge: Charge,
    /// Size that the operator was told last.
    told: usize,
    /// Results that were given to an operator which gathers them.
    given: usize,
}

impl StateCharge {
    /// What is not worth charging.
    const SLACK_BYTES: usize = 256 << 10;
    /// Results of more bytes than that are counted.
    const RESULT_BYTES_MAX: usize = 1 << 10;

    /// Of an empty state.
    pub fn new(context: &StatementContext) -> Self {
        Self(Mutex::new(Parts { charge: context.memory.charge(), told: 0, given: 0 }))
    }

    /// The state holds this many bytes now.
    pub fn grown(&mut self, bytes: usize) -> SqlResult<()> {
        let parts = self.0.get_mut();
        let beyond = bytes.saturating_sub(parts.told) + parts.given;
        match beyond > parts.charge.bytes() + Self::SLACK_BYTES {
            true => parts.charge.resize(beyond),
            false => Ok(()),
        }
    }

    /// A result is about to be made of a state of this many bytes, which takes `copies` times as much.
    pub fn making(&mut self, bytes: usize, copies: usize) -> SqlResult<()> {
        self.grown(bytes.saturating_mul(1 + copies))
    }

    /// A result of this many bytes was given; the operator may ask for the next one while it keeps it.
    pub fn gave(&mut self, bytes: usize) -> SqlResult<()> {
        if bytes <= Self::RESULT_BYTES_MAX {
            return Ok(());
        }
        self.0.get_mut().given += bytes;
        self.grown(0)
    }

    /// The operator is told a size, which it charges itself.
    pub fn tell(&self, bytes: usize) -> usize {
        let mut parts = self.0.lock();
        parts.told = bytes;
        let given = parts.given;
        if parts.charge.bytes() > given {
            // Less is always available.
            let _ = parts.charge.resize(given);
        }
        bytes
    }
}
