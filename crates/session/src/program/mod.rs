//! The statements of stored programs: blocks, variables, conditions and their handlers, cursors, branches and loops;
//! SIGNAL and GET DIAGNOSTICS, which stand outside of programs, too.
//!
//! A program is run as it was parsed (`interpreter`). Its other statements run like all statements, with its variables (`locals`) as
//! values of their types that hide columns of the same names. Which handler an error or a warning finds is in `handlers`. The rules are
//! MySQL's: <https://dev.mysql.com/doc/refman/8.4/en/sql-compound-statements.html>.

mod check;
mod compiled_loop;
mod diagnostics;
mod handlers;
mod interpreter;
mod locals;
mod signal;

pub(crate) use check::{ProgramKind, check_called, check_program};
