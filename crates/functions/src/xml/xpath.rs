//! The grammar of XPath queries that MySQL supports.

use squall_types::{ErrorCode, SqlError, SqlResult};

/// Groups, predicates and arguments inside of each other. More would be too much for the stack.
const DEPTH_MAX: usize = 64;
/// Characters of a query that an error shows.
const SHOWN_MAX: usize = 32;

/// A query.
#[derive(Clone, Debug)]
pub struct Query(pub(super) Expr);

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// Nodes along a path.
    Path(Start, Vec<Step>),
    /// Nodes of any of these.
    Union(Vec<Expr>),
    /// Operators of one precedence, from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// A sign.
    Negated(Box<Expr>),
    Text(String),
    Number(f64),
    /// `$@name`.
    Variable(String),
    Call(Function, Vec<Expr>),
}

/// Where a path begins.
#[derive(Clone, Debug)]
pub(super) enum Start {
    Root,
    /// The node that a predicate is asked of; outside of predicates the root.
    Context,
    Group(Box<Expr>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub axis: Axis,
    /// `None` for any.
    pub name: Option<String>,
    pub predicates: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Itself,
    /// `.`, and what MySQL does not tell apart from it: `text()`, `node()`, `comment()`.
    Stay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Last,
    Not,
    Number,
    Position,
    Round,
    StringLength,
    Substring,
    Sum,
    True,
}

/// The functions: name, fewest and most arguments.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("boolean", Function::Boolean, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("contains", Function::Contains, 2, 2),
    ("count", Function::Count, 1, 1),
    ("false", Function::False, 0, 0),
    ("floor", Function::Floor, 1, 1),
    ("last", Function::Last, 0, 0),
    ("not", Function::Not, 1, 1),
    ("number", Function::Number, 0, 1),
    ("position", Function::Position, 0, 0),
    ("round", Function::Round, 1, 1),
    ("string-length", Function::StringLength, 0, 1),
    ("substring", Function::Substring, 2, 3),
    ("sum", Function::Sum, 1, 1),
    ("true", Function::True, 0, 0),
];

/// The axes; `None` for axes that MySQL names but does not support.
const AXES: &[(&str, Option<Axis>)] = &[
    ("ancestor", Some(Axis::Ancestor)),
    ("ancestor-or-self", Some(Axis::AncestorOrSelf)),
    ("attribute", Some(Axis::Attribute)),
    ("child", Some(Axis::Child)),
    ("descendant", Some(Axis::Descendant)),
    ("descendant-or-self", Some(Axis::DescendantOrSelf)),
    ("following", None),
    ("following-sibling", None),
    ("namespace", None),
    ("parent", Some(Axis::Parent)),
    ("preceding", None),
    ("preceding-sibling", None),
    ("self", Some(Axis::Itself)),
];

const NODE_TYPES: [&str; 4] = ["comment", "text", "processing-instruction", "node"];

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// 1105 where it breaks the grammar; 1235 for an axis that is not there.
    pub fn parse(text: &str) -> SqlResult<Query> {
        let mut parser = Parser { text, token: Token::End, start: 0, at: 0, depth: 0, in_predicate: false };
        parser.advance();
        let expr = parser.expr()?;
        match parser.token {
            Token::End => Ok(Query(expr)),
            _ => Err(parser.unexpected()),
        }
    }
}

impl Expr {
    /// Whether it gives nodes.
    pub fn gives_nodes(&self) -> bool {
        matches!(self, Expr::Path(..) | Expr::Union(_))
    }

    /// Whether a predicate asks for its truth; otherwise it is the number of a place.
    pub fn is_condition(&self) -> bool {
        match self {
            Expr::Chain(_, rest) => rest.last().is_some_and(|(operator, _)| operator.is_condition()),
            Expr::Call(function, _) => matches!(
                function,
                Function::Boolean | Function::Contains | Function::False | Function::Not | Function::True
            ),
            other => other.gives_nodes(),
        }
    }
}

impl Operator {
    fn is_condition(self) -> bool {
        !matches!(self, Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Modulo)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    /// A single character that means something.
    Mark(u8),
    And,
    Or,
    Div,
    Mod,
    Ident(&'t str),
    /// A function's name with a parenthesis behind it.
    Function(&'t str),
    /// The same of a node type.
    NodeType,
    /// `name::`.
    Axis(&'t str),
    Digits(&'t str),
    Text(&'t str),
    Unknown,
    End,
}

struct Parser<'t> {
    text: &'t str,
    token: Token<'t>,
    /// Where the token begins, and what stands behind it.
    start: usize,
    at: usize,
    depth: usize,
    in_predicate: bool,
}

/// The operators of a precedence, the weakest first.
const PRECEDENCES: [fn(&mut Parser<'_>) -> Option<Operator>; 6] = [
    |parser| parser.takes(Token::Or).then_some(Operator::Or),
    |parser| parser.takes(Token::And).then_some(Operator::And),
    |parser| parser.equality(),
    |parser| parser.relation(),
    |parser| match parser.token {
        Token::Mark(b'+') => parser.take(Operator::Add),
        Token::Mark(b'-') => parser.take(Operator::Subtract),
        _ => None,
    },
    |parser| match parser.token {
        Token::Mark(b'*') => parser.take(Operator::Multiply),
        Token::Div => parser.take(Operator::Divide),
        Token::Mod => parser.take(Operator::Modulo),
        _ => None,
    },
];

impl<'t> Parser<'t> {
    fn advance(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += bytes[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.start = self.at;
        let rest = &self.text[self.at..];
        let Some(first) = rest.bytes().next() else {
            self.token = Token::End;
            return;
        };
        let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii();
        let span = |is_part: &dyn Fn(u8) -> bool| rest.bytes().take_while(|byte| is_part(*byte)).count();
        if is_start(first) {
            let length = span(&|byte| is_start(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
            let name = &rest[..length];
            self.at += length;
            let behind = &rest[length..];
            self.token = match name {
                name if behind.starts_with("::") && AXES.iter().any(|(axis, _)| *axis == name) => {
                    self.at += 2;
                    Token::Axis(name)
                }
                name if behind.starts_with('(') && FUNCTIONS.iter().any(|(function, ..)| *function == name) => {
                    Token::Function(name)
                }
                name if behind.starts_with('(') && NODE_TYPES.contains(&name) => Token::NodeType,
                "and" => Token::And,
                "or" => Token::Or,
                "div" => Token::Div,
                "mod" => Token::Mod,
                name => Token::Ident(name),
            };
            return;
        }
        if first.is_ascii_digit() {
            let length = span(&|byte| byte.is_ascii_digit());
            self.at += length;
            self.token = Token::Digits(&rest[..length]);
            return;
        }
        if matches!(first, b'"' | b'\'') {
            self.token = match rest[1..].find(char::from(first)) {
                Some(length) => {
                    self.at += length + 2;
                    Token::Text(&rest[1..=length])
                }
                None => Token::Unknown,
            };
            return;
        }
        self.token = match first {
            b'(' | b')' | b'[' | b']' | b',' | b'/' | b'*' | b'+' | b'-' | b'|' | b'=' | b'<' | b'>' | b'@' | b'.'
            | b'$' | b':' | b'!' => {
                self.at += 1;
                Token::Mark(first)
            }
            _ => Token::Unknown,
        };
    }

    fn takes(&mut self, token: Token<'_>) -> bool {
        let found = self.token == token;
        if found {
            self.advance();
        }
        found
    }

    fn takes_mark(&mut self, mark: u8) -> bool {
        self.takes(Token::Mark(mark))
    }

    fn take(&mut self, operator: Operator) -> Option<Operator> {
        self.advance();
        Some(operator)
    }

    fn expect(&mut self, mark: u8) -> SqlResult<()> {
        if self.takes_mark(mark) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The query from a place on, as errors show it.
    fn shown(&self, from: usize) -> String {
        self.text[from..].chars().take(SHOWN_MAX).collect()
    }

    fn unexpected(&self) -> SqlError {
        error(format!("XPATH syntax error: '{}'", self.shown(self.start)))
    }

    fn expr(&mut self) -> SqlResult<Expr> {
        if self.depth == DEPTH_MAX {
            return Err(self.unexpected());
        }
        self.depth += 1;
        let expr = self.chain(0);
        self.depth -= 1;
        expr
    }

    /// Operands of a precedence with its operators between them.
    fn chain(&mut self, precedence: usize) -> SqlResult<Expr> {
        let Some(operator_of) = PRECEDENCES.get(precedence) else { return self.unary() };
        let first = self.chain(precedence + 1)?;
        let mut rest: Vec<(Operator, Expr)> = Vec::new();
        loop {
            let place = self.start;
            let Some(operator) = operator_of(self) else { break };
            let next = self.chain(precedence + 1)?;
            let compares = matches!(precedence, 2 | 3);
            if compares && rest.is_empty() && first.gives_nodes() && next.gives_nodes() {
                let shown = self.shown(place);
                return Err(error(format!("XPATH error: comparison of two nodesets is not supported: '{shown}'")));
            }
            rest.push((operator, next));
        }
        Ok(if rest.is_empty() { first } else { Expr::Chain(Box::new(first), rest) })
    }

    fn equality(&mut self) -> Option<Operator> {
        let (token, start, at) = (self.token, self.start, self.at);
        if self.takes_mark(b'=') {
            return Some(Operator::Equal);
        }
        if self.takes_mark(b'!') {
            if self.takes_mark(b'=') {
                return Some(Operator::NotEqual);
            }
            (self.token, self.start, self.at) = (token, start, at);
        }
        None
    }

    fn relation(&mut self) -> Option<Operator> {
        if self.takes_mark(b'<') {
            let or_equal = self.takes_mark(b'=');
            return Some(if or_equal { Operator::LessOrEqual } else { Operator::Less });
        }
        if self.takes_mark(b'>') {
            let or_equal = self.takes_mark(b'=');
            return Some(if or_equal { Operator::GreaterOrEqual } else { Operator::Greater });
        }
        None
    }

    fn unary(&mut self) -> SqlResult<Expr> {
        let mut signs = 0;
        while self.takes_mark(b'-') {
            signs += 1;
        }
        let operand = self.union()?;
        Ok(match signs {
            0 => operand,
            // Two signs make a number of it.
            even if even % 2 == 0 => Expr::Negated(Box::new(Expr::Negated(Box::new(operand)))),
            _ => Expr::Negated(Box::new(operand)),
        })
    }

    fn union(&mut self) -> SqlResult<Expr> {
        let first = self.path()?;
        if self.token != Token::Mark(b'|') {
            return Ok(first);
        }
        let mut parts = vec![first];
        while parts.iter().all(Expr::gives_nodes) && self.takes_mark(b'|') {
            parts.push(self.path()?);
        }
        if parts.iter().all(Expr::gives_nodes) { Ok(Expr::Union(parts)) } else { Err(self.unexpected()) }
    }

    fn path(&mut self) -> SqlResult<Expr> {
        match self.token {
            Token::Mark(b'/') => {
                self.advance();
                let mut steps = Vec::new();
                if self.takes_mark(b'/') {
                    steps.push(every_node());
                    self.steps(&mut steps)?;
                } else if self.begins_step() {
                    self.steps(&mut steps)?;
                }
                Ok(Expr::Path(Start::Root, steps))
            }
            _ if self.begins_step() => {
                let mut steps = Vec::new();
                self.steps(&mut steps)?;
                Ok(Expr::Path(Start::Context, steps))
            }
            _ => {
                let primary = self.primary()?;
                if !primary.gives_nodes() || !self.takes_mark(b'/') {
                    return Ok(primary);
                }
                let mut steps = Vec::new();
                if self.takes_mark(b'/') {
                    steps.push(every_node());
                }
                self.steps(&mut steps)?;
                Ok(Expr::Path(Start::Group(Box::new(primary)), steps))
            }
        }
    }

    fn begins_step(&self) -> bool {
        matches!(self.token, Token::Mark(b'.' | b'@' | b'*') | Token::Axis(_) | Token::NodeType)
            || self.word().is_some()
    }

    fn steps(&mut self, steps: &mut Vec<Step>) -> SqlResult<()> {
        loop {
            self.step(steps)?;
            if !self.takes_mark(b'/') {
                return Ok(());
            }
            if self.takes_mark(b'/') {
                steps.push(every_node());
            }
        }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> SqlResult<()> {
        if self.takes_mark(b'.') {
            let axis = if self.takes_mark(b'.') { Axis::Parent } else { Axis::Stay };
            steps.push(Step { axis, name: None, predicates: Vec::new() });
            return Ok(());
        }
        let mut axis = Axis::Child;
        if self.takes_mark(b'@') {
            axis = Axis::Attribute;
        } else if let Token::Axis(name) = self.token {
            let found = AXES.iter().find(|(axis, _)| *axis == name).and_then(|(_, axis)| *axis);
            axis = found.ok_or_else(|| SqlError::unsupported(format!("the XPath axis {name}")))?;
            self.advance();
        }
        let mut name = None;
        match self.token {
            Token::Mark(b'*') => self.advance(),
            _ if self.word().is_some() => name = Some(self.qualified_name()?),
            Token::NodeType => {
                self.advance();
                self.expect(b'(')?;
                if let Token::Text(_) = self.token {
                    self.advance();
                }
                self.expect(b')')?;
                axis = Axis::Stay;
            }
            _ => return Err(self.unexpected()),
        }
        let mut predicates = Vec::new();
        while self.takes_mark(b'[') {
            let outside = std::mem::replace(&mut self.in_predicate, true);
            predicates.push(self.expr()?);
            self.in_predicate = outside;
            self.expect(b']')?;
        }
        steps.push(Step { axis, name, predicates });
        Ok(())
    }

    /// The token as a name. Words that are operators between operands are names where a name has to be.
    fn word(&self) -> Option<&'t str> {
        match self.token {
            Token::Ident(name) => Some(name),
            Token::And => Some("and"),
            Token::Or => Some("or"),
            Token::Div => Some("div"),
            Token::Mod => Some("mod"),
            _ => None,
        }
    }

    /// `name`, or `prefix:name`.
    fn qualified_name(&mut self) -> SqlResult<String> {
        let first = self.word().ok_or_else(|| self.unexpected())?;
        self.advance();
        let mut name = first.to_string();
        if self.takes_mark(b':') {
            let local = self.word().ok_or_else(|| self.unexpected())?;
            self.advance();
            name.push(':');
            name.push_str(local);
        }
        Ok(name)
    }

    fn primary(&mut self) -> SqlResult<Expr> {
        match self.token {
            Token::Mark(b'(') => {
                self.advance();
                let inner = self.expr()?;
                self.expect(b')')?;
                Ok(inner)
            }
            Token::Text(text) => {
                self.advance();
                Ok(Expr::Text(text.to_string()))
            }
            Token::Digits(whole) => {
                self.advance();
                let mut number = whole.to_string();
                if self.takes_mark(b'.') {
                    let Token::Digits(fraction) = self.token else { return Err(self.unexpected()) };
                    self.advance();
                    number.push('.');
                    number.push_str(fraction);
                }
                Ok(Expr::Number(number.parse().unwrap_or(f64::MAX)))
            }
            Token::Mark(b'$') => self.variable(),
            Token::Function(name) => self.call(name),
            _ => Err(self.unexpected()),
        }
    }

    fn variable(&mut self) -> SqlResult<Expr> {
        let start = self.start;
        self.advance();
        let is_of_session = self.takes_mark(b'@');
        match self.token {
            Token::Ident(name) if is_of_session => {
                self.advance();
                Ok(Expr::Variable(name.to_string()))
            }
            Token::Ident(_) => Err(error(format!("Unknown XPATH variable at: '{}'", self.shown(start)))),
            _ => Err(self.unexpected()),
        }
    }

    fn call(&mut self, name: &str) -> SqlResult<Expr> {
        let Some((_, function, least, most)) = FUNCTIONS.iter().find(|(function, ..)| *function == name) else {
            return Err(self.unexpected());
        };
        self.advance();
        self.expect(b'(')?;
        let mut args = Vec::new();
        while args.len() < *most {
            if args.is_empty() && *least == 0 && self.token == Token::Mark(b')') {
                break;
            }
            args.push(self.expr()?);
            if args.len() < *least {
                self.expect(b',')?;
            } else if !self.takes_mark(b',') {
                break;
            }
        }
        self.expect(b')')?;
        let of_nodes = matches!(function, Function::Count | Function::Sum);
        let of_context = matches!(function, Function::Position | Function::Last)
            || args.is_empty() && matches!(function, Function::Number | Function::StringLength);
        if of_nodes && !args.iter().all(Expr::gives_nodes) || of_context && !self.in_predicate {
            return Err(self.unexpected());
        }
        Ok(Expr::Call(*function, args))
    }
}

/// What `//` stands for.
fn every_node() -> Step {
    Step { axis: Axis::DescendantOrSelf, name: None, predicates: Vec::new() }
}

fn error(message: String) -> SqlError {
    SqlError::with_message(ErrorCode::UnknownError, message)
}
