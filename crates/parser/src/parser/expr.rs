//! Expressions: operators by precedence climbing.

use super::*;

/// How tightly operators bind, loosest first.
mod level {
    pub const OR: u8 = 1;
    pub const XOR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    /// Comparisons and IS.
    pub const COMPARISON: u8 = 5;
    /// BETWEEN, IN, LIKE, REGEXP, SOUNDS LIKE, MEMBER OF.
    pub const PREDICATE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADD: u8 = 10;
    pub const MULTIPLY: u8 = 11;
    pub const BIT_XOR: u8 = 12;
    /// `||` under PIPES_AS_CONCAT.
    pub const CONCAT: u8 = 13;
    pub const UNARY: u8 = 14;
}

/// The part behind an operand.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Is,
    Comparison(BinaryOp),
    Between,
    In,
    Like,
    Regexp,
    SoundsLike,
    MemberOf,
    /// Left-associative, with nothing special about its right side.
    Plain(BinaryOp),
}

impl Parser<'_> {
    /// Any expression.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        match self.lone_literal()? {
            Some(literal) => Ok(literal),
            None => self.expr_at(level::OR),
        }
    }

    /// A literal that is all of an expression in a list: most of what a long INSERT is made of.
    fn lone_literal(&mut self) -> Result<Option<Expr>> {
        let sign = usize::from(self.at_kind(TokenKind::Minus));
        let token = if sign == 0 { self.current } else { self.peek(1) };
        let literal = match token.kind {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => true,
            TokenKind::String => sign == 0,
            TokenKind::Word => sign == 0 && token.keyword == K::Null,
            _ => false,
        };
        if !literal || !matches!(self.peek(1 + sign).kind, TokenKind::Comma | TokenKind::RightParen) {
            return Ok(None);
        }
        if sign == 1 {
            self.advance();
        }
        let literal = self.literal()?.map(Expr::Literal);
        self.charge(self.node);
        Ok(literal.map(|literal| match sign {
            0 => literal,
            _ => Expr::Unary { op: UnaryOp::Minus, operand: Box::new(literal) },
        }))
    }

    /// An expression without boolean operators, comparisons and predicates.
    pub(super) fn bit_expr(&mut self) -> Result<Expr> {
        self.expr_at(level::BIT_OR)
    }

    pub(super) fn boxed_expr(&mut self) -> Result<Box<Expr>> {
        self.expr().map(Box::new)
    }

    pub(super) fn expr_list(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(Self::expr)
    }

    fn boxed_at(&mut self, level: u8) -> Result<Box<Expr>> {
        self.expr_at(level).map(Box::new)
    }

    /// An expression whose operators bind at least as tightly as `minimum`.
    fn expr_at(&mut self, minimum: u8) -> Result<Expr> {
        self.measured(|parser| {
            // NOT at the front has taken all that binds more tightly than itself.
            let not = parser.at(K::Not) && !parser.options.high_not_precedence;
            let left = parser.prefix(minimum)?;
            let expr = parser.infix_below(left, minimum, if not { level::NOT } else { u8::MAX })?;
            Ok(parser.parted(expr))
        })
    }

    /// The expression, behind a [`Deep`] if many levels of it are not.
    fn parted(&mut self, expr: Expr) -> Expr {
        if self.height.plain < DEEP_LEVELS || !may_be_deep(&expr) {
            return expr;
        }
        self.height.plain = 0;
        Expr::Deep(Deep::new(expr))
    }

    /// Goes on with an expression whose first operand has been read.
    pub(super) fn expr_after(&mut self, left: Expr) -> Result<Expr> {
        self.infix(left, level::OR)
    }

    /// Runs a rule that makes a tree one level taller than the tallest of its parts.
    pub(super) fn measured<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::take(&mut self.height);
        if self.depth >= EXPR_DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let value = stacker::maybe_grow(STACK_RESERVE, STACK_SEGMENT, || rule(self));
        self.depth -= 1;
        let value = value?;
        self.charge(self.node);
        self.grow()?;
        self.height.levels = self.height.levels.max(outer.levels);
        self.height.plain = self.height.plain.max(outer.plain);
        Ok(value)
    }

    /// The tree being read has become one level taller.
    pub(super) fn grow(&mut self) -> Result<()> {
        self.height.levels += 1;
        self.height.plain += 1;
        if self.height.levels > EXPR_DEPTH_MAX || self.height.plain > PLAIN_DEPTH_MAX {
            return Err(self.too_deep());
        }
        Ok(())
    }

    fn prefix(&mut self, minimum: u8) -> Result<Expr> {
        let op = match self.kind() {
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::Tilde => UnaryOp::BitNot,
            TokenKind::Bang => UnaryOp::Not,
            TokenKind::Word if self.at(K::Not) => {
                if self.options.high_not_precedence {
                    UnaryOp::Not
                } else if minimum > level::NOT {
                    return Err(self.unexpected());
                } else {
                    self.advance();
                    let operand = self.boxed_at(level::NOT)?;
                    return Ok(Expr::Unary { op: UnaryOp::Not, operand });
                }
            }
            TokenKind::Word if self.at(K::Binary) => UnaryOp::Binary,
            _ => return self.operand(),
        };
        self.advance();
        let operand = self.boxed_at(level::UNARY)?;
        if matches!(*operand, Expr::Interval { .. }) {
            return Err(self.unexpected());
        }
        Ok(Expr::Unary { op, operand })
    }

    /// A primary expression and the COLLATE clauses behind it.
    fn operand(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        while self.at(K::Collate) {
            self.grow()?;
            self.advance();
            let collation = self.collation_name()?;
            expr = Expr::Collate { operand: Box::new(self.parted(expr)), collation };
        }
        Ok(expr)
    }

    fn infix(&mut self, left: Expr, minimum: u8) -> Result<Expr> {
        self.infix_below(left, minimum, u8::MAX)
    }

    /// The operators behind `left` that bind no less tightly than `minimum` and no more than `ceiling`.
    fn infix_below(&mut self, mut left: Expr, minimum: u8, mut ceiling: u8) -> Result<Expr> {
        // What binds more tightly than the operator before has been read with that one's right side; if it
        // still follows, it has no operand. Predicates do not follow one another either.
        while let Some((infix, level, negated)) = self.infix_operator() {
            if level < minimum || level > ceiling {
                break;
            }
            ceiling = if level == level::PREDICATE { level::COMPARISON } else { level };
            self.grow()?;
            self.charge(self.node);
            if negated {
                self.advance();
            }
            left = self.parted(left);
            left = self.apply(infix, level, negated, left)?;
        }
        Ok(left)
    }

    /// Passes the right side of an operator that has been passed, and the operators of its level behind that.
    fn operators(&mut self, mut op: BinaryOp, level: u8, left: Expr) -> Result<Expr> {
        let mut rest = Vec::new();
        loop {
            let right = match op {
                BinaryOp::Add | BinaryOp::Subtract if self.at(K::Interval) => self.addend(level + 1)?,
                _ => self.expr_at(level + 1)?,
            };
            rest.push((op, right));
            op = match self.infix_operator() {
                Some((Infix::Plain(op), next, false)) if next == level => op,
                _ => break,
            };
            self.charge(self.node);
            self.advance();
        }
        if rest.len() > BINARY_OPERATORS_MAX {
            return Ok(Expr::Chain { first: Box::new(left), rest });
        }
        // The loop around this has counted one of them.
        for _ in 1..rest.len() {
            self.grow()?;
        }
        let binary = |left, (op, right)| Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
        Ok(rest.into_iter().fold(left, binary))
    }

    /// The operator here, how tightly it binds, and whether it stands behind NOT.
    fn infix_operator(&mut self) -> Option<(Infix, u8, bool)> {
        use BinaryOp::*;
        use Infix::{Comparison, Plain};
        let (infix, level) = match self.kind() {
            TokenKind::Word => return self.word_operator(),
            TokenKind::Equal => (Comparison(Equal), level::COMPARISON),
            TokenKind::NullSafeEqual => (Comparison(NullSafeEqual), level::COMPARISON),
            TokenKind::NotEqual => (Comparison(NotEqual), level::COMPARISON),
            TokenKind::Less => (Comparison(Less), level::COMPARISON),
            TokenKind::LessOrEqual => (Comparison(LessOrEqual), level::COMPARISON),
            TokenKind::Greater => (Comparison(Greater), level::COMPARISON),
            TokenKind::GreaterOrEqual => (Comparison(GreaterOrEqual), level::COMPARISON),
            TokenKind::Pipe => (Plain(BitOr), level::BIT_OR),
            TokenKind::Ampersand => (Plain(BitAnd), level::BIT_AND),
            TokenKind::ShiftLeft => (Plain(ShiftLeft), level::SHIFT),
            TokenKind::ShiftRight => (Plain(ShiftRight), level::SHIFT),
            TokenKind::Plus => (Plain(Add), level::ADD),
            TokenKind::Minus => (Plain(Subtract), level::ADD),
            TokenKind::Star => (Plain(Multiply), level::MULTIPLY),
            TokenKind::Slash => (Plain(Divide), level::MULTIPLY),
            TokenKind::Percent => (Plain(Modulo), level::MULTIPLY),
            TokenKind::Caret => (Plain(BitXor), level::BIT_XOR),
            TokenKind::PipePipe if self.options.pipes_as_concat => (Plain(Concat), level::CONCAT),
            TokenKind::PipePipe => (Infix::Or, level::OR),
            TokenKind::AndAnd => (Infix::And, level::AND),
            _ => return None,
        };
        Some((infix, level, false))
    }

    fn word_operator(&mut self) -> Option<(Infix, u8, bool)> {
        let negated = self.at(K::Not);
        let keyword = if negated { self.peek(1).keyword } else { self.current.keyword };
        let (infix, level) = match keyword {
            K::Between => (Infix::Between, level::PREDICATE),
            K::In => (Infix::In, level::PREDICATE),
            K::Like => (Infix::Like, level::PREDICATE),
            K::Regexp | K::Rlike => (Infix::Regexp, level::PREDICATE),
            _ if negated => return None,
            K::Or => (Infix::Or, level::OR),
            K::Xor => (Infix::Plain(BinaryOp::Xor), level::XOR),
            K::And => (Infix::And, level::AND),
            K::Is => (Infix::Is, level::COMPARISON),
            K::Div => (Infix::Plain(BinaryOp::IntegerDivide), level::MULTIPLY),
            K::Mod => (Infix::Plain(BinaryOp::Modulo), level::MULTIPLY),
            K::Sounds if self.peek_is(1, K::Like) => (Infix::SoundsLike, level::PREDICATE),
            K::Member if self.peek_is(1, K::Of) => (Infix::MemberOf, level::PREDICATE),
            _ => return None,
        };
        Some((infix, level, negated))
    }

    /// Passes the operator and its right side.
    fn apply(&mut self, infix: Infix, level: u8, negated: bool, left: Expr) -> Result<Expr> {
        self.advance();
        match infix {
            Infix::Plain(op) => self.operators(op, level, left),
            Infix::Comparison(op) => self.comparison(op, left),
            Infix::And => {
                let mut operands = vec![left, self.expr_at(level::NOT)?];
                while self.at(K::And) || self.at_kind(TokenKind::AndAnd) {
                    self.advance();
                    operands.push(self.expr_at(level::NOT)?);
                }
                Ok(Expr::And(operands))
            }
            Infix::Or => {
                let mut operands = vec![left, self.expr_at(level::XOR)?];
                while self.at(K::Or) || (self.at_kind(TokenKind::PipePipe) && !self.options.pipes_as_concat) {
                    self.advance();
                    operands.push(self.expr_at(level::XOR)?);
                }
                Ok(Expr::Or(operands))
            }
            Infix::Is => self.is_test(left),
            Infix::Between => {
                let low = self.boxed_at(level::BIT_OR)?;
                self.expect(K::And)?;
                let high = self.boxed_at(level::PREDICATE)?;
                Ok(Expr::Between { operand: Box::new(left), low, high, negated })
            }
            Infix::In => self.in_list(left, negated),
            Infix::Like => {
                let pattern = self.boxed_at(level::BIT_OR)?;
                let escape = if self.accept(K::Escape) { Some(self.boxed_at(level::BIT_OR)?) } else { None };
                Ok(Expr::Like { operand: Box::new(left), pattern, escape, negated })
            }
            Infix::Regexp => {
                let pattern = self.boxed_at(level::BIT_OR)?;
                Ok(Expr::Regexp { operand: Box::new(left), pattern, negated })
            }
            Infix::SoundsLike => {
                self.expect(K::Like)?;
                let right = self.boxed_at(level::BIT_OR)?;
                Ok(Expr::Binary { op: BinaryOp::SoundsLike, left: Box::new(left), right })
            }
            Infix::MemberOf => {
                self.expect(K::Of)?;
                let array = Box::new(self.parenthesized(Self::expr)?);
                Ok(Expr::MemberOf { value: Box::new(left), array })
            }
        }
    }

    /// The part behind `+` or `-` that begins with INTERVAL: an amount of time, or the function.
    fn addend(&mut self, level: u8) -> Result<Expr> {
        self.measured(|parser| match parser.interval()? {
            interval @ Expr::Interval { .. } => Ok(interval),
            function => parser.infix(function, level),
        })
    }

    fn comparison(&mut self, op: BinaryOp, left: Expr) -> Result<Expr> {
        if self.at_any(&[K::All, K::Any, K::Some]) && self.peek_kind(1, TokenKind::LeftParen) {
            let quantifier = if self.advance().keyword == K::All { Quantifier::All } else { Quantifier::Any };
            let query = Box::new(self.subquery()?);
            return Ok(Expr::Quantified { op, quantifier, left: Box::new(left), query });
        }
        let right = self.boxed_at(level::PREDICATE)?;
        Ok(Expr::Binary { op, left: Box::new(left), right })
    }

    fn is_test(&mut self, operand: Expr) -> Result<Expr> {
        let negated = self.accept(K::Not);
        let test = match self.keyword() {
            K::Null => IsTest::Null,
            K::True => IsTest::True,
            K::False => IsTest::False,
            K::Unknown => IsTest::Unknown,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Expr::Is { operand: Box::new(operand), test, negated })
    }

    /// The right side of IN: a list or a query.
    fn in_list(&mut self, operand: Expr, negated: bool) -> Result<Expr> {
        let operand = Box::new(operand);
        if !self.at_kind(TokenKind::LeftParen) {
            return Err(self.unexpected());
        }
        if self.query_follows_paren() {
            let query = Box::new(self.subquery()?);
            return Ok(Expr::InSubquery { operand, query, negated });
        }
        self.advance();
        // `IN ((SELECT …))`: a query in more parentheses than it needs.
        let nested = self.at_kind(TokenKind::LeftParen);
        let first = match self.expr()? {
            Expr::Subquery(query) if nested && !self.at_kind(TokenKind::Comma) => {
                let query = if self.at_query_tail() { Box::new(self.query_after(*query)?) } else { query };
                self.expect_kind(TokenKind::RightParen)?;
                return Ok(Expr::InSubquery { operand, query, negated });
            }
            first => first,
        };
        self.in_items(operand, first, negated)
    }
}

/// Whether an expression is an operator or a call, so that the parser goes down into it without asking more.
fn may_be_deep(expr: &Expr) -> bool {
    !matches!(
        expr,
        Expr::Deep(_)
            | Expr::Literal(_)
            | Expr::Column(_)
            | Expr::Placeholder(_)
            | Expr::UserVariable(_)
            | Expr::SystemVariable(_)
            | Expr::Row(_)
            | Expr::Interval { .. }
            | Expr::Subquery(_)
            | Expr::Default
            | Expr::DefaultOf(_)
            | Expr::InsertValue(_)
    )
}
