//! Declarations of functions, virtual tables and languages of routines.
//!
//! The core knows no function or module by name: the binary builds a [`Registry`] from the lists that the crates
//! offer, and the planner and the session look names up in it. The state of statements is in `squall-statement-context`.

pub mod function;
pub mod function_resolver;
pub mod registry;
pub mod routine_language;
pub mod table_resolver;
pub mod virtual_table;

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
pub use virtual_table::{
    ColumnRange, ENDLESS_TABLE, RowParts, VirtualChange, VirtualColumn, VirtualScan, VirtualTable,
};
