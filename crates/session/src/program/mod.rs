//! The statements of stored programs: blocks, variables, conditions and their handlers, cursors, branches and loops. SIGNAL and GET
//! DIAGNOSTICS, which are also allowed outside programs.
//!
//! The interpreter runs a program's syntax tree (`interpreter`). Its other statements run like all statements; its variables (`locals`)
//! are values in them, and hide columns of the same names. `handlers` finds the handler of an error or a warning. The rules are
//! MySQL's: <https://dev.mysql.com/doc/refman/8.4/en/sql-compound-statements.html>.

mod check;
mod compiled_loop;
mod diagnostics;
mod handlers;
mod interpreter;
mod locals;
mod scope;
mod signal;

pub(crate) use check::{ProgramKind, check_called, check_program};
