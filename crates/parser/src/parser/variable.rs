//! SET and system variables.

use super::*;

impl Parser<'_> {
    /// `@@[scope.]name`; nothing stands between `@@` and the name.
    pub(super) fn at_at_variable(&mut self) -> Result<SystemVariable> {
        let end = self.advance().end;
        if self.current.start != end {
            return Err(self.unexpected());
        }
        let scope = self.at_at_scope();
        self.system_variable_name(scope)
    }

    /// The scope behind `@@`, with its dot.
    fn at_at_scope(&mut self) -> Option<VariableScope> {
        let scope = scope_of(self.current.keyword)?;
        if !self.peek_kind(1, TokenKind::Dot) {
            return None;
        }
        self.advance();
        self.advance();
        Some(scope)
    }

    /// `[prefix.]name` of a system variable.
    pub(super) fn system_variable_name(&mut self, scope: Option<VariableScope>) -> Result<SystemVariable> {
        if self.at(K::Default) && self.peek_kind(1, TokenKind::Dot) {
            let token = self.advance();
            let prefix = self.ident_of(token)?;
            self.advance();
            return Ok(SystemVariable { scope, prefix: Some(prefix), name: self.ident()? });
        }
        let name = self.ident()?;
        if self.accept_kind(TokenKind::Dot) {
            return Ok(SystemVariable { scope, prefix: Some(name), name: self.ident()? });
        }
        Ok(SystemVariable { scope, prefix: None, name })
    }

    /// SET, behind the word.
    pub(super) fn set(&mut self) -> Result<Statement> {
        let set = match self.keyword() {
            K::Password if !matches!(self.peek(1).kind, TokenKind::Dot) => self.set_password()?,
            K::Role if !self.peek_kind(1, TokenKind::Equal) => {
                self.advance();
                Set::Role(self.role_set()?)
            }
            K::Default if self.peek_is(1, K::Role) => {
                self.advance();
                self.advance();
                let roles = self.role_set()?;
                let mut users = Vec::new();
                if self.accept(K::To) || self.accept(K::For) {
                    users = self.comma_list(Self::account_name)?;
                }
                Set::DefaultRole(SetDefaultRole { roles, users })
            }
            K::Resource if self.peek_is(1, K::Group) => {
                self.advance();
                self.advance();
                let name = self.ident()?;
                let mut threads = Vec::new();
                if self.accept(K::For) {
                    threads.push(self.unsigned()?);
                    while self.accept_kind(TokenKind::Comma) || self.at_kind(TokenKind::Integer) {
                        threads.push(self.unsigned()?);
                    }
                }
                Set::ResourceGroup { name, threads }
            }
            K::Statement if self.peek_ident(1) || self.peek_kind(1, TokenKind::AtAt) => {
                self.advance();
                let items = self.set_items()?;
                self.expect(K::For)?;
                let statement = Box::new(self.nested(Self::statement)?);
                Set::Statement { items, statement }
            }
            K::Session if self.peek_is(1, K::Authorization) => {
                self.advance();
                self.advance();
                Set::SessionAuthorization(self.account_name()?)
            }
            K::Transaction => {
                self.advance();
                Set::Transaction { scope: None, characteristics: self.transaction_characteristics()? }
            }
            K::Global | K::Session | K::Local if self.peek_is(1, K::Transaction) => {
                let scope = scope_of(self.current.keyword);
                self.advance();
                self.advance();
                Set::Transaction { scope, characteristics: self.transaction_characteristics()? }
            }
            _ => Set::Items(self.set_items()?),
        };
        Ok(Statement::Set(set))
    }

    /// `item, item, …`. A scope in words holds for the items behind it that have none; one behind `@@`
    /// for its own only.
    pub(super) fn set_items(&mut self) -> Result<Vec<SetItem>> {
        let mut scope = None;
        self.comma_list(|parser| parser.set_item(&mut scope))
    }

    fn set_item(&mut self, last_scope: &mut Option<VariableScope>) -> Result<SetItem> {
        match self.kind() {
            TokenKind::At => {
                let name = self.user_variable()?;
                self.assign()?;
                return Ok(SetItem::User { name, value: self.expr()? });
            }
            TokenKind::AtAt => {
                let variable = self.at_at_variable()?;
                return self.set_value(variable);
            }
            _ => {}
        }
        if self.at(K::Names) && !self.peek_kind(1, TokenKind::Equal) {
            self.advance();
            if self.accept(K::Default) {
                return Ok(SetItem::Names { charset: None, collation: None });
            }
            let charset = Some(self.charset_name()?);
            let collation = if self.accept(K::Collate) { Some(self.collation_name()?) } else { None };
            return Ok(SetItem::Names { charset, collation });
        }
        if self.at_any(&[K::Character, K::Char, K::Charset])
            && !matches!(self.peek(1).kind, TokenKind::Equal | TokenKind::Assign)
        {
            if !self.accept_charset_words()? {
                return Err(self.unexpected());
            }
            let charset = if self.accept(K::Default) { None } else { Some(self.charset_name()?) };
            return Ok(SetItem::CharacterSet(charset));
        }
        // `SET global.x` is no way to name a scope.
        if self.peek_kind(1, TokenKind::Dot) && scope_of(self.current.keyword).is_some() {
            return Err(self.unexpected());
        }
        let mut scope = None;
        if !matches!(self.peek(1).kind, TokenKind::Equal | TokenKind::Assign | TokenKind::Dot) {
            scope = scope_of(self.current.keyword);
            if scope.is_some() {
                self.advance();
                *last_scope = scope;
            }
        }
        let mut variable = self.system_variable_name(scope)?;
        if scope.is_none() && variable.prefix.as_ref().is_some_and(|table| table.is("NEW") || table.is("OLD")) {
            let column = ColumnName { schema: None, table: variable.prefix, column: variable.name };
            self.assign()?;
            return Ok(SetItem::NewColumn { column, value: self.set_expr()? });
        }
        variable.scope = *last_scope;
        self.set_value(variable)
    }

    fn set_value(&mut self, variable: SystemVariable) -> Result<SetItem> {
        self.assign()?;
        Ok(SetItem::System { variable, value: self.set_expr()? })
    }

    /// `=` or `:=`.
    fn assign(&mut self) -> Result<()> {
        if self.accept_kind(TokenKind::Assign) {
            return Ok(());
        }
        self.expect_kind(TokenKind::Equal)
    }

    /// The value of a variable: an expression, DEFAULT, or one of the reserved words that stand for names.
    fn set_expr(&mut self) -> Result<Expr> {
        let reserved = match self.keyword() {
            K::On | K::All | K::System => true,
            K::Binary | K::Row => {
                matches!(self.peek(1).kind, TokenKind::Eof | TokenKind::Semicolon | TokenKind::Comma)
                    || self.peek_is(1, K::For)
            }
            _ => false,
        };
        if reserved {
            let token = self.advance();
            let column = self.ident_of(token)?;
            return Ok(Expr::Column(Box::new(ColumnName { schema: None, table: None, column })));
        }
        self.value_or_default()
    }

    fn set_password(&mut self) -> Result<Set> {
        self.advance();
        let mut user = None;
        if self.accept(K::For) {
            user = Some(self.account_name()?);
        }
        let password = if self.accept(K::To) {
            self.expect(K::Random)?;
            Credential::Random
        } else {
            self.assign()?;
            // PASSWORD('text') is the form of old versions and MariaDB.
            if self.at(K::Password) {
                self.advance();
                Credential::Password(self.parenthesized(Self::string)?)
            } else {
                Credential::Password(self.string()?)
            }
        };
        let replace = if self.accept(K::Replace) { Some(self.string()?) } else { None };
        let retain_current = self.accept(K::Retain);
        if retain_current {
            self.expect_all(&[K::Current, K::Password])?;
        }
        Ok(Set::Password(Box::new(SetPassword { user, password, replace, retain_current })))
    }
}

/// The scope a word names.
pub(super) fn scope_of(keyword: K) -> Option<VariableScope> {
    Some(match keyword {
        K::Global => VariableScope::Global,
        K::Session | K::Local => VariableScope::Session,
        K::Persist => VariableScope::Persist,
        K::PersistOnly => VariableScope::PersistOnly,
        _ => return None,
    })
}
