//! MariaDB's BACKUP STAGE, BACKUP LOCK and BACKUP UNLOCK, as its backup programs send them.
//!
//! A backup needs no flush of tables' files. Only definitions must wait, and in the end commits. So from START on the session has the
//! lock of LOCK INSTANCE FOR BACKUP, and from BLOCK_COMMIT on the lock of FLUSH TABLES WITH READ LOCK.

use crate::result::Outcome;
use crate::session::{Session, SessionState};
use crate::state::backup::{Backing, BackupStage};
use crate::statement_kind::is_definition;
use squall_parser::ast::{Backup, FlushTarget, Statement};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;

impl Session {
    /// A statement about a backup.
    pub(crate) async fn run_backup(&mut self, backup: &Backup, context: &StatementContext) -> SqlResult<Outcome> {
        match backup {
            Backup::Server { directory } => self.back_up_server(directory, context).await,
            Backup::Stage(name) => self.enter_backup_stage(BackupStage::of(name)?).await,
            // All definitions wait, also those of this table.
            Backup::Lock(_) => self.lock_instance().await,
            Backup::Unlock => {
                if self.held_locks.backup_stage.is_none() {
                    self.held_locks.backup = None;
                }
                Ok(Outcome::done())
            }
        }
    }

    async fn enter_backup_stage(&mut self, stage: BackupStage) -> SqlResult<Outcome> {
        match self.held_locks.backup_stage.as_ref().map(Backing::stage) {
            None if stage != BackupStage::Start => return Err(SqlError::new(ErrorCode::BackupNotRunning, &[])),
            Some(current) if stage <= current => {
                return Err(SqlError::new(ErrorCode::BackupWrongStage, &[&stage.name(), &current.name()]));
            }
            None if self.held_locks.tables.is_some() => {
                return Err(SqlError::new(ErrorCode::LockOrActiveTransaction, &[]));
            }
            None if self.held_locks.backup.is_some() || self.held_locks.global_read.is_some() => {
                return Err(SqlError::new(ErrorCode::CantUpdateWithReadLock, &[]));
            }
            _ => {}
        }
        match stage {
            BackupStage::Start => {
                let turn = self.backup_turn().await?;
                self.lock_instance().await?;
                self.held_locks.backup_stage = Some(Backing::begin(turn));
            }
            BackupStage::Flush | BackupStage::BlockDdl => {}
            BackupStage::BlockCommit => self.flush_and_lock(&[]).await?,
            BackupStage::End => {
                self.end_backup();
                return Ok(Outcome::done());
            }
        }
        if let Some(backup) = &mut self.held_locks.backup_stage {
            backup.enter(stage);
        }
        Ok(Outcome::done())
    }

    /// Waits until no other session makes a backup: `lock_wait_timeout` at most (1205).
    async fn backup_turn(&self) -> SqlResult<OwnedMutexGuard<()>> {
        let longest = Duration::from_secs(self.settings.table_lock_wait_seconds);
        let turn = self.shared.backup_turn.clone().lock_owned();
        tokio::select! {
            turn = tokio::time::timeout(longest, turn) => {
                turn.map_err(|_| SqlError::new(ErrorCode::LockWaitTimeout, &[]))
            }
            stopped = self.process.kill.stopped() => Err(stopped),
        }
    }
}

impl SessionState {
    /// Gives up what a backup holds.
    pub(crate) fn end_backup(&mut self) {
        if self.held_locks.backup_stage.take().is_some() {
            self.held_locks.backup = None;
            self.held_locks.global_read = None;
        }
    }

    /// Refuses what the session that makes a backup may not do meanwhile (4145).
    pub(crate) fn check_backup_stage(&self, statement: &Statement) -> SqlResult<()> {
        let is_refused = match statement {
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::LoadData(_) => true,
            Statement::LockTables(_) | Statement::UnlockInstance => true,
            Statement::CreateTable(create) => !create.temporary,
            Statement::DropTable(drop) => !drop.temporary,
            Statement::Flush(flush) => {
                flush.targets.iter().any(|target| matches!(target, FlushTarget::Tables { lock: Some(_), .. }))
            }
            other => is_definition(other),
        };
        match is_refused && self.held_locks.backup_stage.is_some() {
            true => Err(SqlError::new(ErrorCode::BackupStageActive, &[])),
            false => Ok(()),
        }
    }
}
