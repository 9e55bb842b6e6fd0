//! QuickJS in realms that are reset after every call.
//!
//! A realm has all its objects in one piece of memory (`arena`). It is copied once, when the realm is new, and the copy is restored
//! after each call. So every call begins with a new realm, and no call sees changes of an earlier one, even of one that was stopped.
//! See `docs/decisions/0056-javascript.md`.

mod arena;
mod guard;
mod host;
mod host_functions;
mod host_sql;
mod realm;
mod task;
mod values;
mod watch;

pub use realm::{Realm, version};
pub use task::{Bytecode, Failure, Input, Limits, Output, Parameter, ResultForm, Statements, Task};
