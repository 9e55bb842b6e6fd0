//! Finds the parts of a statement's text that must not be logged: passwords, tokens, and credentials in addresses.
//!
//! It works on tokens, so it also serves texts with syntax errors. In doubt it hides a part. It also reads statements in strings, as
//! for PREPARE and EXECUTE, and the strings in those.

mod finder;
mod quoted;

use self::finder::Finder;
use crate::ParseOptions;
use crate::lexer::Lexer;
use crate::token::TokenKind;
use std::borrow::Cow;
use std::ops::Range;

/// What stands in the place of a secret.
pub const SECRET: &str = "<secret>";
/// Texts within texts are looked at so deep; what is deeper is hidden as a whole if it looks like a secret.
const DEPTH_MAX: u32 = 8;

/// The parts of a text that hold secrets, in order and apart from each other. A literal that is a secret is given with its
/// quotes; of a string that only holds one, the characters that do.
///
/// Costs one pass over the bytes if there is nothing that looks like a secret.
pub fn secrets(sql: &[u8], options: &ParseOptions) -> Vec<Range<usize>> {
    if !may_hold_secrets(sql) {
        return Vec::new();
    }
    search(sql, options, 0).found
}

/// What was found in a text.
struct Found {
    /// The secrets, in order.
    found: Vec<Range<usize>>,
    /// Whether it ends before a secret that it speaks of.
    is_open: bool,
    /// Whether it begins as a statement does.
    is_statement: bool,
}

fn search(sql: &[u8], options: &ParseOptions, depth: u32) -> Found {
    if u32::try_from(sql.len()).is_err() || depth > DEPTH_MAX {
        return Found { found: std::iter::once(0..sql.len()).collect(), is_open: true, is_statement: false };
    }
    let mut lexer = Lexer::new(sql, options);
    let mut finder = Finder::new(sql, options, depth);
    loop {
        let token = lexer.next();
        match token.kind {
            TokenKind::Eof => return finder.end(),
            // A string without end, or something unknown: what follows cannot be told apart.
            TokenKind::Invalid => return finder.end_within(token.start as usize),
            _ => finder.token(token),
        }
    }
}

/// A text for readers that do not know its `sql_mode`: without the secrets that it has in any mode.
pub fn without_secrets(sql: &str) -> Cow<'_, str> {
    if !may_hold_secrets(sql.as_bytes()) {
        return Cow::Borrowed(sql);
    }
    let modes = [(false, false), (false, true), (true, false), (true, true)];
    let of_mode = |(ansi_quotes, no_backslash_escapes)| {
        secrets(sql.as_bytes(), &ParseOptions { ansi_quotes, no_backslash_escapes, ..ParseOptions::default() })
    };
    let mut found: Vec<_> = modes.into_iter().flat_map(of_mode).collect();
    found.sort_by_key(|range| range.start);
    let (mut masked, mut at) = (Vec::with_capacity(sql.len()), 0);
    for secret in found {
        if secret.start >= at {
            masked.extend_from_slice(&sql.as_bytes()[at..secret.start]);
            masked.extend_from_slice(SECRET.as_bytes());
        }
        at = at.max(secret.end);
    }
    masked.extend_from_slice(&sql.as_bytes()[at..]);
    Cow::Owned(String::from_utf8_lossy(&masked).into_owned())
}

/// The message of an error of a statement without the statement's secrets: a syntax error quotes its text.
pub fn message_without_secrets<'m>(message: &'m str, sql: &[u8]) -> Cow<'m, str> {
    const NEAR: &str = " near '";
    if !may_hold_secrets(sql) {
        return Cow::Borrowed(message);
    }
    match (message.find(NEAR), message.rfind("' at line ")) {
        (Some(near), Some(end)) if near + NEAR.len() <= end => {
            Cow::Owned([&message[..near + NEAR.len()], SECRET, &message[end..]].concat())
        }
        _ => Cow::Borrowed(message),
    }
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
    (b"endpoint", 3),
];

/// The [`MARKS`] that each letter finds, a bit for each.
static MARKS_OF_LETTER: [u8; 256] = {
    assert!(MARKS.len() <= 8, "a mark has a bit of a byte");
    let mut table = [0; 256];
    let mut at = 0;
    while at < MARKS.len() {
        let letter = MARKS[at].0[MARKS[at].1];
        table[letter.to_ascii_lowercase() as usize] |= 1 << at;
        table[letter.to_ascii_uppercase() as usize] |= 1 << at;
        at += 1;
    }
    table
};

/// Bytes that are looked through at once.
const PIECE: usize = 32;

/// Whether there is anything that looks like a secret. Costs one pass over the bytes.
pub fn may_hold_secrets(text: &[u8]) -> bool {
    let is_mark = |at: usize, mut marks: u8| {
        while marks != 0 {
            let (word, letter) = MARKS[marks.trailing_zeros() as usize];
            if at.checked_sub(letter).is_some_and(|start| begins_with(&text[start..], word)) {
                return true;
            }
            marks &= marks - 1;
        }
        false
    };
    // Most pieces have no such letter: this is looked for with few instructions for a byte.
    text.chunks(PIECE).enumerate().any(|(number, piece)| {
        let marks_in = |piece: &[u8]| piece.iter().fold(0, |marks, byte| marks | MARKS_OF_LETTER[usize::from(*byte)]);
        marks_in(piece) != 0
            && piece.iter().enumerate().any(|(at, byte)| match MARKS_OF_LETTER[usize::from(*byte)] {
                0 => false,
                marks => is_mark(number * PIECE + at, marks),
            })
    })
}

/// Whether a statement has strings at all: secrets are strings, and most statements of applications have none. Faster than
/// [`may_hold_secrets`].
pub fn may_hold_strings(text: &[u8]) -> bool {
    // `0x…` and `0b…`; `x'…'` has a quote.
    let begins_number = |at: usize| matches!(text.get(at + 1), Some(b'x' | b'X' | b'b' | b'B'));
    memchr::memchr2(b'\'', b'"', text).is_some() || memchr::memchr_iter(b'0', text).any(begins_number)
}

fn begins_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// As [`holds`], of a word that something else may follow: a space, a comment, or the end of a string.
fn holds_word(text: &[u8], word: &[u8]) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'/' | b'#' | b'-' | b'\'' | b'"');
    let mut places = text.windows(word.len()).enumerate().filter(|(_, part)| part.eq_ignore_ascii_case(word));
    places.any(|(at, _)| text.get(at + word.len()).is_none_or(is_end))
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
        check(
            "CREATE HTTP ENDPOINT e URL 'https://h/' HEADER 'X-K: v' SECRET 's' 't' FOR 'u'@'h'",
            "CREATE HTTP ENDPOINT e URL 'https://h/' HEADER * SECRET * * FOR *@*",
        );
        check(
            "ALTER http /* */ endpoint e URL 'https://u:p@h/' HEADER 'X-K: v', x 'y",
            "ALTER http /* */ endpoint e URL 'https://*@h/' HEADER *, x *",
        );
        check("ALTER HTTP ENDPOINT e URL 'https://h/?key=1'", "ALTER HTTP ENDPOINT e URL *");
        check(
            "SELECT EXECUTE('ALTER HTTP ENDPOINT e HEADER ''X-K: v''')",
            "SELECT EXECUTE('ALTER HTTP ENDPOINT e HEADER *')",
        );
        check("SELECT 'x' FROM endpoint", "SELECT 'x' FROM endpoint");
        check("SET GLOBAL a_token = CONCAT('a', 'b'), b = 'c'", "SET GLOBAL a_token = CONCAT(*, *), b = 'c'");
        check("SET @`my password` := 'a' 'b', c = 'd'", "SET @`my password` := * *, c = 'd'");
        check("SELECT HTTP_GET('http://u:p@h/?q=a@b')", "SELECT HTTP_GET('http://*@h/?q=a@b')");
        check("SELECT f('{\"Authorization\": \"Bearer abc\"}')", "SELECT f(*)");
        check("SELECT 'a' FROM t -- http://u:p@h", "SELECT 'a' FROM t -- http://u:p@h");
    }

    #[test]
    fn statements_in_strings() {
        check(
            "PREPARE s FROM 'CREATE USER a IDENTIFIED BY ''x'' COMMENT ''c'''",
            "PREPARE s FROM 'CREATE USER a IDENTIFIED BY * COMMENT ''c'''",
        );
        check("SET @a = 'SET PASSWORD = ''x'''", "SET @a = 'SET PASSWORD = *'");
        check(
            "EXECUTE IMMEDIATE 'ALTER USER a IDENTIFIED BY \"x\"'",
            "EXECUTE IMMEDIATE 'ALTER USER a IDENTIFIED BY *'",
        );
        check(
            "SELECT EXECUTE('DO 1; CREATE USER a IDENTIFIED\\r\\nBY \\'x\\'; DO \\'y\\'', 'wait')",
            "SELECT EXECUTE('DO 1; CREATE USER a IDENTIFIED\\r\\nBY *; DO \\'y\\'', 'wait')",
        );
        check(
            "CALL async.queue(N'CREATE USER a IDENTIFIED BY ''x''')",
            "CALL async.queue(N'CREATE USER a IDENTIFIED BY *')",
        );
        // Texts within texts.
        check(
            "EXECUTE 'PREPARE s FROM ''CREATE USER a IDENTIFIED BY ''''x'''' '''",
            "EXECUTE 'PREPARE s FROM ''CREATE USER a IDENTIFIED BY * '''",
        );
        check("CALL f('SET PASSWORD = ''it''''s''')", "CALL f('SET PASSWORD = *')");
        // What is no statement is hidden as a whole.
        check("SELECT f('{\"password\": \"x\"}', 'y')", "SELECT f(*, 'y')");
    }

    #[test]
    fn statements_in_pieces() {
        check(
            "SET @a = CONCAT('CREATE USER a IDENTIFIED BY ', QUOTE('x')), @b = 'c'",
            "SET @a = CONCAT(*, QUOTE(*)), @b = 'c'",
        );
        check("DO EXECUTE(CONCAT('CREATE USER a IDENTIFIED', ' BY ''x'''))", "DO EXECUTE(CONCAT(*, *))");
        check(
            "DO CONCAT('CREATE USER a IDENTIFIED BY ''', 'x', '''')",
            "DO CONCAT('CREATE USER a IDENTIFIED BY *', *, *)",
        );
        check("DO EXECUTE('CREATE USER a IDENTIFIED BY ' '''x''')", "DO EXECUTE(* *)");
        check(
            "INSERT INTO t VALUES ('identified by a label', 'b'), ('c', 'd')",
            "INSERT INTO t VALUES (*, 'b'), ('c', 'd')",
        );
    }

    #[test]
    fn texts_within_texts_end() {
        let mut text = "CREATE USER a IDENTIFIED BY 'geheim'".to_string();
        for _ in 0..12 {
            text = format!("EXECUTE '{}'", text.replace('\'', "''"));
        }
        let found = secrets(text.as_bytes(), &ParseOptions::default());
        let place = text.find("geheim").expect("the password");
        assert!(found.iter().any(|range| range.contains(&place)));
    }

    #[test]
    fn whatever_the_mode() {
        let masked = without_secrets("SET @a = \"SET PASSWORD = 'x\\'; DO 'y'\"");
        assert!(!masked.contains('x'), "{masked}");
        assert_eq!(without_secrets("SELECT 'the password is lost'"), "SELECT 'the password is lost'");
        assert_eq!(
            without_secrets("CREATE USER a IDENTIFIED BY \"x\", b IDENTIFIED BY 'y'"),
            "CREATE USER a IDENTIFIED BY <secret>, b IDENTIFIED BY <secret>"
        );
    }

    #[test]
    fn messages_quote_no_secrets() {
        let message = "You have an error near 'BY 'geheim'' at line 1";
        let sql = b"CREATE USR a IDENTIFIED BY 'geheim'";
        assert_eq!(message_without_secrets(message, sql), "You have an error near '<secret>' at line 1");
        assert_eq!(message_without_secrets(message, b"SELECT 1"), message);
    }

    #[test]
    fn rows_about_passwords_are_no_secrets() {
        check("UPDATE users SET password = 'x' WHERE id = 1", "UPDATE users SET password = 'x' WHERE id = 1");
        check("SELECT 'the password is lost'", "SELECT 'the password is lost'");
        check("INSERT INTO t VALUES ('They were identified.')", "INSERT INTO t VALUES ('They were identified.')");
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
        for place in 0..100 {
            let text = [b"7".repeat(place), b"Identified by 'x'".to_vec()].concat();
            assert!(may_hold_secrets(&text), "at {place}");
        }
    }

    #[test]
    fn statements_without_strings_are_told_apart() {
        for text in ["SET PASSWORD = 'x'", "SELECT \"x\"", "CREATE USER a IDENTIFIED WITH p AS 0x12", "SELECT 0B1"] {
            assert!(may_hold_strings(text.as_bytes()), "{text}");
        }
        assert!(!may_hold_strings(b"SELECT xb FROM sbtest1 WHERE id = 50"));
    }

    #[test]
    fn question_marks() {
        let places = placeholders(b"SELECT ?, '?', `?` -- ?\n, ?", &ParseOptions::default());
        assert_eq!(places, [7, 26]);
    }
}
