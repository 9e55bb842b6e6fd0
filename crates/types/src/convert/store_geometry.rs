//! Stores values into spatial columns.

use super::context::{ConversionContext, Severity, Stored};
use crate::geometry::geometry_of_bytes;
use crate::{ErrorCode, GeometryType, SqlError, Value};

/// A geometry of the column's kind and SRID; anything else is an error in every mode, as there is no geometry that could stand
/// in its place.
pub(super) fn store_geometry(value: Value, column: GeometryType, context: &ConversionContext<'_>) -> Stored {
    let found = match &value {
        Value::Bytes(bytes) => geometry_of_bytes(bytes),
        _ => None,
    };
    let error = match (found, column.srid) {
        (Some((srid, kind)), Some(expected)) if srid != expected && column.kind.takes(kind) => {
            SqlError::new(ErrorCode::WrongSridForColumn, &[&context.column, &srid, &expected])
        }
        (Some((_, kind)), _) if column.kind.takes(kind) => return Stored::plain(value),
        _ => SqlError::new(ErrorCode::CannotCreateGeometryObject, &[]),
    };
    Stored::with(Value::Null, Severity::Always, error.clone(), error)
}
