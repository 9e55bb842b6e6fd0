//! Definitions other than those of tables and stored programs.

use super::{AccountName, DropBehavior, Ident, IndexDefinition, ObjectName, Query, Span};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub name: Ident,
    pub options: Vec<DatabaseOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// `None` is the current database.
    pub name: Option<Ident>,
    pub options: Vec<DatabaseOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseOption {
    /// `None` is the word DEFAULT.
    Charset(Option<Box<str>>),
    Collate(Box<str>),
    Encryption(bool),
    /// `None` is the word DEFAULT.
    ReadOnly(Option<bool>),
    /// MariaDB.
    Comment(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabase {
    pub if_exists: bool,
    pub name: Ident,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropTable {
    pub temporary: bool,
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    pub behavior: Option<DropBehavior>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RenameTable {
    pub if_exists: bool,
    pub renames: Vec<(ObjectName, ObjectName)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    pub or_replace: bool,
    pub table: ObjectName,
    pub index: IndexDefinition,
    pub algorithm: Option<Ident>,
    pub lock: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropIndex {
    pub if_exists: bool,
    pub name: Ident,
    pub table: ObjectName,
    pub algorithm: Option<Ident>,
    pub lock: Option<Ident>,
}

/// CREATE VIEW and ALTER VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub alter: bool,
    pub or_replace: bool,
    /// MariaDB.
    pub if_not_exists: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<AccountName>,
    pub security: Option<Security>,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
    /// The source of `query`.
    pub query_span: Span,
    pub check_option: Option<CheckOption>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

/// `SQL SECURITY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    Definer,
    Invoker,
}

/// `WITH CHECK OPTION` alone is `Cascaded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOption {
    Cascaded,
    Local,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropView {
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    pub behavior: Option<DropBehavior>,
}

/// CREATE SEQUENCE and ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    pub or_replace: bool,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub options: Vec<SequenceOption>,
    pub table_options: Vec<super::TableOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    pub if_exists: bool,
    pub name: ObjectName,
    pub options: Vec<SequenceOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SequenceOption {
    Increment(i64),
    /// `None` is `NO MINVALUE`.
    MinValue(Option<i64>),
    /// `None` is `NO MAXVALUE`.
    MaxValue(Option<i64>),
    Start(i64),
    /// `None` is `NO CACHE`.
    Cache(Option<i64>),
    Cycle(bool),
    /// `RESTART [WITH] [n]`, in ALTER.
    Restart(Option<i64>),
}

/// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT and SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropObject {
    pub temporary: bool,
    pub if_exists: bool,
    /// More than one for SEQUENCE only.
    pub names: Vec<ObjectName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateServer {
    pub name: Ident,
    pub wrapper: Ident,
    pub options: Vec<(Ident, Box<str>)>,
}

/// CREATE FUNCTION … SONAME.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateLoadableFunction {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub aggregate: bool,
    pub name: Ident,
    pub returns: Ident,
    pub library: Box<str>,
}
