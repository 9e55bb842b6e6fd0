//! The nodes of an XML text.
//!
//! The reader accepts the same texts as MySQL's: several elements side by side, attributes without quotes or value, no entities. Nodes
//! are a list in the order in which they begin, so any depth is possible.

use squall_accounting::GrowingCharge;
use squall_types::SqlResult;
use std::ops::Range;

/// Nodes between two charges of their memory.
const NODES_PER_CHARGE: usize = 1024;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The whole text.
    Root,
    /// An element.
    Element,
    /// An attribute; its value is a text below it.
    Attribute,
    /// Text.
    Text,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// The node that it is in; the root is in itself.
    pub parent: usize,
    /// The first node behind those that are in it.
    pub next: usize,
    /// Its name, or a text's characters.
    pub name: Range<usize>,
    /// All of it, marks included.
    pub whole: Range<usize>,
}

/// A text and its nodes.
#[derive(Debug)]
pub struct Document<'t> {
    /// The text.
    pub text: &'t str,
    /// Its nodes, the root first.
    pub nodes: Vec<Node>,
}

/// Why a text is no XML, in MySQL's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl<'t> Document<'t> {
    /// Reads a text. The memory of its nodes is added to a charge.
    pub fn parse(text: &'t str, charge: &mut GrowingCharge) -> SqlResult<Result<Document<'t>, Malformed>> {
        let root = Node { kind: Kind::Root, parent: 0, next: 0, name: 0..0, whole: 0..text.len() };
        let mut reader = Reader { text, at: 0, nodes: vec![root], current: 0, charged: 0, charge };
        Ok(match reader.read()? {
            Ok(()) => {
                let count = reader.nodes.len();
                reader.nodes[0].next = count;
                Ok(Document { text, nodes: reader.nodes })
            }
            Err(what) => Err(Malformed(format!("parse error at {}: {what}", reader.position()))),
        })
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> &'t str {
        &self.text[self.nodes[node].name.clone()]
    }

    /// The nodes right below a node.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[node].next;
        let first = Some(node + 1).filter(|first| *first < end);
        std::iter::successors(first, move |child| Some(self.nodes[*child].next).filter(|next| *next < end))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Less,
    Greater,
    Slash,
    Equals,
    Question,
    Exclamation,
    Comment,
    CharacterData,
    Ident,
    Quoted,
    Unknown,
    End,
}

impl Token {
    fn shown(self) -> &'static str {
        match self {
            Token::Less => "'<'",
            Token::Greater => "'>'",
            Token::Slash => "'/'",
            Token::Equals => "'='",
            Token::Question => "'?'",
            Token::Exclamation => "'!'",
            Token::Comment => "COMMENT",
            Token::CharacterData => "CDATA",
            Token::Ident => "IDENT",
            Token::Quoted => "STRING",
            Token::Unknown => "unknown token",
            Token::End => "END-OF-INPUT",
        }
    }
}

struct Reader<'t, 'c> {
    text: &'t str,
    at: usize,
    nodes: Vec<Node>,
    current: usize,
    charged: usize,
    charge: &'c mut GrowingCharge,
}

/// The error of a text, or of the statement that reads it.
type Read<T> = SqlResult<Result<T, String>>;

/// Hands over what is wrong with the text.
macro_rules! well_formed {
    ($read:expr) => {
        match $read {
            Ok(value) => value,
            Err(what) => return Ok(Err(what)),
        }
    };
}

impl Reader<'_, '_> {
    /// The line and the place in it, as MySQL counts them.
    fn position(&self) -> String {
        let before = &self.text.as_bytes()[..self.at];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).unwrap_or(0);
        format!("line {line} pos {}", self.at - start + 1)
    }

    fn read(&mut self) -> Read<()> {
        while self.at < self.text.len() {
            let start = self.at;
            if self.text.as_bytes()[start] != b'<' {
                let length = memchr::memchr(b'<', &self.text.as_bytes()[start..]);
                self.at = length.map_or(self.text.len(), |length| start + length);
                self.add_text(start..self.at, start..self.at)?;
                continue;
            }
            match self.scan() {
                (Token::Comment, _) => {}
                (Token::CharacterData, inner) => self.add_text(inner, start..self.at)?,
                _ => well_formed!(self.mark(start)?),
            }
        }
        Ok(if self.current == 0 { Ok(()) } else { Err("unexpected END-OF-INPUT".into()) })
    }

    /// What follows `<`: the mark of an element's beginning or end, or a declaration.
    fn mark(&mut self, start: usize) -> Read<()> {
        let (mut token, mut place) = self.scan();
        if token == Token::Slash {
            let (token, name) = self.scan();
            if token != Token::Ident {
                return Ok(Err(format!("{} unexpected (ident wanted)", token.shown())));
            }
            well_formed!(self.is_of_current(&name));
            let (token, _) = self.scan();
            if token != Token::Greater {
                return Ok(Err(format!("{} unexpected ('>' wanted)", token.shown())));
            }
            self.leave();
            return Ok(Ok(()));
        }
        let (is_declaration, is_instruction) = (token == Token::Exclamation, token == Token::Question);
        if is_declaration || is_instruction {
            (token, place) = self.scan();
        }
        if token != Token::Ident {
            return Ok(Err(format!("{} unexpected (ident or '/' wanted)", token.shown())));
        }
        self.enter(Kind::Element, place, start)?;
        token = well_formed!(self.attributes(is_declaration)?);
        let mut is_closed = is_declaration || is_instruction;
        if token == Token::Slash {
            is_closed = true;
            token = self.scan().0;
        }
        if is_instruction {
            if token != Token::Question {
                return Ok(Err(format!("{} unexpected ('?' wanted)", token.shown())));
            }
            token = self.scan().0;
        }
        if token != Token::Greater {
            return Ok(Err(format!("{} unexpected ('>' wanted)", token.shown())));
        }
        if is_closed {
            self.leave();
        }
        Ok(Ok(()))
    }

    /// What is in a mark behind its name, up to the token that is returned.
    fn attributes(&mut self, is_declaration: bool) -> Read<Token> {
        loop {
            let (token, name) = self.scan();
            match token {
                Token::Ident => {}
                Token::Quoted if is_declaration => continue,
                Token::Unknown if is_declaration && self.text.as_bytes().get(self.at) == Some(&b'[') => {
                    // What a document type declares is not looked at.
                    let length = memchr::memchr(b']', &self.text.as_bytes()[self.at..]);
                    self.at = length.map_or(self.text.len(), |length| self.at + length + 1);
                    continue;
                }
                other => return Ok(Ok(other)),
            }
            let start = name.start;
            self.enter(Kind::Attribute, name, start)?;
            let before = self.at;
            if self.scan().0 == Token::Equals {
                let quote = self.at;
                let (token, value) = self.scan();
                if !matches!(token, Token::Ident | Token::Quoted) {
                    return Ok(Err(format!("{} unexpected (ident or string wanted)", token.shown())));
                }
                self.add_text(value, quote..self.at)?;
            } else {
                self.at = before;
            }
            self.leave();
        }
    }

    /// Whether the mark of an end is that of the innermost open element.
    fn is_of_current(&self, name: &Range<usize>) -> Result<(), String> {
        let name = &self.text[name.clone()];
        if self.current == 0 {
            return Err(format!("'</{name}>' unexpected (END-OF-INPUT wanted)"));
        }
        let open = &self.text[self.nodes[self.current].name.clone()];
        if open == name { Ok(()) } else { Err(format!("'</{name}>' unexpected ('</{open}>' wanted)")) }
    }

    fn enter(&mut self, kind: Kind, name: Range<usize>, start: usize) -> SqlResult<()> {
        if self.nodes.len() >= self.charged {
            self.charge.grow(NODES_PER_CHARGE * size_of::<Node>())?;
            self.charged += NODES_PER_CHARGE;
        }
        let parent = self.current;
        self.current = self.nodes.len();
        self.nodes.push(Node { kind, parent, next: 0, name, whole: start..start });
        Ok(())
    }

    fn leave(&mut self) {
        let (next, end) = (self.nodes.len(), self.at);
        let node = &mut self.nodes[self.current];
        node.next = next;
        node.whole.end = end;
        self.current = node.parent;
    }

    fn add_text(&mut self, text: Range<usize>, whole: Range<usize>) -> SqlResult<()> {
        if !text.is_empty() {
            self.enter(Kind::Text, text, whole.start)?;
            self.leave();
        }
        Ok(())
    }

    /// The next token, and its place; of quoted text and CDATA, that of what is inside.
    fn scan(&mut self) -> (Token, Range<usize>) {
        let bytes = self.text.as_bytes();
        let blanks = bytes[self.at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        self.at += blanks;
        let start = self.at;
        let Some(first) = bytes.get(start) else { return (Token::End, start..start) };
        let rest = &bytes[start..];
        let ends = |mark: &[u8], from: usize| memchr::memmem::find(&rest[from..], mark).map(|at| start + from + at);
        if rest.starts_with(b"<!--") {
            self.at = ends(b"-->", 4).map_or(bytes.len(), |at| at + 3);
            return (Token::Comment, start..self.at);
        }
        if rest.starts_with(b"<![CDATA[") {
            let end = ends(b"]]>", 9);
            self.at = end.map_or(bytes.len(), |at| at + 3);
            return (Token::CharacterData, start + 9..end.unwrap_or(bytes.len()));
        }
        let mark = match first {
            b'<' => Some(Token::Less),
            b'>' => Some(Token::Greater),
            b'/' => Some(Token::Slash),
            b'=' => Some(Token::Equals),
            b'?' => Some(Token::Question),
            b'!' => Some(Token::Exclamation),
            _ => None,
        };
        if let Some(token) = mark {
            self.at += 1;
            return (token, start..self.at);
        }
        if let quote @ (b'"' | b'\'') = first {
            let end = memchr::memchr(*quote, &rest[1..]).map(|at| start + 1 + at);
            self.at = end.map_or(bytes.len(), |at| at + 1);
            return (Token::Quoted, start + 1..end.unwrap_or(bytes.len()));
        }
        let is_start = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || !byte.is_ascii();
        if !is_start(first) {
            return (Token::Unknown, start..start);
        }
        let is_part = |byte: &u8| is_start(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        self.at += rest.iter().take_while(|byte| is_part(byte)).count();
        (Token::Ident, start..self.at)
    }
}
