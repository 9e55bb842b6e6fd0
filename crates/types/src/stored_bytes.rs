//! [`StoredBytes`]: a long string of a stored row, by where it lies.

use crate::SqlResult;
use std::fmt::Debug;

/// A byte string, or a character string in UTF-8, as it was in the snapshot in which its row was read. It is read in pieces, so that a reader needs
/// memory for a piece only. Reading may wait for a disk.
pub trait StoredBytes: Debug + Send + Sync {
    /// How many bytes there are.
    fn length(&self) -> u64;
    /// The bytes from a place on: at most so many, and fewer only at the end.
    ///
    /// # Errors
    /// 1034 if they are damaged, and those of the disk.
    fn read(&self, at: u64, bytes_max: usize) -> SqlResult<Vec<u8>>;
    /// A digest of all bytes. Other bytes have another one; the same bytes may have another one after a restart of the server.
    ///
    /// # Errors
    /// As for [`StoredBytes::read`].
    fn digest(&self) -> SqlResult<u128>;
}
