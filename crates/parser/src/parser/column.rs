//! Column definitions.

use super::*;

impl Parser<'_> {
    /// `name type attributes`.
    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        // `t.c` is let pass, as MySQL does.
        let name = self.column_name()?.column;
        self.column_definition_of(name)
    }

    /// A column's type and attributes, behind its name.
    pub(super) fn column_definition_of(&mut self, name: Ident) -> Result<ColumnDefinition> {
        let data_type = self.data_type()?;
        let mut column = ColumnDefinition {
            name,
            data_type,
            nullable: None,
            default: None,
            on_update: None,
            auto_increment: false,
            primary_key: false,
            unique: false,
            generated: None,
            checks: Vec::new(),
            references: None,
            comment: None,
            visible: None,
            srid: None,
            format: None,
            storage: None,
            engine_attribute: None,
            secondary_engine_attribute: None,
            compressed: false,
        };
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// Passes one attribute. False: none is here.
    fn column_attribute(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        match self.keyword() {
            K::Null => {
                self.advance();
                column.nullable = Some(true);
            }
            K::Not => {
                self.advance();
                self.expect(K::Null)?;
                column.nullable = Some(false);
            }
            K::Default => {
                self.advance();
                column.default = Some(self.default_value()?);
            }
            K::On if self.peek_is(1, K::Update) => {
                self.advance();
                self.advance();
                column.on_update = Some(self.primary()?);
            }
            K::AutoIncrement => {
                self.advance();
                column.auto_increment = true;
            }
            K::Serial if self.peek_is(1, K::Default) => {
                self.advance();
                self.advance();
                self.expect(K::Value)?;
                column.nullable = Some(false);
                column.auto_increment = true;
                column.unique = true;
            }
            K::Primary => {
                self.advance();
                self.expect(K::Key)?;
                column.primary_key = true;
            }
            K::Key => {
                self.advance();
                column.primary_key = true;
            }
            K::Unique => {
                self.advance();
                self.accept(K::Key);
                column.unique = true;
            }
            K::Comment => {
                self.advance();
                column.comment = Some(self.string()?);
            }
            K::Collate => {
                self.advance();
                let collation = self.collation_name()?;
                set_collation(&mut column.data_type, collation);
            }
            K::Generated | K::As => {
                if self.accept(K::Generated) {
                    self.expect(K::Always)?;
                }
                self.expect(K::As)?;
                let expr = self.parenthesized(Self::expr)?;
                let stored = self.accept(K::Stored) || self.accept(K::Persistent);
                if !stored {
                    self.accept(K::Virtual);
                }
                column.generated = Some(GeneratedColumn { expr, stored });
            }
            K::Constraint => {
                self.advance();
                let name = if self.at_ident() { Some(self.ident()?) } else { None };
                column.checks.push(self.check(name)?);
            }
            K::Check => {
                let check = self.check(None)?;
                column.checks.push(check);
            }
            K::References => column.references = Some(self.references()?),
            _ => return self.storage_attribute(column),
        }
        Ok(true)
    }

    /// Passes one attribute that says how a column is kept or shown. False: none is here.
    fn storage_attribute(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        match self.keyword() {
            K::Visible | K::Invisible => column.visible = Some(self.advance().keyword == K::Visible),
            K::Srid => {
                self.advance();
                column.srid = Some(self.unsigned32()?);
            }
            K::ColumnFormat => {
                self.advance();
                column.format = Some(match self.expect_any(&[K::Fixed, K::Dynamic, K::Default])? {
                    K::Fixed => ColumnFormat::Fixed,
                    K::Dynamic => ColumnFormat::Dynamic,
                    _ => ColumnFormat::Default,
                });
            }
            K::Storage => {
                self.advance();
                column.storage = Some(self.column_storage()?);
            }
            K::EngineAttribute => {
                self.advance();
                self.accept_equal();
                column.engine_attribute = Some(self.string()?);
            }
            K::SecondaryEngineAttribute => {
                self.advance();
                self.accept_equal();
                column.secondary_engine_attribute = Some(self.string()?);
            }
            K::Compressed if has_varying_length(&column.data_type) => {
                self.advance();
                if self.accept_kind(TokenKind::Equal) {
                    self.any_word()?;
                }
                column.compressed = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn column_storage(&mut self) -> Result<ColumnStorage> {
        Ok(match self.expect_any(&[K::Disk, K::Memory, K::Default])? {
            K::Disk => ColumnStorage::Disk,
            K::Memory => ColumnStorage::Memory,
            _ => ColumnStorage::Default,
        })
    }

    /// The value behind DEFAULT: a signed literal, a call or an expression in parentheses. A COLLATE
    /// behind it belongs to the column.
    pub(super) fn default_value(&mut self) -> Result<DefaultValue> {
        let in_parentheses = self.at_kind(TokenKind::LeftParen);
        let op = match self.kind() {
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Plus => UnaryOp::Plus,
            _ => return Ok(DefaultValue::new(self.primary()?, in_parentheses)),
        };
        self.advance();
        // A sign is part of a number.
        if !matches!(self.kind(), TokenKind::Integer | TokenKind::Decimal | TokenKind::Float) {
            return Err(self.unexpected());
        }
        let value = Expr::Unary { op, operand: Box::new(self.primary()?) };
        Ok(DefaultValue::new(value, in_parentheses))
    }
}

/// Whether MariaDB's COMPRESSED may follow a type: those whose values may be long.
fn has_varying_length(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(data_type, T::Varchar { .. } | T::Text { .. } | T::Varbinary { .. } | T::Blob { .. })
}

/// COLLATE among the attributes of a column belongs to its type.
fn set_collation(data_type: &mut DataType, collation: Box<str>) {
    match data_type {
        DataType::Char { characters, .. }
        | DataType::Varchar { characters, .. }
        | DataType::Text { characters, .. }
        | DataType::Enum { characters, .. }
        | DataType::Set { characters, .. } => characters.collation = Some(collation),
        // It changes nothing for a type without characters.
        _ => {}
    }
}
