//! The cells of spatial keys, and of searches by them. The server adds these calls to keys and conditions.

use super::arguments::invalid;
use crate::library::support::{Args, Def, result};
use squall_spatial::{SpatialValue, cells};
use squall_types::{ErrorCode, Json, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("SPATIAL_KEY_CELLS", (1, 1), result::json, |args| {
        let value = SpatialValue::decode(&args.encoded(0)).ok_or_else(|| invalid(args))?;
        Ok(array(cells::of_geometry(&value)))
    }),
    Def::new("SPATIAL_KEY_SEARCH", (4, 4), result::json, search),
];

fn array(cells: Vec<u64>) -> Value {
    Json::Array(cells.into_iter().map(|cell| i64::try_from(cell).map_or(Json::UInt(cell), Json::Int)).collect())
        .to_value()
}

/// The cells of a search for a geometry. The other arguments are the name of the condition's function, whose errors it gives, the SRID
/// of the column, and whether the column is the function's first argument.
fn search(args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(1).to_lowercase();
    let value = SpatialValue::decode(&args.encoded(0));
    let value = value.ok_or_else(|| SqlError::new(ErrorCode::GisInvalidData, &[&name]))?;
    squall_spatial::srs::spatial_reference_system(value.srid)?;
    let column = args.integer(2)?;
    if i128::from(value.srid) != column {
        let own = i128::from(value.srid);
        let (first, second) = if args.integer(3)? != 0 { (column, own) } else { (own, column) };
        return Err(SqlError::new(ErrorCode::GisDifferentSrids, &[&name, &first, &second]));
    }
    Ok(array(cells::of_search(&value)))
}
