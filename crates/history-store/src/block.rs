//! A table at one time as bytes: a full copy (a key block), or the differences from a key block.

use crate::codec::{Damaged, Input, decode, encode, put_bytes, put_varint};
use crate::column::Column;
use squall_types::Value;
use std::cell::RefCell;
use zstd::bulk::Decompressor;

/// The column is as in the key block.
const SAME: u8 = 0;
/// The whole column follows.
const PLAIN: u8 = 1;
/// Ordinals of rows follow, as distances, and the column of their values; other rows are as in the key block.
const PATCH: u8 = 2;
/// Shorter blocks are not compressed.
const COMPRESSED_FROM_BYTES: usize = 128;
/// The fastest that still finds repeated texts.
const ZSTD_LEVEL: i32 = 1;
/// No table has more rows.
const ROWS_MAX: usize = 1 << 24;
/// No block is longer when it is unpacked.
const BLOCK_BYTES_MAX: usize = 1 << 30;

/// A table's columns, each as [`encode`] has made it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Encoded {
    pub rows: usize,
    pub columns: Vec<Vec<u8>>,
}

impl Encoded {
    /// The columns of some rows; a value that is missing is NULL.
    pub fn of_rows(rows: &[Vec<Value>], column_count: usize) -> Encoded {
        let column = |at: usize| {
            let mut bytes = Vec::new();
            encode(rows.iter().map(move |row| row.get(at).unwrap_or(&Value::Null)), &mut bytes);
            bytes
        };
        Encoded { rows: rows.len(), columns: (0..column_count).map(column).collect() }
    }

    /// A number that other contents have only by a chance of 2⁻¹²⁸.
    pub fn hash(&self) -> u128 {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(&self.rows.to_le_bytes());
        for column in &self.columns {
            hash.update(&column.len().to_le_bytes());
            hash.update(column);
        }
        hash.digest128()
    }
}

/// The block of a table in full.
pub(crate) fn key_block(table: &Encoded) -> Vec<u8> {
    let mut raw = Vec::with_capacity(table.columns.iter().map(|column| column.len() + 4).sum());
    put_varint(&mut raw, table.rows as u64);
    for column in &table.columns {
        raw.push(PLAIN);
        put_bytes(&mut raw, column);
    }
    pack(&raw)
}

/// Columns as a set: bit `n % 8` of byte `n / 8` is for column `n`.
pub(crate) type ColumnSet = Box<[u8]>;

/// Whether a column is in a set.
pub(crate) fn is_in(set: &[u8], column: usize) -> bool {
    set.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
}

/// What a table's rows differ in from a key block.
#[derive(Debug)]
pub(crate) struct Difference {
    pub block: Vec<u8>,
    /// The columns that are not as in the key block.
    pub columns: ColumnSet,
}

/// What differs in a table that has been in full in `key`; `None` if that is of other columns.
pub(crate) fn difference(table: &Encoded, rows: &[Vec<Value>], key: &Encoded) -> Option<Difference> {
    if key.columns.len() != table.columns.len() {
        return None;
    }
    let mut raw = Vec::new();
    let mut columns = vec![0; table.columns.len().div_ceil(8)].into_boxed_slice();
    put_varint(&mut raw, table.rows as u64);
    for (at, (column, before)) in table.columns.iter().zip(&key.columns).enumerate() {
        if table.rows == key.rows && column == before {
            raw.push(SAME);
            continue;
        }
        columns[at / 8] |= 1 << (at % 8);
        match patch(rows, at, before, key.rows).filter(|patch| patch.len() < column.len()) {
            Some(patch) => {
                raw.push(PATCH);
                put_bytes(&mut raw, &patch);
            }
            None => {
                raw.push(PLAIN);
                put_bytes(&mut raw, column);
            }
        }
    }
    Some(Difference { block: pack(&raw), columns })
}

fn patch(rows: &[Vec<Value>], at: usize, before: &[u8], rows_before: usize) -> Option<Vec<u8>> {
    let before = decode(&mut Input(before), rows_before).ok()?;
    let now = |row: usize| rows[row].get(at).unwrap_or(&Value::Null);
    let changed: Vec<usize> = (0..rows.len()).filter(|row| before.get(*row) != Some(now(*row))).collect();
    let mut patch = Vec::new();
    put_varint(&mut patch, changed.len() as u64);
    let mut last = 0;
    for row in &changed {
        put_varint(&mut patch, (row - last) as u64);
        last = *row;
    }
    encode(changed.iter().map(|row| now(*row)), &mut patch);
    Some(patch)
}

fn pack(raw: &[u8]) -> Vec<u8> {
    let packed = match raw.len() {
        0..COMPRESSED_FROM_BYTES => None,
        _ => zstd::bulk::compress(raw, ZSTD_LEVEL).ok().filter(|packed| packed.len() < raw.len()),
    };
    let mut block = Vec::new();
    match packed {
        Some(packed) => {
            put_varint(&mut block, raw.len() as u64);
            block.extend_from_slice(&packed);
        }
        None => {
            block.push(0);
            block.extend_from_slice(raw);
        }
    }
    block
}

/// Unpacks a block.
pub(crate) fn unpack(block: &[u8]) -> Result<Vec<u8>, Damaged> {
    let mut input = Input(block);
    match usize::try_from(input.varint()?).map_err(|_| Damaged)? {
        0 => Ok(input.0.to_vec()),
        length if length <= BLOCK_BYTES_MAX => UNPACKER.with_borrow_mut(|unpacker| {
            // Its tables take longer to make than most blocks to unpack.
            let unpacker = match unpacker {
                Some(unpacker) => unpacker,
                None => unpacker.insert(Decompressor::new().map_err(|_| Damaged)?),
            };
            unpacker.decompress(input.0, length).map_err(|_| Damaged)
        }),
        _ => Err(Damaged),
    }
}

thread_local! {
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decoded columns, those that were wanted.
pub(crate) type Columns = Vec<Option<Column>>;

/// Reads the wanted columns of an unpacked block; `key` has at least the same columns of its key block, if it has one.
pub(crate) fn read_block(raw: &[u8], wanted: &[bool], key: Option<&Columns>) -> Result<(usize, Columns), Damaged> {
    let mut input = Input(raw);
    let rows = usize::try_from(input.varint()?).map_err(|_| Damaged)?;
    if rows > ROWS_MAX {
        return Err(Damaged);
    }
    let mut columns = Vec::with_capacity(wanted.len());
    for (at, wanted) in wanted.iter().enumerate() {
        let before = || key.and_then(|key| key.get(at)?.clone()).ok_or(Damaged);
        let column = match input.byte()? {
            SAME if *wanted => Some(before()?),
            SAME => None,
            PLAIN => {
                let bytes = input.bytes()?;
                if *wanted { Some(Column::from(decode(&mut Input(bytes), rows)?)) } else { None }
            }
            PATCH => {
                let bytes = input.bytes()?;
                if *wanted { Some(patched(bytes, rows, &before()?)?) } else { None }
            }
            _ => return Err(Damaged),
        };
        columns.push(column);
    }
    Ok((rows, columns))
}

fn patched(patch: &[u8], rows: usize, before: &Column) -> Result<Column, Damaged> {
    let mut input = Input(patch);
    let count = input.length(8)?;
    if rows > before.base_rows() + count {
        return Err(Damaged);
    }
    let mut changed = Vec::with_capacity(count);
    let mut row = 0u64;
    for at in 0..count {
        let distance = input.varint()?;
        row = row.checked_add(distance).filter(|row| *row < rows as u64).ok_or(Damaged)?;
        if at > 0 && distance == 0 {
            return Err(Damaged);
        }
        changed.push(row as u32);
    }
    let values = decode(&mut input, count)?;
    Ok(before.with(changed.into_iter().zip(values).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(counts: &[u64]) -> Vec<Vec<Value>> {
        let row = |(at, count): (usize, &u64)| {
            vec![Value::String(format!("a name that is long enough, number {at}")), Value::UInt(*count)]
        };
        counts.iter().enumerate().map(row).collect()
    }

    fn columns(rows: &[Vec<Value>]) -> Columns {
        (0..2).map(|at| Some(rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>().into())).collect()
    }

    /// Checks that a block read gives these rows.
    fn check(read: Result<(usize, Columns), Damaged>, rows: &[Vec<Value>]) {
        let (count, columns) = read.expect("a block");
        assert_eq!(count, rows.len());
        for (at, column) in columns.iter().enumerate() {
            let column = column.as_ref().expect("a wanted column");
            (0..count).for_each(|row| assert_eq!(column.get(row), &rows[row][at]));
        }
    }

    #[test]
    fn differences_give_the_table_back() {
        let first = table(&[1; 100]);
        let key = Encoded::of_rows(&first, 2);
        let block = key_block(&key);
        let raw = unpack(&block).expect("a block");
        check(read_block(&raw, &[true, true], None), &first);
        let mut counts = [1; 103];
        counts[40] = 7;
        for after in [table(&counts), table(&counts[..100]), table(&counts[..50]), table(&[])] {
            let now = Encoded::of_rows(&after, 2);
            let Difference { block: different, columns: set } =
                difference(&now, &after, &key).expect("the same columns");
            assert!(different.len() < block.len(), "{}: {} bytes", after.len(), different.len());
            assert_eq!((is_in(&set, 0), is_in(&set, 1), is_in(&set, 2)), (after.len() != 100, true, false));
            let raw = unpack(&different).expect("a block");
            check(read_block(&raw, &[true, true], Some(&columns(&first))), &after);
            let (_, some) = read_block(&raw, &[false, true], Some(&columns(&first))).expect("a block");
            assert!(some[0].is_none());
        }
    }

    #[test]
    fn damaged_blocks_are_refused() {
        let rows = table(&[3; 40]);
        let block = key_block(&Encoded::of_rows(&rows, 2));
        for end in 0..block.len() {
            if let Ok(raw) = unpack(&block[..end]) {
                let _ = read_block(&raw, &[true, true], None);
            }
        }
        let difference = difference(&Encoded::of_rows(&rows, 2), &rows, &Encoded::of_rows(&rows, 2));
        let raw = unpack(&difference.expect("the same columns").block).expect("a block");
        assert!(read_block(&raw, &[true, true], None).is_err());
    }
}
