//! Stored procedures and functions, as the catalog has them.
//!
//! CREATE, ALTER and DROP are in `ddl`; how a body runs in the session that calls it is in `run`; SHOW and information_schema are in
//! `show`. The statements of bodies are [`crate::program`]'s.

mod ddl;
mod run;
mod show;
mod stack;

pub(crate) use show::{RoutineView, parameters_of, routine_views};
