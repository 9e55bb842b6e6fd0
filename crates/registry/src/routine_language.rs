//! Languages of stored routines beside SQL.

use crate::context::StatementContext;
use squall_types::{SqlResult, SqlType};
use std::fmt::Debug;

/// A language that bodies of stored functions may be written in: `CREATE FUNCTION … LANGUAGE NAME AS 'source'`.
///
/// The catalog keeps such a routine as any other. A call of it is a call of the language's [evaluator](RoutineLanguage::evaluator), so that
/// types, privileges and limits are those of a body `RETURN evaluator('source', parameter AS parameter, …)`.
pub trait RoutineLanguage: Debug + Send + Sync {
    /// Its name in capital letters.
    fn name(&self) -> &str;

    /// Checks the body of a function with these parameters when it is defined.
    ///
    /// # Errors
    /// When it is no program of the language, or the account may not make one.
    fn check(&self, source: &str, parameters: &[&str], context: &StatementContext) -> SqlResult<()>;

    /// The declared function that runs a body: it takes the source and the parameters, each with its name, and its result is converted to
    /// the type that the routine returns.
    fn evaluator(&self, returns: &SqlType) -> &str;
}
