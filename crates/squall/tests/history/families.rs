//! Foreign keys. Each parent has the number of its children, so one query can find at any time a child without a parent, a child that a
//! cascade has missed, and a transaction that is there in part.

use crate::workload::{Failure, attempt, transact};
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use std::fmt;

const PARENTS: u64 = 12;
/// The errors of a foreign key: a row has children, or has no parent.
const REFUSALS: [u16; 2] = [1451, 1452];

/// What was done.
#[derive(Default)]
pub struct Done {
    children: u64,
    removed: u64,
    moved: u64,
    looks: u64,
}

pub fn create_tables(conn: &mut mysql::Conn) {
    for sql in [
        "CREATE TABLE history.parents (id INT PRIMARY KEY, code BIGINT NOT NULL UNIQUE, children INT NOT NULL)",
        "CREATE TABLE history.children (id BIGINT PRIMARY KEY AUTO_INCREMENT, parent INT NOT NULL, code BIGINT, \
         FOREIGN KEY (parent) REFERENCES history.parents (id) ON DELETE CASCADE, \
         FOREIGN KEY (code) REFERENCES history.parents (code) ON UPDATE CASCADE ON DELETE SET NULL)",
        "CREATE TABLE history.guards (id BIGINT PRIMARY KEY AUTO_INCREMENT, parent INT NOT NULL, \
         FOREIGN KEY (parent) REFERENCES history.parents (id))",
    ] {
        conn.query_drop(sql).expect(sql);
    }
}

fn execute(conn: &mut mysql::Conn, sql: &str) -> Result<u64, Failure> {
    match conn.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) if REFUSALS.contains(&error.code) => Err(Failure::Refused),
        result => attempt(sql, result).map(|()| conn.affected_rows()),
    }
}

/// A transaction on one family, or a look at all of them. Whether the connection is still there.
pub fn work(conn: &mut mysql::Conn, random: &mut Random, code: u64, done: &mut Done) -> bool {
    let parent = 1 + random.below(PARENTS);
    let what = random.below(8);
    if what == 0 {
        let Ok(wrong) = look(conn) else { return false };
        assert_eq!(wrong, None, "a look at families");
        done.looks += 1;
        return true;
    }
    let (mut children, mut removed, mut moved) = (0, 0, 0);
    let ended = transact(conn, |conn| {
        match what {
            1 => removed = execute(conn, &format!("DELETE FROM history.parents WHERE id = {parent}"))?,
            2 => {
                removed = execute(
                    conn,
                    &format!(
                        "DELETE p, c FROM history.parents p LEFT JOIN history.children c ON c.parent = p.id WHERE p.id = {parent}"
                    ),
                )?;
            }
            3 => moved = execute(conn, &format!("UPDATE history.parents SET code = {code} WHERE id = {parent}"))?,
            4 => {
                execute(conn, &format!("INSERT INTO history.guards (parent) VALUES ({parent})"))?;
                execute(conn, &format!("DELETE FROM history.guards WHERE parent = {parent}"))?;
            }
            _ => {
                let counts = random.below(2) == 0;
                let count = format!("UPDATE history.parents SET children = children + 1 WHERE id = {parent}");
                let mut counted = if counts { execute(conn, &count)? } else { 0 };
                if counts && counted == 0 {
                    execute(conn, &format!("INSERT INTO history.parents VALUES ({parent}, {code}, 1)"))?;
                    counted = 1;
                }
                let child = format!(
                    "INSERT INTO history.children (parent, code) SELECT id, code FROM history.parents WHERE id = {parent}"
                );
                // A parent may have gone after it was read, or another may have come.
                if execute(conn, &child)? > 0 && counted == 0 {
                    counted = execute(conn, &count)?;
                    assert_eq!(counted, 1, "a parent of a child of this transaction is gone");
                }
                children = counted;
            }
        }
        Ok(random.below(10) > 0)
    });
    done.children += children;
    done.removed += removed;
    done.moved += moved;
    ended.is_ok()
}

/// What is wrong with families at this moment, if anything is.
pub fn look(conn: &mut mysql::Conn) -> Result<Option<String>, Failure> {
    let count = "SELECT CONCAT('parent ', p.id, ' has ', COUNT(c.id), ' children of ', p.children) FROM history.parents p \
                 LEFT JOIN history.children c ON c.parent = p.id GROUP BY p.id, p.children HAVING COUNT(c.id) <> p.children";
    let orphan = "SELECT CONCAT('child ', c.id, ' has no parent ', c.parent) FROM history.children c \
                  LEFT JOIN history.parents p ON p.id = c.parent WHERE p.id IS NULL";
    let code = "SELECT CONCAT('child ', c.id, ' has no code ', c.code) FROM history.children c \
                LEFT JOIN history.parents p ON p.code = c.code WHERE c.code IS NOT NULL AND p.id IS NULL";
    let guard = "SELECT CONCAT('guard ', g.id, ' has no parent ', g.parent) FROM history.guards g \
                 LEFT JOIN history.parents p ON p.id = g.parent WHERE p.id IS NULL";
    for sql in [count, orphan, code, guard] {
        match attempt(sql, conn.query_first::<String, _>(sql)) {
            Ok(None) | Err(Failure::Refused) => {}
            Ok(wrong) => return Ok(wrong),
            Err(Failure::Broken) => return Err(Failure::Broken),
        }
    }
    Ok(None)
}

impl Done {
    pub fn add(&mut self, other: Done) {
        self.children += other.children;
        self.removed += other.removed;
        self.moved += other.moved;
        self.looks += other.looks;
    }

    /// Whether all was done at least once.
    pub fn is_enough(&self) -> bool {
        [self.children, self.removed, self.moved, self.looks].iter().all(|count| *count > 0)
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { children, removed, moved, looks } = self;
        write!(f, "families: {children} children, {removed} rows removed, {moved} codes changed, {looks} looks")
    }
}
