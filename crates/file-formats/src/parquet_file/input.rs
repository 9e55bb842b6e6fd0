//! The input of the Parquet library. It never reads beyond the end of the file.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// A file, with an error for a read at its end: the library takes nothing for something there, and would look for
/// the two thousand million parts that a damaged number promises.
#[derive(Debug)]
pub(super) struct Input {
    file: Arc<File>,
    length: u64,
}

impl Input {
    pub(super) fn new(file: File) -> io::Result<Input> {
        let length = file.metadata()?.len();
        Ok(Input { file: Arc::new(file), length })
    }
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Input {
    type T = BufReader<Section>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(Section { file: self.file.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of a file of {}", self.length)));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// Reads from a place on.
#[derive(Debug)]
pub(super) struct Section {
    file: Arc<File>,
    at: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        if read == 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends too early"));
        }
        self.at += read as u64;
        Ok(read)
    }
}
