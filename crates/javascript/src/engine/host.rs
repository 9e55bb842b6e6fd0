//! The functions of the server that scripts may call.

use super::arena::Arena;
use super::guard::{hold_off, shield};
use super::host_sql::sql;
use super::task::{Leave, Statements};
use rquickjs_sys as js;
use squall_statement_context::KillState;
use squall_types::SqlError;
use squall_types::temporal::TimeZone;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Most bytes of messages that a session keeps.
pub(super) const LOG_BYTES_MAX: usize = 64 << 10;
const MILLIS_PER_SECOND: i64 = 1000;

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

/// The functions that the prelude gets, with how many arguments they take.
pub(super) const FUNCTIONS: [(&CStr, RawFunction, c_int); 6] = [
    (c"offset", offset, 1),
    (c"log", log, 1),
    (c"random", random, 0),
    (c"hold", hold, 1),
    (c"sql", sql, 4),
    (c"overflow", overflow, 0),
];

type RawFunction = unsafe extern "C" fn(*mut js::JSContext, js::JSValue, c_int, *mut js::JSValue) -> js::JSValue;

/// Milliseconds east of UTC at a moment in milliseconds since 1970.
unsafe extern "C" fn offset(
    context: *mut js::JSContext,
    _: js::JSValue,
    count: c_int,
    arguments: *mut js::JSValue,
) -> js::JSValue {
    // SAFETY: the engine gives as many arguments as it says, at least those that the function is declared with.
    unsafe {
        let mut at = f64::NAN;
        if count > 0 && js::JS_ToFloat64(context, &raw mut at, *arguments) < 0 {
            return js::JS_EXCEPTION;
        }
        if !at.is_finite() {
            return js::JS_NewFloat64(f64::NAN);
        }
        let host = host_of(context);
        let seconds = shield(|| (*host).zone.offset_at((at as i64).div_euclid(MILLIS_PER_SECOND)));
        js::JS_NewFloat64(f64::from(seconds) * MILLIS_PER_SECOND as f64)
    }
}

/// Takes a line of `console.log`; the last of them are kept.
unsafe extern "C" fn log(
    context: *mut js::JSContext,
    _: js::JSValue,
    count: c_int,
    arguments: *mut js::JSValue,
) -> js::JSValue {
    // SAFETY: as above; the text is valid until it is freed, which setting the realm back does.
    unsafe {
        if count > 0 {
            let mut length = 0;
            let text = js::JS_ToCStringLen2(context, &raw mut length, *arguments, false);
            if text.is_null() {
                return js::JS_EXCEPTION;
            }
            let line = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
            let host = host_of(context);
            shield(|| (*host).add_line(line));
            js::JS_FreeCString(context, text);
        }
        js::JS_UNDEFINED
    }
}

/// Forbids jumps (1), or allows them again (-1), around calls of the C library, which has locks.
unsafe extern "C" fn hold(
    context: *mut js::JSContext,
    _: js::JSValue,
    count: c_int,
    arguments: *mut js::JSValue,
) -> js::JSValue {
    let mut change = 0;
    // SAFETY: the engine gives as many arguments as it says; the prelude's is a number.
    unsafe {
        if count > 0 && js::JS_ToInt64(context, &raw mut change, *arguments) < 0 {
            return js::JS_EXCEPTION;
        }
    }
    hold_off(change.signum() as c_int);
    js::JS_UNDEFINED
}

/// A number from 0 up to, but not, 1.
unsafe extern "C" fn random(context: *mut js::JSContext, _: js::JSValue, _: c_int, _: *mut js::JSValue) -> js::JSValue {
    // SAFETY: the host lives as long as the realm.
    let state = unsafe { &mut (*host_of(context)).random };
    // SplitMix64.
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    js::JS_NewFloat64((mixed >> 11) as f64 / (1_u64 << 53) as f64)
}

/// The engine has thrown the exception for a full stack: the script fails, even if it catches that.
unsafe extern "C" fn overflow(
    context: *mut js::JSContext,
    _: js::JSValue,
    _: c_int,
    _: *mut js::JSValue,
) -> js::JSValue {
    // SAFETY: the host and the arena live as long as the realm.
    unsafe { Arena::stack_is_full((*host_of(context)).arena) };
    js::JS_UNDEFINED
}

/// The engine looks for a property of the [`stack_gauge`]. It finds none here, but the stack is measured.
unsafe extern "C" fn measure_stack(
    context: *mut js::JSContext,
    _: *mut js::JSPropertyDescriptor,
    _: js::JSValue,
    _: js::JSAtom,
) -> c_int {
    // SAFETY: the host and the arena live as long as the realm.
    unsafe {
        let host = host_of(context);
        if stack_address() < (*host).stack_end {
            Arena::stack_is_full((*host).arena);
        }
    }
    0
}

static GAUGE_METHODS: js::JSClassExoticMethods = js::JSClassExoticMethods {
    get_own_property: Some(measure_stack),
    get_own_property_names: None,
    delete_property: None,
    define_own_property: None,
    has_property: None,
    get_property: None,
    set_property: None,
};

/// An object that measures the stack when one of its properties is read. The engine does that whenever it makes the stack trace
/// of an exception, and checks its stack neither before nor meanwhile: so this works on a full stack too.
///
/// # Safety
/// `runtime` and `context` are those of a realm.
pub(super) unsafe fn stack_gauge(runtime: *mut js::JSRuntime, context: *mut js::JSContext) -> js::JSValue {
    let exotic = (&raw const GAUGE_METHODS).cast_mut();
    let class =
        js::JSClassDef { class_name: c"StackGauge".as_ptr(), finalizer: None, gc_mark: None, call: None, exotic };
    let mut id = 0;
    // SAFETY: the caller says so; the engine only reads the methods, which are there for good.
    unsafe {
        js::JS_NewClassID(runtime, &raw mut id);
        match js::JS_NewClass(runtime, id, &raw const class) {
            0 => js::JS_NewObjectClass(context, id),
            _ => js::JS_EXCEPTION,
        }
    }
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

    fn add_line(&mut self, line: &[u8]) {
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
