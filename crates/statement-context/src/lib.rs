//! The state of a running statement that functions and operators read and write.
//!
//! Every kernel gets a [`StatementContext`]: the settings of the session, diagnostics, KILL, user variables and locks, counts, and the
//! way to nested statements. The crate must not know functions, tables or how statements run.
//!
//! Reading order: [`bind_settings`], [`diagnostics`], [`kill_state`], [`user_variables`], [`user_locks`], [`table_uses`], [`programs`],
//! [`fulltext`], [`context`]; apart from these [`blocking`].

pub mod bind_settings;
pub mod blocking;
pub mod context;
pub mod diagnostics;
pub mod fulltext;
pub mod kill_state;
pub mod programs;
pub mod table_uses;
pub mod user_locks;
pub mod user_variables;

pub use bind_settings::BindSettings;
pub use blocking::off_pool;
pub use context::StatementContext;
pub use context::nested::{AppendColumn, NestedResult, NestedStatements};
pub use diagnostics::Diagnostics;
pub use fulltext::{FulltextKey, FulltextReader, FulltextSlot};
pub use kill_state::KillState;
pub use programs::{ProgramSession, Programs};
pub use table_uses::{TableOperation, TableUse, TableUses};
pub use user_locks::{Acquired, UserLock, UserLocks};
pub use user_variables::{UserVariables, held_by_variable};
