//! How a statement runs.
//!
//! [`Session::choose`](crate::session::Session::choose) chooses a [route](crate::plans::Route) once for every statement. The session
//! keeps routes that are valid for other values of the same kinds ([`crate::plans::session_cache`]) and answered on the connection's own
//! thread (`at_once`).

mod at_once;
mod choose;
