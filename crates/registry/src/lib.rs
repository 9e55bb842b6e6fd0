//! Declarations of functions, system variables, virtual tables and modules.
//!
//! The core knows no function or module by name: the binary builds a [`Registry`] from the lists that the crates
//! offer, and the planner and the session look names up in it.

pub mod bind_settings;
pub mod blocking;
pub mod context;
pub mod function;
pub mod function_resolver;
pub mod registry;
pub mod routine_language;
pub mod table_resolver;
pub mod table_uses;
pub mod user_variables;
pub mod variables;
pub mod virtual_table;

pub use bind_settings::BindSettings;
pub use blocking::off_pool;
pub use context::fulltext::{FulltextKey, FulltextReader, FulltextSlot};
pub use context::nested::{AppendColumn, NestedResult, NestedStatements};
pub use context::programs::{ProgramSession, Programs};
pub use context::user_locks::{Acquired, UserLock, UserLocks};
pub use context::{Diagnostics, KillState, StatementContext, held_by_variable};
pub use function::{
    AggregateFunction, AggregateKernel, Argument, BoundAggregate, BoundCall, Coercibility, ExprType, KernelMemory,
    ScalarFunction, ScalarKernel, TableFunction, ValueAccumulator, Volatility,
};
pub use function_resolver::FunctionResolver;
pub use registry::Registry;
pub use routine_language::{
    CallerError, CallerStatement, CallerStatements, ExternalCall, ExternalKind, RoutineLanguage, RowsOf,
};
pub use table_resolver::TableResolver;
pub use table_uses::{TableOperation, TableUse, TableUses};
pub use user_variables::UserVariables;
pub use variables::{ReadScope, ValueTable, VariableDef, VariableId, VariableRegistry, VariableValues};
pub use virtual_table::{
    ColumnRange, RowParts, VirtualChange, VirtualColumn, VirtualScan, VirtualTable, rows_of_parts,
};
