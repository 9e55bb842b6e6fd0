//! Decides by the tokens of a text which strings are secrets.

use super::{Found, holds, holds_word, may_hold_secrets, quoted, search};
use crate::ParseOptions;
use crate::keyword::Keyword as K;
use crate::token::{Token, TokenKind};
use std::ops::Range;

/// The part between a word and the string that follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Assignment,
    Paren,
}

/// Reads the tokens of a text.
pub(super) struct Finder<'a> {
    sql: &'a [u8],
    options: &'a ParseOptions,
    /// How many texts this one is within.
    text_depth: u32,
    /// Whether the first word is one that statements begin with.
    begins_as_statement: Option<bool>,
    found: Vec<Range<usize>>,
    /// Words of the statement so far.
    words: u32,
    /// The statement is about rows, where a column may be called `password`.
    is_data: bool,
    /// SET PASSWORD.
    sets_password: bool,
    /// MariaDB's SET STATEMENT: another statement begins behind FOR.
    holds_statement: bool,
    /// IDENTIFIED has been read.
    identified: bool,
    /// HTTP ENDPOINT has been read: its headers and its secret are strings.
    is_endpoint: bool,
    /// The value of something secret is being read: up to the next comma outside of parentheses.
    assigning: bool,
    /// The parentheses that are open, and whether each is that of a call.
    parens: Vec<bool>,
    /// A string has ended before its secret: strings beside it, at least this many parentheses deep, go on with it.
    open: Option<usize>,
    /// The word before, and what came after it.
    word: Option<(Token, Between)>,
    /// The token before was `=` or `:=`.
    after_assignment: bool,
    /// The token before was a secret string; strings side by side are one.
    after_secret: bool,
}

impl<'a> Finder<'a> {
    pub(super) fn new(sql: &'a [u8], options: &'a ParseOptions, text_depth: u32) -> Self {
        Finder {
            sql,
            options,
            text_depth,
            begins_as_statement: None,
            found: Vec::new(),
            words: 0,
            is_data: false,
            sets_password: false,
            holds_statement: false,
            identified: false,
            is_endpoint: false,
            assigning: false,
            parens: Vec::new(),
            open: None,
            word: None,
            after_assignment: false,
            after_secret: false,
        }
    }

    /// The end of the text.
    pub(super) fn end(self) -> Found {
        let goes_on = self.is_secret_here(self.after_assignment) && !self.after_secret;
        let is_open = goes_on || self.identified && self.found.is_empty() || self.open.is_some();
        Found { found: self.found, is_open, is_statement: self.begins_as_statement == Some(true) }
    }

    /// The end of what can be told apart: what follows is hidden if it may be a secret.
    pub(super) fn end_within(mut self, start: usize) -> Found {
        let hides = may_hold_secrets(&self.sql[start..]) || self.expects_secret() || self.open.is_some();
        if hides {
            self.found.push(start..self.sql.len());
        }
        let end = self.end();
        Found { is_open: end.is_open || hides, ..end }
    }

    fn text(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    pub(super) fn token(&mut self, token: Token) {
        self.begins_as_statement.get_or_insert_with(|| begins_statement(token.keyword));
        let (after_assignment, after_secret) = (self.after_assignment, self.after_secret);
        (self.after_assignment, self.after_secret) = (false, false);
        match token.kind {
            TokenKind::Semicolon => self.begin_statement(),
            TokenKind::Word | TokenKind::FunctionName | TokenKind::QuotedIdent | TokenKind::AtName => self.word(token),
            TokenKind::Equal | TokenKind::Assign => {
                self.after_assignment = true;
                if let Some((word, between)) = &mut self.word {
                    *between = Between::Assignment;
                    self.assigning |=
                        !self.is_data && is_secret_name(&self.sql[word.start as usize..word.end as usize]);
                }
            }
            TokenKind::String
            | TokenKind::NationalString
            | TokenKind::HexString
            | TokenKind::HexNumber
            | TokenKind::BitString => {
                let secret = self.is_secret_here(after_assignment) || after_secret || self.open.is_some();
                self.word = None;
                if secret {
                    self.after_secret = true;
                    self.found.push(token.start as usize..token.end as usize);
                } else {
                    self.inside(token);
                }
            }
            TokenKind::LeftParen => {
                let is_call = self.word.is_some_and(|(word, between)| {
                    between == Between::Nothing && !matches!(word.keyword, K::Values | K::In | K::Row)
                });
                self.parens.push(is_call);
                match &mut self.word {
                    Some((_, between @ Between::Nothing)) => *between = Between::Paren,
                    _ => self.word = None,
                }
            }
            TokenKind::RightParen => {
                self.parens.pop();
                if self.open.is_some_and(|depth| self.parens.len() < depth) {
                    self.open = None;
                }
                self.word = None;
            }
            TokenKind::Comma => {
                self.assigning &= !self.parens.is_empty();
                if self.parens.last() != Some(&true) {
                    self.open = None;
                }
                self.word = None;
            }
            _ => self.word = None,
        }
    }

    /// Another statement begins.
    fn begin_statement(&mut self) {
        *self = Finder {
            found: std::mem::take(&mut self.found),
            begins_as_statement: self.begins_as_statement,
            ..Finder::new(self.sql, self.options, self.text_depth)
        };
    }

    fn word(&mut self, token: Token) {
        if self.holds_statement && self.parens.is_empty() && token.keyword == K::For {
            self.begin_statement();
            return;
        }
        self.words += 1;
        if self.words == 1 {
            self.is_data = matches!(
                token.keyword,
                K::Select | K::With | K::Insert | K::Replace | K::Update | K::Delete | K::Values | K::Do | K::Call
            );
        } else if self.words == 2 {
            let after_set = self.word.is_some_and(|(word, _)| word.keyword == K::Set);
            self.sets_password = after_set && token.keyword == K::Password;
            self.holds_statement = after_set && token.keyword == K::Statement;
        }
        self.identified |= token.keyword == K::Identified;
        self.is_endpoint |= !self.is_data
            && self.text(token).eq_ignore_ascii_case(b"endpoint")
            && self.word.is_some_and(|(word, _)| self.text(word).eq_ignore_ascii_case(b"http"));
        self.word = Some((token, Between::Nothing));
    }

    /// Whether the string here is the address of an endpoint, of which the credentials alone are hidden.
    fn follows_url(&self) -> bool {
        self.word.is_some_and(|(word, _)| self.text(word).eq_ignore_ascii_case(b"url"))
    }

    /// Whether the text goes on with a secret.
    fn expects_secret(&self) -> bool {
        self.is_secret_here(self.after_assignment) || self.after_secret
    }

    /// Whether a string at this place is a secret.
    fn is_secret_here(&self, after_assignment: bool) -> bool {
        if self.assigning || self.is_endpoint && !self.follows_url() {
            return true;
        }
        let Some((word, between)) = self.word else { return self.sets_password && after_assignment };
        let names_password = word.keyword == K::Password;
        match between {
            Between::Paren => names_password,
            Between::Assignment => self.sets_password,
            Between::Nothing => {
                let follows = matches!(word.keyword, K::By | K::As | K::Replace | K::To);
                (self.identified || self.sets_password) && (follows || names_password)
                    || !self.is_data && names_password
            }
        }
    }

    /// Secrets inside of a string that is none: another statement's text, headers of a request, an address.
    fn inside(&mut self, token: Token) {
        let text = self.text(token);
        let statement = holds_word(text, b"identified")
            || (holds(text, b"passw") || holds(text, b"token") || holds(text, b"secret") || holds(text, b"api_key"))
                && text[1..text.len().saturating_sub(1).max(1)].iter().any(|byte| matches!(byte, b'\'' | b'"' | b'='));
        let header = holds(text, b"authorization") && (holds(text, b"bearer") || holds(text, b"basic"));
        let endpoint = holds(text, b"http") && holds(text, b"endpoint");
        if (statement || header || endpoint) && self.quoted(token) {
            return;
        }
        // Whatever a query says, an endpoint's has no business there.
        if self.is_endpoint && text.contains(&b'?') {
            self.found.push(token.start as usize..token.end as usize);
            return;
        }
        let mut at = 0;
        while let Some(scheme) = memchr::memmem::find(&text[at..], b"://") {
            let start = at + scheme + 3;
            let length = text[start..]
                .iter()
                .take_while(|byte| !matches!(byte, b'/' | b'?' | b'#' | b'\'' | b'"' | 0..=b' '))
                .count();
            if let Some(end) = memchr::memrchr(b'@', &text[start..start + length]) {
                let place = token.start as usize + start;
                self.found.push(place..place + end);
            }
            at = start + length;
        }
    }

    /// Secrets of a text that is a string: those of the statement that it is, or all of it if it is something else. Whether there are any.
    fn quoted(&mut self, token: Token) -> bool {
        let whole = token.start as usize..token.end as usize;
        let Some(inner) = quoted::decode(self.text(token), self.options) else {
            self.found.push(whole);
            return true;
        };
        let Found { found, is_open, is_statement } = search(&inner.bytes, self.options, self.text_depth + 1);
        if is_open {
            self.open = Some(self.parens.len());
        }
        if !is_statement || is_open && found.is_empty() {
            self.found.push(whole);
            return true;
        }
        let is_any = !found.is_empty();
        let place = |at: usize| whole.start + inner.place(at);
        self.found.extend(found.into_iter().map(|secret| place(secret.start)..place(secret.end)));
        is_any
    }
}

/// Whether statements that are made of texts begin so. What begins otherwise may be a part of one, or a document.
fn begins_statement(keyword: K) -> bool {
    matches!(
        keyword,
        K::Alter
            | K::Begin
            | K::Call
            | K::Change
            | K::Create
            | K::Delete
            | K::Do
            | K::Drop
            | K::Execute
            | K::Explain
            | K::Grant
            | K::Insert
            | K::Prepare
            | K::Replace
            | K::Select
            | K::Set
            | K::Start
            | K::Update
            | K::With
    )
}

/// Names of variables and options whose values are secrets.
fn is_secret_name(name: &[u8]) -> bool {
    let name = name.strip_suffix(b"`").or_else(|| name.strip_suffix(b"\"")).unwrap_or(name);
    let ends = |word: &[u8]| name.len() >= word.len() && name[name.len() - word.len()..].eq_ignore_ascii_case(word);
    [&b"password"[..], b"passwd", b"secret", b"token", b"api_key"].into_iter().any(ends)
}
