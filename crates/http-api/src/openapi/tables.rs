//! Tables as components, and their paths.

use super::columns::Column;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;

/// Adds a table with its columns to a document; `None` for a document without paths or schemas.
pub(super) fn add(document: &mut Json, columns: &[Column]) -> Option<()> {
    let first = columns.first()?;
    let name = format!("{}.{}", component(&first.schema), component(&first.table));
    let mut key: Vec<&Column> = columns.iter().filter(|column| column.key_ordinal.is_some()).collect();
    key.sort_by_key(|column| column.key_ordinal);
    let key: Vec<&str> = key.into_iter().map(|column| &*column.name).collect();
    let schemas = document.pointer_mut("/components/schemas")?.as_object_mut()?;
    schemas.insert(name.clone(), table_schema(first, columns, &key));
    schemas.insert(format!("{name}.new"), new_schema(first, columns));
    let paths = document.get_mut("paths")?.as_object_mut()?;
    let allows = |privilege: &str| columns.iter().any(|column| column.allows(privilege));
    let path = format!("/1.0/db/{}/{}", encoded(&first.schema), encoded(&first.table));
    let mut rows = Map::new();
    if allows("select") {
        rows.insert("get".to_owned(), list(first, &name));
    }
    if allows("insert") && !first.is_view {
        rows.insert("post".to_owned(), insert(first, &name));
    }
    if !rows.is_empty() {
        paths.insert(path.clone(), Json::Object(rows));
    }
    // Only a row that can be read has a path of its own.
    if !first.is_view && !key.is_empty() && allows("select") {
        paths.insert(format!("{path}/{{key}}"), row(first, &name, &key, &allows));
    }
    Some(())
}

/// Rows as they are read.
fn table_schema(table: &Column, columns: &[Column], key: &[&str]) -> Json {
    let readable = columns.iter().filter(|column| column.allows("select"));
    let properties: Map<String, Json> = readable.map(|column| (column.name.clone(), column.schema())).collect();
    // No column is required: a page has those that its client asks for.
    let mut schema = json!({"type": "object", "title": title(table), "properties": properties});
    if let Some(members) = schema.as_object_mut() {
        if !table.table_comment.is_empty() && !table.is_view {
            members.insert("description".to_owned(), Json::from(&*table.table_comment));
        }
        if !key.is_empty() {
            members.insert("x-primary-key".to_owned(), json!(key));
        }
    }
    schema
}

/// Rows as they are sent: what INSERT may leave out is left out.
fn new_schema(table: &Column, columns: &[Column]) -> Json {
    let writable = columns.iter().filter(|column| column.allows("insert") && !column.is_generated);
    let properties: Map<String, Json> = writable.map(|column| (column.name.clone(), column.schema())).collect();
    let demanded = columns.iter().filter(|column| column.allows("insert") && column.is_demanded());
    let required: Vec<&str> = demanded.map(|column| &*column.name).collect();
    json!({"type": "object", "title": format!("new {}", title(table)), "required": required, "properties": properties})
}

fn title(table: &Column) -> String {
    format!("{}.{}", table.schema, table.table)
}

fn reference(name: &str) -> Json {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn parameters(names: &[&str]) -> Json {
    names.iter().map(|name| json!({"$ref": format!("#/components/parameters/{name}")})).collect()
}

fn of_json(schema: &Json) -> Json {
    json!({"application/json": {"schema": schema}})
}

fn operation(table: &Column, verb: &str, name: &str, summary: &str) -> Map<String, Json> {
    let mut operation = Map::new();
    operation.insert("tags".to_owned(), json!([table.schema]));
    operation.insert("operationId".to_owned(), Json::from(format!("{verb}.{name}")));
    operation.insert("summary".to_owned(), Json::from(format!("{summary} {}.", title(table))));
    operation
}

fn with(mut operation: Map<String, Json>, members: Json) -> Json {
    if let Json::Object(members) = members {
        operation.extend(members);
    }
    if let Some(Json::Object(responses)) = operation.get_mut("responses") {
        responses.insert("default".to_owned(), json!({"$ref": "#/components/responses/Problem"}));
    }
    Json::Object(operation)
}

fn list(table: &Column, name: &str) -> Json {
    let items = json!({"type": "array", "items": reference(name)});
    let items = json!({"type": "object", "required": ["items"], "properties": {"items": items}});
    let page = json!({"allOf": [reference("Page"), items]});
    with(
        operation(table, "list", name, "Rows of"),
        json!({
            "parameters": parameters(&["Limit", "Offset", "After", "Fields", "Order", "Where", "Total", "Numbers"]),
            "responses": {"200": {"description": "A page of rows.", "content": of_json(&page)}},
        }),
    )
}

fn insert(table: &Column, name: &str) -> Json {
    let (new, stored) = (reference(&format!("{name}.new")), reference(name));
    let sent = json!({"oneOf": [new, {"type": "array", "items": new}]});
    let answered = json!({"oneOf": [
        stored,
        {"type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": stored}}},
    ]});
    with(
        operation(table, "insert", name, "Stores rows of"),
        json!({
            "parameters": parameters(&["Numbers"]),
            "requestBody": {"required": true, "content": of_json(&sent)},
            "responses": {"201": {"description": "The rows as they are stored.", "content": of_json(&answered)}},
        }),
    )
}

fn row(table: &Column, name: &str, key: &[&str], allows: &dyn Fn(&str) -> bool) -> Json {
    let (new, stored) = (reference(&format!("{name}.new")), reference(name));
    let parts = key.len();
    let values = match parts {
        1 => json!({"type": "string"}),
        _ => json!({"type": "array", "items": {"type": "string"}, "minItems": parts, "maxItems": parts}),
    };
    let described = json!({
        "name": "key", "in": "path", "required": true, "style": "simple", "schema": values,
        "description": format!("Values of the primary key, with commas between: {}.", key.join(", ")),
    });
    let found = |description: &str| {
        json!({
            "description": description,
            "headers": {"ETag": {"description": "The row's entity tag.", "schema": {"type": "string"}}},
            "content": of_json(&stored),
        })
    };
    let mut item = Map::new();
    item.insert("parameters".to_owned(), json!([described]));
    item.insert(
        "get".to_owned(),
        with(
            operation(table, "get", name, "A row of"),
            json!({
                "parameters": parameters(&["Numbers", "IfNoneMatch"]),
                "responses": {"200": found("The row."), "304": {"description": "The client has it."}},
            }),
        ),
    );
    if allows("insert") && allows("update") {
        item.insert(
            "put".to_owned(),
            with(
                operation(table, "replace", name, "Replaces a row of"),
                json!({
                    "parameters": parameters(&["Numbers", "IfMatch"]),
                    "requestBody": {"required": true, "content": of_json(&new)},
                    "responses": {"200": found("The row as it is stored."), "201": found("A new row.")},
                }),
            ),
        );
    }
    if allows("update") {
        // Members that are left out stay as they are.
        let merged = json!({"type": "object"});
        item.insert(
            "patch".to_owned(),
            with(
                operation(table, "merge", name, "Changes a row of"),
                json!({
                    "parameters": parameters(&["Numbers", "IfMatch"]),
                    "requestBody": {"required": true, "content": {
                        "application/merge-patch+json": {"schema": merged}, "application/json": {"schema": merged},
                    }},
                    "responses": {"200": found("The row as it is stored.")},
                }),
            ),
        );
    }
    item.insert(
        "delete".to_owned(),
        with(
            operation(table, "delete", name, "Deletes a row of"),
            json!({
                "parameters": parameters(&["IfMatch"]),
                "responses": {"204": {"description": "The row is gone."}},
            }),
        ),
    );
    Json::Object(item)
}

/// A name as a part of a component's name, which has letters, digits, `.`, `-` and `_`: other bytes are `-` and two digits.
fn component(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => out.push(char::from(byte)),
            // Writing to a String cannot fail.
            _ => drop(write!(out, "-{byte:02x}")),
        }
    }
    out
}

/// A name as a segment of a path.
fn encoded(name: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'~');
    utf8_percent_encode(name, KEPT).to_string()
}
