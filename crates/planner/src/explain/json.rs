//! EXPLAIN FORMAT=JSON: the lines of the table form, as MySQL's document of query blocks.

use super::table::ExplainRow;
use std::fmt::Write;

/// A part of the document; members keep their order.
pub(super) enum Node {
    Number(u64),
    /// With three digits behind the point.
    Decimal(f64),
    Text(String),
    True,
    List(Vec<Node>),
    Object(Vec<(&'static str, Node)>),
}

/// The document for the lines of a plan, and the route that the statement takes.
pub fn explain_json(rows: &[ExplainRow], route: &str) -> String {
    let mut blocks: Vec<(u64, Vec<&ExplainRow>)> = Vec::new();
    for row in rows {
        let id = row.id.unwrap_or(0);
        match blocks.iter_mut().find(|(other, _)| *other == id) {
            Some((_, rows)) => rows.push(row),
            None => blocks.push((id, vec![row])),
        }
    }
    let block = match blocks.as_slice() {
        [(id, rows)] => query_block(*id, rows),
        blocks => {
            let specifications =
                blocks.iter().map(|(id, rows)| Node::Object(vec![("query_block", query_block(*id, rows))])).collect();
            let union = vec![("query_specifications", Node::List(specifications))];
            Node::Object(vec![("union_result", Node::Object(union))])
        }
    };
    let mut text = String::new();
    write_node(&Node::Object(vec![("query_block", block), ("route", Node::Text(route.into()))]), 0, &mut text);
    text
}

fn query_block(id: u64, rows: &[&ExplainRow]) -> Node {
    let mut members = vec![("select_id", Node::Number(id))];
    match rows {
        [row] if row.table.is_none() => members.push(("message", Node::Text(row.extra.join("; ")))),
        [row] => members.push(("table", table(row))),
        rows => {
            let tables = rows.iter().map(|row| Node::Object(vec![("table", table(row))])).collect();
            members.push(("nested_loop", Node::List(tables)));
        }
    }
    Node::Object(members)
}

fn table(row: &ExplainRow) -> Node {
    let mut members = Vec::new();
    let change = match row.select_type.as_str() {
        "INSERT" => Some("insert"),
        "REPLACE" => Some("replace"),
        "UPDATE" => Some("update"),
        "DELETE" => Some("delete"),
        _ => None,
    };
    members.extend(change.map(|change| (change, Node::True)));
    let mut text = |name, value: &Option<String>| {
        members.extend(value.as_ref().map(|value| (name, Node::Text(value.clone()))));
    };
    text("table_name", &row.table);
    text("access_type", &row.access_type);
    let names = |text: &str| Node::List(text.split(',').map(|name| Node::Text(name.into())).collect());
    members.extend(row.partitions.as_deref().map(|partitions| ("partitions", names(partitions))));
    members.extend(row.possible_keys.as_deref().map(|keys| ("possible_keys", names(keys))));
    members.extend(row.key.as_ref().map(|key| ("key", Node::Text(key.clone()))));
    members.extend(row.key_length.map(|length| ("key_length", Node::Text(length.to_string()))));
    members.extend(row.reference.as_deref().map(|reference| ("ref", names(reference))));
    members.extend(row.rows.map(|rows| ("rows_examined_per_scan", Node::Number(rows))));
    members.extend(row.filtered.map(|filtered| ("filtered", Node::Text(format!("{filtered:.2}")))));
    for note in &row.extra {
        members.push(match *note {
            "Using index" => ("using_index", Node::True),
            "Using where" => ("using_where", Node::True),
            "Using filesort" => ("using_filesort", Node::True),
            "Using temporary" => ("using_temporary_table", Node::True),
            "Backward index scan" => ("backward_index_scan", Node::True),
            "Not exists" => ("not_exists", Node::True),
            "Using join buffer (hash join)" => ("using_join_buffer", Node::Text("hash join".into())),
            "FirstMatch" => ("first_match", Node::True),
            other => ("message", Node::Text(other.into())),
        });
    }
    Node::Object(members)
}

pub(super) fn write_node(node: &Node, depth: usize, text: &mut String) {
    match node {
        Node::Decimal(number) => {
            let _ = write!(text, "{number:.3}");
        }
        Node::Number(number) => {
            let _ = write!(text, "{number}");
        }
        Node::Text(value) => text.push_str(&squall_types::json::quote(value)),
        Node::True => text.push_str("true"),
        Node::List(items) => write_items(items.len(), ('[', ']'), depth, text, |at, text| {
            write_node(&items[at], depth + 1, text);
        }),
        Node::Object(members) => write_items(members.len(), ('{', '}'), depth, text, |at, text| {
            let (name, value) = &members[at];
            text.push_str(&squall_types::json::quote(name));
            text.push_str(": ");
            write_node(value, depth + 1, text);
        }),
    }
}

fn write_items(
    count: usize,
    brackets: (char, char),
    depth: usize,
    text: &mut String,
    mut write_item: impl FnMut(usize, &mut String),
) {
    text.push(brackets.0);
    for at in 0..count {
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        write_item(at, text);
    }
    if count > 0 {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    }
    text.push(brackets.1);
}
