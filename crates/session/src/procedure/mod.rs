//! CALL, definitions of the server's own procedures, and functions that run SQL.

mod arguments;
mod call;
mod external;
mod nested;
mod runner;

pub use crate::database::{Parameter, ParameterMode, Procedure, ProcedureCall, ProcedureHead};
pub use crate::state::image::SessionImage;
pub use crate::thread_runtime::run_on_this_thread;
pub(crate) use nested::{NestedMember, SessionStatements};
pub use squall_system_tables::type_text::type_text;
