//! CREATE TABLE, keys, constraints and table options.

use super::*;

impl Parser<'_> {
    /// CREATE TABLE, behind the word TABLE.
    pub(super) fn create_table(&mut self, or_replace: bool, temporary: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut table = CreateTable {
            or_replace,
            temporary,
            if_not_exists,
            name,
            like: None,
            columns: Vec::new(),
            constraints: Vec::new(),
            options: Vec::new(),
            partitioning: None,
            duplicates: LoadDuplicates::Default,
            query: None,
        };
        if self.accept(K::Like) {
            table.like = Some(self.object_name()?);
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.at_kind(TokenKind::LeftParen) && !self.query_follows_paren() && !self.peek_kind(1, TokenKind::LeftParen)
        {
            self.advance();
            if self.accept(K::Like) {
                table.like = Some(self.object_name()?);
                self.expect_kind(TokenKind::RightParen)?;
                return Ok(Statement::CreateTable(Box::new(table)));
            }
            loop {
                self.table_element(&mut table)?;
                if !self.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        table.options = self.table_options()?;
        table.partitioning = self.partitioning()?;
        if self.accept(K::Replace) {
            table.duplicates = LoadDuplicates::Replace;
        } else if self.accept(K::Ignore) {
            table.duplicates = LoadDuplicates::Ignore;
        }
        if self.accept(K::As) || self.at_query() || table.duplicates != LoadDuplicates::Default {
            table.query = Some(Box::new(self.inner_query()?));
        }
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// A column, key or constraint.
    fn table_element(&mut self, table: &mut CreateTable) -> Result<()> {
        match self.table_constraint()? {
            Some(constraint) => {
                table.constraints.push(constraint);
                self.charge(memory::listed::<TableConstraint>());
            }
            None => {
                table.columns.push(self.column_definition()?);
                self.check_columns(table.columns.len())?;
                self.charge(memory::listed::<ColumnDefinition>());
            }
        }
        Ok(())
    }

    /// A key or constraint, if one begins here.
    pub(super) fn table_constraint(&mut self) -> Result<Option<TableConstraint>> {
        let mut symbol = None;
        let named = self.accept(K::Constraint);
        if named && self.at_ident() {
            symbol = Some(self.ident()?);
        }
        let kind = match self.keyword() {
            K::Primary => IndexKind::Primary,
            K::Unique => IndexKind::Unique,
            K::Foreign => return self.foreign_key(symbol).map(|key| Some(TableConstraint::ForeignKey(key))),
            K::Check => return self.check(symbol).map(|check| Some(TableConstraint::Check(check))),
            K::Index | K::Key if !named => IndexKind::Plain,
            K::Fulltext if !named => IndexKind::Fulltext,
            K::Spatial if !named => IndexKind::Spatial,
            _ if named => return Err(self.unexpected()),
            _ if self.at_columnar_key() => IndexKind::Columnar,
            // Otherwise the name of a column.
            K::Vector if self.peek_is(1, K::Index) || self.peek_is(1, K::Key) => IndexKind::Vector,
            _ => return Ok(None),
        };
        let plain = kind == IndexKind::Plain;
        if !plain {
            self.advance();
        }
        if kind == IndexKind::Primary {
            self.expect(K::Key)?;
        } else if plain {
            self.advance();
        } else {
            let _ = self.accept(K::Index) || self.accept(K::Key);
        }
        let if_not_exists = self.if_not_exists()?;
        let index = self.index_definition(kind, symbol, if_not_exists)?;
        Ok(Some(TableConstraint::Index(index)))
    }

    /// `COLUMNAR [INDEX|KEY]`, which is otherwise the name of a column.
    fn at_columnar_key(&mut self) -> bool {
        self.at_word("COLUMNAR")
            && (self.peek_is(1, K::Index)
                || self.peek_is(1, K::Key)
                || [
                    TokenKind::LeftParen,
                    TokenKind::RightParen,
                    TokenKind::Comma,
                    TokenKind::Semicolon,
                    TokenKind::Eof,
                ]
                .into_iter()
                .any(|kind| self.peek_kind(1, kind)))
    }

    /// The parts of a key; those of a copy of columns may be left out.
    fn parts_of_key(&mut self, kind: IndexKind) -> Result<Vec<KeyPart>> {
        if kind == IndexKind::Columnar && !self.at_kind(TokenKind::LeftParen) {
            return Ok(Vec::new());
        }
        self.key_parts()
    }

    /// `[name] [USING type] (parts) [options]`.
    fn index_definition(
        &mut self,
        kind: IndexKind,
        constraint: Option<Ident>,
        if_not_exists: bool,
    ) -> Result<IndexDefinition> {
        let name =
            if self.at_ident() && !(self.at(K::Type) && self.peek_ident(1)) { Some(self.ident()?) } else { None };
        let mut options = IndexOptions::default();
        self.index_type(&mut options)?;
        let parts = self.parts_of_key(kind)?;
        self.index_options(&mut options)?;
        Ok(IndexDefinition { kind, constraint, name, if_not_exists, parts, options })
    }

    /// `USING BTREE`, `TYPE BTREE`, or nothing.
    fn index_type(&mut self, options: &mut IndexOptions) -> Result<bool> {
        if !self.accept(K::Using) && !self.accept(K::Type) {
            return Ok(false);
        }
        options.algorithm = Some(self.ident()?);
        Ok(true)
    }

    pub(super) fn key_parts(&mut self) -> Result<Vec<KeyPart>> {
        self.parenthesized_list(|parser| {
            let source = if parser.at_kind(TokenKind::LeftParen) {
                KeyPartSource::Expr(parser.parenthesized(Self::expr)?)
            } else {
                KeyPartSource::Column { name: parser.ident()?, length: parser.optional_width()? }
            };
            let descending = parser.direction().unwrap_or(false);
            Ok(KeyPart { source, descending })
        })
    }

    fn index_options(&mut self, options: &mut IndexOptions) -> Result<()> {
        loop {
            if self.index_type(options)? {
                continue;
            }
            match self.keyword() {
                K::KeyBlockSize => {
                    self.advance();
                    self.accept_equal();
                    options.key_block_size = Some(self.unsigned()?);
                }
                K::With => {
                    self.advance();
                    self.expect(K::Parser)?;
                    options.parser = Some(self.ident()?);
                }
                K::Comment => {
                    self.advance();
                    options.comment = Some(self.string()?);
                }
                K::Visible | K::Invisible => options.visible = Some(self.advance().keyword == K::Visible),
                // MariaDB's words for the same.
                K::Ignored => {
                    self.advance();
                    options.visible = Some(false);
                }
                K::Not if self.peek_is(1, K::Ignored) => {
                    self.advance();
                    self.advance();
                    options.visible = Some(true);
                }
                K::EngineAttribute => {
                    self.advance();
                    self.accept_equal();
                    options.engine_attribute = Some(self.string()?);
                }
                K::SecondaryEngineAttribute => {
                    self.advance();
                    self.accept_equal();
                    options.secondary_engine_attribute = Some(self.string()?);
                }
                _ if self.at_option("M") => options.links = Some(self.index_option_value()?),
                _ if self.at_option("DISTANCE") => options.distance = Some(self.index_option_value()?),
                _ => return Ok(()),
            }
        }
    }

    /// `name=`, in backticks or not.
    fn at_option(&mut self, name: &str) -> bool {
        let is_named =
            self.at_word(name) || self.text(self.current).eq_ignore_ascii_case(format!("`{name}`").as_bytes());
        is_named && self.peek_kind(1, TokenKind::Equal)
    }

    /// `name=value`, where the value is a word, a number or a text.
    fn index_option_value(&mut self) -> Result<Box<str>> {
        self.advance();
        self.expect_kind(TokenKind::Equal)?;
        if self.at_ident() {
            return Ok(self.ident()?.as_str().into());
        }
        match self.at_kind(TokenKind::Integer) {
            true => Ok(self.unsigned()?.to_string().into()),
            false => self.string(),
        }
    }

    fn foreign_key(&mut self, constraint: Option<Ident>) -> Result<ForeignKey> {
        self.expect_all(&[K::Foreign, K::Key])?;
        let if_not_exists = self.if_not_exists()?;
        let index_name = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.parenthesized_idents()?;
        let references = self.references()?;
        Ok(ForeignKey { constraint, index_name, if_not_exists, columns, references })
    }

    pub(super) fn references(&mut self) -> Result<References> {
        self.expect(K::References)?;
        let table = self.object_name()?;
        let columns = self.optional_idents()?;
        let mut matching = None;
        if self.accept(K::Match) {
            matching = Some(match self.expect_any(&[K::Full, K::Partial, K::Simple])? {
                K::Full => ReferenceMatch::Full,
                K::Partial => ReferenceMatch::Partial,
                _ => ReferenceMatch::Simple,
            });
        }
        let (mut on_delete, mut on_update) = (None, None);
        while self.at(K::On) {
            match self.peek(1).keyword {
                K::Delete if on_delete.is_none() => {
                    self.advance();
                    self.advance();
                    on_delete = Some(self.reference_action()?);
                }
                // ON UPDATE CURRENT_TIMESTAMP may stand behind a column's REFERENCES.
                K::Update if on_update.is_none() && !matches!(self.peek(2).keyword, K::CurrentTimestamp | K::Now) => {
                    self.advance();
                    self.advance();
                    on_update = Some(self.reference_action()?);
                }
                _ => break,
            }
        }
        Ok(References { table, columns, matching, on_delete, on_update })
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        Ok(match self.expect_any(&[K::Restrict, K::Cascade, K::Set, K::No])? {
            K::Restrict => ReferenceAction::Restrict,
            K::Cascade => ReferenceAction::Cascade,
            K::No => {
                self.expect(K::Action)?;
                ReferenceAction::NoAction
            }
            _ => match self.expect_any(&[K::Null, K::Default])? {
                K::Null => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`.
    pub(super) fn check(&mut self, name: Option<Ident>) -> Result<CheckConstraint> {
        self.expect(K::Check)?;
        let expr = self.parenthesized(Self::expr)?;
        let mut enforced = None;
        if self.accept(K::Enforced) {
            enforced = Some(true);
        } else if self.accept_both(K::Not, K::Enforced) {
            enforced = Some(false);
        }
        Ok(CheckConstraint { name, expr, enforced })
    }

    /// CREATE INDEX, behind the word INDEX.
    pub(super) fn create_index(&mut self, or_replace: bool, kind: IndexKind) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = Some(self.ident()?);
        let mut options = IndexOptions::default();
        self.index_type(&mut options)?;
        self.expect(K::On)?;
        let table = self.object_name()?;
        let parts = self.parts_of_key(kind)?;
        self.index_options(&mut options)?;
        let index = IndexDefinition { kind, constraint: None, name, if_not_exists, parts, options };
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex { or_replace, table, index, algorithm, lock })))
    }

    /// `ALGORITHM = x` and `LOCK = x`, in either order.
    pub(super) fn algorithm_and_lock(&mut self) -> Result<(Option<Ident>, Option<Ident>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if self.accept(K::Algorithm) {
                self.accept_equal();
                algorithm = Some(self.any_word()?);
            } else if self.accept(K::Lock) {
                self.accept_equal();
                lock = Some(self.any_word()?);
            } else {
                return Ok((algorithm, lock));
            }
        }
    }

    /// Options of a table, parted by blanks or commas.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.table_option()? {
            options.push(option);
            while self.at_kind(TokenKind::Comma) {
                self.advance();
                match self.table_option()? {
                    Some(option) => options.push(option),
                    None => return Err(self.unexpected()),
                }
            }
        }
        Ok(options)
    }

    pub(super) fn table_option(&mut self) -> Result<Option<TableOption>> {
        let keyword = self.current.keyword;
        let equal = self.peek_kind(1, TokenKind::Equal);
        // Two words.
        match keyword {
            K::Default => {
                if !matches!(self.peek(1).keyword, K::Charset | K::Character | K::Char | K::Collate) {
                    return Ok(None);
                }
                self.advance();
                return self.table_option();
            }
            K::Data | K::Index if self.peek_is(1, K::Directory) => {
                self.advance();
                self.advance();
                self.accept_equal();
                let path = self.string()?;
                return Ok(Some(if keyword == K::Data {
                    TableOption::DataDirectory(path)
                } else {
                    TableOption::IndexDirectory(path)
                }));
            }
            K::Start if self.peek_is(1, K::Transaction) => {
                self.advance();
                self.advance();
                return Ok(Some(TableOption::StartTransaction));
            }
            K::Charset | K::Character | K::Char => {
                if !self.accept_charset_words()? {
                    return Ok(None);
                }
                self.accept_equal();
                if self.accept(K::Default) {
                    return Ok(Some(TableOption::Charset(None)));
                }
                return Ok(Some(TableOption::Charset(Some(self.charset_name()?))));
            }
            _ => {}
        }
        if !is_table_option(keyword) {
            if equal && self.at_ident() {
                let name = self.ident()?;
                self.advance();
                return Ok(Some(TableOption::Other { name, value: self.option_value()? }));
            }
            return Ok(None);
        }
        self.advance();
        self.accept_equal();
        self.known_option_value(keyword).map(Some)
    }

    /// The value of an option, behind its word.
    fn known_option_value(&mut self, keyword: K) -> Result<TableOption> {
        Ok(match keyword {
            // COLUMN is a reserved word and the name of an engine.
            K::Engine if self.at(K::Column) => TableOption::Engine(self.any_word()?.value),
            K::Engine => TableOption::Engine(self.ident_or_string()?.value),
            K::SecondaryEngine => {
                if self.accept(K::Null) {
                    TableOption::SecondaryEngine(None)
                } else {
                    TableOption::SecondaryEngine(Some(self.ident_or_string()?.value))
                }
            }
            K::AutoIncrement => TableOption::AutoIncrement(self.unsigned()?),
            K::AvgRowLength => TableOption::AverageRowLength(self.unsigned()?),
            K::Collate => TableOption::Collate(self.collation_name()?),
            K::Checksum | K::TableChecksum => TableOption::Checksum(self.unsigned()? != 0),
            K::Comment => TableOption::Comment(self.string()?),
            K::Compression => TableOption::Compression(self.string()?),
            K::Connection => TableOption::Connection(self.string()?),
            K::DelayKeyWrite => TableOption::DelayKeyWrite(self.unsigned()? != 0),
            K::Encryption => TableOption::Encryption(self.string()?),
            K::InsertMethod => TableOption::InsertMethod(self.any_word()?),
            K::KeyBlockSize => TableOption::KeyBlockSize(self.unsigned()?),
            K::MaxRows => TableOption::MaxRows(self.unsigned()?),
            K::MinRows => TableOption::MinRows(self.unsigned()?),
            K::PackKeys => TableOption::PackKeys(self.default_or_number()?.map(|value| value != 0)),
            K::Password => TableOption::Password(self.string()?),
            K::RowFormat => TableOption::RowFormat(self.any_word()?),
            K::StatsAutoRecalc => TableOption::StatsAutoRecalc(self.default_or_number()?.map(|value| value != 0)),
            K::StatsPersistent => TableOption::StatsPersistent(self.default_or_number()?.map(|value| value != 0)),
            K::StatsSamplePages => TableOption::StatsSamplePages(self.default_or_number()?),
            K::Tablespace => TableOption::Tablespace(self.ident()?),
            K::Storage => TableOption::Storage(self.column_storage()?),
            K::Union => {
                self.expect_kind(TokenKind::LeftParen)?;
                let tables =
                    if self.at_kind(TokenKind::RightParen) { Vec::new() } else { self.comma_list(Self::object_name)? };
                self.expect_kind(TokenKind::RightParen)?;
                TableOption::Union(tables)
            }
            K::EngineAttribute => TableOption::EngineAttribute(self.string()?),
            K::SecondaryEngineAttribute => TableOption::SecondaryEngineAttribute(self.string()?),
            _ => TableOption::AutoextendSize(self.size()?),
        })
    }

    /// The value of an option that the grammar does not know.
    fn option_value(&mut self) -> Result<Box<str>> {
        match self.kind() {
            TokenKind::String => self.string(),
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => self.number_text(),
            _ => Ok(self.any_word()?.value),
        }
    }

    fn default_or_number(&mut self) -> Result<Option<u64>> {
        if self.accept(K::Default) { Ok(None) } else { self.unsigned().map(Some) }
    }

    /// A number of bytes: `65536`, `64K`, `4M`.
    fn size(&mut self) -> Result<u64> {
        if self.at_kind(TokenKind::Word) {
            let text = self.text(self.current);
            let unit = match text.last() {
                Some(b'k' | b'K') => Some(10),
                Some(b'm' | b'M') => Some(20),
                Some(b'g' | b'G') => Some(30),
                Some(b't' | b'T') => Some(40),
                _ => None,
            };
            let digits = std::str::from_utf8(&text[..text.len() - 1]).ok().and_then(|text| text.parse::<u64>().ok());
            if let (Some(unit), Some(digits)) = (unit, digits) {
                self.advance();
                return Ok(digits.saturating_mul(1 << unit));
            }
        }
        self.unsigned()
    }
}

fn is_table_option(keyword: K) -> bool {
    matches!(
        keyword,
        K::Engine
            | K::SecondaryEngine
            | K::AutoIncrement
            | K::AvgRowLength
            | K::Collate
            | K::Checksum
            | K::TableChecksum
            | K::Comment
            | K::Compression
            | K::Connection
            | K::DelayKeyWrite
            | K::Encryption
            | K::InsertMethod
            | K::KeyBlockSize
            | K::MaxRows
            | K::MinRows
            | K::PackKeys
            | K::Password
            | K::RowFormat
            | K::StatsAutoRecalc
            | K::StatsPersistent
            | K::StatsSamplePages
            | K::Tablespace
            | K::Storage
            | K::Union
            | K::EngineAttribute
            | K::SecondaryEngineAttribute
            | K::AutoextendSize
    )
}
