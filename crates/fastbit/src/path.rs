//! Paths of FastBit tables, which are names of tables of the server and never touch a file system.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// Characters that the name of a table may have.
const NAME_CHARS_MAX: usize = 64;
/// Characters of a path.
const PATH_CHARS_MAX: usize = 1024;
/// Hexadecimal digits that tell long paths apart.
const HASH_DIGITS: usize = 16;

/// A path by FastBit's rule: absolute, without `.` and `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePath {
    path: String,
}

impl TablePath {
    /// Reads a path; `None` if it is none: relative, empty, too long, or with `.` or `..` in it. Slashes in a row count as
    /// one, and one at the end as none.
    pub fn parse(text: &str) -> Option<TablePath> {
        if !text.starts_with('/') || text.chars().count() > PATH_CHARS_MAX || text.contains('\0') {
            return None;
        }
        let mut path = String::with_capacity(text.len());
        for part in text.split('/').filter(|part| !part.is_empty()) {
            if part == "." || part == ".." {
                return None;
            }
            path.push('/');
            path.push_str(part);
        }
        (!path.is_empty()).then_some(TablePath { path })
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// What FROM calls the table: the last part of the path.
    pub fn last(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The table's name: the path itself where a name may be that; else the end of the path behind a hash, which no path
    /// begins with.
    pub fn table_name(&self) -> Cow<'_, str> {
        if self.path.chars().count() <= NAME_CHARS_MAX && !self.path.ends_with(' ') {
            return Cow::Borrowed(&self.path);
        }
        let hash = Sha256::digest(self.path.as_bytes());
        let hash: String = hash.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        let end = self.path.trim_end();
        let kept = NAME_CHARS_MAX - HASH_DIGITS - 1;
        let skipped = end.chars().count().saturating_sub(kept);
        let end: String = end.chars().skip(skipped).collect();
        Cow::Owned(format!("{hash}~{end}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_only() {
        for bad in ["", "a", "./a", "..", "/", "//", "/a/../b", "/a/.", "/a\0b", "a/b"] {
            assert_eq!(TablePath::parse(bad), None, "{bad:?}");
        }
        let path = TablePath::parse("//var/lib//fastbit/part/").unwrap();
        assert_eq!((path.as_str(), path.last()), ("/var/lib/fastbit/part", "part"));
        assert_eq!(path.table_name(), "/var/lib/fastbit/part");
    }

    #[test]
    fn long_paths_have_names_of_their_own() {
        let long = |end: &str| TablePath::parse(&format!("/{}/{end}", "é".repeat(100))).unwrap();
        let name = long("part").table_name().into_owned();
        assert_eq!(name.chars().count(), NAME_CHARS_MAX);
        assert!(name.ends_with("/part") && !name.starts_with('/'), "{name}");
        assert_ne!(name, long("Part").table_name());
        assert_ne!(TablePath::parse("/a ").unwrap().table_name(), TablePath::parse("/a").unwrap().table_name());
    }
}
