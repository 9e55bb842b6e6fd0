//! `/sql`: a text of statements in one transaction.

use super::forms::LastSetForm;
use crate::body::check_type;
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use crate::writer::AnswerWriter;
use bytes::Bytes;

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    match prepare(&mut exchange).await {
        Ok((session, body)) => run(exchange, session, body).await,
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn prepare(exchange: &mut Exchange) -> Result<(RequestSession, Bytes), Problem> {
    check_type(&exchange.head.headers, &["application/json", "text/plain", "application/sql"])?;
    let session = exchange.session().await?;
    let body = exchange.read_body(&session).await?;
    match std::str::from_utf8(&body) {
        Ok(_) => Ok((session, body)),
        Err(_) => Err(Problem::bad_request("the body is no UTF-8")),
    }
}

async fn run(exchange: Exchange, mut session: RequestSession, body: Bytes) {
    let Exchange { mut sink, settings, start, place, .. } = exchange;
    sink.set_write_timeout(session.write_timeout());
    // Without it, or the right to it, names are written with their schemas.
    let _chosen = session.connection.use_database(&settings.schema);
    let query = String::from_utf8_lossy(&body).into_owned();
    let form = LastSetForm::new(query, settings.schema.clone(), settings.legacy_status, settings.body_bytes_max);
    let mut writer = AnswerWriter::new(form, sink, u64::MAX, start);
    let begun = session.run_command("START TRANSACTION", Vec::new()).await;
    let ended = match begun {
        Ok(()) => {
            session.run(&body, Vec::new(), &mut writer).await;
            let end = if writer.has_failed() { "ROLLBACK" } else { "COMMIT" };
            session.run_command(end, Vec::new()).await
        }
        problem => problem,
    };
    // An error of a statement goes before one of the transaction's end.
    let problem = session.problem().or_else(|| ended.err().filter(|_| !writer.has_failed()));
    let _gone = writer.finish(problem).await;
    drop(place);
}
