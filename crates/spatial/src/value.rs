//! A geometry with its spatial reference system, in the form of values.

use crate::wkb;
use geo::Geometry;
use squall_types::GeometryKind;
use squall_types::geometry::SRID_BYTES;

/// A geometry of a spatial reference system, geographic ones with the longitude first.
#[derive(Clone, Debug, PartialEq)]
pub struct SpatialValue {
    /// The spatial reference system.
    pub srid: u32,
    /// The geometry.
    pub geometry: Geometry<f64>,
}

impl SpatialValue {
    /// A value's bytes; `None` if they are no geometry.
    pub fn decode(bytes: &[u8]) -> Option<SpatialValue> {
        let (srid, rest) = bytes.split_first_chunk::<SRID_BYTES>()?;
        let geometry = wkb::decode_little_endian(rest)?;
        Some(SpatialValue { srid: u32::from_le_bytes(*srid), geometry })
    }

    /// The bytes of a value.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.srid.to_le_bytes().to_vec();
        wkb::encode(&self.geometry, &mut bytes);
        bytes
    }

    /// What kind of geometry it is.
    pub fn kind(&self) -> GeometryKind {
        kind_of(&self.geometry)
    }
}

/// What kind of geometry one is.
pub fn kind_of(geometry: &Geometry<f64>) -> GeometryKind {
    match geometry {
        Geometry::Point(_) => GeometryKind::Point,
        Geometry::Line(_) | Geometry::LineString(_) => GeometryKind::LineString,
        Geometry::Polygon(_) | Geometry::Rect(_) | Geometry::Triangle(_) => GeometryKind::Polygon,
        Geometry::MultiPoint(_) => GeometryKind::MultiPoint,
        Geometry::MultiLineString(_) => GeometryKind::MultiLineString,
        Geometry::MultiPolygon(_) => GeometryKind::MultiPolygon,
        Geometry::GeometryCollection(_) => GeometryKind::GeometryCollection,
    }
}
