//! Views.

/// A view: its query as text, bound again when used.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDef {
    /// Name.
    pub name: String,
    /// The query's canonical SQL text, all names qualified.
    pub query: String,
    /// Names of the columns in order.
    pub columns: Vec<String>,
    /// `UNDEFINED`, `MERGE` or `TEMPTABLE`.
    pub algorithm: String,
    /// `user@host` that `SQL SECURITY DEFINER` runs as.
    pub definer: String,
    /// SQL SECURITY INVOKER.
    pub security_invoker: bool,
    /// `NONE`, `LOCAL` or `CASCADED`.
    pub check_option: String,
    /// sql_mode flags in force at creation; they decide how the text is parsed.
    pub sql_mode: u64,
}
