//! Geometries, and calculations with them.
//!
//! A [`SpatialValue`] is a decoded value: a spatial reference system and a geometry. The algorithms of the plane are those of the crate
//! `geo`; this crate has MySQL's forms of geometries (text, bytes, GeoJSON, geohash), its spatial reference systems, and the projection
//! from the ellipsoid to a plane and back. It must not know tables, expressions or sessions.
//!
//! Reading order: [`srs`], [`value`], [`wkb`], [`wkt`], [`geojson`], [`geohash`], [`parts`], [`ring`], then the calculations: [`shape`],
//! [`valid`], [`ellipsoid`], [`mercator`], [`plane`], [`measure`], [`relation`], [`overlay`], [`buffer`], [`mod@line`], [`cells`].

pub mod buffer;
pub mod cells;
pub mod ellipsoid;
pub mod geohash;
pub mod geojson;
pub mod line;
pub mod measure;
pub mod mercator;
pub mod overlay;
pub mod parts;
pub mod plane;
pub mod relation;
pub mod ring;
pub mod shape;
pub mod srs;
pub mod valid;
pub mod value;
pub mod wkb;
pub mod wkt;

pub use geo::{Coord, Geometry, LineString, MultiLineString, MultiPoint, MultiPolygon, Polygon};
pub use value::SpatialValue;
