//! CREATE, ALTER, DROP and RENAME: finds the kind of object, and parses the smaller objects.

use super::*;

/// The words between CREATE and the kind of object.
#[derive(Default)]
pub(super) struct CreatePrefix {
    pub or_replace: bool,
    pub definer: Option<AccountName>,
    pub algorithm: Option<ViewAlgorithm>,
    pub security: Option<Security>,
    pub temporary: bool,
    pub aggregate: bool,
}

impl Parser<'_> {
    /// CREATE, behind the word.
    pub(super) fn create(&mut self) -> Result<Statement> {
        let mut prefix = CreatePrefix::default();
        if self.at(K::Or) {
            self.advance();
            self.expect(K::Replace)?;
            prefix.or_replace = true;
        }
        self.view_prefix(&mut prefix)?;
        prefix.temporary = self.accept(K::Temporary);
        let unnamed = prefix.definer.is_none() && prefix.algorithm.is_none() && prefix.security.is_none();
        let keyword = self.current.keyword;
        match keyword {
            K::View if !prefix.temporary => {
                self.advance();
                return self.create_view(prefix, false);
            }
            K::Procedure | K::Function | K::Aggregate | K::Trigger | K::Event
                if prefix.algorithm.is_none() && prefix.security.is_none() && !prefix.temporary =>
            {
                prefix.aggregate = self.accept(K::Aggregate);
                let kinds = [K::Function, K::Procedure, K::Trigger, K::Event];
                let kinds = if prefix.aggregate { &kinds[..1] } else { &kinds[..] };
                return match self.expect_any(kinds)? {
                    K::Procedure => self.create_procedure(prefix),
                    K::Function => self.create_function(prefix),
                    K::Trigger => self.create_trigger(prefix),
                    _ => self.create_event(prefix, false),
                };
            }
            _ if !unnamed => return Err(self.unexpected()),
            _ => {}
        }
        let or_replace = prefix.or_replace;
        if !prefix.temporary && self.accept_http("ENDPOINT") {
            return self.create_http_endpoint(or_replace);
        }
        if !prefix.temporary && !or_replace && self.accept_api("TOKEN") {
            return self.create_api_token();
        }
        let start = self.current.start;
        self.advance();
        match keyword {
            K::Table => self.create_table(or_replace, prefix.temporary),
            K::Sequence => self.create_sequence(or_replace, prefix.temporary),
            _ if prefix.temporary => Err(self.syntax_error(start)),
            K::Database | K::Schema => self.create_database(or_replace),
            K::Index => self.create_index(or_replace, IndexKind::Plain),
            K::Unique | K::Fulltext | K::Spatial | K::Vector => {
                if keyword == K::Spatial && self.at(K::Reference) {
                    return self.unsupported("CREATE SPATIAL REFERENCE SYSTEM");
                }
                self.expect(K::Index)?;
                let kind = match keyword {
                    K::Unique => IndexKind::Unique,
                    K::Fulltext => IndexKind::Fulltext,
                    K::Vector => IndexKind::Vector,
                    _ => IndexKind::Spatial,
                };
                self.create_index(or_replace, kind)
            }
            K::Column => {
                self.expect(K::Index)?;
                self.create_index(or_replace, IndexKind::Columnar)
            }
            K::User => self.create_user(or_replace, false),
            K::Role => self.create_role(or_replace),
            K::Server => self.create_server(),
            K::Tablespace => self.unsupported("CREATE TABLESPACE"),
            K::Undo if self.at(K::Tablespace) => self.unsupported("CREATE UNDO TABLESPACE"),
            K::Logfile if self.at(K::Group) => self.unsupported("CREATE LOGFILE GROUP"),
            K::Resource if self.at(K::Group) => self.unsupported("CREATE RESOURCE GROUP"),
            _ => Err(self.syntax_error(start)),
        }
    }

    /// ALGORITHM, DEFINER and SQL SECURITY, in any order.
    pub(super) fn view_prefix(&mut self, prefix: &mut CreatePrefix) -> Result<()> {
        loop {
            match self.keyword() {
                K::Algorithm => {
                    self.advance();
                    self.expect_kind(TokenKind::Equal)?;
                    prefix.algorithm = Some(match self.expect_any(&[K::Undefined, K::Merge, K::Temptable])? {
                        K::Undefined => ViewAlgorithm::Undefined,
                        K::Merge => ViewAlgorithm::Merge,
                        _ => ViewAlgorithm::TempTable,
                    });
                }
                K::Definer => {
                    self.advance();
                    self.expect_kind(TokenKind::Equal)?;
                    prefix.definer = Some(self.account_name()?);
                }
                K::Sql => {
                    self.advance();
                    prefix.security = Some(self.security()?);
                }
                _ => return Ok(()),
            }
        }
    }

    /// `SECURITY DEFINER|INVOKER`.
    pub(super) fn security(&mut self) -> Result<Security> {
        self.expect(K::Security)?;
        Ok(match self.expect_any(&[K::Definer, K::Invoker])? {
            K::Definer => Security::Definer,
            _ => Security::Invoker,
        })
    }

    /// ALTER, behind the word.
    pub(super) fn alter(&mut self) -> Result<Statement> {
        let mut prefix = CreatePrefix::default();
        self.view_prefix(&mut prefix)?;
        let unnamed = prefix.definer.is_none() && prefix.algorithm.is_none() && prefix.security.is_none();
        let keyword = self.current.keyword;
        match keyword {
            K::View => {
                self.advance();
                return self.create_view(prefix, true);
            }
            K::Event => {
                self.advance();
                return self.create_event(prefix, true);
            }
            _ if !unnamed => return Err(self.unexpected()),
            _ if self.accept_http("ENDPOINT") => return self.alter_http_endpoint(),
            K::Online | K::Ignore => {
                let online = self.accept(K::Online);
                let ignore = self.accept(K::Ignore);
                self.expect(K::Table)?;
                return self.alter_table(online, ignore);
            }
            _ => {}
        }
        match keyword {
            K::Table => {
                self.advance();
                self.alter_table(false, false)
            }
            K::Database | K::Schema => {
                self.advance();
                self.alter_database()
            }
            K::User => {
                self.advance();
                self.create_user(false, true)
            }
            K::Procedure | K::Function => {
                self.advance();
                self.alter_routine(keyword == K::Function)
            }
            K::Sequence => {
                self.advance();
                let if_exists = self.if_exists()?;
                let name = self.object_name()?;
                let options = self.sequence_options()?;
                if options.is_empty() {
                    return Err(self.unexpected_next());
                }
                Ok(Statement::AlterSequence(Box::new(AlterSequence { if_exists, name, options })))
            }
            K::Server => {
                self.advance();
                let name = self.ident_or_string()?;
                Ok(Statement::AlterServer { name, options: self.server_options()? })
            }
            K::Instance => self.unsupported("ALTER INSTANCE"),
            K::Tablespace => self.unsupported("ALTER TABLESPACE"),
            K::Undo if self.peek_is(1, K::Tablespace) => self.unsupported("ALTER UNDO TABLESPACE"),
            K::Logfile if self.peek_is(1, K::Group) => self.unsupported("ALTER LOGFILE GROUP"),
            K::Resource if self.peek_is(1, K::Group) => self.unsupported("ALTER RESOURCE GROUP"),
            _ => Err(self.unexpected()),
        }
    }

    /// A statement that MySQL has and that is known here by its first words only.
    pub(super) fn unsupported<T>(&self, what: &str) -> Result<T> {
        self.error(1235, "42000", format!("This version of MySQL doesn't yet support '{what}'"))
    }

    /// DROP, behind the word.
    pub(super) fn drop(&mut self) -> Result<Statement> {
        let temporary = self.accept(K::Temporary);
        let keyword = self.current.keyword;
        if temporary && !matches!(keyword, K::Table | K::Tables | K::Sequence) {
            return Err(self.unexpected());
        }
        if !temporary && self.accept_http("ENDPOINT") {
            return Ok(Statement::DropHttpEndpoint { if_exists: self.if_exists()?, name: self.ident()? });
        }
        if !temporary && self.accept_api("TOKEN") {
            return self.drop_api_token();
        }
        let single = |parser: &mut Self| {
            parser.advance();
            let if_exists = parser.if_exists()?;
            Ok::<_, Box<ParseError>>(DropObject { temporary, if_exists, names: vec![parser.object_name()?] })
        };
        Ok(match keyword {
            K::Table | K::Tables => {
                self.advance();
                let if_exists = self.if_exists()?;
                let names = self.comma_list(Self::object_name)?;
                let behavior = self.drop_behavior();
                Statement::DropTable(Box::new(DropTable { temporary, if_exists, names, behavior }))
            }
            K::Database | K::Schema => {
                self.advance();
                Statement::DropDatabase(DropDatabase { if_exists: self.if_exists()?, name: self.ident()? })
            }
            K::View => {
                self.advance();
                let if_exists = self.if_exists()?;
                let names = self.comma_list(Self::object_name)?;
                Statement::DropView(DropView { if_exists, names, behavior: self.drop_behavior() })
            }
            K::Index => {
                self.advance();
                let if_exists = self.if_exists()?;
                let name = if self.at(K::Primary) {
                    let token = self.advance();
                    self.ident_of(token)?
                } else {
                    self.ident()?
                };
                self.expect(K::On)?;
                let table = self.object_name()?;
                let (algorithm, lock) = self.algorithm_and_lock()?;
                Statement::DropIndex(Box::new(DropIndex { if_exists, name, table, algorithm, lock }))
            }
            K::Procedure => Statement::DropProcedure(single(self)?),
            K::Function => Statement::DropFunction(single(self)?),
            K::Trigger => Statement::DropTrigger(single(self)?),
            K::Event => Statement::DropEvent(single(self)?),
            K::Sequence => {
                self.advance();
                let if_exists = self.if_exists()?;
                let names = self.comma_list(Self::object_name)?;
                Statement::DropSequence(DropObject { temporary, if_exists, names })
            }
            K::User | K::Role => {
                self.advance();
                let if_exists = self.if_exists()?;
                let names = self.comma_list(Self::account_name)?;
                let dropped = DropUser { if_exists, names };
                if keyword == K::User { Statement::DropUser(dropped) } else { Statement::DropRole(dropped) }
            }
            K::Server => {
                self.advance();
                Statement::DropServer { if_exists: self.if_exists()?, name: self.ident_or_string()? }
            }
            K::Prepare => {
                self.advance();
                Statement::Deallocate(self.ident()?)
            }
            K::Tablespace => return self.unsupported("DROP TABLESPACE"),
            K::Undo if self.peek_is(1, K::Tablespace) => return self.unsupported("DROP UNDO TABLESPACE"),
            K::Logfile if self.peek_is(1, K::Group) => return self.unsupported("DROP LOGFILE GROUP"),
            K::Resource if self.peek_is(1, K::Group) => return self.unsupported("DROP RESOURCE GROUP"),
            K::Spatial if self.peek_is(1, K::Reference) => return self.unsupported("DROP SPATIAL REFERENCE SYSTEM"),
            _ => return Err(self.unexpected()),
        })
    }

    /// RENAME, behind the word.
    pub(super) fn rename(&mut self) -> Result<Statement> {
        if self.accept(K::User) {
            let renames = self.comma_list(|parser| {
                let old = parser.account_name()?;
                parser.expect(K::To)?;
                Ok((old, parser.account_name()?))
            })?;
            return Ok(Statement::RenameUser(renames));
        }
        self.expect_any(&[K::Table, K::Tables])?;
        let if_exists = self.if_exists()?;
        let renames = self.comma_list(|parser| {
            let old = parser.object_name()?;
            parser.expect(K::To)?;
            Ok((old, parser.object_name()?))
        })?;
        Ok(Statement::RenameTable(RenameTable { if_exists, renames }))
    }

    fn create_database(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase(Box::new(CreateDatabase { or_replace, if_not_exists, name, options })))
    }

    fn alter_database(&mut self) -> Result<Statement> {
        let option_next = self.at_any(&[K::Charset, K::Character, K::Char, K::Collate, K::Default, K::Encryption])
            || (self.at(K::Read) && self.peek_is(1, K::Only))
            || (self.at(K::Comment) && !self.peek_is(1, K::Comment));
        // The words that are no reserved ones may be the database's name.
        let next = self.peek(1);
        let is_name = self.at_ident()
            && (!option_next
                || matches!(next.keyword, K::Charset | K::Collate | K::Default | K::Encryption | K::Read | K::Comment)
                    && next.kind == TokenKind::Word
                    && !self.at(K::Default));
        let name = if is_name { Some(self.ident()?) } else { None };
        let options = self.database_options()?;
        if options.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Statement::AlterDatabase(Box::new(AlterDatabase { name, options })))
    }

    fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        let mut options = Vec::new();
        loop {
            let default = self.accept(K::Default);
            let option = if self.accept_charset_words()? {
                self.accept_equal();
                let charset = if self.accept(K::Default) { None } else { Some(self.charset_name()?) };
                DatabaseOption::Charset(charset)
            } else if self.accept(K::Collate) {
                self.accept_equal();
                DatabaseOption::Collate(self.collation_name()?)
            } else if self.accept(K::Encryption) {
                self.accept_equal();
                let offset = self.current.start;
                match &*self.string()? {
                    "Y" | "y" => DatabaseOption::Encryption(true),
                    "N" | "n" => DatabaseOption::Encryption(false),
                    _ => return Err(self.syntax_error(offset)),
                }
            } else if !default && self.at(K::Read) {
                self.advance();
                self.expect(K::Only)?;
                self.accept_equal();
                if self.accept(K::Default) {
                    DatabaseOption::ReadOnly(None)
                } else {
                    DatabaseOption::ReadOnly(Some(self.unsigned()? != 0))
                }
            } else if !default && self.accept(K::Comment) {
                self.accept_equal();
                DatabaseOption::Comment(self.string()?)
            } else if default {
                return Err(self.unexpected());
            } else {
                return Ok(options);
            };
            options.push(option);
        }
    }

    fn create_sequence(&mut self, or_replace: bool, temporary: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let options = self.sequence_options()?;
        let table_options = self.table_options()?;
        Ok(Statement::CreateSequence(Box::new(CreateSequence {
            or_replace,
            temporary,
            if_not_exists,
            name,
            options,
            table_options,
        })))
    }

    fn sequence_options(&mut self) -> Result<Vec<SequenceOption>> {
        let mut options = Vec::new();
        loop {
            let option = match self.keyword() {
                K::Increment => {
                    self.advance();
                    if !self.accept(K::By) {
                        self.accept_equal();
                    }
                    SequenceOption::Increment(self.signed()?)
                }
                K::Minvalue => {
                    self.advance();
                    self.accept_equal();
                    SequenceOption::MinValue(Some(self.signed()?))
                }
                K::Maxvalue => {
                    self.advance();
                    self.accept_equal();
                    SequenceOption::MaxValue(Some(self.signed()?))
                }
                K::Start => {
                    self.advance();
                    if !self.accept(K::With) {
                        self.accept_equal();
                    }
                    SequenceOption::Start(self.signed()?)
                }
                K::Cache => {
                    self.advance();
                    self.accept_equal();
                    SequenceOption::Cache(Some(self.signed()?))
                }
                K::Cycle => {
                    self.advance();
                    SequenceOption::Cycle(true)
                }
                K::Nocache => {
                    self.advance();
                    SequenceOption::Cache(None)
                }
                K::Nocycle => {
                    self.advance();
                    SequenceOption::Cycle(false)
                }
                K::Nominvalue => {
                    self.advance();
                    SequenceOption::MinValue(None)
                }
                K::Nomaxvalue => {
                    self.advance();
                    SequenceOption::MaxValue(None)
                }
                K::No => {
                    self.advance();
                    match self.expect_any(&[K::Minvalue, K::Maxvalue, K::Cache, K::Cycle])? {
                        K::Minvalue => SequenceOption::MinValue(None),
                        K::Maxvalue => SequenceOption::MaxValue(None),
                        K::Cache => SequenceOption::Cache(None),
                        _ => SequenceOption::Cycle(false),
                    }
                }
                K::Restart => {
                    self.advance();
                    let with = self.accept(K::With) || self.accept_kind(TokenKind::Equal);
                    let number = matches!(self.current.kind, TokenKind::Integer | TokenKind::Minus | TokenKind::Plus);
                    SequenceOption::Restart(if with || number { Some(self.signed()?) } else { None })
                }
                _ => return Ok(options),
            };
            options.push(option);
        }
    }

    fn create_server(&mut self) -> Result<Statement> {
        let name = self.ident_or_string()?;
        self.expect_all(&[K::Foreign, K::Data, K::Wrapper])?;
        let wrapper = self.ident_or_string()?;
        let options = self.server_options()?;
        Ok(Statement::CreateServer(Box::new(CreateServer { name, wrapper, options })))
    }

    fn server_options(&mut self) -> Result<Vec<(Ident, Box<str>)>> {
        self.expect(K::Options)?;
        self.parenthesized_list(|parser| {
            let is_number = parser.at_word("PORT");
            let texts = ["HOST", "DATABASE", "USER", "PASSWORD", "SOCKET", "OWNER"];
            if !is_number && !texts.iter().any(|name| parser.at_word(name)) {
                return Err(parser.unexpected());
            }
            let name = parser.any_word()?;
            let value = if is_number { parser.number_text()? } else { parser.string()? };
            Ok((name, value))
        })
    }
}
