//! Rules of the optimizer.
//!
//! For logical plans: [`optimize_subqueries`], [`push_filters`], [`null_safe_keys`]. For physical plans: [`join_graph`] (the order of joins), [`lookup_join`] (index
//! nested-loop joins), [`join_keys`] (a join's keys as a condition), [`build_order`] and [`join_order`] (the order of joined rows), [`list_order`] (left
//! joins below lists), [`order`] (rows in an order), [`seek_parts`] and [`seek_range`] (parts of a history), [`locked_limit`] (locking
//! reads with a LIMIT), [`null_supply`], [`scan_filters`] (estimates of filters over scans).

pub mod build_order;
pub mod join_graph;
pub mod join_keys;
pub mod join_order;
pub mod list_order;
pub mod locked_limit;
pub mod lookup_join;
pub mod null_safe_keys;
pub mod null_supply;
pub mod optimize_subqueries;
pub mod order;
pub mod push_filters;
pub mod scan_filters;
pub mod seek_parts;
pub mod seek_range;
