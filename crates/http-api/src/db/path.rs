//! What a path below `/1.0/db` and `/1.0/call` names.

use crate::problem::Problem;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::fmt::Write as _;

/// The path of databases.
pub(super) const DATABASES: &str = "/1.0/db";
const ROUTINES: &str = "/1.0/call/";
const VALUES: &str = "/1.0/blob/";
const SIGNATURES: &str = "/1.0/blob/sign";

/// What is encoded in a segment of a path: all but letters, digits and the marks that mean nothing there.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'+')
    .add(b',')
    .add(b'/')
    .add(b';')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// What kind of thing a path names, which decides its methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Databases, or the tables of one.
    List,
    /// A table.
    Table,
    /// A row.
    Row,
    /// A routine.
    Routine,
    /// A value of a row.
    Value,
    /// What signs URLs of values.
    Signature,
}

impl Kind {
    /// Whether a path is that of a value.
    pub fn is_value(path: &str) -> bool {
        matches!(Kind::of(path), Some((Kind::Value, _)))
    }

    /// What a path is, and its methods. Only its slashes are looked at.
    pub fn of(path: &str) -> Option<(Kind, &'static str)> {
        if let Some(rest) = path.strip_prefix(ROUTINES) {
            return (rest.split('/').count() == 2).then_some((Kind::Routine, "POST"));
        }
        if path == SIGNATURES {
            return Some((Kind::Signature, "POST"));
        }
        if let Some(rest) = path.strip_prefix(VALUES) {
            return match rest.split('/').count() {
                3 => Some((Kind::Value, "GET, HEAD")),
                4 => Some((Kind::Value, "GET, HEAD, PUT, DELETE")),
                _ => None,
            };
        }
        let rest = path.strip_prefix(DATABASES)?;
        match (rest.is_empty(), rest.starts_with('/'), rest.split('/').count()) {
            (true, ..) | (false, true, 2) => Some((Kind::List, "GET, HEAD")),
            (false, true, 3) => Some((Kind::Table, "GET, HEAD, POST")),
            (false, true, 4) => Some((Kind::Row, "GET, HEAD, PUT, PATCH, DELETE")),
            _ => None,
        }
    }
}

/// The name of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableName {
    pub database: String,
    pub table: String,
}

impl TableName {
    /// Its path.
    pub fn path(&self) -> String {
        format!("{DATABASES}/{}/{}", encoded(&self.database), encoded(&self.table))
    }
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Databases,
    Tables {
        database: String,
    },
    Table(TableName),
    /// With the values of its key, as they are written in the path.
    Row(TableName, Vec<String>),
    Routine {
        database: String,
        name: String,
    },
    Signature,
    Value {
        name: TableName,
        column: String,
        /// The key of its row; without one a filter says which row it is.
        key: Option<Vec<String>>,
    },
}

impl Path {
    /// Reads a path that [`Kind::of`] knows.
    ///
    /// # Errors
    /// 400 for names that are not UTF-8 when they are decoded.
    pub fn of(path: &str) -> Result<Path, Problem> {
        if let Some((database, name)) = path.strip_prefix(ROUTINES).and_then(|rest| rest.split_once('/')) {
            return Ok(Path::Routine { database: decoded(database)?, name: decoded(name)? });
        }
        if path == SIGNATURES {
            return Ok(Path::Signature);
        }
        if let Some(rest) = path.strip_prefix(VALUES) {
            let mut segments = rest.split('/');
            let mut next = || segments.next().map_or_else(|| Ok(String::new()), decoded);
            let name = TableName { database: next()?, table: next()? };
            let (column, key) = (next()?, segments.next().map(decoded_list).transpose()?);
            return Ok(Path::Value { name, column, key });
        }
        let mut segments = path.strip_prefix(DATABASES).unwrap_or_default().split('/').skip(1);
        let Some(database) = segments.next() else { return Ok(Path::Databases) };
        let database = decoded(database)?;
        let Some(table) = segments.next() else { return Ok(Path::Tables { database }) };
        let name = TableName { database, table: decoded(table)? };
        match segments.next() {
            None => Ok(Path::Table(name)),
            Some(key) => Ok(Path::Row(name, decoded_list(key)?)),
        }
    }
}

/// The parts of a list with commas between, each of them decoded for itself.
pub(super) fn decoded_list(text: &str) -> Result<Vec<String>, Problem> {
    text.split(',').map(decoded).collect()
}

/// A name or value of a path.
pub(super) fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(String::from).map_err(|_| Problem::bad_request("the path is not UTF-8 when it is decoded"))
}

/// A name as a segment of a path.
pub(super) fn encoded(text: &str) -> String {
    match text {
        // These mean other segments, encoded or not, to some clients; nothing can be done for those.
        "." | ".." => text.bytes().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "%{byte:02X}");
            out
        }),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

/// Values as the last segment of a row's path.
pub(super) fn encoded_list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    texts.into_iter().map(encoded).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_tables_and_rows() {
        let kind = |path| Kind::of(path).map(|(kind, _)| kind);
        for (path, expected) in [
            ("/1.0/db", Some(Kind::List)),
            ("/1.0/db/d", Some(Kind::List)),
            ("/1.0/db/d/t", Some(Kind::Table)),
            ("/1.0/db/d/t/1", Some(Kind::Row)),
            ("/1.0/db/d/t/", Some(Kind::Row)),
            ("/1.0/db/d/t/1/2", None),
            ("/1.0/dbx", None),
            ("/1.0/call/d/p", Some(Kind::Routine)),
            ("/1.0/call/d", None),
            ("/1.0/call", None),
            ("/1.0/blob/d/t/c", Some(Kind::Value)),
            ("/1.0/blob/d/t/c/1,2", Some(Kind::Value)),
            ("/1.0/blob/d/t", None),
            ("/1.0/blob/d/t/c/1/2", None),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
        let name = |database: &str, table: &str| TableName { database: database.into(), table: table.into() };
        let of = |path| Path::of(path).map_err(|problem| problem.status.as_u16());
        assert_eq!(of("/1.0/db"), Ok(Path::Databases));
        assert_eq!(of("/1.0/db/a%2Fb"), Ok(Path::Tables { database: "a/b".to_owned() }));
        let key = vec!["1,2".to_owned(), "\u{2603}+".to_owned(), String::new()];
        assert_eq!(of("/1.0/db/d/t/1%2C2,%E2%98%83+,"), Ok(Path::Row(name("d", "t"), key)));
        assert_eq!(of("/1.0/db/%ff"), Err(400));
        let value = |key| Ok(Path::Value { name: name("d", "t/"), column: "c,".to_owned(), key });
        assert_eq!(of("/1.0/blob/d/t%2F/c%2C"), value(None));
        assert_eq!(of("/1.0/blob/d/t%2F/c%2C/1,%2C"), value(Some(vec!["1".to_owned(), ",".to_owned()])));
    }

    #[test]
    fn names_come_back_from_their_paths() {
        for text in ["a", "a,b", "%2C", "\u{1d122}", "'; DROP TABLE `t`; --", "\0\n", "", "..", "a.b~c-d_e"] {
            assert_eq!(decoded(&encoded(text)).expect("UTF-8"), text);
            assert!(!encoded(text).contains([',', '/', '?', '#', '\n']));
        }
        assert_eq!(encoded_list(["a,b", "c"]), "a%2Cb,c");
    }
}
