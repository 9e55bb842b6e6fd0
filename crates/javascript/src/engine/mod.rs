//! QuickJS in realms that are set back after every call.
//!
//! All that a realm has is in one piece of memory (`arena`). It is copied once, when the realm is new, and the copy is put back
//! after each call: a call finds the language as it begins, whatever calls before it did, and what a call leaves half done
//! is nobody's. See `docs/decisions/0056-javascript.md`.

mod arena;
mod guard;
mod host;
mod host_sql;
mod realm;
mod task;
mod values;
mod watch;

pub use realm::{Realm, version};
pub use task::{Bytecode, Failure, Input, Limits, Output, Parameter, ResultForm, StatementFailure, Statements, Task};
