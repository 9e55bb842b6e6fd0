//! SHOW CREATE TABLE, VIEW and DATABASE: prints definitions as MySQL does.

use crate::partition_text::partitioning_text;
use crate::quoting::{quote, quote_text};
use crate::type_text::{charset_clause, part_text, shown_type, type_text};
use squall_catalog::{
    Catalog, ColumnDef, ColumnDefault, Database, ForeignKey, IndexDef, IndexType, JSON_PARSER, NGRAM_PARSER,
    ReferentialAction, SequenceRow, TableDef, ViewDef,
};
use squall_functions::operators::coerce::to_text;
use squall_parser::ast::{NameMut, Query};
use squall_registry::VirtualColumn;
use squall_types::{CollationId, SqlType, Value};

/// CREATE TABLE of a table in a database; `next_auto_increment` is shown when it is not the first value.
pub fn create_table_text(
    catalog: &Catalog,
    table: &TableDef,
    next_auto_increment: Option<u64>,
    database: &str,
) -> String {
    let mut lines: Vec<String> = table.named_columns().iter().map(|column| column_line(column, table)).collect();
    lines.extend(table.indexes.iter().map(|index| index_line(index, table)));
    lines.extend(foreign_keys_by_name(table).into_iter().map(|key| foreign_key_line(catalog, key, table, database)));
    lines.extend(table.checks.iter().map(|check| {
        let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        format!("  CONSTRAINT {} CHECK ({}){enforced}", quote(&check.name), check.expression)
    }));
    let kind = if table.temporary { "TEMPORARY TABLE" } else { "TABLE" };
    let mut text =
        format!("CREATE {kind} {} (\n{}\n) ENGINE={}", quote(&table.name), lines.join(",\n"), table.engine.as_str());
    if let Some(next) = next_auto_increment.filter(|next| *next > 1) {
        text.push_str(&format!(" AUTO_INCREMENT={next}"));
    }
    text.push_str(&format!(" DEFAULT CHARSET={}", table.collation.charset().name()));
    let is_default = table.collation.info().is_default;
    if !is_default || table.collation.charset().name() == "utf8mb4" {
        text.push_str(&format!(" COLLATE={}", table.collation.name()));
    }
    for (name, value) in &table.options {
        text.push_str(&format!(" {name}={value}"));
    }
    if !table.comment.is_empty() {
        text.push_str(&format!(" COMMENT={}", quote_text(&table.comment)));
    }
    if let Some(partitioning) = &table.partitioning {
        text.push_str(&partitioning_text(table, partitioning));
    }
    text
}

/// CREATE SEQUENCE of a sequence with this row, in MariaDB's words.
pub fn create_sequence_text(table: &TableDef, row: &SequenceRow) -> String {
    let SequenceRow { minimum, maximum, start, increment, cache, cycle, .. } = row;
    let cache = if *cache == 0 { "nocache".to_string() } else { format!("cache {cache}") };
    let cycle = if *cycle { "cycle" } else { "nocycle" };
    let mut text = format!(
        "CREATE SEQUENCE {} start with {start} minvalue {minimum} maxvalue {maximum} increment by {increment} {cache} {cycle} ENGINE={}",
        quote(&table.name),
        table.engine.as_str()
    );
    if !table.comment.is_empty() {
        text.push_str(&format!(" COMMENT={}", quote_text(&table.comment)));
    }
    text
}

/// CREATE TABLE of a table whose rows are made when they are read. Such are always there: it says so, so that dumps that have them can be
/// read again. For the logs of `mysql`, the programs that make dumps add that.
pub fn virtual_table_text(database: &str, name: &str, columns: &[VirtualColumn]) -> String {
    let line = |column: &VirtualColumn| {
        let default = if column.nullable { "DEFAULT NULL" } else { "NOT NULL" };
        let null = if column.nullable && matches!(column.sql_type, SqlType::Timestamp { .. }) { "NULL " } else { "" };
        let charset = charset_clause(&column.sql_type, CollationId::UTF8MB4_0900_AI_CI);
        format!("  {} {}{charset} {null}{default}", quote(&column.name), type_text(&column.sql_type))
    };
    let lines: Vec<String> = columns.iter().map(line).collect();
    let options = "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci";
    let clause = if database == "mysql" { "" } else { "IF NOT EXISTS " };
    format!("CREATE TABLE {clause}{} (\n{}\n) {options}", quote(name), lines.join(",\n"))
}

fn column_line(column: &ColumnDef, table: &TableDef) -> String {
    let mut line = format!("  {} {}", quote(&column.name), type_text(&column.sql_type));
    line.push_str(&charset_clause(&column.sql_type, table.collation));
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        line.push_str(&format!(" GENERATED ALWAYS AS ({}) {kind}", generated.expression));
    }
    if !column.nullable {
        line.push_str(" NOT NULL");
    } else if matches!(column.sql_type, SqlType::Timestamp { .. }) {
        line.push_str(" NULL");
    }
    if let Some(srid) = column.sql_type.geometry_type().and_then(|geometry| geometry.srid) {
        line.push_str(&format!(" /*!80003 SRID {srid} */"));
    }
    if let Some(default) = default_clause(column) {
        line.push_str(&format!(" DEFAULT {default}"));
    }
    if column.on_update_now {
        line.push_str(&format!(" ON UPDATE {}", current_timestamp(&column.sql_type)));
    }
    if column.auto_increment {
        line.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        line.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        line.push_str(&format!(" COMMENT {}", quote_text(&column.comment)));
    }
    line
}

/// `CURRENT_TIMESTAMP` with the digits of the column.
pub fn current_timestamp(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } if *fsp > 0 => format!("CURRENT_TIMESTAMP({fsp})"),
        _ => "CURRENT_TIMESTAMP".to_string(),
    }
}

fn default_clause(column: &ColumnDef) -> Option<String> {
    match &column.default {
        ColumnDefault::None => {
            let takes_null = column.nullable
                && column.generated.is_none()
                && !column.auto_increment
                && !matches!(
                    column.sql_type,
                    SqlType::String {
                        kind: squall_types::StringKind::Text(_) | squall_types::StringKind::Geometry(_),
                        ..
                    }
                );
            takes_null.then(|| "NULL".to_string())
        }
        ColumnDefault::Literal(Value::Null) => {
            let is_text = matches!(
                column.sql_type,
                SqlType::String { kind: squall_types::StringKind::Text(_) | squall_types::StringKind::Geometry(_), .. }
            );
            (!is_text).then(|| "NULL".to_string())
        }
        ColumnDefault::Literal(value) => Some(match (&column.sql_type, value) {
            (SqlType::Bit { .. }, Value::UInt(bits)) => format!("b'{bits:b}'"),
            (sql_type, Value::Bytes(bytes))
                if sql_type.digit_bytes().is_none() && std::str::from_utf8(bytes).is_err() =>
            {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("0x{hex}")
            }
            _ => quote_text(&default_text(column, value)),
        }),
        ColumnDefault::Now => Some(current_timestamp(&column.sql_type)),
        ColumnDefault::Expression(text) => Some(format!("({text})")),
    }
}

/// A default as text without quotes, as information_schema gives it.
pub fn default_text(column: &ColumnDef, value: &Value) -> String {
    match to_text(value, &column.sql_type) {
        Some(text) => text.into_owned(),
        None => String::new(),
    }
}

fn index_line(index: &IndexDef, table: &TableDef) -> String {
    let head = if index.primary {
        "PRIMARY KEY".to_string()
    } else if index.unique {
        format!("UNIQUE KEY {}", quote(&index.name))
    } else if index.is_fulltext() {
        format!("FULLTEXT KEY {}", quote(&index.name))
    } else if index.is_spatial() {
        format!("SPATIAL KEY {}", quote(&index.name))
    } else if index.is_columnar() {
        format!("COLUMNAR KEY {}", quote(&index.name))
    } else if index.is_vector() {
        format!("VECTOR KEY {}", quote(&index.name))
    } else {
        format!("KEY {}", quote(&index.name))
    };
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| {
            let mut text = table.part_column(part).map(part_name).unwrap_or_default();
            if let Some(prefix) = part.prefix {
                text.push_str(&format!("({prefix})"));
            }
            if part.descending {
                text.push_str(" DESC");
            }
            text
        })
        .collect();
    let mut line = format!("  {head} ({})", parts.join(","));
    if matches!(index.index_type, IndexType::Hash | IndexType::LongHash | IndexType::Bitmap) {
        line.push_str(&format!(" USING {}", shown_type(index.index_type).name()));
    }
    if let Some(graph) = index.vector_graph() {
        line.push_str(&format!(" M={} DISTANCE={}", graph.links, graph.metric.name()));
    }
    let parser = [(index.is_json(), JSON_PARSER), (index.is_ngram(), NGRAM_PARSER)];
    if let Some((_, parser)) = parser.into_iter().find(|(is_it, _)| *is_it) {
        line.push_str(&format!(" /*!50100 WITH PARSER {} */ ", quote(parser)));
    }
    if !index.comment.is_empty() {
        line.push_str(&format!(" COMMENT {}", quote_text(&index.comment)));
    }
    if index.invisible {
        line.push_str(" /*!80000 INVISIBLE */");
    }
    line
}

/// A column's name, or the expression of a functional key part.
fn part_name(column: &ColumnDef) -> String {
    match part_text(column) {
        Some(text) => format!("({text})"),
        None => quote(&column.name),
    }
}

/// The words of a referential action.
pub fn action_words(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
    }
}

/// The foreign keys of a table by their names, which is how all that shows them has them.
pub fn foreign_keys_by_name(table: &TableDef) -> Vec<&ForeignKey> {
    let mut keys: Vec<&ForeignKey> = table.foreign_keys.iter().collect();
    keys.sort_by_cached_key(|key| key.name.to_lowercase());
    keys
}

fn foreign_key_line(catalog: &Catalog, key: &ForeignKey, table: &TableDef, database: &str) -> String {
    let columns: Vec<String> =
        key.columns.iter().filter_map(|id| table.ordinal(*id)).map(|at| quote(&table.columns[at].name)).collect();
    let referenced = catalog.parent_of(key).map(|parent| &**parent);
    let parents: Vec<String> = key.parent_columns.names(referenced).into_iter().map(quote).collect();
    let parent = if key.parent_database == database {
        quote(&key.parent_table)
    } else {
        format!("{}.{}", quote(&key.parent_database), quote(&key.parent_table))
    };
    let mut line = format!(
        "  CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        quote(&key.name),
        columns.join(", "),
        parents.join(", ")
    );
    for (action, words) in [(key.on_delete, "ON DELETE"), (key.on_update, "ON UPDATE")] {
        // What is the default is not shown.
        if action != ReferentialAction::NoAction {
            line.push_str(&format!(" {words} {}", action_words(action)));
        }
    }
    line
}

/// CREATE VIEW.
pub fn create_view_text(view: &ViewDef, database: &str, current: Option<&str>) -> String {
    let (user, host) = view.definer.rsplit_once('@').unwrap_or((&view.definer, "%"));
    let security = if view.security_invoker { "INVOKER" } else { "DEFINER" };
    let name = if current == Some(database) {
        quote(&view.name)
    } else {
        format!("{}.{}", quote(database), quote(&view.name))
    };
    let mut query = squall_planner::parse_view(view, database).ok();
    // Names that the query does not give itself.
    let columns = match &query {
        Some(query) if query.item_aliases().is_some_and(|names| names == view.columns) => String::new(),
        _ => {
            let columns: Vec<String> = view.columns.iter().map(|column| quote(column)).collect();
            format!(" ({})", columns.join(","))
        }
    };
    let text = match query.as_mut().filter(|_| current == Some(database)) {
        Some(query) => without_database(query, database),
        None => None,
    };
    let text = text.unwrap_or_else(|| view.query.clone());
    let check = match view.check_option.as_str() {
        "LOCAL" => " WITH LOCAL CHECK OPTION",
        "CASCADED" => " WITH CASCADED CHECK OPTION",
        _ => "",
    };
    format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {security} VIEW {name}{columns} AS {}{check}",
        view.algorithm,
        quote(user),
        quote(host),
        text
    )
}

/// A query's text without the database in front of its names, if all its tables are in that one.
fn without_database(query: &mut Query, database: &str) -> Option<String> {
    let mut is_only = true;
    query.for_each_name_mut(&mut |name| {
        if let NameMut::Table(name) | NameMut::Sequence(name) = name {
            is_only &= name.schema.as_deref() == Some(database);
        }
    });
    if !is_only {
        return None;
    }
    query.for_each_name_mut(&mut |name| match name {
        NameMut::Table(name) | NameMut::Sequence(name) => name.schema = None,
        NameMut::Column(name) => name.schema = None,
        NameMut::Alias(_) | NameMut::Aggregate(_) | NameMut::Function(_) | NameMut::Condition(_) => {}
    });
    Some(query.to_string())
}

/// CREATE DATABASE.
pub fn create_database_text(database: &Database, if_not_exists: bool) -> String {
    let charset = database.collation.charset().name();
    let collation = if !database.collation.info().is_default || charset == "utf8mb4" {
        format!(" COLLATE {}", database.collation.name())
    } else {
        String::new()
    };
    let clause = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    format!(
        "CREATE DATABASE {clause}{} /*!40100 DEFAULT CHARACTER SET {charset}{collation} */ /*!80016 DEFAULT \
         ENCRYPTION='N' */",
        quote(&database.name)
    )
}
