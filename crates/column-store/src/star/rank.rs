//! Ranks for MIN and MAX: whole numbers that have the same order as the values. Floating-point numbers use their bits, texts their
//! positions among all texts of the query.

use super::float_order::ordered_bits;
use super::known::KnownZone;
use super::{Aggregate, StarQuery, StarSource};
use crate::coded::{CodedColumn, CodedValues};
use crate::domain::Datum;
use crate::error::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

/// The texts of each column whose extremes are asked for, in order: a text's rank is its place.
#[derive(Default)]
pub(super) struct Ranks {
    columns: FxHashMap<usize, RankedTexts>,
}

#[derive(Default)]
struct RankedTexts {
    texts: Vec<Box<[u8]>>,
    ranks: FxHashMap<Box<[u8]>, u32>,
}

/// A column without a dictionary is ranked row by row up to this many rows: delta rows mostly.
const ROWS_RANKED_MAX: usize = 1 << 16;

impl Ranks {
    /// Of what zone maps and dictionaries have told, and of all texts of the sources that have to be read.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a source that has to be read has too many texts.
    pub(super) fn new<'s>(
        query: &StarQuery,
        known: &[Vec<Option<KnownZone>>],
        to_read: impl Iterator<Item = &'s StarSource<'s>> + Clone,
    ) -> Result<Ranks> {
        let mut ranks = Ranks::default();
        for (at, aggregate) in query.aggregates.iter().enumerate() {
            let (Aggregate::MinText(text) | Aggregate::MaxText(text)) = aggregate else { continue };
            let Some(column) = text.column() else { continue };
            let mut texts: FxHashSet<Box<[u8]>> = FxHashSet::default();
            for zone in known.iter().flatten().flatten() {
                if let Some((Some(Datum::Bytes(value)), _)) = zone.parts.get(at) {
                    texts.insert(value.clone());
                }
            }
            for source in to_read.clone() {
                add_texts(&*source.columns.column(column)?, &mut texts)?;
            }
            if let Some(known) = ranks.columns.remove(&column) {
                texts.extend(known.texts);
            }
            let mut texts: Vec<Box<[u8]>> = texts.into_iter().collect();
            texts.sort_by_cached_key(|value| (text.order.key(value), value.clone()));
            let numbered = texts.iter().cloned().zip(0..).collect();
            ranks.columns.insert(column, RankedTexts { texts, ranks: numbered });
        }
        Ok(ranks)
    }

    /// A value as the number that stands for it.
    pub(super) fn number(&self, aggregate: &Aggregate, value: &Datum) -> Option<i128> {
        match value {
            Datum::Integer(value) => Some(*value),
            Datum::Float(value) => Some(i128::from(ordered_bits(*value))),
            Datum::Bytes(value) => {
                let (Aggregate::MinText(text) | Aggregate::MaxText(text)) = aggregate else { return None };
                self.columns.get(&text.column()?)?.ranks.get(value).map(|rank| i128::from(*rank))
            }
        }
    }

    /// The ranks of a column's codes, or of its rows if it has no dictionary.
    pub(super) fn of_column(&self, ordinal: usize, column: &CodedColumn) -> Result<Vec<u32>> {
        let unknown = || Error::invalid("a text that has no rank");
        let ranked = self.columns.get(&ordinal).ok_or_else(unknown)?;
        let rank = |text: &[u8]| ranked.ranks.get(text).copied().ok_or_else(unknown);
        let mut ranks: Vec<u32> = match column.values() {
            CodedValues::Dictionary { dictionary, .. } => dictionary.iter().map(rank).collect::<Result<_>>()?,
            CodedValues::Bytes(strings) => {
                let of_row = |row: usize| if column.is_null(row) { Ok(0) } else { rank(strings.value(row)) };
                (0..column.rows()).map(of_row).collect::<Result<_>>()?
            }
            CodedValues::Integers(_) | CodedValues::Floats(_) => return Err(unknown()),
        };
        // A column of nothing but NULLs has an empty dictionary, and code 0 all the same.
        if ranks.is_empty() {
            ranks.push(0);
        }
        Ok(ranks)
    }

    /// The texts by their ranks, for readers of the answer.
    pub(super) fn into_texts(self) -> FxHashMap<usize, Vec<Box<[u8]>>> {
        self.columns.into_iter().map(|(column, ranked)| (column, ranked.texts)).collect()
    }
}

fn add_texts(column: &CodedColumn, texts: &mut FxHashSet<Box<[u8]>>) -> Result<()> {
    let mut add = |text: &[u8]| {
        if !texts.contains(text) {
            texts.insert(text.into());
        }
    };
    match column.values() {
        CodedValues::Dictionary { dictionary, .. } => dictionary.iter().for_each(add),
        CodedValues::Bytes(strings) if column.rows() <= ROWS_RANKED_MAX => {
            (0..column.rows()).filter(|row| !column.is_null(*row)).for_each(|row| add(strings.value(row)));
        }
        CodedValues::Bytes(_) => return Err(Error::invalid("a column has too many texts to rank them")),
        CodedValues::Integers(_) | CodedValues::Floats(_) => {
            return Err(Error::invalid("a column of texts has other values"));
        }
    }
    Ok(())
}
