//! How a statement is run.
//!
//! [`Session::choose`](crate::session::Session::choose) chooses a [route](crate::plans::Route) once for every statement. Routes that hold
//! for other values of the same kinds are kept by the session ([`crate::plans::session_cache`]) and answered on the connection's own
//! thread (`at_once`).

mod at_once;
mod choose;
