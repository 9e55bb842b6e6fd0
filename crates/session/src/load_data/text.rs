//! The text to load as it comes, and what loading has beside it.

use crate::query::ChangeEnv;
use squall_accounting::GrowingCharge;
use squall_instrumentation::process::Process;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Text as it comes.
pub(super) struct Text {
    /// The text that came before the way to load was chosen.
    pub first: Vec<u8>,
    /// The next text; `None` at the end.
    pub rest: Option<mpsc::Receiver<Vec<u8>>>,
    /// For a row whose end has not come.
    pub unfinished: GrowingCharge,
}

impl Text {
    /// The next piece, and whether it is the last. Text that breaks off is an error: its sender has failed.
    pub fn next(&mut self) -> SqlResult<(Vec<u8>, bool)> {
        if !self.first.is_empty() || self.rest.is_none() {
            return Ok((std::mem::take(&mut self.first), self.rest.is_none()));
        }
        match self.rest.as_mut().and_then(mpsc::Receiver::blocking_recv) {
            Some(piece) => {
                let last = piece.is_empty();
                Ok((piece, last))
            }
            None => Err(broken_off()),
        }
    }

    /// Charges the statement with a row whose end has not come: it may be as long as the text.
    ///
    /// # Errors
    /// That of the statement's memory.
    pub fn hold(&mut self, unfinished_bytes: usize) -> SqlResult<()> {
        self.unfinished.clear();
        self.unfinished.grow(unfinished_bytes)
    }
}

/// Its sender has failed.
pub(super) fn broken_off() -> SqlError {
    SqlError::internal("the text to load breaks off")
}

/// The parameters of the loading thread beside the load.
pub(super) struct LoadContext {
    pub change: ChangeEnv<'static>,
    /// The session's number.
    pub session: u64,
    /// Where progress is shown.
    pub process: Arc<Process>,
}
