//! Queries: SELECT, set operations, VALUES, TABLE and WITH.

use super::{ColumnName, Deep, Expr, Ident, JsonResponse, ObjectName, Span, SqlString};

/// A query expression with what applies to the whole of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locking: Vec<Locking>,
    pub into: Option<SelectInto>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CommonTable {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    Select(Deep<Select>),
    /// `VALUES ROW(…), ROW(…)`.
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`.
    Table(ObjectName),
    SetOperation(Deep<SetOperation>),
    /// A query in parentheses that has an ORDER BY, LIMIT, WITH or locking clause of its own.
    Nested(Deep<Query>),
}

impl Default for QueryBody {
    fn default() -> Self {
        QueryBody::Values(Vec::new())
    }
}

/// INTERSECT has been given its higher precedence; the others associate to the left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetOperation {
    pub kind: SetOperationKind,
    /// `ALL`; without it rows are distinct.
    pub all: bool,
    pub left: QueryBody,
    pub right: QueryBody,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetOperationKind {
    #[default]
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// The text inside `/*+ … */`, hints not told apart.
    pub hints: Option<Box<str>>,
    pub options: SelectOptions,
    pub items: Vec<SelectItem>,
    /// Comma-separated table references; empty without FROM, and for FROM DUAL.
    pub from: Vec<TableReference>,
    pub selection: Option<Expr>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Expr>,
    /// `WINDOW name AS (…)`.
    pub windows: Vec<NamedWindow>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectOptions {
    pub distinct: bool,
    pub straight_join: bool,
    pub high_priority: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub no_cache: bool,
    pub calc_found_rows: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*`.
    Wildcard,
    /// `t.*`, `s.t.*`.
    QualifiedWildcard(ObjectName),
    Expr(Box<SelectExpr>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SelectExpr {
    pub expr: Expr,
    pub alias: Option<Ident>,
    /// The source of `expr`, which names a column without alias: see [`SelectExpr::column_name`].
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    pub items: Vec<GroupItem>,
    /// `WITH ROLLUP`, or `ROLLUP (…)`.
    pub rollup: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GroupItem {
    pub expr: Expr,
    /// MariaDB's `GROUP BY a DESC`.
    pub descending: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// `None` is no limit (only with MariaDB's `OFFSET n ROWS` alone).
    pub count: Option<Expr>,
    pub offset: Option<Expr>,
    /// `FETCH FIRST n ROWS WITH TIES`: rows equal to the last one come along.
    pub with_ties: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    pub strength: LockStrength,
    /// `OF t, …`; empty means every table.
    pub of: Vec<ObjectName>,
    pub wait: LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStrength {
    Update,
    /// `FOR SHARE` and `LOCK IN SHARE MODE`.
    Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// As long as the variables say.
    Default,
    NoWait,
    SkipLocked,
    /// MariaDB's `WAIT n`.
    Seconds(u64),
}

/// `SELECT … INTO`.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectInto {
    OutFile(Box<OutFile>),
    DumpFile(Box<str>),
    Variables(Vec<VariableTarget>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct OutFile {
    pub path: Box<str>,
    pub charset: Option<Box<str>>,
    pub format: FileFormat,
    /// `FORMAT CSV` and the like, instead of FIELDS and LINES.
    pub named_format: Option<NamedFormat>,
}

/// A form of files that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFormat {
    /// RFC 4180, with a line of the columns' names first; NULL is an empty field, an empty text is `""`.
    Csv,
    /// A JSON object in each line.
    NdJson,
    Parquet,
}

/// The clauses FIELDS and LINES; `None` is the default of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileFormat {
    pub fields_terminated: Option<SqlString>,
    pub fields_enclosed: Option<SqlString>,
    pub fields_optionally_enclosed: bool,
    pub fields_escaped: Option<SqlString>,
    pub lines_starting: Option<SqlString>,
    pub lines_terminated: Option<SqlString>,
}

/// Where a value can be put.
#[derive(Clone, Debug, PartialEq)]
pub enum VariableTarget {
    /// `@name`, without the `@`.
    User(Box<str>),
    /// A variable or parameter of a stored program, or (qualified) a field of NEW.
    Local(ColumnName),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableReference {
    Table(Box<TableFactor>),
    Derived(Box<DerivedTable>),
    JsonTable(Box<JsonTable>),
    Function(Box<TableFunctionCall>),
    Join(Box<Join>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableFactor {
    pub name: ObjectName,
    pub partitions: Vec<Ident>,
    pub alias: Option<Ident>,
    pub hints: Vec<IndexHint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub scope: Option<IndexHintScope>,
    /// Empty for `USE INDEX ()` only.
    pub indexes: Vec<Ident>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexHintKind {
    Use,
    Ignore,
    Force,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexHintScope {
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DerivedTable {
    pub lateral: bool,
    pub query: Query,
    /// `None` is MySQL's error 1248.
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
}

/// `name(argument, …)` in the place of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFunctionCall {
    pub name: ObjectName,
    pub arguments: Vec<Expr>,
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    pub document: Expr,
    pub path: SqlString,
    pub columns: Vec<JsonColumn>,
    pub alias: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumn {
    Ordinality {
        name: Ident,
    },
    Path {
        name: Ident,
        data_type: super::DataType,
        path: SqlString,
        on_empty: Option<JsonResponse>,
        on_error: Option<JsonResponse>,
    },
    /// `name type EXISTS PATH '…'`.
    Exists {
        name: Ident,
        data_type: super::DataType,
        path: SqlString,
    },
    Nested {
        path: SqlString,
        columns: Vec<JsonColumn>,
    },
}

/// A comma inside parentheses (`(a, b) JOIN c`) is a cross join too.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: TableReference,
    pub right: TableReference,
    pub condition: JoinCondition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN`: MySQL tells them apart nowhere.
    Inner,
    Straight,
    Left,
    Right,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<Ident>),
    Natural,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    pub name: Ident,
    pub window: WindowSpecification,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WindowReference {
    /// `OVER w`.
    Name(Ident),
    /// `OVER (…)`.
    Specification(WindowSpecification),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowSpecification {
    /// The window this one is based on.
    pub base: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<WindowFrame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// `None`: only a start was given, and the frame ends at the current row.
    pub end: Option<FrameBound>,
    pub exclusion: Option<FrameExclusion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    CurrentRow,
    UnboundedPreceding,
    UnboundedFollowing,
    /// The expression may be an [`Expr::Interval`].
    Preceding(Expr),
    Following(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

impl Query {
    pub fn new(body: QueryBody) -> Self {
        Self { with: None, body, order_by: Vec::new(), limit: None, locking: Vec::new(), into: None }
    }

    /// The `SELECT` block, if the body is one.
    pub fn as_select(&self) -> Option<&Select> {
        match &self.body {
            QueryBody::Select(select) => Some(select),
            _ => None,
        }
    }
}
