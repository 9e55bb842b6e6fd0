//! Files to read, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER_BYTES: usize = 256 << 10;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Standard input as a file name.
pub const STANDARD_INPUT: &str = "-";

/// The files that names and patterns mean, in order.
pub fn expand(names: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for name in names {
        if name == STANDARD_INPUT || Path::new(name).exists() {
            files.push(PathBuf::from(name));
            continue;
        }
        let found = glob::glob(name).map_err(|error| format!("{name}: {error}"))?;
        let before = files.len();
        for file in found {
            files.push(file.map_err(|error| error.to_string())?);
        }
        if files.len() == before {
            return Err(format!("{name}: no such file"));
        }
    }
    Ok(files)
}

/// Counts what is read.
struct Counting<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// Opens a file; gzip and zstd are told by their first bytes. What is read of it, as it lies on the disk, is added to
/// `count`.
pub fn open(path: &Path, count: &Arc<AtomicU64>) -> Result<Box<dyn BufRead + Send>, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let raw: Box<dyn Read + Send> = if path == Path::new(STANDARD_INPUT) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, Counting { inner: raw, count: count.clone() });
    let start = raw.fill_buf().map_err(failed)?;
    if start.starts_with(&GZIP_MAGIC) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, flate2::bufread::MultiGzDecoder::new(raw))));
    }
    if start.starts_with(&ZSTD_MAGIC) {
        let decoder = zstd::Decoder::with_buffer(raw).map_err(failed)?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    Ok(Box::new(raw))
}
