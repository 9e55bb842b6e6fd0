//! Guards calls into the engine: a script that does not stop, or crashes, returns here.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

unsafe extern "C" {
    fn squall_javascript_install() -> c_int;
    fn squall_javascript_guard(body: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) -> c_int;
    fn squall_javascript_shield(change: c_int);
    fn squall_javascript_interrupt(thread: libc::pthread_t) -> c_int;
}

/// Takes the signal that ends scripts.
pub(super) fn install_signal() -> std::io::Result<()> {
    // SAFETY: the handler does nothing unless the thread is in the engine.
    match unsafe { squall_javascript_install() } {
        0 => Ok(()),
        number => Err(std::io::Error::from_raw_os_error(number)),
    }
}

/// Makes a thread leave the engine, if it is inside.
pub(super) fn interrupt(thread: libc::pthread_t) {
    // SAFETY: the caller holds the lock that the thread needs to end its run, so that the thread is there.
    let _ = unsafe { squall_javascript_interrupt(thread) };
}

/// Forbids jumps out of the engine from here on (1), or allows them again (-1).
pub(super) fn hold_off(change: c_int) {
    // SAFETY: it counts, for this thread.
    unsafe { squall_javascript_shield(change) }
}

/// Does work of the server for the engine. No jump may leave it.
pub(super) fn shield<T>(work: impl FnOnce() -> T) -> T {
    hold_off(1);
    let result = work();
    hold_off(-1);
    result
}

/// Calls the engine. `None` if it was left by a jump: the realm is good for nothing but to be set back.
///
/// `work` calls the engine and holds nothing that has to be dropped.
pub(super) fn guarded<T: Copy>(work: impl FnOnce() -> T + Copy) -> Option<T> {
    struct Call<F, T>(F, MaybeUninit<T>);
    unsafe extern "C" fn body<F: FnOnce() -> T + Copy, T>(call: *mut c_void) {
        // SAFETY: it is the call below.
        let call = unsafe { &mut *call.cast::<Call<F, T>>() };
        call.1.write((call.0)());
    }
    fn body_of<F: FnOnce() -> T + Copy, T>(_: &F) -> unsafe extern "C" fn(*mut c_void) {
        body::<F, T>
    }
    let mut call = Call(work, MaybeUninit::uninit());
    let body = body_of::<_, T>(&call.0);
    // SAFETY: a jump passes frames of `body` and of the engine alone, none of which has something to drop.
    match unsafe { squall_javascript_guard(body, (&raw mut call).cast()) } {
        // SAFETY: the body has come to its end.
        0 => Some(unsafe { call.1.assume_init() }),
        _ => None,
    }
}

/// The thread that runs.
pub(super) fn this_thread() -> libc::pthread_t {
    thread_local!(static THREAD: Cell<libc::pthread_t> = Cell::new(
        // SAFETY: it asks for a number.
        unsafe { libc::pthread_self() }
    ));
    THREAD.get()
}
