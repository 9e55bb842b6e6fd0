//! Looking for a client's next command for a moment before the loop goes to sleep.
//!
//! To put a core to sleep and wake it again takes tens of microseconds, in a virtual machine above all: several times what a
//! small statement does. A client that sends its next command as soon as it has the answer is served faster, and with less
//! of the machine's time, by a loop that stays awake for it. The loop gives way between looks: to its other connections,
//! whose commands it finds by the way, and to other threads. A client that takes longer is looked for ever more
//! rarely. (The kernel does the same for network devices, `net.core.busy_poll`, and hypervisors for halted cores.)

use std::cell::Cell;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::packet_stream::{PacketStream, ReadError};

/// Whether some connection of a loop is looking: one is enough to keep it awake.
#[derive(Debug, Default)]
pub(crate) struct Awake(Cell<bool>);

/// A command that was slept for comes later than one that is looked for by about the time that waking takes.
const WAKING_FACTOR: u32 = 4;
/// Vain looks in a row that cost nothing: a client may take longer over some answers than over others.
const VAIN_FREE: u32 = 2;
/// Commands that are not looked for after many vain looks in a row, as a power of two.
const SKIPPED_MAX_LOG2: u32 = 10;

/// What one connection knows of its client.
#[derive(Debug)]
pub(crate) struct BusyPoll {
    waiting_since: Instant,
    /// Looks in vain since the last that was not.
    vain: u32,
    /// Commands still not to be looked for.
    to_skip: u32,
}

impl BusyPoll {
    /// Of a client that has been slow, for all that is known.
    pub(crate) fn new() -> Self {
        Self { waiting_since: Instant::now(), vain: 0, to_skip: 1 }
    }

    /// Begins to wait for a command; looks for it for so long, if that is worth while. What has been read, if anything has.
    pub(crate) async fn look(
        &mut self,
        io: &mut PacketStream,
        awake: &Awake,
        time_max: Duration,
    ) -> Option<Result<(), ReadError>> {
        self.waiting_since = Instant::now();
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return None;
        }
        if time_max.is_zero() || awake.0.replace(true) {
            return None;
        }
        let _last = Asleep(awake);
        loop {
            let read = std::future::poll_fn(|cx| Poll::Ready(pin!(io.fill()).poll(cx))).await;
            if let Poll::Ready(read) = read {
                self.vain = 0;
                return Some(read);
            }
            if self.waiting_since.elapsed() >= time_max {
                self.vain = (self.vain + 1).min(VAIN_FREE + SKIPPED_MAX_LOG2);
                self.to_skip = if self.vain > VAIN_FREE { 1 << (self.vain - VAIN_FREE) } else { 0 };
                return None;
            }
            std::thread::yield_now();
            tokio::task::yield_now().await;
        }
    }

    /// A command has come without being looked for.
    pub(crate) fn came(&mut self, time_max: Duration) {
        if self.waiting_since.elapsed() >= time_max * WAKING_FACTOR {
            self.to_skip = self.to_skip.max(1);
        }
    }
}

/// Lets the loop sleep again when dropped.
struct Asleep<'a>(&'a Awake);

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.0.set(false);
    }
}
