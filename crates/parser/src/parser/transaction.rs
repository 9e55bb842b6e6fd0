//! Transactions and locks.

use super::*;

/// Bytes of the name of a global transaction, and of a branch of one.
const XID_PART_BYTES_MAX: usize = 64;

impl Parser<'_> {
    /// START, behind the word.
    pub(super) fn start(&mut self) -> Result<Statement> {
        if self.at_any(&[K::Replica, K::Slave, K::GroupReplication]) || self.at(K::All) {
            return self.start_replica();
        }
        self.expect(K::Transaction)?;
        let (mut consistent_snapshot, mut access) = (false, None);
        if self.at_any(&[K::With, K::Read]) {
            loop {
                if self.accept(K::With) {
                    self.expect_all(&[K::Consistent, K::Snapshot])?;
                    consistent_snapshot = true;
                } else {
                    self.expect(K::Read)?;
                    let offset = self.current.start;
                    let mode = match self.expect_any(&[K::Only, K::Write])? {
                        K::Only => AccessMode::ReadOnly,
                        _ => AccessMode::ReadWrite,
                    };
                    if access.is_some_and(|access| access != mode) {
                        return Err(self.syntax_error(offset));
                    }
                    access = Some(mode);
                }
                if !self.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
        }
        Ok(Statement::Transaction(Transaction::Begin { consistent_snapshot, access }))
    }

    /// BEGIN as a statement of its own, behind the word.
    pub(super) fn begin(&mut self) -> Result<Statement> {
        self.accept(K::Work);
        Ok(Statement::Transaction(Transaction::Begin { consistent_snapshot: false, access: None }))
    }

    /// COMMIT and ROLLBACK, behind the word.
    pub(super) fn end_transaction(&mut self, commit: bool) -> Result<Statement> {
        self.accept(K::Work);
        if !commit && self.accept(K::To) {
            self.accept(K::Savepoint);
            return Ok(Statement::Transaction(Transaction::RollbackTo(self.ident()?)));
        }
        let completion = self.completion()?;
        Ok(Statement::Transaction(if commit {
            Transaction::Commit(completion)
        } else {
            Transaction::Rollback(completion)
        }))
    }

    fn completion(&mut self) -> Result<Completion> {
        let mut completion = Completion::default();
        if self.accept(K::And) {
            let no = self.accept(K::No);
            self.expect(K::Chain)?;
            completion.chain = Some(!no);
        }
        if self.at(K::Release) || (self.at(K::No) && self.peek_is(1, K::Release)) {
            let no = self.accept(K::No);
            let offset = self.current.start;
            self.advance();
            if !no && completion.chain == Some(true) {
                return Err(self.syntax_error(offset));
            }
            completion.release = Some(!no);
        }
        Ok(completion)
    }

    /// RELEASE, behind the word.
    pub(super) fn release(&mut self) -> Result<Statement> {
        self.expect(K::Savepoint)?;
        Ok(Statement::Transaction(Transaction::ReleaseSavepoint(self.ident()?)))
    }

    pub(super) fn transaction_characteristics(&mut self) -> Result<TransactionCharacteristics> {
        let mut characteristics = TransactionCharacteristics::default();
        loop {
            if self.at(K::Isolation) && characteristics.isolation.is_none() {
                self.advance();
                self.expect(K::Level)?;
                characteristics.isolation =
                    Some(match self.expect_any(&[K::Read, K::Repeatable, K::Serializable])? {
                        K::Serializable => IsolationLevel::Serializable,
                        K::Repeatable => {
                            self.expect(K::Read)?;
                            IsolationLevel::RepeatableRead
                        }
                        _ => match self.expect_any(&[K::Committed, K::Uncommitted])? {
                            K::Committed => IsolationLevel::ReadCommitted,
                            _ => IsolationLevel::ReadUncommitted,
                        },
                    });
            } else if self.at(K::Read) && characteristics.access.is_none() {
                self.advance();
                characteristics.access = Some(match self.expect_any(&[K::Only, K::Write])? {
                    K::Only => AccessMode::ReadOnly,
                    _ => AccessMode::ReadWrite,
                });
            } else {
                return Err(self.unexpected());
            }
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(characteristics);
            }
        }
    }

    /// XA, behind the word.
    pub(super) fn xa(&mut self) -> Result<Statement> {
        let verb = self.current.keyword;
        self.advance();
        let xa = match verb {
            K::Start | K::Begin => {
                let xid = self.xid()?;
                let join = if self.accept(K::Join) {
                    Some(XaJoin::Join)
                } else {
                    self.accept(K::Resume).then_some(XaJoin::Resume)
                };
                Xa::Start { xid, join }
            }
            K::End => {
                let xid = self.xid()?;
                let mut suspend = None;
                if self.accept(K::Suspend) {
                    suspend = Some(XaSuspend::Suspend);
                    if self.accept(K::For) {
                        self.expect(K::Migrate)?;
                        suspend = Some(XaSuspend::ForMigrate);
                    }
                }
                Xa::End { xid, suspend }
            }
            K::Prepare => Xa::Prepare(self.xid()?),
            K::Commit => {
                let xid = self.xid()?;
                let one_phase = self.accept(K::One);
                if one_phase {
                    self.expect(K::Phase)?;
                }
                Xa::Commit { xid, one_phase }
            }
            K::Rollback => Xa::Rollback(self.xid()?),
            K::Recover => {
                let convert_xid = self.accept(K::Convert);
                if convert_xid {
                    self.expect(K::Xid)?;
                }
                Xa::Recover { convert_xid }
            }
            _ => return Err(self.syntax_error(self.previous_end)),
        };
        Ok(Statement::Transaction(Transaction::Xa(xa)))
    }

    fn xid(&mut self) -> Result<Xid> {
        let global = self.sql_string()?;
        let (mut branch, mut format) = (SqlString::default(), 1);
        if self.accept_kind(TokenKind::Comma) {
            branch = self.sql_string()?;
            if self.accept_kind(TokenKind::Comma) {
                let offset = self.current.start;
                format = self.unsigned()?;
                if i64::try_from(format).is_err() {
                    return Err(self.syntax_error(offset));
                }
            }
        }
        if global.as_bytes().len() > XID_PART_BYTES_MAX || branch.as_bytes().len() > XID_PART_BYTES_MAX {
            return Err(self.unexpected());
        }
        Ok(Xid { global, branch, format })
    }

    /// LOCK, behind the word.
    pub(super) fn lock(&mut self) -> Result<Statement> {
        if self.accept(K::Instance) {
            self.expect_all(&[K::For, K::Backup])?;
            return Ok(Statement::LockInstance);
        }
        self.expect_any(&[K::Table, K::Tables])?;
        let locks = self.comma_list(|parser| {
            parser.charge(memory::LOCKED_TABLE);
            let table = parser.object_name()?;
            let alias =
                if parser.at_any(&[K::Read, K::Write, K::LowPriority]) { None } else { parser.table_alias()? };
            let low = parser.accept(K::LowPriority);
            let kind = match parser.expect_any(if low { &[K::Write] } else { &[K::Read, K::Write] })? {
                K::Read if parser.accept(K::Local) => TableLockKind::ReadLocal,
                K::Read => TableLockKind::Read,
                _ => {
                    // MariaDB's.
                    parser.accept(K::Concurrent);
                    if low { TableLockKind::LowPriorityWrite } else { TableLockKind::Write }
                }
            };
            Ok(TableLock { table, alias, kind })
        })?;
        let wait = self.lock_wait()?;
        Ok(Statement::LockTables(LockTables { locks, wait }))
    }

    /// BACKUP, behind the word.
    pub(super) fn backup(&mut self) -> Result<Statement> {
        let backup = if self.accept(K::Lock) {
            Backup::Lock(self.object_name()?)
        } else if self.accept(K::Unlock) {
            Backup::Unlock
        } else if self.at_word("stage") {
            self.advance();
            Backup::Stage(self.ident()?)
        } else if self.accept(K::Server) {
            self.expect(K::To)?;
            Backup::Server { directory: self.string()? }
        } else {
            return Err(self.unexpected());
        };
        Ok(Statement::Backup(backup))
    }

    /// UNLOCK, behind the word.
    pub(super) fn unlock(&mut self) -> Result<Statement> {
        if self.accept(K::Instance) {
            return Ok(Statement::UnlockInstance);
        }
        self.expect_any(&[K::Table, K::Tables])?;
        Ok(Statement::UnlockTables)
    }
}
