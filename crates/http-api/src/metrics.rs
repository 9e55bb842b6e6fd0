//! `/metrics`: the server's status in Prometheus' text form.

use crate::answer::whole;
use crate::exchange::Exchange;
use crate::problem::Problem;
use hyper::StatusCode;
use squall_types::{ErrorCode, SqlError, Value};
use std::io::Write as _;

/// The media type.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Status variables that go up and down; all others are counters.
const GAUGES: &[&str] = &["_connected", "_running", "_open", "_current", "_port", "_now", "_free", "_data", "_dirty"];

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    match make(&mut exchange).await {
        Ok(text) => exchange.sink.answer(whole(StatusCode::OK, PROMETHEUS, text)),
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn make(exchange: &mut Exchange) -> Result<Vec<u8>, Problem> {
    let mut session = exchange.session().await?;
    if !session.connection.has_privilege("PROCESS") {
        return Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&"PROCESS"]).into());
    }
    let rows = session.rows("SHOW GLOBAL STATUS").await?;
    let mut out = Vec::with_capacity(rows.len() * 80);
    for row in &rows {
        if let [name, value] = row.as_slice() {
            push_metric(&text(name), &text(value), &mut out);
        }
    }
    Ok(out)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Appends a status variable, if it is a number, by the rules of Prometheus' own tools: counters end in `_total`, times are in seconds, and no part of
/// a name looks like a short unit.
fn push_metric(variable: &str, value: &str, out: &mut Vec<u8>) {
    let Some(number) = value.parse::<f64>().ok().filter(|number| number.is_finite()) else { return };
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = variable.chars().map(allowed).collect();
    let is_gauge = GAUGES.iter().any(|part| name.contains(part)) || name.starts_with("uptime");
    let (kind, end) = if is_gauge { ("gauge", "") } else { ("counter", "_total") };
    let name = name.replace("_i_s_", "_information_schema_");
    let name = name.strip_prefix("squall_").unwrap_or(&name);
    let name = name.strip_suffix("_total").unwrap_or(name);
    let (name, unit, value) = match name.strip_suffix("_us") {
        Some(name) => (name, "_seconds", (number / 1e6).to_string()),
        None => (name, "", value.to_owned()),
    };
    let metric = format!("squall_{name}{unit}{end}");
    // Writing to memory cannot fail.
    let _ = writeln!(out, "# HELP {metric} The status variable {variable}.\n# TYPE {metric} {kind}\n{metric} {value}");
}
