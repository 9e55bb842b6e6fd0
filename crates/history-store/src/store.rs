//! All slices of a directory: appends snapshots and removes old slices.

pub(crate) mod reader;
pub(crate) mod slice;

use crate::error::{Error, Result};
use crate::store::reader::Reader;
use crate::store::slice::{Slice, SliceWriter};
use parking_lot::{Mutex, RwLock};
use squall_types::Value;
use squall_types::durable_files::{Readers, create_own_folder, replace_file};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A slice takes snapshots of an hour.
pub const SLICE_MICROS_MAX: i64 = 3600 * 1_000_000;
/// A slice that is longer takes no more.
const SLICE_BYTES_MAX: u64 = 64 << 20;
/// Times are kept in steps of this many microseconds: five digits behind the second's point.
const STEP_MICROS: i64 = 10;
const FLOOR_FILE: &str = "floor";

/// What a table has at one time.
#[derive(Debug)]
pub struct TableContent<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of its columns.
    pub columns: &'a [String],
    /// Its rows, a value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// Snapshots of tables over time.
#[derive(Debug)]
pub struct HistoryStore {
    directory: PathBuf,
    /// By time.
    slices: RwLock<Vec<Arc<Slice>>>,
    /// For the last of the slices, if this process has begun it.
    writer: Mutex<Option<SliceWriter>>,
    /// Older snapshots are not there any more.
    floor_micros: AtomicI64,
}

impl HistoryStore {
    /// Opens a directory, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be read or made.
    pub fn open(directory: &Path) -> Result<HistoryStore> {
        let failed = Error::io(directory);
        create_own_folder(directory).map_err(&failed)?;
        let mut slices = Vec::new();
        for entry in fs::read_dir(directory).map_err(&failed)? {
            let path = entry.map_err(&failed)?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            if let (Some(first), Some("slice")) = (stem, path.extension().and_then(|extension| extension.to_str())) {
                slices.push(Arc::new(Slice::open(&path, first)?));
            }
        }
        slices.sort_by_key(|slice| slice.first_micros);
        let store = HistoryStore {
            directory: directory.to_path_buf(),
            slices: RwLock::new(slices),
            writer: Mutex::default(),
            floor_micros: AtomicI64::new(read_floor(directory)),
        };
        Ok(store)
    }

    /// Appends the content of tables at one time. It drops each table before it asks for the next. Gives the snapshot's time, which
    /// has five fractional digits and is later than all earlier ones, even if the clock went back. When this returns, the snapshot
    /// survives whatever happens to the machine.
    ///
    /// # Errors
    /// When the disk does not take it; then nothing has changed.
    pub fn append(
        &self,
        ts_micros: i64,
        server_id: u32,
        contents: &mut dyn Iterator<Item = TableContent<'_>>,
    ) -> Result<i64> {
        let mut writer = self.writer.lock();
        let after = self.last_micros()?.map_or(0, |last| last + STEP_MICROS);
        let ts_micros = (ts_micros - ts_micros.rem_euclid(STEP_MICROS)).max(after);
        let last = self.slices.read().last().cloned();
        let open = match (last, &*writer) {
            (Some(slice), Some(_)) => {
                let (bytes, _) = SliceWriter::size(&slice)?;
                let is_full = bytes >= SLICE_BYTES_MAX || ts_micros - slice.first_micros >= SLICE_MICROS_MAX;
                (!is_full).then_some(slice)
            }
            _ => None,
        };
        let slice = match open {
            Some(slice) => slice,
            None => {
                let slice = Arc::new(Slice::create(&self.directory, ts_micros)?);
                *writer = Some(SliceWriter::new());
                let mut slices = self.slices.write();
                // One of that name that had no snapshot has just been replaced.
                slices.retain(|other| other.path != slice.path);
                slices.push(slice.clone());
                slice
            }
        };
        let appended = match &mut *writer {
            Some(writer) => writer.append(&slice, ts_micros, server_id, contents),
            None => Ok(()),
        };
        if appended.is_err() {
            // What is behind its last whole frame is not known: the next snapshot begins another slice.
            *writer = None;
        }
        appended.map(|()| ts_micros)
    }

    /// The time of the last snapshot, microseconds since 1970 UTC.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn last_micros(&self) -> Result<Option<i64>> {
        let slices = self.slices.read().clone();
        for slice in slices.iter().rev() {
            if let Some(last) = slice.last_micros()? {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }

    /// Drops every snapshot older than that; slices of which none is left are deleted.
    ///
    /// # Errors
    /// When a file cannot be deleted; its snapshots are not to be seen in any case.
    pub fn retain_from(&self, ts_micros: i64) -> Result<()> {
        let mut writer = self.writer.lock();
        self.floor_micros.fetch_max(ts_micros, Ordering::AcqRel);
        let dropped = self.drop_slices(|slice, next_micros| match next_micros {
            Some(next) => next <= ts_micros,
            None => is_older(slice, ts_micros),
        });
        if self.slices.read().is_empty() {
            *writer = None;
        }
        dropped
    }

    /// The same, and remembered: it stays so if the process ends before any slice is as old.
    ///
    /// # Errors
    /// As above; when it cannot be remembered nothing is dropped.
    pub fn discard_before(&self, ts_micros: i64) -> Result<()> {
        if ts_micros > self.floor_micros.load(Ordering::Acquire) {
            write_floor(&self.directory, ts_micros)?;
        }
        self.retain_from(ts_micros)
    }

    /// Drops everything.
    ///
    /// # Errors
    /// When a file cannot be deleted.
    pub fn clear(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        *writer = None;
        self.drop_slices(|_, _| true)
    }

    /// Deletes slices from the oldest on, up to the first that is not meant, given when the next one begins.
    fn drop_slices(&self, is_meant: impl Fn(&Slice, Option<i64>) -> bool) -> Result<()> {
        loop {
            let (first, next_micros) = {
                let slices = self.slices.read();
                let Some(first) = slices.first().cloned() else { return Ok(()) };
                (first, slices.get(1).map(|next| next.first_micros))
            };
            if !is_meant(&first, next_micros) {
                return Ok(());
            }
            match fs::remove_file(&first.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&first.path)(error));
                }
                _ => {}
            }
            let mut slices = self.slices.write();
            slices.retain(|slice| slice.path != first.path);
        }
    }

    /// Reads snapshots from one time to another, both of them included, microseconds since 1970 UTC; with `backward` the last one
    /// first. Slices that begin or are dropped later do not matter to it.
    pub fn reader(&self, from_micros: i64, to_micros: i64, backward: bool) -> Reader {
        let from_micros = from_micros.max(self.floor_micros.load(Ordering::Acquire));
        let all = self.slices.read();
        let after = all.partition_point(|slice| slice.first_micros <= to_micros);
        let first = all.partition_point(|slice| slice.first_micros <= from_micros).saturating_sub(1);
        let slices = all.get(first..after.max(first)).unwrap_or_default().to_vec();
        Reader::new(slices, from_micros, to_micros, backward)
    }

    /// Bytes of all files.
    pub fn size_bytes(&self) -> u64 {
        let slices = self.slices.read().clone();
        slices.iter().filter_map(|slice| fs::metadata(&slice.path).ok()).map(|file| file.len()).sum()
    }

    /// How many slices there are.
    pub fn slice_count(&self) -> usize {
        self.slices.read().len()
    }
}

/// Whether a slice that no other follows has only older snapshots, and takes no more.
fn is_older(slice: &Slice, ts_micros: i64) -> bool {
    slice.first_micros + SLICE_MICROS_MAX <= ts_micros
        && matches!(slice.last_micros(), Ok(last) if last.is_none_or(|last| last < ts_micros))
}

fn read_floor(directory: &Path) -> i64 {
    let bytes = fs::read(directory.join(FLOOR_FILE)).unwrap_or_default();
    let Some((floor, crc)) = bytes.split_first_chunk::<8>() else { return i64::MIN };
    if crc == crc32fast::hash(floor).to_le_bytes() { i64::from_le_bytes(*floor) } else { i64::MIN }
}

fn write_floor(directory: &Path, ts_micros: i64) -> Result<()> {
    let path = directory.join(FLOOR_FILE);
    let floor = ts_micros.to_le_bytes();
    let contents = [&floor[..], &crc32fast::hash(&floor).to_le_bytes()].concat();
    replace_file(&path, &contents, Readers::Default).map_err(Error::io(&path))
}
