//! `POST /1.0/sql`: statements with parameters, and their results in one of several forms.

use crate::body::{check_type, read_on_pool};
use crate::exchange::Exchange;
use crate::forms::Form;
use crate::forms::arrow::ArrowForm;
use crate::forms::csv::CsvForm;
use crate::forms::json::JsonForm;
use crate::forms::ndjson::NdjsonForm;
use crate::forms::parquet::ParquetForm;
use crate::problem::Problem;
use crate::running::RequestSession;
use crate::sql_request::SqlRequest;
use crate::writer::AnswerWriter;
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::header::ACCEPT;

/// A form of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Json,
    Ndjson,
    Csv,
    Arrow,
    Parquet,
}

impl Wanted {
    /// The best form that a client takes: of those with the greatest weight the first.
    ///
    /// # Errors
    /// 406.
    fn of(headers: &HeaderMap) -> Result<Wanted, Problem> {
        let mut best: Option<(f32, Wanted)> = None;
        let mut is_given = false;
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for entry in values.flat_map(|value| value.split(',')) {
            let mut parts = entry.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|text| text.parse().ok());
            let weight: f32 = weight.unwrap_or(1.0);
            is_given |= !media_type.is_empty();
            let form = match media_type.as_str() {
                "application/json" | "application/*" | "*/*" => Wanted::Json,
                "application/x-ndjson" | "application/jsonl" => Wanted::Ndjson,
                "text/csv" | "text/*" => Wanted::Csv,
                "application/vnd.apache.arrow.stream" => Wanted::Arrow,
                "application/vnd.apache.parquet" => Wanted::Parquet,
                _ => continue,
            };
            if weight > 0.0 && best.is_none_or(|(greatest, _)| weight > greatest) {
                best = Some((weight, form));
            }
        }
        match best {
            Some((_, form)) => Ok(form),
            None if !is_given => Ok(Wanted::Json),
            None => Err(Problem::new(
                StatusCode::NOT_ACCEPTABLE,
                "answers are application/json, application/x-ndjson, text/csv, application/vnd.apache.arrow.stream or \
                 application/vnd.apache.parquet",
            )),
        }
    }
}

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    match prepare(&mut exchange).await {
        Err(problem) => exchange.refuse(&problem),
        Ok((session, request, wanted)) => run(exchange, session, request, wanted).await,
    }
}

async fn prepare(exchange: &mut Exchange) -> Result<(RequestSession, SqlRequest, Wanted), Problem> {
    check_type(&exchange.head.headers, &["application/json"])?;
    let wanted = Wanted::of(&exchange.head.headers)?;
    // Who may not ask sends no body.
    let mut session = exchange.logged_in().await?;
    let body = exchange.read_body(&mut session).await?;
    let request = read_on_pool(body, SqlRequest::parse).await??;
    if !request.database.is_empty() {
        session.connection.use_database(&request.database)?;
    }
    if request.read_only {
        session.connection.set_read_only();
    }
    Ok((session, request, wanted))
}

async fn run(exchange: Exchange, mut session: RequestSession, request: SqlRequest, wanted: Wanted) {
    if let Some(timeout) = request.timeout {
        session.set_timeout(timeout);
    }
    let exact = exchange.query("numbers").as_deref() == Some("exact");
    match wanted {
        Wanted::Json => send(exchange, session, request, JsonForm::new(exact)).await,
        Wanted::Ndjson => send(exchange, session, request, NdjsonForm::new(exact)).await,
        Wanted::Csv => send(exchange, session, request, CsvForm::default()).await,
        Wanted::Arrow => send(exchange, session, request, ArrowForm::default()).await,
        Wanted::Parquet => send(exchange, session, request, ParquetForm::default()).await,
    }
}

async fn send<F: Form>(exchange: Exchange, session: RequestSession, request: SqlRequest, form: F) {
    let Exchange { mut sink, start, .. } = exchange;
    sink.set_write_timeout(session.write_timeout());
    let rows_max = request.rows_max.unwrap_or(u64::MAX);
    let writer = AnswerWriter::new(form, sink, rows_max, start);
    session.answer(&Bytes::from(request.sql), request.params, writer).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn the_best_form_is_chosen() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(text));
            Wanted::of(&headers).map_err(|problem| problem.status.as_u16())
        };
        assert_eq!(of("*/*"), Ok(Wanted::Json));
        assert_eq!(of("text/html, text/csv;q=0.5, application/json;q=0.4"), Ok(Wanted::Csv));
        assert_eq!(of("application/vnd.apache.arrow.stream"), Ok(Wanted::Arrow));
        assert_eq!(of("application/vnd.apache.parquet, */*;q=0.1"), Ok(Wanted::Parquet));
        assert_eq!(of("application/x-ndjson, application/json"), Ok(Wanted::Ndjson));
        assert_eq!(of("text/html"), Err(406));
        assert_eq!(Wanted::of(&HeaderMap::new()).ok(), Some(Wanted::Json));
    }
}
