//! Watches the time of scripts, and stops those that run too long.

use parking_lot::Mutex;
use squall_statement_context::KillState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// From one look to the next.
const PERIOD: Duration = Duration::from_millis(20);
/// Looks without a running script, before the watch sleeps.
const IDLE_LOOKS: u32 = 100;

/// A script that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub thread: libc::pthread_t,
    pub kill: Arc<KillState>,
    pub is_abandoned: Option<Arc<AtomicBool>>,
    pub deadline: Option<Instant>,
    /// Whether the last look found that it should have stopped.
    pub is_overdue: bool,
}

impl Running {
    /// Whether it has to stop.
    fn must_stop(&self) -> bool {
        self.kill.is_stopped()
            || self.is_abandoned.as_ref().is_some_and(|is_abandoned| is_abandoned.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The entry of a realm with its running script.
pub(super) type Slot = Arc<Mutex<Option<Running>>>;

#[derive(Default)]
struct Watch {
    slots: Mutex<Vec<Weak<Mutex<Option<Running>>>>>,
    sleeps: AtomicBool,
    thread: OnceLock<Thread>,
}

static WATCH: LazyLock<Watch> = LazyLock::new(Watch::default);

/// A slot that is looked after from now on.
///
/// # Errors
/// When the system gives no thread or no signal.
pub(super) fn slot() -> std::io::Result<Slot> {
    let slot = Slot::default();
    let mut slots = WATCH.slots.lock();
    if WATCH.thread.get().is_none() {
        super::guard::install_signal()?;
        let thread = std::thread::Builder::new().name("javascript-watch".into()).spawn(look_after)?;
        // The lock is held, so no other thread has started one.
        let _ = WATCH.thread.set(thread.thread().clone());
    }
    slots.retain(|slot| slot.strong_count() > 0);
    slots.push(Arc::downgrade(&slot));
    Ok(slot)
}

/// A script has begun: the watch must not sleep.
pub(super) fn wake() {
    if WATCH.sleeps.load(Ordering::SeqCst)
        && WATCH.sleeps.swap(false, Ordering::SeqCst)
        && let Some(thread) = WATCH.thread.get()
    {
        thread.unpark();
    }
}

fn look_after() {
    let mut idle = 0;
    loop {
        idle = if look() { 0 } else { idle + 1 };
        if idle < IDLE_LOOKS {
            std::thread::sleep(PERIOD);
            continue;
        }
        WATCH.sleeps.store(true, Ordering::SeqCst);
        // One that began before it could know that the watch sleeps.
        if look() {
            WATCH.sleeps.store(false, Ordering::SeqCst);
        }
        while WATCH.sleeps.load(Ordering::SeqCst) {
            std::thread::park();
        }
        idle = 0;
    }
}

/// Whether a script runs. One that is overdue for the second time is left by a jump: the engine asks more often than that,
/// where it asks at all.
fn look() -> bool {
    let slots: Vec<_> = WATCH.slots.lock().iter().filter_map(Weak::upgrade).collect();
    let mut any = false;
    for slot in slots {
        // While the lock is held, the thread cannot leave the script's run.
        if let Some(running) = slot.lock().as_mut() {
            any = true;
            if running.must_stop() {
                if running.is_overdue {
                    super::guard::interrupt(running.thread);
                }
                running.is_overdue = true;
            }
        }
    }
    any
}
