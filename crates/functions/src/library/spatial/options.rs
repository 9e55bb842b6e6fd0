//! Options in a text: `axis-order=long-lat`.

use super::arguments::function;
use crate::library::support::Args;
use squall_spatial::srs::SpatialReferenceSystem;
use squall_spatial::{Geometry, shape};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Which of the two angles comes first in a text or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisOrder {
    /// As the spatial reference system has it.
    #[default]
    Defined,
    /// The longitude.
    LongLat,
    /// The latitude.
    LatLong,
}

impl AxisOrder {
    /// The order of an argument; that of the system if there is none.
    pub fn of(args: &Args<'_>, at: usize) -> SqlResult<AxisOrder> {
        if args.len() <= at {
            return Ok(AxisOrder::Defined);
        }
        let mut order = None;
        for (key, value) in options(&args.text(at), args)? {
            if !key.eq_ignore_ascii_case("axis-order") {
                return Err(SqlError::new(ErrorCode::InvalidOptionKey, &[&key, &function(args)]));
            }
            let found = match value.to_ascii_lowercase().as_str() {
                "srid-defined" => AxisOrder::Defined,
                "long-lat" => AxisOrder::LongLat,
                "lat-long" => AxisOrder::LatLong,
                _ => {
                    return Err(SqlError::new(ErrorCode::InvalidOptionValue, &[&value, &key, &function(args)]));
                }
            };
            if order.replace(found).is_some() {
                return Err(SqlError::new(ErrorCode::DuplicateOptionKey, &[&key, &function(args)]));
            }
        }
        Ok(order.unwrap_or_default())
    }

    /// A geometry as it is outside from how it is held, or the other way.
    pub fn exchanged(self, geometry: Geometry<f64>, system: &SpatialReferenceSystem) -> Geometry<f64> {
        let latitude_first = system.is_geographic() && self != AxisOrder::LongLat;
        if latitude_first { shape::swapped(&geometry) } else { geometry }
    }
}

/// `key=value`, with commas between.
fn options(text: &str, args: &Args<'_>) -> SqlResult<Vec<(String, String)>> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok(Vec::new());
    }
    for (code, end) in
        [(ErrorCode::InvalidOptionStart, text.chars().next()), (ErrorCode::InvalidOptionEnd, text.chars().last())]
    {
        if let Some(symbol) = end.filter(|symbol| matches!(symbol, ',' | '=')) {
            return Err(SqlError::new(code, &[&function(args), &symbol]));
        }
    }
    if text.contains(",,") || text.contains("==") {
        let sequence = if text.contains(",,") { ",," } else { "==" };
        return Err(SqlError::new(ErrorCode::InvalidOptionCharacters, &[&function(args), &sequence]));
    }
    text.split(',')
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if !value.contains('=') && !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok((key.trim().to_string(), value.trim().to_string()))
            }
            _ => Err(SqlError::new(ErrorCode::InvalidOptionPair, &[&pair.trim(), &"=", &function(args)])),
        })
        .collect()
}
