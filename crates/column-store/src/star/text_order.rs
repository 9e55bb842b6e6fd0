//! Orders of texts, for MIN and MAX.

use super::expression::Expression;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Appends a text's sort key: keys compare as bytes as the texts do.
pub type SortKey = dyn Fn(&[u8], &mut Vec<u8>) + Send + Sync;

/// How texts order.
#[derive(Clone)]
pub enum TextOrder {
    /// As their bytes do, which is the order of zone maps, too.
    Bytes,
    /// As their sort keys do; equal ones as their bytes.
    SortKeys(Arc<SortKey>),
}

impl fmt::Debug for TextOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TextOrder::Bytes => "Bytes",
            TextOrder::SortKeys(_) => "SortKeys",
        })
    }
}

impl TextOrder {
    /// The sort key; of an order by bytes an empty one.
    pub(super) fn key(&self, text: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        if let TextOrder::SortKeys(sort_key) = self {
            sort_key(text, &mut key);
        }
        key
    }

    /// The least or the greatest of some texts; `None` of none.
    pub(super) fn extreme<'a>(&self, texts: impl Iterator<Item = &'a [u8]>, wanted: Ordering) -> Option<&'a [u8]> {
        let keyed = texts.map(|text| (self.key(text), text));
        keyed.reduce(|best, other| if other.cmp(&best) == wanted { other } else { best }).map(|(_, text)| text)
    }
}

/// A column whose texts are compared, and how.
#[derive(Clone, Debug)]
pub struct OrderedText {
    /// The column, as an argument of an aggregate.
    pub(super) argument: Expression,
    /// How its texts order.
    pub(super) order: TextOrder,
}

impl OrderedText {
    /// Of a column of texts.
    pub fn new(column: usize, order: TextOrder) -> OrderedText {
        OrderedText { argument: Expression::Column(column), order }
    }

    /// The column.
    pub(super) fn column(&self) -> Option<usize> {
        match self.argument {
            Expression::Column(column) => Some(column),
            _ => None,
        }
    }
}
