//! The INNODB_… tables of information_schema and data_dictionary, with InnoDB's columns. They show the tables, keys, transactions and counters of row and column
//! tables. Numbers of pages are zero, since there are no pages.

mod counters;
mod definitions;
mod drizzle;
mod embedded;
mod transactions;

use crate::spec::TableSpec;

/// Bytes of InnoDB's pages, in which pools are counted.
const PAGE_BYTES: u64 = 16 << 10;

/// All of them.
pub(crate) fn tables() -> impl Iterator<Item = &'static TableSpec> {
    definitions::TABLES
        .iter()
        .chain(transactions::TABLES)
        .chain(counters::TABLES)
        .chain(embedded::TABLES)
        .chain(drizzle::TABLES)
}
