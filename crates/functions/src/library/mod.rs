//! The functions that are called by name, a family per file.
//!
//! A function is a [`support::Def`]: a name, how many arguments, the rule of its result's type, and a plain Rust function on one
//! row's arguments. [`support`] turns the lists into registered functions.

mod aes;
mod barrier;
mod compression;
mod datetime;
mod datetime_parts;
mod digest;
mod gtid;
mod information;
mod json;
mod json_edit;
mod json_mariadb;
mod json_schema;
mod load_file;
mod moments;
mod network;
mod number_text;
mod numeric;
mod pattern;
mod random;
mod rounding;
pub mod spatial;
mod string;
mod string_search;
pub mod support;
mod user_lock;
pub mod utility;
mod uuid;
mod vector;
mod xml;

use squall_registry::{ENDLESS_TABLE, Registry};
use std::sync::Arc;

/// Declares every function of the library.
pub fn register(registry: &mut Registry) {
    for family in [
        aes::FUNCTIONS,
        barrier::FUNCTIONS,
        compression::FUNCTIONS,
        string::FUNCTIONS,
        string_search::FUNCTIONS,
        number_text::FUNCTIONS,
        numeric::FUNCTIONS,
        rounding::FUNCTIONS,
        datetime::FUNCTIONS,
        datetime_parts::FUNCTIONS,
        information::FUNCTIONS,
        json::FUNCTIONS,
        json_edit::FUNCTIONS,
        json_mariadb::FUNCTIONS,
        json_schema::FUNCTIONS,
        load_file::FUNCTIONS,
        digest::FUNCTIONS,
        gtid::FUNCTIONS,
        network::FUNCTIONS,
        pattern::FUNCTIONS,
        user_lock::FUNCTIONS,
        utility::FUNCTIONS,
        uuid::FUNCTIONS,
        vector::FUNCTIONS,
        xml::FUNCTIONS,
    ] {
        support::register(registry, family);
    }
    for family in spatial::FAMILIES {
        support::register(registry, family);
    }
    registry.register_errors(&[
        ("ER_ASSERTION_FAILED", utility::ASSERTION_FAILED),
        ("ER_KILLS_ITSELF", utility::KILLS_ITSELF),
        ("ER_OWN_LOCK", user_lock::OWN_LOCK),
        ("ER_UNKNOWN_BARRIER", barrier::UNKNOWN_BARRIER),
        ("ER_OWN_BARRIER", barrier::OWN_BARRIER),
        ("ER_TOO_MANY_BARRIERS", barrier::TOO_MANY_BARRIERS),
        ("ER_ENDLESS_TABLE", ENDLESS_TABLE),
    ]);
    registry.register_scalar(Arc::new(random::Rand));
    registry.register_scalar(Arc::new(crate::vector::Distance));
}

#[cfg(test)]
pub(crate) mod tests;
