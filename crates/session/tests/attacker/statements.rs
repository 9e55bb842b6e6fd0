//! Random statements, with forbidden objects in all places where an expression, a query or a table can be.

use squall_test_support::random::Random;

/// Makes statements.
pub struct Generator {
    random: Random,
}

impl Generator {
    /// As of a seed.
    pub fn new(seed: u64) -> Generator {
        Generator { random: Random::new(seed) }
    }

    fn next(&mut self, below: usize) -> usize {
        self.random.below(below as u64) as usize
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.next(of.len())]
    }

    /// A table, its own or another's.
    fn table(&mut self) -> &'static str {
        self.pick(&[
            "own.t",
            "own.t",
            "own.u",
            "own.u",
            "own.asked",
            "own.shown",
            "own.mine",
            "own.made",
            "other.t",
            "other.c",
            "other.v",
            "other.part",
            "other.missing",
            "mysql.job",
        ])
    }

    fn column(&mut self) -> &'static str {
        self.pick(&["id", "n", "s"])
    }

    /// A query of one value.
    fn scalar(&mut self) -> String {
        let (table, column) = (self.table(), self.column());
        match self.next(5) {
            0 => format!("(SELECT MAX({column}) FROM {table})"),
            1 => format!("(SELECT GROUP_CONCAT({column}) FROM {table})"),
            2 => format!("(SELECT {column} FROM {table} ORDER BY 1 DESC LIMIT 1)"),
            3 => format!("(WITH c AS (SELECT {column} AS x FROM {table}) SELECT MAX(x) FROM c)"),
            _ => format!("(SELECT MAX(x.{column}) FROM {table} x WHERE x.id = 1)"),
        }
    }

    /// An expression; `depth` bounds it.
    fn expr(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.next(4) {
                0 => self.column().to_string(),
                1 => "1".to_string(),
                2 => "'a'".to_string(),
                _ => self.scalar(),
            };
        }
        let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
        match self.next(16) {
            0 => format!("CAST({a} AS SIGNED)"),
            1 => format!("CAST({a} AS DATE)"),
            2 => format!("CAST({a} AS JSON)"),
            3 => format!("CONCAT({a}, {b})"),
            4 => format!("({a} + {b})"),
            5 => format!("COALESCE(NULL, {a})"),
            6 => format!("IF({a} = {b}, {a}, {b})"),
            7 => format!("JSON_EXTRACT({a}, {b})"),
            8 => format!("REGEXP_LIKE('a', {a})"),
            9 => format!("EXISTS (SELECT 1 FROM {} WHERE {} = {a})", self.table(), self.column()),
            10 => format!("{a} IN (SELECT {} FROM {})", self.column(), self.table()),
            11 => format!("(@a := {a})"),
            12 => format!("CASE {a} WHEN {b} THEN 1 ELSE {a} END"),
            13 => format!("EXP({a})"),
            14 => format!("STR_TO_DATE({a}, '%Y')"),
            _ => a,
        }
    }

    fn query(&mut self) -> String {
        let (table, second) = (self.table(), self.table());
        let (a, b, column) = (self.expr(1), self.expr(1), self.column());
        match self.next(11) {
            0 => format!("SELECT {a} FROM {table} WHERE {b}"),
            1 => format!("SELECT * FROM {table}"),
            2 => format!("SELECT x.{column} FROM {table} x JOIN {second} y USING (id)"),
            3 => format!("SELECT COUNT(*), MAX({column}) FROM {table} GROUP BY {a} HAVING {b}"),
            4 => format!("SELECT id FROM own.t UNION SELECT {column} FROM {table}"),
            5 => format!("SELECT id FROM {table} ORDER BY {column} = {a}"),
            6 => format!("SELECT ROW_NUMBER() OVER (ORDER BY {column}) FROM {table}"),
            7 => format!("SELECT {column} FROM {table} WHERE id = 1"),
            8 => format!("SELECT id FROM {table} WHERE {column} LIKE 'x%' FOR UPDATE"),
            9 => format!("SELECT DEFAULT({column}) FROM {table}"),
            _ => format!("SELECT {a}"),
        }
    }

    fn change(&mut self) -> String {
        let (table, second) = (self.table(), self.table());
        let (a, b, column) = (self.expr(1), self.expr(1), self.column());
        let id = 10 + self.next(100_000);
        match self.next(14) {
            0 => format!("INSERT INTO {table} (id, s) VALUES ({id}, {a})"),
            1 => format!("INSERT INTO {table} (id, {column}) SELECT {id}, {column} FROM {second}"),
            2 => format!("INSERT INTO {table} (id) VALUES (1) ON DUPLICATE KEY UPDATE {column} = {a}"),
            3 => format!("INSERT INTO {table} (id) VALUES ({id}) RETURNING {a}"),
            4 => format!("REPLACE INTO {table} (id) VALUES (1) RETURNING *"),
            5 => format!("UPDATE {table} SET {column} = {a}"),
            6 => format!("UPDATE {table} x, {second} y SET x.{column} = y.{column}"),
            7 => format!("UPDATE own.t, {table} x SET x.{column} = 1"),
            8 => format!("DELETE FROM {table} WHERE {a}"),
            9 => format!("DELETE FROM {table} RETURNING *"),
            10 => format!("DELETE own.t FROM own.t JOIN {table} x ON x.{column} = {b}"),
            11 => format!("UPDATE own.t SET s = {a} WHERE {b}"),
            12 => format!("INSERT INTO own.t (id, s) VALUES ({id}, {a}) RETURNING s"),
            _ => format!("UPDATE {table} SET id = id ORDER BY {a} LIMIT 1"),
        }
    }

    fn definition(&mut self) -> String {
        let (table, query) = (self.table(), self.query());
        let (a, column) = (self.expr(1), self.column());
        match self.next(25) {
            0 => format!("CREATE OR REPLACE VIEW own.mine AS {query}"),
            1 => format!("CREATE OR REPLACE DEFINER = root@localhost VIEW own.mine AS {query}"),
            2 => format!("CREATE OR REPLACE SQL SECURITY INVOKER VIEW own.mine AS SELECT id, n, s FROM {table}"),
            3 => format!("CREATE OR REPLACE TABLE own.made AS {query}"),
            4 => format!("CREATE OR REPLACE TABLE own.made LIKE {table}"),
            5 => format!("CREATE OR REPLACE TABLE {table} (i INT)"),
            6 => format!("CREATE OR REPLACE TABLE own.made (id INT, s VARCHAR(40) DEFAULT ({a}))"),
            7 => format!("CREATE OR REPLACE TABLE own.made (id INT, FOREIGN KEY (id) REFERENCES {table} (id))"),
            8 => format!("CREATE TEMPORARY TABLE own.temporary{} AS {query}", self.next(1000)),
            9 => format!("ALTER TABLE own.t ADD CONSTRAINT FOREIGN KEY (n) REFERENCES {table} ({column})"),
            10 => format!("ALTER TABLE {table} ADD COLUMN more INT"),
            11 => format!("RENAME TABLE {table} TO own.taken"),
            12 => format!("DROP TABLE {table}"),
            13 => format!("TRUNCATE TABLE {table}"),
            14 => format!("CREATE INDEX more ON {table} ({column})"),
            15 => format!("DROP VIEW {table}"),
            16 => format!("CREATE DATABASE IF NOT EXISTS {}", self.pick(&["own", "other", "another"])),
            17 => "DROP DATABASE other".to_string(),
            18 => "CREATE OR REPLACE DATABASE other".to_string(),
            19 => format!("GRANT SELECT ON {table} TO attacker"),
            20 => format!("GRANT SELECT ON `{}`.* TO attacker", self.pick(&["other", "o%", "%", "own"])),
            21 => format!("CREATE EVENT own.e{} ON SCHEDULE AT {a} DO DO 1", self.next(1_000_000)),
            22 => format!("CREATE EVENT own.e{} ON SCHEDULE EVERY {a} HOUR STARTS {a} DO DO 1", self.next(1_000_000)),
            23 => format!("CREATE TABLE own.n{} (id INT, {})", self.next(1_000_000), self.column_definition()),
            _ => format!(
                "CREATE EVENT own.e{} ON SCHEDULE AT NOW() DO INSERT INTO own.t (s) {query}",
                self.next(1_000_000)
            ),
        }
    }

    /// A part of CREATE or ALTER TABLE with an expression in it.
    fn column_definition(&mut self) -> String {
        let (table, a, column) = (self.table(), self.expr(1), self.column());
        let name = self.pick(&["s", "n", "more"]);
        match self.next(8) {
            0 => format!("{name} VARCHAR(40) DEFAULT ({a})"),
            1 => format!("{name} VARCHAR(40) AS ({a}) STORED"),
            2 => format!("{name} VARCHAR(40) AS ({a}) VIRTUAL"),
            3 => format!("{name} INT CHECK ({a})"),
            4 => format!("{name} INT REFERENCES {table} ({column})"),
            5 => format!("{name} DATETIME DEFAULT ({a})"),
            6 => format!("{name} INT AS ({a}) STORED"),
            _ => format!("{name} JSON"),
        }
    }

    /// ALTER TABLE of what is the account's own, with expressions wherever they may stand.
    fn alteration(&mut self) -> String {
        let (own, table) = (self.pick(&["own.t", "own.u", "own.made"]), self.table());
        let (a, b, column, definition) = (self.expr(1), self.expr(1), self.column(), self.column_definition());
        match self.next(16) {
            0 => format!("ALTER TABLE {own} ORDER BY {a}"),
            1 => format!("ALTER TABLE {own} ORDER BY {column}, {b} DESC"),
            2 => format!("ALTER TABLE {own} ADD COLUMN {definition}"),
            3 => format!("ALTER TABLE {own} MODIFY {definition}"),
            4 => format!("ALTER TABLE {own} CHANGE {column} {definition}"),
            5 => format!("ALTER TABLE {own} ALTER COLUMN {column} SET DEFAULT ({a})"),
            6 => format!("ALTER TABLE {own} ADD CHECK ({a})"),
            7 => format!("ALTER TABLE {own} ADD KEY more (({a}))"),
            8 => format!("CREATE INDEX more ON {own} ((CAST({a} AS SIGNED)))"),
            9 => format!("ALTER TABLE {own} PARTITION BY HASH ({a}) PARTITIONS 2"),
            10 => format!("ALTER TABLE {own} PARTITION BY RANGE ({column}) (PARTITION p VALUES LESS THAN ({a}))"),
            11 => format!("ALTER TABLE {own} EXCHANGE PARTITION p WITH TABLE {table}"),
            12 => format!("ALTER TABLE {own} COMMENT = {a}, AUTO_INCREMENT = {b}"),
            13 => format!("ALTER TABLE {own} RENAME TO {table}"),
            14 => format!("ALTER TABLE {own} ENGINE = COLUMN, ORDER BY {a}"),
            _ => format!("CREATE OR REPLACE TABLE own.made (id INT, {definition}) SELECT 1 AS id"),
        }
    }

    fn other(&mut self) -> String {
        let (table, query) = (self.table(), self.query());
        let (a, column) = (self.expr(2), self.column());
        let show = self.pick(&[
            "VARIABLES",
            "STATUS",
            "COLLATION",
            "CHARACTER SET",
            "DATABASES",
            "TABLES FROM own",
            "EVENTS FROM own",
        ]);
        match self.next(24) {
            0 => format!("SHOW {show} WHERE {a}"),
            1 => format!("SHOW {show} WHERE CAST({} AS SIGNED) = 1", self.scalar()),
            2 => format!("SHOW CREATE TABLE {table}"),
            3 => format!("SHOW COLUMNS FROM {table} WHERE {a}"),
            4 => format!("SHOW INDEX FROM {table}"),
            5 => format!("DO {a}"),
            6 => format!("SET @b = {a}"),
            7 => format!("SET SESSION sort_buffer_size = {a}"),
            8 => format!("EXPLAIN {query}"),
            9 => format!("EXPLAIN FORMAT=TREE {query}"),
            10 => format!("PREPARE p FROM '{}'", query.replace('\'', "''")),
            11 => "EXECUTE p".to_string(),
            12 => format!("EXECUTE IMMEDIATE '{}'", query.replace('\'', "''")),
            13 => format!("CHECKSUM TABLE {table}"),
            14 => format!("CHECK TABLE {table}"),
            15 => format!("LOCK TABLES {table} WRITE; UNLOCK TABLES"),
            16 => format!("SELECT {column} INTO @a FROM {table} LIMIT 1"),
            17 => format!("BEGIN NOT ATOMIC DECLARE v VARCHAR(99) DEFAULT {a}; SET @b = v; END"),
            18 => format!("BEGIN NOT ATOMIC FOR r IN ({query}) DO SET @b = 1; END FOR; END"),
            19 => format!(
                "SELECT * FROM information_schema.{} WHERE {a}",
                self.pick(&["tables", "columns", "statistics", "jobs"])
            ),
            20 => "SELECT * FROM information_schema.processlist".to_string(),
            21 => format!("KILL {a}"),
            22 => format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {a}"),
            _ => format!("CREATE USER other{}", self.next(10)),
        }
    }

    /// A statement.
    pub fn statement(&mut self) -> String {
        match self.next(11) {
            0..3 => self.query(),
            3..6 => self.change(),
            6 => self.definition(),
            7 => self.alteration(),
            _ => self.other(),
        }
    }
}
