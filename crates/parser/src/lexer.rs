//! The lexer: turns bytes into tokens, one at a time and without allocating.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2, memmem};

use crate::ParseOptions;
use crate::keyword::Keyword;
use crate::token::{Token, TokenKind};

/// `/*!NNNNN … */` is executed up to this version.
const VERSION: u32 = 80499;
/// `/*M!NNNNNN … */` is executed up to this version.
const MARIADB_VERSION: u32 = 101199;

/// This many digits are always an integer of 64 bits.
const DIGITS_MAX: usize = 18;

/// The requirement of the previous token on the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// After a name: a `.` belongs to it and `.5` is no number.
    AfterName,
    /// After the `.` of a name: any word is a name, also one that begins with a digit.
    AfterDot,
    /// After `@`: a bare name may hold dots.
    AfterAt,
    /// After a verb that takes optimizer hints.
    Hints,
}

#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    sql: &'a [u8],
    position: usize,
    state: State,
    /// Inside an executed comment, which `*/` ends.
    in_comment: bool,
    ansi_quotes: bool,
    backslash_escapes: bool,
    ignore_space: bool,
}

/// Letters, digits, `_`, `$` and everything outside ASCII.
const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

static NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_name_byte(byte as u8);
        byte += 1;
    }
    table
};

impl<'a> Lexer<'a> {
    pub fn new(sql: &'a [u8], options: &ParseOptions) -> Self {
        Self {
            sql,
            position: 0,
            state: State::Start,
            in_comment: false,
            ansi_quotes: options.ansi_quotes,
            backslash_escapes: !options.no_backslash_escapes,
            ignore_space: options.ignore_space,
        }
    }

    /// Continues at a later offset.
    pub fn continue_at(&mut self, position: usize) {
        self.position = position;
    }

    fn byte(&self, at: usize) -> u8 {
        self.sql.get(at).copied().unwrap_or(0)
    }

    /// Goes on behind integers that follow the one before, each behind a comma.
    pub fn skip_integers(&mut self) {
        loop {
            let before = self.position;
            self.skip_spaces();
            if self.byte(self.position) != b',' {
                self.position = before;
                return;
            }
            self.position += 1;
            if self.listed_integer().is_none() {
                self.position = before;
                return;
            }
        }
    }

    /// Goes behind an integer of 64 bits that a comma or a parenthesis follows, and spaces around it: where its digits are. `None`, and
    /// nothing is skipped, if anything else comes next: other numbers, and names that begin with digits, are for [`Lexer::next`].
    pub fn listed_integer(&mut self) -> Option<Range<usize>> {
        let before = self.position;
        self.skip_spaces();
        let start = self.position;
        self.skip_while(|byte| byte.is_ascii_digit());
        let end = self.position;
        self.skip_spaces();
        if end == start || end - start > DIGITS_MAX || !matches!(self.byte(self.position), b',' | b')') {
            self.position = before;
            return None;
        }
        Some(start..end)
    }

    /// A comma, if that is the next byte.
    pub fn accept_comma(&mut self) -> Option<Token> {
        if self.byte(self.position) != b',' {
            return None;
        }
        self.position += 1;
        Some(self.token(TokenKind::Comma, self.position - 1))
    }

    fn skip_spaces(&mut self) {
        self.skip_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    fn skip_while(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.sql.get(self.position).is_some_and(|byte| is_skipped(*byte)) {
            self.position += 1;
        }
    }

    pub fn next(&mut self) -> Token {
        if self.state == State::AfterAt {
            self.state = State::AfterName;
            if !matches!(self.byte(self.position), b'\'' | b'"' | b'`') {
                let start = self.position;
                while NAME_BYTES[self.byte(self.position) as usize] || self.byte(self.position) == b'.' {
                    self.position += 1;
                }
                return self.token(TokenKind::AtName, start);
            }
        }
        let hints = self.state == State::Hints;
        if let Some(token) = self.skip_blank(hints) {
            return token;
        }
        let start = self.position;
        let Some(&byte) = self.sql.get(start) else {
            // An executed comment must be closed.
            let kind = if self.in_comment { TokenKind::Invalid } else { TokenKind::Eof };
            return self.token(kind, start);
        };
        let after_dot = self.state == State::AfterDot;
        let after_name = self.state == State::AfterName;
        self.state = State::Start;
        if NAME_BYTES[byte as usize] {
            return if after_dot { self.name(start) } else { self.word_or_number(start, byte) };
        }
        match byte {
            b'`' => self.quoted(start, b'`', TokenKind::QuotedIdent),
            b'\'' => self.quoted(start, b'\'', TokenKind::String),
            b'"' if self.ansi_quotes => self.quoted(start, b'"', TokenKind::QuotedIdent),
            b'"' => self.quoted(start, b'"', TokenKind::String),
            b'.' => self.dot(start, after_name),
            _ => self.operator(start, byte),
        }
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        Token { kind, keyword: Keyword::None, start: start as u32, end: self.position as u32 }
    }

    /// Skips white space and comments. Comes back with a token for a hint or a comment that does not end.
    fn skip_blank(&mut self, hints: bool) -> Option<Token> {
        loop {
            let start = self.position;
            match self.byte(start) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.position += 1,
                b'#' => self.skip_line(),
                b'-' if self.byte(start + 1) == b'-'
                    && self.sql.get(start + 2).is_none_or(|byte| *byte <= b' ' || *byte == 0x7f) =>
                {
                    self.skip_line()
                }
                b'/' if self.byte(start + 1) == b'*' => {
                    if hints && self.byte(start + 2) == b'+' {
                        self.state = State::Start;
                        return Some(match memmem::find(&self.sql[start + 3..], b"*/") {
                            Some(length) => {
                                self.position = start + 3 + length + 2;
                                self.token(TokenKind::Hint, start)
                            }
                            None => self.invalid(start),
                        });
                    }
                    if !self.comment(start) {
                        return Some(self.invalid(start));
                    }
                }
                b'*' if self.in_comment && self.byte(start + 1) == b'/' => {
                    self.in_comment = false;
                    self.position += 2;
                }
                _ => return None,
            }
            // A name's dot follows it at once.
            if self.state == State::AfterName {
                self.state = State::Start;
            }
        }
    }

    fn invalid(&mut self, start: usize) -> Token {
        self.position = self.sql.len();
        Token { kind: TokenKind::Invalid, keyword: Keyword::None, start: start as u32, end: self.position as u32 }
    }

    fn skip_line(&mut self) {
        self.position = match memchr(b'\n', &self.sql[self.position..]) {
            Some(length) => self.position + length + 1,
            None => self.sql.len(),
        };
    }

    /// Passes a comment, or only its head when what it holds is to be executed. False: it does not end.
    fn comment(&mut self, start: usize) -> bool {
        let mariadb = self.byte(start + 2) == b'M' && self.byte(start + 3) == b'!';
        if mariadb || self.byte(start + 2) == b'!' {
            let digits = start + if mariadb { 4 } else { 3 };
            let mut end = digits;
            let mut version = 0u32;
            while end < digits + 6 && self.byte(end).is_ascii_digit() {
                version = version * 10 + u32::from(self.byte(end) - b'0');
                end += 1;
            }
            // Fewer than five digits are not a version but part of the statement.
            let (version, end) = if end - digits >= 5 { (version, end) } else { (0, digits) };
            if version <= if mariadb { MARIADB_VERSION } else { VERSION } && !self.in_comment {
                self.in_comment = true;
                self.position = end;
                return true;
            }
            return self.skip_nested_comment(end);
        }
        match memmem::find(&self.sql[start + 2..], b"*/") {
            Some(length) => {
                self.position = start + 2 + length + 2;
                true
            }
            None => false,
        }
    }

    /// Skips a comment for another version; a plain comment may stand inside it.
    fn skip_nested_comment(&mut self, from: usize) -> bool {
        let mut at = from;
        let mut depth = 1;
        while let Some(length) = memchr2(b'*', b'/', &self.sql[at..]) {
            at += length;
            match (self.byte(at), self.byte(at + 1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        self.position = at;
                        return true;
                    }
                }
                (b'/', b'*') => {
                    depth += 1;
                    at += 2;
                }
                _ => at += 1,
            }
        }
        false
    }

    fn name_end(&self, from: usize) -> usize {
        let mut at = from;
        while at < self.sql.len() && NAME_BYTES[self.sql[at] as usize] {
            at += 1;
        }
        at
    }

    /// A word that is a name even if it is a keyword.
    fn name(&mut self, start: usize) -> Token {
        self.position = self.name_end(start);
        self.state = State::AfterName;
        self.token(TokenKind::Word, start)
    }

    fn word_or_number(&mut self, start: usize, byte: u8) -> Token {
        if byte.is_ascii_digit() {
            return self.number(start, byte);
        }
        if self.byte(start + 1) == b'\'' {
            match byte {
                b'x' | b'X' => return self.coded(start, TokenKind::HexString),
                b'b' | b'B' => return self.coded(start, TokenKind::BitString),
                b'n' | b'N' => {
                    let mut token = self.quoted(start + 1, b'\'', TokenKind::NationalString);
                    token.start = start as u32;
                    return token;
                }
                _ => {}
            }
        }
        self.position = self.name_end(start);
        self.state = State::AfterName;
        let keyword = Keyword::find(&self.sql[start..self.position]);
        // A dot makes any word a name.
        if keyword.is_reserved()
            && self.byte(self.position) == b'.'
            && NAME_BYTES[self.byte(self.position + 1) as usize]
        {
            return self.token(TokenKind::Word, start);
        }
        if matches!(keyword, Keyword::Select | Keyword::Insert | Keyword::Replace | Keyword::Update | Keyword::Delete) {
            self.state = State::Hints;
        }
        let kind =
            if keyword.is_function() && self.paren_follows() { TokenKind::FunctionName } else { TokenKind::Word };
        Token { kind, keyword, start: start as u32, end: self.position as u32 }
    }

    /// Whether `(` is next, with nothing between unless IGNORE_SPACE.
    fn paren_follows(&self) -> bool {
        let mut at = self.position;
        while self.ignore_space && self.byte(at).is_ascii_whitespace() {
            at += 1;
        }
        self.byte(at) == b'('
    }

    /// A number, or a name that begins with a digit.
    fn number(&mut self, start: usize, first: u8) -> Token {
        let sql = self.sql;
        let digits = |from: usize| {
            let mut at = from;
            while at < sql.len() && sql[at].is_ascii_digit() {
                at += 1;
            }
            at
        };
        let end = self.name_end(start);
        if first == b'0' && end > start + 2 {
            let kind = match self.sql[start + 1] {
                b'x' if self.sql[start + 2..end].iter().all(u8::is_ascii_hexdigit) => Some(TokenKind::HexNumber),
                b'b' if self.sql[start + 2..end].iter().all(|byte| matches!(byte, b'0' | b'1')) => {
                    Some(TokenKind::BitNumber)
                }
                _ => None,
            };
            if let Some(kind) = kind {
                self.position = end;
                return self.token(kind, start);
            }
        }
        let mut at = digits(start);
        let mut kind = TokenKind::Integer;
        if self.byte(at) == b'.' && self.byte(at + 1) != b'.' {
            kind = TokenKind::Decimal;
            at = digits(at + 1);
        }
        if let Some(exponent) = self.exponent(at) {
            self.position = digits(exponent);
            return self.token(TokenKind::Float, start);
        }
        if kind == TokenKind::Integer && end > at {
            self.position = end;
            self.state = State::AfterName;
            return self.token(TokenKind::Word, start);
        }
        self.position = at;
        self.token(kind, start)
    }

    /// Where the digits of an exponent at `at` begin, if one is there.
    fn exponent(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), b'e' | b'E') {
            return None;
        }
        let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
        self.byte(at + 1 + sign).is_ascii_digit().then_some(at + 1 + sign)
    }

    fn dot(&mut self, start: usize, after_name: bool) -> Token {
        let next = self.byte(start + 1);
        if next == b'.' {
            self.position += 2;
            return self.token(TokenKind::DotDot, start);
        }
        if !after_name && next.is_ascii_digit() {
            let mut at = start + 1;
            while self.byte(at).is_ascii_digit() {
                at += 1;
            }
            let mut kind = TokenKind::Decimal;
            if let Some(exponent) = self.exponent(at) {
                kind = TokenKind::Float;
                at = exponent;
                while self.byte(at).is_ascii_digit() {
                    at += 1;
                }
            }
            self.position = at;
            return self.token(kind, start);
        }
        self.position += 1;
        if NAME_BYTES[next as usize] {
            self.state = State::AfterDot;
        }
        self.token(TokenKind::Dot, start)
    }

    /// A string or name in quotes that begin at `start`.
    fn quoted(&mut self, start: usize, quote: u8, kind: TokenKind) -> Token {
        let escapes = self.backslash_escapes && quote != b'`' && kind != TokenKind::QuotedIdent;
        let mut at = start + 1;
        loop {
            let rest = self.sql.get(at..).unwrap_or(b"");
            let found = if escapes { memchr2(quote, b'\\', rest) } else { memchr(quote, rest) };
            let Some(length) = found else {
                return self.invalid(start);
            };
            at += length;
            if self.sql[at] != quote || self.byte(at + 1) == quote {
                at += 2;
                continue;
            }
            self.position = at + 1;
            if kind == TokenKind::QuotedIdent {
                self.state = State::AfterName;
            }
            return self.token(kind, start);
        }
    }

    /// `x'…'` and `b'…'`, whose digits are checked here.
    fn coded(&mut self, start: usize, kind: TokenKind) -> Token {
        let rest = &self.sql[start + 2..];
        let Some(length) = memchr(b'\'', rest) else {
            return self.invalid(start);
        };
        let digits = &rest[..length];
        let good = match kind {
            TokenKind::HexString => length % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit),
            _ => digits.iter().all(|byte| matches!(byte, b'0' | b'1')),
        };
        if !good {
            return self.invalid(start);
        }
        self.position = start + 2 + length + 1;
        self.token(kind, start)
    }

    fn operator(&mut self, start: usize, byte: u8) -> Token {
        use TokenKind::*;
        let (second, third) = (self.byte(start + 1), self.byte(start + 2));
        let (kind, length) = match (byte, second, third) {
            (b'(', _, _) => (LeftParen, 1),
            (b')', _, _) => (RightParen, 1),
            (b',', _, _) => (Comma, 1),
            (b';', _, _) => (Semicolon, 1),
            (b'=', _, _) => (Equal, 1),
            (b'*', _, _) => (Star, 1),
            (b'?', _, _) => (Placeholder, 1),
            (b'+', _, _) => (Plus, 1),
            (b'-', b'>', b'>') => (LongArrow, 3),
            (b'-', b'>', _) => (Arrow, 2),
            (b'-', _, _) => (Minus, 1),
            (b'/', _, _) => (Slash, 1),
            (b'%', _, _) => (Percent, 1),
            (b'<', b'=', b'>') => (NullSafeEqual, 3),
            (b'<', b'=', _) => (LessOrEqual, 2),
            (b'<', b'>', _) | (b'!', b'=', _) => (NotEqual, 2),
            (b'<', b'<', _) => (ShiftLeft, 2),
            (b'<', _, _) => (Less, 1),
            (b'>', b'=', _) => (GreaterOrEqual, 2),
            (b'>', b'>', _) => (ShiftRight, 2),
            (b'>', _, _) => (Greater, 1),
            (b'!', _, _) => (Bang, 1),
            (b'&', b'&', _) => (AndAnd, 2),
            (b'&', _, _) => (Ampersand, 1),
            (b'|', b'|', _) => (PipePipe, 2),
            (b'|', _, _) => (Pipe, 1),
            (b'^', _, _) => (Caret, 1),
            (b'~', _, _) => (Tilde, 1),
            (b':', b'=', _) => (Assign, 2),
            (b':', _, _) => (Colon, 1),
            (b'{', _, _) => (LeftBrace, 1),
            (b'}', _, _) => (RightBrace, 1),
            (b'@', b'@', _) => (AtAt, 2),
            (b'@', _, _) => {
                self.state = State::AfterAt;
                (At, 1)
            }
            // Clients written in C send the end of their string along.
            (0, _, _) if self.sql[start..].iter().all(|byte| *byte == 0) => (Eof, 0),
            _ => (Invalid, 1),
        };
        self.position = start + length;
        self.token(kind, start)
    }
}

/// A piece of a statement without the marks of `/*! … */`, and without what is inside when it is not executed.
pub(crate) fn without_version_comments(text: &[u8]) -> Cow<'_, [u8]> {
    if memmem::find(text, b"/*!").is_none() && memmem::find(text, b"/*M!").is_none() {
        return Cow::Borrowed(text);
    }
    let mut lexer = Lexer::new(text, &ParseOptions::default());
    let mut kept = Vec::with_capacity(text.len());
    loop {
        let start = lexer.position;
        match lexer.byte(start) {
            _ if start >= text.len() => return Cow::Owned(kept),
            b'/' if lexer.byte(start + 1) == b'*' => {
                let plain = !matches!((lexer.byte(start + 2), lexer.byte(start + 3)), (b'!', _) | (b'M', b'!'));
                if !lexer.comment(start) {
                    return Cow::Owned(kept);
                }
                if plain {
                    kept.extend_from_slice(&text[start..lexer.position]);
                }
            }
            b'*' if lexer.in_comment && lexer.byte(start + 1) == b'/' => {
                lexer.in_comment = false;
                lexer.position += 2;
            }
            quote @ (b'\'' | b'"' | b'`') => {
                lexer.quoted(start, quote, TokenKind::String);
                kept.extend_from_slice(&text[start..lexer.position]);
            }
            byte => {
                kept.push(byte);
                lexer.position += 1;
            }
        }
    }
}
