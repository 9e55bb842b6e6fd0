//! The input and the result of a call of the engine.

use squall_registry::CallerError;
use squall_statement_context::{KillState, NestedResult};
use squall_types::temporal::TimeZone;
use squall_types::{SqlError, SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A compiled script.
#[derive(Clone, Debug)]
pub struct Bytecode(pub(super) Arc<[u8]>);

impl Bytecode {
    /// Bytes.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

/// A value on its way into a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<'a> {
    /// `null`.
    Null,
    /// A Number.
    Number(f64),
    /// A BigInt.
    Signed(i64),
    /// A BigInt.
    Unsigned(u64),
    /// A Date, in milliseconds since 1970 UTC.
    Moment(f64),
    /// A string.
    Text(&'a str),
    /// A string of its own.
    OwnText(String),
    /// A `Uint8Array`.
    Bytes(&'a [u8]),
    /// What a document says.
    Json(Cow<'a, str>),
}

/// What becomes of a script's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultForm {
    /// Its text.
    Text,
    /// A document.
    Json,
    /// What a type of SQL is made of: a Date is the session's wall clock, a condition 1 or 0, an object a document.
    Sql,
    /// The values of a procedure's parameters: the script gives an array of its result and a function that reads them.
    Parameters,
}

/// A value that a script gives to a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// `null`, and what is no value of SQL.
    Null,
    /// A Number.
    Number(f64),
    /// The digits of a BigInt.
    Whole(String),
    /// A string, or the text of an object.
    Text(String),
    /// The bytes of a typed array.
    Bytes(Vec<u8>),
}

impl Parameter {
    /// Roughly what it takes, bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Parameter>()
            + match self {
                Parameter::Null | Parameter::Number(_) => 0,
                Parameter::Whole(text) | Parameter::Text(text) => text.len(),
                Parameter::Bytes(bytes) => bytes.len(),
            }
    }
}

/// The way from a script to its session.
pub trait Statements: std::fmt::Debug {
    /// Runs a statement and waits for its end. Its rows go to the client where it `sends` them, and are given otherwise, up to so many
    /// bytes.
    ///
    /// # Errors
    /// Those of the statement.
    fn run(
        &self,
        sql: String,
        parameters: Vec<Parameter>,
        sends: bool,
        deadline: Option<Instant>,
    ) -> Result<Vec<NestedResult>, CallerError>;

    /// A value of a row as the script gets it.
    fn input<'v>(&self, value: &'v Value, sql_type: &SqlType) -> Input<'v>;
}

/// What a script may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of heap.
    pub heap: usize,
    /// Bytes of stack.
    pub stack: usize,
    /// How long it may run.
    pub time: Option<Duration>,
    /// Longest result, bytes.
    pub result: usize,
}

/// A call to be run.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Arguments, with the names that they were given.
    pub arguments: &'a [(Option<&'a str>, Input<'a>)],
    /// What becomes of the result.
    pub form: ResultForm,
    /// What it may have.
    pub limits: Limits,
    /// What stops it.
    pub kill: &'a Arc<KillState>,
    /// The session's time zone.
    pub zone: &'a Arc<TimeZone>,
    /// The way to the session, for scripts that may run statements: `session` in the script.
    pub statements: Option<&'a dyn Statements>,
    /// Set when its caller no longer waits, which stops it too.
    pub is_abandoned: Option<&'a Arc<AtomicBool>>,
}

/// What a script has given.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// `undefined` or `null`.
    Null,
    /// A text, or a document's.
    Text(String),
    /// The bytes of a `Uint8Array`, where [`ResultForm::Sql`] is asked for.
    Bytes(Vec<u8>),
    /// A result that is longer than [`Limits::result`].
    TooLong,
    /// Values of parameters, where [`ResultForm::Parameters`] is asked for.
    Values(Vec<Output>),
}

/// Why a call has given nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The script was left with an exception, or is none.
    Exception {
        /// The line, from 1; 0 if it is not known.
        line: u32,
        /// The exception's text.
        message: String,
        /// The stack trace, which may be empty.
        trace: String,
    },
    /// It would take more than its heap.
    Heap,
    /// All scripts together would take too much.
    Total,
    /// It would take more than its stack.
    Stack,
    /// It ran for too long.
    Time,
    /// Its statement has to stop.
    Killed,
    /// The server has no more memory, threads or the like.
    Server(SqlError),
    /// The error of a statement that it has run and not caught.
    Statement(SqlError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Failure::Server(error)
    }
}

/// Why the engine was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Memory,
    Killed,
    Time,
    /// A statement was not to be gone on after: its error is beside this.
    Ended,
}
