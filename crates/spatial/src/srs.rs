//! The spatial reference systems, and units of length.

use squall_types::{ErrorCode, SqlError, SqlResult};

/// The SRID of a plane without units, which values have that name none.
pub const PLANE: u32 = 0;
/// The SRID of WGS 84: latitude and longitude on the ellipsoid of GPS.
pub const WGS_84: u32 = 4326;
/// The SRID of the plane that maps on the web are drawn in.
pub const PSEUDO_MERCATOR: u32 = 3857;

/// What coordinates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrsKind {
    /// Lengths in a plane without a unit.
    Cartesian,
    /// Lengths in a plane that stands for a part of the earth.
    Projected,
    /// Angles on an ellipsoid: values hold the longitude first, texts and bytes that users see the latitude.
    Geographic,
}

/// A spatial reference system.
#[derive(Debug)]
pub struct SpatialReferenceSystem {
    /// Its number.
    pub srid: u32,
    /// Its name.
    pub name: &'static str,
    /// Who defined it, and their number for it.
    pub organization: Option<(&'static str, u32)>,
    /// Its definition as Well-Known Text; empty for the plane without units.
    pub definition: &'static str,
    /// What its coordinates are.
    pub kind: SrsKind,
}

impl SpatialReferenceSystem {
    /// Whether its coordinates are angles.
    pub fn is_geographic(&self) -> bool {
        self.kind == SrsKind::Geographic
    }
}

/// Every system, by its number.
pub const SYSTEMS: &[SpatialReferenceSystem] = &[
    SpatialReferenceSystem { srid: PLANE, name: "", organization: None, definition: "", kind: SrsKind::Cartesian },
    SpatialReferenceSystem {
        srid: PSEUDO_MERCATOR,
        name: "WGS 84 / Pseudo-Mercator",
        organization: Some(("EPSG", PSEUDO_MERCATOR)),
        definition: concat!(
            "PROJCS[\"WGS 84 / Pseudo-Mercator\",GEOGCS[\"WGS 84\",DATUM[\"World Geodetic System 1984\",",
            "SPHEROID[\"WGS 84\",6378137,298.257223563,AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],",
            "PRIMEM[\"Greenwich\",0,AUTHORITY[\"EPSG\",\"8901\"]],",
            "UNIT[\"degree\",0.017453292519943278,AUTHORITY[\"EPSG\",\"9122\"]],",
            "AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST],AUTHORITY[\"EPSG\",\"4326\"]],",
            "PROJECTION[\"Popular Visualisation Pseudo Mercator\",AUTHORITY[\"EPSG\",\"1024\"]],",
            "PARAMETER[\"Latitude of natural origin\",0,AUTHORITY[\"EPSG\",\"8801\"]],",
            "PARAMETER[\"Longitude of natural origin\",0,AUTHORITY[\"EPSG\",\"8802\"]],",
            "PARAMETER[\"False easting\",0,AUTHORITY[\"EPSG\",\"8806\"]],",
            "PARAMETER[\"False northing\",0,AUTHORITY[\"EPSG\",\"8807\"]],",
            "UNIT[\"metre\",1,AUTHORITY[\"EPSG\",\"9001\"]],AXIS[\"X\",EAST],AXIS[\"Y\",NORTH],AUTHORITY[\"EPSG\",\"3857\"]]",
        ),
        kind: SrsKind::Projected,
    },
    SpatialReferenceSystem {
        srid: WGS_84,
        name: "WGS 84",
        organization: Some(("EPSG", WGS_84)),
        definition: concat!(
            "GEOGCS[\"WGS 84\",DATUM[\"World Geodetic System 1984\",",
            "SPHEROID[\"WGS 84\",6378137,298.257223563,AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],",
            "PRIMEM[\"Greenwich\",0,AUTHORITY[\"EPSG\",\"8901\"]],",
            "UNIT[\"degree\",0.017453292519943278,AUTHORITY[\"EPSG\",\"9122\"]],",
            "AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST],AUTHORITY[\"EPSG\",\"4326\"]]",
        ),
        kind: SrsKind::Geographic,
    },
];

/// A system by its number; error 3548 if there is none.
pub fn spatial_reference_system(srid: u32) -> SqlResult<&'static SpatialReferenceSystem> {
    let found = SYSTEMS.iter().find(|system| system.srid == srid);
    found.ok_or_else(|| SqlError::new(ErrorCode::SrsNotFound, &[&srid]))
}

/// Units of length, with their length in metres, as `ST_UNITS_OF_MEASURE` lists them.
pub const LENGTH_UNITS: &[(&str, f64)] = &[
    ("metre", 1.0),
    ("millimetre", 0.001),
    ("centimetre", 0.01),
    ("German legal metre", 1.0000135965),
    ("foot", 0.3048),
    ("US survey foot", 0.304_800_609_601_219),
    ("Clarke's yard", 0.9143917962),
    ("Clarke's foot", 0.3047972654),
    ("British link (Sears 1922 truncated)", 0.20116756),
    ("nautical mile", 1852.0),
    ("fathom", 1.8288),
    ("US survey chain", 20.1168402336804),
    ("US survey link", 0.201168402336804),
    ("US survey mile", 1_609.347_218_694_437_4),
    ("Indian yard", 0.914_398_535_539_701),
    ("kilometre", 1000.0),
    ("Clarke's chain", 20.1166195164),
    ("Clarke's link", 0.201166195164),
    ("British yard (Benoit 1895 A)", 0.9143992),
    ("British yard (Sears 1922)", 0.914_398_414_616_028_7),
    ("British foot (Sears 1922)", 0.304_799_471_538_676_2),
    ("Gold Coast foot", 0.304_799_710_181_508_8),
    ("British chain (Sears 1922)", 20.116_765_121_552_632),
    ("yard", 0.9144),
    ("British link (Sears 1922)", 0.201_167_651_215_526_33),
    ("British foot (Benoit 1895 A)", 0.304_799_733_333_333_3),
    ("Indian foot (1962)", 0.3047996),
    ("British chain (Benoit 1895 A)", 20.1167824),
    ("chain", 20.1168),
    ("British link (Benoit 1895 A)", 0.201167824),
    ("British yard (Benoit 1895 B)", 0.914_399_204_289_812_4),
    ("British foot (Benoit 1895 B)", 0.304_799_734_763_270_8),
    ("British chain (Benoit 1895 B)", 20.116_782_494_375_873),
    ("British link (Benoit 1895 B)", 0.201_167_824_943_758_73),
    ("British foot (1865)", 0.304_800_833_333_333_35),
    ("Indian foot", 0.304_799_510_248_146_94),
    ("Indian foot (1937)", 0.30479841),
    ("Indian foot (1975)", 0.3047995),
    ("British foot (1936)", 0.3048007491),
    ("Indian yard (1937)", 0.91439523),
    ("Indian yard (1962)", 0.9143988),
    ("Indian yard (1975)", 0.9143985),
    ("Statute mile", 1609.344),
    ("British chain (Sears 1922 truncated)", 20.116756),
    ("link", 0.201168),
    ("British foot (Sears 1922 truncated)", 0.304799333333333),
    ("British yard (Sears 1922 truncated)", 0.914398),
];

/// The metres of a unit; error 3902 if there is none of that name.
pub fn metres_of_unit(name: &str) -> SqlResult<f64> {
    let found = LENGTH_UNITS.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(name));
    found.map(|(_, metres)| *metres).ok_or_else(|| SqlError::new(ErrorCode::UnitNotFound, &[&name]))
}
