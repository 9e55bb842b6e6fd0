//! Columns as schemas of JSON.

use serde_json::{Map, Value as Json, json};
use squall_types::Value;

/// The greatest integer up to which all integers are numbers of JavaScript; greater ones are strings.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// A column, as information_schema describes it.
#[derive(Debug, Default)]
pub(super) struct Column {
    pub schema: String,
    pub table: String,
    pub is_view: bool,
    pub table_comment: String,
    pub name: String,
    data_type: String,
    column_type: String,
    pub is_nullable: bool,
    /// In characters.
    length_max: Option<u64>,
    pub has_default: bool,
    pub is_generated: bool,
    pub is_auto_increment: bool,
    privileges: String,
    comment: String,
    /// Place in the primary key, from 1.
    pub key_ordinal: Option<u64>,
}

impl Column {
    /// Of a row of `openapi::columns_of`.
    pub fn of_row(row: &[Value]) -> Option<Column> {
        let [
            schema,
            table,
            table_type,
            table_comment,
            name,
            data_type,
            column_type,
            nullable,
            length,
            default,
            rest @ ..,
        ] = row
        else {
            return None;
        };
        let [extra, privileges, comment, key_ordinal] = rest else { return None };
        let extra = text(extra);
        Some(Column {
            schema: text(schema),
            table: text(table),
            is_view: text(table_type) != "BASE TABLE",
            table_comment: text(table_comment),
            name: text(name),
            data_type: text(data_type).to_ascii_lowercase(),
            column_type: text(column_type),
            is_nullable: text(nullable) == "YES",
            length_max: number(length),
            has_default: *default != Value::Null || extra.contains("DEFAULT_GENERATED"),
            is_generated: extra.contains("VIRTUAL GENERATED") || extra.contains("STORED GENERATED"),
            is_auto_increment: extra.contains("auto_increment"),
            privileges: text(privileges),
            comment: text(comment),
            key_ordinal: number(key_ordinal),
        })
    }

    /// Whether the account has a privilege on it: `select`, `insert` or `update`.
    pub fn allows(&self, privilege: &str) -> bool {
        self.privileges.split(',').any(|one| one == privilege)
    }

    /// Whether INSERT has to name it.
    pub fn is_demanded(&self) -> bool {
        !(self.is_nullable || self.has_default || self.is_generated || self.is_auto_increment)
    }

    /// The schema of its values.
    pub fn schema(&self) -> Json {
        let mut schema = self.type_schema();
        if self.is_nullable {
            allow_null(&mut schema);
        }
        if !self.comment.is_empty() {
            schema.insert("description".to_owned(), Json::from(&*self.comment));
        }
        if self.is_generated {
            schema.insert("readOnly".to_owned(), Json::from(true));
        }
        // What JSON has no words for.
        schema.insert("x-sql-type".to_owned(), Json::from(&*self.column_type));
        Json::Object(schema)
    }

    fn type_schema(&self) -> Map<String, Json> {
        let is_unsigned = self.column_type.contains("unsigned");
        let schema = match &*self.data_type {
            "tinyint" | "smallint" | "mediumint" => json!({"type": "integer", "format": "int32"}),
            "int" if is_unsigned => json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX}),
            "int" => json!({"type": "integer", "format": "int32"}),
            "bigint" => json!({
                "type": ["integer", "string"],
                "description": format!("A string beyond {SAFE_MAX}, unless numbers=exact.")
            }),
            "year" => json!({"type": "integer", "format": "int32"}),
            "bit" => json!({"type": ["integer", "string"]}),
            "decimal" => json!({"type": ["string", "number"], "description": "A number with numbers=exact."}),
            "float" => json!({"type": "number", "format": "float"}),
            "double" => json!({"type": "number", "format": "double"}),
            "date" => json!({"type": "string", "format": "date"}),
            "json" => json!({}),
            "enum" => match enum_members(&self.column_type) {
                Some(members) => json!({"type": "string", "enum": members}),
                None => json!({"type": "string"}),
            },
            "uuid" => json!({"type": "string", "format": "uuid"}),
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => match self.length_max {
                Some(length) => json!({"type": "string", "maxLength": length}),
                None => json!({"type": "string"}),
            },
            "datetime" | "timestamp" | "time" | "set" | "inet4" | "inet6" => json!({"type": "string"}),
            // Byte strings, spatial types, VECTOR.
            _ => json!({"type": "string", "contentEncoding": "base64"}),
        };
        match schema {
            Json::Object(members) => members,
            _ => Map::new(),
        }
    }
}

/// Lets a schema have `null`, too.
fn allow_null(schema: &mut Map<String, Json>) {
    match schema.get_mut("type") {
        Some(Json::Array(types)) => types.push(Json::from("null")),
        Some(one) => *one = Json::Array(vec![one.take(), Json::from("null")]),
        None => {}
    }
    if let Some(Json::Array(members)) = schema.get_mut("enum") {
        members.push(Json::Null);
    }
}

/// The members of `enum('a','b')`.
fn enum_members(column_type: &str) -> Option<Vec<String>> {
    let list = column_type.strip_prefix("enum(")?.strip_suffix(')')?;
    let mut members = Vec::new();
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\'' {
            continue;
        }
        let mut member = String::new();
        loop {
            match characters.next()? {
                '\'' if characters.next_if_eq(&'\'').is_some() => member.push('\''),
                '\'' => break,
                other => member.push(other),
            }
        }
        members.push(member);
    }
    Some(members)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(number) => Some(*number),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(data_type: &str, column_type: &str, is_nullable: bool) -> String {
        let column = Column {
            data_type: data_type.to_owned(),
            column_type: column_type.to_owned(),
            is_nullable,
            length_max: Some(5),
            ..Column::default()
        };
        let mut schema = column.schema();
        schema.as_object_mut().expect("an object").remove("x-sql-type");
        schema.to_string()
    }

    #[test]
    fn types_are_those_of_values() {
        assert_eq!(schema("varchar", "varchar(5)", true), r#"{"type":["string","null"],"maxLength":5}"#);
        assert_eq!(schema("json", "json", true), "{}");
        assert_eq!(schema("blob", "blob", false), r#"{"type":"string","contentEncoding":"base64"}"#);
        assert_eq!(
            schema("enum", "enum('a','it''s',',')", true),
            r#"{"type":["string","null"],"enum":["a","it's",",",null]}"#
        );
        assert_eq!(
            schema("int", "int unsigned", false),
            r#"{"type":"integer","format":"int64","minimum":0,"maximum":4294967295}"#
        );
        assert!(schema("bigint", "bigint", true).starts_with(r#"{"type":["integer","string","null"]"#));
    }
}
