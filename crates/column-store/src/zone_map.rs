//! Zone maps: the least and greatest value of every 65,536 rows (Moerkotte: "Small materialized aggregates", 1998).

use crate::bytes::{DecodeResult, Decoder, Encoder};
use crate::coded::{Code, CodedColumn, CodedValues, with_codes};
use crate::domain::{Datum, Domain, prefix_successor};
use std::ops::Range;

/// Rows of a zone; the last zone of a segment may have fewer. It is a roaring bitmap's container, too.
pub const ZONE_ROWS: usize = 1 << 16;

/// Longer byte strings are cut in zone maps.
const BOUND_BYTES_MAX: usize = 64;

/// What is known of a column's values in one zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Rows that are NULL.
    pub null_count: u32,
    /// The bounds of the others; `None` if all are NULL.
    pub bounds: Option<Bounds>,
}

/// No value is below `min` or above `max`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// A lower bound.
    pub min: Datum,
    /// An upper bound.
    pub max: Datum,
    /// Whether both are values of the zone: false if long strings were cut.
    pub exact: bool,
}

/// The zones of one column, in row order.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ZoneMap {
    /// The zones.
    pub zones: Vec<Zone>,
}

/// The rows of a zone.
pub fn zone_rows(zone: usize, rows: usize) -> Range<usize> {
    zone * ZONE_ROWS..((zone + 1) * ZONE_ROWS).min(rows)
}

impl ZoneMap {
    /// The zones of a column.
    pub fn build(column: &CodedColumn) -> ZoneMap {
        let rows = column.rows();
        let zones = (0..rows.div_ceil(ZONE_ROWS)).map(|zone| build_zone(column, zone_rows(zone, rows)));
        ZoneMap { zones: zones.collect() }
    }

    /// NULLs of the whole column.
    pub fn null_count(&self) -> u64 {
        self.zones.iter().map(|zone| u64::from(zone.null_count)).sum()
    }

    /// The bounds of the whole column; `None` if all rows are NULL.
    pub fn bounds(&self) -> Option<Bounds> {
        self.zones.iter().filter_map(|zone| zone.bounds.clone()).reduce(|all, zone| Bounds {
            min: if zone.min.order(&all.min).is_lt() { zone.min } else { all.min },
            max: if zone.max.order(&all.max).is_gt() { zone.max } else { all.max },
            exact: all.exact && zone.exact,
        })
    }

    /// Per zone: `null_count u32`, `state u8` (0 all NULL, 1 exact, 2 cut), then `min` and `max`.
    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u32(self.zones.len() as u32);
        for zone in &self.zones {
            out.u32(zone.null_count);
            match &zone.bounds {
                None => out.u8(0),
                Some(bounds) => {
                    out.u8(if bounds.exact { 1 } else { 2 });
                    bounds.min.encode(out);
                    bounds.max.encode(out);
                }
            }
        }
    }

    pub(crate) fn decode(domain: Domain, rows: usize, input: &mut Decoder<'_>) -> DecodeResult<ZoneMap> {
        let count = input.count(5)?;
        if count != rows.div_ceil(ZONE_ROWS) {
            return Err(format!("has {count} zones for {rows} rows"));
        }
        let mut zones = Vec::with_capacity(count);
        for zone in 0..count {
            let null_count = input.u32()?;
            let zone_rows = zone_rows(zone, rows).len();
            let bounds = match input.u8()? {
                0 => None,
                exact @ (1 | 2) => {
                    let (min, max) = (Datum::decode(domain, input)?, Datum::decode(domain, input)?);
                    if min.order(&max).is_gt() {
                        return Err(format!("zone {zone} has bounds in the wrong order"));
                    }
                    Some(Bounds { min, max, exact: exact == 1 })
                }
                state => return Err(format!("zone {zone} has state {state}")),
            };
            if null_count as usize > zone_rows || bounds.is_none() != (null_count as usize == zone_rows) {
                return Err(format!("zone {zone} has {null_count} NULLs in {zone_rows} rows"));
            }
            zones.push(Zone { null_count, bounds });
        }
        Ok(ZoneMap { zones })
    }
}

fn build_zone(column: &CodedColumn, rows: Range<usize>) -> Zone {
    let present = || rows.clone().filter(|row| !column.is_null(*row));
    let null_count = match column.validity() {
        Some(validity) => validity.slice(rows.start, rows.len()).null_count() as u32,
        None => 0,
    };
    let code_bounds = |codes: &crate::coded::Codes| {
        with_codes!(codes, codes => {
            let codes = &codes[rows.clone()];
            if null_count == 0 {
                codes.iter().min().zip(codes.iter().max()).map(|(min, max)| (min.to_u64(), max.to_u64()))
            } else {
                let mut codes = present().map(|row| codes[row - rows.start].to_u64());
                codes.next().map(|first| codes.fold((first, first), |(min, max), code| (min.min(code), max.max(code))))
            }
        })
    };
    let bounds = match column.values() {
        CodedValues::Integers(integers) => code_bounds(&integers.codes).map(|(min, max)| Bounds {
            min: Datum::Integer(integers.value(min)),
            max: Datum::Integer(integers.value(max)),
            exact: true,
        }),
        CodedValues::Floats(values) => {
            let mut values = present().map(|row| values[row]);
            values
                .next()
                .map(|first| values.fold((first, first), |(min, max), value| (min.min(value), max.max(value))))
                .map(|(min, max)| Bounds { min: Datum::Float(min), max: Datum::Float(max), exact: true })
        }
        CodedValues::Dictionary { dictionary, codes } => code_bounds(codes)
            .map(|(min, max)| string_bounds(dictionary.value(min as usize), dictionary.value(max as usize))),
        CodedValues::Bytes(strings) => {
            let min = present().map(|row| strings.value(row)).min();
            let max = present().map(|row| strings.value(row)).max();
            min.zip(max).map(|(min, max)| string_bounds(min, max))
        }
    };
    Zone { null_count, bounds }
}

/// Bounds of at most [`BOUND_BYTES_MAX`] bytes where there are such.
fn string_bounds(min: &[u8], max: &[u8]) -> Bounds {
    let low = &min[..min.len().min(BOUND_BYTES_MAX)];
    let high: Box<[u8]> = match max.get(..BOUND_BYTES_MAX) {
        Some(prefix) if max.len() > BOUND_BYTES_MAX => prefix_successor(prefix).unwrap_or_else(|| max.into()),
        _ => max.into(),
    };
    let exact = low.len() == min.len() && *high == *max;
    Bounds { min: Datum::Bytes(low.into()), max: Datum::Bytes(high), exact }
}
