//! Expressions.

use super::{
    CastType, ColumnName, Deep, Ident, ObjectName, OrderItem, PackedValues, Query, Span, SqlString, SystemVariable,
    WindowReference,
};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// A column, or a local variable or parameter of a stored program.
    Column(Box<ColumnName>),
    /// The `?` with this number, counted from 0 through the statement.
    Placeholder(u32),
    /// `@name`, without the `@`.
    UserVariable(Box<str>),
    /// `@name := value`.
    Assign {
        variable: Box<str>,
        value: Box<Expr>,
    },
    /// `@@[scope.]name`.
    SystemVariable(Box<SystemVariable>),
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// Many operators of one level that associate to the left: `first op operand op operand …`. A chain is one node, however
    /// long; one of a few operators is made of [`Expr::Binary`].
    Chain {
        first: Box<Expr>,
        rest: Vec<(BinaryOp, Expr)>,
    },
    /// An expression with many levels below it. It is equal to its content.
    Deep(Deep<Expr>),
    /// Two or more conditions joined by AND: a chain is one node, however long.
    And(Vec<Expr>),
    /// Two or more conditions joined by OR: a chain is one node, however long.
    Or(Vec<Expr>),
    Is {
        operand: Box<Expr>,
        test: IsTest,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    /// IN a long list of literals.
    InLiterals {
        operand: Box<Expr>,
        list: Arc<PackedValues>,
        negated: bool,
    },
    InSubquery {
        operand: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    /// `REGEXP`, `RLIKE`.
    Regexp {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    /// `value MEMBER OF (array)`.
    MemberOf {
        value: Box<Expr>,
        array: Box<Expr>,
    },
    /// `left op ANY (query)`, `left op ALL (query)`; `SOME` is `ANY`.
    Quantified {
        op: BinaryOp,
        quantifier: Quantifier,
        left: Box<Expr>,
        query: Box<Query>,
    },
    Exists(Box<Query>),
    /// A query in parentheses, as a value or a row.
    Subquery(Box<Query>),
    /// `ROW(a, b)` or `(a, b)`: two or more values.
    Row(Vec<Expr>),
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<CaseBranch>,
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(x AS t)`, `CONVERT(x, t)`.
    Cast(Box<Cast>),
    /// `CONVERT(x USING charset)`.
    ConvertUsing {
        operand: Box<Expr>,
        charset: Box<str>,
    },
    Collate {
        operand: Box<Expr>,
        collation: Box<str>,
    },
    /// `INTERVAL value unit`: only as the right side of `+` and `-`, the left side of `+`, and an
    /// argument of `DATE_ADD`, `DATE_SUB`, `ADDDATE`, `SUBDATE`; and as a window frame bound.
    Interval {
        value: Box<Expr>,
        unit: IntervalUnit,
    },
    /// Every call in plain form. Those with a syntax of their own are rewritten where the manual
    /// defines them so: `SUBSTRING(a FROM b FOR c)` and `MID` to `SUBSTRING(a, b, c)`,
    /// `POSITION(a IN b)` to `LOCATE(a, b)`; `CURRENT_USER` and the like without parentheses to calls.
    Function(Box<FunctionCall>),
    Aggregate(Box<AggregateCall>),
    Window(Box<WindowCall>),
    /// `GROUPING(a, b)`.
    Grouping(Vec<Expr>),
    Extract {
        unit: IntervalUnit,
        operand: Box<Expr>,
    },
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        operand: Box<Expr>,
    },
    /// `TIMESTAMPADD(unit, amount, operand)`.
    TimestampAdd {
        unit: IntervalUnit,
        amount: Box<Expr>,
        operand: Box<Expr>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    /// `GET_FORMAT(kind, format)`.
    GetFormat {
        kind: GetFormatKind,
        format: Box<Expr>,
    },
    /// `CHAR(1, 2 USING charset)`.
    Char {
        arguments: Vec<Expr>,
        charset: Option<Box<str>>,
    },
    WeightString {
        operand: Box<Expr>,
        conversion: Option<WeightStringType>,
    },
    Match {
        columns: Vec<ColumnName>,
        against: Box<Expr>,
        mode: MatchMode,
    },
    /// `operand -> path` and, unquoting, `operand ->> path`.
    JsonArrow {
        operand: Box<Expr>,
        path: SqlString,
        unquote: bool,
    },
    JsonValue(Box<JsonValue>),
    /// The word DEFAULT as a value in INSERT, UPDATE and SET.
    Default,
    /// `DEFAULT(column)`.
    DefaultOf(Box<ColumnName>),
    /// `VALUES(column)` (also MariaDB's `VALUE(column)`) in ON DUPLICATE KEY UPDATE.
    InsertValue(Box<ColumnName>),
    /// `NEXT VALUE FOR s`, `PREVIOUS VALUE FOR s` and their function forms.
    Sequence {
        operation: SequenceOperation,
        sequence: Box<ObjectName>,
    },
}

impl Default for Expr {
    fn default() -> Self {
        Expr::Literal(Literal::Null)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Boolean(bool),
    /// Digits only, as written. Never signed: a minus is a [`UnaryOp::Minus`].
    Integer(Box<str>),
    /// Digits with a point, as written.
    Decimal(Box<str>),
    /// A number with an exponent, as written.
    Float(Box<str>),
    String(StringLiteral),
    /// `x'4D'`, `0x4D`.
    Hex {
        introducer: Option<Box<str>>,
        value: SqlString,
    },
    /// `b'101'`, `0b101`, as bytes, most significant first.
    Bit {
        introducer: Option<Box<str>>,
        value: SqlString,
    },
    /// `DATE'…'`, `TIME'…'`, `TIMESTAMP'…'` and ODBC's `{d '…'}`.
    Temporal {
        kind: TemporalKind,
        text: Box<str>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct StringLiteral {
    /// `_utf8mb4'…'`, lower case, without the underscore. `N'…'` is `utf8mb3`.
    pub introducer: Option<Box<str>>,
    /// Escapes decoded, adjacent literals joined.
    pub value: SqlString,
    /// How many bytes of `value` the first of several adjacent literals gave: it alone names a column.
    pub first_length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemporalKind {
    Date,
    Time,
    Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Minus,
    Plus,
    /// `NOT` and `!`.
    Not,
    /// `~`.
    BitNot,
    /// `BINARY x`: a cast to binary.
    Binary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    /// `/`.
    Divide,
    /// `DIV`.
    IntegerDivide,
    /// `%`, `MOD`.
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    /// `<=>`.
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Xor,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
    SoundsLike,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    Any,
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    pub when: Expr,
    pub then: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    pub operand: Expr,
    pub target: CastType,
    /// `CAST(x AS t ARRAY)`, in a multi-valued key part.
    pub array: bool,
    /// `CAST(x AT TIME ZONE '…' AS DATETIME)`.
    pub time_zone: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// `schema.name(…)` is always a stored function.
    pub schema: Option<Ident>,
    /// As written; functions ignore case.
    pub name: Ident,
    /// `name(DISTINCT …)`, of stored aggregate functions alone.
    pub distinct: bool,
    pub arguments: Vec<Expr>,
    /// Names given to arguments with AS (loadable functions take them), beside `arguments` when any is given.
    pub argument_names: Vec<Option<Ident>>,
    /// The whole call.
    pub span: Span,
}

/// The aggregates that are words of the grammar. Those of modules arrive as [`Expr::Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    /// `STD`, `STDDEV`, `STDDEV_POP`.
    StddevPop,
    StddevSamp,
    /// `VARIANCE`, `VAR_POP`.
    VarPop,
    VarSamp,
    StCollect,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for `COUNT(*)` only.
    pub arguments: Vec<Expr>,
    /// GROUP_CONCAT only.
    pub order_by: Vec<OrderItem>,
    /// GROUP_CONCAT only; `,` when not given.
    pub separator: Option<SqlString>,
    /// MariaDB's `GROUP_CONCAT(… LIMIT [offset,] count)`.
    pub limit: Option<super::Limit>,
    pub over: Option<WindowReference>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub arguments: Vec<Expr>,
    /// `FROM LAST` of NTH_VALUE.
    pub from_last: bool,
    /// `IGNORE NULLS`.
    pub ignore_nulls: bool,
    pub over: WindowReference,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetFormatKind {
    Date,
    Time,
    /// `DATETIME` and `TIMESTAMP`.
    DateTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightStringType {
    Char(u64),
    Binary(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// Also what no modifier means.
    NaturalLanguage,
    NaturalLanguageWithQueryExpansion,
    Boolean,
    /// `WITH QUERY EXPANSION` alone.
    QueryExpansion,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JsonValue {
    pub document: Expr,
    pub path: Expr,
    pub returning: Option<CastType>,
    pub on_empty: Option<JsonResponse>,
    pub on_error: Option<JsonResponse>,
}

/// `NULL | ERROR | DEFAULT value`, before ON EMPTY and ON ERROR.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonResponse {
    Null,
    Error,
    Default(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum SequenceOperation {
    /// `NEXT VALUE FOR s`, `NEXTVAL(s)`.
    Next,
    /// `PREVIOUS VALUE FOR s`, `LASTVAL(s)`.
    Previous,
    /// `SETVAL(s, value [, is_used [, round]])`.
    Set(Vec<Expr>),
}
