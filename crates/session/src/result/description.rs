//! Tables and routines as an account sees them, for protocols that make statements of requests that name these.

use squall_types::SqlType;

/// A table or view.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// Whether it is a view, or a table whose rows are made when they are read: it has no key.
    pub is_view: bool,
    /// The columns on which the account has a privilege.
    pub columns: Vec<ColumnDescription>,
    /// Ordinals in `columns` of the primary key's columns, in the order of the key; empty if there is none or the account sees only a part of it.
    pub key: Vec<usize>,
}

/// A column of a table or view.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDescription {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it is computed of others.
    pub is_generated: bool,
    /// AUTO_INCREMENT.
    pub is_auto_increment: bool,
    /// INVISIBLE: it has to be named.
    pub is_invisible: bool,
    /// Whether the account may read it.
    pub may_read: bool,
}

/// A stored procedure or function.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineDescription {
    /// Its name as it was given.
    pub name: String,
    /// Its parameters in their order.
    pub parameters: Vec<ParameterDescription>,
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterDescription {
    /// Its name.
    pub name: String,
    /// Whether a value goes into the routine.
    pub is_in: bool,
    /// Whether a value comes out of it.
    pub is_out: bool,
    /// Its type.
    pub sql_type: SqlType,
}
