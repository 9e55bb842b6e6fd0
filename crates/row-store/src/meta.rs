//! Keys of the meta keyspace.
//!
//! ```text
//! f                        format version of the store
//! e                        the first sequence number of this run of the engine
//! c                        catalog version and next ids
//! d database               a database
//! t table                  a table: its database and definition
//! v database name          a view
//! r database kind name     a stored procedure or function; the name in lower case
//! s len space key          all other records of the server (users, privileges, variables)
//! k table                  the table's keyspace: its generation, folder and number
//! l table number           a row layout
//! z table generation       the dictionary that rows of this generation are packed with
//! a table                  next AUTO_INCREMENT value
//! n table                  row count and other statistics
//! x table index            a dropped index whose entries are still there
//! p number                 a prepared transaction
//! q number part            a part of its writes and locks
//! ```
//!
//! Ids are big-endian so that records lie in their order.

use crate::engine::Place;
use squall_catalog::{DatabaseId, IndexId, RoutineName, TableId};

pub(crate) const FORMAT: u8 = b'f';
pub(crate) const EPOCH: u8 = b'e';
pub(crate) const COUNTERS: u8 = b'c';
pub(crate) const DATABASE: u8 = b'd';
pub(crate) const TABLE: u8 = b't';
pub(crate) const VIEW: u8 = b'v';
pub(crate) const ROUTINE: u8 = b'r';
pub(crate) const SYSTEM: u8 = b's';
pub(crate) const GENERATION: u8 = b'k';
pub(crate) const LAYOUT: u8 = b'l';
pub(crate) const DICTIONARY: u8 = b'z';
pub(crate) const AUTO_INCREMENT: u8 = b'a';
pub(crate) const STATISTICS: u8 = b'n';
pub(crate) const DROPPED_INDEX: u8 = b'x';
pub(crate) const PREPARED: u8 = b'p';
pub(crate) const PREPARED_PART: u8 = b'q';

pub(crate) fn table_key(kind: u8, table: TableId) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&table.0.to_be_bytes());
    key
}

pub(crate) fn layout_key(table: TableId, number: u16) -> Vec<u8> {
    let mut key = table_key(LAYOUT, table);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

pub(crate) fn dictionary_key(table: TableId, generation: u64) -> Vec<u8> {
    let mut key = table_key(DICTIONARY, table);
    key.extend_from_slice(&generation.to_be_bytes());
    key
}

pub(crate) fn dropped_index_key(table: TableId, index: IndexId) -> Vec<u8> {
    let mut key = table_key(DROPPED_INDEX, table);
    key.extend_from_slice(&index.0.to_be_bytes());
    key
}

pub(crate) fn prepared_key(number: u64) -> Vec<u8> {
    let mut key = vec![PREPARED];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// The beginning of keys of the parts of a prepared transaction.
pub(crate) fn prepared_parts(number: u64) -> Vec<u8> {
    let mut key = vec![PREPARED_PART];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

pub(crate) fn prepared_part_key(number: u64, part: u32) -> Vec<u8> {
    let mut key = prepared_parts(number);
    key.extend_from_slice(&part.to_be_bytes());
    key
}

/// The number in a key of a prepared transaction, or of a part of one.
pub(crate) fn prepared_number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(1..9)?.try_into().ok()?))
}

/// Where the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TablePlace {
    /// Counts the keyspaces that the table has had.
    pub generation: u64,
    /// `None` in records of format 3, whose engine had a list of its own.
    pub place: Option<Place>,
}

impl TablePlace {
    pub fn encode(generation: u64, place: Place) -> Vec<u8> {
        [generation, place.folder, place.number].into_iter().flat_map(u64::to_le_bytes).collect()
    }

    pub fn decode(record: &[u8]) -> Option<TablePlace> {
        let number = |at: usize| Some(u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?));
        let generation = number(0)?;
        match record.len() {
            8 => Some(TablePlace { generation, place: None }),
            24 => Some(TablePlace { generation, place: Some(Place { folder: number(8)?, number: number(16)? }) }),
            _ => None,
        }
    }
}

/// The table and index of a [`dropped_index_key`].
pub(crate) fn split_dropped_index_key(key: &[u8]) -> Option<(TableId, IndexId)> {
    let table = u32::from_be_bytes(key.get(1..5)?.try_into().ok()?);
    let index = u32::from_be_bytes(key.get(5..)?.try_into().ok()?);
    Some((TableId(table), IndexId(index)))
}

pub(crate) fn database_key(database: DatabaseId) -> Vec<u8> {
    let mut key = vec![DATABASE];
    key.extend_from_slice(&database.0.to_be_bytes());
    key
}

pub(crate) fn view_key(database: DatabaseId, name: &str) -> Vec<u8> {
    let mut key = vec![VIEW];
    key.extend_from_slice(&database.0.to_be_bytes());
    key.extend_from_slice(name.as_bytes());
    key
}

pub(crate) fn routine_key(database: DatabaseId, (kind, name): &RoutineName) -> Vec<u8> {
    let mut key = vec![ROUTINE];
    key.extend_from_slice(&database.0.to_be_bytes());
    key.push(u8::from(kind.is_function()));
    key.extend_from_slice(name.as_bytes());
    key
}

pub(crate) fn system_prefix(space: &str) -> Vec<u8> {
    // Spaces are named by the server's own code; none is longer than this.
    let space = &space.as_bytes()[..space.len().min(255)];
    let mut key = vec![SYSTEM, space.len() as u8];
    key.extend_from_slice(space);
    key
}

pub(crate) fn system_key(space: &str, key: &[u8]) -> Vec<u8> {
    let mut full = system_prefix(space);
    full.extend_from_slice(key);
    full
}
