//! The functions of the server that scripts may call.

use super::arena::Arena;
use super::guard::{hold_off, shield};
use super::host::{host_of, stack_address};
use super::host_sql::sql;
use rquickjs_sys as js;
use std::ffi::{CStr, c_int};

const MILLIS_PER_SECOND: i64 = 1000;

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
