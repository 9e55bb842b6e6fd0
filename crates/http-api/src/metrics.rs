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

/// Appends a status variable, if it is a number.
fn push_metric(name: &str, value: &str, out: &mut Vec<u8>) {
    if value.is_empty() || value.parse::<f64>().is_ok_and(|number| !number.is_finite()) || value.parse::<f64>().is_err()
    {
        return;
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().map(allowed).collect();
    let is_gauge = GAUGES.iter().any(|part| name.contains(part)) || name.starts_with("uptime");
    let kind = if is_gauge { "gauge" } else { "counter" };
    // Writing to memory cannot fail.
    let _ = writeln!(out, "# TYPE squall_{name} {kind}\nsquall_{name} {value}");
}
