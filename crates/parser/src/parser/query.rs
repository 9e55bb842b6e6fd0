//! Queries.

use super::*;

impl Parser<'_> {
    /// A query expression with everything that may stand around it.
    pub(super) fn query(&mut self) -> Result<Query> {
        if self.query_depth >= QUERY_DEPTH_MAX {
            return self.error(1473, "HY000", "Too high level of nesting for select");
        }
        self.query_depth += 1;
        let query = self.measured(|parser| {
            let with = parser.with()?;
            parser.query_body(with)
        });
        self.query_depth -= 1;
        // Below is a Deep.
        self.height.plain = 1;
        query
    }

    /// A query whose WITH clause has been read.
    pub(super) fn query_body(&mut self, with: Option<With>) -> Result<Query> {
        let (first, into) = self.query_primary()?;
        self.query_rest(with, first, into)
    }

    /// Goes on with a query whose first part, in parentheses, has been read.
    pub(super) fn query_after(&mut self, first: Query) -> Result<Query> {
        self.query_rest(None, nest(first), None)
    }

    fn query_rest(&mut self, with: Option<With>, first: QueryBody, into: Option<SelectInto>) -> Result<Query> {
        if into.is_some() {
            self.no_set_operator()?;
        }
        let body = self.set_operations(first)?;
        let into = into.or(self.last_into.take());
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        let mut query = Query { with, body, order_by, limit, locking: Vec::new(), into };
        if query.into.is_none() && self.at(K::Into) {
            query.into = self.into()?;
        }
        query.locking = self.locking()?;
        if query.into.is_none() && self.at(K::Into) {
            query.into = self.into()?;
        }
        // Parentheses around a whole query say nothing.
        let bare = query.with.is_none()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.locking.is_empty()
            && query.into.is_none();
        match query.body {
            QueryBody::Nested(inner) if bare => Ok(inner.into_inner()),
            body => Ok(Query { body, ..query }),
        }
    }

    /// `(query)`.
    pub(super) fn subquery(&mut self) -> Result<Query> {
        self.parenthesized(Self::inner_query)
    }

    /// A query that is part of a statement, and so without INTO.
    pub(super) fn inner_query(&mut self) -> Result<Query> {
        self.subqueries += 1;
        let query = self.query();
        self.subqueries -= 1;
        query
    }

    /// Whether a query can begin here.
    pub(super) fn at_query(&self) -> bool {
        // Where this is asked, only a query begins with a parenthesis.
        self.at_any(&[K::Select, K::With, K::Table, K::Values]) || self.at_kind(TokenKind::LeftParen)
    }

    /// Whether what may stand behind a query in parentheses is here.
    pub(super) fn at_query_tail(&self) -> bool {
        self.at_any(&[K::Union, K::Except, K::Intersect, K::Order, K::Limit])
    }

    pub(super) fn with(&mut self) -> Result<Option<With>> {
        if !self.accept(K::With) {
            return Ok(None);
        }
        let recursive = self.accept(K::Recursive);
        let tables = self.comma_list(|parser| {
            let name = parser.ident()?;
            let columns = parser.optional_idents()?;
            parser.expect(K::As)?;
            Ok(CommonTable { name, columns, query: parser.subquery()? })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    fn no_set_operator(&self) -> Result<()> {
        if self.at_any(&[K::Union, K::Except, K::Intersect]) { Err(self.unexpected()) } else { Ok(()) }
    }

    fn set_operations(&mut self, first: QueryBody) -> Result<QueryBody> {
        let mut left = self.intersections(first)?;
        loop {
            let kind = match self.keyword() {
                K::Union => SetOperationKind::Union,
                K::Except => SetOperationKind::Except,
                _ => return Ok(left),
            };
            let (all, right) = self.set_operand()?;
            let right = self.intersections(right)?;
            left = QueryBody::SetOperation(Deep::new(SetOperation { kind, all, left, right }));
        }
    }

    fn intersections(&mut self, mut left: QueryBody) -> Result<QueryBody> {
        while self.at(K::Intersect) {
            let (all, right) = self.set_operand()?;
            let kind = SetOperationKind::Intersect;
            left = QueryBody::SetOperation(Deep::new(SetOperation { kind, all, left, right }));
        }
        Ok(left)
    }

    /// A set operator with ALL or DISTINCT, and the query behind it.
    fn set_operand(&mut self) -> Result<(bool, QueryBody)> {
        self.grow()?;
        // Each operation is behind a Deep.
        self.height.plain = 1;
        self.advance();
        let all = self.accept(K::All);
        if !all {
            self.accept(K::Distinct);
        }
        let (body, into) = self.query_primary()?;
        // INTO in the last part belongs to the whole.
        if into.is_some() {
            self.no_set_operator()?;
            self.last_into = into;
        }
        Ok((all, body))
    }

    fn query_primary(&mut self) -> Result<(QueryBody, Option<SelectInto>)> {
        match self.keyword() {
            K::Select => {
                let (select, into) = self.select()?;
                Ok((QueryBody::Select(Deep::new(select)), into))
            }
            K::Values => {
                self.advance();
                // MariaDB leaves ROW out.
                let rows = self.comma_list(|parser| {
                    parser.accept(K::Row);
                    parser.row_values()
                })?;
                Ok((QueryBody::Values(rows), None))
            }
            K::Table => {
                self.advance();
                Ok((QueryBody::Table(self.object_name()?), None))
            }
            _ if self.at_kind(TokenKind::LeftParen) => Ok((nest(self.parenthesized(Self::query)?), None)),
            _ => Err(self.unexpected()),
        }
    }

    /// `(value, …)`, where a value may be DEFAULT and there may be none.
    pub(super) fn row_values(&mut self) -> Result<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let values = self.comma_list(Self::value_or_default)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(values)
    }

    /// An expression or the word DEFAULT.
    pub(super) fn value_or_default(&mut self) -> Result<Expr> {
        if self.at(K::Default) && !self.peek_kind(1, TokenKind::LeftParen) {
            self.advance();
            return Ok(Expr::Default);
        }
        self.expr()
    }

    /// The text of `/*+ … */`, if it is here.
    pub(super) fn hints(&mut self) -> Option<Box<str>> {
        if !self.at_kind(TokenKind::Hint) {
            return None;
        }
        let token = self.advance();
        let text = self.text(token);
        Some(super::name::lossy(&text[3..text.len() - 2]))
    }

    fn select(&mut self) -> Result<(Select, Option<SelectInto>)> {
        self.expect(K::Select)?;
        self.charge(memory::BLOCK);
        let hints = self.hints();
        let options = self.select_options()?;
        let items = self.select_items()?;
        let mut into = None;
        if self.at(K::Into) {
            into = self.into()?;
        }
        let mut from = Vec::new();
        if self.accept(K::From) && !(self.at(K::Dual) && self.accept(K::Dual)) {
            from = self.table_references()?;
        }
        let selection = self.where_clause()?;
        let group_by = self.group_by()?;
        let having = if self.accept(K::Having) { Some(self.expr()?) } else { None };
        let windows = self.named_windows()?;
        Ok((Select { hints, options, items, from, selection, group_by, having, windows }, into))
    }

    fn select_options(&mut self) -> Result<SelectOptions> {
        let mut options = SelectOptions::default();
        loop {
            let option = match self.keyword() {
                K::Distinct | K::Distinctrow => &mut options.distinct,
                K::StraightJoin => &mut options.straight_join,
                K::HighPriority => &mut options.high_priority,
                K::SqlSmallResult => &mut options.small_result,
                K::SqlBigResult => &mut options.big_result,
                K::SqlBufferResult => &mut options.buffer_result,
                K::SqlNoCache => &mut options.no_cache,
                K::SqlCalcFoundRows => &mut options.calc_found_rows,
                K::All => {
                    if options.distinct {
                        return self.error(1221, "HY000", "Incorrect usage of ALL and DISTINCT");
                    }
                    self.advance();
                    continue;
                }
                _ => return Ok(options),
            };
            *option = true;
            self.advance();
        }
    }

    pub(super) fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        let mut items = Vec::new();
        if self.accept_kind(TokenKind::Star) {
            items.push(SelectItem::Wildcard);
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(items);
            }
        }
        loop {
            items.push(self.select_item()?);
            self.check_columns(items.len())?;
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(items);
            }
        }
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if self.at_ident() && self.peek_kind(1, TokenKind::Dot) {
            if self.peek_kind(2, TokenKind::Star) {
                let name = ObjectName { schema: None, name: self.ident()? };
                self.advance();
                self.advance();
                return Ok(SelectItem::QualifiedWildcard(name));
            }
            if self.peek_kind(3, TokenKind::Dot) && self.peek_kind(4, TokenKind::Star) {
                let name = self.object_name()?;
                self.advance();
                self.advance();
                return Ok(SelectItem::QualifiedWildcard(name));
            }
        }
        let start = self.current.start;
        let expr = self.expr()?;
        let span = self.span_from(start);
        let alias = self.select_alias()?;
        Ok(SelectItem::Expr(Box::new(SelectExpr { expr, alias, span })))
    }

    fn select_alias(&mut self) -> Result<Option<Ident>> {
        if self.accept(K::As) {
            return self.ident_or_string().map(Some);
        }
        if self.at_kind(TokenKind::String) || self.at_ident() {
            return self.ident_or_string().map(Some);
        }
        Ok(None)
    }

    pub(super) fn where_clause(&mut self) -> Result<Option<Expr>> {
        if self.accept(K::Where) { self.expr().map(Some) } else { Ok(None) }
    }

    fn group_by(&mut self) -> Result<Option<GroupBy>> {
        if !self.accept(K::Group) {
            return Ok(None);
        }
        self.expect(K::By)?;
        if self.at(K::Rollup) && self.peek_kind(1, TokenKind::LeftParen) {
            self.advance();
            let items = self.parenthesized_list(Self::group_item)?;
            return Ok(Some(GroupBy { items, rollup: true }));
        }
        let items = self.comma_list(Self::group_item)?;
        let rollup = self.accept(K::With);
        if rollup {
            self.expect(K::Rollup)?;
        }
        Ok(Some(GroupBy { items, rollup }))
    }

    fn group_item(&mut self) -> Result<GroupItem> {
        let expr = self.expr()?;
        let descending = self.direction();
        Ok(GroupItem { expr, descending })
    }

    /// `ASC` or `DESC`: whether it descends.
    pub(super) fn direction(&mut self) -> Option<bool> {
        if self.accept(K::Asc) {
            return Some(false);
        }
        self.accept(K::Desc).then_some(true)
    }

    /// `ORDER BY …` or nothing.
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.accept(K::Order) {
            return Ok(Vec::new());
        }
        self.expect(K::By)?;
        self.comma_list(Self::order_item)
    }

    /// `ORDER BY` of ALTER TABLE, which takes columns only, as in MySQL.
    pub(super) fn order_by_columns(&mut self) -> Result<Vec<OrderItem>> {
        self.expect(K::Order)?;
        self.expect(K::By)?;
        self.comma_list(|parser| {
            let expr = Expr::Column(Box::new(parser.column_name()?));
            let descending = parser.direction().unwrap_or(false);
            Ok(OrderItem { expr, descending })
        })
    }

    pub(super) fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let descending = self.direction().unwrap_or(false);
        Ok(OrderItem { expr, descending })
    }

    /// `LIMIT …` or nothing.
    pub(super) fn limit(&mut self) -> Result<Option<Limit>> {
        if self.at(K::Offset) || self.at(K::Fetch) {
            return self.fetch_first();
        }
        if !self.accept(K::Limit) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        let (count, offset) = if self.accept_kind(TokenKind::Comma) {
            (self.limit_value()?, Some(first))
        } else if self.accept(K::Offset) {
            (first, Some(self.limit_value()?))
        } else {
            (first, None)
        };
        Ok(Some(Limit { count: Some(count), offset, with_ties: false }))
    }

    /// MariaDB's `[OFFSET n ROWS] [FETCH FIRST n ROWS {ONLY | WITH TIES}]`.
    fn fetch_first(&mut self) -> Result<Option<Limit>> {
        let (mut count, mut offset, mut with_ties) = (None, None, false);
        if self.accept(K::Offset) {
            offset = Some(self.limit_value()?);
            self.expect_any(&[K::Row, K::Rows])?;
        }
        if self.accept(K::Fetch) {
            self.expect_any(&[K::First, K::Next])?;
            count = Some(if self.at_any(&[K::Row, K::Rows]) {
                Expr::Literal(Literal::Integer("1".into()))
            } else {
                self.limit_value()?
            });
            self.expect_any(&[K::Row, K::Rows])?;
            with_ties = self.accept(K::With);
            self.expect(if with_ties { K::Ties } else { K::Only })?;
        }
        Ok(Some(Limit { count, offset, with_ties }))
    }

    /// `LIMIT count` of UPDATE and DELETE, which have no offset.
    pub(super) fn simple_limit(&mut self) -> Result<Option<Limit>> {
        if !self.accept(K::Limit) {
            return Ok(None);
        }
        Ok(Some(Limit { count: Some(self.limit_value()?), offset: None, with_ties: false }))
    }

    /// A number, a placeholder or a local variable.
    fn limit_value(&mut self) -> Result<Expr> {
        let allowed = matches!(
            self.current.kind,
            TokenKind::Integer | TokenKind::HexNumber | TokenKind::BitNumber | TokenKind::Placeholder
        );
        if !allowed && !self.at_ident() {
            return Err(self.unexpected());
        }
        if allowed {
            return self.primary();
        }
        Ok(Expr::Column(Box::new(self.column_name()?)))
    }

    fn locking(&mut self) -> Result<Vec<Locking>> {
        let mut clauses = Vec::new();
        loop {
            if self.at(K::Lock) {
                self.advance();
                self.expect_all(&[K::In, K::Share, K::Mode])?;
                let wait = self.lock_wait()?;
                clauses.push(Locking { strength: LockStrength::Share, of: Vec::new(), wait });
                continue;
            }
            let strength = match self.keyword() {
                K::For if self.peek_is(1, K::Update) => LockStrength::Update,
                K::For if self.peek_is(1, K::Share) => LockStrength::Share,
                _ => return Ok(clauses),
            };
            self.advance();
            self.advance();
            let of = if self.accept(K::Of) { self.comma_list(Self::object_name)? } else { Vec::new() };
            clauses.push(Locking { strength, of, wait: self.lock_wait()? });
        }
    }

    pub(super) fn lock_wait(&mut self) -> Result<LockWait> {
        if self.accept(K::Nowait) {
            return Ok(LockWait::NoWait);
        }
        if self.accept(K::Skip) {
            self.expect(K::Locked)?;
            return Ok(LockWait::SkipLocked);
        }
        if self.accept(K::Wait) {
            return Ok(LockWait::Seconds(self.unsigned()?));
        }
        Ok(LockWait::Default)
    }

    /// `INTO OUTFILE …`, `INTO DUMPFILE …`, `INTO variable, …`.
    fn into(&mut self) -> Result<Option<SelectInto>> {
        if self.subqueries > 0 {
            return Err(self.unexpected());
        }
        self.expect(K::Into)?;
        if self.accept(K::Outfile) {
            let path = self.string()?;
            let charset = if self.accept_charset_words()? { Some(self.charset_name()?) } else { None };
            let named_format = if self.accept_word("FORMAT") { Some(self.named_format()?) } else { None };
            let format = if named_format.is_none() { self.file_format()? } else { FileFormat::default() };
            return Ok(Some(SelectInto::OutFile(Box::new(OutFile { path, charset, format, named_format }))));
        }
        if self.accept(K::Dumpfile) {
            return Ok(Some(SelectInto::DumpFile(self.string()?)));
        }
        Ok(Some(SelectInto::Variables(self.comma_list(Self::variable_target)?)))
    }

    pub(super) fn named_format(&mut self) -> Result<NamedFormat> {
        let formats = [("CSV", NamedFormat::Csv), ("NDJSON", NamedFormat::NdJson), ("PARQUET", NamedFormat::Parquet)];
        match formats.iter().find(|(word, _)| self.at_word(word)) {
            Some((_, format)) => {
                self.advance();
                Ok(*format)
            }
            None => Err(self.unexpected()),
        }
    }

    /// `@name`, a local variable, or a field of NEW.
    pub(super) fn variable_target(&mut self) -> Result<VariableTarget> {
        if self.at_kind(TokenKind::At) {
            return self.user_variable().map(VariableTarget::User);
        }
        self.column_name().map(VariableTarget::Local)
    }
}

/// A query in parentheses as part of a larger one. Without clauses of its own it is only its body.
fn nest(query: Query) -> QueryBody {
    let bare = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locking.is_empty()
        && query.into.is_none();
    if bare { query.body } else { QueryBody::Nested(Deep::new(query)) }
}
