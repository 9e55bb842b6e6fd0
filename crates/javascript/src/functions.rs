//! `JS()` and `JS_JSON()`.

use crate::convert::input_of;
use crate::engine::{Failure, Input, Limits, Output, ResultForm, Task};
use crate::errors::{error_of, variable};
use crate::pool::{Engine, LastScript};
use crate::session_logs::SessionLogs;
use parking_lot::Mutex;
use squall_registry::{
    Argument, BoundCall, Coercibility, ExprType, KernelMemory, Registry, ScalarFunction, ScalarKernel, Volatility,
};
use squall_statement_context::{StatementContext, off_pool};
use squall_system_variables::{ReadScope, VariableId};
use squall_types::collation::Charset;
use squall_types::convert::to_text;
use squall_types::json::Document;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// The privilege to run scripts, and to define stored routines whose bodies are scripts. A call of such a routine needs EXECUTE alone.
pub const PRIVILEGE: &str = "JAVASCRIPT_EXECUTE";

/// The function that runs the body of a function that returns no bytes.
pub(crate) const TEXT_BODY: &str = "JS_BODY";
/// The function that runs the body of a function that returns bytes.
pub(crate) const BINARY_BODY: &str = "JS_BODY_BINARY";

/// The script that calls a body as a function of its arguments. Lines of both have the same numbers.
pub(crate) fn called_body<'n>(body: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    format!("(function ({}) {{ {body}\n}}).apply(undefined, arguments)", names.join(", "))
}

/// The variables, as numbers of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    memory: VariableId,
    stack: VariableId,
    time: VariableId,
    cache_size: VariableId,
    decimal_as: VariableId,
}

impl Settings {
    /// The variables of a registry that has them all.
    pub fn of(registry: &Registry) -> Option<Settings> {
        let id = |name| registry.variables.find(name);
        Some(Settings {
            memory: id(variable::MEMORY)?,
            stack: id(variable::STACK)?,
            time: id(variable::TIME)?,
            cache_size: id(variable::CACHE_SIZE)?,
            decimal_as: id(variable::DECIMAL_AS)?,
        })
    }

    fn number(context: &StatementContext, id: VariableId) -> usize {
        match context.variables.get(id, ReadScope::Global, true) {
            Value::UInt(number) => usize::try_from(*number).unwrap_or(usize::MAX),
            Value::Int(number) => usize::try_from(*number).unwrap_or(0),
            _ => 0,
        }
    }

    pub(crate) fn limits(&self, context: &StatementContext) -> Limits {
        let time = Self::number(context, self.time) as u64;
        Limits {
            heap: Self::number(context, self.memory),
            stack: Self::number(context, self.stack),
            time: (time > 0).then(|| Duration::from_millis(time)),
            result: usize::try_from(context.settings.max_allowed_packet).unwrap_or(usize::MAX),
        }
    }

    /// How many compiled scripts are kept.
    pub(crate) fn kept_scripts(&self, context: &StatementContext) -> usize {
        Self::number(context, self.cache_size)
    }

    pub(crate) fn decimal_as_text(&self, context: &StatementContext) -> bool {
        match context.variables.get(self.decimal_as, ReadScope::Any, true) {
            Value::String(word) => word.eq_ignore_ascii_case("string"),
            _ => false,
        }
    }
}

/// What the functions share.
#[derive(Debug)]
pub struct Shared {
    /// Runs scripts.
    pub engine: Engine,
    /// What scripts have said.
    pub logs: SessionLogs,
}

impl Shared {
    /// Runs a script off the query pool, with what its caller has kept of the last call, and keeps what it has said.
    pub(crate) fn call(
        &self,
        script: &str,
        last: &Mutex<LastScript>,
        task: &Task<'_>,
        kept_scripts: usize,
        context: &StatementContext,
    ) -> Result<Output, Failure> {
        let (result, log) = off_pool(|| match last.try_lock() {
            Some(mut last) => self.engine.call(script, &mut last, task, kept_scripts),
            None => self.engine.call(script, &mut LastScript::default(), task, kept_scripts),
        })?;
        self.logs.add(context, &log);
        result
    }
}

/// A function that runs a script.
#[derive(Debug)]
pub struct ScriptFunction {
    name: &'static str,
    form: ResultForm,
    sql_type: SqlType,
    settings: Settings,
    shared: Arc<Shared>,
}

impl ScriptFunction {
    /// `JS`, `JS_JSON`, and those that run the bodies of stored functions.
    pub fn all(settings: Settings, shared: &Arc<Shared>) -> [ScriptFunction; 4] {
        let all = [
            ("JS", ResultForm::Text, SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI)),
            ("JS_JSON", ResultForm::Json, SqlType::Json),
            (TEXT_BODY, ResultForm::Sql, SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI)),
            (BINARY_BODY, ResultForm::Sql, SqlType::longtext(CollationId::BINARY)),
        ];
        all.map(|(name, form, sql_type)| ScriptFunction { name, form, sql_type, settings, shared: shared.clone() })
    }
}

impl ScalarFunction for ScriptFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn arity(&self) -> (usize, usize) {
        (1, usize::MAX)
    }

    fn takes_names(&self) -> bool {
        true
    }

    fn is_for_definitions(&self) -> bool {
        false
    }

    /// A script may ask for the time, or for a random number.
    fn volatility(&self) -> Volatility {
        Volatility::Volatile
    }

    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall> {
        let sql_type = match self.sql_type.collation() {
            Some(collation) if collation != CollationId::BINARY => SqlType::longtext(text_collation(context)),
            _ => self.sql_type.clone(),
        };
        let kernel = ScriptKernel {
            name: self.name,
            form: self.form,
            result: sql_type.clone(),
            types: arguments.iter().map(|argument| argument.expr_type.sql_type.clone()).collect(),
            names: arguments.iter().skip(1).map(|argument| argument.name.map(Box::from)).collect(),
            settings: self.settings,
            asks: !context.is_external_body,
            shared: self.shared.clone(),
            last: Mutex::default(),
        };
        let result = ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit };
        Ok(BoundCall { result, kernel: Arc::new(kernel) })
    }
}

/// Scripts give text of all of Unicode.
fn text_collation(context: &StatementContext) -> CollationId {
    match context.settings.collation {
        collation if collation.charset() == Charset::Utf8mb4 => collation,
        _ => CollationId::UTF8MB4_0900_AI_CI,
    }
}

struct ScriptKernel {
    name: &'static str,
    form: ResultForm,
    result: SqlType,
    /// Types of all arguments, the script's own too.
    types: Box<[SqlType]>,
    /// Names of the arguments behind the script.
    names: Box<[Option<Box<str>>]>,
    settings: Settings,
    /// Whether a call needs [`PRIVILEGE`]. A call of a stored function does not.
    asks: bool,
    shared: Arc<Shared>,
    last: Mutex<LastScript>,
}

/// Calls that differ in the names of their arguments are different.
impl std::fmt::Debug for ScriptKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.name).field("names", &self.names).field("types", &self.types).finish_non_exhaustive()
    }
}

impl ScalarKernel for ScriptKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        if self.asks {
            context.demand_privilege(PRIVILEGE)?;
        }
        let Some(((code, code_type), given)) = arguments
            .split_first()
            .zip(self.types.split_first())
            .map(|((code, values), (code_type, types))| ((code, code_type), values.iter().zip(types).zip(&self.names)))
        else {
            return Ok(Value::Null);
        };
        let source: Cow<'_, str> = match code {
            Value::Null => return Ok(Value::Null),
            Value::String(text) => text.into(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
            other => to_text(other, code_type).into(),
        };
        let zone = &context.settings.time_zone;
        let decimal_as_text = self.settings.decimal_as_text(context);
        let inputs: Vec<(Option<&str>, Input<'_>)> =
            given.map(|((value, ty), name)| (name.as_deref(), input_of(value, ty, zone, decimal_as_text))).collect();
        let limits = self.settings.limits(context);
        let script: Cow<'_, str> = match self.form {
            ResultForm::Sql => called_body(&source, inputs.iter().filter_map(|(name, _)| *name)).into(),
            ResultForm::Text | ResultForm::Json | ResultForm::Parameters => Cow::Borrowed(&source),
        };
        let kill = &context.kill;
        let task =
            Task { arguments: &inputs, form: self.form, limits, kill, zone, statements: None, is_abandoned: None };
        let kept_scripts = self.settings.kept_scripts(context);
        let result = self.shared.call(&script, &self.last, &task, kept_scripts, context);
        self.value(result.map_err(|failure| error_of(failure, &source, context))?, context)
    }

    /// No other work needs the thread.
    fn waits(&self) -> bool {
        true
    }

    /// The script that was called last.
    fn memory(&self) -> KernelMemory {
        KernelMemory::OfArguments
    }
}

impl ScriptKernel {
    fn value(&self, output: Output, context: &StatementContext) -> SqlResult<Value> {
        match (output, self.form) {
            (Output::Null | Output::Values(_), _) => Ok(Value::Null),
            (Output::Text(text), _) if self.result.collation() == Some(CollationId::BINARY) => {
                Ok(Value::Bytes(text.into_bytes()))
            }
            (Output::Text(text), ResultForm::Text | ResultForm::Sql | ResultForm::Parameters) => {
                Ok(Value::String(text))
            }
            (Output::Bytes(bytes), _) if self.result.collation() == Some(CollationId::BINARY) => {
                Ok(Value::Bytes(bytes))
            }
            (Output::Bytes(bytes), _) => Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned())),
            (Output::Text(text), ResultForm::Json) => {
                Document::parse(&text).map(Value::Json).map_err(|error| error.for_argument(1, self.name))
            }
            (Output::TooLong, _) => {
                let most = context.settings.max_allowed_packet;
                let error =
                    SqlError::new(ErrorCode::WarnAllowedPacketOverflowed, &[&self.name.to_ascii_lowercase(), &most]);
                context.diagnostics.warn(error);
                Ok(Value::Null)
            }
        }
    }
}
