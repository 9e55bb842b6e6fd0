//! SHOW.

use super::variable::scope_of;
use super::*;

/// A log, a position in it, and how many events.
type EventsRange = (Option<Box<str>>, Option<u64>, Option<Limit>);

impl Parser<'_> {
    /// SHOW, behind the word.
    pub(super) fn show(&mut self) -> Result<Statement> {
        self.show_kind().map(|show| Statement::Show(Box::new(show)))
    }

    fn show_kind(&mut self) -> Result<Show> {
        let keyword = self.current.keyword;
        let start = self.current.start;
        if !matches!(self.current.kind, TokenKind::Word | TokenKind::FunctionName) {
            return Err(self.unexpected());
        }
        if self.accept_http("ENDPOINTS") {
            return Ok(Show::HttpEndpoints(self.show_filter()?));
        }
        if self.accept_api("TOKENS") {
            return Ok(Show::ApiTokens(self.show_filter()?));
        }
        if matches!(keyword, K::Extended | K::Full) {
            return self.show_full();
        }
        self.advance();
        Ok(match keyword {
            K::Databases | K::Schemas => Show::Databases(self.show_filter()?),
            K::Tables => self.show_tables(false, false)?,
            K::Columns | K::Fields => self.show_columns(false, false)?,
            K::Index | K::Indexes | K::Keys => self.show_indexes(false)?,
            K::Create => self.show_create()?,
            K::Variables => Show::Variables { scope: None, filter: self.show_filter()? },
            K::Status => Show::Status { scope: None, filter: self.show_filter()? },
            K::Global | K::Session | K::Local => {
                let scope = scope_of(keyword);
                match self.expect_any(&[K::Variables, K::Status])? {
                    K::Variables => Show::Variables { scope, filter: self.show_filter()? },
                    _ => Show::Status { scope, filter: self.show_filter()? },
                }
            }
            K::Warnings => Show::Warnings(self.limit()?),
            K::Errors => Show::Errors(self.limit()?),
            K::Count if self.at_kind(TokenKind::LeftParen) => {
                self.advance();
                self.expect_kind(TokenKind::Star)?;
                self.expect_kind(TokenKind::RightParen)?;
                match self.expect_any(&[K::Warnings, K::Errors])? {
                    K::Warnings => Show::WarningCount,
                    _ => Show::ErrorCount,
                }
            }
            K::Processlist => Show::ProcessList { full: false },
            K::Table | K::Open | K::Triggers | K::Events => self.show_of_schema(keyword)?,
            K::Character | K::Char => {
                self.expect(K::Set)?;
                Show::CharacterSets(self.show_filter()?)
            }
            K::Charset => Show::CharacterSets(self.show_filter()?),
            K::Collation => Show::Collations(self.show_filter()?),
            K::Engines => Show::Engines,
            K::Storage => {
                self.expect(K::Engines)?;
                Show::Engines
            }
            K::Engine => self.show_engine()?,
            K::Plugins => self.show_plugins()?,
            K::Privileges => Show::Privileges,
            K::Procedure | K::Function => self.show_routine(keyword == K::Procedure)?,
            K::Grants => self.show_grants()?,
            K::Profiles => Show::Profiles,
            K::Profile => self.show_profile()?,
            K::Binary | K::Binlog | K::Relaylog | K::Replicas | K::Replica | K::Slave => {
                self.show_replication(keyword)?
            }
            K::All if self.at_any(&[K::Slaves, K::Replicas]) => {
                self.advance();
                self.expect(K::Status)?;
                Show::ReplicaStatus { channel: None, all: true }
            }
            K::ParseTree => Show::ParseTree(Box::new(self.nested(Self::statement)?)),
            K::Authors => Show::Authors,
            K::Contributors => Show::Contributors,
            K::Explain | K::Analyze => self.show_explain()?,
            _ => self.show_information(start)?,
        })
    }

    /// SHOW EXPLAIN [FORMAT = …] FOR id, behind the first word.
    fn show_explain(&mut self) -> Result<Show> {
        if self.accept(K::Format) {
            self.accept_equal();
            self.any_word()?;
        }
        self.expect(K::For)?;
        Ok(Show::ExplainFor(self.expr()?))
    }

    /// TABLE STATUS, OPEN TABLES, TRIGGERS and EVENTS of a database, behind the first word.
    fn show_of_schema(&mut self, keyword: K) -> Result<Show> {
        match keyword {
            K::Table => self.expect(K::Status)?,
            K::Open => self.expect(K::Tables)?,
            _ => {}
        }
        let schema = self.source_schema()?;
        let filter = self.show_filter()?;
        Ok(match keyword {
            K::Table => Show::TableStatus { schema, filter },
            K::Open => Show::OpenTables { schema, filter },
            K::Triggers => Show::Triggers { schema, filter },
            _ => Show::Events { schema, filter },
        })
    }

    fn show_engine(&mut self) -> Result<Show> {
        let name = self.any_word()?;
        let what = match self.expect_any(&[K::Status, K::Mutex, K::Logs])? {
            K::Status => EngineInformation::Status,
            K::Mutex => EngineInformation::Mutex,
            _ => EngineInformation::Logs,
        };
        Ok(Show::Engine { name, what })
    }

    fn show_plugins(&mut self) -> Result<Show> {
        if !self.accept(K::Soname) {
            return Ok(Show::Plugins { soname: None, all: false });
        }
        let soname = match self.at_kind(TokenKind::String) {
            true => Some(ShowFilter::Like(self.string()?)),
            false => self.show_filter()?,
        };
        Ok(Show::Plugins { soname, all: true })
    }

    fn show_grants(&mut self) -> Result<Show> {
        let (mut user, mut using) = (None, Vec::new());
        if self.accept(K::For) {
            user = Some(self.account_name()?);
            if self.accept(K::Using) {
                using = self.comma_list(Self::account_name)?;
            }
        }
        Ok(Show::Grants { user, using })
    }

    /// Logs of changes and replicas, behind the first word.
    fn show_replication(&mut self, keyword: K) -> Result<Show> {
        Ok(match keyword {
            K::Binary => match self.expect_any(&[K::Logs, K::Log])? {
                K::Logs => Show::BinaryLogs,
                _ => {
                    self.expect(K::Status)?;
                    Show::BinaryLogStatus
                }
            },
            K::Binlog => {
                if self.accept(K::Status) {
                    return Ok(Show::BinaryLogStatus);
                }
                self.expect(K::Events)?;
                let (log, position, limit) = self.events_range()?;
                Show::BinlogEvents { log, position, limit }
            }
            K::Relaylog => {
                self.expect(K::Events)?;
                let (log, position, limit) = self.events_range()?;
                Show::RelaylogEvents { log, position, limit, channel: self.channel()? }
            }
            K::Replicas => Show::Replicas,
            _ => {
                if self.accept(K::Hosts) {
                    return Ok(Show::Replicas);
                }
                // MariaDB names a connection where MySQL has FOR CHANNEL.
                let named = if self.at_kind(TokenKind::String) { Some(self.string()?) } else { None };
                self.expect(K::Status)?;
                let channel = self.channel()?;
                Show::ReplicaStatus { channel: channel.or(named), all: false }
            }
        })
    }

    /// A table of information by its name, as plugins have them.
    fn show_information(&mut self, start: u32) -> Result<Show> {
        let name = Ident::new(super::name::lossy(&self.sql[start as usize..self.previous_end as usize]));
        let plugin = ["CLIENT_STATISTICS", "INDEX_STATISTICS", "TABLE_STATISTICS", "USER_STATISTICS"];
        if !plugin.iter().any(|known| name.is(known)) {
            return Err(self.syntax_error(start));
        }
        Ok(Show::Information { name, filter: self.show_filter()? })
    }

    /// The part behind SHOW EXTENDED and SHOW FULL.
    fn show_full(&mut self) -> Result<Show> {
        let extended = self.accept(K::Extended);
        let full = self.accept(K::Full);
        let keyword = self.current.keyword;
        match keyword {
            K::Processlist if full && !extended => {
                self.advance();
                Ok(Show::ProcessList { full })
            }
            K::Tables => {
                self.advance();
                self.show_tables(extended, full)
            }
            K::Columns | K::Fields => {
                self.advance();
                self.show_columns(extended, full)
            }
            K::Index | K::Indexes | K::Keys if !full => {
                self.advance();
                self.show_indexes(extended)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn show_tables(&mut self, extended: bool, full: bool) -> Result<Show> {
        let schema = self.source_schema()?;
        Ok(Show::Tables { extended, full, schema, filter: self.show_filter()? })
    }

    fn show_columns(&mut self, extended: bool, full: bool) -> Result<Show> {
        let table = self.source_table()?;
        Ok(Show::Columns { extended, full, table, filter: self.show_filter()? })
    }

    fn show_indexes(&mut self, extended: bool) -> Result<Show> {
        let table = self.source_table()?;
        let filter = if self.accept(K::Where) { Some(ShowFilter::Where(self.expr()?)) } else { None };
        Ok(Show::Indexes { extended, table, filter })
    }

    /// `FROM table [FROM schema]`.
    fn source_table(&mut self) -> Result<ObjectName> {
        self.expect_any(&[K::From, K::In])?;
        let mut table = self.object_name()?;
        if let Some(schema) = self.source_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    /// `FROM schema` or nothing.
    fn source_schema(&mut self) -> Result<Option<Ident>> {
        if self.accept(K::From) || self.accept(K::In) { self.ident().map(Some) } else { Ok(None) }
    }

    pub(super) fn show_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.accept(K::Like) {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        if self.accept(K::Where) {
            return Ok(Some(ShowFilter::Where(self.expr()?)));
        }
        Ok(None)
    }

    fn show_create(&mut self) -> Result<Show> {
        if self.accept_http("ENDPOINT") {
            return Ok(Show::CreateHttpEndpoint(self.ident()?));
        }
        let keyword = self.current.keyword;
        let start = self.current.start;
        self.advance();
        Ok(match keyword {
            K::Table => Show::CreateTable(self.object_name()?),
            K::View => Show::CreateView(self.object_name()?),
            K::Database | K::Schema => {
                let if_not_exists = self.if_not_exists()?;
                Show::CreateDatabase { if_not_exists, name: self.ident()? }
            }
            K::Procedure => Show::CreateProcedure(self.object_name()?),
            K::Function => Show::CreateFunction(self.object_name()?),
            K::Trigger => Show::CreateTrigger(self.object_name()?),
            K::Event => Show::CreateEvent(self.object_name()?),
            K::Sequence => Show::CreateSequence(self.object_name()?),
            K::User => {
                let ended = matches!(self.current.kind, TokenKind::Eof | TokenKind::Semicolon);
                Show::CreateUser(if ended { None } else { Some(self.account_name()?) })
            }
            _ => return Err(self.syntax_error(start)),
        })
    }

    fn show_routine(&mut self, procedure: bool) -> Result<Show> {
        if self.accept(K::Code) {
            let name = self.object_name()?;
            return Ok(if procedure { Show::ProcedureCode(name) } else { Show::FunctionCode(name) });
        }
        self.expect(K::Status)?;
        let filter = self.show_filter()?;
        Ok(if procedure { Show::ProcedureStatus(filter) } else { Show::FunctionStatus(filter) })
    }

    fn show_profile(&mut self) -> Result<Show> {
        let mut types = Vec::new();
        loop {
            let keyword = self.current.keyword;
            let profile = match keyword {
                K::All => ProfileType::All,
                K::Block => ProfileType::BlockIo,
                K::Context => ProfileType::ContextSwitches,
                K::Cpu => ProfileType::Cpu,
                K::Ipc => ProfileType::Ipc,
                K::Memory => ProfileType::Memory,
                K::Page => ProfileType::PageFaults,
                K::Source => ProfileType::Source,
                K::Swaps => ProfileType::Swaps,
                _ if types.is_empty() => break,
                _ => return Err(self.unexpected()),
            };
            self.advance();
            match keyword {
                K::Block => self.expect(K::Io)?,
                K::Context => self.expect(K::Switches)?,
                K::Page => self.expect(K::Faults)?,
                _ => {}
            }
            types.push(profile);
            if !self.accept_kind(TokenKind::Comma) {
                break;
            }
        }
        let mut query = None;
        if self.accept(K::For) {
            self.expect(K::Query)?;
            query = Some(self.unsigned()?);
        }
        Ok(Show::Profile { types, query, limit: self.limit()? })
    }

    /// `[IN 'log'] [FROM position] [LIMIT …]`.
    fn events_range(&mut self) -> Result<EventsRange> {
        let log = if self.accept(K::In) { Some(self.string()?) } else { None };
        let position = if self.accept(K::From) { Some(self.unsigned()?) } else { None };
        Ok((log, position, self.limit()?))
    }

    /// `FOR CHANNEL 'name'` or nothing.
    pub(super) fn channel(&mut self) -> Result<Option<Box<str>>> {
        if self.at(K::For) && self.peek_is(1, K::Channel) {
            self.advance();
            self.advance();
            return self.string().map(Some);
        }
        Ok(None)
    }
}
