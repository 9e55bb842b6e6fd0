//! Data types as written in column definitions, casts and stored programs.

use super::{Ident, SqlString};

#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    Integer {
        kind: IntegerKind,
        width: Option<u32>,
        sign: NumericSign,
    },
    /// `BOOL`, `BOOLEAN`: `TINYINT(1)` under another name.
    Boolean,
    /// `BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE`.
    Serial,
    /// `DECIMAL`, `NUMERIC`, `DEC`, `FIXED`.
    Decimal {
        precision: Option<u32>,
        scale: Option<u32>,
        sign: NumericSign,
    },
    /// `FLOAT`, `FLOAT(p)`, `FLOAT(m,d)`.
    Float {
        precision: Option<u32>,
        scale: Option<u32>,
        sign: NumericSign,
    },
    /// `DOUBLE [PRECISION]`; `REAL` unless sql_mode has REAL_AS_FLOAT.
    Double {
        precision: Option<u32>,
        scale: Option<u32>,
        sign: NumericSign,
    },
    Bit {
        width: Option<u32>,
    },
    Char {
        length: Option<u64>,
        characters: CharacterAttributes,
    },
    Varchar {
        length: u64,
        characters: CharacterAttributes,
    },
    Text {
        size: LobSize,
        length: Option<u64>,
        characters: CharacterAttributes,
    },
    Binary {
        length: Option<u64>,
    },
    Varbinary {
        length: u64,
    },
    Blob {
        size: LobSize,
        length: Option<u64>,
    },
    Enum {
        values: Vec<SqlString>,
        characters: CharacterAttributes,
    },
    Set {
        values: Vec<SqlString>,
        characters: CharacterAttributes,
    },
    Date,
    Time {
        fraction: Option<u32>,
    },
    DateTime {
        fraction: Option<u32>,
    },
    Timestamp {
        fraction: Option<u32>,
    },
    /// `YEAR`, `YEAR(4)`.
    Year {
        width: Option<u32>,
    },
    Json,
    Geometry(GeometryKind),
    Vector {
        dimensions: Option<u32>,
    },
    /// A type that is no word of the grammar: `UUID`, `INET6`, `HEX(8)`, or one that does not exist.
    Named {
        name: Ident,
        parameters: Vec<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerKind {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumericSign {
    pub unsigned: bool,
    /// Implies `unsigned`; both are set.
    pub zerofill: bool,
}

/// The size class of a TEXT or BLOB. `Plain` with a length takes the smallest class that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LobSize {
    Tiny,
    Plain,
    Medium,
    Long,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CharacterAttributes {
    /// `CHARACTER SET x`; `ASCII` is `latin1`, `UNICODE` is `ucs2`, `BYTE` is `binary`, national types are `utf8mb3`.
    pub charset: Option<Box<str>>,
    pub collation: Option<Box<str>>,
    /// The `BINARY` attribute: the character set's `_bin` collation.
    pub binary: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryKind {
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

/// The target of `CAST` and `CONVERT`.
#[derive(Clone, Debug, PartialEq)]
pub enum CastType {
    Signed,
    Unsigned,
    Char {
        length: Option<u64>,
        characters: CharacterAttributes,
    },
    Binary {
        length: Option<u64>,
    },
    Decimal {
        precision: Option<u32>,
        scale: Option<u32>,
    },
    Float {
        precision: Option<u32>,
    },
    Double,
    Real,
    Date,
    Time {
        fraction: Option<u32>,
    },
    DateTime {
        fraction: Option<u32>,
    },
    Year,
    Json,
    Geometry(GeometryKind),
    /// A type that modules or MariaDB know: `UUID`, `INET6`.
    Named {
        name: Ident,
        parameters: Vec<u64>,
    },
}
