//! The state of a running statement that functions and operators read and write.
//!
//! Every kernel gets a [`StatementContext`]: the settings of the session, diagnostics, KILL, user variables and locks, counts, and the
//! way to nested statements. The crate must not know functions, tables or how statements run.
//!
//! Reading order: [`bind_settings`], [`diagnostics`], [`kill_state`], [`user_variables`], [`barriers`], [`user_locks`], [`table_uses`],
//! [`programs`], [`fulltext`], [`context`]; apart from these [`blocking`].

pub mod barriers;
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

pub use barriers::{BARRIERS_MAX, BarrierState, Barriers, Created, Waited};
pub use bind_settings::BindSettings;
pub use blocking::{WaitingPlace, WaitingThreads, off_pool, thread_error};
pub use context::StatementContext;
pub use context::nested::{AppendColumn, NestedResult, NestedStatements, SequenceCall};
pub use diagnostics::Diagnostics;
pub use fulltext::{FulltextKey, FulltextReader, FulltextSlot};
pub use kill_state::KillState;
pub use programs::{ProgramRunner, Programs};
pub use table_uses::{TableOperation, TableUse, TableUses};
pub use user_locks::{Acquired, Seen, UserLock, UserLocks};
pub use user_variables::{RememberedVariables, UserVariables, held_by_variable};
