//! Routes: the ways to run a statement.
//!
//! [`Session::choose`](crate::session::Session::choose) chooses a [`Route`] once for every statement, and
//! runs it ([`Route::run`]). It caches routes that are valid for other values of the same kinds ([`crate::plans::session_cache`]), and answers their statements on
//! the connection's own thread (`at_once`).

mod at_once;
mod choose;
mod run;

use crate::plans::Route;
