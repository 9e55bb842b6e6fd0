//! JavaScript in SQL: `JS()` and `JS_JSON()`, on QuickJS.
//!
//! Reading order: [`functions`] (the functions of SQL), [`language`], `procedure` and `aggregate` (stored routines), [`convert`] (values), [`pool`] (realms and compiled scripts),
//! [`engine`] (the only place that knows the engine). See `docs/decisions/0056-javascript.md`.

mod aggregate;
pub mod convert;
#[expect(unsafe_code, reason = "the engine is a C library")]
pub mod engine;
pub mod errors;
pub mod functions;
pub mod language;
mod limits;
pub mod pool;
mod procedure;
mod scripts;
pub mod session_logs;

pub use limits::TotalMemory;
