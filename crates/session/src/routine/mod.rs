//! Stored procedures and functions.
//!
//! CREATE, ALTER and DROP are in `ddl`, SHOW and information_schema in `show`. `run` runs a procedure's body in the calling session,
//! `procedure::external` that of a procedure in another language, and [`crate::stored_functions`] runs functions. [`crate::program`] has the
//! statements of bodies.

mod ddl;
mod run;
pub(crate) mod show;

pub(crate) use run::BodyOf;
pub(crate) use show::parameters_of;
