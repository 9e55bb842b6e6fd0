//! Counts the memory of a statement while it is parsed: of its tree, and of the binder and the planner for that tree.
//!
//! Later steps take a multiple of the tree's memory, so a statement that is too large is refused here. The numbers are measurements of
//! long statements of each kind, rounded up.

use super::{Parser, Token, TokenKind};
use crate::keyword::Keyword;

/// A token: names, and parts of statements that nothing else counts.
pub(super) const TOKEN: u64 = 24;
/// An operator, call or literal of a query: a node of the tree, of the bound expression, of the logical and of the physical
/// plan.
pub(super) const NODE: u64 = 768;
/// The same of a row of INSERT, which is not planned.
pub(super) const INSERT_NODE: u64 = 384;
/// How often a literal's text is copied by binder, plans and execution, by its bytes: long ones are kept out of what is planned. The longest are not
/// counted, which are few, and common in statements of one.
const fn text_copies(bytes: usize) -> u64 {
    match bytes {
        ..=0xffff => 10,
        0x1_0000..=0x3f_ffff => 5,
        _ => 0,
    }
}
/// A SELECT block, with its operators in the plans.
pub(super) const BLOCK: u64 = 16 << 10;
/// A table to be locked, with what is asked of the account's grants.
pub(super) const LOCKED_TABLE: u64 = 512;
/// The most columns that a table or a result has.
pub(super) const COLUMNS_MAX: usize = 4096;

/// An item of a list that grows by doubling.
pub(super) const fn listed<T>() -> u64 {
    2 * size_of::<T>() as u64
}

impl Parser<'_> {
    /// Counts what has been read.
    pub(super) fn charge(&mut self, bytes: u64) {
        self.memory += bytes;
    }

    /// Counts a literal's text, but in rows of INSERT, which are not planned.
    pub(super) fn charge_text(&mut self, bytes: usize) {
        if self.node == NODE {
            self.charge(text_copies(bytes) * bytes as u64);
        }
    }

    /// No rule reads on: the current token fits nowhere, and the error that it makes says why.
    pub(super) fn read_no_further(&mut self) {
        let at = self.current.start;
        self.current = Token { kind: TokenKind::Invalid, keyword: Keyword::None, start: at, end: at };
        self.ahead = [self.current; super::LOOKAHEAD];
        self.ahead_count = super::LOOKAHEAD;
    }

    /// 1117 if there are more columns than a table or a result may have.
    pub(super) fn check_columns(&self, count: usize) -> super::Result<()> {
        if count > COLUMNS_MAX {
            return self.error(1117, "HY000", "Too many columns");
        }
        Ok(())
    }
}
