//! The grammar of boolean searches: InnoDB's for words, and a more lenient one for lines of documents.

use super::Parser;
use super::clause::{Clause, Operator, What, phrase, pieces_of};
use squall_types::{ErrorCode, SqlError, SqlResult, ngrams, words};

/// Groups inside of groups that InnoDB takes.
const DEPTH_MAX: usize = 32;
/// Groups inside of groups of a search for lines; what is in more is left out.
const LINES_DEPTH_MAX: usize = 16;

/// Takes a search for words apart.
pub(super) fn words(text: &str, parser: Parser) -> SqlResult<Vec<Clause>> {
    let mut reader = Reader { lexer: Lexer { rest: text }, parser };
    // The groups that are open, the innermost last: their operators and clauses. A loop, so that no depth is too much for it.
    let mut open: Vec<(Operator, Vec<Clause>)> = Vec::new();
    let mut clauses = Vec::new();
    let mut deepest = 0;
    loop {
        let token = reader.lexer.next();
        let (operator, token) = match token {
            Token::Operator(operator) => (operator, reader.lexer.next()),
            token => (Operator::Optional, token),
        };
        let is_prefixed = operator != Operator::Optional;
        match token {
            Token::Open => {
                open.push((operator, std::mem::take(&mut clauses)));
                deepest = deepest.max(open.len());
            }
            Token::Term(_) | Token::Number(_) | Token::Star => reader.term(token, operator, &mut clauses)?,
            Token::Text(quoted) => reader.text(quoted, operator, &mut clauses)?,
            Token::Close if !is_prefixed && !open.is_empty() => {
                let Some((operator, outer)) = open.pop() else { continue };
                let group = std::mem::replace(&mut clauses, outer);
                // Of what is too deep nothing is kept: a tree of any depth could not even be dropped.
                if !group.is_empty() && open.len() < DEPTH_MAX {
                    clauses.push(Clause { operator, what: What::Group(group) });
                }
            }
            Token::End if !is_prefixed && open.is_empty() => break,
            token if is_prefixed || !open.is_empty() => return Err(unexpected(&token, "")),
            token => return Err(unexpected(&token, ", expecting $end")),
        }
    }
    if deepest > DEPTH_MAX {
        return Err(SqlError::new(ErrorCode::FulltextTooDeep, &[]));
    }
    Ok(clauses)
}

fn unexpected(token: &Token<'_>, expected: &str) -> SqlError {
    let found = match token {
        Token::End => "$end",
        Token::Term(_) => "FTS_TERM",
        Token::Number(_) => "FTS_NUMB",
        Token::Text(_) => "FTS_TEXT",
        Token::Open => "'('",
        Token::Close => "')'",
        Token::Star => "'*'",
        Token::At => "'@'",
        Token::Operator(Operator::Required) => "'+'",
        Token::Operator(Operator::Excluded) => "'-'",
        Token::Operator(Operator::Raised) => "'>'",
        Token::Operator(Operator::Lowered) => "'<'",
        Token::Operator(_) => "'~'",
    };
    SqlError::with_message(ErrorCode::Parse, format!("syntax error, unexpected {found}{expected}"))
}

/// The tokens of InnoDB's grammar.
enum Token<'a> {
    Operator(Operator),
    Open,
    Close,
    Star,
    At,
    Number(&'a str),
    Term(&'a str),
    /// What stands between quotes.
    Text(&'a str),
    End,
}

struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Token<'a> {
        loop {
            let Some(first) = self.rest.chars().next() else { return Token::End };
            if !is_of_term(first) {
                let behind = &self.rest[first.len_utf8()..];
                self.rest = behind;
                return match first {
                    '+' => Token::Operator(Operator::Required),
                    '-' => Token::Operator(Operator::Excluded),
                    '>' => Token::Operator(Operator::Raised),
                    '<' => Token::Operator(Operator::Lowered),
                    '~' => Token::Operator(Operator::Negated),
                    '(' => Token::Open,
                    ')' => Token::Close,
                    '*' => Token::Star,
                    '@' => Token::At,
                    '"' => match behind.split_once('"').filter(|(quoted, _)| !quoted.contains('\n')) {
                        Some((quoted, behind)) => {
                            self.rest = behind;
                            Token::Text(quoted)
                        }
                        // A quote without another is nothing.
                        None => continue,
                    },
                    _ => continue,
                };
            }
            let end = self.rest.find(|character| !is_of_term(character)).unwrap_or(self.rest.len());
            let (term, behind) = self.rest.split_at(end);
            self.rest = behind;
            let is_number = term.bytes().all(|byte| byte.is_ascii_digit());
            return if is_number { Token::Number(term) } else { Token::Term(term) };
        }
    }

    fn takes(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t', '\n']).strip_prefix(wanted);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }
}

/// Whether a character is a part of terms; they are taken apart into words later.
fn is_of_term(character: char) -> bool {
    !character.is_whitespace() && !matches!(character, '+' | '-' | '>' | '<' | '~' | '(' | ')' | '*' | '@' | '"' | '%')
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    parser: Parser,
}

impl<'a> Reader<'a> {
    /// A term, with stars before or behind it.
    fn term(&mut self, mut token: Token<'a>, operator: Operator, clauses: &mut Vec<Clause>) -> SqlResult<()> {
        let term = loop {
            match token {
                Token::Term(term) | Token::Number(term) => break term,
                Token::Star => token = self.lexer.next(),
                token => return Err(unexpected(&token, ", expecting FTS_TERM or FTS_NUMB or '*'")),
            }
        };
        let is_prefix = self.lexer.takes('*');
        match self.parser {
            Parser::Words(collation) => {
                // Words that are too long are left out. Words that are too short are left out too, unless they come first: such a
                // word finds nothing.
                let length = |run: &str| run.chars().count();
                let counts = |(at, run): &(usize, &str)| {
                    length(run) <= words::LENGTH_MAX && (*at == 0 || length(run) >= words::LENGTH_MIN)
                };
                let runs: Vec<&str> =
                    words::runs(term, collation).enumerate().filter(counts).map(|(_, run)| run).collect();
                for (at, run) in runs.iter().enumerate() {
                    let ends = is_prefix && at + 1 == runs.len();
                    let what = if ends { What::Prefix(run.to_string()) } else { What::Word(run.to_string()) };
                    clauses.push(Clause { operator, what });
                }
            }
            // What stands behind a piece is not looked at.
            _ if is_prefix && term.chars().count() < ngrams::SIZE => {
                clauses.push(Clause { operator, what: What::Prefix(term.to_string()) });
            }
            _ => clauses.extend(pieces_of(term).map(|what| Clause { operator, what })),
        }
        Ok(())
    }

    /// What stands between quotes, with a distance behind it or not.
    fn text(&mut self, quoted: &str, operator: Operator, clauses: &mut Vec<Clause>) -> SqlResult<()> {
        let mut within = None;
        if self.lexer.takes('@') {
            within = match self.lexer.next() {
                Token::Number(digits) => Some(digits.parse().unwrap_or(usize::MAX)),
                token => return Err(unexpected(&token, ", expecting FTS_NUMB")),
            };
        }
        let what = match self.parser {
            Parser::Words(collation) => phrase(quoted, collation, within),
            _ => pieces_of(quoted),
        };
        clauses.extend(what.map(|what| Clause { operator, what }));
        Ok(())
    }
}

/// Takes a search for lines of documents apart. Every text is one.
pub(super) fn lines(text: &str) -> Vec<Clause> {
    LineReader { rest: text }.clauses(0)
}

struct LineReader<'a> {
    rest: &'a str,
}

impl LineReader<'_> {
    fn clauses(&mut self, depth: usize) -> Vec<Clause> {
        let mut clauses = Vec::new();
        loop {
            let mut operator = Operator::Optional;
            while let Some(character) = self.rest.chars().next() {
                match character {
                    '+' => operator = Operator::Required,
                    '-' => operator = Operator::Excluded,
                    '>' => operator = Operator::Raised,
                    '<' => operator = Operator::Lowered,
                    '~' => operator = Operator::Negated,
                    ')' if depth > 0 => {
                        self.rest = &self.rest[1..];
                        return clauses;
                    }
                    _ if character.is_whitespace() => operator = Operator::Optional,
                    '@' | '*' | ')' => {}
                    _ => break,
                }
                self.rest = &self.rest[character.len_utf8()..];
            }
            if self.rest.is_empty() {
                return clauses;
            }
            if let Some(rest) = self.rest.strip_prefix('(') {
                self.rest = rest;
                let inner = if depth < LINES_DEPTH_MAX { self.clauses(depth + 1) } else { Vec::new() };
                clauses.push(Clause { operator, what: What::Group(inner) });
            } else if let Some(rest) = self.rest.strip_prefix('"') {
                let (line, rest) = rest.split_once('"').unwrap_or((rest, ""));
                self.rest = rest;
                clauses.push(Clause { operator, what: What::Phrase(vec![line.to_string()]) });
            } else {
                clauses.push(Clause { operator, what: self.line() });
            }
        }
    }

    /// A line up to a blank or an operator that ends one.
    fn line(&mut self) -> What {
        let ends = |character: char| character.is_whitespace() || matches!(character, '(' | ')' | '"' | '*');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        match rest.strip_prefix('*') {
            Some(behind) => {
                self.rest = behind;
                What::Prefix(line.to_string())
            }
            None => {
                self.rest = rest;
                What::Word(line.to_string())
            }
        }
    }
}
