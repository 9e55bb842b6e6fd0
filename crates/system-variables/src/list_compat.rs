//! Variables that MySQL 8.4 no longer has, or that only MariaDB has, and that clients still read. They are not shown.

use super::definition::{
    Scope::{Both, Global},
    VariableDef, boolean, choice, text, unsigned,
};

pub(super) const VARIABLES: &[VariableDef] = &[
    unsigned("query_cache_size", Global, 0, 0, u64::MAX, "Size of the query cache; there is none.")
        .compatibility()
        .hidden(),
    choice("query_cache_type", Both, "OFF", &["OFF", "ON", "DEMAND"], "Use of the query cache; there is none.")
        .compatibility()
        .hidden(),
    unsigned("query_cache_limit", Global, 1_048_576, 0, u64::MAX, "Longest result of the query cache; there is none.")
        .compatibility()
        .hidden(),
    choice("ssl_fips_mode", Global, "OFF", &["OFF", "ON", "STRICT"], "Whether TLS is restricted to FIPS.")
        .deprecated("")
        .read_only(),
    boolean("new", Both, false, "Switches on behaviour of a later MySQL.").compatibility().hidden(),
    boolean("old", Global, false, "Switches on behaviour of an earlier MySQL.").read_only().hidden(),
    text("aria_sort_buffer_size", Global, "", "A setting of MariaDB.").read_only().hidden(),
    unsigned("default_regex_flags", Both, 0, 0, 0, "A setting of MariaDB.").read_only().hidden(),
];
