//! The parts of a statement's text that must not be logged: passwords, tokens, and credentials inside of addresses.
//!
//! Works on tokens, so it also serves text that no grammar accepts. It hides everything that it is unsure of.

use std::ops::Range;

use crate::ParseOptions;
use crate::keyword::Keyword as K;
use crate::lexer::Lexer;
use crate::token::{Token, TokenKind};

/// The parts of a text that hold secrets, in order and apart from each other. A literal that is a secret is given with its
/// quotes; of a string that only holds one, the characters that do.
///
/// Costs one pass over the bytes if there is nothing that looks like a secret.
pub fn secrets(sql: &[u8], options: &ParseOptions) -> Vec<Range<usize>> {
    if !may_hold_secrets(sql) {
        return Vec::new();
    }
    if u32::try_from(sql.len()).is_err() {
        return std::iter::once(0..sql.len()).collect();
    }
    let mut lexer = Lexer::new(sql, options);
    let mut finder = Finder::new(sql);
    loop {
        let token = lexer.next();
        match token.kind {
            TokenKind::Eof => break,
            TokenKind::Invalid => {
                // A string without end, or something unknown: what follows cannot be told apart.
                if may_hold_secrets(&sql[token.start as usize..]) || finder.expects_secret() {
                    finder.found.push(token.start as usize..sql.len());
                }
                break;
            }
            _ => finder.token(token),
        }
    }
    finder.found
}

/// Where the `?` of a statement stand.
pub fn placeholders(sql: &[u8], options: &ParseOptions) -> Vec<usize> {
    let mut places = Vec::new();
    if u32::try_from(sql.len()).is_err() {
        return places;
    }
    let mut lexer = Lexer::new(sql, options);
    loop {
        let token = lexer.next();
        match token.kind {
            TokenKind::Eof | TokenKind::Invalid => return places,
            TokenKind::Placeholder => places.push(token.start as usize),
            _ => {}
        }
    }
}

/// The words that every secret stands beside, each with the place of its rarest letter.
const MARKS: &[(&[u8], usize)] = &[
    (b"identified", 6),
    (b"passw", 4),
    (b"secret", 2),
    (b"token", 2),
    (b"authorization", 7),
    (b"api_key", 4),
    (b"://", 0),
];

/// The letters that [`MARKS`] are found by.
static MARK_LETTERS: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < MARKS.len() {
        let letter = MARKS[at].0[MARKS[at].1];
        table[letter as usize] = true;
        table[letter.to_ascii_uppercase() as usize] = true;
        at += 1;
    }
    table
};

/// Whether any of [`MARKS`] is there.
fn may_hold_secrets(text: &[u8]) -> bool {
    let is_mark = |at: usize| {
        MARKS
            .iter()
            .any(|(word, letter)| at.checked_sub(*letter).is_some_and(|start| begins_with(&text[start..], word)))
    };
    text.iter().enumerate().any(|(at, byte)| MARK_LETTERS[usize::from(*byte)] && is_mark(at))
}

fn begins_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// The part between a word and the string that follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Assignment,
    Paren,
}

struct Finder<'a> {
    sql: &'a [u8],
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
    /// The value of something secret is being read: up to the next comma outside of parentheses.
    assigning: bool,
    depth: u32,
    /// The word before, and what came after it.
    word: Option<(Token, Between)>,
    /// The token before was `=` or `:=`.
    after_assignment: bool,
    /// The token before was a secret string; strings side by side are one.
    after_secret: bool,
}

impl<'a> Finder<'a> {
    fn new(sql: &'a [u8]) -> Self {
        Finder {
            sql,
            found: Vec::new(),
            words: 0,
            is_data: false,
            sets_password: false,
            holds_statement: false,
            identified: false,
            assigning: false,
            depth: 0,
            word: None,
            after_assignment: false,
            after_secret: false,
        }
    }

    fn text(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    fn token(&mut self, token: Token) {
        let (after_assignment, after_secret) = (self.after_assignment, self.after_secret);
        (self.after_assignment, self.after_secret) = (false, false);
        match token.kind {
            TokenKind::Semicolon => *self = Finder { found: std::mem::take(&mut self.found), ..Finder::new(self.sql) },
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
                let secret = self.is_secret_here(after_assignment) || after_secret;
                self.word = None;
                if secret {
                    self.after_secret = true;
                    self.found.push(token.start as usize..token.end as usize);
                } else {
                    self.inside(token);
                }
            }
            TokenKind::LeftParen => {
                self.depth += 1;
                match &mut self.word {
                    Some((_, between @ Between::Nothing)) => *between = Between::Paren,
                    _ => self.word = None,
                }
            }
            TokenKind::RightParen => {
                self.depth = self.depth.saturating_sub(1);
                self.word = None;
            }
            TokenKind::Comma => {
                self.assigning &= self.depth > 0;
                self.word = None;
            }
            _ => self.word = None,
        }
    }

    fn word(&mut self, token: Token) {
        if self.holds_statement && self.depth == 0 && token.keyword == K::For {
            *self = Finder { found: std::mem::take(&mut self.found), ..Finder::new(self.sql) };
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
        self.word = Some((token, Between::Nothing));
    }

    fn expects_secret(&self) -> bool {
        self.is_secret_here(self.after_assignment) || self.after_secret
    }

    /// Whether a string at this place is a secret.
    fn is_secret_here(&self, after_assignment: bool) -> bool {
        if self.assigning {
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
        let whole = token.start as usize..token.end as usize;
        let statement = holds(text, b"identified ")
            || holds(text, b"identified\t")
            || holds(text, b"identified\n")
            || (holds(text, b"passw") || holds(text, b"token") || holds(text, b"secret") || holds(text, b"api_key"))
                && text[1..text.len().saturating_sub(1).max(1)].iter().any(|byte| matches!(byte, b'\'' | b'"' | b'='));
        let header = holds(text, b"authorization") && (holds(text, b"bearer") || holds(text, b"basic"));
        if statement || header {
            self.found.push(whole);
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
                self.found.push(whole.start + start..whole.start + start + end);
            }
            at = start + length;
        }
    }
}

/// Names of variables and options whose values are secrets.
fn is_secret_name(name: &[u8]) -> bool {
    let name = name.strip_suffix(b"`").or_else(|| name.strip_suffix(b"\"")).unwrap_or(name);
    let ends = |word: &[u8]| name.len() >= word.len() && name[name.len() - word.len()..].eq_ignore_ascii_case(word);
    [&b"password"[..], b"passwd", b"secret", b"token", b"api_key"].into_iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let mut masked = String::new();
        let mut at = 0;
        for range in secrets(sql.as_bytes(), &ParseOptions::default()) {
            masked.push_str(&sql[at..range.start]);
            masked.push('*');
            at = range.end;
        }
        masked.push_str(&sql[at..]);
        assert_eq!(masked, expected);
    }

    #[test]
    fn passwords_of_accounts() {
        check(
            "CREATE USER a@'%' IDENTIFIED BY 'x', b IDENTIFIED BY \"y\"",
            "CREATE USER a@'%' IDENTIFIED BY *, b IDENTIFIED BY *",
        );
        check(
            "alter user a identified with 'p' by 'x' replace 'o' comment 'c'",
            "alter user a identified with 'p' by * replace * comment 'c'",
        );
        check("CREATE USER a IDENTIFIED WITH p AS 0x1234", "CREATE USER a IDENTIFIED WITH p AS *");
        check("GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD '*A'", "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD *");
        check("SET PASSWORD FOR 'a'@'h' = 'x'", "SET PASSWORD FOR 'a'@'h' = *");
        check("SET PASSWORD = PASSWORD('x')", "SET PASSWORD = PASSWORD(*)");
        check("SET STATEMENT a = 'b' FOR SET PASSWORD FOR u = 'x'", "SET STATEMENT a = 'b' FOR SET PASSWORD FOR u = *");
        check("SET PASSWORD='x' REPLACE 'y'", "SET PASSWORD=* REPLACE *");
        check(
            "/* c */ create /*!50000 user a identified by 'x' */",
            "/* c */ create /*!50000 user a identified by * */",
        );
    }

    #[test]
    fn other_credentials() {
        check(
            "CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = 'x', SOURCE_PORT=1",
            "CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = *, SOURCE_PORT=1",
        );
        check("START REPLICA USER='u' PASSWORD='x'", "START REPLICA USER='u' PASSWORD=*");
        check("CREATE SERVER s OPTIONS (USER 'u', PASSWORD 'x')", "CREATE SERVER s OPTIONS (USER 'u', PASSWORD *)");
        check("SET GLOBAL a_token = CONCAT('a', 'b'), b = 'c'", "SET GLOBAL a_token = CONCAT(*, *), b = 'c'");
        check("SET @`my password` := 'a' 'b', c = 'd'", "SET @`my password` := * *, c = 'd'");
        check("SELECT HTTP_GET('http://u:p@h/?q=a@b')", "SELECT HTTP_GET('http://*@h/?q=a@b')");
        check("SELECT f('{\"Authorization\": \"Bearer abc\"}')", "SELECT f(*)");
        check("SELECT 'a' FROM t -- http://u:p@h", "SELECT 'a' FROM t -- http://u:p@h");
    }

    #[test]
    fn statements_in_strings() {
        check("PREPARE s FROM 'CREATE USER a IDENTIFIED BY ''x'''", "PREPARE s FROM *");
        check("SET @a = 'SET PASSWORD = ''x'''", "SET @a = *");
        check("EXECUTE IMMEDIATE 'ALTER USER a IDENTIFIED BY \"x\"'", "EXECUTE IMMEDIATE *");
    }

    #[test]
    fn rows_about_passwords_are_no_secrets() {
        check("UPDATE users SET password = 'x' WHERE id = 1", "UPDATE users SET password = 'x' WHERE id = 1");
        check("SELECT 'the password is lost'", "SELECT 'the password is lost'");
        check(
            "SET old_passwords = 0, validate_password.length = '8'",
            "SET old_passwords = 0, validate_password.length = '8'",
        );
    }

    #[test]
    fn what_does_not_end_is_hidden() {
        check("CREATE USER a IDENTIFIED BY 'x", "CREATE USER a IDENTIFIED BY *");
        check(
            "SELECT 1; CREATE USER a IDENTIFIED BY 'x'; SELECT 'x'",
            "SELECT 1; CREATE USER a IDENTIFIED BY *; SELECT 'x'",
        );
        check("SELECT 'abc", "SELECT 'abc");
    }

    #[test]
    fn every_mark_is_found_wherever_it_is() {
        for (word, _) in MARKS {
            for text in [word.to_vec(), word.to_ascii_uppercase(), [b"a ", *word, b" b"].concat()] {
                assert!(may_hold_secrets(&text), "{}", String::from_utf8_lossy(&text));
                assert!(!may_hold_secrets(&text[..word.len() - 1]) || text.starts_with(b"a "));
            }
        }
        assert!(!may_hold_secrets(b"SELECT c FROM sbtest1 WHERE id = 5"));
    }

    #[test]
    fn question_marks() {
        let places = placeholders(b"SELECT ?, '?', `?` -- ?\n, ?", &ParseOptions::default());
        assert_eq!(places, [7, 26]);
    }
}
