//! The backup that a session makes with BACKUP STAGE.

use squall_types::{ErrorCode, SqlError, SqlResult};
use tokio::sync::OwnedMutexGuard;

/// A backup that a session makes: one at a time in a server.
#[derive(Debug)]
pub(crate) struct Backing {
    stage: BackupStage,
    _turn: OwnedMutexGuard<()>,
}

impl Backing {
    /// A backup begins: it is this session's turn.
    pub fn begin(turn: OwnedMutexGuard<()>) -> Backing {
        Backing { stage: BackupStage::Start, _turn: turn }
    }

    /// How far it is.
    pub fn stage(&self) -> BackupStage {
        self.stage
    }

    /// It goes on.
    pub fn enter(&mut self, stage: BackupStage) {
        self.stage = stage;
    }
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

    /// Its name in statements.
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
    ///
    /// # Errors
    /// 4149 if there is none.
    pub fn of(name: &str) -> SqlResult<BackupStage> {
        let found = BackupStage::ALL.into_iter().find(|stage| stage.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| SqlError::new(ErrorCode::BackupUnknownStage, &[&name]))
    }
}
