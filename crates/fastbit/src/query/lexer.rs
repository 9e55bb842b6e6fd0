//! Splits text into tokens.

use super::tree::QueryError;

/// A token with its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it begins, bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name or keyword.
    Word(String),
    /// A number, as SQL writes it.
    Number(String),
    /// A text without its quotes.
    Text(String),
    /// An operator or bracket.
    Symbol(&'static str),
}

/// Operators and brackets, longer ones first.
const SYMBOLS: &[&str] = &[
    "==", "!=", "<>", "<=", ">=", "&&", "||", "**", "=", "<", ">", "!", "&", "|", "^", "+", "-", "*", "/", "%", "(",
    ")", ",", ".",
];

/// Cuts a text into tokens.
///
/// # Errors
/// At a character that begins none, and at a text without its end.
pub fn tokens(text: &str) -> Result<Vec<Token>, QueryError> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        let kind = if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            Kind::Word(text[start..at].to_string())
        } else if byte.is_ascii_digit() || byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
            let (number, length) = number(&text[at..])?;
            at += length;
            Kind::Number(number)
        } else if byte == b'\'' || byte == b'"' {
            let (content, length) = quoted(&text[at..])?;
            at += length;
            Kind::Text(content)
        } else if byte == b';' && text[at + 1..].trim().is_empty() {
            break;
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| text[at..].starts_with(**symbol)) {
            at += symbol.len();
            Kind::Symbol(symbol)
        } else {
            let near: String = text[at..].chars().take(20).collect();
            return Err(QueryError::Failed(format!("the query cannot be read near '{near}'")));
        };
        tokens.push(Token { kind, start, end: at });
    }
    Ok(tokens)
}

/// A number at the beginning of a text as SQL writes it, and its length.
fn number(text: &str) -> Result<(String, usize), QueryError> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if bytes.len() > 2 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X') {
        let count = bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let value = u64::from_str_radix(&text[2..2 + count], 16);
        let value = value.map_err(|_| QueryError::Failed(format!("'{}' is no number", &text[..2 + count])))?;
        return Ok((value.to_string(), 2 + count));
    }
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    if bytes.get(end).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
        let near: String = text.chars().take(20).collect();
        return Err(QueryError::Failed(format!("the query cannot be read near '{near}'")));
    }
    Ok((text[..end].to_string(), end))
}

/// A text in single or double quotes, and its length with them. The quote is written twice or behind a backslash.
fn quoted(text: &str) -> Result<(String, usize), QueryError> {
    let mut characters = text.char_indices();
    let quote = characters.next().map_or('\'', |(_, quote)| quote);
    let mut content = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, 'n')) => content.push('\n'),
                Some((_, 't')) => content.push('\t'),
                Some((_, 'r')) => content.push('\r'),
                Some((_, '0')) => content.push('\0'),
                // Wildcards of LIKE keep their backslash.
                Some((_, wildcard @ ('%' | '_'))) => content.extend(['\\', wildcard]),
                Some((_, other)) => content.push(other),
                None => break,
            },
            _ if character == quote => {
                let next = at + quote.len_utf8();
                if text[next..].starts_with(quote) {
                    content.push(quote);
                    characters.next();
                } else {
                    return Ok((content, next));
                }
            }
            _ => content.push(character),
        }
    }
    Err(QueryError::Failed("a text in the query has no end".to_string()))
}
