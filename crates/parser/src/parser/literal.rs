//! Literals: numbers, strings, dates and times.

use super::name::lossy;
use super::*;
use crate::introduced_strings::introduced_charset;
use std::borrow::Cow;

/// The shortest string that stays a part of the statement's text.
const SHARED_BYTES_MIN: usize = 64 << 10;
/// And so large a part of it: what keeps the string keeps the text.
const SHARED_PART: usize = 4;

impl<'a> Parser<'a> {
    /// The character set that a word like `_utf8mb4` names.
    pub(super) fn introducer(&self, token: Token) -> Option<&'static str> {
        introduced_charset(self.text(token))
    }

    /// The decoded bytes of a string token: those of the text, if nothing in it is escaped.
    fn decode(&self, token: Token) -> Cow<'a, [u8]> {
        let mut text = self.text(token);
        if token.kind == TokenKind::NationalString {
            text = &text[1..];
        }
        let quote = text[0];
        let inner = &text[1..text.len() - 1];
        let escapes = !self.options.no_backslash_escapes;
        let special_of = |rest| if escapes { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
        let Some(mut at) = special_of(inner) else { return Cow::Borrowed(inner) };
        let (mut bytes, mut rest) = (Vec::with_capacity(inner.len()), inner);
        loop {
            bytes.extend_from_slice(&rest[..at]);
            let Some(&next) = rest.get(at + 1) else {
                return Cow::Owned(bytes);
            };
            if rest[at] == quote {
                bytes.push(quote);
            } else {
                match next {
                    b'0' => bytes.push(0),
                    b'n' => bytes.push(b'\n'),
                    b't' => bytes.push(b'\t'),
                    b'r' => bytes.push(b'\r'),
                    b'b' => bytes.push(8),
                    b'Z' => bytes.push(26),
                    // LIKE sees to these itself.
                    b'%' | b'_' => bytes.extend_from_slice(&[b'\\', next]),
                    other => bytes.push(other),
                }
            }
            rest = &rest[at + 2..];
            let Some(next_at) = special_of(rest) else {
                bytes.extend_from_slice(rest);
                return Cow::Owned(bytes);
            };
            at = next_at;
        }
    }

    /// The text of a literal, without a copy if it is a large part of a long text.
    fn sql_string_of(&self, value: Cow<'a, [u8]>) -> SqlString {
        match (value, self.shared) {
            (Cow::Borrowed(part), Some(text))
                if part.len() >= SHARED_BYTES_MIN && part.len() >= text.len() / SHARED_PART =>
            {
                SqlString::shared(text.slice_ref(part))
            }
            (Cow::Borrowed(part), _) => SqlString::from(part),
            (Cow::Owned(bytes), _) => SqlString::from(bytes),
        }
    }

    /// One or more adjacent string literals.
    pub(super) fn string_literal(&mut self, introducer: Option<&str>) -> Result<StringLiteral> {
        let token = self.advance();
        let introducer = match token.kind {
            TokenKind::NationalString => Some("utf8mb3"),
            _ => introducer,
        };
        let mut value = self.decode(token);
        let first_length = value.len() as u32;
        while self.at_kind(TokenKind::String) {
            let token = self.advance();
            value.to_mut().extend_from_slice(&self.decode(token));
        }
        self.charge_text(value.len());
        let value = self.sql_string_of(value);
        Ok(StringLiteral { introducer: introducer.map(Into::into), value, first_length })
    }

    /// A single string literal, as bytes.
    pub(super) fn sql_string(&mut self) -> Result<SqlString> {
        match self.kind() {
            TokenKind::String => {
                let token = self.advance();
                Ok(self.sql_string_of(self.decode(token)))
            }
            TokenKind::HexNumber | TokenKind::HexString | TokenKind::BitNumber | TokenKind::BitString => {
                let token = self.advance();
                Ok(self.coded_value(token))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A single string literal, as text: a path, a comment, a password.
    pub(super) fn string(&mut self) -> Result<Box<str>> {
        if !self.at_kind(TokenKind::String) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(lossy(&self.decode(token)))
    }

    /// `N` decoded bytes of a hexadecimal or bit literal.
    pub(super) fn coded_value(&mut self, token: Token) -> SqlString {
        let text = self.text(token);
        let (digits, bits) = match token.kind {
            TokenKind::HexNumber => (&text[2..], 4),
            TokenKind::BitNumber => (&text[2..], 1),
            TokenKind::HexString => (&text[2..text.len() - 1], 4),
            _ => (&text[2..text.len() - 1], 1),
        };
        let per_byte = 8 / bits;
        let mut bytes = Vec::with_capacity(digits.len().div_ceil(per_byte));
        // A first byte that is not full is filled with zeros on the left.
        let mut pending = (per_byte - digits.len() % per_byte) % per_byte;
        let mut byte = 0u8;
        for digit in digits {
            byte = (byte << bits) | (*digit as char).to_digit(16).unwrap_or(0) as u8;
            pending += 1;
            if pending == per_byte {
                bytes.push(byte);
                (byte, pending) = (0, 0);
            }
        }
        self.charge_text(bytes.len());
        SqlString::from(bytes)
    }

    /// An unsigned integer of at most 64 bits, also in hexadecimal.
    pub(super) fn unsigned(&mut self) -> Result<u64> {
        let text = self.text(self.current);
        let value = match self.kind() {
            TokenKind::Integer => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
            TokenKind::HexNumber => {
                std::str::from_utf8(&text[2..]).ok().and_then(|text| u64::from_str_radix(text, 16).ok())
            }
            // More than 64 bits, or with a fraction that MySQL drops.
            TokenKind::Decimal | TokenKind::Float => {
                std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()).map(|value| value as u64)
            }
            _ => None,
        };
        match value {
            Some(value) => {
                self.advance();
                Ok(value)
            }
            None => Err(self.unexpected()),
        }
    }

    /// An unsigned integer of at most 32 bits; a larger one becomes the largest.
    pub(super) fn unsigned32(&mut self) -> Result<u32> {
        Ok(u32::try_from(self.unsigned()?).unwrap_or(u32::MAX))
    }

    /// A number with an optional sign.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let negative = self.accept_kind(TokenKind::Minus);
        if !negative {
            self.accept_kind(TokenKind::Plus);
        }
        let offset = self.current.start;
        let value = i128::from(self.unsigned()?);
        i64::try_from(if negative { -value } else { value }).map_err(|_| self.syntax_error(offset))
    }

    /// A number as its text, for options that keep it so.
    pub(super) fn number_text(&mut self) -> Result<Box<str>> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
                let token = self.advance();
                Ok(lossy(self.text(token)))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `(n)`.
    pub(super) fn parenthesized_number(&mut self) -> Result<u64> {
        self.parenthesized(Self::unsigned)
    }

    /// `(n)` or nothing.
    pub(super) fn optional_length(&mut self) -> Result<Option<u64>> {
        if self.at_kind(TokenKind::LeftParen) { self.parenthesized_number().map(Some) } else { Ok(None) }
    }

    /// As [`Parser::optional_length`], of at most 32 bits.
    pub(super) fn optional_width(&mut self) -> Result<Option<u32>> {
        Ok(self.optional_length()?.map(|length| u32::try_from(length).unwrap_or(u32::MAX)))
    }

    /// The literal here, if one is.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>> {
        let token = self.current;
        let number = |parser: &mut Self| {
            parser.advance();
            lossy(parser.text(token))
        };
        Ok(Some(match token.kind {
            TokenKind::Integer => {
                let text = number(self);
                // What does not fit 64 bits is a decimal to MySQL.
                if text.len() > 19
                    && text.trim_start_matches('0').parse::<u64>().is_err()
                    && text.bytes().any(|b| b != b'0')
                {
                    Literal::Decimal(text)
                } else {
                    Literal::Integer(text)
                }
            }
            TokenKind::Decimal => Literal::Decimal(number(self)),
            TokenKind::Float => Literal::Float(number(self)),
            TokenKind::String | TokenKind::NationalString => Literal::String(self.string_literal(None)?),
            TokenKind::HexNumber | TokenKind::HexString => {
                self.advance();
                Literal::Hex { introducer: None, value: self.coded_value(token) }
            }
            TokenKind::BitNumber | TokenKind::BitString => {
                self.advance();
                Literal::Bit { introducer: None, value: self.coded_value(token) }
            }
            TokenKind::Word => match token.keyword {
                K::Null => {
                    self.advance();
                    Literal::Null
                }
                K::True | K::False => {
                    self.advance();
                    Literal::Boolean(token.keyword == K::True)
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// A literal behind a character set introducer, if one is there.
    pub(super) fn introduced_literal(&mut self) -> Result<Option<Literal>> {
        let Some(charset) = self.introducer(self.current) else {
            return Ok(None);
        };
        let kind = self.peek(1).kind;
        let literal = match kind {
            TokenKind::String => {
                self.advance();
                Literal::String(self.string_literal(Some(charset))?)
            }
            TokenKind::HexNumber | TokenKind::HexString | TokenKind::BitNumber | TokenKind::BitString => {
                self.advance();
                let token = self.advance();
                let value = self.coded_value(token);
                let introducer = Some(charset.into());
                if matches!(kind, TokenKind::HexNumber | TokenKind::HexString) {
                    Literal::Hex { introducer, value }
                } else {
                    Literal::Bit { introducer, value }
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(literal))
    }

    /// The name of a character set: an identifier, a string or BINARY.
    pub(super) fn charset_name(&mut self) -> Result<Box<str>> {
        if self.accept(K::Binary) {
            return Ok("binary".into());
        }
        Ok(self.ident_or_string()?.value.to_ascii_lowercase().into_boxed_str())
    }

    /// The name of a collation: an identifier, a string or BINARY.
    pub(super) fn collation_name(&mut self) -> Result<Box<str>> {
        self.charset_name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_shared;

    /// Whether the string of `SELECT '…'` is a part of the text; what it says.
    fn literal_of(text: &str) -> (bool, Vec<u8>) {
        let text = Bytes::copy_from_slice(text.as_bytes());
        let parsed = parse_shared(&text, 0, &ParseOptions::default()).expect("a statement");
        let Statement::Query(query) = &parsed.statement else { panic!("a query") };
        let item = query.as_select().and_then(|select| select.items.first());
        let Some(SelectItem::Expr(item)) = item else { panic!("an expression") };
        let Expr::Literal(Literal::String(literal)) = &item.expr else { panic!("a literal") };
        let value = literal.value.as_bytes();
        (text.as_ptr_range().contains(&value.as_ptr()), value.to_vec())
    }

    #[test]
    fn a_long_string_is_a_part_of_the_text() {
        let long = "x".repeat(SHARED_BYTES_MIN);
        assert_eq!(literal_of(&format!("SELECT '{long}'")), (true, long.clone().into_bytes()));
        assert_eq!(literal_of("SELECT 'x'"), (false, b"x".to_vec()));
        // Escapes have to be decoded, and neighbours put together.
        assert_eq!(literal_of(&format!("SELECT '\\n{long}'")), (false, format!("\n{long}").into_bytes()));
        assert_eq!(literal_of(&format!("SELECT '{long}' 'y'")), (false, format!("{long}y").into_bytes()));
        // It would keep a text that is much longer.
        assert!(!literal_of(&format!("SELECT '{long}', '{}'", long.repeat(SHARED_PART))).0);
    }

    #[test]
    fn strings_are_small_in_the_tree() {
        assert_eq!(size_of::<SqlString>(), size_of::<Box<[u8]>>());
    }
}
