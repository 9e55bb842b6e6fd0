//! Turns failures of scripts into SQL errors.

use crate::engine::Failure;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, ModuleError, SqlError};

/// A script that ended with an exception, or has a syntax error.
pub const SCRIPT: ModuleError =
    ModuleError::new(50_400, b"HY000", "Script error: At line %s: %s (Do SHOW ERRORS for more information.)");
/// A script that would take more than it may: which limit, its variable.
pub const LIMIT: ModuleError = ModuleError::new(50_401, b"HY000", "Script stopped: it needs more %s than %s allows");
/// Rows that SHOW ERRORS has beside the error itself.
const DETAIL: ModuleError = ModuleError::new(50_400, b"HY000", "%s");

/// Most characters of a script, or of a line of it, that SHOW ERRORS shows.
const SHOWN_CHARACTERS: usize = 120;

/// The names of the variables that hold the limits.
pub mod variable {
    /// Heap of a script.
    pub const MEMORY: &str = "javascript_memory_limit";
    /// Memory of all scripts.
    pub const TOTAL: &str = "javascript_total_memory_limit";
    /// Stack of a script.
    pub const STACK: &str = "javascript_stack_limit";
    /// Time of a script.
    pub const TIME: &str = "javascript_time_limit_ms";
    /// What DECIMAL arrives as.
    pub const DECIMAL_AS: &str = "javascript_decimal_as";
    /// Compiled scripts that are kept.
    pub const CACHE_SIZE: &str = "javascript_cache_size";
}

/// The error of a statement whose script has failed; with more to read in SHOW ERRORS.
pub fn error_of(failure: Failure, source: &str, context: &StatementContext) -> SqlError {
    let limit = |what: &str, name: &str| SqlError::of_module(&LIMIT, &[&what, &name]);
    match failure {
        Failure::Heap => limit("memory", variable::MEMORY),
        Failure::Total => limit("memory", variable::TOTAL),
        Failure::Stack => limit("stack", variable::STACK),
        Failure::Time => limit("time", variable::TIME),
        Failure::Killed => {
            context.kill.check().err().unwrap_or_else(|| SqlError::new(ErrorCode::QueryInterrupted, &[]))
        }
        Failure::Server(error) | Failure::Statement(error) => error,
        Failure::Exception { line, message, trace } => {
            let detail = |text: &str| {
                let error = SqlError::of_module(&DETAIL, &[&text]);
                context.diagnostics.push(Level::Error, error);
            };
            if let Some(text) = (line as usize).checked_sub(1).and_then(|at| source.lines().nth(at)) {
                detail(&format!("Line {line}: {}", shortened(text)));
            }
            detail(&format!("Script: {}", shortened(source)));
            if !trace.trim().is_empty() {
                detail(&format!("Trace: {}", trace.trim()));
            }
            SqlError::of_module(&SCRIPT, &[&line, &message])
        }
    }
}

/// The beginning of a text.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(SHOWN_CHARACTERS).map_or(text, |(at, _)| &text[..at])
}
