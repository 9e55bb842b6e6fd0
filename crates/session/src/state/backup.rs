//! The backup that a session makes with BACKUP STAGE.

use squall_types::{ErrorCode, SqlError, SqlResult};
use tokio::sync::OwnedMutexGuard;

/// A backup that a session makes: one at a time in a server.
#[derive(Debug)]
pub(crate) struct Backing {
    pub stage: BackupStage,
    pub _turn: OwnedMutexGuard<()>,
}

/// How far a backup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BackupStage {
    Start,
    Flush,
    BlockDdl,
    BlockCommit,
    End,
}

impl BackupStage {
    const ALL: [BackupStage; 5] =
        [BackupStage::Start, BackupStage::Flush, BackupStage::BlockDdl, BackupStage::BlockCommit, BackupStage::End];

    pub fn name(self) -> &'static str {
        match self {
            BackupStage::Start => "START",
            BackupStage::Flush => "FLUSH",
            BackupStage::BlockDdl => "BLOCK_DDL",
            BackupStage::BlockCommit => "BLOCK_COMMIT",
            BackupStage::End => "END",
        }
    }

    /// The stage of that name, in any letter case.
    pub fn of(name: &str) -> SqlResult<BackupStage> {
        let found = BackupStage::ALL.into_iter().find(|stage| stage.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| SqlError::new(ErrorCode::BackupUnknownStage, &[&name]))
    }
}
