//! Tokens.

use crate::keyword::Keyword;

/// A token: its kind and where it stands. The text stays in the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    /// The keyword an unquoted word is; [`Keyword::None`] for every other token.
    pub keyword: Keyword,
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// End of the text.
    Eof,
    /// What no token begins with, or a string, name or comment without end.
    Invalid,
    /// An unquoted word: a keyword or an identifier.
    Word,
    /// The name of one of the built-in functions that must have their `(` at once, with it: no identifier.
    FunctionName,
    QuotedIdent,
    String,
    /// `N'…'`.
    NationalString,
    Integer,
    Decimal,
    Float,
    /// `0x4D`.
    HexNumber,
    /// `x'4D'`.
    HexString,
    /// `0b11`.
    BitNumber,
    /// `b'11'`.
    BitString,
    /// The text of `/*+ … */`, where hints may stand.
    Hint,
    Placeholder,
    /// `@`; a [`TokenKind::AtName`], a string or a quoted identifier follows.
    At,
    /// The bare name after `@`; may be empty.
    AtName,
    /// `@@`.
    AtAt,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Comma,
    Semicolon,
    Dot,
    /// `..`, between the ends of MariaDB's FOR.
    DotDot,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Ampersand,
    /// `&&`.
    AndAnd,
    Pipe,
    /// `||`.
    PipePipe,
    Caret,
    Tilde,
    Bang,
    Equal,
    /// `<=>`.
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    /// `:=`.
    Assign,
    Colon,
    /// `->`.
    Arrow,
    /// `->>`.
    LongArrow,
}
