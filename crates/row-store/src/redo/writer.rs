//! Writes bytes of the log to its files.

use super::segment::{BLOCK_BYTES, LogFile};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Writes the log's end.
///
/// Durable writes go past the system's memory in whole blocks, with one call that writes and syncs. The last block, which is seldom
/// full, is written again with what comes after it: its old part is the same bytes, so it does not matter if a crash leaves some of
/// the block old. Where something is in the system's memory already, or the file system wants no such writes, bytes go there and are
/// synced as any file's.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// An empty buffer to go on with.
    pub spare: Vec<u8>,
    /// The content of the last block.
    last_block: Vec<u8>,
    /// A buffer of whole blocks, at an address that their writes may begin at.
    blocks: Vec<u8>,
    /// The system's memory has something that no sync has covered.
    is_dirty: bool,
    /// The file system takes no writes past its memory.
    refuses_direct: bool,
}

impl Writer {
    /// Writes bytes to the place of a file that follows what was written last, or to its beginning; durably if `durable`, with
    /// all before them.
    pub fn put(&mut self, file: &LogFile, at: u64, bytes: &[u8], durable: bool) -> io::Result<()> {
        if at == 0 {
            self.last_block.clear();
        }
        debug_assert_eq!(at as usize % BLOCK_BYTES, self.last_block.len(), "a hole in the log");
        match file.direct() {
            Some(direct) if durable && !self.is_dirty && !self.refuses_direct => {
                match file.meter().write_durably(bytes.len(), || self.put_blocks(direct, at, bytes)) {
                    // Nothing was written: the file system has other ideas of what is aligned.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                        self.refuses_direct = true;
                        self.put_buffered(file, at, bytes, durable)?;
                    }
                    written => written?,
                }
            }
            _ => self.put_buffered(file, at, bytes, durable)?,
        }
        let begun = (self.last_block.len() + bytes.len()) % BLOCK_BYTES;
        if begun <= bytes.len() {
            self.last_block.clear();
        }
        self.last_block.extend_from_slice(&bytes[bytes.len() - begun.min(bytes.len())..]);
        Ok(())
    }

    fn put_blocks(&mut self, direct: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
        let begun = self.last_block.len();
        let written = begun + bytes.len();
        let whole = written.next_multiple_of(BLOCK_BYTES);
        if self.blocks.len() < whole + BLOCK_BYTES {
            self.blocks = vec![0; whole.next_power_of_two() + BLOCK_BYTES];
        }
        let aligned = self.blocks.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        let blocks = &mut self.blocks[aligned..aligned + whole];
        blocks[..begun].copy_from_slice(&self.last_block);
        blocks[begun..written].copy_from_slice(bytes);
        blocks[written..].fill(0);
        direct.write_all_at(blocks, at - begun as u64)
    }

    fn put_buffered(&mut self, file: &LogFile, at: u64, bytes: &[u8], durable: bool) -> io::Result<()> {
        file.meter().write(bytes.len(), || file.buffered().write_all_at(bytes, at))?;
        self.is_dirty = true;
        if durable { self.sync(file) } else { Ok(()) }
    }

    /// Makes durable what only the system's memory has.
    fn sync(&mut self, file: &LogFile) -> io::Result<()> {
        if self.is_dirty {
            file.meter().other(|| file.buffered().sync_data())?;
            self.is_dirty = false;
        }
        Ok(())
    }

    /// Gives memory back that a large batch took.
    pub fn shrink(&mut self, bytes_max: usize) {
        self.spare.shrink_to(bytes_max);
        if self.blocks.len() > bytes_max + BLOCK_BYTES {
            self.blocks = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redo::segment::Segment;
    use squall_test_support::random::Random;

    #[test]
    fn bytes_stand_where_they_were_put() {
        let mut random = Random::of_run("bytes_stand_where_they_were_put");
        for refuses_direct in [false, true, false] {
            let folder = tempfile::tempdir().unwrap();
            let segment = Segment::create(folder.path(), 1, 1 << 20).unwrap();
            let mut writer = Writer { refuses_direct, ..Writer::default() };
            let mut expected = Vec::new();
            for round in 0..400u64 {
                // Nothing, a few bytes, exactly to a block's end, and more than a block.
                let length = match random.below(16) {
                    0 => 0,
                    1..4 => BLOCK_BYTES - expected.len() % BLOCK_BYTES,
                    4..6 => random.below(3 * BLOCK_BYTES as u64) as usize,
                    _ => random.below(300) as usize,
                };
                let bytes = vec![round as u8 | 1; length];
                writer.put(&segment.file, expected.len() as u64, &bytes, random.below(4) != 0).unwrap();
                expected.extend_from_slice(&bytes);
            }
            writer.put(&segment.file, expected.len() as u64, &[], true).unwrap();
            assert!(!writer.is_dirty);
            let found = std::fs::read(crate::redo::segment::path_of(folder.path(), 1)).unwrap();
            assert_eq!(found.len(), 1 << 20);
            assert_eq!(found[..expected.len()], expected[..]);
            assert!(found[expected.len()..].iter().all(|byte| *byte == 0), "the rest is not as it was");
        }
    }
}
