//! The names of types.

use crate::{IntWidth, SqlType, StringKind, TextSize};

impl SqlType {
    /// The bare name of the type, as information_schema's DATA_TYPE has it: `varchar`, `int`.
    pub fn data_type_name(&self) -> &'static str {
        match self {
            SqlType::Null => "null",
            SqlType::Int { width, .. } => match width {
                IntWidth::Tiny => "tinyint",
                IntWidth::Small => "smallint",
                IntWidth::Medium => "mediumint",
                IntWidth::Int => "int",
                IntWidth::Big => "bigint",
            },
            SqlType::Decimal { .. } => "decimal",
            SqlType::Float { .. } => "float",
            SqlType::Double { .. } => "double",
            SqlType::Bit { .. } => "bit",
            SqlType::Year => "year",
            SqlType::Date => "date",
            SqlType::Time { .. } => "time",
            SqlType::DateTime { .. } => "datetime",
            SqlType::Timestamp { .. } => "timestamp",
            SqlType::String { kind, .. } => match (kind, self.is_binary_string()) {
                (StringKind::Char, false) => "char",
                (StringKind::Char, true) => "binary",
                (StringKind::Varchar, false) => "varchar",
                (StringKind::Varchar, true) => "varbinary",
                (StringKind::Text(size), false) => match size {
                    TextSize::Tiny => "tinytext",
                    TextSize::Normal => "text",
                    TextSize::Medium => "mediumtext",
                    TextSize::Long => "longtext",
                },
                (StringKind::Text(size), true) => match size {
                    TextSize::Tiny => "tinyblob",
                    TextSize::Normal => "blob",
                    TextSize::Medium => "mediumblob",
                    TextSize::Long => "longblob",
                },
                (StringKind::Geometry(geometry), _) => geometry.kind.type_name(),
                (StringKind::Vector, _) => "vector",
            },
            SqlType::Enum { .. } => "enum",
            SqlType::Set { .. } => "set",
            SqlType::Json => "json",
            SqlType::Hex { .. } => "hex",
            SqlType::Uuid => "uuid",
        }
    }
}
