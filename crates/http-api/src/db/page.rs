//! `GET /1.0/db/{schema}/{table}`: a page of rows.

use super::items::{ItemsForm, PageFacts};
use super::page_query::{PARAMETERS, PageQuery, Statement};
use super::path::TableName;
use super::resource::Resource;
use super::{transaction, wants_exact};
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use crate::writer::AnswerWriter;
use bytes::Bytes;
use squall_types::Value;

/// Answers a request.
pub(super) async fn answer(mut exchange: Exchange, name: TableName) {
    match prepare(&exchange, name).await {
        Err(problem) => exchange.refuse(&problem),
        Ok(Prepared { session, statement, form, limit }) => {
            let Exchange { mut sink, start, .. } = exchange;
            sink.set_write_timeout(session.write_timeout());
            let writer = AnswerWriter::new(form, sink, limit, start);
            session.answer(&Bytes::from(statement.sql), statement.values, writer).await;
        }
    }
}

/// What is to be run, and how it is sent.
struct Prepared {
    session: RequestSession,
    statement: Statement,
    form: ItemsForm,
    limit: u64,
}

async fn prepare(exchange: &Exchange, name: TableName) -> Result<Prepared, Problem> {
    exchange.check_query(&PARAMETERS)?;
    let exact = wants_exact(exchange)?;
    let mut session = exchange.session().await?;
    let resource = Resource::find(&mut session, name)?;
    let query = exchange.head.uri.query().unwrap_or_default();
    let page = PageQuery::parse(query, &resource)?;
    let (mut also, mut key) = (Vec::new(), Vec::new());
    if page.is_by_key {
        for at in resource.key() {
            key.push(match page.fields.iter().position(|field| field == at) {
                Some(place) => place,
                None => {
                    also.push(*at);
                    page.fields.len() + also.len() - 1
                }
            });
        }
    }
    let statement = page.statement(&resource, &also)?;
    let mut total = None;
    if page.total {
        // What is counted is what the page is of.
        transaction::begin_reading(&mut session).await?;
        let Statement { sql, values } = page.counting(&resource);
        total = match session.rows_with(&sql, values).await?.first().and_then(|row| row.first()) {
            Some(Value::Int(count)) => u64::try_from(*count).ok(),
            _ => None,
        };
    }
    let shown = if page.fields.is_empty() { usize::MAX } else { page.fields.len() };
    let (limit, offset) = (page.limit, page.offset);
    let facts = PageFacts { path: resource.name.path(), query: query.to_owned(), limit, offset, total, shown, key };
    Ok(Prepared { session, statement, form: ItemsForm::new(facts, exact), limit })
}
