//! Counts of what statements and threads use: processor time, memory, files, and scans and sorts.
//!
//! The code that does the work counts here. Sessions and performance_schema read the counts. The crate must not know tables, statements
//! or sessions.
//!
//! Reading order: [`threads`], [`file_times`], [`work_meter`], [`file_use`], [`session_memory`], [`plan_counts`].

pub mod file_times;
pub mod file_use;
pub mod plan_counts;
pub mod session_memory;
pub mod threads;
pub mod work_meter;

pub use plan_counts::PlanCounts;
pub use session_memory::{Charge, GrowingCharge, MemoryBudget, SessionMemory};
