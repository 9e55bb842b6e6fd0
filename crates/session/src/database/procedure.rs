//! Declarations of built-in procedures.

use super::ProcedureCall;
use crate::result::Failure;
use crate::result::writer::{LocalFuture, OkInfo};
use squall_types::{CollationId, SqlType, StringKind, TextSize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// A procedure that is part of the server: `CALL database.name(…)`.
///
/// It runs in the caller's session with the caller's privileges. Like the body of a stored procedure it is no transaction
/// of its own: each statement that it runs commits by itself under autocommit, and belongs to the caller's transaction
/// otherwise.
pub trait Procedure: Debug + Send + Sync {
    /// How it is declared.
    fn head(&self) -> &ProcedureHead;
    /// Does it. Result sets are sent on the way; what is returned ends the answer.
    ///
    /// # Errors
    /// Any error that the client is to see ([`SqlError::signal`](squall_types::SqlError::signal) for one of the procedure's own).
    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>>;
}

/// How a procedure is declared: what it is found by, called with and shown as.
#[derive(Clone, Debug)]
pub struct ProcedureHead {
    /// Its database, lower case.
    pub database: &'static str,
    /// Its name; found in any letter case.
    pub name: &'static str,
    /// Its parameters. A call with more or fewer arguments is error 1318.
    pub parameters: Vec<Parameter>,
    /// Its description, in a sentence.
    pub comment: &'static str,
}

/// A parameter of a procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Which way values go.
    pub mode: ParameterMode,
    /// The type that an argument is converted to, as for a column.
    pub sql_type: SqlType,
}

/// Which way the values of a parameter go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// Any expression.
    In,
    /// A variable (1414), which begins as NULL.
    Out,
    /// A variable (1414).
    InOut,
    /// A variable, or any expression, whose new value is not wanted.
    InOutOrValue,
}

impl ParameterMode {
    /// The word of SQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::In => "IN",
            Self::Out => "OUT",
            Self::InOut | Self::InOutOrValue => "INOUT",
        }
    }

    /// Whether a value comes out.
    pub fn gives(self) -> bool {
        self != Self::In
    }
}

impl Parameter {
    /// An IN parameter.
    pub const fn new(name: &'static str, sql_type: SqlType) -> Self {
        Self { name: Cow::Borrowed(name), mode: ParameterMode::In, sql_type }
    }

    /// An IN parameter of the type LONGTEXT.
    pub const fn text(name: &'static str) -> Self {
        let (kind, collation) = (StringKind::Text(TextSize::Long), CollationId::UTF8MB4_0900_AI_CI);
        Self::new(name, SqlType::String { kind, length: u32::MAX, collation })
    }

    /// The same parameter with another mode.
    pub const fn with_mode(mut self, mode: ParameterMode) -> Self {
        self.mode = mode;
        self
    }
}

/// All procedures, by database and name in lower case.
#[derive(Debug, Default)]
pub(crate) struct Procedures(BTreeMap<(String, String), Arc<dyn Procedure>>);

impl Procedures {
    /// Adds a procedure; a later one of the same name replaces an earlier one.
    pub fn add(&mut self, procedure: Arc<dyn Procedure>) {
        let head = procedure.head();
        let key = (head.database.to_lowercase(), head.name.to_lowercase());
        self.0.insert(key, procedure);
    }

    /// The procedure of that name, in any letter case.
    pub fn find(&self, database: &str, name: &str) -> Option<&Arc<dyn Procedure>> {
        self.0.get(&(database.to_lowercase(), name.to_lowercase()))
    }

    /// All of them in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Procedure>> {
        self.0.values()
    }
}
