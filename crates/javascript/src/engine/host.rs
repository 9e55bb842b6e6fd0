//! The state of the running call, for the engine's callbacks.

use super::arena::Arena;
use super::task::{Leave, Statements};
use rquickjs_sys as js;
use squall_statement_context::KillState;
use squall_types::SqlError;
use squall_types::temporal::TimeZone;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Most bytes of messages that a session keeps.
pub(super) const LOG_BYTES_MAX: usize = 64 << 10;

/// The state of the running call for the engine's callbacks. It is outside of the realm's memory and stays where it is.
#[derive(Debug)]
pub(super) struct Host {
    pub kill: Arc<KillState>,
    pub deadline: Option<Instant>,
    pub zone: Arc<TimeZone>,
    /// Lines that `console.log` was given.
    pub log: String,
    /// State of `Math.random()`: it goes on from call to call.
    pub random: u64,
    /// The realm's memory.
    pub arena: *mut c_void,
    /// Why the engine was told to stop.
    pub stopped: Option<Leave>,
    /// The way to the session, while a script runs that has one.
    pub statements: Option<NonNull<dyn Statements>>,
    /// Whether the script's caller no longer waits.
    pub is_abandoned: Option<Arc<AtomicBool>>,
    /// The error that ended the script, or the last that a statement has failed with.
    pub error: Option<SqlError>,
    /// Heap of the script that runs, bytes.
    pub heap: usize,
    /// The lowest address of the stack that the script that runs may have.
    pub stack_end: usize,
}

/// The engine asks whether to stop. It may be left by a jump here, so that nothing is allocated and no lock taken.
///
/// # Safety
/// `opaque` is the [`Host`] of the realm that runs.
pub(super) unsafe extern "C" fn interrupt(_: *mut js::JSRuntime, opaque: *mut c_void) -> c_int {
    // SAFETY: the caller says so.
    let host = unsafe { &mut *opaque.cast::<Host>() };
    c_int::from(host.must_stop())
}

/// About where the stack of this thread ends now.
#[inline(never)]
pub(super) fn stack_address() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here).addr()
}

/// # Safety
/// `context` is one of a realm.
pub(super) unsafe fn host_of(context: *mut js::JSContext) -> *mut Host {
    // SAFETY: the caller says so.
    unsafe { js::JS_GetContextOpaque(context).cast() }
}

impl Host {
    /// Whether the script has to stop, from now on for good.
    pub(super) fn must_stop(&mut self) -> bool {
        if self.stopped.is_none() {
            // SAFETY: the arena lives as long as the realm.
            if unsafe { Arena::is_exceeded(self.arena) } {
                self.stopped = Some(Leave::Memory);
            } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.stopped = Some(Leave::Time);
            } else if self.kill.is_stopped()
                || self.is_abandoned.as_ref().is_some_and(|is_abandoned| is_abandoned.load(Ordering::Relaxed))
            {
                self.stopped = Some(Leave::Killed);
            }
        }
        self.stopped.is_some()
    }

    /// Adds a line of `console.log`; the last of them are kept.
    pub(super) fn add_line(&mut self, line: &[u8]) {
        // The end of a line that is too long says the most.
        let line = &line[line.len().saturating_sub(LOG_BYTES_MAX)..];
        self.log.push_str(&String::from_utf8_lossy(line));
        self.log.push('\n');
        if self.log.len() > 4 * LOG_BYTES_MAX {
            keep_end(&mut self.log);
        }
    }
}

/// Leaves the last 64 kB of a text.
pub(super) fn keep_end(log: &mut String) {
    if log.len() > LOG_BYTES_MAX {
        let from = log.ceil_char_boundary(log.len() - LOG_BYTES_MAX);
        log.drain(..from);
    }
}
