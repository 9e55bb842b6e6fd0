//! Stored procedures and functions, as the catalog has them.
//!
//! CREATE, ALTER and DROP are in `ddl`; how a procedure's body runs in the session that calls it is in `run`, that of one in
//! another language in `procedure::external`, and a function's in [`crate::stored_functions`]; SHOW and information_schema are in `show`. The statements of bodies are [`crate::program`]'s.

mod ddl;
mod run;
pub(crate) mod show;

pub(crate) use run::BodyOf;
pub(crate) use show::{RoutineView, parameters_of, routine_views};
