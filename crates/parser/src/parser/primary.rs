//! Primary expressions: literals, names, parentheses, and expressions that begin with a keyword.

use super::name::is_ident;
use super::*;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Expr> {
        match self.kind() {
            TokenKind::Word => self.word_primary(),
            TokenKind::FunctionName => self.built_in_call(),
            TokenKind::QuotedIdent => self.name_or_call(),
            TokenKind::LeftParen => self.paren(),
            TokenKind::Placeholder => {
                self.advance();
                let number = self.placeholders;
                self.placeholders += 1;
                Ok(Expr::Placeholder(number))
            }
            TokenKind::At => self.user_variable_expr(),
            TokenKind::AtAt => self.system_variable_expr(),
            TokenKind::LeftBrace => self.odbc_escape(),
            TokenKind::Dot => Ok(Expr::Column(Box::new(self.column_name()?))),
            _ => match self.literal()? {
                Some(literal) => Ok(Expr::Literal(literal)),
                None => Err(self.unexpected()),
            },
        }
    }

    fn word_primary(&mut self) -> Result<Expr> {
        let keyword = self.current.keyword;
        if keyword == K::None {
            if self.text(self.current).first() == Some(&b'_') && self.introducer(self.current).is_some() {
                // The name of a character set so written is nothing but an introducer.
                return match self.introduced_literal()? {
                    Some(literal) => Ok(Expr::Literal(literal)),
                    None => Err(self.unexpected_next()),
                };
            }
            return self.name_or_call();
        }
        if let Some(expr) = self.special(keyword)? {
            return Ok(expr);
        }
        if is_ident(self.current) {
            return self.name_or_call();
        }
        match self.literal()? {
            Some(literal) => Ok(Expr::Literal(literal)),
            None if begins_call(keyword) => Err(self.unexpected_next()),
            None => Err(self.unexpected()),
        }
    }

    /// The token behind the current one cannot stand there.
    pub(super) fn unexpected_next(&mut self) -> Box<ParseError> {
        let offset = self.peek(1).start;
        self.syntax_error(offset)
    }

    /// A call of a built-in function, some of which have a syntax of their own.
    fn built_in_call(&mut self) -> Result<Expr> {
        if let Some(expr) = self.special(self.current.keyword)? {
            return Ok(expr);
        }
        let token = self.advance();
        let name = self.ident_of(token)?;
        self.call(None, name, token.start)
    }

    /// A column, or a call of a function with a plain name.
    pub(super) fn name_or_call(&mut self) -> Result<Expr> {
        let start = self.current.start;
        let first = self.ident()?;
        if self.at_kind(TokenKind::LeftParen) {
            return self.call(None, first, start);
        }
        if !self.at_kind(TokenKind::Dot) {
            return self.json_arrow(ColumnName { schema: None, table: None, column: first });
        }
        let name = self.column_name_after(first)?;
        match name {
            ColumnName { schema: None, table, column } if self.at_kind(TokenKind::LeftParen) => {
                self.call(table, column, start)
            }
            name => self.json_arrow(name),
        }
    }

    /// A column and `-> path` behind it.
    fn json_arrow(&mut self, name: ColumnName) -> Result<Expr> {
        let column = Expr::Column(Box::new(name));
        let unquote = match self.kind() {
            TokenKind::Arrow => false,
            TokenKind::LongArrow => true,
            _ => return Ok(column),
        };
        self.advance();
        if !self.at_kind(TokenKind::String) {
            return Err(self.unexpected());
        }
        Ok(Expr::JsonArrow { operand: Box::new(column), path: self.sql_string()?, unquote })
    }

    /// Whether `(` and a query are next.
    pub(super) fn query_follows_paren(&mut self) -> bool {
        if !self.at_kind(TokenKind::LeftParen) {
            return false;
        }
        match self.peek(1).keyword {
            K::Select | K::With | K::Table => true,
            K::Values => self.peek_is(2, K::Row),
            _ => false,
        }
    }

    /// `( … )`: a query, a row, or an expression.
    fn paren(&mut self) -> Result<Expr> {
        if self.query_follows_paren() {
            return Ok(Expr::Subquery(Box::new(self.subquery()?)));
        }
        self.advance();
        let doubled = self.at_kind(TokenKind::LeftParen);
        let first = self.expr()?;
        // `((SELECT …) UNION …)`: what looked like an operand was the first part of a query.
        if doubled && self.at_query_tail() {
            if let Expr::Subquery(query) = first {
                let query = self.query_after(*query)?;
                self.expect_kind(TokenKind::RightParen)?;
                return Ok(Expr::Subquery(Box::new(query)));
            }
            return Err(self.unexpected());
        }
        if self.accept_kind(TokenKind::RightParen) {
            // Parentheses are no level of the tree.
            self.height.levels = self.height.levels.saturating_sub(1);
            self.height.plain = self.height.plain.saturating_sub(1);
            return Ok(first);
        }
        let mut values = vec![first];
        while self.accept_kind(TokenKind::Comma) {
            values.push(self.expr()?);
        }
        if values.len() == 1 {
            return Err(self.unexpected());
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Row(values))
    }

    /// `@name` and `@name := value`.
    fn user_variable_expr(&mut self) -> Result<Expr> {
        let variable = self.user_variable()?;
        if !self.accept_kind(TokenKind::Assign) {
            return Ok(Expr::UserVariable(variable));
        }
        Ok(Expr::Assign { variable, value: self.boxed_expr()? })
    }

    /// The name behind `@`.
    pub(super) fn user_variable(&mut self) -> Result<Box<str>> {
        self.expect_kind(TokenKind::At)?;
        match self.kind() {
            TokenKind::AtName => {
                let token = self.advance();
                Ok(super::name::lossy(self.text(token)))
            }
            TokenKind::String => self.string(),
            TokenKind::QuotedIdent => Ok(self.ident()?.value),
            _ => Err(self.unexpected()),
        }
    }

    /// `@@[scope.]name`.
    fn system_variable_expr(&mut self) -> Result<Expr> {
        let variable = self.at_at_variable()?;
        Ok(Expr::SystemVariable(Box::new(variable)))
    }

    /// `{d '…'}`, `{t '…'}`, `{ts '…'}`; other words give what stands behind them.
    fn odbc_escape(&mut self) -> Result<Expr> {
        self.advance();
        let word = self.ident()?;
        let kind = match word.value.to_ascii_lowercase().as_str() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        let expr = match kind {
            Some(kind) if self.at_kind(TokenKind::String) => {
                Expr::Literal(Literal::Temporal { kind, text: self.string()? })
            }
            _ => self.expr()?,
        };
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(expr)
    }
}

/// Whether a reserved word begins an expression when a parenthesis follows.
fn begins_call(keyword: K) -> bool {
    matches!(
        keyword,
        K::Char
            | K::Convert
            | K::CumeDist
            | K::Database
            | K::DenseRank
            | K::Exists
            | K::FirstValue
            | K::Grouping
            | K::If
            | K::Insert
            | K::Lag
            | K::LastValue
            | K::Lead
            | K::Left
            | K::Mod
            | K::NthValue
            | K::Ntile
            | K::PercentRank
            | K::Rank
            | K::Repeat
            | K::Replace
            | K::Right
            | K::Row
            | K::RowNumber
            | K::Schema
            | K::Values
    )
}
