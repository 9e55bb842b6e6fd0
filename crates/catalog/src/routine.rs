//! Stored procedures and functions.

use crate::AccountKey;
use squall_types::SqlType;

/// Procedures and functions have names of their own: one of each kind may have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutineKind {
    /// `CREATE PROCEDURE`.
    Procedure,
    /// `CREATE FUNCTION`.
    Function,
}

impl RoutineKind {
    /// The word of SQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::Procedure => "PROCEDURE",
            Self::Function => "FUNCTION",
        }
    }

    /// Whether it is a function.
    pub fn is_function(self) -> bool {
        self == Self::Function
    }
}

/// Which way the values of a parameter go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineParameterMode {
    /// Into the routine.
    In,
    /// Out of it; it begins as NULL.
    Out,
    /// Both ways.
    InOut,
}

impl RoutineParameterMode {
    /// The word of SQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::In => "IN",
            Self::Out => "OUT",
            Self::InOut => "INOUT",
        }
    }

    /// Whether a value comes out.
    pub fn gives(self) -> bool {
        self != Self::In
    }
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineParameter {
    /// Its name.
    pub name: String,
    /// Which way values go.
    pub mode: RoutineParameterMode,
    /// The type that an argument is converted to, as for a column.
    pub sql_type: SqlType,
}

/// What a routine says that it does with tables. MySQL believes it, and so does the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SqlDataAccess {
    /// CONTAINS SQL.
    #[default]
    ContainsSql,
    /// NO SQL.
    NoSql,
    /// READS SQL DATA.
    ReadsSqlData,
    /// MODIFIES SQL DATA.
    ModifiesSqlData,
}

impl SqlDataAccess {
    /// As SQL says it.
    pub fn clause(self) -> &'static str {
        match self {
            Self::ContainsSql => "CONTAINS SQL",
            Self::NoSql => "NO SQL",
            Self::ReadsSqlData => "READS SQL DATA",
            Self::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

/// A stored procedure or function: its body as text, parsed and bound when it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineDef {
    /// Its name, as it was written; found in any letter case.
    pub name: String,
    /// Procedure or function.
    pub kind: RoutineKind,
    /// Its parameters.
    pub parameters: Vec<RoutineParameter>,
    /// The source of the list of parameters, without its parentheses.
    pub parameters_text: String,
    /// The type of a function's result.
    pub returns: Option<SqlType>,
    /// The source of its body.
    pub body: String,
    /// AGGREGATE: a function of the rows of a group.
    pub aggregate: bool,
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// What it says that it does with tables.
    pub data_access: SqlDataAccess,
    /// SQL SECURITY INVOKER.
    pub security_invoker: bool,
    /// COMMENT.
    pub comment: String,
    /// In whose name it runs, unless SQL SECURITY INVOKER.
    pub definer: AccountKey,
    /// `sql_mode` of the session that made it, in which its body is read and run.
    pub sql_mode: u64,
    /// `character_set_client`, `collation_connection` and the database's collation then, by name.
    pub client_charset: String,
    /// See `client_charset`.
    pub connection_collation: String,
    /// See `client_charset`.
    pub database_collation: String,
    /// When it was made, microseconds since 1970 UTC.
    pub created_micros: i64,
    /// When it was changed last.
    pub altered_micros: i64,
}

/// The key of a routine in its database: the kind, and the name in lower case.
pub type RoutineName = (RoutineKind, String);

impl RoutineDef {
    /// Its key.
    pub fn key(&self) -> RoutineName {
        (self.kind, self.name.to_lowercase())
    }
}
