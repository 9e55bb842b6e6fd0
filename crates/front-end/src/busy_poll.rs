//! Busy polling: a loop looks for a client's next command for a short time before it sleeps.
//!
//! To put a core to sleep and wake it again takes tens of microseconds, above all in a virtual machine: several times the time of a
//! small statement. Some clients send the next command as soon as they have the answer. A loop that stays awake serves them faster, and
//! uses less processor time. Between two polls the loop serves its other connections. A client that takes longer is polled less and
//! less often.
//!
//! Polling is wrong if threads wait for cores: a thread that stays awake uses up its share of the core, and then waits longer than a
//! thread that slept. So a loop that had to wait for its core sleeps as soon as it can. (The kernel does the same for network devices,
//! `net.core.busy_poll`, and hypervisors for halted cores.)

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A look at the clock that comes so much later than the one before means that another thread had the core meanwhile.
const GAP_MAX: Duration = Duration::from_micros(100);
/// Most of a second that a loop may have waited for its core.
const DELAY_MAX: Duration = Duration::from_millis(10);

/// Whether a loop may stay awake.
#[derive(Debug, Default)]
pub struct Awake {
    /// Some connection is looking: one is enough.
    is_looking: Cell<bool>,
    /// The loop has had to wait for its core.
    is_crowded: Cell<bool>,
    /// How long it has waited since it began.
    delay: Cell<Duration>,
}

impl Awake {
    /// Another second has passed.
    pub fn tick(&self) {
        if let Some(delay) = run_delay() {
            self.is_crowded.set(delay - self.delay.replace(delay).min(delay) > DELAY_MAX);
        }
    }
}

/// How long this thread has been ready to run and waited for a core, where the system tells.
fn run_delay() -> Option<Duration> {
    let facts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    facts.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// A command that was slept for comes later than one that is looked for by about the time that waking takes.
const WAKING_FACTOR: u32 = 4;
/// Vain looks in a row that cost nothing: a client may take longer over some answers than over others.
const VAIN_FREE: u32 = 2;
/// Commands that are not looked for after many vain looks in a row, as a power of two.
const SKIPPED_MAX_LOG2: u32 = 10;

/// One connection's record of how quickly its client sends.
#[derive(Debug)]
pub struct BusyPoll {
    waiting_since: Instant,
    /// Looks in vain since the last that was not.
    vain: u32,
    /// Commands still not to be looked for.
    to_skip: u32,
}

impl BusyPoll {
    /// Of a client that has been slow, for all that is known.
    #[expect(clippy::new_without_default, reason = "it knows the time")]
    pub fn new() -> Self {
        Self { waiting_since: Instant::now(), vain: 0, to_skip: 1 }
    }

    /// Begins to wait for a command; looks for it for so long, if that is worth while, by `read`, which is polled again each time and must
    /// lose nothing by that. What has been read, if anything has.
    #[inline]
    pub async fn look<T>(
        &mut self,
        mut read: impl FnMut(&mut Context<'_>) -> Poll<T>,
        awake: &Awake,
        time_max: Duration,
    ) -> Option<T> {
        if time_max.is_zero() {
            return None;
        }
        self.waiting_since = Instant::now();
        if self.skips() || awake.is_crowded.get() || awake.is_looking.replace(true) {
            return None;
        }
        let _last = Asleep(awake);
        let mut looked = self.waiting_since;
        loop {
            let looked_now = poll_fn(|context| Poll::Ready(read(context))).await;
            if let Poll::Ready(read) = looked_now {
                self.vain = 0;
                return Some(read);
            }
            let now = Instant::now();
            if now - looked > GAP_MAX {
                awake.is_crowded.set(true);
                return None;
            }
            looked = now;
            if now - self.waiting_since >= time_max {
                self.looked_in_vain();
                return None;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Whether this command is not to be looked for.
    #[inline]
    fn skips(&mut self) -> bool {
        let skips = self.to_skip > 0;
        self.to_skip = self.to_skip.saturating_sub(1);
        skips
    }

    fn looked_in_vain(&mut self) {
        self.vain = (self.vain + 1).min(VAIN_FREE + SKIPPED_MAX_LOG2);
        self.to_skip = if self.vain > VAIN_FREE { 1 << (self.vain - VAIN_FREE) } else { 0 };
    }

    /// A command has come without being looked for.
    #[inline]
    pub fn came(&mut self, time_max: Duration) {
        if !time_max.is_zero() && self.waiting_since.elapsed() >= time_max * WAKING_FACTOR {
            self.to_skip = self.to_skip.max(1);
        }
    }
}

/// Lets the loop sleep again when dropped.
struct Asleep<'a>(&'a Awake);

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.is_looking.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands until one is looked for.
    fn skipped(client: &mut BusyPoll) -> u32 {
        (0..).find(|_| !client.skips()).expect("skipping ends")
    }

    #[test]
    fn a_client_that_is_looked_for_in_vain_is_looked_for_ever_more_rarely() {
        let mut client = BusyPoll::new();
        assert_eq!(skipped(&mut client), 1, "nothing is known of it");
        let skipped: Vec<u32> = (0..15)
            .map(|_| {
                client.looked_in_vain();
                skipped(&mut client)
            })
            .collect();
        assert_eq!(skipped, [0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024]);
    }

    #[test]
    fn a_client_that_took_its_time_is_not_looked_for_next_time() {
        let mut client = BusyPoll { to_skip: 0, ..BusyPoll::new() };
        client.came(Duration::from_secs(3600));
        assert_eq!(skipped(&mut client), 0);
        client.came(Duration::from_nanos(1));
        assert_eq!(skipped(&mut client), 1);
    }

    #[test]
    fn a_loop_knows_how_long_it_has_waited_for_its_core() {
        let awake = Awake::default();
        awake.is_crowded.set(true);
        let known = run_delay().is_some();
        // The second tick counts from the first; a thread that does nothing in between waits for nothing.
        awake.delay.set(Duration::MAX);
        awake.tick();
        assert_eq!(awake.is_crowded.get(), !known);
    }
}
