//! Normalized statements: a text with a `?` in place of each plain literal.
//!
//! Statements with the same normalized text differ only in their literals. So one plan with parameters serves all of them, and only the
//! first is parsed. Normalizing reads the bytes once and makes no token. A text with comments, escapes, strings of other character
//! sets, user variables or several statements is not normalized.

use std::ops::Range;

/// Longest text that is normalized.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Most literals of a normalized statement.
const LITERALS_MAX: usize = 256;
/// What queries begin with.
const SELECT: &[u8] = b"SELECT";
/// Digits that every 64-bit integer can hold.
const DIGITS_MAX: usize = 18;

/// A literal that a `?` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NormalizedLiteral {
    /// An integer without a sign.
    Integer(i64),
    /// A string of ASCII characters without escapes: where it is in the text, without its quotes.
    String(Range<usize>),
}

/// Normalizes texts; its buffer is used again.
#[derive(Debug, Default)]
pub struct Normalizer {
    statement: Vec<u8>,
    literals: Vec<NormalizedLiteral>,
}

impl Normalizer {
    /// The normalized statement of a text and the literals that belong into it, in order; `None` if the text is not normalized.
    pub fn normalize(&mut self, text: &[u8]) -> Option<(&[u8], &[NormalizedLiteral])> {
        self.statement.clear();
        self.literals.clear();
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at = match byte {
                b'0'..=b'9' => self.number(text, at)?,
                b'\'' => self.string(text, at)?,
                b'`' => self.copy_through(text, at, b'`')?,
                b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' => self.word(text, at),
                b'/' if text.get(at + 1) == Some(&b'*') => return None,
                b'-' if text.get(at + 1) == Some(&b'-') => return None,
                b'"' | b'\\' | b'#' | b'@' | b'?' | b';' | 0 | 0x80.. => return None,
                _ => self.copy(text, at..at + 1),
            };
        }
        // A text without literals is worth keeping if it is a query.
        let is_worth = !self.literals.is_empty() || is_query(text);
        is_worth.then_some((&self.statement, &self.literals))
    }

    fn copy(&mut self, text: &[u8], range: Range<usize>) -> usize {
        self.statement.extend_from_slice(&text[range.clone()]);
        range.end
    }

    fn word(&mut self, text: &[u8], start: usize) -> usize {
        let length = text[start..].iter().take_while(|byte| is_word(**byte)).count();
        self.copy(text, start..start + length)
    }

    fn copy_through(&mut self, text: &[u8], start: usize, quote: u8) -> Option<usize> {
        let length = memchr::memchr(quote, &text[start + 1..])?;
        Some(self.copy(text, start..start + length + 2))
    }

    /// A number; one with a point, an exponent or too many digits stays, with the word that it begins.
    fn number(&mut self, text: &[u8], start: usize) -> Option<usize> {
        let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = start + length;
        let after_point = start.checked_sub(1).is_some_and(|before| text[before] == b'.');
        let goes_on = text.get(end).is_some_and(|next| is_word(*next) || matches!(next, b'.' | b'@' | 0x80..));
        if after_point || goes_on || length > DIGITS_MAX {
            return Some(self.word_or_point(text, start));
        }
        if let Some(other) = compared_number(text, end) {
            return Some(self.copy(text, start..other));
        }
        let value = text[start..end].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        self.push(NormalizedLiteral::Integer(value))?;
        Some(end)
    }

    fn word_or_point(&mut self, text: &[u8], start: usize) -> usize {
        let length = text[start..].iter().take_while(|byte| is_word(**byte) || **byte == b'.').count();
        self.copy(text, start..start + length)
    }

    fn string(&mut self, text: &[u8], start: usize) -> Option<usize> {
        // `_latin1'a'`, `x'61'`, `DATE '…'`: the word before decides what the string is.
        if start.checked_sub(1).is_some_and(|before| is_word(text[before])) {
            return None;
        }
        let content = &text[start + 1..];
        let length = memchr::memchr(b'\'', content)?;
        if !content[..length].iter().all(|byte| matches!(byte, 1..=0x7f) && *byte != b'\\') {
            return None;
        }
        let end = start + length + 2;
        if text.get(end) == Some(&b'\'') {
            return None;
        }
        self.push(NormalizedLiteral::String(start + 1..end - 1))?;
        Some(end)
    }

    fn push(&mut self, literal: NormalizedLiteral) -> Option<()> {
        if self.literals.len() == LITERALS_MAX {
            return None;
        }
        self.literals.push(literal);
        self.statement.push(b'?');
        Some(())
    }
}

/// Where the number ends that the one before `at` is compared with, as in `1 = 1`. Such a pair stays in the text. Its value is
/// constant, so the plan depends on it (`WHERE 1 = 0`), and programs use the same pair in all their statements.
fn compared_number(text: &[u8], at: usize) -> Option<usize> {
    let skip = |from: usize, fits: fn(&u8) -> bool| from + text[from..].iter().take_while(|byte| fits(byte)).count();
    let equals = skip(at, u8::is_ascii_whitespace);
    let start = (text.get(equals) == Some(&b'=')).then(|| skip(equals + 1, u8::is_ascii_whitespace))?;
    let end = skip(start, u8::is_ascii_digit);
    let goes_on = text.get(end).is_some_and(|next| is_word(*next) || matches!(next, b'.' | b'@' | 0x80..));
    (start < end && !goes_on).then_some(end)
}

fn is_query(text: &[u8]) -> bool {
    text.trim_ascii_start().get(..SELECT.len()).is_some_and(|word| word.eq_ignore_ascii_case(SELECT))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(text: &str) -> Option<(String, Vec<String>)> {
        let mut normalizer = Normalizer::default();
        let (statement, literals) = normalizer.normalize(text.as_bytes())?;
        let literals = literals
            .iter()
            .map(|literal| match literal {
                NormalizedLiteral::Integer(number) => number.to_string(),
                NormalizedLiteral::String(range) => format!("'{}'", &text[range.clone()]),
            })
            .collect();
        Some((String::from_utf8(statement.to_vec()).expect("ASCII"), literals))
    }

    #[test]
    fn literals_become_question_marks() {
        let (text, literals) =
            normalized("SELECT c1 FROM `t 1` WHERE id=42 AND c = 'a b' LIMIT 1").expect("a statement");
        assert_eq!(text, "SELECT c1 FROM `t 1` WHERE id=? AND c = ? LIMIT ?");
        assert_eq!(literals, ["42", "'a b'", "1"]);
    }

    #[test]
    fn numbers_that_are_compared_with_each_other_stay() {
        let (text, literals) = normalized("SELECT a FROM t WHERE 1 = 1 AND 0=1 AND a = 1").expect("a statement");
        assert_eq!((text.as_str(), literals), ("SELECT a FROM t WHERE 1 = 1 AND 0=1 AND a = ?", vec!["1".to_string()]));
        let (text, _) = normalized("SELECT 1 = 1.5, 2 = b, 3 >= 3, 4 = 0x1").expect("a statement");
        assert_eq!(text, "SELECT ? = 1.5, ? = b, ? >= ?, ? = 0x1");
    }

    #[test]
    fn what_is_part_of_something_else_stays() {
        let (text, literals) = normalized("UPDATE t1 SET a=1.5, b=2e3, c=0x10, d=.5, e=t1.x+7").expect("a statement");
        assert_eq!(text, "UPDATE t1 SET a=1.5, b=2e3, c=0x10, d=.5, e=t1.x+?");
        assert_eq!(literals, ["7"]);
        assert_eq!(normalized("SELECT 1 FROM 2a").expect("a statement").0, "SELECT ? FROM 2a");
        let long = normalized("SELECT 1, 12345678901234567890").expect("a statement");
        assert_eq!(long.0, "SELECT ?, 12345678901234567890");
    }

    #[test]
    fn texts_that_are_not_plain_stay() {
        let texts = [
            "SELECT 'a''b' + 1",
            r"SELECT 'a\'b', 1",
            "SELECT 'unclosed, 1",
            "SELECT 1 /* hint */",
            "SELECT 1 -- end",
            "SELECT 1 # end",
            "SELECT @a + 1",
            "SELECT \"a\", 1",
            "SELECT 1; SELECT 2",
            "SELECT ? + 1",
            "SELECT 'ä', 1",
            "SELECT _latin1'a', 1",
            "SELECT x'61', 1",
            "SELECT `unclosed, 1",
            "DELETE FROM t",
        ];
        for text in texts {
            assert_eq!(normalized(text), None, "{text}");
        }
        assert_eq!(normalized(&format!("SELECT 1{}", " ".repeat(TEXT_BYTES_MAX))), None);
        assert_eq!(normalized(&format!("SELECT 1{}", ",1".repeat(LITERALS_MAX))), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_scanned(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            Normalizer::default().normalize(&text);
        }

        /// Putting the literals back gives the text again.
        #[test]
        fn nothing_is_lost(text in "[ a-z0-9'.,=`]{0,60}") {
            let mut normalizer = Normalizer::default();
            if let Some((statement, literals)) = normalizer.normalize(text.as_bytes()) {
                let mut literals = literals.iter();
                let mut back = String::new();
                for byte in statement {
                    match byte {
                        b'?' => match literals.next().expect("a literal for each") {
                            NormalizedLiteral::String(range) => back.push_str(&format!("'{}'", &text[range.clone()])),
                            NormalizedLiteral::Integer(number) => back.push_str(&number.to_string()),
                        },
                        other => back.push(char::from(*other)),
                    }
                }
                // Leading zeros are the one thing that a number does not keep.
                if !text.contains('0') {
                    proptest::prop_assert_eq!(back, text);
                }
            }
        }
    }
}
