//! Statements that change rows, and HANDLER, DO and CALL.

use super::{
    ColumnName, Expr, FileFormat, Ident, Limit, NamedFormat, ObjectName, OrderItem, Query, SelectItem, SqlString,
    StatementKind, TableReference, ValueRows, VariableTarget, With,
};

/// INSERT and REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// REPLACE.
    pub replace: bool,
    pub hints: Option<Box<str>>,
    pub priority: Option<InsertPriority>,
    pub ignore: bool,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    /// Empty when no list was given, and for an empty list `()`. The SET form fills it.
    pub columns: Vec<Ident>,
    pub source: InsertSource,
    /// `AS new(a, b)` after the rows.
    pub row_alias: Option<RowAlias>,
    pub on_duplicate: Vec<Assignment>,
    pub returning: Vec<SelectItem>,
}

impl Insert {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match (self.replace, matches!(self.source, InsertSource::Query(_))) {
            (false, false) => K::Insert,
            (false, true) => K::InsertSelect,
            (true, false) => K::Replace,
            (true, true) => K::ReplaceSelect,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertPriority {
    Low,
    Delayed,
    High,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `VALUES (…), (…)`, and `SET a = 1` as one row. A row may be empty: `VALUES ()`.
    Values(ValueRows),
    /// A SELECT, `TABLE t` or `VALUES ROW(…)`.
    Query(Box<Query>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowAlias {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub column: ColumnName,
    /// May be [`Expr::Default`].
    pub value: Expr,
}

/// UPDATE of one table or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub hints: Option<Box<str>>,
    pub low_priority: bool,
    pub ignore: bool,
    /// One plain table for the single-table form; anything else is the multi-table form.
    pub tables: Vec<TableReference>,
    pub assignments: Vec<Assignment>,
    pub selection: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

impl Update {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match &self.tables[..] {
            [TableReference::Table(_)] => K::Update,
            _ => K::UpdateMulti,
        }
    }
}

/// DELETE from one table or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub hints: Option<Box<str>>,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    pub target: DeleteTarget,
    pub selection: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub returning: Vec<SelectItem>,
}

impl Delete {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self.target {
            DeleteTarget::Single { .. } => K::Delete,
            DeleteTarget::Multiple { .. } => K::DeleteMulti,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeleteTarget {
    Single {
        table: ObjectName,
        alias: Option<Ident>,
        partitions: Vec<Ident>,
    },
    /// `DELETE a, b FROM …` and `DELETE FROM a, b USING …`: rows of `tables`, found in `from`.
    Multiple {
        tables: Vec<ObjectName>,
        from: Vec<TableReference>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoadData {
    /// LOAD XML instead of LOAD DATA.
    pub xml: bool,
    pub priority: Option<LoadPriority>,
    pub source: LoadSource,
    /// The name of the file, or the URL.
    pub path: Box<str>,
    pub duplicates: LoadDuplicates,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    pub charset: Option<Box<str>>,
    pub rows_identified_by: Option<Box<str>>,
    pub format: FileFormat,
    /// `FORMAT PARQUET` and the like, instead of FIELDS, LINES and what comes with them; fields have names then.
    pub named_format: Option<NamedFormat>,
    /// `DEFINED NULL BY`: a field of this text, not enclosed, is NULL.
    pub null_text: Option<SqlString>,
    /// `TRAILING NULLCOLS`: fields missing at the end of a line are NULL.
    pub trailing_nullcols: bool,
    /// `IGNORE n LINES|ROWS`.
    pub ignore_lines: u64,
    pub columns: Vec<VariableTarget>,
    pub assignments: Vec<Assignment>,
    /// `REJECT LIMIT n`: so many rows that cannot be stored are left out. `UNLIMITED` is the largest number.
    pub reject_limit: Option<u64>,
}

/// Where the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadSource {
    /// INFILE: with the server.
    Server,
    /// LOCAL INFILE: with the client.
    Client,
    /// FROM URL: elsewhere.
    Url,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPriority {
    Low,
    Concurrent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadDuplicates {
    /// An error, or as IGNORE with LOCAL.
    Default,
    Ignore,
    Replace,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Handler {
    Open { table: ObjectName, alias: Option<Ident> },
    Read { table: ObjectName, read: HandlerRead, selection: Option<Expr>, limit: Option<Limit> },
    Close { table: ObjectName },
}

impl Handler {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            Handler::Open { .. } => K::HaOpen,
            Handler::Read { .. } => K::HaRead,
            Handler::Close { .. } => K::HaClose,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum HandlerRead {
    /// `READ FIRST|NEXT` in the table's own order.
    Scan(HandlerDirection),
    /// `READ index FIRST|NEXT|PREV|LAST`.
    Index { index: Ident, direction: HandlerDirection },
    /// `READ index >= (…)`; `op` is one of the five comparisons.
    Key { index: Ident, op: super::BinaryOp, values: Vec<Expr> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerDirection {
    First,
    Next,
    Previous,
    Last,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub procedure: ObjectName,
    pub arguments: Vec<Expr>,
}
