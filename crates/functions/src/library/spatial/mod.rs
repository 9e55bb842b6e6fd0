//! Spatial functions, a family per file.

mod arguments;
mod buffers;
mod cast;
mod construct;
mod exchange;
mod former_names;
mod from_text;
mod keys;
mod measures;
mod options;
mod overlays;
mod property;
mod relations;

pub use former_names::current_name;

use super::support::Def;

/// The families.
pub const FAMILIES: &[&[Def]] = &[
    construct::FUNCTIONS,
    from_text::FUNCTIONS,
    exchange::FUNCTIONS,
    property::FUNCTIONS,
    measures::FUNCTIONS,
    relations::FUNCTIONS,
    overlays::FUNCTIONS,
    buffers::FUNCTIONS,
    keys::FUNCTIONS,
    cast::FUNCTIONS,
];
