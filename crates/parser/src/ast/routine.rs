//! Stored programs: procedures, functions, triggers, events and the statements of their bodies.

use super::{AccountName, DataType, Expr, Ident, IntervalUnit, ObjectName, Security, Span, Statement};

/// CREATE PROCEDURE and CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoutine {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub definer: Option<AccountName>,
    /// MariaDB's aggregate functions.
    pub aggregate: bool,
    pub name: ObjectName,
    pub parameters: Vec<Parameter>,
    /// A function's; `None` for a procedure.
    pub returns: Option<DataType>,
    pub characteristics: Characteristics,
    pub body: RoutineBody,
    /// The functions that the body calls without a database, in upper case, each once.
    pub called: Vec<Box<str>>,
    /// The source of the parameter list, without its parentheses.
    pub parameters_span: Span,
    /// The source of the body.
    pub body_span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RoutineBody {
    Sql(Box<Statement>),
    /// `LANGUAGE JAVASCRIPT AS '…'`.
    External(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub mode: ParameterMode,
    pub name: Ident,
    pub data_type: DataType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Characteristics {
    pub comment: Option<Box<str>>,
    /// `SQL` when not given.
    pub language: Option<Ident>,
    /// `DETERMINISTIC` is true, `NOT DETERMINISTIC` false.
    pub deterministic: Option<bool>,
    pub data_access: Option<DataAccess>,
    pub security: Option<Security>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

/// ALTER PROCEDURE and ALTER FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoutine {
    pub name: ObjectName,
    pub characteristics: Characteristics,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub definer: Option<AccountName>,
    pub name: ObjectName,
    pub time: TriggerTime,
    pub event: TriggerEvent,
    pub table: ObjectName,
    pub order: Option<TriggerOrder>,
    pub body: Box<Statement>,
    /// The functions that the body calls without a database, in upper case, each once.
    pub called: Vec<Box<str>>,
    pub body_span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriggerTime {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TriggerOrder {
    Follows(Ident),
    Precedes(Ident),
}

/// CREATE EVENT and ALTER EVENT; ALTER leaves alone what is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEvent {
    pub alter: bool,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub definer: Option<AccountName>,
    pub name: ObjectName,
    pub schedule: Option<Schedule>,
    /// `ON COMPLETION PRESERVE` is true.
    pub preserve: Option<bool>,
    pub rename: Option<ObjectName>,
    pub status: Option<EventStatus>,
    pub comment: Option<Box<str>>,
    pub body: Option<Box<Statement>>,
    pub body_span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    At(Expr),
    Every { value: Expr, unit: IntervalUnit, starts: Option<Expr>, ends: Option<Expr> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    Enabled,
    Disabled,
    DisabledOnReplica,
}

/// A statement that stands only inside a stored program.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramStatement {
    Block(Block),
    If { branches: Vec<(Expr, Vec<Step>)>, otherwise: Option<Vec<Step>> },
    Case { operand: Option<Expr>, branches: Vec<(Expr, Vec<Step>)>, otherwise: Option<Vec<Step>> },
    Loop { label: Option<Ident>, body: Vec<Step> },
    While { label: Option<Ident>, condition: Expr, body: Vec<Step> },
    Repeat { label: Option<Ident>, body: Vec<Step>, until: Expr },
    Leave(Ident),
    Iterate(Ident),
    Return(Expr),
    Open { cursor: Ident },
    Fetch { cursor: Ident, into: Vec<Ident> },
    Close { cursor: Ident },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub label: Option<Ident>,
    /// MariaDB's `BEGIN NOT ATOMIC`, a block outside a stored program.
    pub not_atomic: bool,
    pub declarations: Vec<Declaration>,
    pub steps: Vec<Step>,
}

/// A statement of a stored program.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub statement: Statement,
    /// Its source.
    pub span: Span,
}

/// In the order written, which the grammar fixes: variables and conditions, cursors, handlers.
#[derive(Clone, Debug, PartialEq)]
pub enum Declaration {
    Variables {
        names: Vec<Ident>,
        data_type: DataType,
        default: Option<Expr>,
    },
    Condition {
        name: Ident,
        value: ConditionValue,
    },
    /// The statement is a query.
    Cursor {
        name: Ident,
        statement: Box<Statement>,
    },
    Handler {
        action: HandlerAction,
        conditions: Vec<ConditionValue>,
        step: Box<Step>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerAction {
    Continue,
    Exit,
    Undo,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConditionValue {
    ErrorCode(u32),
    SqlState(Box<str>),
    Name(Ident),
    SqlWarning,
    NotFound,
    SqlException,
}
