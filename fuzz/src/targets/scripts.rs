//! Values that pass to a script and back stay the same, and any text may be a script.

use squall_javascript::engine::{Failure, Input, Limits, Output, ResultForm, Task};
use squall_javascript::pool::{Engine, LastScript};
use squall_registry::KillState;
use squall_types::json::Document;
use squall_types::temporal::TimeZone;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

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
            let _ = call(&text, &[(Some("doc"), Input::Text(&text))], ResultForm::Text);
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

fn call(source: &str, arguments: &[(Option<&str>, Input<'_>)], form: ResultForm) -> Result<Output, Failure> {
    let (kill, zone) = (Arc::<KillState>::default(), Arc::new(TimeZone::utc()));
    let task = Task { arguments, form, limits: LIMITS, kill: &kill, zone: &zone, statements: None, is_abandoned: None };
    ENGINE.call(source, &mut LastScript::default(), &task, 16).0
}

/// A value comes back as it was given.
fn same(input: Input<'_>, output: Output) {
    match call("arguments[0]", &[(None, input)], ResultForm::Sql) {
        Ok(Output::TooLong) | Err(Failure::Heap | Failure::Time) => {}
        result => assert_eq!(result, Ok(output)),
    }
}
