//! Bodies of procedures: their parameters are variables, and `session.sql()` runs statements in the calling session.

use crate::convert::input_of;
use crate::engine::{Input, Output, Parameter, ResultForm, Statements, Task};
use crate::errors::error_of;
use crate::functions::{Settings, Shared};
use crate::pool::LastScript;
use squall_registry::{CallerError, CallerStatement, CallerStatements, ExternalCall, RowsOf};
use squall_statement_context::NestedResult;
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;
use std::time::Instant;

/// Whole Numbers up to here are integers: 2^53 - 1.
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

/// The script that calls a body as a function of its arguments. It gives an array: what the body returns, and a function that gives the
/// parameters as they are then. Lines of both have the same numbers.
pub(crate) fn called_body<'n>(body: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names = names.collect::<Vec<_>>().join(", ");
    let strict = if is_strict(body) { "'use strict'; " } else { "" };
    format!(
        "(function ($arguments) {{ let $read; const $returned = (function ({names}) {{ {strict}$read = () => [{names}]; {body}\n}})\
         .apply(undefined, $arguments); return [$returned, $read]; }})(arguments)"
    )
}

/// Whether a body says that it is strict: that counts only where it stands first.
fn is_strict(body: &str) -> bool {
    let body = body.trim_start();
    body.starts_with("'use strict'") || body.starts_with("\"use strict\"")
}

/// Runs a body.
///
/// # Errors
/// What the script fails with.
pub(crate) fn call(
    settings: &Settings,
    shared: &Shared,
    call: &ExternalCall,
    statements: &dyn CallerStatements,
) -> SqlResult<Vec<(Value, SqlType)>> {
    let context = &*call.context;
    let (zone, limits) = (&context.settings.time_zone, settings.limits(context));
    let decimal_as_text = settings.decimal_as_text(context);
    let inputs: Vec<(Option<&str>, Input<'_>)> = call
        .parameters
        .iter()
        .map(|(_, sql_type, value)| (None, input_of(value, sql_type, zone, decimal_as_text)))
        .collect();
    let script = called_body(&call.source, call.parameters.iter().map(|(name, ..)| &**name));
    let session = CallingSession { statements, heap: limits.heap, zone: zone.clone(), decimal_as_text };
    let task = Task {
        arguments: &inputs,
        form: ResultForm::Parameters,
        limits,
        kill: &context.kill,
        zone,
        statements: Some(&session),
        is_abandoned: Some(&call.is_abandoned),
    };
    let kept_scripts = settings.kept_scripts(context);
    let (result, log) = shared.engine.call(&script, &mut LastScript::default(), &task, kept_scripts);
    shared.logs.add(context, &log);
    let text = SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI);
    let bytes = SqlType::longtext(CollationId::BINARY);
    let too_long = || {
        let most = context.settings.max_allowed_packet;
        SqlError::new(ErrorCode::WarnAllowedPacketOverflowed, &[&"procedure", &most])
    };
    match result {
        Ok(Output::Values(outputs)) => outputs
            .into_iter()
            .map(|output| match output {
                Output::Null => Ok((Value::Null, SqlType::Null)),
                Output::Text(value) => Ok((Value::String(value), text.clone())),
                Output::Bytes(value) => Ok((Value::Bytes(value), bytes.clone())),
                Output::TooLong | Output::Values(_) => Err(too_long()),
            })
            .collect(),
        Ok(_) => Err(SqlError::internal("a procedure without parameters")),
        Err(failure) => Err(error_of(failure, &call.source, context)),
    }
}

/// The session that calls, as the engine has it.
#[derive(Debug)]
struct CallingSession<'a> {
    statements: &'a dyn CallerStatements,
    /// Rows may take as much.
    heap: usize,
    zone: Arc<TimeZone>,
    decimal_as_text: bool,
}

impl Statements for CallingSession<'_> {
    fn run(
        &self,
        sql: String,
        parameters: Vec<Parameter>,
        sends: bool,
        deadline: Option<Instant>,
    ) -> Result<Vec<NestedResult>, CallerError> {
        let parameters = parameters.into_iter().map(value_of).collect();
        let rows = if sends { RowsOf::Client } else { RowsOf::Procedure { bytes_max: self.heap } };
        self.statements.run(CallerStatement { sql, parameters, rows, deadline })
    }

    fn input<'v>(&self, value: &'v Value, sql_type: &SqlType) -> Input<'v> {
        input_of(value, sql_type, &self.zone, self.decimal_as_text)
    }
}

/// A parameter of a statement as a value of SQL.
fn value_of(parameter: Parameter) -> Value {
    match parameter {
        Parameter::Null => Value::Null,
        Parameter::Number(number) if number.fract() == 0.0 && number.abs() <= SAFE_INTEGER_MAX => {
            Value::Int(number as i64)
        }
        Parameter::Number(number) => Value::Double(number),
        Parameter::Whole(digits) => match (digits.parse::<i64>(), digits.parse::<u64>()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::UInt(number),
            _ => Value::Decimal(Decimal::parse(&digits).value),
        },
        Parameter::Text(text) => Value::String(text),
        Parameter::Bytes(bytes) => Value::Bytes(bytes),
    }
}
