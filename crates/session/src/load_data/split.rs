//! Splits text into blocks of whole rows, so that several threads can split these into fields.

use super::reader::{LineReader, Rows};
use crate::query::Format;
use memchr::{memchr, memchr2, memchr3};

/// Text of a block, roughly; a longer row makes a longer block.
const BLOCK_BYTES: usize = 512 << 10;

/// Rows that follow one another in the text.
#[derive(Debug)]
pub struct Block {
    pub rows: BlockRows,
    /// Number of the first one, from 1.
    pub first_row: u64,
    pub count: u64,
}

/// The rows of a block.
#[derive(Debug)]
pub enum BlockRows {
    /// Their text.
    Text(Vec<u8>),
    /// Their fields, where finding the end of a row is as much work as finding those of its fields.
    Fields(Rows),
}

/// Cuts text into blocks as it comes.
pub struct Splitter {
    way: Way,
    next_row: u64,
}

enum Way {
    Scan(Scanner),
    Read(Box<LineReader>),
}

impl Splitter {
    /// A splitter that leaves out the first lines.
    pub fn new(format: &Format, lines_to_skip: u64) -> Splitter {
        let way = match Scanner::new(format, lines_to_skip) {
            Some(scanner) => Way::Scan(scanner),
            None => Way::Read(Box::new(LineReader::new(format.clone(), lines_to_skip))),
        };
        Splitter { way, next_row: 1 }
    }

    /// Takes more text in and hands over the blocks that are complete, until `take` refuses one; after the `last` text
    /// all of them.
    pub fn feed(&mut self, chunk: &[u8], last: bool, mut take: impl FnMut(Block) -> bool) -> bool {
        match &mut self.way {
            Way::Scan(scanner) => {
                scanner.buffer.extend_from_slice(chunk);
                while let Some((text, count)) = scanner.next_block(last) {
                    if !take(self.next_row.block(BlockRows::Text(text), count)) {
                        return false;
                    }
                }
            }
            Way::Read(reader) => {
                reader.feed(chunk, last);
                let mut rows = Rows::default();
                reader.cut_rows(&mut rows);
                let count = rows.len() as u64;
                if count > 0 {
                    return take(self.next_row.block(BlockRows::Fields(rows), count));
                }
            }
        }
        true
    }
}

impl Splitter {
    /// Bytes that wait for the end of their row.
    pub fn unfinished_bytes(&self) -> usize {
        match &self.way {
            Way::Scan(scanner) => scanner.buffer.len(),
            Way::Read(reader) => reader.unfinished_bytes(),
        }
    }
}

/// Numbers blocks.
trait Number {
    fn block(&mut self, rows: BlockRows, count: u64) -> Block;
}

impl Number for u64 {
    fn block(&mut self, rows: BlockRows, count: u64) -> Block {
        let first_row = *self;
        *self += count;
        Block { rows, first_row, count }
    }
}

/// Finds the ends of rows where terminators are single bytes: only few bytes have to be looked at.
struct Scanner {
    field_end: u8,
    row_end: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    lines_to_skip: u64,
    buffer: Vec<u8>,
    /// Everything before has been looked at.
    at: usize,
    /// Behind the last whole row, and how many there are.
    complete: usize,
    count: u64,
    /// A field end before this place is none: it was escaped, or is part of an enclosed field.
    floor: usize,
    quoted: bool,
}

/// The result of a step of the scan.
enum Found {
    Row,
    More,
    /// The rest has to be seen first.
    Incomplete,
}

impl Scanner {
    /// `None` for formats that need a closer look.
    fn new(format: &Format, lines_to_skip: u64) -> Option<Scanner> {
        let ([field_end], [row_end]) = (&format.fields_terminated[..], &format.lines_terminated[..]) else {
            return None;
        };
        let special: Vec<u8> =
            [Some(*field_end), Some(*row_end), format.enclosed, format.escaped].into_iter().flatten().collect();
        let distinct = special.iter().enumerate().all(|(at, byte)| !special[..at].contains(byte));
        if !format.lines_starting.is_empty() || !distinct {
            return None;
        }
        Some(Scanner {
            field_end: *field_end,
            row_end: *row_end,
            quote: format.enclosed,
            escape: format.escaped,
            lines_to_skip,
            buffer: Vec::new(),
            at: 0,
            complete: 0,
            count: 0,
            floor: 0,
            quoted: false,
        })
    }

    /// The next block with its number of rows. What does not fill one waits for more, unless the text ends.
    fn next_block(&mut self, last: bool) -> Option<(Vec<u8>, u64)> {
        while self.lines_to_skip > 0 {
            let end = match memchr(self.row_end, &self.buffer) {
                Some(end) => end + 1,
                None if last => self.buffer.len(),
                None => return None,
            };
            self.buffer.drain(..end);
            self.lines_to_skip -= 1;
        }
        while self.complete < BLOCK_BYTES {
            match self.step(last) {
                Found::More => {}
                Found::Row => {
                    self.count += 1;
                    self.complete = self.at;
                    self.floor = self.at;
                }
                // Of text in pieces of a block each, little is left over: it is copied into the next one.
                Found::Incomplete if last || self.complete >= BLOCK_BYTES / 2 => break,
                Found::Incomplete => return None,
            }
        }
        if self.complete == 0 {
            return None;
        }
        let rest = self.buffer[self.complete..].to_vec();
        let mut text = std::mem::replace(&mut self.buffer, rest);
        text.truncate(self.complete);
        self.at -= self.complete;
        self.floor -= self.complete;
        self.complete = 0;
        Some((text, std::mem::take(&mut self.count)))
    }

    fn step(&mut self, last: bool) -> Found {
        let rest = &self.buffer[self.at..];
        let next = match (self.quoted, self.quote, self.escape) {
            (true, Some(quote), Some(escape)) => memchr2(quote, escape, rest),
            (true, Some(quote), None) => memchr(quote, rest),
            (_, Some(quote), Some(escape)) => memchr3(self.row_end, quote, escape, rest),
            (_, Some(quote), None) => memchr2(self.row_end, quote, rest),
            (_, None, Some(escape)) => memchr2(self.row_end, escape, rest),
            (_, None, None) => memchr(self.row_end, rest),
        };
        let Some(next) = next else {
            self.at = self.buffer.len();
            return self.end(last);
        };
        self.at += next;
        let byte = self.buffer[self.at];
        if Some(byte) == self.escape {
            if self.at + 1 == self.buffer.len() {
                return self.end(last);
            }
            self.at += 2;
            self.floor = self.at;
            return Found::More;
        }
        if self.quoted {
            return self.quote_in_field(last);
        }
        if byte == self.row_end {
            self.at += 1;
            return Found::Row;
        }
        let begins_field =
            self.at == self.complete || (self.at > self.floor && self.buffer[self.at - 1] == self.field_end);
        self.quoted = begins_field;
        self.at += 1;
        Found::More
    }

    /// A quote in an enclosed field ends it if a terminator follows.
    fn quote_in_field(&mut self, last: bool) -> Found {
        match self.buffer.get(self.at + 1) {
            None => self.end(last),
            Some(next) if Some(*next) == self.quote => {
                self.at += 2;
                Found::More
            }
            Some(next) if *next == self.field_end => {
                self.quoted = false;
                self.floor = self.at + 1;
                self.at += 2;
                Found::More
            }
            Some(next) if *next == self.row_end => {
                self.quoted = false;
                self.at += 2;
                Found::Row
            }
            Some(_) => {
                self.at += 1;
                Found::More
            }
        }
    }

    /// The text is over at this place for now: the last text's rest is a row too.
    fn end(&mut self, last: bool) -> Found {
        if !last || self.complete == self.buffer.len() {
            return Found::Incomplete;
        }
        self.at = self.buffer.len();
        self.quoted = false;
        Found::Row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_parser::ast::{FileFormat, SqlString};
    use squall_test_support::random::Random;

    struct Dice(Random);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0.below(limit as u64) as usize
        }
    }

    fn shown(rows: &Rows) -> Vec<Vec<Option<Vec<u8>>>> {
        rows.iter().map(|row| row.fields().map(|field| field.map(<[u8]>::to_vec)).collect()).collect()
    }

    fn read(format: &Format, skip: u64, text: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
        let mut reader = LineReader::new(format.clone(), skip);
        let mut rows = Rows::default();
        reader.feed(text, true);
        reader.cut_rows(&mut rows);
        shown(&rows)
    }

    /// Rows by way of blocks of at most a few rows, from text in random pieces.
    fn split(format: &Format, skip: u64, text: &[u8], dice: &mut Dice) -> Vec<Vec<Option<Vec<u8>>>> {
        let mut splitter = Splitter::new(format, skip);
        let mut blocks = Vec::new();
        let mut rest = text;
        loop {
            let (piece, more) = rest.split_at(dice.below(rest.len() + 1));
            let last = more.is_empty() && dice.below(2) == 0;
            splitter.feed(piece, last, |block| {
                blocks.push(block);
                true
            });
            rest = more;
            if last {
                break;
            }
        }
        let mut next = 1;
        let mut all = Vec::new();
        for block in blocks {
            assert_eq!(block.first_row, next);
            next += block.count;
            let rows = match block.rows {
                BlockRows::Text(text) => read(format, 0, &text),
                BlockRows::Fields(rows) => shown(&rows),
            };
            assert_eq!(rows.len() as u64, block.count);
            all.extend(rows);
        }
        all
    }

    fn format(fields: &str, lines: &str, enclosed: Option<&str>, escaped: &str) -> Format {
        Format::new(&FileFormat {
            fields_terminated: Some(SqlString::from(fields)),
            lines_terminated: Some(SqlString::from(lines)),
            fields_enclosed: enclosed.map(SqlString::from),
            fields_optionally_enclosed: true,
            fields_escaped: Some(SqlString::from(escaped)),
            ..Default::default()
        })
    }

    #[test]
    fn blocks_hold_the_rows_that_one_reader_finds() {
        let formats = [
            format(",", "\n", Some("\""), "\\"),
            format(",", "\n", Some("\""), ""),
            format(",", "\n", None, "\\"),
            format("\t", "\n", None, ""),
            format(",", "\r\n", Some("\""), "\\"),
            format("ab", "\n", Some("\""), "\\"),
            format(",", ";", Some("'"), "'"),
        ];
        let pieces: [&[u8]; 14] = [
            b"a",
            b"12",
            b",",
            b"\n",
            b"\"",
            b"\\",
            b"\r\n",
            b"\t",
            b"\"\"",
            b",\"",
            b"\",",
            "é".as_bytes(),
            b"ab",
            b";",
        ];
        let mut dice = Dice(Random::of_run("blocks_hold_the_rows_that_one_reader_finds"));
        for round in 0..20_000 {
            let mut text = Vec::new();
            for _ in 0..dice.below(40) {
                text.extend_from_slice(pieces[dice.below(pieces.len())]);
            }
            let format = &formats[round % formats.len()];
            let skip = dice.below(3) as u64;
            let expected = read(format, skip, &text);
            let found = split(format, skip, &text, &mut dice);
            assert_eq!(found, expected, "{format:?} skip {skip} {:?}", String::from_utf8_lossy(&text));
        }
    }
}
