//! Splits a script into statements.
//!
//! It understands only quotes, comments and the delimiter, which decide where a statement ends. Commands of the shell itself (`source`,
//! `delimiter` …) are recognized at the beginning of a statement.

/// What a piece of a script is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A statement without its delimiter.
    Statement {
        /// Its text.
        sql: String,
        /// Whether `\G` ended it.
        vertical: bool,
        /// The line where it begins, from 1.
        line: usize,
    },
    /// A line for the shell: a word, and the rest of the line.
    Command {
        /// In lower case, or a backslash and a letter.
        name: String,
        /// What follows it.
        argument: String,
    },
    /// The statement was thrown away by `\c`.
    Cleared,
}

/// Words that are for the shell when they begin a line and no statement is open.
const COMMANDS: &[&str] = &["clear", "delimiter", "exit", "help", "quit", "source", "status", "use", "?"];
/// Letters that are for the shell behind a backslash.
const LETTERS: &[char] = &['?', '.', 'd', 'h', 'q', 's', 'u'];

/// What the end of the last line is inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Inside {
    /// No quotes and no comment.
    #[default]
    Nothing,
    /// A string or a quoted name, ended by this character.
    Quotes(char),
    /// `/* … */`.
    Comment,
}

/// Takes lines, gives pieces.
#[derive(Debug)]
pub(crate) struct Splitter {
    delimiter: String,
    statement: String,
    statement_line: usize,
    line: usize,
    inside: Inside,
    /// Whether the open statement has anything but comments and spaces.
    has_code: bool,
}

impl Default for Splitter {
    fn default() -> Self {
        Self {
            delimiter: ";".to_owned(),
            statement: String::new(),
            statement_line: 1,
            line: 0,
            inside: Inside::Nothing,
            has_code: false,
        }
    }
}

impl Splitter {
    /// What ends a statement.
    pub(crate) fn set_delimiter(&mut self, delimiter: &str) {
        delimiter.clone_into(&mut self.delimiter);
    }

    /// What ends a statement.
    pub(crate) fn delimiter(&self) -> &str {
        &self.delimiter
    }

    /// What the last line ended inside of.
    pub(crate) fn inside(&self) -> Inside {
        self.inside
    }

    /// Whether a statement has begun and not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.has_code || self.inside != Inside::Nothing
    }

    /// Forgets the open statement.
    pub(crate) fn clear(&mut self) {
        self.statement.clear();
        self.inside = Inside::Nothing;
        self.has_code = false;
    }

    /// The open statement, at the end of a script whose last statement has no delimiter.
    pub(crate) fn finish(&mut self) -> Option<Piece> {
        let piece = self.has_code.then(|| self.statement_piece(false));
        self.clear();
        piece
    }

    /// Takes a line without its line break.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Piece> {
        self.line += 1;
        let mut pieces = Vec::new();
        if !self.is_open()
            && let Some(command) = command(line)
        {
            self.clear();
            pieces.push(command);
            return pieces;
        }
        let mut rest = line;
        while let Some(character) = rest.chars().next() {
            let consumed = match self.inside {
                Inside::Comment => self.in_comment(rest),
                Inside::Quotes(quote) => self.in_quotes(rest, quote),
                Inside::Nothing => {
                    if rest.starts_with(&self.delimiter) {
                        if self.has_code {
                            pieces.push(self.statement_piece(false));
                        }
                        self.clear();
                        rest = &rest[self.delimiter.len()..];
                        continue;
                    }
                    if character == '\\'
                        && let Some(letter) = rest[1..].chars().next()
                        && self.backslash(letter, &rest[1 + letter.len_utf8()..], &mut pieces)
                    {
                        if matches!(letter, 'g' | 'G' | 'c') {
                            rest = &rest[1 + letter.len_utf8()..];
                            continue;
                        }
                        return pieces;
                    }
                    self.outside(rest, character)
                }
            };
            self.push(&rest[..consumed]);
            rest = &rest[consumed..];
        }
        if !self.statement.is_empty() || self.is_open() {
            self.statement.push('\n');
        }
        pieces
    }

    fn push(&mut self, text: &str) {
        if self.statement.is_empty() {
            self.statement_line = self.line;
        }
        self.statement.push_str(text);
    }

    fn statement_piece(&mut self, vertical: bool) -> Piece {
        let sql = std::mem::take(&mut self.statement).trim().to_owned();
        Piece::Statement { sql, vertical, line: self.statement_line }
    }

    /// Takes `\g`, `\G`, `\c` and commands by letter; says whether it was one.
    fn backslash(&mut self, letter: char, rest: &str, pieces: &mut Vec<Piece>) -> bool {
        match letter {
            'g' | 'G' => {
                if self.has_code {
                    pieces.push(self.statement_piece(letter == 'G'));
                }
                self.clear();
            }
            'c' => {
                self.clear();
                pieces.push(Piece::Cleared);
            }
            letter if LETTERS.contains(&letter) && !self.has_code => {
                self.clear();
                let argument = rest.trim().trim_end_matches(';').trim().to_owned();
                pieces.push(Piece::Command { name: format!("\\{letter}"), argument });
            }
            _ => return false,
        }
        true
    }

    /// How many bytes to take outside of quotes and comments.
    fn outside(&mut self, rest: &str, character: char) -> usize {
        match character {
            '\'' | '"' | '`' => {
                self.inside = Inside::Quotes(character);
                self.has_code = true;
            }
            '#' => return rest.len(),
            '-' if rest.starts_with("--") && rest[2..].chars().next().is_none_or(char::is_whitespace) => {
                return rest.len();
            }
            '/' if rest.starts_with("/*") => {
                self.inside = Inside::Comment;
                // A versioned comment and a hint are code.
                self.has_code |= rest.starts_with("/*!") || rest.starts_with("/*+");
                return 2;
            }
            character if character.is_whitespace() => {}
            _ => self.has_code = true,
        }
        character.len_utf8()
    }

    fn in_comment(&mut self, rest: &str) -> usize {
        match rest.find("*/") {
            Some(end) => {
                self.inside = Inside::Nothing;
                end + 2
            }
            None => rest.len(),
        }
    }

    fn in_quotes(&mut self, rest: &str, quote: char) -> usize {
        let mut characters = rest.char_indices();
        while let Some((offset, character)) = characters.next() {
            if character == '\\' && quote != '`' {
                characters.next();
            } else if character == quote {
                // A doubled quote closes and opens again, which comes to the same.
                self.inside = Inside::Nothing;
                return offset + character.len_utf8();
            }
        }
        rest.len()
    }
}

/// A line that is for the shell.
fn command(line: &str) -> Option<Piece> {
    let line = line.trim();
    let end = line.find(|character: char| character.is_whitespace() || character == ';').unwrap_or(line.len());
    let name = line[..end].to_ascii_lowercase();
    if !COMMANDS.contains(&name.as_str()) {
        return None;
    }
    let argument = line[end..].trim();
    // The delimiter may be anything, also a semicolon.
    let argument = if name == "delimiter" { argument } else { argument.trim_end_matches(';').trim_end() };
    Some(Piece::Command { name, argument: argument.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(script: &str) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut found: Vec<Piece> = Vec::new();
        for line in script.lines() {
            for piece in splitter.line(line) {
                if let Piece::Command { name, argument } = &piece
                    && name == "delimiter"
                {
                    splitter.set_delimiter(argument);
                }
                found.push(piece);
            }
        }
        found.extend(splitter.finish());
        found
            .into_iter()
            .map(|piece| match piece {
                Piece::Statement { sql, vertical: false, line } => format!("{line}: {sql}"),
                Piece::Statement { sql, vertical: true, line } => format!("{line}G {sql}"),
                Piece::Command { name, argument } => format!("[{name} {argument}]"),
                Piece::Cleared => "[cleared]".to_owned(),
            })
            .collect()
    }

    fn check(script: &str, expected: &[&str]) {
        assert_eq!(split(script), expected);
    }

    #[test]
    fn statements_end_at_the_delimiter() {
        check("select 1; select 2;\nselect\n 3", &["1: select 1", "1: select 2", "2: select\n 3"]);
        check(";;", &[]);
    }

    #[test]
    fn quotes_and_comments_hide_the_delimiter() {
        check("select ';', \"a\\\";\", `;`; x", &["1: select ';', \"a\\\";\", `;`", "1: x"]);
        check("select 'it''s;'; y", &["1: select 'it''s;'", "1: y"]);
        check("select 1 -- ; no\n;", &["1: select 1 -- ; no"]);
        check("select 1 # ; no\n;", &["1: select 1 # ; no"]);
        check("select /* ; \n ; */ 2;", &["1: select /* ; \n ; */ 2"]);
        check("select 5--1;", &["1: select 5--1"]);
        check("select 'two\nlines;';", &["1: select 'two\nlines;'"]);
    }

    #[test]
    fn comments_alone_are_no_statement_unless_versioned() {
        check("-- nothing\n/* nothing */;\n# nothing", &[]);
        check("/*!40101 SET NAMES utf8 */;", &["1: /*!40101 SET NAMES utf8 */"]);
    }

    #[test]
    fn commands_are_recognised_at_the_start_only() {
        check("use shop\nUSE `x`;\nselect 1,\nuse", &["[use shop]", "[use `x`]", "3: select 1,\nuse"]);
        check(
            "delimiter //\nselect 1; select 2//\ndelimiter ;\nselect 3;",
            &["[delimiter //]", "2: select 1; select 2", "[delimiter ;]", "4: select 3"],
        );
        check("source a b.sql;\n\\. c.sql", &["[source a b.sql]", "[\\. c.sql]"]);
        check("use_me();", &["1: use_me()"]);
    }

    #[test]
    fn backslash_letters_end_statements() {
        check("select 1\\G select 2\\g", &["1G select 1", "1: select 2"]);
        check("select 1\\c", &["[cleared]"]);
        check("select 'a\\G';", &["1: select 'a\\G'"]);
    }
}
