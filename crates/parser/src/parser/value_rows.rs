//! The rows of INSERT … VALUES and the lists of IN.

use super::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of an INSERT that are kept as trees.
const TREE_ROWS_MAX: usize = 64;
/// Items of an IN list that are kept as trees, which indexes are looked up by. Literals of a longer list become a set.
const TREE_ITEMS_MAX: usize = 16 << 10;
/// The longest expression, in bytes of its text, that is recognized when it is written again.
const SHARED_TEXT_MAX: usize = 256;
/// How many different expressions are recognized when they are written again.
const SHARED_MAX: usize = 4096;

/// A value of a row, on its way to the others.
enum Item {
    Leaf(Expr),
    Shared(u32),
}

impl<'a> Parser<'a> {
    /// `(…), (…), …`.
    pub(super) fn value_rows(&mut self) -> Result<ValueRows> {
        let mut rows = ValueRows::default();
        loop {
            let width = rows.trees.last().map_or(0, Vec::len);
            rows.trees.push(self.insert_row(width)?);
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(rows);
            }
            if rows.trees.len() == TREE_ROWS_MAX {
                rows.packed = Some(Arc::new(self.packed_rows()?));
                return Ok(rows);
            }
        }
    }

    /// `(value, …)`; `width` is how many values to expect.
    fn insert_row(&mut self, width: usize) -> Result<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut row = Vec::with_capacity(width);
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(row);
        }
        loop {
            row.push(self.value_or_default()?);
            if !self.accept_kind(TokenKind::Comma) {
                break;
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(row)
    }

    fn packed_rows(&mut self) -> Result<PackedRows> {
        let node = std::mem::replace(&mut self.node, memory::INSERT_NODE);
        let (mut rows, mut row, mut known) = (PackedRows::default(), Vec::new(), HashMap::new());
        // Tokens leave no trace but bytes and, once each, expressions that are no literals.
        let mut memory = self.memory;
        loop {
            let bytes = rows.bytes();
            memory += self.packed_row(&mut rows, &mut row, &mut known)?;
            rows.begin_row(row.len());
            for item in row.drain(..) {
                match item {
                    Item::Leaf(expr) => {
                        rows.push(&expr);
                    }
                    Item::Shared(number) => rows.push_shared(number),
                }
            }
            memory += (rows.bytes() - bytes) as u64;
            self.memory = memory;
            if !self.accept_kind(TokenKind::Comma) {
                self.node = node;
                return Ok(rows);
            }
            self.memory = memory;
        }
    }

    /// Reads the values of a row. Values that are not literals are added to `rows`, unless it has them. Gives the memory that they
    /// take.
    fn packed_row(
        &mut self,
        rows: &mut PackedRows,
        row: &mut Vec<Item>,
        known: &mut HashMap<&'a [u8], u32>,
    ) -> Result<u64> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut kept = 0;
        while !(row.is_empty() && self.at_kind(TokenKind::RightParen)) {
            let (start, placeholders, memory) = (self.current.start as usize, self.placeholders, self.memory);
            let expr = self.value_or_default()?;
            let text = &self.sql[start..self.previous_end as usize];
            let shares = text.len() <= SHARED_TEXT_MAX && placeholders == self.placeholders;
            row.push(match known.get(text).filter(|_| shares) {
                Some(number) => Item::Shared(*number),
                None if expr.is_leaf() => Item::Leaf(expr),
                None => {
                    kept += self.memory - memory;
                    let number = rows.add_expr(expr);
                    if shares && known.len() < SHARED_MAX {
                        known.insert(text, number);
                    }
                    Item::Shared(number)
                }
            });
            if !self.accept_kind(TokenKind::Comma) {
                break;
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(kept)
    }

    /// The items behind the first of an IN list, up to the parenthesis that ends it.
    pub(super) fn in_items(&mut self, operand: Box<Expr>, first: Expr, negated: bool) -> Result<Expr> {
        let memory = self.memory;
        let mut list = vec![first];
        while self.accept_kind(TokenKind::Comma) {
            list.push(self.expr()?);
            self.charge(memory::listed::<Expr>());
            if list.len() == TREE_ITEMS_MAX && list.iter().all(Expr::is_literal) {
                self.memory = memory;
                return self.packed_items(operand, list, negated);
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::InList { operand, list, negated })
    }

    /// Goes on with a list that is long and has been one of literals so far.
    fn packed_items(&mut self, operand: Box<Expr>, list: Vec<Expr>, negated: bool) -> Result<Expr> {
        let mut packed = PackedValues::default();
        for item in list {
            packed.push(&item);
        }
        self.charge(packed.bytes() as u64);
        let mut memory = self.memory;
        loop {
            let bytes = packed.bytes();
            self.packed_integers(&mut packed);
            memory += (packed.bytes() - bytes) as u64;
            self.memory = memory;
            if !self.accept_kind(TokenKind::Comma) {
                break;
            }
            let bytes = packed.bytes();
            let item = self.expr()?;
            if !item.is_literal() {
                return self.unpacked_items(operand, &packed, item, negated);
            }
            packed.push(&item);
            memory += (packed.bytes() - bytes) as u64;
            self.memory = memory;
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::InLiterals { operand, list: Arc::new(packed), negated })
    }

    /// Goes on with integers, each behind a comma, without a token for each.
    fn packed_integers(&mut self, packed: &mut PackedValues) {
        if !self.at_kind(TokenKind::Comma) || self.ahead_count > 0 {
            return;
        }
        let bytes_max = packed.bytes() as u64 + self.options.memory_max.saturating_sub(self.memory);
        while packed.bytes() as u64 <= bytes_max
            && let Some(digits) = self.lexer.listed_integer()
        {
            packed.push_integer(&self.sql[digits]);
            match self.lexer.accept_comma() {
                Some(comma) => self.current = comma,
                None => {
                    self.current = self.lexer.next();
                    return;
                }
            }
        }
    }

    /// Goes on with a long list that has turned out to be one of other things too, which is a list of trees.
    fn unpacked_items(&mut self, operand: Box<Expr>, packed: &PackedValues, item: Expr, negated: bool) -> Result<Expr> {
        self.charge((packed.len() as u64 + 1) * (memory::listed::<Expr>() + self.node));
        if self.memory > self.options.memory_max {
            return Err(self.unexpected());
        }
        let mut list = Vec::with_capacity(packed.len() + 1);
        let mut reader = packed.reader();
        while let Some(PackedValue::Leaf(item)) = reader.next_value() {
            list.push(item);
        }
        list.push(item);
        while self.accept_kind(TokenKind::Comma) {
            list.push(self.expr()?);
            self.charge(memory::listed::<Expr>());
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::InList { operand, list, negated })
    }
}
