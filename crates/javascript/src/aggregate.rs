//! Bodies of aggregate functions: `init`, `add`, `merge` and `result`.
//!
//! The state of a group is a document after every batch of rows. So there is one kind of state for few and many groups, on one thread
//! or several, and no realm holds anything of a group.

use crate::convert::input_of;
use crate::engine::{Input, Output, ResultForm, Task};
use crate::errors::error_of;
use crate::functions::{Settings, Shared};
use crate::pool::LastScript;
use parking_lot::Mutex;
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::fmt;
use std::sync::Arc;

/// Rows that are added by one call.
const BATCH_ROWS: usize = 1024;
/// And their bytes.
const BATCH_BYTES: usize = 256 << 10;

/// The script that works for a body. Its arguments are what to do (`add`, `merge`, `result`), a state or `null`, how many rows there are, and their
/// values one after the other; or a second state. A state is an array of one value. Lines of the script and the body have the same numbers.
///
/// A state is made a document and read again before anything else sees it: what is none shows at once, not when there are many rows.
pub(crate) fn called_body(body: &str, width: usize) -> String {
    let calls = "[typeof init, typeof add, typeof merge, typeof result].every(kind => kind === 'function')";
    let missing = "throw new TypeError('an aggregate function has the functions init, add, merge and result')";
    format!(
        "(function ($arguments) {{ const $own = (function () {{ {body}\n\
         if (!{calls}) {missing}; return {{ init, add, merge, result }}; }})();\n\
         const $plain = value => JSON.parse(JSON.stringify([value]))[0];\n\
         const [$what, $state, $count] = $arguments;\n\
         let $value = $state === null ? $plain($own.init()) : $state[0];\n\
         if ($what === 'merge') {{ const merged = $own.merge($value, $count[0]); return [merged === undefined ? $value : merged]; }}\n\
         for (let row = 0, at = 3; row < $count; row++, at += {width}) {{\n\
         const added = $own.add($value, ...$arguments.slice(at, at + {width}));\n\
         if (added !== undefined) $value = added;\n\
         if (row === 0) $value = $plain($value); }}\n\
         return $what === 'add' ? [$value] : $own.result($plain($value)); }})(arguments)"
    )
}

/// An aggregate function's body.
pub(crate) struct BodyKernel {
    settings: Settings,
    shared: Arc<Shared>,
    source: Arc<str>,
    script: Box<str>,
    types: Box<[SqlType]>,
    last: Mutex<LastScript>,
}

impl fmt::Debug for BodyKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyKernel").field("source", &self.source).field("types", &self.types).finish_non_exhaustive()
    }
}

impl BodyKernel {
    /// A body that takes values of these types.
    pub fn new(settings: Settings, shared: &Arc<Shared>, source: Arc<str>, types: Box<[SqlType]>) -> BodyKernel {
        let script = called_body(&source, types.len()).into();
        BodyKernel { settings, shared: shared.clone(), source, script, types, last: Mutex::default() }
    }

    fn call(&self, arguments: Vec<Input<'_>>, form: ResultForm, context: &StatementContext) -> SqlResult<Output> {
        let inputs: Vec<(Option<&str>, Input<'_>)> = arguments.into_iter().map(|input| (None, input)).collect();
        let task = Task {
            arguments: &inputs,
            form,
            limits: self.settings.limits(context),
            kill: &context.kill,
            zone: &context.settings.time_zone,
            statements: None,
            is_abandoned: None,
        };
        let kept_scripts = self.settings.kept_scripts(context);
        let result = self.shared.call(&self.script, &self.last, &task, kept_scripts, context);
        match result {
            Ok(Output::TooLong) => {
                let most = context.settings.max_allowed_packet;
                Err(SqlError::new(ErrorCode::WarnAllowedPacketOverflowed, &[&"an aggregate function", &most]))
            }
            Ok(output) => Ok(output),
            Err(failure) => Err(error_of(failure, &self.source, context)),
        }
    }
}

/// The same for its groups, which share it.
#[derive(Debug)]
pub(crate) struct BodyAggregate(pub Arc<BodyKernel>);

impl AggregateKernel for BodyAggregate {
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Group { kernel: self.0.clone(), context, state: None, rows: Vec::new(), row_count: 0, row_bytes: 0 })
    }
}

/// A group: its state, and the rows that are not added yet.
#[derive(Debug)]
struct Group {
    kernel: Arc<BodyKernel>,
    context: Arc<StatementContext>,
    state: Option<Box<str>>,
    /// Values of rows, one after the other.
    rows: Vec<Value>,
    row_count: usize,
    row_bytes: usize,
}

impl Group {
    /// What to do, the state and the rows, as the script takes them.
    fn arguments(&self, what: &'static str) -> Vec<Input<'_>> {
        let (zone, kernel) = (&self.context.settings.time_zone, &self.kernel);
        let decimal_as_text = kernel.settings.decimal_as_text(&self.context);
        let state = self.state.as_deref().map_or(Input::Null, |state| Input::Json(state.into()));
        let mut inputs = Vec::with_capacity(3 + self.rows.len());
        inputs.extend([Input::Text(what), state, Input::Number(self.row_count as f64)]);
        let types = kernel.types.iter().cycle();
        inputs.extend(self.rows.iter().zip(types).map(|(value, ty)| input_of(value, ty, zone, decimal_as_text)));
        inputs
    }

    fn take(&mut self, output: Output) -> SqlResult<()> {
        let Output::Text(state) = output else { return Err(SqlError::internal("a state that is no document")) };
        self.state = Some(state.into());
        self.rows = Vec::new();
        (self.row_count, self.row_bytes) = (0, 0);
        Ok(())
    }

    fn add_rows(&mut self) -> SqlResult<()> {
        if self.row_count == 0 {
            return Ok(());
        }
        let output = self.kernel.call(self.arguments("add"), ResultForm::Json, &self.context)?;
        self.take(output)
    }
}

impl ValueAccumulator for Group {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        self.row_bytes += arguments.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>();
        self.rows.extend(arguments.iter().cloned());
        self.row_count += 1;
        match self.row_count >= BATCH_ROWS || self.row_bytes >= BATCH_BYTES {
            true => self.add_rows(),
            false => Ok(()),
        }
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let output = self.kernel.call(self.arguments("result"), ResultForm::Sql, &self.context)?;
        Ok(match output {
            Output::Text(text) => Value::String(text),
            Output::Bytes(bytes) => Value::Bytes(bytes),
            Output::Null | Output::TooLong | Output::Values(_) => Value::Null,
        })
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        self.add_rows()?;
        Ok(self.state.as_deref().map(|state| state.as_bytes().to_vec()).unwrap_or_default())
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        if state.is_empty() {
            return Ok(());
        }
        self.add_rows()?;
        let other = std::str::from_utf8(state).map_err(|_| SqlError::internal("a state of another aggregate"))?;
        if self.state.is_none() {
            self.state = Some(other.into());
            return Ok(());
        }
        let mut arguments = self.arguments("merge");
        arguments[2] = Input::Json(other.into());
        let output = self.kernel.call(arguments, ResultForm::Json, &self.context)?;
        self.take(output)
    }

    fn size(&self) -> usize {
        let rows = self.rows.capacity() * size_of::<Value>();
        size_of::<Self>() + rows.max(self.row_bytes) + self.state.as_deref().map_or(0, str::len)
    }
}
