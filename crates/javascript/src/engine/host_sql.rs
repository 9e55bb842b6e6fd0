//! `session.sql()`: sends a script's statement to the session, and returns its answer.

use super::guard::shield;
use super::host::{Host, host_of};
use super::task::{Leave, Parameter};
use super::values::{PLAIN, input_value, number_value, string_value};
use rquickjs_sys as js;
use squall_registry::CallerError;
use squall_statement_context::NestedResult;
use squall_types::{SqlError, SqlType, Value};
use std::ffi::c_int;

/// Rows that are made between two looks whether to stop.
const ROWS_PER_LOOK: usize = 256;

/// Why a function of the server gives nothing: an exception is pending.
struct Thrown;

/// Runs a statement: its text, an array of its parameters, how many there are, and whether its rows go to the client.
///
/// Gives `[results]`, or `[null, code, state, message]` for an error that the script may catch. The prelude alone calls it, with values that it has
/// made.
pub(super) unsafe extern "C" fn sql(
    context: *mut js::JSContext,
    _: js::JSValue,
    count: c_int,
    arguments: *mut js::JSValue,
) -> js::JSValue {
    if count < 4 {
        return js::JS_UNDEFINED;
    }
    // SAFETY: the engine gives as many arguments as it says. What is made here is dropped here: no jump leaves it.
    shield(|| unsafe {
        let arguments = std::slice::from_raw_parts(arguments, 4);
        answer(context, arguments).unwrap_or(js::JS_EXCEPTION)
    })
}

unsafe fn answer(context: *mut js::JSContext, arguments: &[js::JSValue]) -> Result<js::JSValue, Thrown> {
    // SAFETY: the context is a realm's, whose host is there for as long as it is.
    unsafe {
        let host = &mut *host_of(context);
        let Some(statements) = host.statements else { return Ok(js::JS_UNDEFINED) };
        let statements = statements.as_ref();
        let mut parameters = Vec::new();
        let mut places = 0;
        if js::JS_ToInt64(context, &raw mut places, arguments[2]) < 0 {
            return Err(Thrown);
        }
        let text = text_of(context, arguments[0])?;
        let mut bytes = text.len();
        for at in 0..u32::try_from(places).unwrap_or(0) {
            let parameter = parameter(context, made(js::JS_GetPropertyUint32(context, arguments[1], at))?)?;
            bytes = bytes.saturating_add(parameter.bytes());
            // One long text may be many parameters.
            if bytes > host.heap {
                host.stopped = Some(Leave::Memory);
                return Err(stop(context));
            }
            parameters.push(parameter);
        }
        let sends = js::JS_ToBool(context, arguments[3]) > 0;
        if host.must_stop() {
            return Err(stop(context));
        }
        let ran = statements.run(text, parameters, sends, host.deadline);
        // The statement may have taken the script's time, or was killed.
        let results = match ran {
            Err(CallerError::TooManyRows) => {
                host.stopped = Some(Leave::Memory);
                return Err(stop(context));
            }
            Err(CallerError::Ended(error)) => {
                if !host.must_stop() {
                    host.stopped = Some(Leave::Ended);
                }
                host.error = Some(error);
                return Err(stop(context));
            }
            _ if host.must_stop() => return Err(stop(context)),
            Err(CallerError::Failed(error)) => {
                let told = error_value(context, &error);
                host.error = Some(error);
                return told;
            }
            Ok(results) => results,
        };
        let sets = array(context)?;
        for (at, result) in results.into_iter().enumerate() {
            put(context, sets, at, result_value(context, host, result)?)?;
        }
        let told = array(context)?;
        put(context, told, 0, sets)?;
        Ok(told)
    }
}

/// Ends the script: nothing in it catches that.
unsafe fn stop(context: *mut js::JSContext) -> Thrown {
    // SAFETY: the context is there.
    unsafe {
        let error = js::JS_NewError(context);
        js::JS_SetUncatchableError(context, error);
        js::JS_Throw(context, error);
    }
    Thrown
}

/// `[null, code, state, message]`.
unsafe fn error_value(context: *mut js::JSContext, error: &SqlError) -> Result<js::JSValue, Thrown> {
    // SAFETY: the context is there.
    unsafe {
        let told = array(context)?;
        put(context, told, 0, js::JS_NULL)?;
        put(context, told, 1, number_value(error.code.into()))?;
        put(context, told, 2, string_value(context, error.sqlstate_str()))?;
        put(context, told, 3, string_value(context, &error.message))?;
        Ok(told)
    }
}

/// `[names, rows, changed rows, first id]`; a row is an array.
unsafe fn result_value(
    context: *mut js::JSContext,
    host: &mut Host,
    result: NestedResult,
) -> Result<js::JSValue, Thrown> {
    let Some(statements) = host.statements else { return Err(Thrown) };
    // SAFETY: the context is there, and so is the way to the session while the script runs.
    unsafe {
        let statements = statements.as_ref();
        let names = array(context)?;
        for (at, (name, _)) in result.columns.iter().enumerate() {
            put(context, names, at, string_value(context, name))?;
        }
        let rows = array(context)?;
        // Each row goes as soon as the script has it.
        for (at, row) in result.rows.into_iter().enumerate() {
            if at % ROWS_PER_LOOK == 0 && host.must_stop() {
                return Err(stop(context));
            }
            let values = array(context)?;
            for (place, (value, (_, sql_type))) in row.iter().zip(&result.columns).enumerate() {
                put(context, values, place, input_value(context, &statements.input(value, sql_type)))?;
            }
            put(context, rows, at, values)?;
        }
        let whole = |number| input_value(context, &statements.input(&Value::UInt(number), &SqlType::BIGINT_UNSIGNED));
        let told = array(context)?;
        for (at, value) in
            [names, rows, whole(result.affected_rows), whole(result.last_insert_id)].into_iter().enumerate()
        {
            put(context, told, at, value)?;
        }
        Ok(told)
    }
}

/// A parameter that the prelude has made simple.
unsafe fn parameter(context: *mut js::JSContext, value: js::JSValue) -> Result<Parameter, Thrown> {
    // SAFETY: it is a value of this context, whose one reference is ours.
    unsafe {
        let parameter = if js::JS_IsNumber(value) {
            let mut number = 0.0;
            match js::JS_ToFloat64(context, &raw mut number, value) {
                0 => Parameter::Number(number),
                _ => return Err(Thrown),
            }
        } else if js::JS_IsBigInt(value) {
            Parameter::Whole(text_of(context, value)?)
        } else if js::JS_IsString(value) {
            Parameter::Text(text_of(context, value)?)
        } else if js::JS_IsObject(value) {
            let mut length: js::size_t = 0;
            let bytes = js::JS_GetUint8Array(context, &raw mut length, value);
            match (bytes.is_null(), length as usize) {
                (true, _) => {
                    // One without bytes, or without its buffer.
                    js::JS_FreeValue(context, js::JS_GetException(context));
                    Parameter::Bytes(Vec::new())
                }
                (false, length) => Parameter::Bytes(std::slice::from_raw_parts(bytes, length).to_vec()),
            }
        } else {
            Parameter::Null
        };
        js::JS_FreeValue(context, value);
        Ok(parameter)
    }
}

/// A text of a value that the prelude has made one of.
unsafe fn text_of(context: *mut js::JSContext, value: js::JSValue) -> Result<String, Thrown> {
    // SAFETY: it is a value of this context; the text is there until it is freed.
    unsafe {
        let mut length = 0;
        let text = js::JS_ToCStringLen2(context, &raw mut length, value, false);
        if text.is_null() {
            return Err(Thrown);
        }
        let own = String::from_utf8_lossy(std::slice::from_raw_parts(text.cast::<u8>(), length as usize)).into_owned();
        js::JS_FreeCString(context, text);
        Ok(own)
    }
}

unsafe fn array(context: *mut js::JSContext) -> Result<js::JSValue, Thrown> {
    // SAFETY: the context is there.
    unsafe { made(js::JS_NewArray(context)) }
}

/// Puts a value into an array, which has it from then on.
unsafe fn put(context: *mut js::JSContext, array: js::JSValue, at: usize, value: js::JSValue) -> Result<(), Thrown> {
    // SAFETY: they are values of this context.
    unsafe {
        let value = made(value)?;
        match js::JS_DefinePropertyValueUint32(context, array, u32::try_from(at).unwrap_or(u32::MAX), value, PLAIN) {
            code if code < 0 => Err(Thrown),
            _ => Ok(()),
        }
    }
}

fn made(value: js::JSValue) -> Result<js::JSValue, Thrown> {
    // SAFETY: it is a value.
    match unsafe { js::JS_IsException(value) } {
        true => Err(Thrown),
        false => Ok(value),
    }
}
