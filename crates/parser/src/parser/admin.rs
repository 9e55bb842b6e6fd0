//! Administration: KILL, FLUSH, RESET, table maintenance, plugins, prepared statements.

use super::*;

impl Parser<'_> {
    /// KILL, behind the word.
    pub(super) fn kill(&mut self) -> Result<Statement> {
        let soft = self.accept(K::Soft);
        if !soft {
            self.accept(K::Hard);
        }
        let mut kind = KillKind::Connection;
        if !self.accept(K::Connection) && self.accept(K::Query) {
            kind = KillKind::Query;
        }
        let target = if self.accept(K::User) {
            KillTarget::User(self.account_name()?)
        } else {
            let query_id = kind == KillKind::Query && self.accept(K::Id);
            KillTarget::Id { id: self.expr()?, query_id }
        };
        Ok(Statement::Kill(Box::new(Kill { kind, soft, target })))
    }

    /// FLUSH, behind the word.
    pub(super) fn flush(&mut self) -> Result<Statement> {
        let local = self.no_write_to_binlog();
        let targets = if self.at_any(&[K::Table, K::Tables]) {
            vec![self.flush_tables()?]
        } else {
            self.comma_list(Self::flush_target)?
        };
        Ok(Statement::Flush(Flush { local, targets }))
    }

    fn flush_tables(&mut self) -> Result<FlushTarget> {
        self.advance();
        let names = if self.at_ident() { self.comma_list(Self::object_name)? } else { Vec::new() };
        let mut lock = None;
        if self.accept(K::With) {
            self.expect_all(&[K::Read, K::Lock])?;
            lock = Some(FlushLock::ReadLock);
            if self.accept(K::And) {
                self.expect_all(&[K::Disable, K::Checkpoint])?;
                lock = Some(FlushLock::ReadLockDisableCheckpoint);
            }
        } else if !names.is_empty() && self.accept(K::For) {
            self.expect(K::Export)?;
            lock = Some(FlushLock::Export);
        }
        Ok(FlushTarget::Tables { names, lock })
    }

    fn flush_target(&mut self) -> Result<FlushTarget> {
        let keyword = self.current.keyword;
        if self.current.kind != TokenKind::Word {
            return Err(self.unexpected());
        }
        let logs = |parser: &mut Self, target| {
            parser.advance();
            parser.expect(K::Logs)?;
            Ok(target)
        };
        match keyword {
            K::Binary => return logs(self, FlushTarget::BinaryLogs),
            K::Engine => return logs(self, FlushTarget::EngineLogs),
            K::Error => return logs(self, FlushTarget::ErrorLogs),
            K::General => return logs(self, FlushTarget::GeneralLogs),
            K::Slow => return logs(self, FlushTarget::SlowLogs),
            K::Relay => {
                self.advance();
                self.expect(K::Logs)?;
                return Ok(FlushTarget::RelayLogs { channel: self.channel()? });
            }
            K::Query => {
                self.advance();
                self.expect(K::Cache)?;
                return Ok(FlushTarget::Other("QUERY CACHE".into()));
            }
            _ => {}
        }
        let start = self.current.start;
        let name = self.upper_word()?;
        Ok(match &*name {
            "HOSTS" => FlushTarget::Hosts,
            "LOGS" => FlushTarget::Logs,
            "OPTIMIZER_COSTS" => FlushTarget::OptimizerCosts,
            "PRIVILEGES" => FlushTarget::Privileges,
            "STATUS" => FlushTarget::Status,
            "USER_RESOURCES" => FlushTarget::UserResources,
            "DES_KEY_FILE" | "SSL" | "CLIENT_STATISTICS" | "INDEX_STATISTICS" | "TABLE_STATISTICS"
            | "USER_STATISTICS" | "THREADS" | "SLAVE" | "REPLICA" => FlushTarget::Other(name),
            _ => return Err(self.syntax_error(start)),
        })
    }

    /// RESET, behind the word.
    pub(super) fn reset(&mut self) -> Result<Statement> {
        let keyword = self.expect_any(&[K::Binary, K::Master, K::Replica, K::Slave, K::Query, K::Persist])?;
        let reset = match keyword {
            K::Binary | K::Master => {
                if keyword == K::Binary {
                    self.expect_all(&[K::Logs, K::And, K::Gtids])?;
                }
                let to = if self.accept(K::To) { Some(self.unsigned()?) } else { None };
                Reset::BinaryLogs { to }
            }
            K::Query => {
                self.expect(K::Cache)?;
                Reset::QueryCache
            }
            K::Persist if self.accept(K::To) => {
                self.expect_word("version")?;
                Reset::PersistVersion { version: self.unsigned()? }
            }
            K::Persist => {
                let if_exists = self.if_exists()?;
                let ended = matches!(self.current.kind, TokenKind::Eof | TokenKind::Semicolon);
                let variable = if ended && !if_exists { None } else { Some(self.system_variable_name(None)?) };
                Reset::Persist { if_exists, variable }
            }
            _ => {
                let all = self.accept(K::All);
                Reset::Replica { all, channel: self.channel()? }
            }
        };
        Ok(Statement::Reset(reset))
    }

    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR, behind the word.
    pub(super) fn table_maintenance(&mut self, kind: MaintenanceKind) -> Result<Statement> {
        let mut local = false;
        if matches!(kind, MaintenanceKind::Analyze | MaintenanceKind::Optimize | MaintenanceKind::Repair) {
            local = self.no_write_to_binlog();
        }
        let view = matches!(kind, MaintenanceKind::Check | MaintenanceKind::Repair) && self.accept(K::View);
        if !view {
            self.expect_any(&[K::Table, K::Tables])?;
        }
        let tables = self.comma_list(Self::object_name)?;
        let mut maintenance = TableMaintenance { kind, local, tables, options: Vec::new(), histogram: None, view };
        match kind {
            MaintenanceKind::Analyze => {
                if self.at_any(&[K::Update, K::Drop]) {
                    maintenance.histogram = Some(self.histogram()?);
                } else if self.accept(K::Persistent) {
                    self.persistent_for(&mut maintenance.options)?;
                }
            }
            MaintenanceKind::Check => {
                while self.at_any(&[K::For, K::Quick, K::Fast, K::Medium, K::Extended, K::Changed]) {
                    if self.accept(K::For) {
                        self.expect(K::Upgrade)?;
                        maintenance.options.push("FOR UPGRADE".into());
                    } else {
                        maintenance.options.push(self.upper_word()?);
                    }
                }
            }
            MaintenanceKind::Repair => {
                while self.at_any(&[K::Quick, K::Extended, K::UseFrm, K::Force]) {
                    maintenance.options.push(self.upper_word()?);
                }
                if view && self.accept(K::From) {
                    self.expect_word("MYSQL")?;
                    maintenance.options.push("FROM MYSQL".into());
                }
            }
            MaintenanceKind::Checksum => {
                if self.at_any(&[K::Quick, K::Extended]) {
                    maintenance.options.push(self.upper_word()?);
                }
            }
            MaintenanceKind::Optimize => {}
        }
        Ok(Statement::TableMaintenance(Box::new(maintenance)))
    }

    /// MariaDB's `PERSISTENT FOR ALL` or `PERSISTENT FOR COLUMNS (…) INDEXES (…)`.
    fn persistent_for(&mut self, options: &mut Vec<Box<str>>) -> Result<()> {
        let start = self.current.start as usize;
        self.expect(K::For)?;
        if self.accept(K::All) {
            options.push("PERSISTENT FOR ALL".into());
            return Ok(());
        }
        for word in [K::Columns, K::Indexes] {
            self.expect(word)?;
            if self.accept(K::All) {
                continue;
            }
            self.expect_kind(TokenKind::LeftParen)?;
            while !self.at_kind(TokenKind::RightParen) {
                self.any_word()?;
                if !self.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        let text = String::from_utf8_lossy(&self.sql[start..self.previous_end as usize]);
        options.push(format!("PERSISTENT {text}").into());
        Ok(())
    }

    fn histogram(&mut self) -> Result<Histogram> {
        let update = self.advance().keyword == K::Update;
        self.expect_all(&[K::Histogram, K::On])?;
        let columns = self.ident_list()?;
        let mut histogram = Histogram { update, columns, buckets: None, data: None, automatic: None };
        if update {
            if self.accept(K::With) {
                histogram.buckets = Some(self.unsigned()?);
                self.expect(K::Buckets)?;
            }
            if self.at_any(&[K::Auto, K::Manual]) {
                histogram.automatic = Some(self.advance().keyword == K::Auto);
                self.expect(K::Update)?;
            } else if self.accept(K::Using) {
                self.expect(K::Data)?;
                histogram.data = Some(self.string()?);
            }
        }
        Ok(histogram)
    }

    /// CACHE INDEX, behind the word CACHE.
    pub(super) fn cache_index(&mut self) -> Result<Statement> {
        self.expect(K::Index)?;
        let tables = self.cached_tables(false)?;
        self.expect(K::In)?;
        Ok(Statement::CacheIndex { tables, cache: self.any_word()? })
    }

    /// INSTALL, behind the word.
    pub(super) fn install(&mut self) -> Result<Statement> {
        let install = match self.expect_any(&[K::Plugin, K::Soname, K::Component])? {
            K::Plugin => {
                let name = self.ident()?;
                self.expect(K::Soname)?;
                Install::Plugin { name, library: self.string()? }
            }
            K::Soname => Install::Library(self.string()?),
            _ => {
                let names = self.comma_list(Self::string)?;
                let settings = if self.accept(K::Set) { self.set_items()? } else { Vec::new() };
                Install::Components { names, settings }
            }
        };
        Ok(Statement::Install(Box::new(install)))
    }

    /// UNINSTALL, behind the word.
    pub(super) fn uninstall(&mut self) -> Result<Statement> {
        Ok(Statement::Uninstall(match self.expect_any(&[K::Plugin, K::Soname, K::Component])? {
            K::Plugin => Uninstall::Plugin { if_exists: self.if_exists()?, name: self.ident()? },
            K::Soname => Uninstall::Library { if_exists: self.if_exists()?, library: self.string()? },
            _ => Uninstall::Components(self.comma_list(Self::string)?),
        }))
    }

    /// PREPARE, behind the word.
    pub(super) fn prepare(&mut self) -> Result<Statement> {
        let name = self.ident()?;
        self.expect(K::From)?;
        Ok(Statement::Prepare(Prepare { name, source: self.expr()? }))
    }

    /// EXECUTE, behind the word.
    pub(super) fn execute(&mut self) -> Result<Statement> {
        let immediate = self.at(K::Immediate) && !matches!(self.peek(1).kind, TokenKind::Eof | TokenKind::Semicolon);
        if immediate && !self.peek_is(1, K::Using) {
            self.advance();
            let source = self.expr()?;
            return Ok(Statement::ExecuteImmediate(ExecuteImmediate { source, using: self.using()? }));
        }
        if self.at_kind(TokenKind::String) || self.at_kind(TokenKind::At) {
            return self.execute_text();
        }
        let name = self.ident()?;
        Ok(Statement::Execute(Execute { name, using: self.using()? }))
    }

    /// EXECUTE of a text, at the text.
    fn execute_text(&mut self) -> Result<Statement> {
        let source = self.expr()?;
        if !matches!(source, Expr::Literal(_) | Expr::UserVariable(_)) {
            return Err(self.unexpected());
        }
        let using = self.using()?;
        let no_return = self.accept(K::With);
        if no_return {
            self.expect(K::No)?;
            self.expect(K::Return)?;
        }
        let concurrent = self.accept(K::Concurrent);
        let wait = self.accept(K::Wait);
        Ok(Statement::ExecuteText(Box::new(ExecuteText { source, using, no_return, concurrent, wait })))
    }

    fn using(&mut self) -> Result<Vec<Expr>> {
        if self.accept(K::Using) { self.comma_list(Self::value_or_default) } else { Ok(Vec::new()) }
    }
}
