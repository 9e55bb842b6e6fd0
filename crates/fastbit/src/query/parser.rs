//! Parses tokens into trees.

use super::functions::{Aggregate, Function};
use super::lexer::{Kind, Token, tokens};
use super::tree::{Expr, Item, Operator, Query, QueryError};

type Parsed<T> = Result<T, QueryError>;

/// Brackets, calls and signs within each other.
const DEPTH_MAX: usize = 64;

/// Words that end an expression and are no names.
const CLAUSES: &[&str] = &["SELECT", "FROM", "WHERE", "ORDER", "LIMIT"];

/// Reads a query.
///
/// # Errors
/// What [`QueryError`] tells.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(QueryError::Failed("the query is too long".to_string()));
    }
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err(QueryError::Empty);
    }
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0 };
    parser.query()
}

/// Longest text, bytes: what it is read into takes a hundred times as much.
const TEXT_BYTES_MAX: usize = 2 << 20;

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn is_word_at(&self, at: usize, word: &str) -> bool {
        matches!(self.tokens.get(at).map(|token| &token.kind), Some(Kind::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn is_word(&self, word: &str) -> bool {
        self.is_word_at(self.at, word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Kind::Symbol(found)) if *found == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> QueryError {
        QueryError::Failed(match self.tokens.get(self.at) {
            Some(token) => {
                let near: String = self.text[token.start..].chars().take(20).collect();
                format!("the query cannot be read near '{near}'")
            }
            None => "the query ends too early".to_string(),
        })
    }

    fn at_clause(&self) -> bool {
        CLAUSES.iter().any(|clause| self.is_word(clause))
    }

    fn query(&mut self) -> Parsed<Query> {
        let mut query = Query { items: Vec::new(), from: Vec::new(), condition: None, order: Vec::new(), limit: None };
        let selects = self.take_word("SELECT");
        if selects && self.peek().is_some() && !self.at_clause() {
            query.items = self.list(Self::item)?;
        }
        if self.take_word("FROM") {
            query.from = self.list(Self::name)?;
        }
        if self.take_word("WHERE") {
            query.condition = Some(self.expr()?);
        }
        if self.take_word("ORDER") {
            if !self.take_word("BY") {
                return Err(self.unexpected());
            }
            query.order = self.list(Self::order_item)?;
        }
        if self.take_word("LIMIT") {
            query.limit = Some(self.limit()?);
        }
        if self.peek().is_some() {
            return Err(self.unexpected());
        }
        match (query.items.is_empty() && query.condition.is_none(), query.from.is_empty()) {
            (true, true) => Err(QueryError::NothingSelected),
            (true, false) => Err(QueryError::OnlyFrom),
            (false, _) => Ok(query),
        }
    }

    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut list = vec![element(self)?];
        while self.take_symbol(",") {
            list.push(element(self)?);
        }
        Ok(list)
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Kind::Word(name)) if !self.at_clause() => {
                self.at += 1;
                Ok(name.clone())
            }
            Some(Kind::Text(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(self.unexpected()),
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        if self.take_symbol("*") {
            return Ok(Item { expr: None, name: None });
        }
        let first = self.at;
        let expr = self.expr()?;
        let text = match (self.tokens.get(first), self.tokens.get(self.at.wrapping_sub(1))) {
            (Some(first), Some(last)) => &self.text[first.start..last.end],
            _ => "",
        };
        let is_alias = self.take_word("AS") || matches!(self.peek(), Some(Kind::Word(_) | Kind::Text(_)));
        let name = if is_alias && !self.at_clause() {
            Some(self.name()?)
        } else {
            (!matches!(expr, Expr::Column { .. })).then(|| text.to_string())
        };
        Ok(Item { expr: Some(expr), name })
    }

    fn order_item(&mut self) -> Parsed<(Expr, bool)> {
        let expr = self.expr()?;
        let descending = self.take_word("DESC");
        if !descending {
            self.take_word("ASC");
        }
        Ok((expr, descending))
    }

    fn limit(&mut self) -> Parsed<(u64, u64)> {
        let first = self.whole_number()?;
        if self.take_symbol(",") { Ok((first, self.whole_number()?)) } else { Ok((0, first)) }
    }

    fn whole_number(&mut self) -> Parsed<u64> {
        let number = match self.peek() {
            Some(Kind::Number(number)) => number.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(number)
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(Self::or)
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH_MAX {
            return Err(QueryError::Failed(format!("the query is nested more than {DEPTH_MAX} levels deep")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Operands with operators of one rank, from left to right.
    fn ranked(
        &mut self,
        operand: fn(&mut Self) -> Parsed<Expr>,
        operator: fn(&mut Self) -> Option<Operator>,
    ) -> Parsed<Expr> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operator(self) {
            rest.push((operator, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { Expr::Row { first: Box::new(first), rest } })
    }

    fn or(&mut self) -> Parsed<Expr> {
        self.ranked(Self::xor, |parser| (parser.take_word("OR") || parser.take_symbol("||")).then_some(Operator::Or))
    }

    fn xor(&mut self) -> Parsed<Expr> {
        self.ranked(Self::and, |parser| parser.take_word("XOR").then_some(Operator::Xor))
    }

    fn and(&mut self) -> Parsed<Expr> {
        self.ranked(Self::not, |parser| (parser.take_word("AND") || parser.take_symbol("&&")).then_some(Operator::And))
    }

    fn not(&mut self) -> Parsed<Expr> {
        if self.take_word("NOT") || self.take_symbol("!") {
            let operand = self.deeper(Self::not)?;
            return Ok(Expr::Not(Box::new(operand)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let operand = Box::new(self.bit_or()?);
        let negated = self.is_word("NOT");
        let after = self.at + usize::from(negated);
        for (word, at) in [("NULL", after), ("BETWEEN", after), ("IN", after), ("LIKE", after)] {
            // Without NOT, NULL is a value and no test.
            if self.is_word_at(at, word) && (negated || word != "NULL") {
                self.at = at + 1;
                return match word {
                    "NULL" => Ok(Expr::IsNull { operand, negated: true }),
                    "BETWEEN" => self.between(operand, negated),
                    "IN" => self.in_list(operand, negated),
                    _ => {
                        let pattern = Box::new(self.bit_or()?);
                        Ok(Expr::Like { operand, pattern, negated })
                    }
                };
            }
        }
        if self.take_word("IS") {
            let negated = self.take_word("NOT");
            if !self.take_word("NULL") {
                return Err(self.unexpected());
            }
            return Ok(Expr::IsNull { operand, negated });
        }
        let mut rest = Vec::new();
        while let Some(operator) = self.comparison_operator() {
            rest.push((operator, self.bit_or()?));
        }
        match rest.len() {
            0 => Ok(*operand),
            1 => {
                let (operator, right) = rest.swap_remove(0);
                Ok(Expr::Binary { operator, left: operand, right: Box::new(right) })
            }
            _ => Ok(Expr::Chain { first: operand, rest }),
        }
    }

    fn comparison_operator(&mut self) -> Option<Operator> {
        let operator = match self.peek()? {
            Kind::Symbol("=" | "==") => Operator::Equal,
            Kind::Symbol("!=" | "<>") => Operator::NotEqual,
            Kind::Symbol("<") => Operator::Less,
            Kind::Symbol("<=") => Operator::LessOrEqual,
            Kind::Symbol(">") => Operator::Greater,
            Kind::Symbol(">=") => Operator::GreaterOrEqual,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    fn between(&mut self, operand: Box<Expr>, negated: bool) -> Parsed<Expr> {
        let low = Box::new(self.bit_or()?);
        if !self.take_word("AND") && !self.take_symbol("&&") {
            return Err(self.unexpected());
        }
        let high = Box::new(self.bit_or()?);
        Ok(Expr::Between { operand, low, high, negated })
    }

    fn in_list(&mut self, operand: Box<Expr>, negated: bool) -> Parsed<Expr> {
        self.expect("(")?;
        let list = self.list(Self::expr)?;
        self.expect(")")?;
        Ok(Expr::In { operand, list, negated })
    }

    fn bit_or(&mut self) -> Parsed<Expr> {
        self.ranked(Self::bit_and, |parser| parser.take_symbol("|").then_some(Operator::BitOr))
    }

    fn bit_and(&mut self) -> Parsed<Expr> {
        self.ranked(Self::sum, |parser| parser.take_symbol("&").then_some(Operator::BitAnd))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.ranked(Self::product, |parser| match parser.peek()? {
            Kind::Symbol("+") => parser.operator(Operator::Add),
            Kind::Symbol("-") => parser.operator(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Parsed<Expr> {
        self.ranked(Self::signed, |parser| match parser.peek()? {
            Kind::Symbol("*") => parser.operator(Operator::Multiply),
            Kind::Symbol("/") => parser.operator(Operator::Divide),
            Kind::Symbol("%") => parser.operator(Operator::Remainder),
            _ => None,
        })
    }

    fn operator(&mut self, operator: Operator) -> Option<Operator> {
        self.at += 1;
        Some(operator)
    }

    fn signed(&mut self) -> Parsed<Expr> {
        if self.take_symbol("-") {
            return Ok(Expr::Negate(Box::new(self.deeper(Self::signed)?)));
        }
        if self.take_symbol("+") {
            return self.deeper(Self::signed);
        }
        self.power()
    }

    /// Powers bind to the right: `2 ** 3 ** 2` is `2 ** 9`.
    fn power(&mut self) -> Parsed<Expr> {
        let left = self.primary()?;
        if !self.take_symbol("**") && !self.take_symbol("^") {
            return Ok(left);
        }
        let right = Box::new(self.deeper(Self::signed)?);
        Ok(Expr::Binary { operator: Operator::Power, left: Box::new(left), right })
    }

    fn primary(&mut self) -> Parsed<Expr> {
        match self.peek() {
            Some(Kind::Number(number)) => {
                self.at += 1;
                Ok(Expr::Number(number.clone()))
            }
            Some(Kind::Text(text)) => {
                self.at += 1;
                Ok(Expr::Text(text.clone()))
            }
            Some(Kind::Symbol("(")) => {
                self.at += 1;
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Kind::Word(word)) if !self.at_clause() => {
                self.at += 1;
                self.after_word(word)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn after_word(&mut self, word: &str) -> Parsed<Expr> {
        if word.eq_ignore_ascii_case("NULL") {
            return Ok(Expr::Null);
        }
        if self.take_symbol("(") {
            return self.call(word);
        }
        if self.take_symbol(".") {
            return Ok(Expr::Column { partition: Some(word.to_string()), name: self.name()? });
        }
        Ok(Expr::Column { partition: None, name: word.to_string() })
    }

    fn call(&mut self, name: &str) -> Parsed<Expr> {
        if let Some(aggregate) = Aggregate::find(&name.to_ascii_uppercase()) {
            let argument = if aggregate == Aggregate::Count && self.take_symbol("*") {
                None
            } else {
                let argument = self.expr()?;
                if argument.has_aggregate() {
                    return Err(QueryError::Failed(format!("an aggregate within {name}")));
                }
                Some(Box::new(argument))
            };
            self.expect(")")?;
            return Ok(Expr::Aggregate { aggregate, argument });
        }
        let unknown = || QueryError::Failed(format!("there is no function '{name}'"));
        let function = Function::find(&name.to_ascii_lowercase()).ok_or_else(unknown)?;
        let arguments = self.list(Self::expr)?;
        self.expect(")")?;
        if arguments.len() != function.arity {
            return Err(QueryError::Failed(format!("'{name}' takes {} arguments", function.arity)));
        }
        Ok(Expr::Call { function, arguments })
    }
}
