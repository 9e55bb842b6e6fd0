//! The grammar, by recursive descent.
//!
//! Each file adds the methods of one part of the language to [`Parser`]. A method named after a rule begins at the rule's first token
//! and ends after its last.

mod account;
mod admin;
mod alter_table;
mod api_token;
mod call;
mod column;
mod create_table;
mod ddl;
mod dml;
mod event;
mod explain;
mod expr;
mod for_loop;
mod http_endpoint;
mod literal;
mod load;
mod memory;
mod name;
mod partition;
mod primary;
mod query;
mod replication;
mod routine;
mod show;
mod special;
mod statement;
mod table_reference;
mod transaction;
mod types;
mod value_rows;
mod variable;
mod view;
mod window;

use crate::ParseError;
use crate::ParseOptions;
use crate::Parsed;
use crate::ast::*;
use crate::keyword::Keyword as K;
use crate::lexer::Lexer;
use crate::token::{Token, TokenKind};
use bytes::Bytes;
use std::collections::BTreeSet;

/// Errors are rare and results are many: the error is kept small.
pub(crate) type Result<T> = std::result::Result<T, Box<ParseError>>;

/// How deep expressions may nest and how tall the tree of one may be. Twenty thousand levels must do, and of what is printed
/// each level may have parentheses of its own. A level takes up to 7 KB of stack in a build without optimization.
const EXPR_DEPTH_MAX: u32 = 45_000;
/// Levels of an expression between two [`Deep`]s.
const DEEP_LEVELS: u32 = 32;
/// How deep anything else may nest, and levels of a tree without a [`Deep`] between them: safe to walk with plain recursion.
const PLAIN_DEPTH_MAX: u32 = 1500;
/// How deep queries may nest, those in needless parentheses too: the binder says how deep a statement may be.
const QUERY_DEPTH_MAX: u32 = 2000;
/// Operators of one level that are a tree of two operands each; more are a [`Expr::Chain`].
const BINARY_OPERATORS_MAX: usize = 32;

/// Stack that must be left before the parser goes one level down, and how much more it takes if not.
const STACK_RESERVE: usize = 256 * 1024;
const STACK_SEGMENT: usize = 2 * 1024 * 1024;

/// How many tokens behind the current one the grammar ever looks at.
const LOOKAHEAD: usize = 4;

/// How tall a tree is.
#[derive(Clone, Copy, Default)]
struct Height {
    /// Levels.
    levels: u32,
    /// Levels above the topmost [`Deep`].
    plain: u32,
}

pub(crate) struct Parser<'a> {
    sql: &'a [u8],
    /// The text that `sql` is a part of, if long strings may keep it.
    shared: Option<&'a Bytes>,
    options: ParseOptions,
    lexer: Lexer<'a>,
    current: Token,
    /// Tokens lexed behind `current`, oldest first.
    ahead: [Token; LOOKAHEAD],
    ahead_count: usize,
    /// Where the token before `current` ended.
    previous_end: u32,
    /// How many expressions are under way.
    depth: u32,
    /// How many other rules that may nest are under way.
    plain_depth: u32,
    /// How many queries are under way.
    query_depth: u32,
    /// How tall the tree is that has been read on this level.
    height: Height,
    placeholders: u32,
    /// The share of [`ParseOptions::memory_max`] that the text so far takes.
    memory: u64,
    /// The share that a node of an expression takes here.
    node: u64,
    /// How many queries deep INTO may no longer stand.
    subqueries: u32,
    /// The INTO clause of the last part of a set operation, on its way to the whole.
    last_into: Option<SelectInto>,
    /// Inside the body of a stored program, where `;` parts statements.
    in_program: bool,
    /// The functions that the body of the stored program calls without a database, in upper case.
    called: BTreeSet<Box<str>>,
}

/// Parses the first statement of `sql`, which is a part of `shared`, if that is given.
pub(crate) fn parse_statement(sql: &[u8], shared: Option<&Bytes>, options: &ParseOptions) -> Result<Parsed> {
    check_length(sql)?;
    let mut parser = Parser::new(sql, options);
    parser.shared = shared;
    let (statement, end) = match parser.current.kind {
        TokenKind::Eof | TokenKind::Semicolon => {
            let before = &sql[..parser.current.start as usize];
            if before.iter().all(|byte| byte.is_ascii_whitespace()) {
                return Err(Box::new(ParseError::empty()));
            }
            (Statement::Empty, before.len())
        }
        _ => (parser.statement()?, parser.previous_end as usize),
    };
    let rest = match parser.current.kind {
        TokenKind::Eof => None,
        TokenKind::Semicolon => {
            let rest = parser.current.end as usize;
            (parser.peek(1).kind != TokenKind::Eof).then_some(rest)
        }
        _ => return Err(parser.unexpected()),
    };
    Ok(Parsed { statement, end, rest, placeholders: parser.placeholders, memory: parser.memory })
}

/// Parses text that is one rule and nothing else.
pub(crate) fn parse_alone<T>(
    sql: &str,
    options: &ParseOptions,
    rule: impl FnOnce(&mut Parser) -> Result<T>,
) -> Result<T> {
    check_length(sql.as_bytes())?;
    let mut parser = Parser::new(sql.as_bytes(), options);
    let value = rule(&mut parser)?;
    if parser.current.kind != TokenKind::Eof {
        return Err(parser.unexpected());
    }
    Ok(value)
}

/// Offsets are 32 bits wide.
fn check_length(sql: &[u8]) -> Result<()> {
    if sql.len() >= u32::MAX as usize {
        return Err(Box::new(ParseError::other(
            1153,
            "08S01",
            "Got a packet bigger than 'max_allowed_packet' bytes",
            0,
        )));
    }
    Ok(())
}

impl<'a> Parser<'a> {
    fn new(sql: &'a [u8], options: &ParseOptions) -> Self {
        let mut lexer = Lexer::new(sql, options);
        let current = lexer.next();
        Self {
            sql,
            shared: None,
            options: *options,
            lexer,
            current,
            ahead: [current; LOOKAHEAD],
            ahead_count: 0,
            previous_end: 0,
            depth: 0,
            plain_depth: 0,
            query_depth: 0,
            height: Height::default(),
            placeholders: 0,
            memory: 0,
            node: memory::NODE,
            subqueries: 0,
            last_into: None,
            in_program: false,
            called: BTreeSet::new(),
        }
    }

    /// Goes to the next token and returns the one left behind.
    fn advance(&mut self) -> Token {
        let token = self.current;
        self.previous_end = token.end;
        if self.ahead_count == 0 {
            self.current = self.lexer.next();
        } else {
            self.current = self.ahead[0];
            self.ahead.copy_within(1.., 0);
            self.ahead_count -= 1;
        }
        self.charge(memory::TOKEN);
        if self.memory > self.options.memory_max {
            self.read_no_further();
        }
        token
    }

    /// The token `distance` behind the current one.
    fn peek(&mut self, distance: usize) -> Token {
        while self.ahead_count < distance {
            self.ahead[self.ahead_count] = self.lexer.next();
            self.ahead_count += 1;
        }
        self.ahead[distance - 1]
    }

    /// Goes to the token at an offset: what is before it was read in another way.
    fn continue_at(&mut self, position: usize) {
        self.lexer.continue_at(position);
        self.ahead_count = 0;
        self.current = self.lexer.next();
        self.previous_end = u32::try_from(position).unwrap_or(u32::MAX);
    }

    /// The text of a token.
    fn text(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    /// The current token cannot stand where it does.
    fn unexpected(&self) -> Box<ParseError> {
        self.syntax_error(self.current.start)
    }

    fn syntax_error(&self, offset: u32) -> Box<ParseError> {
        if self.memory > self.options.memory_max {
            return Box::new(ParseError::too_large(self.options.memory_max, offset as usize));
        }
        Box::new(ParseError::syntax(self.sql, offset as usize))
    }

    fn error<T>(&self, code: u16, sqlstate: &'static str, message: impl Into<String>) -> Result<T> {
        Err(Box::new(ParseError::other(code, sqlstate, message, self.current.start as usize)))
    }

    /// Runs a rule one level further down, with enough stack.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.plain_depth >= PLAIN_DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.plain_depth += 1;
        let result = stacker::maybe_grow(STACK_RESERVE, STACK_SEGMENT, || rule(self));
        self.plain_depth -= 1;
        result
    }

    fn too_deep(&self) -> Box<ParseError> {
        Box::new(ParseError::too_deep(self.current.start as usize))
    }

    /// The keyword that the current token is.
    fn keyword(&self) -> K {
        self.current.keyword
    }

    /// The kind of the current token.
    fn kind(&self) -> TokenKind {
        self.current.kind
    }

    fn at(&self, keyword: K) -> bool {
        self.current.keyword == keyword
    }

    fn at_any(&self, keywords: &[K]) -> bool {
        self.current.keyword != K::None && keywords.contains(&self.current.keyword)
    }

    fn at_kind(&self, kind: TokenKind) -> bool {
        self.current.kind == kind
    }

    fn peek_is(&mut self, distance: usize, keyword: K) -> bool {
        self.peek(distance).keyword == keyword
    }

    fn peek_kind(&mut self, distance: usize, kind: TokenKind) -> bool {
        self.peek(distance).kind == kind
    }

    /// Passes the keyword if it is here.
    fn accept(&mut self, keyword: K) -> bool {
        let here = self.at(keyword);
        if here {
            self.advance();
        }
        here
    }

    /// Passes both keywords if both are here.
    fn accept_both(&mut self, first: K, second: K) -> bool {
        let here = self.at(first) && self.peek_is(1, second);
        if here {
            self.advance();
            self.advance();
        }
        here
    }

    fn accept_kind(&mut self, kind: TokenKind) -> bool {
        let here = self.at_kind(kind);
        if here {
            self.advance();
        }
        here
    }

    fn expect(&mut self, keyword: K) -> Result<()> {
        if self.accept(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_all(&mut self, keywords: &[K]) -> Result<()> {
        keywords.iter().try_for_each(|keyword| self.expect(*keyword))
    }

    fn expect_any(&mut self, keywords: &[K]) -> Result<K> {
        if self.at_any(keywords) { Ok(self.advance().keyword) } else { Err(self.unexpected()) }
    }

    fn expect_kind(&mut self, kind: TokenKind) -> Result<()> {
        if self.accept_kind(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Whether the current token is this word, keyword or not.
    fn at_word(&self, word: &str) -> bool {
        self.current.kind == TokenKind::Word && self.text(self.current).eq_ignore_ascii_case(word.as_bytes())
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let here = self.at_word(word);
        if here {
            self.advance();
        }
        here
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// `=` that may be left out.
    fn accept_equal(&mut self) {
        let _ = self.accept_kind(TokenKind::Equal) || self.accept_kind(TokenKind::Assign);
    }

    /// `item, item, …`.
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.accept_kind(TokenKind::Comma) {
            items.push(item(self)?);
            self.charge(memory::listed::<T>());
        }
        Ok(items)
    }

    /// `(item, item, …)`.
    fn parenthesized_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let items = self.comma_list(item)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(items)
    }

    /// `(item)`.
    fn parenthesized<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.expect_kind(TokenKind::LeftParen)?;
        let item = item(self)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(item)
    }

    fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.previous_end.max(start))
    }

    fn if_exists(&mut self) -> Result<bool> {
        if !self.accept(K::If) {
            return Ok(false);
        }
        self.expect(K::Exists)?;
        Ok(true)
    }

    fn if_not_exists(&mut self) -> Result<bool> {
        if !self.accept(K::If) {
            return Ok(false);
        }
        self.expect_all(&[K::Not, K::Exists])?;
        Ok(true)
    }
}
