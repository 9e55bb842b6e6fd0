//! ST_COLLECT: the geometries of a group as one.

use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_spatial::{SpatialValue, valid};
use squall_statement_context::StatementContext;
use squall_types::geometry::SRID_BYTES;
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, Value};
use std::sync::Arc;

/// The kernel of ST_COLLECT.
#[derive(Debug)]
pub struct CollectKernel;

impl AggregateKernel for CollectKernel {
    fn keeps_order(&self) -> bool {
        true
    }

    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Collect::default())
    }
}

#[derive(Debug, Default)]
struct Collect {
    /// Of the first geometry.
    srid: Option<u32>,
    /// The kind of all geometries so far; `GeometryCollection` if they are of several.
    kind: Option<GeometryKind>,
    count: u32,
    /// Their Well-Known Binary, one behind the other.
    bytes: Vec<u8>,
}

impl Collect {
    fn add(&mut self, srid: u32, kind: GeometryKind, count: u32, bytes: &[u8]) -> SqlResult<()> {
        let known = *self.srid.get_or_insert(srid);
        if known != srid {
            return Err(SqlError::new(ErrorCode::GisDifferentSridsAggregation, &[&"st_collect", &known, &srid]));
        }
        let mixed = self.kind.is_some_and(|known| known != kind);
        self.kind = Some(if mixed { GeometryKind::GeometryCollection } else { kind });
        self.count = self.count.checked_add(count).ok_or_else(invalid)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

fn invalid() -> SqlError {
    SqlError::new(ErrorCode::GisInvalidData, &[&"st_collect"])
}

impl ValueAccumulator for Collect {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let bytes = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Bytes(bytes)) => bytes.as_slice(),
            Some(Value::String(text)) => text.as_bytes(),
            Some(_) => return Err(invalid()),
        };
        let value = SpatialValue::decode(bytes).ok_or_else(invalid)?;
        squall_spatial::srs::spatial_reference_system(value.srid)?;
        let kind = value.kind();
        let turned = SpatialValue { srid: value.srid, geometry: valid::oriented(value.geometry) }.encode();
        self.add(value.srid, kind, 1, &turned[SRID_BYTES..])
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let (Some(srid), Some(kind)) = (self.srid, self.kind) else { return Ok(Value::Null) };
        let kind = match kind {
            GeometryKind::Point => GeometryKind::MultiPoint,
            GeometryKind::LineString => GeometryKind::MultiLineString,
            GeometryKind::Polygon => GeometryKind::MultiPolygon,
            _ => GeometryKind::GeometryCollection,
        };
        let mut value = srid.to_le_bytes().to_vec();
        value.push(1);
        value.extend(kind.code().to_le_bytes());
        value.extend(self.count.to_le_bytes());
        value.extend_from_slice(&self.bytes);
        // Collections in collections in collections end somewhere.
        if squall_types::geometry::geometry_of_bytes(&value).is_none() {
            Err(invalid())
        } else {
            Ok(Value::Bytes(value))
        }
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let (Some(srid), Some(kind)) = (self.srid, self.kind) else { return Ok(Vec::new()) };
        let mut state = [srid, kind.code(), self.count].map(u32::to_le_bytes).concat();
        state.append(&mut self.bytes);
        *self = Collect::default();
        Ok(state)
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        let Some((head, bytes)) = state.split_first_chunk::<12>() else { return Ok(()) };
        let number = |at: usize| head[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
        let kind = GeometryKind::of_code(number(4)).ok_or_else(invalid)?;
        self.add(number(0), kind, number(8), bytes)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }
}
