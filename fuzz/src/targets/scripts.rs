//! Values that pass to a script and back stay the same, and any text may be a script.

use squall_javascript::engine::{Failure, Input, Limits, Output, Parameter, ResultForm, Statements, Task};
use squall_javascript::pool::{Engine, LastScript};
use squall_registry::CallerError;
use squall_statement_context::{KillState, NestedResult};
use squall_types::json::Document;
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlType, Value};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// One realm serves all inputs, as it serves all rows.
static ENGINE: LazyLock<Engine> = LazyLock::new(Engine::default);
const LIMITS: Limits =
    Limits { heap: 4 << 20, stack: 256 << 10, time: Some(Duration::from_millis(50)), result: 1 << 20 };

pub fn run(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let number = rest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    match kind % 6 {
        0 => {
            // Whatever it does, the next call is like the first.
            let _ = run_script(&text, &[(Some("doc"), Input::Text(&text))], ResultForm::Text, Some(&Session));
            let clean = "[typeof x, ({}).x, [3, 1].sort(), JSON.stringify({a: 1}), arguments.length].join()";
            let after = call(clean, &[], ResultForm::Text);
            assert_eq!(after, Ok(Output::Text("undefined,,1,3,{\"a\":1},0".into())), "after {text}");
        }
        1 => same(Input::Text(&text), Output::Text(text.to_string())),
        2 => same(Input::Bytes(rest), Output::Bytes(rest.to_vec())),
        3 => same(Input::Unsigned(number), Output::Text(number.to_string())),
        4 => same(Input::Signed(number as i64), Output::Text((number as i64).to_string())),
        _ => {
            let Ok(document) = Document::parse(&text) else { return };
            let result = call("arguments[0]", &[(None, Input::Json(document.text()))], ResultForm::Json);
            match result {
                Ok(Output::Text(text)) => assert!(Document::parse(&text).is_ok(), "a document: {text}"),
                Ok(Output::Null) => panic!("a document is no NULL"),
                Ok(_) | Err(Failure::Heap | Failure::Stack | Failure::Time) => {}
                Err(failure) => panic!("{failure:?} for {text}"),
            }
        }
    }
}

/// A session that has a row for each parameter, and fails without.
#[derive(Debug)]
struct Session;

impl Statements for Session {
    fn run(
        &self,
        _sql: String,
        parameters: Vec<Parameter>,
        _sends: bool,
        _deadline: Option<Instant>,
    ) -> Result<Vec<NestedResult>, CallerError> {
        if parameters.is_empty() {
            return Err(CallerError::Failed(SqlError::new(ErrorCode::QueryInterrupted, &[])));
        }
        let rows = parameters.into_iter().map(|parameter| match parameter {
            Parameter::Text(text) | Parameter::Whole(text) => vec![Value::String(text)],
            Parameter::Bytes(bytes) => vec![Value::Bytes(bytes)],
            Parameter::Number(number) => vec![Value::Double(number)],
            Parameter::Null => vec![Value::Null],
        });
        let columns = vec![("__proto__".into(), SqlType::Null)];
        Ok(vec![NestedResult { columns, rows: rows.collect(), ..NestedResult::default() }])
    }

    fn input<'v>(&self, value: &'v Value, _sql_type: &SqlType) -> Input<'v> {
        match value {
            Value::String(text) => Input::Text(text),
            Value::Bytes(bytes) => Input::Bytes(bytes),
            Value::Double(number) => Input::Number(*number),
            _ => Input::Null,
        }
    }
}

fn call(source: &str, arguments: &[(Option<&str>, Input<'_>)], form: ResultForm) -> Result<Output, Failure> {
    run_script(source, arguments, form, None)
}

fn run_script(
    source: &str,
    arguments: &[(Option<&str>, Input<'_>)],
    form: ResultForm,
    session: Option<&Session>,
) -> Result<Output, Failure> {
    let (kill, zone) = (Arc::<KillState>::default(), Arc::new(TimeZone::utc()));
    let statements = session.map(|session| session as &dyn Statements);
    let task = Task { arguments, form, limits: LIMITS, kill: &kill, zone: &zone, statements, is_abandoned: None };
    ENGINE.call(source, &mut LastScript::default(), &task, 16).0
}

/// A value comes back as it was given.
fn same(input: Input<'_>, output: Output) {
    match call("arguments[0]", &[(None, input)], ResultForm::Sql) {
        Ok(Output::TooLong) | Err(Failure::Heap | Failure::Time) => {}
        result => assert_eq!(result, Ok(output)),
    }
}
