//! Aggregate functions: their kernels and how DataFusion runs them.
//!
//! COUNT, and MIN and MAX of types that have Arrow's order, are DataFusion's own; SUM and AVG have vectorised states
//! (`sum`), as the value of any row of a group has ([`any_of_group`]); MIN and MAX of strings (`min_max`) and GROUP_CONCAT ([`group_concat`]) read arrays directly; everything
//! else takes rows ([`adapter`]).

pub mod adapter;
pub mod any_of_group;
mod any_value;
mod bits;
mod build;
pub mod call;
mod codec;
mod collect;
mod count;
mod distinct;
pub mod group_concat;
mod json;
pub mod min_max;
mod native;
mod state_charge;
mod sum;
mod variance;

pub use adapter::{AggregateParts, KernelUdaf};
pub use build::GroupConcatOptions;
pub use call::{AggregateCall, empty_result};
pub use native::register;
pub use sum::SumKernel;

#[cfg(test)]
mod tests;
