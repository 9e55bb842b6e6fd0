//! ENVIRONMENTAL: the environment of the server's process.

use super::{DATABASE, NAME_AND_VALUE};
use crate::source::Source;
use crate::spec::{TableSpec, s};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] =
    &[TableSpec { database: DATABASE, name: "ENVIRONMENTAL", columns: NAME_AND_VALUE, rows: environment }];

/// What stands for a secret, as in statements that the server shows.
const MASKED: &str = squall_parser::SECRET;

/// Parts of names of variables whose values are secrets.
const SECRET_PARTS: &[&str] =
    &["AUTH", "CERT", "COOKIE", "CREDENTIAL", "DSN", "KEY", "PASS", "PWD", "SECRET", "SESSION", "SIGNATURE", "TOKEN"];

/// Reading it needs PROCESS.
fn environment(_: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    variables.sort();
    Ok(variables.into_iter().map(|(name, value)| vec![s(&name), s(shown(&name, value))]).collect())
}

/// A value without secrets.
fn shown(name: &str, value: String) -> String {
    let upper = name.to_ascii_uppercase();
    if SECRET_PARTS.iter().any(|part| upper.contains(part)) || has_password(&value) {
        return MASKED.to_string();
    }
    value
}

/// Whether a value has a URL with a user or a password: `scheme://user:password@host`.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or_default();
        authority.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        let is_masked = |name: &str, value: &str| shown(name, value.to_string()) == MASKED;
        for name in ["MYSQL_PWD", "DB_PASSWORD", "aws_secret_access_key", "GITHUB_TOKEN", "SSH_AUTH_SOCK"] {
            assert!(is_masked(name, "x"), "{name}");
        }
        assert!(is_masked("DATABASE_URL", "mysql://u:p@host/db"));
        assert!(is_masked("PROXIES", "http://a,http://u@b"));
        assert!(!is_masked("HOME", "/root"));
        assert!(!is_masked("LINK", "https://host/a@b"));
    }
}
