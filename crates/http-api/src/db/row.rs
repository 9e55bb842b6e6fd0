//! `/1.0/db/{schema}/{table}/{key}`: a row.

use super::body::{Member, Row, read_row};
use super::etag::Conditions;
use super::insert::{set_location, set_tag};
use super::page_query::key_of;
use super::path::TableName;
use super::resource::{Resource, no_row};
use super::rows::{StoredRow, as_text, cell_of, key_text, path_of};
use super::transaction;
use crate::answer::{Answer, JSON, empty, whole};
use crate::body::{check_type, read_on_pool};
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use hyper::{Method, StatusCode};
use squall_types::Value;
use std::sync::Arc;

/// The locking of a row that is to be changed.
const LOCK: &str = " FOR UPDATE";

/// Answers a request.
pub(super) async fn answer(mut exchange: Exchange, name: TableName, key: Vec<String>) {
    match answered(&mut exchange, name, key).await {
        // A client that has gone needs no answer.
        Ok(answer) => drop(exchange.sink.send_answer(answer).await),
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn answered(exchange: &mut Exchange, name: TableName, key: Vec<String>) -> Result<Answer, Problem> {
    let method = exchange.head.method.clone();
    match method {
        Method::PUT => check_type(&exchange.head.headers, &["application/json"])?,
        Method::PATCH => {
            check_type(&exchange.head.headers, &["application/merge-patch+json", "application/json"])?;
        }
        _ => {}
    }
    exchange.check_query(&["numbers"])?;
    let exact = super::wants_exact(exchange)?;
    let conditions = Conditions::of(&exchange.head.headers);
    let mut session = match method {
        Method::PUT | Method::PATCH => exchange.logged_in().await?,
        _ => exchange.session().await?,
    };
    let resource = Arc::new(Resource::find(&mut session, name)?);
    if method != Method::GET {
        resource.check_is_table()?;
    }
    let key = resource.key_values(&key_of(key, &resource))?;
    let shown = resource.shown();
    let mut target = Target { session, resource, key, shown, exact, conditions };
    match method {
        Method::GET => target.show().await,
        Method::DELETE => target.delete().await,
        _ => {
            let body = exchange.read_body(&mut target.session).await?;
            let resource = target.resource.clone();
            let row = read_on_pool(body, move |body| read_row(body, &*resource)).await??;
            if method == Method::PUT { target.replace(row).await } else { target.merge(row).await }
        }
    }
}

/// A row that a request is about, which may not be there.
struct Target {
    session: RequestSession,
    resource: Arc<Resource>,
    key: Vec<Value>,
    /// Ordinals of the columns that it has for the account.
    shown: Vec<usize>,
    exact: bool,
    conditions: Conditions,
}

impl Target {
    /// The row as it is; `lock` is what follows the query.
    async fn stored(&mut self, lock: &str) -> Result<Option<StoredRow>, Problem> {
        let sql = self.resource.sql_row(&self.shown, lock);
        let rows = self.session.rows_with(&sql, self.key.clone()).await?;
        Ok(rows.first().map(|row| StoredRow::new(&self.resource, &self.shown, row, self.exact)))
    }

    async fn show(&mut self) -> Result<Answer, Problem> {
        let stored = self.stored("").await?.ok_or_else(no_row)?;
        self.conditions.check_match(Some(&stored.tag))?;
        let mut answer = match self.conditions.has(&stored.tag) {
            true => empty(StatusCode::NOT_MODIFIED),
            false => whole(StatusCode::OK, JSON, stored.json),
        };
        set_tag(&mut answer, &stored.tag);
        Ok(answer)
    }

    async fn delete(&mut self) -> Result<Answer, Problem> {
        transaction::begin(&mut self.session).await?;
        if self.conditions.are_given() {
            let stored = self.stored(LOCK).await?.ok_or_else(no_row)?;
            self.conditions.check(Some(&stored.tag))?;
        }
        let sql = format!("DELETE FROM {} WHERE {}", self.resource.sql_name(), self.resource.sql_key());
        let deleted = self.session.result_of(&sql, self.key.clone()).await?.affected_rows;
        if deleted == 0 {
            return Err(no_row());
        }
        transaction::commit_row(&mut self.session, &self.resource).await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// PUT: the row has these values and no others; it is made if it is not there.
    async fn replace(&mut self, row: Row) -> Result<Answer, Problem> {
        let mut row = self.without_key(row)?;
        // So that what GET gave can be sent back.
        row.retain(|member| !self.resource.columns()[member.column].is_generated);
        transaction::begin(&mut self.session).await?;
        let stored = self.stored(LOCK).await?;
        self.conditions.check(stored.as_ref().map(|stored| &*stored.tag))?;
        if stored.is_none() {
            return self.create(row).await;
        }
        let is_given = |at: usize| row.iter().any(|member| member.column == at);
        let is_default = |at: &&usize| {
            !is_given(**at) && !self.resource.key().contains(*at) && !self.resource.columns()[**at].is_generated
        };
        let defaults: Vec<String> = self
            .shown
            .iter()
            .filter(is_default)
            .map(|at| format!("{} = DEFAULT", self.resource.sql_column(*at)))
            .collect();
        let (mut changes, mut values) = (Vec::new(), Vec::new());
        for member in row {
            changes.push(format!("{} = ?", self.resource.sql_column(member.column)));
            values.push(member.value);
        }
        // Behind what is given, so that expressions of defaults are of the new values.
        changes.extend(defaults);
        self.change(&changes, values).await?;
        self.finish(StatusCode::OK).await
    }

    async fn create(&mut self, row: Row) -> Result<Answer, Problem> {
        let resource = &self.resource;
        let columns = resource.key().iter().copied().chain(row.iter().map(|member| member.column));
        let columns: Vec<usize> = columns.collect();
        let values = self.key.iter().cloned().chain(row.into_iter().map(|member| member.value));
        let (names, places) = (resource.sql_columns(&columns), vec!["?"; columns.len()].join(", "));
        let sql = format!("INSERT INTO {} ({names}) VALUES ({places})", resource.sql_name());
        self.session.result_of(&sql, values.collect()).await?;
        let mut answer = self.finish(StatusCode::CREATED).await?;
        set_location(&mut answer, &path_of(&self.resource, &self.key));
        Ok(answer)
    }

    /// PATCH: RFC 7396. The row is an object whose members are its columns; objects of JSON columns are merged further.
    async fn merge(&mut self, row: Row) -> Result<Answer, Problem> {
        let row = self.without_key(row)?;
        transaction::begin(&mut self.session).await?;
        if self.conditions.are_given() {
            let stored = self.stored(LOCK).await?.ok_or_else(no_row)?;
            self.conditions.check(Some(&stored.tag))?;
        }
        let (mut changes, mut values) = (Vec::new(), Vec::new());
        for Member { column, value, is_object } in row {
            let name = self.resource.sql_column(column);
            changes.push(match is_object {
                // What is no object is replaced by one.
                true => format!("{name} = JSON_MERGE_PATCH(IFNULL({name}, '{{}}'), ?)"),
                false => format!("{name} = ?"),
            });
            values.push(value);
        }
        self.change(&changes, values).await?;
        self.finish(StatusCode::OK).await
    }

    async fn change(&mut self, changes: &[String], mut values: Vec<Value>) -> Result<(), Problem> {
        if changes.is_empty() {
            return Ok(());
        }
        let (table, key) = (self.resource.sql_name(), self.resource.sql_key());
        let sql = format!("UPDATE {table} SET {} WHERE {key}", changes.join(", "));
        values.extend(self.key.iter().cloned());
        self.session.result_of(&sql, values).await.map(|_| ())
    }

    /// Reads the row that is there now, and ends the transaction.
    async fn finish(&mut self, status: StatusCode) -> Result<Answer, Problem> {
        let stored = self.stored("").await?.ok_or_else(no_row)?;
        transaction::commit_row(&mut self.session, &self.resource).await?;
        let mut answer = whole(status, JSON, stored.json);
        set_tag(&mut answer, &stored.tag);
        Ok(answer)
    }

    /// The members that are not of the key, which the path has already.
    ///
    /// # Errors
    /// 422 for members of the key with other values: a row keeps its path.
    fn without_key(&self, row: Row) -> Result<Row, Problem> {
        let (of_key, others): (Row, Row) =
            row.into_iter().partition(|member| self.resource.key().contains(&member.column));
        for member in of_key {
            let Some(part) = self.resource.key().iter().position(|at| *at == member.column) else { continue };
            let column = &self.resource.columns()[member.column];
            let text = |value: &Value| key_text(cell_of(value), &as_text(&column.sql_type, value));
            if member.value == Value::Null || text(&member.value) != text(&self.key[part]) {
                let detail = format!("at {}: the key of a row is that of its path, and cannot be changed", column.name);
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
            }
        }
        Ok(others)
    }
}
