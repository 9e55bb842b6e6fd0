//! RAPID_FLATTEN_JSON and RAPID_EXTRACT_ALL.

use super::{DATABASE, document_argument, malformed, text};
use squall_functions::library::support::{Args, Def, result};
use squall_types::json::lines::{Scalar, scalars, scalars_stored};
use squall_types::json::stored::scalars_of;
use squall_types::{SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("RAPID_FLATTEN_JSON", (1, 1), result::utf8mb4_text, flatten).in_database(DATABASE),
    Def::new("RAPID_EXTRACT_ALL", (2, 2), result::utf8mb4_text, extract)
        .also(&["JSON_EXTRACT_ALL"])
        .in_database(DATABASE),
];

/// Appends text as a part of one line.
fn push_in_line(text: &str, out: &mut String) {
    if text.contains(['\n', '\r']) {
        out.extend(text.chars().map(|character| if matches!(character, '\n' | '\r') { ' ' } else { character }));
    } else {
        out.push_str(text);
    }
}

fn push_line(name: &str, value: &str, out: &mut String) {
    push_in_line(name, out);
    out.push('=');
    push_in_line(value, out);
    out.push('\n');
}

fn flatten(args: &Args<'_>) -> SqlResult<Value> {
    let mut lines = String::new();
    let push = |name: Option<&str>, scalar: Scalar<'_>| {
        let name = name.unwrap_or_default();
        push_line(name, &scalar.text(), &mut lines);
        if let Scalar::String(value) = &scalar
            && value.contains(char::is_whitespace)
        {
            value.split_whitespace().for_each(|token| push_line(name, token, &mut lines));
        }
    };
    let walked = if let Value::Json(document) = args.value(0) {
        scalars_stored(document.stored(), push)
    } else {
        let Some(document) = document_argument(args) else { return Ok(Value::Null) };
        scalars(&document, push)
    };
    match walked {
        Ok(()) => text(args, lines),
        Err(error) => {
            malformed(error, "rapid_flatten_json", args.context);
            Ok(Value::Null)
        }
    }
}

fn extract(args: &Args<'_>) -> SqlResult<Value> {
    let key = args.text(1);
    let mut lines = String::new();
    let mut push = |scalar: Scalar<'_>| {
        push_in_line(&scalar.text(), &mut lines);
        lines.push('\n');
    };
    let walked = if let Value::Json(document) = args.value(0) {
        scalars_of(document.stored(), &key, push)
    } else {
        let Some(document) = document_argument(args) else { return Ok(Value::Null) };
        scalars(&document, |name, scalar| {
            if name == Some(&*key) {
                push(scalar);
            }
        })
    };
    match walked {
        Ok(()) => text(args, lines),
        Err(error) => {
            malformed(error, "rapid_extract_all", args.context);
            Ok(Value::Null)
        }
    }
}
