//! Routes: the ways to run a statement.
//!
//! [`Session::choose`](crate::session::Session::choose) chooses a [route](crate::plans::Route) once for every statement. The session
//! caches routes that are valid for other values of the same kinds ([`crate::plans::session_cache`]), and answers their statements on
//! the connection's own thread (`at_once`).

mod at_once;
mod choose;
