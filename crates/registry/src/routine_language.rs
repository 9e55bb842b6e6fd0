//! Languages of stored routines beside SQL.

use crate::function::AggregateKernel;
use squall_statement_context::{NestedResult, StatementContext};
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A language that bodies of stored routines may be written in: `CREATE FUNCTION … LANGUAGE NAME AS 'source'`.
///
/// The catalog keeps such a routine as any other. A call of a function is a call of the language's [evaluator](RoutineLanguage::evaluator), so
/// that types, privileges and limits are those of a body `RETURN evaluator('source', parameter AS parameter, …)`. A procedure is
/// [called](RoutineLanguage::call) on a thread of its own, and its statements run in the session that calls it.
pub trait RoutineLanguage: Debug + Send + Sync {
    /// Its name in capital letters.
    fn name(&self) -> &str;

    /// Checks the body of a routine with these parameters when it is defined.
    ///
    /// # Errors
    /// When it is no program of the language, or the account may not make one.
    fn check(&self, source: &str, parameters: &[&str], kind: ExternalKind, context: &StatementContext)
    -> SqlResult<()>;

    /// The declared function that runs a body: it takes the source and the parameters, each with its name, and its result is converted to
    /// the type that the routine returns.
    fn evaluator(&self, returns: &SqlType) -> &str;

    /// The body of an aggregate function that takes values of these types. Its result is a text, bytes or NULL, which is converted to the type
    /// that the function returns.
    fn aggregate(&self, source: Arc<str>, types: Box<[SqlType]>) -> Arc<dyn AggregateKernel>;

    /// Runs the body of a procedure. Gives the final values of its parameters, each with its type.
    ///
    /// # Errors
    /// Errors of the body; for an uncaught error of a statement, that error.
    fn call(&self, call: &ExternalCall, statements: &dyn CallerStatements) -> SqlResult<Vec<(Value, SqlType)>>;
}

/// What a body in another language belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalKind {
    /// An aggregate function.
    Aggregate,
    /// A function, whose body runs no SQL.
    Function,
    /// A procedure.
    Procedure,
}

/// A call of a procedure in another language.
#[derive(Clone, Debug)]
pub struct ExternalCall {
    /// The body.
    pub source: Arc<str>,
    /// Its parameters: name, type and value, which is NULL for one that only comes out.
    pub parameters: Vec<(Box<str>, SqlType, Value)>,
    /// Settings of the body, privileges of whom it runs as, KILL of the session.
    pub context: Arc<StatementContext>,
    /// Set when the session waits no longer: the body is to end.
    pub is_abandoned: Arc<AtomicBool>,
}

/// The way from a procedure in another language to the session that calls it.
///
/// A statement runs as one of a body in SQL does: in the caller's transaction, with the rights of the procedure's definer or invoker.
pub trait CallerStatements: Debug {
    /// Runs a statement and waits for its end.
    ///
    /// # Errors
    /// Those of the statement.
    fn run(&self, statement: CallerStatement) -> Result<Vec<NestedResult>, CallerError>;
}

/// A statement that a procedure runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerStatement {
    /// One statement.
    pub sql: String,
    /// A value for each `?` of it.
    pub parameters: Vec<Value>,
    /// What becomes of its rows.
    pub rows: RowsOf,
    /// When the procedure has to be over.
    pub deadline: Option<Instant>,
}

/// Where the rows of a procedure's statement go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsOf {
    /// To the client, as those of a body in SQL.
    Client,
    /// To the procedure, up to this many bytes.
    Procedure {
        /// Bytes; more are [`CallerError::TooManyRows`].
        bytes_max: usize,
    },
}

/// Why a procedure's statement has given nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum CallerError {
    /// It has failed, which the procedure may handle.
    Failed(SqlError),
    /// The procedure cannot go on: the session, the client or the transaction around is gone.
    Ended(SqlError),
    /// It gives more rows than were asked for.
    TooManyRows,
}
