//! A table or view as a resource: its columns, its key, and the parts of statements that name them.

use super::body::Fields;
use super::path::TableName;
use crate::problem::Problem;
use crate::running::RequestSession;
use hyper::StatusCode;
use squall_row_json::filter::quoted;
use squall_row_json::json::Json;
use squall_row_json::values::compared_value;
use squall_session::api::{ColumnDescription, TableDescription};
use squall_types::{ErrorCode, SqlError, SqlType, Value};

/// A table or view.
#[derive(Debug)]
pub(super) struct Resource {
    pub name: TableName,
    table: TableDescription,
}

impl Resource {
    /// The table of that name, as the session's account sees it.
    ///
    /// # Errors
    /// 403 without a privilege on it, 404 if there is none.
    pub fn find(session: &mut RequestSession, name: TableName) -> Result<Resource, Problem> {
        let table = session.connection.describe_table(&name.database, &name.table)?;
        Ok(Resource { name, table })
    }

    /// Checks that it can be changed here: rows of a view have no key.
    ///
    /// # Errors
    /// 405 for a view.
    pub fn check_is_table(&self) -> Result<(), Problem> {
        if !self.table.is_view {
            return Ok(());
        }
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "views have the methods GET and HEAD");
        Err(Problem { allow: Some("GET, HEAD"), ..problem })
    }

    /// Checks that the table is still what it was when the request came. By another key a change would be one of several rows, and a view may
    /// have the name.
    ///
    /// # Errors
    /// 409.
    pub fn check_is_same(&self, session: &mut RequestSession) -> Result<(), Problem> {
        if session.connection.describe_table(&self.name.database, &self.name.table)? == self.table {
            return Ok(());
        }
        let detail = "the table has got another definition meanwhile; nothing has been changed";
        Err(Problem::new(StatusCode::CONFLICT, detail))
    }

    pub fn columns(&self) -> &[ColumnDescription] {
        &self.table.columns
    }

    /// Ordinals of the key's columns; none if there is no key, or the account does not see all of it.
    pub fn key(&self) -> &[usize] {
        &self.table.key
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let exact = self.columns().iter().position(|column| column.name == name);
        let lower = || {
            let name = name.to_lowercase();
            self.columns().iter().position(|column| column.name.to_lowercase() == name)
        };
        exact.or_else(lower)
    }

    /// Ordinals of the columns that a row has for the account.
    pub fn shown(&self) -> Vec<usize> {
        let is_shown = |at: &usize| self.columns()[*at].may_read && !self.columns()[*at].is_invisible;
        (0..self.columns().len()).filter(is_shown).collect()
    }

    /// Whether the account may read the key, so that it may look rows up and order them by it.
    pub fn has_readable_key(&self) -> bool {
        !self.key().is_empty() && self.key().iter().all(|at| self.columns()[*at].may_read)
    }

    /// The name in statements.
    pub fn sql_name(&self) -> String {
        format!("{}.{}", quoted(&self.name.database), quoted(&self.name.table))
    }

    /// The name of a column in statements.
    pub fn sql_column(&self, at: usize) -> String {
        quoted(&self.columns()[at].name)
    }

    /// Names of columns in statements, with commas between; `*` for none, which is for the statement to refuse.
    pub fn sql_columns(&self, columns: &[usize]) -> String {
        match columns {
            [] => "*".to_owned(),
            _ => columns.iter().map(|at| self.sql_column(*at)).collect::<Vec<_>>().join(", "),
        }
    }

    /// The condition that a row has a key, with a `?` for each of its values.
    pub fn sql_key(&self) -> String {
        self.key().iter().map(|at| format!("{} = ?", self.sql_column(*at))).collect::<Vec<_>>().join(" AND ")
    }

    /// The query of all rows, with these columns.
    pub fn sql_select(&self, columns: &[usize]) -> String {
        format!("SELECT {} FROM {}", self.sql_columns(columns), self.sql_name())
    }

    /// The query of the row with a key, with these columns; `lock` is what follows it.
    pub fn sql_row(&self, columns: &[usize], lock: &str) -> String {
        format!("SELECT {} FROM {} WHERE {}{lock}", self.sql_columns(columns), self.sql_name(), self.sql_key())
    }

    /// The values of a key as they are written in a path.
    ///
    /// # Errors
    /// 404 if there is no such key: no row can have it.
    pub fn key_values(&self, texts: &[String]) -> Result<Vec<Value>, Problem> {
        if self.key().is_empty() {
            let detail = "the table has no primary key that the account sees, so its rows have no paths";
            return Err(Problem::new(StatusCode::NOT_FOUND, detail));
        }
        if texts.len() != self.key().len() {
            let names: Vec<&str> = self.key().iter().map(|at| &*self.columns()[*at].name).collect();
            let detail = format!("a key has these values, separated by commas: {}", names.join(", "));
            return Err(Problem::new(StatusCode::NOT_FOUND, detail));
        }
        let values = self.key().iter().zip(texts).map(|(at, text)| {
            let value = compared_value(&self.columns()[*at].sql_type, &Json::Text(text.clone()));
            value.map_err(|_| no_row())
        });
        values.collect()
    }

    /// Whether rows are in the order of their keys when they are compared with `<`, as values of a key are.
    pub fn has_ordered_key(&self) -> bool {
        // ENUM and SET are ordered by number and compared by name; FLOAT is not what its text is.
        let is_ordered = |at: &usize| {
            let sql_type = &self.columns()[*at].sql_type;
            !matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Float { .. })
        };
        self.has_readable_key() && self.key().iter().all(is_ordered)
    }
}

impl Fields for Resource {
    fn fields(&self) -> impl Iterator<Item = (&str, &SqlType)> {
        self.columns().iter().map(|column| (&*column.name, &column.sql_type))
    }

    fn unknown(&self, name: &str) -> Problem {
        unknown_column(name)
    }
}

/// 404.
pub(super) fn no_row() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is no row with this key")
}

/// 1054.
pub(super) fn unknown_column(name: &str) -> Problem {
    Problem::of_error(&SqlError::new(ErrorCode::BadField, &[&name, &"field list"]))
}
