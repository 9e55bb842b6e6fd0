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
    let mut session = exchange.logged_in().await?;
    let body = exchange.read_body(&mut session).await?;
    match std::str::from_utf8(&body) {
        Ok(_) => Ok((session, body)),
        Err(_) => Err(Problem::bad_request("the body is no UTF-8")),
    }
}

async fn run(exchange: Exchange, mut session: RequestSession, body: Bytes) {
    let Exchange { mut sink, settings, start, .. } = exchange;
    sink.set_write_timeout(session.write_timeout());
    // Without it, or the right to it, names are written with their schemas.
    let _chosen = session.connection.use_database(&settings.schema);
    let query = String::from_utf8_lossy(&body).into_owned();
    let form = LastSetForm::new(query, settings.schema.clone(), settings.legacy_status, settings.body_bytes_max);
    let mut writer = AnswerWriter::new(form, sink, u64::MAX, start);
    let begun = session.run_command("START TRANSACTION", Vec::new()).await;
    let problem = match begun {
        Ok(()) => {
            let ran = session.run(&body, Vec::new(), &mut writer).await;
            let has_failed = !ran || writer.has_failed();
            let ended = session.run_command(if has_failed { "ROLLBACK" } else { "COMMIT" }, Vec::new()).await;
            // What ended the statements goes before what ended the transaction.
            session.problem(ran, writer.has_failed()).or_else(|| ended.err().filter(|_| !has_failed))
        }
        Err(problem) => Some(problem),
    };
    let _gone = writer.finish(problem).await;
}
