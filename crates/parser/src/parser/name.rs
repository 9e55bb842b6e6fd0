//! Identifiers, qualified names, and words that are a keyword or a name.

use super::*;

impl Parser<'_> {
    /// Whether the current token can be an identifier.
    pub(super) fn at_ident(&self) -> bool {
        is_ident(self.current)
    }

    pub(super) fn ident(&mut self) -> Result<Ident> {
        if !self.at_ident() {
            return Err(self.unexpected());
        }
        let token = self.advance();
        self.ident_of(token)
    }

    /// The identifier a token is, reserved or not.
    pub(super) fn ident_of(&self, token: Token) -> Result<Ident> {
        let text = self.text(token);
        let value = if token.kind == TokenKind::QuotedIdent { unquote_name(text) } else { lossy(text) };
        if value.contains('\0') {
            return Err(self.syntax_error(token.start));
        }
        Ok(Ident { value, span: Span::new(token.start, token.end) })
    }

    /// Any word or quoted identifier, also a reserved word: option names and the like.
    pub(super) fn any_word(&mut self) -> Result<Ident> {
        if !matches!(self.current.kind, TokenKind::Word | TokenKind::QuotedIdent) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        self.ident_of(token)
    }

    /// A word in upper case, for names of a closed set.
    pub(super) fn upper_word(&mut self) -> Result<Box<str>> {
        Ok(self.any_word()?.value.to_ascii_uppercase().into_boxed_str())
    }

    /// An identifier behind a dot, where the lexer takes any word for a name.
    fn ident_after_dot(&mut self) -> Result<Ident> {
        self.ident()
    }

    pub(super) fn ident_or_string(&mut self) -> Result<Ident> {
        if self.at_kind(TokenKind::String) {
            let start = self.current.start;
            let value = self.string()?;
            return Ok(Ident { value, span: self.span_from(start) });
        }
        self.ident()
    }

    /// `[schema.]name`.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        // `.name` is a name without schema; ODBC drivers write it.
        if self.accept_kind(TokenKind::Dot) {
            let name = self.ident_after_dot()?;
            return Ok(ObjectName { schema: None, name });
        }
        let first = self.ident()?;
        if !self.accept_kind(TokenKind::Dot) {
            return Ok(ObjectName { schema: None, name: first });
        }
        let name = self.ident_after_dot()?;
        Ok(ObjectName { schema: Some(first), name })
    }

    /// `[[schema.]table.]column`.
    pub(super) fn column_name(&mut self) -> Result<ColumnName> {
        if self.accept_kind(TokenKind::Dot) {
            let table = self.ident_after_dot()?;
            self.expect_kind(TokenKind::Dot)?;
            let column = self.ident_after_dot()?;
            return Ok(ColumnName { schema: None, table: Some(table), column });
        }
        let first = self.ident()?;
        self.column_name_after(first)
    }

    /// A column name whose first part has been read.
    pub(super) fn column_name_after(&mut self, first: Ident) -> Result<ColumnName> {
        if !self.accept_kind(TokenKind::Dot) {
            return Ok(ColumnName { schema: None, table: None, column: first });
        }
        let second = self.ident_after_dot()?;
        if !self.accept_kind(TokenKind::Dot) {
            return Ok(ColumnName { schema: None, table: Some(first), column: second });
        }
        let third = self.ident_after_dot()?;
        Ok(ColumnName { schema: Some(first), table: Some(second), column: third })
    }

    /// `name, name, …`.
    pub(super) fn ident_list(&mut self) -> Result<Vec<Ident>> {
        self.comma_list(Self::ident)
    }

    /// `(name, …)`.
    pub(super) fn parenthesized_idents(&mut self) -> Result<Vec<Ident>> {
        self.parenthesized_list(Self::ident)
    }

    /// `(name, …)` or nothing.
    pub(super) fn optional_idents(&mut self) -> Result<Vec<Ident>> {
        if self.at_kind(TokenKind::LeftParen) { self.parenthesized_idents() } else { Ok(Vec::new()) }
    }

    /// `PARTITION (name, …)` or nothing.
    pub(super) fn partition_names(&mut self) -> Result<Vec<Ident>> {
        if self.at(K::Partition) && self.peek_kind(1, TokenKind::LeftParen) {
            self.advance();
            return self.parenthesized_idents();
        }
        Ok(Vec::new())
    }

    /// `[AS] alias` of a table.
    pub(super) fn table_alias(&mut self) -> Result<Option<Ident>> {
        if self.accept(K::As) || self.accept_kind(TokenKind::Equal) {
            return self.ident_or_string().map(Some);
        }
        let offset = self.at(K::Offset) && matches!(self.peek(1).kind, TokenKind::Integer | TokenKind::Placeholder);
        if self.at_ident() && !self.at(K::Returning) && !offset {
            return self.ident().map(Some);
        }
        Ok(None)
    }
}

/// Whether a token can be an identifier.
pub(super) fn is_ident(token: Token) -> bool {
    match token.kind {
        TokenKind::Word => !token.keyword.is_reserved(),
        TokenKind::QuotedIdent => true,
        _ => false,
    }
}

pub(super) fn lossy(bytes: &[u8]) -> Box<str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned().into_boxed_str(),
    }
}

/// The name inside quotes, doubled quotes made single.
fn unquote_name(text: &[u8]) -> Box<str> {
    let quote = text[0];
    let inner = &text[1..text.len() - 1];
    if !inner.contains(&quote) {
        return lossy(inner);
    }
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        name.push(*byte);
        if *byte == quote {
            bytes.next();
        }
    }
    lossy(&name)
}
