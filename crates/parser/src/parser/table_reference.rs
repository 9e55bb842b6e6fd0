//! Table references and joins.

use super::*;

/// The content of parentheses in a FROM clause.
enum Paren {
    Query(Box<Query>),
    Tables(TableReference),
}

impl Parser<'_> {
    /// `reference, reference, …`.
    pub(super) fn table_references(&mut self) -> Result<Vec<TableReference>> {
        self.comma_list(Self::table_reference)
    }

    fn table_reference(&mut self) -> Result<TableReference> {
        self.measured(|parser| {
            let first = parser.table_factor()?;
            Ok(parser.joins_after(first)?.0)
        })
    }

    /// The joins behind `left`, and how many of them lie on the way down to `left`.
    fn joins_after(&mut self, mut left: TableReference) -> Result<(TableReference, usize)> {
        let mut links = 0;
        while let Some((kind, natural)) = self.join_operator()? {
            self.grow()?;
            let mut right = self.table_factor()?;
            let mut right_links = 0;
            // `a JOIN b JOIN c ON … ON …`: the next join is inside this one's right side.
            if !natural && !self.at_any(&[K::On, K::Using]) {
                (right, right_links) = self.nested(|parser| parser.joins_after(right))?;
            }
            let condition = if natural {
                JoinCondition::Natural
            } else if self.accept(K::On) {
                JoinCondition::On(self.expr()?)
            } else if self.accept(K::Using) {
                JoinCondition::Using(self.parenthesized_idents()?)
            } else if matches!(kind, JoinKind::Inner | JoinKind::Straight) {
                // Without a condition the join is with the first table of what follows.
                left = join_leftmost(kind, left, right, right_links);
                links += right_links + 1;
                continue;
            } else {
                return Err(self.unexpected());
            };
            left = TableReference::Join(Box::new(Join { kind, left, right, condition }));
            links += 1;
        }
        Ok((left, links))
    }

    /// Passes the words of a join: its kind, and whether it is natural.
    fn join_operator(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let natural = self.at(K::Natural);
        if natural {
            self.advance();
        }
        let kind = match self.keyword() {
            K::Join => {
                self.advance();
                JoinKind::Inner
            }
            K::Inner | K::Cross => {
                if natural && self.at(K::Cross) {
                    return Err(self.unexpected());
                }
                self.advance();
                self.expect(K::Join)?;
                JoinKind::Inner
            }
            K::StraightJoin if !natural => {
                self.advance();
                JoinKind::Straight
            }
            K::Left | K::Right => {
                let kind = if self.at(K::Left) { JoinKind::Left } else { JoinKind::Right };
                self.advance();
                self.accept(K::Outer);
                self.expect(K::Join)?;
                kind
            }
            _ if natural => return Err(self.unexpected()),
            _ => return Ok(None),
        };
        Ok(Some((kind, natural)))
    }

    fn table_factor(&mut self) -> Result<TableReference> {
        match self.kind() {
            TokenKind::LeftParen => match self.nested(Self::table_paren)? {
                Paren::Tables(tables) => Ok(tables),
                Paren::Query(query) => self.derived(false, *query),
            },
            TokenKind::LeftBrace => {
                self.advance();
                // `{OJ …}`.
                self.ident()?;
                let reference = self.nested(Self::table_reference)?;
                self.expect_kind(TokenKind::RightBrace)?;
                Ok(reference)
            }
            _ if self.at(K::Lateral) => {
                self.advance();
                let query = self.subquery()?;
                self.derived(true, query)
            }
            _ if self.at(K::JsonTable) => self.json_table(),
            _ => self.table_or_function(),
        }
    }

    fn derived(&mut self, lateral: bool, query: Query) -> Result<TableReference> {
        let alias = self.table_alias()?;
        let columns = if alias.is_some() { self.optional_idents()? } else { Vec::new() };
        Ok(TableReference::Derived(Box::new(DerivedTable { lateral, query, alias, columns })))
    }

    /// `( … )`: a query or table references.
    fn table_paren(&mut self) -> Result<Paren> {
        if self.query_follows_paren() || self.peek_is(1, K::Values) {
            return Ok(Paren::Query(Box::new(self.subquery()?)));
        }
        self.advance();
        let first = if self.at_kind(TokenKind::LeftParen) {
            match self.nested(Self::table_paren)? {
                Paren::Query(query) if self.at_query_tail() => {
                    let query = Box::new(self.query_after(*query)?);
                    self.expect_kind(TokenKind::RightParen)?;
                    return Ok(Paren::Query(query));
                }
                Paren::Query(query) if self.accept_kind(TokenKind::RightParen) => return Ok(Paren::Query(query)),
                Paren::Query(query) => self.derived(false, *query)?,
                Paren::Tables(tables) => tables,
            }
        } else {
            self.table_factor()?
        };
        let mut tables = self.joins_after(first)?.0;
        while self.accept_kind(TokenKind::Comma) {
            self.grow()?;
            let right = self.table_reference()?;
            tables = TableReference::Join(Box::new(Join {
                kind: JoinKind::Inner,
                left: tables,
                right,
                condition: JoinCondition::None,
            }));
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Paren::Tables(tables))
    }

    fn table_or_function(&mut self) -> Result<TableReference> {
        let name = self.object_name()?;
        if !self.at_kind(TokenKind::LeftParen) {
            return self.table(name).map(|table| TableReference::Table(Box::new(table)));
        }
        self.advance();
        let empty = self.at_kind(TokenKind::RightParen);
        let arguments = if empty { Vec::new() } else { self.comma_list(Self::expr)? };
        self.expect_kind(TokenKind::RightParen)?;
        let alias = self.table_alias()?;
        let columns = if alias.is_some() { self.optional_idents()? } else { Vec::new() };
        Ok(TableReference::Function(Box::new(TableFunctionCall { name, arguments, alias, columns })))
    }

    fn table(&mut self, name: ObjectName) -> Result<TableFactor> {
        let partitions = self.partition_names()?;
        let alias = self.table_alias()?;
        let mut hints = Vec::new();
        while let Some(hint) = self.index_hint()? {
            hints.push(hint);
            // MySQL parts hints by blanks, older texts by commas.
            if self.at_kind(TokenKind::Comma) && self.peek_index_hint() {
                self.advance();
            }
        }
        Ok(TableFactor { name, partitions, alias, hints })
    }

    fn peek_index_hint(&mut self) -> bool {
        matches!(self.peek(1).keyword, K::Use | K::Force | K::Ignore)
            && matches!(self.peek(2).keyword, K::Index | K::Key)
    }

    fn index_hint(&mut self) -> Result<Option<IndexHint>> {
        let kind = match self.keyword() {
            K::Use => IndexHintKind::Use,
            K::Force => IndexHintKind::Force,
            K::Ignore => IndexHintKind::Ignore,
            _ => return Ok(None),
        };
        if !matches!(self.peek(1).keyword, K::Index | K::Key) {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let mut scope = None;
        if self.accept(K::For) {
            scope = Some(match self.expect_any(&[K::Join, K::Order, K::Group])? {
                K::Join => IndexHintScope::Join,
                K::Order => IndexHintScope::OrderBy,
                _ => IndexHintScope::GroupBy,
            });
            if scope != Some(IndexHintScope::Join) {
                self.expect(K::By)?;
            }
        }
        self.expect_kind(TokenKind::LeftParen)?;
        let mut indexes = Vec::new();
        if !(kind == IndexHintKind::Use && self.at_kind(TokenKind::RightParen)) {
            indexes = self.comma_list(|parser| {
                if parser.at(K::Primary) {
                    let token = parser.advance();
                    return parser.ident_of(token);
                }
                parser.ident()
            })?;
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Some(IndexHint { kind, scope, indexes }))
    }

    fn json_table(&mut self) -> Result<TableReference> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let document = self.expr()?;
        self.expect_kind(TokenKind::Comma)?;
        let path = self.sql_string()?;
        let columns = self.json_columns()?;
        self.expect_kind(TokenKind::RightParen)?;
        let alias = self.table_alias()?;
        Ok(TableReference::JsonTable(Box::new(JsonTable { document, path, columns, alias })))
    }

    fn json_columns(&mut self) -> Result<Vec<JsonColumn>> {
        self.expect(K::Columns)?;
        self.parenthesized_list(|parser| parser.nested(Self::json_column))
    }

    fn json_column(&mut self) -> Result<JsonColumn> {
        if self.at(K::Nested) && (self.peek_is(1, K::Path) || self.peek_kind(1, TokenKind::String)) {
            self.advance();
            self.accept(K::Path);
            let path = self.sql_string()?;
            return Ok(JsonColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.accept(K::For) {
            self.expect(K::Ordinality)?;
            return Ok(JsonColumn::Ordinality { name });
        }
        let data_type = self.data_type()?;
        if self.accept(K::Exists) {
            self.expect(K::Path)?;
            return Ok(JsonColumn::Exists { name, data_type, path: self.sql_string()? });
        }
        self.expect(K::Path)?;
        let path = self.sql_string()?;
        let (on_empty, on_error) = self.json_responses(true)?;
        Ok(JsonColumn::Path { name, data_type, path, on_empty, on_error })
    }
}

/// Joins `left` with the table `links` joins down the left side of `right`.
fn join_leftmost(kind: JoinKind, left: TableReference, mut right: TableReference, links: usize) -> TableReference {
    let mut place = &mut right;
    for _ in 0..links {
        match place {
            TableReference::Join(join) => place = &mut join.left,
            _ => break,
        }
    }
    let empty = TableReference::Table(Box::new(TableFactor {
        name: ObjectName::new(""),
        partitions: Vec::new(),
        alias: None,
        hints: Vec::new(),
    }));
    let first = std::mem::replace(place, empty);
    *place = TableReference::Join(Box::new(Join { kind, left, right: first, condition: JoinCondition::None }));
    right
}
