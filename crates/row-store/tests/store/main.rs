//! Tests of the store through its public interface.

mod basics;
mod bulk;
mod check;
mod crash;
mod definitions;
mod engines;
mod file_io;
mod fixture;
mod history;
mod image;
mod isolation;
mod large_transactions;
mod large_values;
mod model;
mod online_index;
mod packed;
mod read_lock;
mod row_cache;
mod sample;
mod segment_level;
mod torn_log;
