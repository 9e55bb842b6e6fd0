//! FOREIGN KEY constraints.

use super::{TestDatabase, table, with_foreign_key, with_index};
use squall_catalog::ReferentialAction;
use squall_types::SqlType;

fn family(on_delete: ReferentialAction, on_update: ReferentialAction) -> TestDatabase {
    let parent = table("parent", &[("id", SqlType::INT, false)], 1);
    let child = table("child", &[("id", SqlType::INT, false), ("p", SqlType::INT, true)], 1);
    let child = with_foreign_key(with_index(child, "p", &["p"], false), "p", "parent", |key| {
        key.on_delete = on_delete;
        key.on_update = on_update;
    });
    let mut db = TestDatabase::new(vec![parent, child]);
    db.ok("INSERT INTO parent VALUES (1), (2)");
    db.ok("INSERT INTO child VALUES (10, 1), (11, 1), (12, 2), (13, NULL)");
    db
}

#[test]
fn children_need_parents() {
    let mut db = family(ReferentialAction::NoAction, ReferentialAction::NoAction);
    let message = "1452 Cannot add or update a child row: a foreign key constraint fails (`test`.`child`, CONSTRAINT \
                   `child_ibfk_1` FOREIGN KEY (`p`) REFERENCES `parent` (`id`))";
    assert_eq!(db.fails("INSERT INTO child VALUES (14, 3)"), message);
    assert_eq!(db.fails("UPDATE child SET p = 9 WHERE id = 10"), message);
    assert!(db.fails("DELETE FROM parent WHERE id = 1").starts_with("1451 "));
    assert!(db.fails("UPDATE parent SET id = 5 WHERE id = 2").starts_with("1451 "));
    db.options.foreign_key_checks = false;
    db.ok("INSERT INTO child VALUES (14, 3)");
}

#[test]
fn actions_reach_children() {
    let mut db = family(ReferentialAction::Cascade, ReferentialAction::Cascade);
    assert_eq!(db.ok("UPDATE parent SET id = 5 WHERE id = 2").0, 1);
    assert_eq!(db.ok("DELETE FROM parent WHERE id = 1").0, 1);
    assert_eq!(db.rows("SELECT * FROM child ORDER BY id"), ["12|5", "13|NULL"]);
    let mut db = family(ReferentialAction::SetNull, ReferentialAction::SetNull);
    db.ok("DELETE FROM parent WHERE id = 1");
    db.ok("UPDATE parent SET id = 7");
    assert_eq!(db.rows("SELECT * FROM child ORDER BY id"), ["10|NULL", "11|NULL", "12|NULL", "13|NULL"]);
}
