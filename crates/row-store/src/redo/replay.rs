//! Reading the log after a crash.

use super::record::{FIRST, HEADER_BYTES, LAST, LoggedChange, read_changes, read_fragment, split_prefix};
use super::segment;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Gives every whole batch of the log, with its sequence number, in order.
///
/// The log ends at the first fragment that is not as it was written: a crash came before it was synced, so nobody was told
/// of its commit. Segments are synced before the next one is begun, so such an end is in the last segment that has
/// anything.
///
/// # Errors
/// That of a file that cannot be read; [`io::ErrorKind::InvalidData`] if fragments are missing between others, which no
/// crash leaves behind.
pub(crate) fn replay(folder: &Path, apply: &mut dyn FnMut(u64, Vec<LoggedChange>)) -> io::Result<()> {
    let mut expected = None;
    let mut batch: Option<Vec<LoggedChange>> = None;
    let mut fragment = Vec::new();
    for number in segment::numbers(folder)? {
        let file = File::open(segment::path_of(folder, number))?;
        let mut left = file.metadata()?.len();
        let mut reader = BufReader::with_capacity(1 << 20, file);
        loop {
            let mut prefix = [0; 12];
            if left < HEADER_BYTES as u64 {
                break;
            }
            reader.read_exact(&mut prefix)?;
            left -= prefix.len() as u64;
            let (length, checksum) = split_prefix(prefix);
            if length == 0 || length as u64 > left {
                break;
            }
            fragment.resize(length, 0);
            reader.read_exact(&mut fragment)?;
            left -= length as u64;
            let Some((header, changes)) = read_fragment(number, checksum, &fragment) else { break };
            if expected.is_some_and(|expected| expected != header.number) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the log is damaged: what comes before fragment {} is missing", header.number),
                ));
            }
            expected = Some(header.number + 1);
            if header.flags & FIRST != 0 {
                batch = Some(Vec::new());
            }
            let Some(whole) = batch.as_mut() else { continue };
            read_changes(changes, whole).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("the log is damaged in fragment {}", header.number))
            })?;
            if header.flags & LAST != 0
                && let Some(whole) = batch.take()
            {
                apply(header.sequence, whole);
            }
        }
    }
    Ok(())
}
