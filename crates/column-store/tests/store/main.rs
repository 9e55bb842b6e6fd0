//! Compares the crate's answers with plain arrays of the same values.

mod blocks;
mod cache;
mod corruption;
mod elements;
mod generate;
mod indexes;
mod known_zones;
mod lists;
mod other_readers;
mod predicates;
mod round_trip;
mod star;
