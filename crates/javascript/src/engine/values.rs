//! Makes the engine's values from the server's. If that fails, the engine has the exception.

use super::task::Input;
use rquickjs_sys as js;
use std::ffi::{CString, c_int};

/// A property like one that an assignment makes.
pub(super) const PLAIN: c_int = js::JS_PROP_C_W_E as c_int;

/// A Number, as an integer where the engine has them so.
pub(super) fn number_value(number: f64) -> js::JSValue {
    match number as i32 {
        whole if f64::from(whole).to_bits() == number.to_bits() => js::JS_MKVAL(js::JS_TAG_INT, whole),
        _ => js::JS_NewFloat64(number),
    }
}

/// A text as the script's.
///
/// # Safety
/// The context is there.
pub(super) unsafe fn string_value(context: *mut js::JSContext, text: &str) -> js::JSValue {
    // SAFETY: this many bytes are there.
    unsafe { js::JS_NewStringLen(context, text.as_ptr().cast(), text.len() as js::size_t) }
}

/// A value as the script's.
///
/// # Safety
/// The context is there. No jump may leave this: it may hold a text of its own.
pub(super) unsafe fn input_value(context: *mut js::JSContext, input: &Input<'_>) -> js::JSValue {
    // SAFETY: the caller says so; lengths are those of what is there.
    unsafe {
        match input {
            Input::Null => js::JS_NULL,
            Input::Number(number) => number_value(*number),
            Input::Signed(number) => js::JS_NewBigInt64(context, *number),
            Input::Unsigned(number) => js::JS_NewBigUint64(context, *number),
            Input::Moment(millis) => js::JS_NewDate(context, *millis),
            Input::Text(text) => string_value(context, text),
            Input::OwnText(text) => string_value(context, text),
            Input::Bytes(bytes) => js::JS_NewUint8ArrayCopy(context, bytes.as_ptr(), bytes.len() as js::size_t),
            Input::Json(text) => match CString::new(text.as_bytes()) {
                Ok(text) => {
                    let length = text.as_bytes().len() as js::size_t;
                    js::JS_ParseJSON(context, text.as_ptr(), length, c"argument".as_ptr())
                }
                // No document has a NUL.
                Err(_) => js::JS_NULL,
            },
        }
    }
}
