//! Translates a star query into the codes of its sources.

use super::code_table::{CodeTable, CodeTables};
use super::expression::{BoundExpression, Expression, integer_codes};
use super::key_map::KeyMap;
use super::rank::Ranks;
use super::selection::BLOCK_ROWS;
use super::{Aggregate, GroupBy, GroupKey, StarJoin, StarQuery, StarSource};
use crate::coded::{CodedColumn, CodedValues};
use crate::domain::Datum;
use crate::error::{Error, Result};
use crate::index::Rows;
use crate::predicate::{ColumnSource, Condition, Prepared, SkippedRows, indexed_rows, zone_verdicts};
use crate::zone_map::zone_rows;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Columns of whole numbers that span more are not grouped by.
const INTEGER_GROUPS_MAX: i128 = 1 << 20;

/// Rows that are looked at to order the joins.
const SAMPLE_ROWS: usize = 1 << 10;

/// A query in the codes of one source.
pub(super) struct BoundSource<'a> {
    pub(super) rows: usize,
    pub(super) deleted: Option<&'a RoaringBitmap>,
    pub(super) filter: Filter,
    /// In the order in which they are made.
    pub(super) lookups: Vec<Lookup<'a>>,
    /// With the stride of each in the combined index.
    pub(super) groups: Vec<(BoundGroup<'a>, u64)>,
    /// `None` for COUNT(*), which needs no value.
    pub(super) aggregates: Vec<Option<BoundAggregate>>,
}

/// How the condition on the fact table's own columns is answered.
pub(super) enum Filter {
    /// There is none.
    All,
    /// By comparing codes, in zones that zone maps do not decide: each one's may-match and all-match. What reads values is asked of the
    /// rows that have partners alone.
    Scan { codes: Option<Prepared>, values: Option<Prepared>, verdicts: Vec<(bool, bool)> },
    /// By bitmap indexes; candidates, if any are left, by comparing codes.
    Rows { found: Rows, check: Option<Prepared> },
}

/// A join to be made.
#[derive(Clone)]
pub(super) struct Lookup<'a> {
    pub(super) column: Arc<CodedColumn>,
    pub(super) keys: &'a KeyMap,
    /// The same by the column's codes, unless those are too many.
    pub(super) table: Option<Arc<CodeTable>>,
}

/// Where a part of the group key comes from.
pub(super) enum BoundGroup<'a> {
    Join(Lookup<'a>),
    /// `(code << shift) + offset`, modulo 2^64.
    Integers {
        column: Arc<CodedColumn>,
        offset: u64,
        null: u64,
    },
    /// The code of this source's dictionary, translated.
    Strings {
        column: Arc<CodedColumn>,
        codes: Vec<u32>,
        null: u64,
    },
}

/// The argument of an aggregate.
pub(super) struct BoundAggregate {
    pub(super) expression: BoundExpression,
    /// Columns with NULLs.
    pub(super) nullable: Vec<Arc<CodedColumn>>,
    /// How it is evaluated.
    pub(super) width: Width,
}

/// The integers that an argument is evaluated in.
pub(super) enum Width {
    /// Of 64 bits, which hold every value on the way; `sum_fits` if they hold the sum of a block, too.
    Narrow { sum_fits: bool },
    /// Of 128 bits.
    Wide,
}

/// The parts of the group key over all sources.
pub(super) struct GroupKeys {
    parts: Vec<KeyPart>,
    /// Possible combined indexes.
    pub(super) possible: u64,
}

struct KeyPart {
    stride: u64,
    /// Values of the part; for columns, one more for NULL, which is the last.
    radix: u64,
    values: KeyValues,
}

enum KeyValues {
    Codes,
    Integers { min: i128 },
    Strings { codes: FxHashMap<Box<[u8]>, u32>, values: Vec<Box<[u8]>> },
}

impl GroupKeys {
    /// Finds out what values the group columns have in all sources.
    pub(super) fn new(query: &StarQuery, sources: &[StarSource<'_>]) -> Result<GroupKeys> {
        let mut parts = Vec::with_capacity(query.groups.len());
        let mut possible = 1u64;
        for group in &query.groups {
            let (radix, values) = match group {
                GroupBy::Join(join) => (u64::from(join_of(query, *join)?.keys.groups()).max(1), KeyValues::Codes),
                GroupBy::Column(column) => column_values(*column, sources)?,
            };
            parts.push(KeyPart { stride: possible, radix, values });
            possible = possible.checked_mul(radix).ok_or_else(|| Error::invalid("there are too many groups"))?;
        }
        Ok(GroupKeys { parts, possible })
    }

    /// The group keys of a combined index.
    pub(super) fn decode(&self, index: u64) -> Vec<GroupKey> {
        let key = |part: &KeyPart| {
            let code = index / part.stride % part.radix;
            match &part.values {
                KeyValues::Codes => GroupKey::Code(code as u32),
                _ if code == part.radix - 1 => GroupKey::Value(None),
                KeyValues::Integers { min } => GroupKey::Value(Some(Datum::Integer(min + i128::from(code)))),
                KeyValues::Strings { values, .. } => GroupKey::Value(Some(Datum::Bytes(values[code as usize].clone()))),
            }
        };
        self.parts.iter().map(key).collect()
    }
}

fn join_of(query: &StarQuery, join: usize) -> Result<&StarJoin> {
    query.joins.get(join).ok_or_else(|| Error::invalid(format!("there is no join {join}")))
}

fn column_values(ordinal: usize, sources: &[StarSource<'_>]) -> Result<(u64, KeyValues)> {
    let mut bounds: Option<(i128, i128)> = None;
    let mut codes: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
    let mut values: Vec<Box<[u8]>> = Vec::new();
    for source in sources.iter().filter(|source| source.columns.rows() > 0) {
        match source.columns.column(ordinal)?.values() {
            CodedValues::Integers(integers) => {
                let (min, max) = (integers.base, integers.value(integers.greatest));
                bounds = Some(bounds.map_or((min, max), |(least, greatest)| (least.min(min), greatest.max(max))));
            }
            CodedValues::Dictionary { dictionary, .. } => {
                for value in dictionary.iter().filter(|value| !codes.contains_key(*value)).collect::<Vec<_>>() {
                    codes.insert(value.into(), values.len() as u32);
                    values.push(value.into());
                }
            }
            _ => return Err(Error::invalid("a star query does not group by a column without codes")),
        }
    }
    match bounds {
        Some(_) if !values.is_empty() => Err(Error::invalid("a column has other types in other sources")),
        Some((min, max)) if max - min >= INTEGER_GROUPS_MAX => {
            Err(Error::invalid("a star query does not group by a column of such a span"))
        }
        Some((min, max)) => Ok(((max - min + 2) as u64, KeyValues::Integers { min })),
        None => Ok((values.len() as u64 + 1, KeyValues::Strings { codes, values })),
    }
}

impl<'a> BoundSource<'a> {
    pub(super) fn new(
        query: &'a StarQuery,
        keys: &GroupKeys,
        source: &StarSource<'a>,
        (tables, ranks): (&CodeTables, &Ranks),
    ) -> Result<BoundSource<'a>> {
        let columns = source.columns;
        let joins = query.joins.iter().enumerate();
        let lookups: Vec<Lookup<'a>> =
            joins.map(|(number, join)| Lookup::new(number, join, columns, tables)).collect::<Result<_>>()?;
        let mut groups = Vec::with_capacity(query.groups.len());
        for (group, part) in query.groups.iter().zip(&keys.parts) {
            let bound = match group {
                GroupBy::Join(join) => BoundGroup::Join(lookups[*join].clone()),
                GroupBy::Column(ordinal) => bind_column(columns.column(*ordinal)?, part)?,
            };
            // A part with one value adds nothing to the index.
            if part.radix > 1 {
                groups.push((bound, part.stride));
            }
        }
        let aggregates = query.aggregates.iter().map(|aggregate| bind_aggregate(aggregate, columns, ranks));
        Ok(BoundSource {
            rows: columns.rows(),
            deleted: source.deleted,
            filter: Filter::new(&query.condition, columns)?,
            groups,
            aggregates: aggregates.collect::<Result<_>>()?,
            lookups: in_order(lookups, columns.rows()),
        })
    }

    /// Whether 64 bits hold all integers that arguments are, or are computed from.
    pub(super) fn arguments_fit_64_bits(&self) -> bool {
        self.aggregates.iter().flatten().all(|aggregate| aggregate.expression.integers_fit_64_bits())
    }

    /// Whether a sum over this many rows of each argument fits 128 bits.
    pub(super) fn sums_fit(&self, rows: u128) -> Result<bool> {
        for aggregate in self.aggregates.iter().flatten() {
            let magnitude = aggregate.expression.interval()?.magnitude();
            if magnitude.checked_mul(rows).is_none_or(|total| total > i128::MAX as u128) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Filter {
    fn new(condition: &Condition, source: &dyn ColumnSource) -> Result<Filter> {
        if matches!(condition, Condition::Constant(true)) {
            return Ok(Filter::All);
        }
        let mut indexed = false;
        for column in condition.columns() {
            indexed |= source.index(column)?.is_some();
        }
        if !indexed {
            let verdicts = zone_verdicts(condition, source);
            let (codes, values) = Prepared::new(condition, source)?.of_codes_and_values();
            return Ok(Filter::Scan { codes, values, verdicts });
        }
        let found = indexed_rows(condition, source)?;
        let check = if found.candidates.is_empty() { None } else { Some(Prepared::new(condition, source)?) };
        Ok(Filter::Rows { found, check })
    }

    /// The number of rows that are known not to qualify before any code is read.
    pub(super) fn skipped(&self, rows: usize) -> SkippedRows {
        match self {
            Filter::All => SkippedRows::default(),
            Filter::Scan { verdicts, .. } => {
                let none = verdicts.iter().enumerate().filter(|(_, (some, _))| !some);
                let by_zone_maps = none.map(|(zone, _)| zone_rows(zone, rows).len() as u64).sum();
                SkippedRows { by_zone_maps, ..SkippedRows::default() }
            }
            Filter::Rows { found, .. } => {
                let left = found.sure.len() + found.candidates.len();
                SkippedRows { by_bitmaps: (rows as u64).saturating_sub(left), ..SkippedRows::default() }
            }
        }
    }
}

impl<'a> Lookup<'a> {
    fn new(number: usize, join: &'a StarJoin, source: &dyn ColumnSource, tables: &CodeTables) -> Result<Lookup<'a>> {
        let column = source.column(join.column)?;
        let integers = integer_codes(&column)?;
        let fits = |value: i128| i64::try_from(value).is_ok();
        if !fits(integers.base) || !fits(integers.value(integers.greatest)) {
            return Err(Error::invalid("a star query joins by keys of 64 bits with sign only"));
        }
        let table = tables.get(number, &join.keys, integers);
        Ok(Lookup { keys: &join.keys, table, column })
    }

    /// The part of the rows that qualify, by a sample at even distances.
    fn selectivity(&self, rows: usize) -> f64 {
        let CodedValues::Integers(integers) = self.column.values() else { return 1.0 };
        let sample = || (0..rows).step_by(rows.div_ceil(SAMPLE_ROWS).max(1));
        let qualifies = |row: &usize| {
            let key = integers.value(integers.codes.get(*row)) as i64;
            !self.column.is_null(*row) && self.keys.get(key).is_some()
        };
        sample().filter(qualifies).count() as f64 / sample().count().max(1) as f64
    }
}

/// Orders joins by rank, (selectivity − 1) / cost: the least total cost of independent filters (Hellerstein and Stonebraker:
/// "Predicate migration", 1993).
fn in_order(lookups: Vec<Lookup<'_>>, rows: usize) -> Vec<Lookup<'_>> {
    let mut ranked: Vec<(f64, Lookup<'_>)> =
        lookups.into_iter().map(|lookup| ((lookup.selectivity(rows) - 1.0) / lookup.keys.cost(), lookup)).collect();
    ranked.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    ranked.into_iter().map(|(_, lookup)| lookup).collect()
}

fn bind_column(column: Arc<CodedColumn>, part: &KeyPart) -> Result<BoundGroup<'static>> {
    let null = part.radix - 1;
    match (column.values(), &part.values) {
        (CodedValues::Integers(integers), KeyValues::Integers { min }) => {
            let offset = (integers.base - min) as u64;
            Ok(BoundGroup::Integers { offset, null, column })
        }
        (CodedValues::Dictionary { dictionary, .. }, KeyValues::Strings { codes, .. }) => {
            let mut codes: Vec<u32> = dictionary.iter().map(|value| codes[value]).collect();
            // A column of nothing but NULLs has an empty dictionary, and code 0 all the same.
            if codes.is_empty() {
                codes.push(0);
            }
            Ok(BoundGroup::Strings { codes, null, column })
        }
        // Without rows a source has no codes, and none will be asked for.
        _ if column.rows() == 0 => Ok(BoundGroup::Strings { codes: Vec::new(), null, column }),
        _ => Err(Error::invalid("a column has other types in other sources")),
    }
}

fn bind_aggregate(aggregate: &Aggregate, source: &dyn ColumnSource, ranks: &Ranks) -> Result<Option<BoundAggregate>> {
    let Some(argument) = aggregate.argument() else { return Ok(None) };
    if let (Aggregate::Count(_), Expression::Column(column)) = (aggregate, argument) {
        // Of whatever type: only whether there is a value counts.
        let column = source.column(*column)?;
        let nullable = if column.validity().is_some() { vec![column] } else { Vec::new() };
        let width = Width::Narrow { sum_fits: true };
        return Ok(Some(BoundAggregate { expression: BoundExpression::Literal(0), nullable, width }));
    }
    let expression = match (aggregate, argument) {
        (Aggregate::Min(_) | Aggregate::Max(_), Expression::Column(column)) => {
            BoundExpression::of_extreme(source.column(*column)?)
        }
        (Aggregate::MinText(_) | Aggregate::MaxText(_), Expression::Column(ordinal)) => {
            let column = source.column(*ordinal)?;
            let ranks = ranks.of_column(*ordinal, &column)?;
            BoundExpression::Ranks { column, ranks }
        }
        _ => argument.bind(source)?,
    };
    let magnitude = expression.interval()?.magnitude();
    let mut nullable = Vec::new();
    expression.nullable_columns(&mut nullable);
    let width = if expression.fits_64_bits() {
        let sum_fits = magnitude.checked_mul(BLOCK_ROWS as u128).is_some_and(|sum| sum <= i64::MAX as u128);
        Width::Narrow { sum_fits }
    } else {
        Width::Wide
    };
    Ok(Some(BoundAggregate { expression, nullable, width }))
}
