//! One file of snapshots.
//!
//! ```text
//! file:      magic (8 bytes), frames
//! frame:     kind (1), length of the head (4), length of the body (4), CRC-32 of the head (4), head, body
//! tables:    head: count, then for each table: number, name, count of columns, their names
//! snapshot:  head: time (8), server (4), count, then for each table that has changed: number, length of its block,
//!            CRC-32 of the block (4), what block it is; body: the blocks in that order
//! ```

use crate::block::{ColumnSet, Difference, Encoded, difference, is_in, key_block};
use crate::codec::{Damaged, Input, put_bytes, put_varint};
use crate::error::{Error, Result};
use crate::store::TableContent;
use parking_lot::{RwLock, RwLockReadGuard};
use rustc_hash::FxHashMap;
use squall_accounting::file_use::{HISTORY_SLICE, MeteredFile};
use squall_types::durable_files::sync_folder;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"SQHIST02";
/// Its differences do not tell their columns.
const MAGIC_BEFORE: &[u8; 8] = b"SQHIST01";
const FRAME_TABLES: u8 = 1;
const FRAME_SNAPSHOT: u8 = 2;
const FRAME_HEAD_BYTES: usize = 13;
/// A difference from the table's last key block, in columns that are not told.
const BLOCK_DIFFERENCE: u8 = 0;
const BLOCK_KEY: u8 = 1;
/// A difference; the set of its columns follows.
const BLOCK_DIFFERENCE_IN: u8 = 2;
/// A difference in the same columns as the table's last one in the slice.
const BLOCK_DIFFERENCE_IN_SAME: u8 = 3;
/// No head is longer: thousands of tables with hundreds of columns.
const HEAD_BYTES_MAX: usize = 64 << 20;

/// One snapshot of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SnapshotEntry {
    /// Microseconds since 1970 UTC.
    pub ts_micros: i64,
    pub server_id: u32,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub offset: u64,
    pub length: u32,
    crc: u32,
}

/// A snapshot that has changed a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Number of the snapshot within the slice.
    pub snapshot: u32,
    pub block: BlockPlace,
    /// The key block that the block differs from; itself for a key block.
    pub key: BlockPlace,
    /// Number of the set of columns in which it differs, in [`TableIndex::differences`]; beyond them if that is not known.
    difference: u32,
}

/// No set of columns.
const UNKNOWN: u32 = u32::MAX;

/// What a slice knows of a table.
#[derive(Debug, Default)]
pub(crate) struct TableIndex {
    pub columns: Vec<String>,
    /// By snapshot.
    pub changes: Vec<Change>,
    /// Each set of columns in which blocks differ from their key blocks, once.
    differences: Vec<ColumnSet>,
    /// That of the last difference.
    last_difference: Option<u32>,
}

impl TableIndex {
    /// What holds at a snapshot.
    pub fn change_at(&self, snapshot: usize) -> Option<&Change> {
        let later = self.changes.partition_point(|change| change.snapshot as usize <= snapshot);
        self.changes.get(later.checked_sub(1)?)
    }

    /// Whether a block is known to have the rows of its key block as far as some columns go, which are marked by ordinal. With no
    /// column at all it is not known.
    pub fn is_as_key(&self, change: &Change, columns: &[bool]) -> bool {
        let Some(different) = self.differences.get(change.difference as usize) else { return false };
        let mut marked = (0..columns.len()).filter(|at| columns[*at]).peekable();
        marked.peek().is_some() && marked.all(|at| !is_in(different, at))
    }

    /// Reads what block it is: whether it is a key block, and the columns in which it is none.
    fn read_kind(&mut self, input: &mut Input<'_>) -> std::result::Result<(bool, u32), Damaged> {
        Ok(match input.byte()? {
            BLOCK_DIFFERENCE => (false, UNKNOWN),
            BLOCK_KEY => (true, UNKNOWN),
            BLOCK_DIFFERENCE_IN => {
                let set = input.take(self.columns.len().div_ceil(8))?;
                let known = self.differences.iter().position(|known| **known == *set);
                let number = known.unwrap_or_else(|| {
                    self.differences.push(set.into());
                    self.differences.len() - 1
                });
                let number = u32::try_from(number).map_err(|_| Damaged)?;
                self.last_difference = Some(number);
                (false, number)
            }
            BLOCK_DIFFERENCE_IN_SAME => (false, self.last_difference.ok_or(Damaged)?),
            _ => return Err(Damaged),
        })
    }
}

/// Where everything of a slice is.
#[derive(Debug, Default)]
pub(crate) struct SliceIndex {
    pub snapshots: Vec<SnapshotEntry>,
    /// By their numbers, which are used in this slice only.
    tables: Vec<TableIndex>,
    numbers: FxHashMap<String, usize>,
    /// Where the next frame begins.
    end: u64,
}

impl SliceIndex {
    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&TableIndex> {
        self.tables.get(*self.numbers.get(name)?)
    }

    fn read_tables(&mut self, head: &[u8]) -> std::result::Result<(), Damaged> {
        let mut input = Input(head);
        for _ in 0..input.length(8)? {
            let number = input.length(0)?;
            let name = input.text()?;
            let count = input.length(8)?;
            let columns = (0..count).map(|_| input.text()).collect::<std::result::Result<_, _>>()?;
            if number != self.tables.len() {
                return Err(Damaged);
            }
            self.tables.push(TableIndex { columns, ..TableIndex::default() });
            self.numbers.insert(name, number);
        }
        Ok(())
    }

    fn read_snapshot(&mut self, head: &[u8], body: u64, body_length: u64) -> std::result::Result<(), Damaged> {
        let mut input = Input(head);
        let ts_micros = i64::from_le_bytes(input.array()?);
        let server_id = u32::from_le_bytes(input.array()?);
        let snapshot = u32::try_from(self.snapshots.len()).map_err(|_| Damaged)?;
        let mut offset = body;
        for _ in 0..input.length(8)? {
            let number = input.length(0)?;
            let length = u32::try_from(input.varint()?).map_err(|_| Damaged)?;
            let block = BlockPlace { offset, length, crc: u32::from_le_bytes(input.array()?) };
            let table = self.tables.get_mut(number).ok_or(Damaged)?;
            let (is_key, difference) = table.read_kind(&mut input)?;
            offset += u64::from(length);
            if offset > body + body_length {
                return Err(Damaged);
            }
            let key = match table.changes.last() {
                _ if is_key => block,
                Some(last) => last.key,
                None => return Err(Damaged),
            };
            table.changes.push(Change { snapshot, block, key, difference });
        }
        self.snapshots.push(SnapshotEntry { ts_micros, server_id });
        Ok(())
    }
}

/// A file of snapshots. Its index is read when it is first wanted.
#[derive(Debug)]
pub(crate) struct Slice {
    pub path: PathBuf,
    file: MeteredFile,
    /// Its snapshots are not older, microseconds since 1970 UTC.
    pub first_micros: i64,
    index: OnceLock<RwLock<SliceIndex>>,
}

impl Slice {
    /// The name of a slice's file.
    pub fn file_name(first_micros: i64) -> String {
        format!("{:020}.slice", first_micros.max(0))
    }

    /// Makes an empty slice, and replaces the remains of an earlier process with its name.
    pub fn create(directory: &Path, first_micros: i64) -> Result<Slice> {
        let path = directory.join(Self::file_name(first_micros));
        let failed = Error::io(&path);
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).map_err(&failed)?;
        let file = MeteredFile::new(file, HISTORY_SLICE, &path);
        file.write_all_at(MAGIC, 0).map_err(&failed)?;
        // Snapshots in it are synced, and have to be found.
        sync_folder(directory).map_err(&failed)?;
        let index = SliceIndex { end: MAGIC.len() as u64, ..SliceIndex::default() };
        Ok(Slice { path: path.clone(), file, first_micros, index: OnceLock::from(RwLock::new(index)) })
    }

    /// Opens the slice of a file.
    pub fn open(path: &Path, first_micros: i64) -> Result<Slice> {
        let file = File::open(path).map_err(Error::io(path))?;
        let file = MeteredFile::new(file, HISTORY_SLICE, path);
        Ok(Slice { path: path.to_path_buf(), file, first_micros, index: OnceLock::new() })
    }

    /// The index.
    pub fn index(&self) -> Result<RwLockReadGuard<'_, SliceIndex>> {
        if let Some(index) = self.index.get() {
            return Ok(index.read());
        }
        let read = self.read_index()?;
        Ok(self.index.get_or_init(|| RwLock::new(read)).read())
    }

    /// Reads heads up to the end of what was written whole: the last frame may be a part of one, or of bytes that the disk never
    /// got.
    fn read_index(&self) -> Result<SliceIndex> {
        let failed = Error::io(&self.path);
        let size = self.file.file().metadata().map_err(&failed)?.len();
        let mut index = SliceIndex { end: MAGIC.len() as u64, ..SliceIndex::default() };
        let mut magic = [0; MAGIC.len()];
        if size < index.end
            || self.file.read_exact_at(&mut magic, 0).is_err()
            || ![*MAGIC, *MAGIC_BEFORE].contains(&magic)
        {
            // Killed before its first frame.
            return Ok(index);
        }
        while index.end + FRAME_HEAD_BYTES as u64 <= size {
            let mut frame = [0; FRAME_HEAD_BYTES];
            self.file.read_exact_at(&mut frame, index.end).map_err(&failed)?;
            let number = |at: usize| frame[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
            let (head_length, body_length) = (number(1) as usize, u64::from(number(5)));
            let body = index.end + (FRAME_HEAD_BYTES + head_length) as u64;
            if head_length > HEAD_BYTES_MAX || body + body_length > size {
                break;
            }
            let mut head = vec![0; head_length];
            self.file.read_exact_at(&mut head, index.end + FRAME_HEAD_BYTES as u64).map_err(&failed)?;
            if crc32fast::hash(&head) != number(9) {
                break;
            }
            let read = match frame[0] {
                FRAME_TABLES => index.read_tables(&head),
                FRAME_SNAPSHOT => index.read_snapshot(&head, body, body_length),
                _ => Err(Damaged),
            };
            if read.is_err() {
                break;
            }
            index.end = body + body_length;
        }
        self.forget_unwritten(&mut index);
        Ok(index)
    }

    /// Takes the last snapshot back if its blocks are not what was written.
    fn forget_unwritten(&self, index: &mut SliceIndex) {
        let Some(last) = index.snapshots.len().checked_sub(1) else { return };
        let is_last = |change: &&Change| change.snapshot as usize == last;
        let mut blocks = index.tables.iter().filter_map(|table| table.changes.last().filter(is_last));
        if blocks.any(|change| self.read(change.block).is_err()) {
            index.snapshots.pop();
            for table in &mut index.tables {
                table.changes.pop_if(|change| change.snapshot as usize == last);
            }
        }
    }

    /// Reads a block.
    pub fn read(&self, place: BlockPlace) -> Result<Vec<u8>> {
        let mut block = vec![0; place.length as usize];
        self.file.read_exact_at(&mut block, place.offset).map_err(Error::io(&self.path))?;
        if crc32fast::hash(&block) != place.crc {
            return Err(self.damaged());
        }
        Ok(block)
    }

    /// The error for bytes that mean nothing.
    pub fn damaged(&self) -> Error {
        Error::Damaged(self.path.display().to_string())
    }

    /// The time of its last snapshot.
    pub fn last_micros(&self) -> Result<Option<i64>> {
        Ok(self.index()?.snapshots.last().map(|snapshot| snapshot.ts_micros))
    }
}

/// A table as its writer knows it.
#[derive(Debug)]
struct Written {
    number: usize,
    columns: Vec<String>,
    /// What the last snapshot held.
    hash: u128,
    key: Encoded,
    /// The columns of the last difference.
    difference: Option<ColumnSet>,
}

/// Appends to a slice that it has made.
#[derive(Debug)]
pub(crate) struct SliceWriter {
    tables: FxHashMap<String, Written>,
}

impl SliceWriter {
    /// A writer of a slice without snapshots.
    pub fn new() -> SliceWriter {
        SliceWriter { tables: FxHashMap::default() }
    }

    /// Bytes written so far, and snapshots.
    pub fn size(slice: &Slice) -> Result<(u64, usize)> {
        let index = slice.index()?;
        Ok((index.end, index.snapshots.len()))
    }

    /// Appends a snapshot and waits until the disk has it; only then it can be read. After a failure the slice takes no more.
    pub fn append(
        &mut self,
        slice: &Slice,
        ts_micros: i64,
        server_id: u32,
        contents: &mut dyn Iterator<Item = TableContent<'_>>,
    ) -> Result<()> {
        let mut new_tables = Vec::new();
        let mut head = Vec::new();
        let mut body = Vec::new();
        let mut changed = 0u64;
        let mut new_count = 0u64;
        for content in contents {
            let now = Encoded::of_rows(&content.rows, content.columns.len());
            let hash = now.hash();
            let known = self.tables.get_mut(content.name).filter(|written| written.columns == content.columns);
            let Block { number, kind, bytes: block } = match known {
                Some(written) if written.hash == hash => continue,
                Some(written) => {
                    written.hash = hash;
                    written.next_block(now, &content)
                }
                None => {
                    let number = self.tables.len();
                    new_count += 1;
                    put_varint(&mut new_tables, number as u64);
                    put_bytes(&mut new_tables, content.name.as_bytes());
                    put_varint(&mut new_tables, content.columns.len() as u64);
                    content.columns.iter().for_each(|name| put_bytes(&mut new_tables, name.as_bytes()));
                    let bytes = key_block(&now);
                    let columns = content.columns.to_vec();
                    let written = Written { number, columns, hash, key: now, difference: None };
                    self.tables.insert(content.name.to_string(), written);
                    Block { number, kind: vec![BLOCK_KEY], bytes }
                }
            };
            changed += 1;
            put_varint(&mut head, number as u64);
            put_varint(&mut head, block.len() as u64);
            head.extend_from_slice(&crc32fast::hash(&block).to_le_bytes());
            head.extend_from_slice(&kind);
            body.extend_from_slice(&block);
        }
        let mut frames = Vec::new();
        if new_count > 0 {
            let mut tables = Vec::new();
            put_varint(&mut tables, new_count);
            tables.extend_from_slice(&new_tables);
            put_frame(&mut frames, FRAME_TABLES, &tables, &[]);
            new_tables = tables;
        }
        let mut snapshot = Vec::new();
        snapshot.extend_from_slice(&ts_micros.to_le_bytes());
        snapshot.extend_from_slice(&server_id.to_le_bytes());
        put_varint(&mut snapshot, changed);
        snapshot.extend_from_slice(&head);
        put_frame(&mut frames, FRAME_SNAPSHOT, &snapshot, &body);
        let failed = Error::io(&slice.path);
        let start = slice.index()?.end;
        slice.file.write_all_at(&frames, start).map_err(&failed)?;
        slice.file.sync_data().map_err(&failed)?;
        let mut index = slice.index.get_or_init(RwLock::default).write();
        let end = start + frames.len() as u64;
        let published = match new_count {
            0 => Ok(()),
            _ => index.read_tables(&new_tables),
        };
        published
            .and_then(|()| index.read_snapshot(&snapshot, end - body.len() as u64, body.len() as u64))
            .map_err(|Damaged| slice.damaged())?;
        index.end = end;
        Ok(())
    }
}

/// The part of a snapshot for one changed table.
struct Block {
    number: usize,
    kind: Vec<u8>,
    bytes: Vec<u8>,
}

impl Written {
    /// The difference from the last key block if that is short, else a key block.
    fn next_block(&mut self, now: Encoded, content: &TableContent<'_>) -> Block {
        let difference = difference(&now, &content.rows, &self.key);
        let full = key_block(&now);
        let number = self.number;
        match difference.filter(|difference| difference.block.len() < full.len() / 2) {
            Some(Difference { block, columns }) if self.difference.as_ref() == Some(&columns) => {
                Block { number, kind: vec![BLOCK_DIFFERENCE_IN_SAME], bytes: block }
            }
            Some(Difference { block, columns }) => {
                let kind = [&[BLOCK_DIFFERENCE_IN], &*columns].concat();
                self.difference = Some(columns);
                Block { number, kind, bytes: block }
            }
            None => {
                self.key = now;
                Block { number, kind: vec![BLOCK_KEY], bytes: full }
            }
        }
    }
}

fn put_frame(out: &mut Vec<u8>, kind: u8, head: &[u8], body: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(head.len() as u32).to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(head).to_le_bytes());
    out.extend_from_slice(head);
    out.extend_from_slice(body);
}
