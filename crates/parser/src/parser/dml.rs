//! INSERT, REPLACE, UPDATE, DELETE, HANDLER, DO and CALL.

use super::*;

impl Parser<'_> {
    /// INSERT and REPLACE, behind the word.
    pub(super) fn insert(&mut self, replace: bool) -> Result<Statement> {
        let hints = self.hints();
        let priority = match self.keyword() {
            K::LowPriority => Some(InsertPriority::Low),
            K::Delayed => Some(InsertPriority::Delayed),
            K::HighPriority if !replace => Some(InsertPriority::High),
            _ => None,
        };
        if priority.is_some() {
            self.advance();
        }
        let ignore = !replace && self.accept(K::Ignore);
        self.accept(K::Into);
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let mut insert = Insert {
            replace,
            hints,
            priority,
            ignore,
            table,
            partitions,
            columns: Vec::new(),
            source: InsertSource::Values(ValueRows::default()),
            row_alias: None,
            on_duplicate: Vec::new(),
            returning: Vec::new(),
        };
        if self.accept(K::Set) {
            let mut row = Vec::new();
            for assignment in self.assignments()? {
                insert.columns.push(assignment.column.column);
                row.push(assignment.value);
            }
            insert.source = InsertSource::Values(vec![row].into());
        } else {
            if self.at_kind(TokenKind::LeftParen)
                && !self.query_follows_paren()
                && !self.peek_kind(1, TokenKind::LeftParen)
            {
                self.advance();
                if !self.at_kind(TokenKind::RightParen) {
                    insert.columns = self.comma_list(|parser| Ok(parser.column_name()?.column))?;
                }
                self.expect_kind(TokenKind::RightParen)?;
            }
            insert.source = self.insert_source()?;
        }
        if matches!(insert.source, InsertSource::Values(_)) && !replace && self.accept(K::As) {
            let name = self.ident()?;
            insert.row_alias = Some(RowAlias { name, columns: self.optional_idents()? });
        }
        if !replace && self.accept(K::On) {
            self.expect_all(&[K::Duplicate, K::Key, K::Update])?;
            insert.on_duplicate = self.assignments()?;
        }
        insert.returning = self.returning()?;
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn insert_source(&mut self) -> Result<InsertSource> {
        let values = self.at(K::Value) || (self.at(K::Values) && !self.peek_is(1, K::Row));
        if !values {
            if !self.at_query() {
                return Err(self.unexpected());
            }
            return Ok(InsertSource::Query(Box::new(self.inner_query()?)));
        }
        self.advance();
        Ok(InsertSource::Values(self.value_rows()?))
    }

    /// `column = value, …`.
    pub(super) fn assignments(&mut self) -> Result<Vec<Assignment>> {
        self.comma_list(|parser| {
            let column = parser.column_name()?;
            if !parser.accept_kind(TokenKind::Assign) {
                parser.expect_kind(TokenKind::Equal)?;
            }
            Ok(Assignment { column, value: parser.value_or_default()? })
        })
    }

    fn returning(&mut self) -> Result<Vec<SelectItem>> {
        if self.accept(K::Returning) { self.select_items() } else { Ok(Vec::new()) }
    }

    /// UPDATE, behind the word.
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        let hints = self.hints();
        let low_priority = self.accept(K::LowPriority);
        let ignore = self.accept(K::Ignore);
        let tables = self.table_references()?;
        self.expect(K::Set)?;
        let assignments = self.assignments()?;
        let selection = self.where_clause()?;
        let order_by = self.order_by()?;
        let limit = self.simple_limit()?;
        Ok(Statement::Update(Box::new(Update {
            with,
            hints,
            low_priority,
            ignore,
            tables,
            assignments,
            selection,
            order_by,
            limit,
        })))
    }

    /// DELETE, behind the word.
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        let hints = self.hints();
        let mut delete = Delete {
            with,
            hints,
            low_priority: false,
            quick: false,
            ignore: false,
            target: DeleteTarget::Multiple { tables: Vec::new(), from: Vec::new() },
            selection: None,
            order_by: Vec::new(),
            limit: None,
            returning: Vec::new(),
        };
        loop {
            if self.accept(K::LowPriority) {
                delete.low_priority = true;
            } else if self.at(K::Quick) {
                self.advance();
                delete.quick = true;
            } else if self.accept(K::Ignore) {
                delete.ignore = true;
            } else {
                break;
            }
        }
        if self.accept(K::From) {
            let start = self.current.start;
            let mut names = self.comma_list(Self::delete_name)?;
            if self.accept(K::Using) {
                delete.target = DeleteTarget::Multiple { tables: names, from: self.table_references()? };
                delete.selection = self.where_clause()?;
            } else {
                let (Some(table), true) = (names.pop(), names.is_empty()) else {
                    return Err(self.unexpected());
                };
                // `t.*` is for the multi-table form.
                if self.sql.get(self.previous_end as usize - 1) == Some(&b'*') {
                    return Err(self.syntax_error(start));
                }
                let partitions_first = self.partition_names()?;
                let alias = self.table_alias()?;
                let partitions = if partitions_first.is_empty() { self.partition_names()? } else { partitions_first };
                delete.target = DeleteTarget::Single { table, alias, partitions };
                delete.selection = self.where_clause()?;
                delete.order_by = self.order_by()?;
                delete.limit = self.simple_limit()?;
                delete.returning = self.returning()?;
            }
        } else {
            let tables = self.comma_list(Self::delete_name)?;
            self.expect(K::From)?;
            delete.target = DeleteTarget::Multiple { tables, from: self.table_references()? };
            delete.selection = self.where_clause()?;
        }
        Ok(Statement::Delete(Box::new(delete)))
    }

    /// `t`, `s.t`, `t.*`, `s.t.*`.
    fn delete_name(&mut self) -> Result<ObjectName> {
        let first = self.ident()?;
        let mut name = ObjectName { schema: None, name: first };
        while self.accept_kind(TokenKind::Dot) {
            if self.accept_kind(TokenKind::Star) {
                break;
            }
            let next = self.ident()?;
            if name.schema.is_some() {
                return Err(self.syntax_error(next.span.start));
            }
            name = ObjectName { schema: Some(name.name), name: next };
        }
        Ok(name)
    }

    /// HANDLER, behind the word.
    pub(super) fn handler(&mut self) -> Result<Statement> {
        let table = self.object_name()?;
        // What is open is called by its name alone.
        let words: &[K] = if table.schema.is_some() { &[K::Open] } else { &[K::Open, K::Close, K::Read] };
        let handler = match self.expect_any(words)? {
            K::Open => Handler::Open { table, alias: self.table_alias()? },
            K::Close => Handler::Close { table },
            _ => {
                let read = self.handler_read()?;
                let selection = self.where_clause()?;
                Handler::Read { table, read, selection, limit: self.limit()? }
            }
        };
        Ok(Statement::Handler(Box::new(handler)))
    }

    fn handler_read(&mut self) -> Result<HandlerRead> {
        if self.at_any(&[K::First, K::Next]) && !matches!(self.peek(1).kind, TokenKind::Equal) {
            let first = self.advance().keyword == K::First;
            return Ok(HandlerRead::Scan(if first { HandlerDirection::First } else { HandlerDirection::Next }));
        }
        let index = if self.at(K::Primary) {
            let token = self.advance();
            self.ident_of(token)?
        } else {
            self.ident()?
        };
        let op = match self.kind() {
            TokenKind::Equal => BinaryOp::Equal,
            TokenKind::Less => BinaryOp::Less,
            TokenKind::LessOrEqual => BinaryOp::LessOrEqual,
            TokenKind::Greater => BinaryOp::Greater,
            TokenKind::GreaterOrEqual => BinaryOp::GreaterOrEqual,
            _ => {
                let direction = match self.expect_any(&[K::First, K::Next, K::Prev, K::Last])? {
                    K::First => HandlerDirection::First,
                    K::Next => HandlerDirection::Next,
                    K::Prev => HandlerDirection::Previous,
                    _ => HandlerDirection::Last,
                };
                return Ok(HandlerRead::Index { index, direction });
            }
        };
        self.advance();
        Ok(HandlerRead::Key { index, op, values: self.row_values()? })
    }

    /// DO, behind the word.
    pub(super) fn do_statement(&mut self) -> Result<Statement> {
        // Items may be named as in a SELECT; the names serve nothing.
        let items = self.comma_list(|parser| {
            let expr = parser.expr()?;
            if parser.accept(K::As) || parser.at_ident() {
                parser.ident_or_string()?;
            }
            Ok(expr)
        })?;
        Ok(Statement::Do(items))
    }

    /// CALL, behind the word.
    pub(super) fn call_statement(&mut self) -> Result<Statement> {
        let procedure = self.object_name()?;
        let mut arguments = Vec::new();
        if self.accept_kind(TokenKind::LeftParen) {
            if !self.at_kind(TokenKind::RightParen) {
                arguments = self.expr_list()?;
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        Ok(Statement::Call(Box::new(Call { procedure, arguments })))
    }
}
