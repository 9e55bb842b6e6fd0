//! How long one connection may keep its event loop to itself.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// After so long others on the loop come first.
const TURN: Duration = Duration::from_micros(500);

/// A connection's turn: from when it had to wait for its client, or began a program, until it lets others in.
///
/// Most turns are one command long, and nobody looks at the clock for those.
#[derive(Debug, Default)]
pub struct Turn(Cell<State>);

#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// The client was waited for.
    #[default]
    Fresh,
    /// There was something to do; how long that takes is measured from the next look on.
    Used,
    Since(Instant),
}

impl Turn {
    /// Whether others should be let in before more is done.
    pub fn is_over(&self) -> bool {
        match self.0.get() {
            State::Fresh => self.0.set(State::Used),
            State::Used => self.0.set(State::Since(Instant::now())),
            State::Since(start) => return start.elapsed() >= TURN,
        }
        false
    }

    /// The client is waited for, so others have their turn.
    pub fn end(&self) {
        self.0.set(State::Fresh);
    }

    /// Lets others in, if the turn is over.
    pub async fn give_way(&self) {
        if let State::Since(start) = self.0.get()
            && start.elapsed() >= TURN
        {
            tokio::task::yield_now().await;
            self.0.set(State::Since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_when_the_client_is_waited_for() {
        let turn = Turn::default();
        turn.0.set(State::Since(Instant::now().checked_sub(TURN).expect("a past")));
        assert!(turn.is_over());
        turn.end();
        assert!(!turn.is_over() && !turn.is_over());
    }
}
