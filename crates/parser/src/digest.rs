//! Digests: the normalized form of a statement, without its values.

use crate::ParseOptions;
use crate::keyword::Keyword as K;
use crate::lexer::Lexer;
use crate::token::{Token, TokenKind};

/// The form of a statement: statements that differ in literals, letter case of keywords, white space and
/// comments only have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest {
    /// Keywords in upper case, names in backticks, `?` for each literal, `(...)` for a list of them.
    pub text: String,
    /// A hash of the text (FNV-1a).
    pub hash: u128,
}

/// A piece of a digest's text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A keyword or operator, or a name.
    Other(Token),
    /// `?`.
    Value,
    /// `?, ...`.
    Values,
    /// `(?)`.
    Row,
    /// `(...)`.
    WideRow,
    /// `(?) /* , ... */`.
    Rows,
    /// `(...) /* , ... */`.
    WideRows,
}

impl Piece {
    fn is(self, kind: TokenKind) -> bool {
        matches!(self, Piece::Other(token) if token.kind == kind)
    }

    fn bytes(self) -> usize {
        match self {
            Piece::Other(token) => match token.kind {
                TokenKind::Word if token.keyword == K::None => 4 + (token.end - token.start) as usize,
                TokenKind::QuotedIdent => 2 + (token.end - token.start) as usize,
                _ => 2,
            },
            _ => 2,
        }
    }

    /// Whether a sign behind this piece is part of the number that follows.
    fn takes_sign(self) -> bool {
        match self {
            Piece::Other(token) => match token.kind {
                TokenKind::Word | TokenKind::FunctionName => token.keyword.is_reserved(),
                TokenKind::QuotedIdent | TokenKind::AtName | TokenKind::RightParen => false,
                _ => true,
            },
            _ => false,
        }
    }
}

/// Bytes of tokens that a digest is made of (`max_digest_length`), counted as MySQL stores them: two for each, and for a name two more and its
/// text. What comes behind is in no digest.
const BYTES_MAX: usize = 1024;

/// The pieces so far.
#[derive(Default)]
struct Pieces {
    list: Vec<Piece>,
    /// With those of the one that did not fit, which is the last then.
    bytes: usize,
}

impl Pieces {
    fn is_full(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// Whether the last piece is `?, ...`, with room for what comes behind it.
    fn are_a_list_of_values(&self) -> bool {
        self.list.last() == Some(&Piece::Values) && self.bytes + 2 * Piece::Value.bytes() <= BYTES_MAX
    }

    fn push(&mut self, piece: Piece) {
        self.bytes += piece.bytes();
        if !self.is_full() {
            self.list.push(piece);
        }
    }

    fn pop(&mut self, count: usize) {
        for _ in 0..count {
            self.bytes -= self.list.pop().map_or(0, Piece::bytes);
        }
    }
}

/// Digests the first statement of `sql`; what is not one is digested as far as it has tokens.
pub fn digest(sql: &[u8], options: &ParseOptions) -> Digest {
    if u32::try_from(sql.len()).is_err() {
        return Digest { text: String::new(), hash: hash(b"") };
    }
    let mut lexer = Lexer::new(sql, options);
    let mut pieces = Pieces::default();
    let mut next = lexer.next();
    let data = matches!(
        next.keyword,
        K::Select | K::With | K::Insert | K::Replace | K::Update | K::Delete | K::Values | K::Do | K::Call
    ) || next.kind == TokenKind::LeftParen;
    while !pieces.is_full() {
        let mut token = next;
        match token.kind {
            TokenKind::Eof | TokenKind::Semicolon | TokenKind::Invalid => break,
            _ => next = lexer.next(),
        }
        if token.kind == TokenKind::Hint {
            continue;
        }
        if token.kind == TokenKind::Comma && next.kind == TokenKind::Integer && pieces.are_a_list_of_values() {
            // One more changes nothing, and there may be millions.
            lexer.skip_integers();
            next = lexer.next();
            continue;
        }
        if data && next.kind != TokenKind::LeftParen && may_be_name(token.keyword) {
            token.keyword = K::None;
        }
        push(&mut pieces, token);
    }
    let text = render(sql, &pieces.list);
    let hash = hash(text.as_bytes());
    Digest { text, hash }
}

/// Whether a word, in a statement about rows, is more often a name than a keyword. Only the grammar could
/// tell for sure, and digests do without it.
fn may_be_name(keyword: K) -> bool {
    !keyword.is_reserved()
        && !matches!(
            keyword,
            K::Any
                | K::Boolean
                | K::Day
                | K::Duplicate
                | K::End
                | K::Escape
                | K::Hour
                | K::Locked
                | K::Minute
                | K::Mode
                | K::Month
                | K::Nowait
                | K::Offset
                | K::Quarter
                | K::Quick
                | K::Rollup
                | K::Second
                | K::Session
                | K::Global
                | K::Share
                | K::Skip
                | K::Some
                | K::Unknown
                | K::Value
                | K::Week
                | K::Year
        )
}

/// Adds a token, and folds what it completes.
fn push(pieces: &mut Pieces, token: Token) {
    let last = pieces.list.last().copied();
    let literal = match token.kind {
        TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
            if let [.., before, sign] = pieces.list[..]
                && (sign.is(TokenKind::Minus) || sign.is(TokenKind::Plus))
                && before.takes_sign()
            {
                pieces.pop(1);
            }
            true
        }
        TokenKind::String => !last.is_some_and(|last| last.is(TokenKind::At)),
        TokenKind::NationalString
        | TokenKind::HexNumber
        | TokenKind::HexString
        | TokenKind::BitNumber
        | TokenKind::BitString
        | TokenKind::Placeholder => true,
        // The NULL of IS NULL and NOT NULL is no value.
        TokenKind::Word if token.keyword == K::Null => {
            !matches!(last, Some(Piece::Other(before)) if matches!(before.keyword, K::Is | K::Not))
        }
        _ => false,
    };
    if literal {
        fold_value(pieces);
    } else if token.kind == TokenKind::RightParen {
        fold_row(pieces, token);
    } else {
        pieces.push(Piece::Other(token));
    }
}

/// Adds a value: `?, ?` becomes `?, ...`.
fn fold_value(pieces: &mut Pieces) {
    if let [.., before, comma] = pieces.list[..]
        && comma.is(TokenKind::Comma)
        && matches!(before, Piece::Value | Piece::Values)
    {
        pieces.pop(2);
        pieces.push(Piece::Values);
        return;
    }
    // Adjacent string literals are one.
    if pieces.list.last() != Some(&Piece::Value) {
        pieces.push(Piece::Value);
    }
}

/// Adds a `)`: `(?)` and `(?, ...)` become rows, and rows parted by commas a list of them.
fn fold_row(pieces: &mut Pieces, paren: Token) {
    let (wide, open) = match pieces.list[..] {
        [.., open, Piece::Value] => (false, open),
        [.., open, Piece::Values] => (true, open),
        _ => {
            pieces.push(Piece::Other(paren));
            return;
        }
    };
    if !open.is(TokenKind::LeftParen) {
        pieces.push(Piece::Other(paren));
        return;
    }
    pieces.pop(2);
    let list = match pieces.list[..] {
        [.., before, comma] if comma.is(TokenKind::Comma) => match before {
            Piece::Row | Piece::Rows if !wide => Some(Piece::Rows),
            Piece::WideRow | Piece::WideRows if wide => Some(Piece::WideRows),
            _ => None,
        },
        _ => None,
    };
    match list {
        Some(list) => {
            pieces.pop(2);
            pieces.push(list);
        }
        None => pieces.push(if wide { Piece::WideRow } else { Piece::Row }),
    }
}

fn render(sql: &[u8], pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        if !text.is_empty() {
            text.push(' ');
        }
        match piece {
            Piece::Value => text.push('?'),
            Piece::Values => text.push_str("?, ..."),
            Piece::Row => text.push_str("(?)"),
            Piece::WideRow => text.push_str("(...)"),
            Piece::Rows => text.push_str("(?) /* , ... */"),
            Piece::WideRows => text.push_str("(...) /* , ... */"),
            Piece::Other(token) => render_token(sql, *token, &mut text),
        }
    }
    text
}

fn render_token(sql: &[u8], token: Token, text: &mut String) {
    let source = String::from_utf8_lossy(&sql[token.start as usize..token.end as usize]);
    match token.kind {
        TokenKind::Word if token.keyword == K::None => {
            text.push('`');
            text.push_str(&source);
            text.push('`');
        }
        TokenKind::Word | TokenKind::FunctionName => text.push_str(&source.to_ascii_uppercase()),
        // Under ANSI_QUOTES too a name is shown in backticks.
        TokenKind::QuotedIdent if source.starts_with('"') => {
            text.push('`');
            text.push_str(&source[1..source.len() - 1]);
            text.push('`');
        }
        _ => text.push_str(&source),
    }
}

fn hash(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}
