//! Rows of VALUES and lists of IN. A statement may have millions of values, so all but the first few are kept as bytes of about the
//! length of their text, not as trees.

use super::{Expr, Literal, SqlString, StringLiteral, TemporalKind, UnaryOp};
use std::fmt;
use std::sync::Arc;

/// `VALUES (…), (…)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueRows {
    /// The first rows, as trees: all there are of a short statement.
    pub trees: Vec<Vec<Expr>>,
    /// The rows behind them.
    pub packed: Option<Arc<PackedRows>>,
}

impl Expr {
    /// A literal, or a number behind a minus.
    pub(crate) fn is_literal(&self) -> bool {
        match self {
            Self::Literal(_) => true,
            Self::Unary { op: UnaryOp::Minus, operand } => {
                matches!(**operand, Self::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_)))
            }
            _ => false,
        }
    }

    /// A value that is packed by itself: a literal, `?` or DEFAULT.
    pub(crate) fn is_leaf(&self) -> bool {
        self.is_literal() || matches!(self, Self::Default | Self::Placeholder(_))
    }
}

impl ValueRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.trees.len() + self.packed.as_ref().map_or(0, |packed| packed.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the first row, counted from 1, that has not as many values as `width`.
    pub fn row_of_other_width(&self, width: usize) -> Option<usize> {
        let in_trees = self.trees.iter().position(|row| row.len() != width);
        let in_packed = || self.packed.as_ref()?.row_of_other_width(width).map(|at| at + self.trees.len());
        in_trees.or_else(in_packed).map(|at| at + 1)
    }

    /// The only row; `None` if there are more.
    pub fn only_row(&self) -> Option<Vec<Expr>> {
        if self.len() == 1 { self.to_trees().pop() } else { None }
    }

    /// All rows as trees, of which there should be few.
    pub fn to_trees(&self) -> Vec<Vec<Expr>> {
        self.trees.iter().cloned().chain(self.packed.iter().flat_map(|packed| packed.trees())).collect()
    }

    /// Every expression that is kept as a tree: those of packed rows that are no literals once each.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.trees.iter().flatten().chain(self.packed.iter().flat_map(|packed| packed.exprs()))
    }
}

impl From<Vec<Vec<Expr>>> for ValueRows {
    fn from(trees: Vec<Vec<Expr>>) -> Self {
        Self { trees, packed: None }
    }
}

/// Rows as bytes: of each the number of its values and then these, see [`PackedValues`].
///
/// Two are equal if they have the same values, however equal expressions are stored.
#[derive(Clone, Default)]
pub struct PackedRows {
    values: PackedValues,
    rows: usize,
    /// Values of the first row.
    width: usize,
    /// The first row with another number of values.
    other_width: Option<usize>,
}

impl PartialEq for PackedRows {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.trees().eq(other.trees())
    }
}

impl fmt::Debug for PackedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.trees()).finish()
    }
}

impl PackedRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The expressions that are no literals; [`PackedValue::Shared`] is a place in this list.
    pub fn exprs(&self) -> &[Expr] {
        &self.values.exprs
    }

    /// A value that was read, as a tree.
    pub fn expr_of(&self, value: PackedValue) -> Expr {
        match value {
            PackedValue::Leaf(expr) => expr,
            PackedValue::Shared(number) => self.exprs()[number as usize].clone(),
        }
    }

    /// The place of the first row that has not as many values as `width`.
    fn row_of_other_width(&self, width: usize) -> Option<usize> {
        if self.rows > 0 && self.width != width { Some(0) } else { self.other_width }
    }

    /// A row begins, of this many values, which [`PackedRows::push`] adds.
    pub(crate) fn begin_row(&mut self, width: usize) {
        if self.rows == 0 {
            self.width = width;
        } else if self.width != width {
            self.other_width.get_or_insert(self.rows);
        }
        self.rows += 1;
        put_number(self.values.buffer(), width);
    }

    /// Adds a literal, `?` or DEFAULT to the row. False, and nothing is added, if it is anything else.
    pub(crate) fn push(&mut self, expr: &Expr) -> bool {
        put_leaf(self.values.last_buffer(), expr)
    }

    /// Adds the expression of this number once more.
    pub(crate) fn push_shared(&mut self, number: u32) {
        let buffer = self.values.last_buffer();
        buffer.push(tag::SHARED);
        put_number(buffer, number as usize);
    }

    /// See [`PackedValues::add_expr`].
    pub(crate) fn add_expr(&mut self, expr: Expr) -> u32 {
        self.values.add_expr(expr)
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.values.bytes()
    }

    /// The rows as trees, one after another.
    pub fn trees(&self) -> impl Iterator<Item = Vec<Expr>> {
        let (mut reader, mut row) = (self.reader(), Vec::new());
        std::iter::from_fn(move || {
            reader.next_row(&mut row).then(|| row.drain(..).map(|value| self.expr_of(value)).collect())
        })
    }

    /// Reads the rows from the first on.
    pub fn reader(&self) -> PackedReader<'_> {
        self.values.reader()
    }
}

/// Past this many bytes a buffer is left and the next begins: none is copied as the statement grows.
const BUFFER_BYTES: usize = 1 << 20;

/// Values as bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackedValues {
    /// Each holds whole rows or, of a list, whole values.
    buffers: Vec<Vec<u8>>,
    /// Bytes of all buffers but the last.
    bytes_before: usize,
    count: usize,
    /// Expressions that are no literals. One that is written in many rows is kept once.
    exprs: Vec<Expr>,
}

impl PackedValues {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Reads the values from the first on; there are literals only in a list.
    pub fn reader(&self) -> PackedReader<'_> {
        PackedReader { bytes: &[], buffers: self.buffers.iter() }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_before + self.buffers.last().map_or(0, Vec::len)
    }

    /// Where the next row or, of a list, the next value goes.
    fn buffer(&mut self) -> &mut Vec<u8> {
        if self.buffers.last().is_none_or(|buffer| buffer.len() >= BUFFER_BYTES) {
            self.bytes_before = self.bytes();
            self.buffers.push(Vec::new());
        }
        self.last_buffer()
    }

    /// Where a row goes on.
    fn last_buffer(&mut self) -> &mut Vec<u8> {
        if self.buffers.is_empty() {
            self.buffers.push(Vec::new());
        }
        let last = self.buffers.len() - 1;
        &mut self.buffers[last]
    }

    /// Adds a literal to a list. False, and nothing is added, if it is anything else.
    pub(crate) fn push(&mut self, expr: &Expr) -> bool {
        let is_literal = put_leaf(self.buffer(), expr);
        self.count += usize::from(is_literal);
        is_literal
    }

    /// Adds an integer to a list by its digits.
    pub(crate) fn push_integer(&mut self, digits: &[u8]) {
        put(self.buffer(), tag::INTEGER, digits);
        self.count += 1;
    }

    /// Keeps an expression, for [`PackedValues::push_shared`].
    pub(crate) fn add_expr(&mut self, expr: Expr) -> u32 {
        self.exprs.push(expr);
        self.exprs.len() as u32 - 1
    }
}

/// The tag of a packed value.
mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INTEGER: u8 = 3;
    pub const DECIMAL: u8 = 4;
    pub const FLOAT: u8 = 5;
    pub const STRING: u8 = 6;
    pub const STRING_OF_PARTS: u8 = 7;
    pub const HEX: u8 = 8;
    pub const BIT: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const TIMESTAMP: u8 = 12;
    pub const DEFAULT: u8 = 13;
    pub const PLACEHOLDER: u8 = 14;
    pub const SHARED: u8 = 15;
    /// Beside a string or its like: the name of a character set comes first.
    pub const INTRODUCED: u8 = 0x20;
    /// Beside a number: it stands behind a minus.
    pub const NEGATIVE: u8 = 0x40;
}

/// Seven bits in a byte, lowest first; the eighth says that more come.
fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put(bytes: &mut Vec<u8>, tag: u8, value: &[u8]) {
    bytes.push(tag);
    if !matches!(tag, tag::NULL | tag::FALSE | tag::TRUE | tag::DEFAULT) {
        put_number(bytes, value.len());
        bytes.extend_from_slice(value);
    }
}

/// Adds a literal, `?` or DEFAULT. False, and nothing is added, if it is anything else.
fn put_leaf(bytes: &mut Vec<u8>, expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => put_literal(bytes, literal, 0),
        Expr::Unary { op: UnaryOp::Minus, operand } => match &**operand {
            Expr::Literal(literal) if expr.is_literal() => put_literal(bytes, literal, tag::NEGATIVE),
            _ => return false,
        },
        Expr::Default => put(bytes, tag::DEFAULT, b""),
        Expr::Placeholder(number) => {
            bytes.push(tag::PLACEHOLDER);
            put_number(bytes, *number as usize);
        }
        _ => return false,
    }
    true
}

fn put_introduced(bytes: &mut Vec<u8>, tag: u8, introducer: Option<&str>, value: &[u8]) {
    match introducer {
        None => put(bytes, tag, value),
        Some(charset) => {
            put(bytes, tag | tag::INTRODUCED, charset.as_bytes());
            put_number(bytes, value.len());
            bytes.extend_from_slice(value);
        }
    }
}

fn put_literal(bytes: &mut Vec<u8>, literal: &Literal, sign: u8) {
    match literal {
        Literal::Null => put(bytes, tag::NULL, b""),
        Literal::Boolean(value) => put(bytes, if *value { tag::TRUE } else { tag::FALSE }, b""),
        Literal::Integer(digits) => put(bytes, tag::INTEGER | sign, digits.as_bytes()),
        Literal::Decimal(digits) => put(bytes, tag::DECIMAL | sign, digits.as_bytes()),
        Literal::Float(digits) => put(bytes, tag::FLOAT | sign, digits.as_bytes()),
        Literal::String(text) => {
            let value = text.value.as_bytes();
            let parts = text.first_length as usize != value.len();
            let tag = if parts { tag::STRING_OF_PARTS } else { tag::STRING };
            put_introduced(bytes, tag, text.introducer.as_deref(), value);
            if parts {
                put_number(bytes, text.first_length as usize);
            }
        }
        Literal::Hex { introducer, value } => {
            put_introduced(bytes, tag::HEX, introducer.as_deref(), value.as_bytes());
        }
        Literal::Bit { introducer, value } => {
            put_introduced(bytes, tag::BIT, introducer.as_deref(), value.as_bytes());
        }
        Literal::Temporal { kind, text } => {
            let tag = match kind {
                TemporalKind::Date => tag::DATE,
                TemporalKind::Time => tag::TIME,
                TemporalKind::Timestamp => tag::TIMESTAMP,
            };
            put(bytes, tag, text.as_bytes());
        }
    }
}

/// A value that was packed.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedValue {
    /// A literal, `?` or DEFAULT.
    Leaf(Expr),
    /// The expression of that number in [`PackedRows::exprs`].
    Shared(u32),
}

/// Reads packed values one after another.
#[derive(Clone, Debug)]
pub struct PackedReader<'a> {
    bytes: &'a [u8],
    /// The values behind `bytes`.
    buffers: std::slice::Iter<'a, Vec<u8>>,
}

impl<'a> PackedReader<'a> {
    /// The next row, in the place of what is in `row`; `false` at the end.
    pub fn next_row(&mut self, row: &mut Vec<PackedValue>) -> bool {
        row.clear();
        if !self.go_on() {
            return false;
        }
        let width = self.number();
        row.extend((0..width).map_while(|_| self.next_value()));
        true
    }

    /// The next value of a list.
    pub fn next_value(&mut self) -> Option<PackedValue> {
        if !self.go_on() {
            return None;
        }
        let tag = self.byte()?;
        let kind = tag & !(tag::INTRODUCED | tag::NEGATIVE);
        let introducer = (tag & tag::INTRODUCED != 0).then(|| self.text());
        let literal = match kind {
            tag::NULL => Literal::Null,
            tag::FALSE => Literal::Boolean(false),
            tag::TRUE => Literal::Boolean(true),
            tag::INTEGER => Literal::Integer(self.text()),
            tag::DECIMAL => Literal::Decimal(self.text()),
            tag::FLOAT => Literal::Float(self.text()),
            tag::STRING | tag::STRING_OF_PARTS => {
                let value = self.slice();
                let first_length = if kind == tag::STRING { value.len() } else { self.number() } as u32;
                Literal::String(StringLiteral { introducer, value: SqlString::from(value), first_length })
            }
            tag::HEX => Literal::Hex { introducer, value: SqlString::from(self.slice()) },
            tag::BIT => Literal::Bit { introducer, value: SqlString::from(self.slice()) },
            tag::DATE => Literal::Temporal { kind: TemporalKind::Date, text: self.text() },
            tag::TIME => Literal::Temporal { kind: TemporalKind::Time, text: self.text() },
            tag::TIMESTAMP => Literal::Temporal { kind: TemporalKind::Timestamp, text: self.text() },
            tag::DEFAULT => return Some(PackedValue::Leaf(Expr::Default)),
            tag::PLACEHOLDER => return Some(PackedValue::Leaf(Expr::Placeholder(self.number() as u32))),
            _ => return Some(PackedValue::Shared(self.number() as u32)),
        };
        let literal = Expr::Literal(literal);
        Some(PackedValue::Leaf(match tag & tag::NEGATIVE {
            0 => literal,
            _ => Expr::Unary { op: UnaryOp::Minus, operand: Box::new(literal) },
        }))
    }

    /// The next value of a list, if it is an integer without a sign below 2^63; otherwise [`PackedReader::next_value`] gives it.
    pub fn next_integer(&mut self) -> Option<i64> {
        if !self.go_on() || self.bytes.first() != Some(&tag::INTEGER) {
            return None;
        }
        let mut ahead = PackedReader { bytes: &self.bytes[1..], buffers: self.buffers.clone() };
        let mut number = 0_i64;
        for digit in ahead.slice() {
            let digit = char::from(*digit).to_digit(10)?;
            number = number.checked_mul(10)?.checked_add(i64::from(digit))?;
        }
        self.bytes = ahead.bytes;
        Some(number)
    }

    /// Goes to the next buffer at the end of one. False: that was the last.
    fn go_on(&mut self) -> bool {
        while self.bytes.is_empty() {
            match self.buffers.next() {
                Some(buffer) => self.bytes = buffer,
                None => return false,
            }
        }
        true
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn number(&mut self) -> usize {
        let (mut number, mut shift) = (0, 0);
        while let Some(byte) = self.byte() {
            number |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }

    fn slice(&mut self) -> &'a [u8] {
        let length = self.number().min(self.bytes.len());
        let (slice, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        slice
    }

    fn text(&mut self) -> Box<str> {
        // What was packed was text.
        String::from_utf8_lossy(self.slice()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(introducer: Option<&str>, value: &[u8], first_length: u32) -> Expr {
        let value = SqlString::from(value);
        Expr::Literal(Literal::String(StringLiteral { introducer: introducer.map(Into::into), value, first_length }))
    }

    #[test]
    fn values_come_back_as_they_were() {
        let minus = |literal| Expr::Unary { op: UnaryOp::Minus, operand: Box::new(Expr::Literal(literal)) };
        let values = [
            Expr::Literal(Literal::Null),
            Expr::Literal(Literal::Boolean(true)),
            Expr::Literal(Literal::Boolean(false)),
            Expr::Literal(Literal::Integer("007".into())),
            Expr::Literal(Literal::Decimal("1.50".into())),
            Expr::Literal(Literal::Float("1e5".into())),
            minus(Literal::Integer("9223372036854775808".into())),
            minus(Literal::Decimal(".5".into())),
            string(None, b"", 0),
            string(None, &[b'x'; 300], 300),
            string(None, b"ab", 1),
            string(Some("latin1"), b"\xff\0", 2),
            string(Some("utf8mb4"), b"ab", 1),
            Expr::Literal(Literal::Hex { introducer: None, value: SqlString::from("M") }),
            Expr::Literal(Literal::Bit { introducer: Some("binary".into()), value: SqlString::from("\x05") }),
            Expr::Literal(Literal::Temporal { kind: TemporalKind::Date, text: "2024-02-29".into() }),
            Expr::Literal(Literal::Temporal { kind: TemporalKind::Time, text: "10:00".into() }),
            Expr::Literal(Literal::Temporal { kind: TemporalKind::Timestamp, text: "2024-02-29 10:00".into() }),
            Expr::Default,
            Expr::Placeholder(300),
        ];
        let mut rows = PackedRows::default();
        for width in [values.len(), 0, 1] {
            rows.begin_row(width);
            assert!(values.iter().take(width).all(|value| rows.push(value)));
        }
        assert!(!rows.push(&Expr::Row(Vec::new())), "not a literal");
        let shared = rows.add_expr(Expr::Grouping(Vec::new()));
        rows.begin_row(1);
        rows.push_shared(shared);

        let (mut reader, mut row) = (rows.reader(), Vec::new());
        assert!(reader.next_row(&mut row));
        let expected: Vec<PackedValue> = values.into_iter().map(PackedValue::Leaf).collect();
        assert_eq!(row, expected);
        assert!(reader.next_row(&mut row) && row.is_empty());
        assert!(reader.next_row(&mut row) && row.len() == 1);
        assert!(reader.next_row(&mut row));
        assert_eq!(row, [PackedValue::Shared(0)]);
        assert!(!reader.next_row(&mut row));
        let rows = ValueRows { trees: vec![Vec::new(); 2], packed: Some(Arc::new(rows)) };
        assert_eq!((rows.len(), rows.row_of_other_width(0), rows.exprs().count()), (6, Some(3), 1));
    }
}
