//! References of a catalog follow changes of its tables.

use super::*;
use crate::{ColumnId, ReferentialAction};

fn table(id: u32, name: &str, parents: &[(&str, &str)]) -> TableEntry {
    let key = |(database, table): &(&str, &str)| ForeignKey {
        name: format!("{name}_{table}"),
        columns: vec![ColumnId(1)],
        parent_database: database.to_string(),
        parent_table: table.to_string(),
        parent_columns: ReferencedColumns::Ids(vec![ColumnId(1)]),
        on_delete: ReferentialAction::NoAction,
        on_update: ReferentialAction::NoAction,
    };
    TableEntry::Table(Arc::new(TableDef {
        id: TableId(id),
        name: name.into(),
        version: 1,
        columns: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: parents.iter().map(key).collect(),
        triggers: Vec::new(),
        partitioning: None,
        collation: CollationId::BINARY,
        comment: String::new(),
        engine: Default::default(),
        auto_increment_start: 0,
        options: Vec::new(),
        next_column_id: 2,
        next_index_id: 1,
        created_micros: 0,
        temporary: false,
    }))
}

fn database(name: &str, tables: Vec<TableEntry>) -> Database {
    let tables = tables.into_iter().map(|entry| (entry.name().to_string(), entry)).collect();
    Database { tables, ..Database::new(DatabaseId(1), name, CollationId::BINARY) }
}

fn children(catalog: &Catalog, database: &str, table: &str) -> Vec<String> {
    catalog
        .references_to(database, table)
        .map(|reference| format!("{}.{}.{}", reference.database.name, reference.table.name, reference.key.name))
        .collect()
}

#[test]
fn references_follow_what_is_put_in_and_taken_out() {
    let mut catalog = Catalog::default();
    catalog.put_database(database("a", vec![table(1, "p", &[("a", "p")]), table(2, "c", &[("a", "p"), ("b", "q")])]));
    catalog.put_database(database("b", vec![table(3, "d", &[("a", "p"), ("a", "p")])]));
    assert_eq!(children(&catalog, "a", "p"), ["a.c.c_p", "a.p.p_p", "b.d.d_p", "b.d.d_p"]);
    assert_eq!(children(&catalog, "b", "q"), ["a.c.c_q"]);
    let before = catalog.clone();
    // Another definition refers to another table.
    assert!(catalog.put_entry("a", table(2, "c", &[("b", "q")])));
    assert_eq!(children(&catalog, "a", "p"), ["a.p.p_p", "b.d.d_p", "b.d.d_p"]);
    assert!(catalog.remove_entry("a", "p").is_some());
    assert_eq!(children(&catalog, "a", "p"), ["b.d.d_p", "b.d.d_p"]);
    assert!(catalog.remove_database("b").is_some());
    assert_eq!(children(&catalog, "a", "p"), [""; 0]);
    catalog.put_database(database("a", Vec::new()));
    assert_eq!(children(&catalog, "b", "q"), [""; 0]);
    // The snapshot before is as it was.
    assert_eq!(children(&before, "a", "p").len(), 4);
    assert!(!catalog.put_entry("gone", table(9, "t", &[("a", "p")])));
    assert_eq!(children(&catalog, "a", "p"), [""; 0]);
}
