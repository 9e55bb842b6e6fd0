//! Backups of a server: a directory of files that backups share, and for each backup a list of the files that it has.
//!
//! ```text
//! squall-backups                     the mark: a name and a version
//! lock                               held by whoever writes or removes backups, shared by whoever reads them
//! files/<2 digits>/<hash>-<length>   a file of the server that never changes, by its content
//! backups/<name>/list                what a backup has, see `list`
//! backups/<name>/contents            its other files, one behind the other
//! backups/<name>.unfinished/         a backup that is being written or removed
//! ```
//!
//! Most files of a server never change. Those that an earlier backup has are not copied again, so each backup is a whole one and costs
//! what is new. A backup is there when its folder has its name, durably; all of its files are durable before that.
//!
//! Knows: files, checksums. Must not know: tables, SQL, how the files of a server come to be as of one moment.
//!
//! Reading order: `repository`, `list`, `write`, `read`, `retain`.

mod copy;
mod error;
mod list;
mod read;
mod repository;
mod retain;
mod write;

pub use error::{Error, Result};
pub use list::{BackupHeader, BackupList, ListedFile, Place};
pub use read::{Backup, Damage, is_being_restored};
pub use repository::Repository;
pub use retain::Removed;
pub use squall_types::durable_files::Readers;
pub use write::{BackupWriter, Source, Summary};

/// Told of a copy while it is made.
pub trait Watch {
    /// So many bytes more are done.
    fn add(&self, bytes: u64);

    /// Asked between pieces of work whether it is to go on.
    fn goes_on(&self) -> bool;
}

/// A copy that nobody looks at, and that goes on to its end.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn add(&self, _bytes: u64) {}

    fn goes_on(&self) -> bool {
        true
    }
}
