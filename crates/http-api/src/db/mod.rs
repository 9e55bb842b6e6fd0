//! `/1.0/db`, `/1.0/call` and `/1.0/blob`: tables as collections of rows, routines, and single values.
//!
//! - [`path`]: what a path names; [`resource`]: a table with its columns and key; [`rows`]: rows on their way out, with their tags;
//! - [`body`]: rows on their way in; [`etag`]: conditions of requests; [`transaction`]: what belongs together;
//! - [`lists`], [`page`] (by [`page_query`] and [`items`]), [`follow`], [`insert`], [`row`] and [`call`]: the requests;
//! - [`ranges`], [`value_writer`], [`value_body`], [`value`] and [`sign`]: those for values.
//!
//! Names are quoted here, and values are parameters. Everything runs as statements of the account, so its privileges on tables and columns
//! hold; what is asked of the catalog only decides which statement is made.

mod body;
mod call;
mod etag;
mod follow;
mod insert;
mod items;
mod lists;
mod page;
mod page_query;
mod path;
mod ranges;
mod resource;
mod row;
mod rows;
mod sign;
mod transaction;
mod value;
mod value_body;
mod value_writer;

pub(crate) use path::Kind;

use crate::exchange::Exchange;
use crate::problem::Problem;
use hyper::Method;
use path::Path;

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    let path = match Path::of(exchange.head.uri.path()) {
        Ok(path) => path,
        Err(problem) => return exchange.refuse(&problem),
    };
    let is_head = exchange.head.method == Method::HEAD;
    if is_head {
        // The same answer, whose body is not sent.
        exchange.head.method = Method::GET;
    }
    let is_reading = exchange.head.method == Method::GET;
    match path {
        Path::Databases => lists::answer_databases(exchange).await,
        Path::Tables { database } => lists::answer_tables(exchange, &database).await,
        Path::Table(name) if is_reading && exchange.query("follow").is_some() => follow::answer(exchange, name).await,
        Path::Table(name) if is_reading => page::answer(exchange, name).await,
        Path::Table(name) => insert::answer(exchange, name).await,
        Path::Row(name, key) => row::answer(exchange, name, key).await,
        Path::Routine { database, name } => call::answer(exchange, &database, &name).await,
        Path::Signature => sign::answer(exchange).await,
        Path::Value { name, column, key } => value::answer(exchange, (name, column, key), is_head).await,
    }
}

/// Whether all numbers are numbers in the answer.
fn wants_exact(exchange: &Exchange) -> Result<bool, Problem> {
    match exchange.query("numbers").as_deref() {
        None => Ok(false),
        Some("exact") => Ok(true),
        Some(_) => Err(Problem::bad_request("the parameter numbers has the value exact")),
    }
}
