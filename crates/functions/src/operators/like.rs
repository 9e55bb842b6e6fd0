//! LIKE.

use crate::typing::collation_names::CollationFacts;
use squall_registry::{ScalarKernel, StatementContext};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::cmp::Ordering;

/// `text LIKE pattern ESCAPE escape`; the third argument is the escape character, NULL or empty for none.
#[derive(Debug)]
pub struct LikeKernel {
    /// How characters compare.
    pub collation: CollationId,
    /// NOT LIKE.
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// `%`.
    Any,
    /// `_`.
    One,
    Char(char),
}

impl ScalarKernel for LikeKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let (Some(text), Some(pattern)) = (arguments.first(), arguments.get(1)) else { return Ok(Value::Null) };
        let matched = match (text, pattern) {
            (Value::Null, _) | (_, Value::Null) => return Ok(Value::Null),
            (Value::String(text), Value::String(pattern)) => {
                let escape = match arguments.get(2) {
                    Some(Value::String(escape)) => single_char(escape)?,
                    _ => None,
                };
                let tokens = tokens(pattern, escape);
                like(text, &tokens, &|a, b| self.equal(a, b))
            }
            (Value::Bytes(text), Value::Bytes(pattern)) => {
                let escape = match arguments.get(2) {
                    Some(Value::Bytes(escape)) => escape.first().copied(),
                    Some(Value::String(escape)) => escape.as_bytes().first().copied(),
                    _ => None,
                };
                // Every byte as the character of its number: the matcher then works on bytes.
                let widen = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
                like(&widen(text), &tokens(&widen(pattern), escape.map(char::from)), &|a, b| a == b)
            }
            _ => return Err(SqlError::internal("LIKE of a text and of bytes")),
        };
        Ok(Value::from(matched != self.negated))
    }
}

impl LikeKernel {
    fn equal(&self, left: char, right: char) -> bool {
        if left == right {
            return true;
        }
        if left.is_ascii() && right.is_ascii() && self.collation.is_code_point_order() {
            return false;
        }
        let (mut left_buffer, mut right_buffer) = ([0; 4], [0; 4]);
        self.collation.compare(left.encode_utf8(&mut left_buffer), right.encode_utf8(&mut right_buffer))
            == Ordering::Equal
    }
}

fn single_char(text: &str) -> SqlResult<Option<char>> {
    let mut chars = text.chars();
    let first = chars.next();
    if chars.next().is_some() {
        return Err(SqlError::new(ErrorCode::WrongArguments, &[&"ESCAPE"]));
    }
    Ok(first)
}

fn tokens(pattern: &str, escape: Option<char>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let token = if Some(c) == escape {
            // An escape at the end stands for itself.
            Token::Char(chars.next().unwrap_or(c))
        } else {
            match c {
                '%' => Token::Any,
                '_' => Token::One,
                c => Token::Char(c),
            }
        };
        if token != Token::Any || tokens.last() != Some(&Token::Any) {
            tokens.push(token);
        }
    }
    tokens
}

/// Matches with one place to go back to: the last `%`.
fn like(text: &str, pattern: &[Token], equal: &dyn Fn(char, char) -> bool) -> bool {
    let mut rest = text.chars();
    let mut at = 0;
    let mut back: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        if pattern.get(at) == Some(&Token::Any) {
            at += 1;
            back = Some((at, rest.clone()));
            continue;
        }
        let before = rest.clone();
        let matched = match (pattern.get(at), rest.next()) {
            (None, None) => return true,
            (Some(Token::One), Some(_)) => true,
            (Some(Token::Char(wanted)), Some(c)) => equal(*wanted, c),
            (Some(_), None) => return false,
            _ => false,
        };
        if matched {
            at += 1;
            continue;
        }
        drop(before);
        match &mut back {
            Some((after, from)) => {
                if from.next().is_none() {
                    return false;
                }
                at = *after;
                rest = from.clone();
            }
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("abc", "", false),
            ("", "", true),
            ("", "%", true),
            ("abcabd", "%ab_", true),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("a\\", "a\\", true),
            ("日本語", "日_語", true),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%a%a%a%c", false),
        ];
        for (text, pattern, expected) in cases {
            let tokens = tokens(pattern, Some('\\'));
            assert_eq!(like(text, &tokens, &|a, b| a == b), expected, "{text} LIKE {pattern}");
        }
    }
}
