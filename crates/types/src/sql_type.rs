//! The type of a column or an expression, as MySQL declares it.

use crate::collation::CollationId;
use crate::geometry::{GeometryKind, GeometryType};
use crate::vector::DIMENSION_BYTES;
use std::sync::Arc;

/// Width of an integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntWidth {
    /// TINYINT, 1 byte.
    Tiny,
    /// SMALLINT, 2 bytes.
    Small,
    /// MEDIUMINT, 3 bytes.
    Medium,
    /// INT, 4 bytes.
    Int,
    /// BIGINT, 8 bytes.
    Big,
}

impl IntWidth {
    /// Bits of a value, its sign among them.
    pub fn bits(self) -> u32 {
        match self {
            IntWidth::Tiny => 8,
            IntWidth::Small => 16,
            IntWidth::Medium => 24,
            IntWidth::Int => 32,
            IntWidth::Big => 64,
        }
    }
}

/// CHAR, VARCHAR or TEXT, which with [`CollationId::BINARY`] are BINARY, VARBINARY and BLOB, or a spatial type or VECTOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringKind {
    /// CHAR(n)/BINARY(n).
    Char,
    /// VARCHAR(n)/VARBINARY(n).
    Varchar,
    /// TINYTEXT … LONGTEXT, TINYBLOB … LONGBLOB.
    Text(TextSize),
    /// A spatial type: a byte string of a certain form, as MySQL has it.
    Geometry(GeometryType),
    /// VECTOR(n): the bytes of a list of numbers.
    Vector,
}

/// Which of the four TEXT/BLOB sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextSize {
    /// 255 bytes.
    Tiny,
    /// 65,535 bytes.
    Normal,
    /// 16,777,215 bytes.
    Medium,
    /// 4,294,967,295 bytes.
    Long,
}

/// A MySQL type with everything that its declaration says of values (NULL-ability, defaults and keys are the column's).
///
/// How a value of each type is held: integers, `Bit`, `Year`, `Enum` (its 1-based ordinal, 0 for the empty error
/// value) and `Set` (its bit mask) as [`Value::Int`](crate::Value::Int) when signed and
/// [`Value::UInt`](crate::Value::UInt) when unsigned (`Bit`, `Year`, `Enum`, `Set` are unsigned); `Float` and `Double` as
/// `Value::Double`; strings with a character set as `Value::String`, binary ones, `Hex` and `Uuid` as `Value::Bytes`; `Timestamp` as a
/// `Value::DateTime` in the session's time zone once read, in UTC inside the stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// The type of a bare NULL.
    Null,
    /// An integer type; BOOL is TINYINT(1).
    Int {
        /// Storage width.
        width: IntWidth,
        /// UNSIGNED.
        unsigned: bool,
        /// ZEROFILL (implies unsigned).
        zerofill: bool,
        /// Declared display width, kept for TINYINT(1) and ZEROFILL only, as MySQL 8.4 shows it.
        display_width: Option<u8>,
    },
    /// DECIMAL(precision, scale): 1..=65, 0..=30.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
        /// ZEROFILL.
        zerofill: bool,
    },
    /// FLOAT, 4 bytes; `digits` is the (M,D) of FLOAT(M,D).
    Float {
        /// UNSIGNED.
        unsigned: bool,
        /// ZEROFILL.
        zerofill: bool,
        /// (M,D).
        digits: Option<(u8, u8)>,
    },
    /// DOUBLE, 8 bytes.
    Double {
        /// UNSIGNED.
        unsigned: bool,
        /// ZEROFILL.
        zerofill: bool,
        /// (M,D).
        digits: Option<(u8, u8)>,
    },
    /// BIT(width): 1..=64.
    Bit {
        /// Bits.
        width: u8,
    },
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME(fsp).
    Time {
        /// Fractional digits, 0..=6.
        fsp: u8,
    },
    /// DATETIME(fsp).
    DateTime {
        /// Fractional digits, 0..=6.
        fsp: u8,
    },
    /// TIMESTAMP(fsp).
    Timestamp {
        /// Fractional digits, 0..=6.
        fsp: u8,
    },
    /// Every character and byte string type.
    String {
        /// CHAR, VARCHAR or TEXT.
        kind: StringKind,
        /// Longest value in characters (bytes for binary strings and, for TEXT, the size's limit in bytes).
        length: u32,
        /// Collation; [`CollationId::BINARY`] makes it a byte string.
        collation: CollationId,
    },
    /// ENUM.
    Enum {
        /// Members in order.
        members: Arc<[String]>,
        /// Collation of the members.
        collation: CollationId,
    },
    /// SET.
    Set {
        /// Members in order, 64 at most.
        members: Arc<[String]>,
        /// Collation of the members.
        collation: CollationId,
    },
    /// JSON.
    Json,
    /// HEX(digits): this many hexadecimal digits, held as half as many bytes.
    Hex {
        /// Digits, an even number from 2 to [`HEX_DIGITS_MAX`](crate::hex::HEX_DIGITS_MAX).
        digits: u16,
    },
    /// UUID: 16 bytes, ordered as its text is.
    Uuid,
}

impl SqlType {
    /// BIGINT.
    pub const BIGINT: SqlType =
        SqlType::Int { width: IntWidth::Big, unsigned: false, zerofill: false, display_width: None };
    /// BIGINT UNSIGNED.
    pub const BIGINT_UNSIGNED: SqlType =
        SqlType::Int { width: IntWidth::Big, unsigned: true, zerofill: false, display_width: None };
    /// INT.
    pub const INT: SqlType =
        SqlType::Int { width: IntWidth::Int, unsigned: false, zerofill: false, display_width: None };
    /// TINYINT(1), what BOOL means and what comparisons return.
    pub const BOOL: SqlType =
        SqlType::Int { width: IntWidth::Tiny, unsigned: false, zerofill: false, display_width: Some(1) };
    /// DOUBLE.
    pub const DOUBLE: SqlType = SqlType::Double { unsigned: false, zerofill: false, digits: None };

    /// VARCHAR(length) of a collation.
    pub fn varchar(length: u32, collation: CollationId) -> SqlType {
        SqlType::String { kind: StringKind::Varchar, length, collation }
    }

    /// LONGTEXT of a collation (LONGBLOB for the binary one).
    pub fn longtext(collation: CollationId) -> SqlType {
        SqlType::String { kind: StringKind::Text(TextSize::Long), length: u32::MAX, collation }
    }

    /// The spatial type of a kind, with values of any SRID.
    pub fn geometry(kind: GeometryKind) -> SqlType {
        SqlType::of_geometry(GeometryType { kind, srid: None })
    }

    /// The type of a spatial column.
    pub fn of_geometry(geometry: GeometryType) -> SqlType {
        SqlType::String { kind: StringKind::Geometry(geometry), length: u32::MAX, collation: CollationId::BINARY }
    }

    /// What a spatial type's declaration says.
    pub fn geometry_type(&self) -> Option<GeometryType> {
        match self {
            SqlType::String { kind: StringKind::Geometry(geometry), .. } => Some(*geometry),
            _ => None,
        }
    }

    /// VECTOR(dimensions).
    pub fn vector(dimensions: u32) -> SqlType {
        let length = dimensions.saturating_mul(DIMENSION_BYTES as u32);
        SqlType::String { kind: StringKind::Vector, length, collation: CollationId::BINARY }
    }

    /// Most dimensions of values of VECTOR(n).
    pub fn vector_dimensions(&self) -> Option<u32> {
        match self {
            SqlType::String { kind: StringKind::Vector, length, .. } => Some(length / DIMENSION_BYTES as u32),
            _ => None,
        }
    }

    /// Whether the type is a spatial one.
    pub fn is_geometry(&self) -> bool {
        matches!(self, SqlType::String { kind: StringKind::Geometry(_), .. })
    }

    /// Whether the type is VECTOR(n).
    pub fn is_vector(&self) -> bool {
        matches!(self, SqlType::String { kind: StringKind::Vector, .. })
    }

    /// Whether no value of the type could stand for nothing, as 0 and the empty string do in a NOT NULL column.
    pub fn has_no_zero(&self) -> bool {
        self.geometry_type().is_some() || self.is_vector()
    }

    /// DECIMAL(precision, scale).
    pub fn decimal(precision: u8, scale: u8) -> SqlType {
        SqlType::Decimal { precision, scale, unsigned: false, zerofill: false }
    }

    /// Whether the type is an integer type (also BIT and YEAR).
    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int { .. } | SqlType::Bit { .. } | SqlType::Year)
    }

    /// Whether values are numbers: integers, decimals and floating point.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self, SqlType::Decimal { .. } | SqlType::Float { .. } | SqlType::Double { .. })
    }

    /// Whether values are dates or times.
    pub fn is_temporal(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::Time { .. } | SqlType::DateTime { .. } | SqlType::Timestamp { .. })
    }

    /// Whether values are held as character or byte strings (ENUM and SET are held as numbers).
    pub fn is_string(&self) -> bool {
        matches!(self, SqlType::String { .. })
    }

    /// Whether the type is a byte string.
    pub fn is_binary_string(&self) -> bool {
        matches!(self, SqlType::String { collation, .. } if *collation == CollationId::BINARY)
    }

    /// Whether values are unsigned integers in [`Value`](crate::Value).
    pub fn is_unsigned(&self) -> bool {
        match self {
            SqlType::Int { unsigned, .. }
            | SqlType::Decimal { unsigned, .. }
            | SqlType::Float { unsigned, .. }
            | SqlType::Double { unsigned, .. } => *unsigned,
            SqlType::Bit { .. } | SqlType::Year | SqlType::Enum { .. } | SqlType::Set { .. } => true,
            _ => false,
        }
    }

    /// The collation of a string-like type.
    pub fn collation(&self) -> Option<CollationId> {
        match self {
            SqlType::String { collation, .. } | SqlType::Enum { collation, .. } | SqlType::Set { collation, .. } => {
                Some(*collation)
            }
            SqlType::Json => Some(CollationId::UTF8MB4_BIN),
            _ => None,
        }
    }
}
