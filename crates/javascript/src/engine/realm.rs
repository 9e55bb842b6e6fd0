//! A realm: one runtime of the engine, and how a call runs in it.

use super::arena::{self, Arena, Exceeded};
use super::guard::{guarded, this_thread};
use super::host::{Host, interrupt as ask, keep_end, stack_address};
use super::host_functions::{FUNCTIONS, stack_gauge};
use super::task::{Bytecode, Failure, Input, Leave, Output, ResultForm, Statements, Task};
use super::values::{PLAIN, input_value};
use super::watch::{self, Running, Slot};
use crate::limits::TotalMemory;
use rquickjs_sys as js;
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

const PRELUDE: &CStr = match CStr::from_bytes_with_nul(concat!(include_str!("prelude.js"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("the prelude has a NUL"),
};
/// How scripts are called in stack traces; their lines are found by it.
const SCRIPT_NAME: &CStr = c"script";
/// Stack that a call needs besides the script's limit: the engine checks the free stack only now and then.
const STACK_RESERVE: usize = 512 << 10;
/// Stack beyond the script's limit that the engine may use before it throws: enough to call the prelude for the stack trace of an
/// exception that was thrown within the limit.
const STACK_MARGIN: usize = 64 << 10;
/// Heap that a realm may have until it is kept.
const PRELUDE_HEAP: usize = 16 << 20;
/// A collection of garbage before this many bytes are in use is more work than it is worth: the memory is set back anyway.
const GARBAGE_THRESHOLD: usize = 8 << 20;
/// Most bytes of what an error tells.
const MESSAGE_BYTES_MAX: usize = 512;
const TRACE_BYTES_MAX: usize = 2048;

/// Asks [`js_std_cmd`] for the trace of what was thrown last.
const ERROR_BACK_TRACE: c_int = 2;

unsafe extern "C" {
    /// The way of the engine's own shell into the engine.
    fn js_std_cmd(command: c_int, ...) -> usize;
}

/// The engine's version.
pub fn version() -> &'static str {
    // SAFETY: the engine gives a text that is always there.
    unsafe { CStr::from_ptr(js::JS_GetVersion()) }.to_str().unwrap_or_default()
}

/// The call cannot continue; the engine has the exception.
enum Stop {
    /// An exception is pending.
    Thrown,
    /// The engine was left by a jump.
    Jumped,
    /// A value was thrown that is here: a promise's.
    Value(js::JSValue),
    Other(Failure),
}

type Step<T> = Result<T, Stop>;

/// The engine was left by a jump: it must not be called again before its memory is set back.
struct Jumped;

/// What a step gives, if anything.
fn tried<T>(step: Step<T>) -> Result<Option<T>, Jumped> {
    match step {
        Err(Stop::Jumped) => Err(Jumped),
        step => Ok(step.ok()),
    }
}

/// A runtime of the engine with one global object, for one call at a time on any thread.
pub struct Realm {
    arena: Arena,
    runtime: *mut js::JSRuntime,
    context: *mut js::JSContext,
    /// What callbacks know; the realm's own.
    host: NonNull<Host>,
    slot: Slot,
    kept: Kept,
}

/// What the prelude gives, values of the realm.
#[derive(Clone, Copy)]
struct Kept {
    /// The function that [`ResultForm::Sql`] is made by.
    to_sql: js::JSValue,
    /// The function that tells code, state and message of a statement's error.
    error_of: js::JSValue,
    /// What scripts run statements by.
    session: js::JSValue,
}

impl std::fmt::Debug for Realm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Realm").field("arena", &self.arena).finish_non_exhaustive()
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        // SAFETY: it was made from a box, and the engine is not called any more: its memory goes as a whole.
        drop(unsafe { Box::from_raw(self.host.as_ptr()) });
    }
}

// SAFETY: the engine has no state of a thread but where its stack begins, which is told for each call.
unsafe impl Send for Realm {}

impl Realm {
    /// A new realm, for scripts of up to `heap` bytes.
    ///
    /// # Errors
    /// When all scripts together have too much memory, or the system has no more (1041).
    pub fn new(heap: usize, total: Arc<TotalMemory>) -> Result<Realm, Failure> {
        let none = || SqlError::new(ErrorCode::OutOfResources, &[]);
        let arena = Arena::new(heap.max(PRELUDE_HEAP), total)?;
        let slot = watch::slot().map_err(|_| none())?;
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|_| none())?;
        let functions = js::JSMallocFunctions {
            js_calloc: Some(arena::allocate_zeroed),
            js_malloc: Some(arena::allocate),
            js_free: Some(arena::release),
            js_realloc: Some(arena::reallocate),
            js_malloc_usable_size: Some(arena::usable),
        };
        // SAFETY: the engine copies the functions.
        let runtime = unsafe { js::JS_NewRuntime2(&raw const functions, arena.opaque()) };
        let refused = |arena: &Arena| match arena.exceeded() {
            Exceeded::Total => Failure::Total,
            Exceeded::Nothing | Exceeded::Heap | Exceeded::Stack => none().into(),
        };
        if runtime.is_null() {
            return Err(refused(&arena));
        }
        // SAFETY: the runtime is there, and its memory is the arena's.
        let context = unsafe { js::JS_NewContext(runtime) };
        if context.is_null() {
            return Err(refused(&arena));
        }
        let host = Box::new(Host {
            kill: Arc::default(),
            deadline: None,
            zone: Arc::new(TimeZone::utc()),
            log: String::new(),
            random: u64::from_ne_bytes(seed),
            arena: arena.opaque(),
            stopped: None,
            statements: None,
            is_abandoned: None,
            error: None,
            heap: 0,
            stack_end: 0,
        });
        let host = NonNull::from(Box::leak(host));
        let none = js::JS_UNDEFINED;
        let kept = Kept { to_sql: none, error_of: none, session: none };
        let mut realm = Realm { arena, runtime, context, host, slot, kept };
        let prepared = stacker::maybe_grow(2 << 20, 4 << 20, || realm.prepare());
        prepared
            .map_err(|error| if realm.arena.exceeded() == Exceeded::Total { Failure::Total } else { error.into() })?;
        realm.arena.keep();
        Ok(realm)
    }

    /// Runs the prelude and gives it the server's functions.
    fn prepare(&mut self) -> SqlResult<()> {
        let context = self.context;
        let opaque: *mut c_void = self.host.as_ptr().cast();
        let text = CString::new(version()).unwrap_or_default();
        // SAFETY: the context is there, and the host stays where it is for as long as the realm is.
        let result = unsafe {
            js::JS_UpdateStackTop(self.runtime);
            js::JS_SetContextOpaque(context, opaque);
            js::JS_SetInterruptHandler(self.runtime, Some(ask), opaque);
            js::JS_SetGCThreshold(self.runtime, GARBAGE_THRESHOLD as js::size_t);
            let host = js::JS_NewObject(context);
            for (name, function, count) in FUNCTIONS {
                let proto = js::JSCFunctionEnum_JS_CFUNC_generic;
                let function = js::JS_NewCFunction2(context, Some(function), name.as_ptr(), count, proto, 0);
                js::JS_SetPropertyStr(context, host, name.as_ptr(), function);
            }
            let text = js::JS_NewStringLen(context, text.as_ptr(), text.as_bytes().len() as js::size_t);
            js::JS_SetPropertyStr(context, host, c"version".as_ptr(), text);
            js::JS_SetPropertyStr(context, host, c"gauge".as_ptr(), stack_gauge(self.runtime, context));
            let length = PRELUDE.to_bytes().len() as js::size_t;
            let prelude = js::JS_Eval(context, PRELUDE.as_ptr(), length, c"prelude".as_ptr(), 0);
            let mut arguments = [host];
            js::JS_Call(context, prelude, js::JS_UNDEFINED, 1, arguments.as_mut_ptr())
        };
        // SAFETY: the value is the call's.
        if unsafe { js::JS_IsException(result) } {
            let (message, trace) = self.exception();
            return Err(SqlError::internal(format!("{message} {trace}")));
        }
        // SAFETY: it is an array, which has its values for as long as the realm is there.
        let [to_sql, error_of, session] = [0, 1, 2].map(|at| unsafe { js::JS_GetPropertyUint32(context, result, at) });
        self.kept = Kept { to_sql, error_of, session };
        // SAFETY: values that are kept have references of their own; cycles are collected before the copy is made.
        unsafe { js::JS_RunGC(self.runtime) };
        Ok(())
    }

    fn host(&mut self) -> &mut Host {
        // SAFETY: it is there for as long as the realm is, and the engine, which has it too, is not running.
        unsafe { self.host.as_mut() }
    }

    /// The most heap that scripts may have here.
    pub fn heap_max(&self) -> usize {
        self.arena.limit_max()
    }

    /// Bytes that are copied when a realm is set back.
    pub fn kept_bytes(&self) -> usize {
        self.arena.kept_bytes()
    }

    /// Sets the realm back, as each call does at its end.
    pub fn reset(&mut self) {
        self.arena.restore();
    }

    /// What scripts have said since this was asked last.
    pub fn take_log(&mut self) -> String {
        let log = &mut self.host().log;
        keep_end(log);
        std::mem::take(log)
    }

    /// Compiles a script.
    ///
    /// # Errors
    /// When it is none, or is too large.
    pub fn compile(&mut self, source: &str, task: &Task<'_>) -> Result<Bytecode, Failure> {
        let Ok(text) = CString::new(source) else { return self.compile_with_nul(source, task) };
        self.run(task, |realm| realm.compiled(&text))
    }

    /// NUL is a character like any other within a script's strings, and ends no script.
    fn compile_with_nul(&mut self, source: &str, task: &Task<'_>) -> Result<Bytecode, Failure> {
        let mut bytes = source.as_bytes().to_vec();
        bytes.push(0);
        self.run(task, |realm| realm.compiled_bytes(&bytes))
    }

    fn compiled(&mut self, source: &CStr) -> Step<Bytecode> {
        self.compiled_bytes(source.to_bytes_with_nul())
    }

    /// `source` ends with a NUL that is no part of it.
    fn compiled_bytes(&mut self, source: &[u8]) -> Step<Bytecode> {
        let (context, start, length) = (self.context, source.as_ptr().cast(), (source.len() - 1) as js::size_t);
        let flags = (js::JS_EVAL_TYPE_GLOBAL | js::JS_EVAL_FLAG_COMPILE_ONLY) as c_int;
        // SAFETY: the source is there for as long as the call is, and ends with a NUL.
        let code = self.value(|| unsafe { js::JS_Eval(context, start, length, SCRIPT_NAME.as_ptr(), flags) })?;
        let mut size: js::size_t = 0;
        let size_place = &raw mut size;
        let flags = js::JS_WRITE_OBJ_BYTECODE as c_int;
        // SAFETY: the code is a value of this context.
        let bytes = guarded(|| unsafe { js::JS_WriteObject(context, size_place, code, flags) });
        match bytes {
            None => Err(Stop::Jumped),
            Some(bytes) if bytes.is_null() => Err(Stop::Thrown),
            // SAFETY: the engine has written this many bytes, which stay until the realm is set back.
            Some(bytes) => Ok(Bytecode(unsafe { std::slice::from_raw_parts(bytes, size as usize) }.into())),
        }
    }

    /// Runs a script.
    ///
    /// # Errors
    /// When it gives no result.
    pub fn call(&mut self, code: &Bytecode, task: &Task<'_>) -> Result<Output, Failure> {
        self.run(task, |realm| realm.called(code, task))
    }

    fn called(&mut self, code: &Bytecode, task: &Task<'_>) -> Step<Output> {
        let context = self.context;
        let (start, length) = (code.0.as_ptr(), code.0.len() as js::size_t);
        let flags = js::JS_READ_OBJ_BYTECODE as c_int;
        // SAFETY: the bytes are what the same engine has written.
        let function = self.value(|| unsafe { js::JS_ReadObject(context, start, length, flags) })?;
        self.give(task.arguments)?;
        if task.statements.is_some() {
            self.define_global(c"session", self.kept.session)?;
        }
        // SAFETY: the function is a value of this context.
        let result = self.value(|| unsafe { js::JS_EvalFunction(context, function) })?;
        if task.form == ResultForm::Parameters {
            return self.parameters(result, task);
        }
        let result = self.awaited(result)?;
        self.output(result, task)
    }

    /// The values of the parameters, when the procedure has come to its end.
    fn parameters(&mut self, result: js::JSValue, task: &Task<'_>) -> Step<Output> {
        let context = self.context;
        // SAFETY: the values are this context's; the array is what `called_procedure` gives.
        let element = |realm: &Self, of: js::JSValue, at: u32| {
            realm.value(|| unsafe { js::JS_GetPropertyUint32(context, of, at) })
        };
        let returned = element(self, result, 0)?;
        self.awaited(returned)?;
        let read = element(self, result, 1)?;
        let none = js::JS_UNDEFINED;
        // SAFETY: as above.
        let values = self.value(|| unsafe { js::JS_Call(context, read, none, 0, std::ptr::null_mut()) })?;
        let one = Task { form: ResultForm::Sql, ..*task };
        let mut outputs = Vec::with_capacity(task.arguments.len());
        let mut bytes = 0_usize;
        for at in 0..task.arguments.len() as u32 {
            let value = element(self, values, at)?;
            let output = self.output(value, &one)?;
            bytes += match &output {
                Output::Text(text) => text.len(),
                Output::Bytes(own) => own.len(),
                Output::Null | Output::TooLong | Output::Values(_) => 0,
            };
            // One long text may be many parameters.
            if bytes > task.limits.heap {
                return Err(Stop::Other(Failure::Heap));
            }
            outputs.push(output);
        }
        Ok(Output::Values(outputs))
    }

    /// Defines a global variable that is not enumerable.
    fn define_global(&self, name: &CStr, value: js::JSValue) -> Step<()> {
        let (context, name) = (self.context, name.as_ptr());
        let flags = PLAIN & !js::JS_PROP_ENUMERABLE as c_int;
        // SAFETY: the context is there, and the value has one more reference for its new place.
        self.done(|| unsafe {
            let global = js::JS_GetGlobalObject(context);
            js::JS_DefinePropertyValueStr(context, global, name, js::JS_DupValue(context, value), flags)
        })
    }

    /// Defines the arguments as global variables.
    fn give(&mut self, arguments: &[(Option<&str>, Input<'_>)]) -> Step<()> {
        let context = self.context;
        // SAFETY: the context is there.
        let global = unsafe { js::JS_GetGlobalObject(context) };
        // SAFETY: as above.
        let array = self.value(|| unsafe { js::JS_NewArray(context) })?;
        for (at, (name, input)) in arguments.iter().enumerate() {
            let value = self.input(input)?;
            if let Some(name) = name {
                let (start, length) = (name.as_ptr().cast(), name.len() as js::size_t);
                // SAFETY: the value has one more reference, for the second place that it is put to.
                self.done(|| unsafe {
                    let atom = js::JS_NewAtomLen(context, start, length);
                    let again = js::JS_DupValue(context, value);
                    js::JS_DefinePropertyValue(context, global, atom, again, PLAIN)
                })?;
            }
            // SAFETY: the value is this context's.
            self.done(|| unsafe { js::JS_DefinePropertyValueUint32(context, array, at as u32, value, PLAIN) })?;
        }
        self.define_global(c"arguments", array)
    }

    /// A value as the script's.
    fn input(&mut self, input: &Input<'_>) -> Step<js::JSValue> {
        let context = self.context;
        if let Input::Json(text) = input {
            let text = CString::new(text.as_bytes()).map_err(|_| Stop::Other(Failure::Heap))?;
            let (start, length) = (text.as_ptr(), text.as_bytes().len() as js::size_t);
            // SAFETY: the context is there, and the text ends with a NUL.
            return self.value(|| unsafe { js::JS_ParseJSON(context, start, length, c"argument".as_ptr()) });
        }
        // SAFETY: the context is there, and nothing else has a text of its own.
        self.value(|| unsafe { input_value(context, input) })
    }

    /// What a promise comes to, or the value itself.
    fn awaited(&mut self, value: js::JSValue) -> Step<js::JSValue> {
        let (context, runtime) = (self.context, self.runtime);
        // SAFETY: the value is this context's.
        let state = || unsafe { js::JS_PromiseState(context, value) };
        if state() == js::JSPromiseStateEnum_JS_PROMISE_NOT_A_PROMISE {
            return Ok(value);
        }
        while state() == js::JSPromiseStateEnum_JS_PROMISE_PENDING {
            let mut ran: *mut js::JSContext = std::ptr::null_mut();
            let place = &raw mut ran;
            // SAFETY: the runtime is there.
            match guarded(|| unsafe { js::JS_ExecutePendingJob(runtime, place) }) {
                None => return Err(Stop::Jumped),
                Some(0) => {
                    let message = "Error: the promise is never settled".to_owned();
                    return Err(Stop::Other(Failure::Exception { line: 0, message, trace: String::new() }));
                }
                Some(1) => {}
                Some(_) => return Err(Stop::Thrown),
            }
        }
        // SAFETY: as above.
        let result = self.value(|| unsafe { js::JS_PromiseResult(context, value) })?;
        match state() {
            js::JSPromiseStateEnum_JS_PROMISE_REJECTED => Err(Stop::Value(result)),
            _ => Ok(result),
        }
    }

    /// The result as it leaves the engine.
    fn output(&mut self, value: js::JSValue, task: &Task<'_>) -> Step<Output> {
        let context = self.context;
        // SAFETY: it is a value.
        let is_none = unsafe { js::JS_IsUndefined(value) || js::JS_IsNull(value) };
        // As a document, null is one.
        if is_none && task.form != ResultForm::Json {
            return Ok(Output::Null);
        }
        let value = match task.form {
            ResultForm::Text => value,
            ResultForm::Sql | ResultForm::Parameters => {
                let (function, mut arguments) = (self.kept.to_sql, [value]);
                let place = arguments.as_mut_ptr();
                let none = js::JS_UNDEFINED;
                // SAFETY: the values are this context's, and the engine leaves the arguments to the caller.
                let value = self.value(|| unsafe { js::JS_Call(context, function, none, 1, place) })?;
                // SAFETY: it is a value.
                if unsafe { js::JS_IsObject(value) } {
                    return self.bytes(value, task.limits.result);
                }
                value
            }
            ResultForm::Json => {
                let none = js::JS_UNDEFINED;
                // SAFETY: the values are this context's.
                self.value(|| unsafe { js::JS_JSONStringify(context, value, none, none) })?
            }
        };
        // SAFETY: as above.
        if unsafe { js::JS_IsUndefined(value) || js::JS_IsNull(value) } {
            return Ok(Output::Null);
        }
        let text = self.text(value, task.limits.result.saturating_mul(3))?;
        Ok(match text {
            Some(bytes) if bytes.len() <= task.limits.result => {
                Output::Text(match std::str::from_utf8(bytes) {
                    Ok(text) => text.to_owned(),
                    // Halves of surrogate pairs are no characters.
                    Err(_) => String::from_utf8_lossy(bytes).into_owned(),
                })
            }
            _ => Output::TooLong,
        })
    }

    /// The bytes of a `Uint8Array`.
    fn bytes(&mut self, value: js::JSValue, max: usize) -> Step<Output> {
        let context = self.context;
        let mut length: js::size_t = 0;
        let place = &raw mut length;
        // SAFETY: the value is this context's.
        match guarded(|| unsafe { js::JS_GetUint8Array(context, place, value) }) {
            None => Err(Stop::Jumped),
            Some(_) if length as usize > max => Ok(Output::TooLong),
            Some(bytes) if bytes.is_null() && length > 0 => Err(Stop::Thrown),
            Some(_) if length == 0 => Ok(Output::Bytes(Vec::new())),
            // SAFETY: the engine says that this many bytes are there.
            Some(bytes) => Ok(Output::Bytes(unsafe { std::slice::from_raw_parts(bytes, length as usize) }.to_vec())),
        }
    }

    /// The bytes of a value's text, which stay until the realm is set back; `None` if there are more than `max`.
    fn text<'a>(&mut self, value: js::JSValue, max: usize) -> Step<Option<&'a [u8]>> {
        let context = self.context;
        let mut length: js::size_t = 0;
        let place = &raw mut length;
        // SAFETY: the value is this context's.
        match guarded(|| unsafe { js::JS_ToCStringLen2(context, place, value, false) }) {
            None => Err(Stop::Jumped),
            Some(text) if text.is_null() => Err(Stop::Thrown),
            Some(_) if length as usize > max => Ok(None),
            // SAFETY: the engine says that this many bytes are there.
            Some(text) => Ok(Some(unsafe { std::slice::from_raw_parts(text.cast(), length as usize) })),
        }
    }

    /// A value that the engine makes.
    fn value(&self, work: impl FnOnce() -> js::JSValue + Copy) -> Step<js::JSValue> {
        match guarded(work) {
            None => Err(Stop::Jumped),
            // SAFETY: it is a value.
            Some(value) if unsafe { js::JS_IsException(value) } => Err(Stop::Thrown),
            Some(value) => Ok(value),
        }
    }

    /// Something that the engine does.
    fn done(&self, work: impl FnOnce() -> c_int + Copy) -> Step<()> {
        match guarded(work) {
            None => Err(Stop::Jumped),
            Some(code) if code < 0 => Err(Stop::Thrown),
            Some(_) => Ok(()),
        }
    }

    /// Text and trace of the pending exception.
    fn exception(&mut self) -> (String, String) {
        // SAFETY: the context is there.
        let thrown = unsafe { js::JS_GetException(self.context) };
        self.described(thrown).unwrap_or_default()
    }

    /// Text and trace of what was thrown.
    fn described(&mut self, thrown: js::JSValue) -> Result<(String, String), Jumped> {
        let context = self.context;
        let shortened = |bytes: Option<&[u8]>, most: usize| {
            let bytes = bytes.unwrap_or_default();
            let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).into_owned();
            text.truncate(text.floor_char_boundary(most));
            text
        };
        let message = match tried(self.text(thrown, usize::MAX))? {
            Some(text) => shortened(text, MESSAGE_BYTES_MAX),
            None => "an exception that has no text".to_owned(),
        };
        // SAFETY: it is a value of this context.
        let trace = match unsafe { js::JS_IsObject(thrown) } {
            // SAFETY: as above.
            true => tried(self.value(|| unsafe { js::JS_GetPropertyStr(context, thrown, c"stack".as_ptr()) }))?,
            false => None,
        };
        let trace = match trace {
            // SAFETY: as above.
            Some(trace) if unsafe { js::JS_IsString(trace) } => tried(self.text(trace, usize::MAX))?.flatten(),
            _ => None,
        };
        Ok((message, shortened(trace, TRACE_BYTES_MAX)))
    }

    /// The stack trace of the exception that was pending last, which may be any value: the engine keeps it beside it. Empty where it has none.
    fn place_of_exception(&mut self) -> Result<String, Jumped> {
        let mut trace = js::JS_UNDEFINED;
        // SAFETY: the engine gives the value away, whose one reference is ours.
        unsafe { js_std_cmd(ERROR_BACK_TRACE, self.context, &raw mut trace) };
        // SAFETY: it is a value.
        if !unsafe { js::JS_IsString(trace) } {
            return Ok(String::new());
        }
        let bytes = tried(self.text(trace, usize::MAX))?.flatten().unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(TRACE_BYTES_MAX)]).into_owned();
        text.truncate(text.floor_char_boundary(TRACE_BYTES_MAX));
        Ok(text)
    }

    /// Sets the realm back and runs something in it under a task's limits.
    fn run<T>(&mut self, task: &Task<'_>, work: impl FnOnce(&mut Self) -> Step<T>) -> Result<T, Failure> {
        let need = task.limits.stack + STACK_MARGIN + STACK_RESERVE;
        let run = || self.run_on_stack(task, work);
        stacker::maybe_grow(need, need + STACK_RESERVE, run)
    }

    fn run_on_stack<T>(&mut self, task: &Task<'_>, work: impl FnOnce(&mut Self) -> Step<T>) -> Result<T, Failure> {
        self.arena.begin(task.limits.heap);
        let deadline = task.limits.time.and_then(|time| Instant::now().checked_add(time));
        let host = self.host();
        (host.deadline, host.stopped, host.error, host.heap) = (deadline, None, None, task.limits.heap);
        host.statements = task.statements.map(|statements| {
            let statements: *const (dyn Statements + '_) = statements;
            // SAFETY: the host has it until this call ends, and it is there for longer.
            let statements: *const (dyn Statements + 'static) = unsafe { std::mem::transmute(statements) };
            // SAFETY: it is a reference's.
            unsafe { NonNull::new_unchecked(statements.cast_mut()) }
        });
        if !Arc::ptr_eq(&host.kill, task.kill) {
            host.kill = task.kill.clone();
        }
        if !Arc::ptr_eq(&host.zone, task.zone) {
            host.zone = task.zone.clone();
        }
        self.host().stack_end = stack_address().saturating_sub(task.limits.stack);
        // SAFETY: the runtime is there; its stack is this thread's, from here on.
        unsafe {
            js::JS_UpdateStackTop(self.runtime);
            js::JS_SetMaxStackSize(self.runtime, (task.limits.stack + STACK_MARGIN) as js::size_t);
        }
        let (thread, kill, is_abandoned) = (this_thread(), task.kill.clone(), task.is_abandoned.cloned());
        self.host().is_abandoned = is_abandoned.clone();
        *self.slot.lock() = Some(Running { thread, kill, is_abandoned, deadline, is_overdue: false });
        watch::wake();
        let result = work(self).map_err(|stop| self.failure(stop));
        *self.slot.lock() = None;
        self.host().statements = None;
        let result = match (result, self.stopped()) {
            // A script that had to stop has failed, even if it caught the exception.
            (Ok(_), Some(failure)) => Err(failure),
            (result, _) => result,
        };
        let result = match self.arena.exceeded() {
            Exceeded::Nothing => result,
            // A script that catches the engine's exception for a limit has still reached the limit.
            Exceeded::Heap => Err(Failure::Heap),
            Exceeded::Total => Err(Failure::Total),
            Exceeded::Stack => Err(Failure::Stack),
        };
        self.arena.restore();
        result
    }

    /// What has stopped a call.
    fn failure(&mut self, stop: Stop) -> Failure {
        self.told(stop).unwrap_or_else(|Jumped| {
            // Why it was, the engine was not asked.
            self.host().must_stop();
            self.stopped().unwrap_or(Failure::Time)
        })
    }

    /// The same, which asks the engine. An exception may be the script's own object, whose text and trace are functions of it.
    fn told(&mut self, stop: Stop) -> Result<Failure, Jumped> {
        let thrown = match stop {
            Stop::Other(failure) => return Ok(failure),
            Stop::Jumped => return Err(Jumped),
            Stop::Thrown => None,
            Stop::Value(value) => Some(value),
        };
        if let Some(failure) = self.stopped() {
            return Ok(failure);
        }
        let is_pending = thrown.is_none();
        let thrown = match thrown {
            // SAFETY: the context is there.
            None => unsafe { js::JS_GetException(self.context) },
            Some(value) => value,
        };
        if let Some(error) = self.statement_error(thrown)? {
            return Ok(Failure::Statement(error));
        }
        let (message, mut trace) = self.described(thrown)?;
        if trace.is_empty() && is_pending {
            trace = self.place_of_exception()?;
        }
        // The exception's own text may have been the script's doing, and that may have been stopped.
        if let Some(failure) = self.stopped() {
            return Ok(failure);
        }
        Ok(Failure::Exception { line: line_of(&trace), message, trace })
    }

    /// Why the engine was told to stop, if it was.
    fn stopped(&mut self) -> Option<Failure> {
        Some(match self.host().stopped? {
            Leave::Memory => Failure::Heap,
            Leave::Killed => Failure::Killed,
            Leave::Time => Failure::Time,
            Leave::Ended => match self.host().error.take() {
                Some(error) => Failure::Server(error),
                None => Failure::Killed,
            },
        })
    }

    /// The error of a statement, if that is what was thrown.
    fn statement_error(&mut self, thrown: js::JSValue) -> Result<Option<SqlError>, Jumped> {
        // Most scripts run none.
        if self.host().error.is_none() {
            return Ok(None);
        }
        let (context, function, mut arguments) = (self.context, self.kept.error_of, [thrown]);
        let (place, none) = (arguments.as_mut_ptr(), js::JS_UNDEFINED);
        // SAFETY: the values are this context's, and the engine leaves the arguments to the caller.
        let parts = tried(self.value(|| unsafe { js::JS_Call(context, function, none, 1, place) }))?;
        // SAFETY: it is a value.
        let Some(parts) = parts.filter(|parts| unsafe { js::JS_IsObject(*parts) }) else { return Ok(None) };
        let part = |realm: &mut Self, at: u32| -> Result<Option<String>, Jumped> {
            // SAFETY: as above.
            let value = tried(realm.value(|| unsafe { js::JS_GetPropertyUint32(context, parts, at) }))?;
            let Some(value) = value else { return Ok(None) };
            let text = tried(realm.text(value, usize::MAX))?.flatten();
            Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
        };
        let (code, state, message) = (part(self, 1)?, part(self, 2)?, part(self, 3)?);
        let (Some(code), Some(state), Some(message)) = (code.and_then(|code| code.parse().ok()), state, message) else {
            return Ok(None);
        };
        let Ok(state) = <[u8; 5]>::try_from(state.as_bytes()) else { return Ok(None) };
        // The last one is here with all that it tells.
        Ok(Some(match self.host().error.take() {
            Some(error) if error.code == code && error.message == message => error,
            _ => SqlError::of_parts(code, state, message),
        }))
    }
}

/// The first line of the script that a stack trace names; 0 if there is none.
fn line_of(trace: &str) -> u32 {
    let place = trace.find("script:").map(|at| &trace[at + "script:".len()..]);
    let digits = place.map_or("", |rest| &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]);
    digits.parse().unwrap_or(0)
}
