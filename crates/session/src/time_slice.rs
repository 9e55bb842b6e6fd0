//! Time slices: the time for which one connection may use its event loop without a pause.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Length of a time slice.
const TIME_SLICE: Duration = Duration::from_micros(500);

/// The time slice of a connection. It begins when the connection had to wait for its client, or began a program, and ends when others on the
/// loop run.
///
/// Most slices are one command long. The clock is not read for those.
#[derive(Debug, Default)]
pub struct TimeSlice(Cell<State>);

#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// The client was waited for.
    #[default]
    Fresh,
    /// There was something to do; how long that takes is measured from the next look on.
    Used,
    Since(Instant),
}

impl TimeSlice {
    /// Whether others should run before more is done.
    pub fn is_over(&self) -> bool {
        match self.0.get() {
            State::Fresh => self.0.set(State::Used),
            State::Used => self.0.set(State::Since(Instant::now())),
            State::Since(start) => return start.elapsed() >= TIME_SLICE,
        }
        false
    }

    /// The connection waits for its client, so others run.
    pub fn end(&self) {
        self.0.set(State::Fresh);
    }

    /// Lets others run, if the slice is over.
    pub async fn give_way(&self) {
        if let State::Since(start) = self.0.get()
            && start.elapsed() >= TIME_SLICE
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
    fn a_slice_ends_when_the_client_is_waited_for() {
        let slice = TimeSlice::default();
        slice.0.set(State::Since(Instant::now().checked_sub(TIME_SLICE).expect("a past")));
        assert!(slice.is_over());
        slice.end();
        assert!(!slice.is_over() && !slice.is_over());
    }
}
