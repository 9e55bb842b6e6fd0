//! EXPLAIN, DESCRIBE, and ANALYZE of a statement.

use super::*;

impl Parser<'_> {
    /// EXPLAIN, DESCRIBE and DESC, behind the word.
    pub(super) fn explain(&mut self) -> Result<Statement> {
        let mut explain = empty_explain();
        if self.at(K::Analyze) {
            self.advance();
            explain.analyze = true;
        }
        // EXTENDED, PARTITIONS and FORMAT may be the name of a table to describe.
        if self.at(K::Extended) && self.more_follows() {
            self.advance();
            explain.extended = true;
        } else if self.at(K::Partitions) && self.more_follows() {
            self.advance();
            explain.partitions = true;
        }
        if self.at(K::Format) && self.peek_kind(1, TokenKind::Equal) {
            self.format(&mut explain)?;
        }
        if self.accept(K::Into) {
            explain.into = Some(self.user_variable()?);
        }
        if self.at(K::For) && self.peek_is(1, K::Connection) {
            self.advance();
            self.advance();
            explain.target = ExplainTarget::Connection(self.expr()?);
            return Ok(Statement::Explain(Box::new(explain)));
        }
        if self.at(K::For) {
            self.advance();
            self.expect_any(&[K::Schema, K::Database])?;
            explain.schema = Some(self.ident()?);
        }
        let plain = !explain.analyze
            && !explain.extended
            && !explain.partitions
            && explain.format.is_none()
            && explain.into.is_none()
            && explain.schema.is_none();
        if plain && self.at_ident() && !self.at_reset_persist() {
            let table = self.object_name()?;
            let column = match self.kind() {
                TokenKind::String => Some(self.string()?),
                _ if self.at_ident() => Some(self.ident()?.value),
                _ => None,
            };
            return Ok(Statement::DescribeTable(DescribeTable { table, column }));
        }
        explain.target = ExplainTarget::Statement(Box::new(self.explainable()?));
        Ok(Statement::Explain(Box::new(explain)))
    }

    /// RESET PERSIST. `DESCRIBE reset persist` is one too.
    fn at_reset_persist(&mut self) -> bool {
        self.at(K::Reset) && self.peek_is(1, K::Persist)
    }

    fn more_follows(&mut self) -> bool {
        matches!(self.peek(1).keyword, K::Select | K::Insert | K::Replace | K::Update | K::Delete | K::With | K::Table)
            || self.peek_kind(1, TokenKind::LeftParen)
    }

    fn format(&mut self, explain: &mut Explain) -> Result<()> {
        self.advance();
        self.expect_kind(TokenKind::Equal)?;
        let name = self.ident_or_string()?;
        explain.format = Some(name.value.to_ascii_uppercase().into());
        Ok(())
    }

    /// MariaDB's `ANALYZE [FORMAT=…] statement`, behind the word.
    pub(super) fn analyze_statement(&mut self) -> Result<Statement> {
        let mut explain = Explain { analyze: true, ..empty_explain() };
        if self.at(K::Format) {
            self.format(&mut explain)?;
        }
        explain.target = ExplainTarget::Statement(Box::new(self.explainable()?));
        Ok(Statement::Explain(Box::new(explain)))
    }

    /// A statement that EXPLAIN takes.
    fn explainable(&mut self) -> Result<Statement> {
        let known = self.at_any(&[
            K::Select,
            K::With,
            K::Table,
            K::Values,
            K::Insert,
            K::Replace,
            K::Update,
            K::Delete,
            K::Set,
            K::Alter,
            K::Reset,
        ]);
        if !known && !self.at_kind(TokenKind::LeftParen) {
            return Err(self.unexpected());
        }
        self.nested(Self::statement)
    }
}

/// EXPLAIN before anything behind the word is read.
fn empty_explain() -> Explain {
    Explain {
        analyze: false,
        extended: false,
        partitions: false,
        format: None,
        into: None,
        schema: None,
        target: ExplainTarget::Connection(Expr::Literal(Literal::Null)),
    }
}
