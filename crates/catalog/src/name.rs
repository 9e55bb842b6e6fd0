//! Names compare as MySQL compares them with `lower_case_table_names = 0`: databases, tables and aliases by their exact
//! text; columns, indexes, variables and routines without case.

/// A name without case, for look-up in maps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameKey(Box<str>);

impl NameKey {
    /// Folds a name.
    pub fn new(name: &str) -> NameKey {
        if name.is_ascii() { NameKey(name.to_ascii_lowercase().into()) } else { NameKey(name.to_lowercase().into()) }
    }

    /// The folded text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether two names are equal without case.
pub fn eq_ignore_case(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!(left.is_ascii() && right.is_ascii()) && left.to_lowercase() == right.to_lowercase())
}
