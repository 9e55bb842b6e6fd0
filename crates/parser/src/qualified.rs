//! Columns that a text names behind certain tables.

use crate::ParseOptions;
use crate::lexer::Lexer;
use crate::token::{Token, TokenKind};
use std::borrow::Cow;

/// What the tokens before have been.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Other,
    /// A dot that belongs to none of the tables: a table behind it is another one, or a column.
    Dot,
    /// One of the tables.
    Table,
    /// One of them, and a dot.
    TableDot,
}

/// The names behind `table.` in a text, for each of some tables, in their order and as often as they stand there; `None` where that cannot be told.
pub fn qualified_by(sql: &str, options: &ParseOptions, tables: &[&str]) -> Option<Vec<String>> {
    u32::try_from(sql.len()).ok()?;
    let mut lexer = Lexer::new(sql.as_bytes(), options);
    let (mut names, mut before) = (Vec::new(), Before::Other);
    loop {
        let token = lexer.next();
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::FunctionName | TokenKind::QuotedIdent);
        before = match (token.kind, before) {
            (TokenKind::Eof, Before::TableDot) | (TokenKind::Invalid, _) => return None,
            (TokenKind::Eof, _) => return Some(names),
            (_, Before::TableDot) if is_name => {
                names.push(name(sql, token).into_owned());
                Before::Other
            }
            (_, Before::TableDot) => return None,
            (TokenKind::Dot, Before::Table) => Before::TableDot,
            (TokenKind::Dot, _) => Before::Dot,
            (_, Before::Dot) => Before::Other,
            _ if is_name && tables.iter().any(|table| table.eq_ignore_ascii_case(&name(sql, token))) => Before::Table,
            _ => Before::Other,
        };
    }
}

/// A name without its quotes.
fn name(sql: &str, token: Token) -> Cow<'_, str> {
    let text = sql.get(token.start as usize..token.end as usize).unwrap_or("");
    if token.kind != TokenKind::QuotedIdent {
        return Cow::Borrowed(text);
    }
    let quote = text.get(..1).unwrap_or("");
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
    Cow::Owned(inner.replace(&quote.repeat(2), quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_behind_tables() {
        let names = |sql| qualified_by(sql, &ParseOptions::default(), &["OLD", "NEW"]).map(|names| names.join(" "));
        assert_eq!(
            names("BEGIN SET NEW.a = old . `b``c` + /* OLD.x */ New.order; END").as_deref(),
            Some("a b`c order")
        );
        assert_eq!(names("SELECT 'NEW.a', t.new.a, new, `old`.d FROM newer.a").as_deref(), Some("d"));
        assert_eq!(names("SELECT NEW.*"), None);
        assert_eq!(names("SELECT NEW."), None);
        assert_eq!(names("SELECT NEW.a, 'b"), None);
    }
}
