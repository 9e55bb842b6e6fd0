//! Types as text, for SHOW CREATE TABLE, SHOW COLUMNS and information_schema.

use squall_catalog::{ColumnDef, FunctionalPart, IndexType};
use squall_types::{SqlType, StringKind};

/// The type in lower case, such as `varchar(10)` or `int unsigned zerofill`; without character set.
pub fn type_text(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Null => "null".to_string(),
        SqlType::Int { display_width, unsigned, zerofill, .. } => {
            let mut text = sql_type.data_type_name().to_string();
            if let Some(width) = display_width {
                text.push_str(&format!("({width})"));
            }
            with_sign(text, *unsigned, *zerofill)
        }
        SqlType::Decimal { precision, scale, unsigned, zerofill } => {
            with_sign(format!("decimal({precision},{scale})"), *unsigned, *zerofill)
        }
        SqlType::Float { unsigned, zerofill, digits } | SqlType::Double { unsigned, zerofill, digits } => {
            let mut text = sql_type.data_type_name().to_string();
            if let Some((precision, scale)) = digits {
                text.push_str(&format!("({precision},{scale})"));
            }
            with_sign(text, *unsigned, *zerofill)
        }
        SqlType::Bit { width } => format!("bit({width})"),
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } if *fsp > 0 => {
            format!("{}({fsp})", sql_type.data_type_name())
        }
        SqlType::String { kind: StringKind::Char | StringKind::Varchar, length, .. } => {
            format!("{}({length})", sql_type.data_type_name())
        }
        SqlType::String { kind: StringKind::Vector, .. } => {
            format!("vector({})", sql_type.vector_dimensions().unwrap_or_default())
        }
        SqlType::Hex { digits } => format!("hex({digits})"),
        SqlType::Enum { members, .. } => format!("enum({})", member_list(members)),
        SqlType::Set { members, .. } => format!("set({})", member_list(members)),
        _ => sql_type.data_type_name().to_string(),
    }
}

/// Whether values have a character set that is shown (not byte strings, not JSON).
pub fn has_charset(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::String { .. } => !sql_type.is_binary_string(),
        SqlType::Enum { .. } | SqlType::Set { .. } => true,
        _ => false,
    }
}

/// ` CHARACTER SET x COLLATE y`, as far as a column differs from its table.
pub fn charset_clause(sql_type: &SqlType, table: squall_types::CollationId) -> String {
    let Some(own) = sql_type.collation().filter(|_| has_charset(sql_type)) else { return String::new() };
    if own == table {
        // MySQL names the collation of a column again when the table's is not the default of its character set.
        return if own.info().is_default { String::new() } else { format!(" COLLATE {}", own.name()) };
    }
    let mut text = format!(" CHARACTER SET {}", own.charset().name());
    if !own.info().is_default || own.charset().name() == "utf8mb4" {
        text.push_str(&format!(" COLLATE {}", own.name()));
    }
    text
}

fn with_sign(mut text: String, unsigned: bool, zerofill: bool) -> String {
    if unsigned {
        text.push_str(" unsigned");
    }
    if zerofill {
        text.push_str(" zerofill");
    }
    text
}

fn member_list(members: &[String]) -> String {
    members.iter().map(|member| format!("'{}'", member.replace('\'', "''"))).collect::<Vec<_>>().join(",")
}

/// The expression of a hidden column, as a key's definition shows it.
pub fn part_text(column: &ColumnDef) -> Option<String> {
    let expression = &column.generated.as_ref()?.expression;
    Some(match column.functional_part()? {
        FunctionalPart::Value(_) => expression.clone(),
        FunctionalPart::Cells(_) => return None,
        FunctionalPart::Elements(element) => format!("cast({expression} as {} array)", cast_name(element)),
    })
}

/// The type that clients know: MySQL has no name for how an index of documents, or of pieces of words, differs from one of words.
pub fn shown_type(index_type: IndexType) -> IndexType {
    match index_type {
        IndexType::Json | IndexType::Ngram => IndexType::FullText,
        IndexType::MultiValued => IndexType::BTree,
        IndexType::LongHash => IndexType::Hash,
        other => other,
    }
}

/// A type as CAST names it.
fn cast_name(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Int { unsigned, .. } => if *unsigned { "unsigned" } else { "signed" }.to_string(),
        SqlType::String { length, .. } if sql_type.is_binary_string() => format!("binary({length})"),
        SqlType::String { length, .. } => format!("char({length})"),
        other => type_text(other),
    }
}
