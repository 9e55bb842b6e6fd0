//! Finds the kind of a statement by its first words.

use super::*;

impl Parser<'_> {
    /// Any statement.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        if self.at_kind(TokenKind::LeftParen) {
            return Ok(Statement::Query(Box::new(self.query()?)));
        }
        let keyword = self.current.keyword;
        match keyword {
            K::Select | K::Table | K::Values => return Ok(Statement::Query(Box::new(self.query()?))),
            K::With => return self.with_statement(),
            K::Begin if !self.in_program && self.peek_is(1, K::Not) => return self.anonymous_block(),
            K::If | K::Case | K::For | K::While | K::Loop | K::Repeat if !self.in_program => return self.compound(),
            K::None => return Err(self.unexpected()),
            _ => {}
        }
        let token = self.advance();
        match keyword {
            K::Insert => self.insert(false),
            K::Replace => self.insert(true),
            K::Update => self.update(None),
            K::Delete => self.delete(None),
            K::Load => self.load(),
            K::Do => self.do_statement(),
            K::Call => self.call_statement(),
            K::Handler => self.handler(),

            K::Create => self.create(),
            K::Alter => self.alter(),
            K::Drop => self.drop(),
            K::Rename => self.rename(),
            K::Truncate => self.truncate(),

            K::Start => self.start(),
            K::Begin => self.begin(),
            K::Commit => self.end_transaction(true),
            K::Rollback => self.end_transaction(false),
            K::Savepoint => Ok(Statement::Transaction(Transaction::Savepoint(self.ident()?))),
            K::Release => self.release(),
            K::Xa => self.xa(),
            K::Lock => self.lock(),
            K::Unlock => self.unlock(),
            K::Backup => self.backup(),

            K::Set => self.set(),
            K::Use => Ok(Statement::Use(self.ident()?)),
            K::Show => self.show(),
            K::Explain | K::Describe | K::Desc => self.explain(),
            K::Help => Ok(Statement::Help(self.ident_or_string()?.value)),

            K::Prepare => self.prepare(),
            K::Execute => self.execute(),
            K::Deallocate => {
                self.expect(K::Prepare)?;
                Ok(Statement::Deallocate(self.ident()?))
            }

            K::Grant => self.grant(),
            K::Revoke => self.revoke(),

            K::Kill => self.kill(),
            K::Flush => self.flush(),
            K::Reset => self.reset(),
            K::Analyze => {
                if self.at_any(&[K::Table, K::Tables, K::NoWriteToBinlog, K::Local]) {
                    return self.table_maintenance(MaintenanceKind::Analyze);
                }
                self.analyze_statement()
            }
            K::Check => self.table_maintenance(MaintenanceKind::Check),
            K::Checksum => self.table_maintenance(MaintenanceKind::Checksum),
            K::Optimize => self.table_maintenance(MaintenanceKind::Optimize),
            K::Repair => self.table_maintenance(MaintenanceKind::Repair),
            K::Cache => self.cache_index(),
            K::Install => self.install(),
            K::Uninstall => self.uninstall(),
            K::Purge => self.purge(),
            K::Change => self.change(),
            K::Stop => self.stop(),
            K::Binlog => Ok(Statement::Replication(Box::new(Replication::Binlog(self.sql_string()?)))),
            K::Shutdown => Ok(Statement::Shutdown),
            K::Restart => Ok(Statement::Restart),
            K::Import if self.at(K::Table) => self.unsupported("IMPORT TABLE"),
            K::Clone if self.at_any(&[K::Local, K::Instance]) => self.unsupported("CLONE"),
            K::Get => self.get_diagnostics(),
            K::Signal => self.signal(false),
            K::Resignal => self.signal(true),
            _ => Err(self.syntax_error(token.start)),
        }
    }

    /// TRUNCATE, behind the word.
    fn truncate(&mut self) -> Result<Statement> {
        self.accept(K::Table);
        Ok(Statement::TruncateTable(self.object_name()?))
    }

    /// A statement that begins with WITH: a query, an UPDATE or a DELETE.
    fn with_statement(&mut self) -> Result<Statement> {
        let with = self.with()?;
        match self.keyword() {
            K::Update => {
                self.advance();
                self.update(with)
            }
            K::Delete => {
                self.advance();
                self.delete(with)
            }
            _ => Ok(Statement::Query(Box::new(self.measured(|parser| parser.query_body(with))?))),
        }
    }
}
