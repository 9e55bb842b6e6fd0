//! Column specifications: `name:type[:index options][,name:type…]`.

use crate::quote;
use std::fmt;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// FastBit's index options as they were given. They never change what a query answers.
    pub index_options: Option<String>,
}

/// A type of FastBit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 8 bits.
    Byte {
        /// Without negative numbers.
        unsigned: bool,
    },
    /// 16 bits.
    Short {
        /// Without negative numbers.
        unsigned: bool,
    },
    /// 32 bits.
    Int {
        /// Without negative numbers.
        unsigned: bool,
    },
    /// 64 bits.
    Long {
        /// Without negative numbers.
        unsigned: bool,
    },
    /// A float of 32 bits.
    Float,
    /// A float of 64 bits.
    Double,
    /// Any text.
    Text,
    /// Texts of which there are few different ones.
    Key,
}

impl ColumnType {
    /// The type of a column in SQL. Texts are compared byte by byte.
    pub fn sql(self) -> &'static str {
        match self {
            ColumnType::Byte { unsigned: false } => "TINYINT",
            ColumnType::Byte { unsigned: true } => "TINYINT UNSIGNED",
            ColumnType::Short { unsigned: false } => "SMALLINT",
            ColumnType::Short { unsigned: true } => "SMALLINT UNSIGNED",
            ColumnType::Int { unsigned: false } => "INT",
            ColumnType::Int { unsigned: true } => "INT UNSIGNED",
            ColumnType::Long { unsigned: false } => "BIGINT",
            ColumnType::Long { unsigned: true } => "BIGINT UNSIGNED",
            ColumnType::Float => "FLOAT",
            ColumnType::Double => "DOUBLE",
            ColumnType::Text | ColumnType::Key => "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        }
    }

    /// A type's name in any case, or the beginning of exactly one; none means `int`.
    fn parse(text: &str) -> Option<ColumnType> {
        let lower = text.to_ascii_lowercase();
        let words: Vec<&str> = lower.split_ascii_whitespace().collect();
        let (unsigned, word) = match words.as_slice() {
            [] => (false, "int"),
            [word] => match word.strip_prefix('u').filter(|rest| WHOLE.iter().any(|(name, _)| begins(name, rest))) {
                Some(rest) => (true, rest),
                None => (false, *word),
            },
            [first, word] if begins("unsigned", first) => (true, *word),
            [first, word] if begins("signed", first) && first.len() >= "sig".len() => (false, *word),
            _ => return None,
        };
        if let Some((_, make)) = WHOLE.iter().find(|(name, _)| begins(name, word)) {
            return Some(make(unsigned));
        }
        let other = OTHER.iter().find(|(name, _)| begins(name, word)).map(|(_, column_type)| *column_type);
        other.filter(|_| !unsigned)
    }
}

type MakeWhole = fn(bool) -> ColumnType;

/// Types of whole numbers. No two types begin with the same letter, so any beginning names one.
const WHOLE: [(&str, MakeWhole); 5] = [
    ("byte", |unsigned| ColumnType::Byte { unsigned }),
    ("short", |unsigned| ColumnType::Short { unsigned }),
    ("int", |unsigned| ColumnType::Int { unsigned }),
    ("integer", |unsigned| ColumnType::Int { unsigned }),
    ("long", |unsigned| ColumnType::Long { unsigned }),
];

/// The other types.
const OTHER: [(&str, ColumnType); 4] = [
    ("float", ColumnType::Float),
    ("double", ColumnType::Double),
    ("text", ColumnType::Text),
    ("key", ColumnType::Key),
];

/// Whether a word is the beginning of a name, or all of it.
fn begins(name: &str, word: &str) -> bool {
    !word.is_empty() && name.starts_with(word)
}

/// Why a specification is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecificationError {
    /// No column at all.
    Empty,
    /// Neither a letter nor an underscore first, or other characters than those and digits later.
    Name(String),
    /// A name twice.
    Duplicate(String),
    /// A word that is no type, with the column's name.
    Type(String, String),
    /// More columns than a table may have.
    TooMany,
}

impl fmt::Display for SpecificationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the column specification is empty"),
            Self::Name(name) => write!(f, "'{name}' is no column name"),
            Self::Duplicate(name) => write!(f, "column '{name}' is there twice"),
            Self::Type(name, word) => write!(f, "column '{name}' has the unknown type '{word}'"),
            Self::TooMany => write!(f, "more than {COLUMNS_MAX} columns"),
        }
    }
}

/// Columns of a table.
const COLUMNS_MAX: usize = 4096;
/// Characters of a column's name.
const NAME_CHARS_MAX: usize = 64;

/// Reads a column specification.
///
/// # Errors
/// If it is none.
pub fn parse_columns(text: &str) -> Result<Vec<Column>, SpecificationError> {
    let mut columns: Vec<Column> = Vec::new();
    for part in split_columns(text) {
        if columns.len() == COLUMNS_MAX {
            return Err(SpecificationError::TooMany);
        }
        let mut pieces = part.splitn(3, ':').map(str::trim);
        let name = pieces.next().unwrap_or_default();
        let word = pieces.next().unwrap_or_default();
        if !is_name(name) {
            return Err(SpecificationError::Name(name.chars().take(NAME_CHARS_MAX).collect()));
        }
        if columns.iter().any(|column| column.name.eq_ignore_ascii_case(name)) {
            return Err(SpecificationError::Duplicate(name.to_string()));
        }
        let unknown = || SpecificationError::Type(name.to_string(), word.chars().take(NAME_CHARS_MAX).collect());
        columns.push(Column {
            name: name.to_string(),
            column_type: ColumnType::parse(word).ok_or_else(unknown)?,
            index_options: pieces.next().filter(|options| !options.is_empty()).map(str::to_string),
        });
    }
    if columns.is_empty() { Err(SpecificationError::Empty) } else { Ok(columns) }
}

/// The parts between commas, but for commas within the index options' `<…>` and `(…)`; empty parts at the end are none.
fn split_columns(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.len() <= NAME_CHARS_MAX && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The columns as CREATE TABLE has them, index options as comments.
pub fn column_definitions(columns: &[Column], dialect: quote::Dialect) -> String {
    let mut out = String::new();
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote::push_name(&column.name, &mut out);
        out.push(' ');
        out.push_str(column.column_type.sql());
        if let Some(options) = &column.index_options {
            out.push_str(" COMMENT ");
            dialect.push_text(options, &mut out);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn types(text: &str) -> Vec<&'static str> {
        parse_columns(text).unwrap().iter().map(|column| column.column_type.sql()).collect()
    }

    #[test]
    fn names_of_types_and_their_beginnings() {
        assert_eq!(types("a:i,b:integer , c:INT,d,e:"), ["INT"; 5]);
        assert_eq!(types("a:ub,b:unsigned byte,c:ubyte,d:UNSIGNED b"), ["TINYINT UNSIGNED"; 4]);
        assert_eq!(types("a:s,b:ulong,c:f,d:dou"), ["SMALLINT", "BIGINT UNSIGNED", "FLOAT", "DOUBLE"]);
        assert!(types("a:text,b:key,c:t,d:k").iter().all(|text| text.starts_with("LONGTEXT")));
    }

    #[test]
    fn index_options_may_hold_commas() {
        let columns = parse_columns("a:int:<binning nbins=10,equal-weight/> <encoding equality/>,b:t:none").unwrap();
        assert_eq!(columns[0].index_options.as_deref(), Some("<binning nbins=10,equal-weight/> <encoding equality/>"));
        assert_eq!(columns[1].index_options.as_deref(), Some("none"));
        let sql = column_definitions(&columns[1..], quote::Dialect::default());
        assert_eq!(sql, "`b` LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT 'none'");
    }

    #[test]
    fn what_is_no_specification() {
        let error = |text: &str| parse_columns(text).unwrap_err().to_string();
        assert_eq!(error(""), "the column specification is empty");
        assert_eq!(error("a:foo"), "column 'a' has the unknown type 'foo'");
        assert_eq!(error("a:string"), "column 'a' has the unknown type 'string'");
        assert_eq!(error("a:unsigned text"), "column 'a' has the unknown type 'unsigned text'");
        assert_eq!(error("a:int,A:int"), "column 'A' is there twice");
        assert_eq!(error("1a:int"), "'1a' is no column name");
        assert_eq!(error("a:int,,b:int"), "'' is no column name");
        assert_eq!(error("a b:int"), "'a b' is no column name");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}", near in "[a-c:,<>()u intfloatx]{0,40}") {
            for text in [text, near] {
                let _ = parse_columns(&text);
            }
        }
    }
}
