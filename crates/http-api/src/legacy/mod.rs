//! The paths of Drizzle's JSON server, with its requests and the shapes of its answers.
//!
//! What differs on purpose: answers have a media type and a status, values are parameters of statements, names are quoted, NULLs at the end of
//! a row stay, and statements are shown to accounts with SUPER alone.

mod documents;
mod forms;
mod parsed;
mod sql;

pub(crate) use documents::{answer as answer_documents, answer_ddl};
pub(crate) use sql::answer as answer_sql;

use crate::answer::{Answer, JSON, whole};
use crate::exchange::Exchange;
use hyper::StatusCode;
use squall_file_formats::text::push_json_string;

/// The version that is kept up.
const VERSION: &str = "0.3";

/// A path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// `/version`; `is_short` in versions that have nothing else to tell.
    Version {
        /// The server's version alone.
        is_short: bool,
    },
    /// `/sql`.
    Sql,
    /// `/json`.
    Documents,
    /// `/json/ddl/schema/create`.
    CreateSchema,
    /// `/json/ddl/schema/drop`.
    DropSchema,
}

impl Path {
    /// What a path is, and its methods.
    pub fn of(path: &str) -> Option<(Path, &'static str)> {
        let versions = [("/latest/", true), ("/0.3/", true), ("/0.2/", false), ("/0.1/", false), ("/", true)];
        let (rest, is_current) =
            versions.iter().find_map(|(prefix, is_current)| Some((path.strip_prefix(prefix)?, *is_current)))?;
        Some(match rest {
            "version" => (Path::Version { is_short: !is_current }, "GET, HEAD"),
            _ if !is_current => return None,
            "sql" => (Path::Sql, "POST"),
            "json" => (Path::Documents, "GET, POST, DELETE"),
            "json/ddl/schema/create" => (Path::CreateSchema, "POST"),
            "json/ddl/schema/drop" => (Path::DropSchema, "POST"),
            _ => return None,
        })
    }
}

/// `/version`.
pub(crate) async fn answer_version(mut exchange: Exchange, is_short: bool) {
    let rows = match exchange.session().await {
        Ok(mut session) => session.rows("SELECT VERSION()").await,
        Err(problem) => Err(problem),
    };
    let rows = match rows {
        Ok(rows) => rows,
        Err(problem) => return exchange.refuse(&problem),
    };
    let version = match rows.first().and_then(|row| row.first()) {
        Some(squall_types::Value::String(version)) => version.as_str(),
        _ => "",
    };
    let mut out = b"{".to_vec();
    if !is_short {
        out.extend_from_slice(format!("\"json_server_version\":\"{VERSION}\",").as_bytes());
    }
    out.extend_from_slice(b"\"version\":");
    push_json_string(version, &mut out);
    out.push(b'}');
    exchange.sink.answer(whole(StatusCode::OK, JSON, out));
}

/// A JSON object of texts, numbers and JSON.
#[derive(Debug)]
pub(crate) struct Object(Vec<u8>);

impl Object {
    fn new() -> Object {
        Object(b"{".to_vec())
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        push_json_string(name, &mut self.0);
        self.0.push(b':');
    }

    fn text(mut self, name: &str, value: &str) -> Object {
        self.name(name);
        push_json_string(value, &mut self.0);
        self
    }

    fn number(mut self, name: &str, value: u16) -> Object {
        self.name(name);
        self.0.extend_from_slice(value.to_string().as_bytes());
        self
    }

    fn answer(mut self, status: StatusCode) -> Answer {
        self.0.push(b'}');
        whole(status, JSON, self.0)
    }
}

/// The status of an answer: with `json_server_legacy_status` always 200.
fn status(status: StatusCode, has_legacy_status: bool) -> StatusCode {
    if has_legacy_status { StatusCode::OK } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_versions() {
        let of = |path| Path::of(path).map(|(path, _)| path);
        for path in ["/version", "/latest/version", "/0.3/version"] {
            assert_eq!(of(path), Some(Path::Version { is_short: false }));
        }
        assert_eq!(of("/0.1/version"), Some(Path::Version { is_short: true }));
        assert_eq!(of("/latest/json/ddl/schema/drop"), Some(Path::DropSchema));
        for path in ["/0.4/version", "/0.1/sql", "/0.2/sql", "/0.2/json", "/latest/latest/sql", "/json/", "/jsonx"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
