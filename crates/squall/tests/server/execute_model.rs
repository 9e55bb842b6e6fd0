//! Random lists of statements in every form of EXECUTE, beside a client that runs the same statements one by one in a database of its own: tables, errors and diagnostics
//! have to be the same. The statements are such that a splitter has to know the language.
//!
//! `SQUALL_EXECUTE_LISTS=5000` makes the long run.

use super::{connect, error, run, start, value};
use squall_client::{Client, ClientError, QueryResult, ServerError};
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;

const TABLES: &str =
    "CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(200)); CREATE TABLE b (id INT AUTO_INCREMENT PRIMARY KEY, n INT)";
/// The database of the lists, and that of the model. Messages name them.
const DATABASES: [&str; 2] = ["xd", "xm"];
const SAVEPOINT: &str = "SAVEPOINT before_list";
/// As much of a statement as the note of a failure has.
const SHOWN_CHARACTERS: usize = 80;
/// A comment behind a statement is no part of it.
const BEHIND: &str = " /* ';' */";
/// The number of the note that says which statement has failed.
const FAILED_STATEMENT: &str = "50101";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Plain,
    NoReturn,
    ConcurrentWait,
    Function,
}

impl Form {
    fn is_child(self) -> bool {
        matches!(self, Form::ConcurrentWait | Form::Function)
    }
}

/// A statement of a list: what stands before it, such as comments, is a part of it.
fn statement(random: &mut Random) -> String {
    let id = random.below(12);
    let text = match random.below(4) {
        0 => "'a;b'".to_string(),
        1 => format!("'it''s {id};  \\t\\n \\\\ -- no comment'"),
        2 => "\"d;'e\\\";\"".to_string(),
        _ => "'/* ; */ $$ ; # '".to_string(),
    };
    let sql = match random.below(26) {
        0..=5 => format!("INSERT INTO a VALUES ({id}, {text})"),
        6..=7 => format!("INSERT INTO a (id, v) VALUES ({id}, {text}), ({}, {text})", id + 1),
        8 => format!("UPDATE a SET v = CONCAT(v, {text}) WHERE id < {id}"),
        9 => format!("DELETE FROM a WHERE id = {id}"),
        10 => format!("REPLACE INTO a SELECT id + 1, {text} FROM a WHERE id = {id}"),
        11 => format!("INSERT INTO b (n) VALUES ({id})"),
        12 => format!("INSERT IGNORE INTO a VALUES ({id}, REPEAT({text}, 40))"),
        13 => format!("SELECT /*; not the end */ id, v AS `c;d` FROM a WHERE v = {text} ORDER BY id"),
        14 => "SELECT * FROM `no;where`".to_string(),
        15 => format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {text}"),
        16 => format!("SELEC {text}"),
        17 => "COMMIT".to_string(),
        18 => ["BEGIN", "START TRANSACTION", "ROLLBACK", "ROLLBACK AND CHAIN"][random.below(4) as usize].to_string(),
        19 => ["SAVEPOINT s", "ROLLBACK TO s", "RELEASE SAVEPOINT s", "ROLLBACK TO o"][random.below(4) as usize]
            .to_string(),
        20 => format!(
            "CREATE PROCEDURE p{} () BEGIN DECLARE i INT DEFAULT 0; WHILE i < 2 DO SET i = i + 1; \
             IF i = 1 THEN INSERT INTO b (n) VALUES (i); ELSE BEGIN INSERT INTO a VALUES (i + {id}, {text}); END; END IF; END WHILE; END",
            random.below(2)
        ),
        21 => format!("CALL p{}()", random.below(2)),
        22 => format!("DROP PROCEDURE p{}", random.below(2)),
        23 => format!("CREATE TABLE c{} (i INT DEFAULT 5, `x;y` INT)", random.below(2)),
        24 => format!("DROP TABLE c{}", random.below(2)),
        _ => format!("SET @v = {text}, @w = COALESCE(@w, 0) + 1"),
    };
    match random.below(8) {
        0 => format!("/* a; b */ {sql}"),
        1 => format!("-- a; 'b\n{sql}"),
        2 => format!("# a; \"b\n{sql}"),
        3 => format!("{sql}{BEHIND}"),
        4 => format!("  {sql}\n"),
        _ => sql,
    }
}

/// What a statement has answered: rows as text, or how many it has changed.
type Answer = Result<(Vec<String>, u64), ServerError>;

fn ask(client: &mut Client, sql: &str) -> Answer {
    match client.run(sql) {
        Ok(results) => {
            let mut rows = Vec::new();
            let mut changed = 0;
            for (head, part) in results {
                match head {
                    QueryResult::Ok(ok) => changed += ok.affected_rows,
                    QueryResult::Rows(_) => rows.extend(part.iter().map(|row| format!("{row:?}"))),
                }
            }
            Ok((rows, changed))
        }
        Err(ClientError::Server(error)) => Err(error),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// `SHOW WARNINGS`, each as its level, number and message, without the name of the database.
fn conditions(client: &mut Client) -> Vec<[String; 3]> {
    let results = client.run("SHOW WARNINGS").expect("conditions");
    let text = |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
    let condition = |row: &Vec<Option<Vec<u8>>>| [text(&row[0]), text(&row[1]), unnamed(&text(&row[2]))];
    results[0].1.iter().map(condition).collect()
}

fn unnamed(message: &str) -> String {
    message.replace(DATABASES[1], DATABASES[0])
}

fn told(error: &ServerError) -> String {
    unnamed(&error.to_string())
}

/// Runs a list as EXECUTE ought to, statement by statement, within a transaction that is open or in one of its own: how many rows it has changed, or which statement has failed, and with what.
fn run_as_model(client: &mut Client, statements: &[String], within: bool) -> Result<u64, (usize, ServerError)> {
    run(client, if within { SAVEPOINT } else { "START TRANSACTION" });
    let mut changed = 0;
    let mut same_transaction = within;
    for (at, sql) in statements.iter().enumerate() {
        match ask(client, sql) {
            Ok((_, rows)) => changed += rows,
            Err(error) => {
                let back = within && client.run("ROLLBACK TO before_list").is_ok();
                run(client, if back { "RELEASE SAVEPOINT before_list" } else { "ROLLBACK" });
                return Err((at, error));
            }
        }
        same_transaction &= !ends_transaction(sql);
    }
    if !same_transaction {
        run(client, "COMMIT");
    } else {
        // It is gone if the list has gone behind it.
        let _gone = client.run("RELEASE SAVEPOINT before_list");
    }
    Ok(changed)
}

/// Whether a statement of [`statement`] ends the transaction that is open.
fn ends_transaction(sql: &str) -> bool {
    let is = |word: &str| sql.contains(word);
    is("COMMIT")
        || is("BEGIN") && !is("PROCEDURE")
        || is("START TRANSACTION")
        || is("CREATE ")
        || is("DROP ")
        || is("ROLLBACK") && !is("ROLLBACK TO")
}

struct Pair {
    server: TestServer,
    /// That runs lists, and the model.
    clients: [Client; 2],
}

impl Pair {
    fn new() -> Pair {
        let server = start();
        let clients = DATABASES.map(|name| {
            let mut client = connect(&server);
            run(&mut client, &format!("CREATE DATABASE {name}; USE {name}; {TABLES}"));
            client
        });
        Pair { server, clients }
    }

    fn both(&mut self, sql: &str) {
        let [lists, model] = &mut self.clients;
        let [one, other] = [ask(lists, sql), ask(model, sql)];
        assert_eq!(one.map_err(|error| told(&error)), other.map_err(|error| told(&error)), "{sql}");
    }

    /// Everything that is there. The model's savepoints are not of its own.
    fn compare(&mut self, what: &str) {
        for sql in [
            "SELECT id, HEX(v) FROM a ORDER BY id",
            "SELECT id, n FROM b ORDER BY id",
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
            "SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1",
            "SELECT @v, @w",
        ] {
            let [one, other] = self.clients.each_mut().map(|client| ask(client, sql).expect(sql));
            assert_eq!(one, other, "{sql} after {what}");
        }
    }

    fn list(&mut self, form: Form, statements: &[String], around: bool, random: &mut Random) {
        let separators: &[&str] = &[";", "; ", " ;\n", ";\t\r\n  "];
        let mut text = String::new();
        for (at, statement) in statements.iter().enumerate() {
            if at > 0 {
                text.push_str(separators[random.below(4) as usize]);
            }
            text.push_str(statement);
        }
        if form != Form::Plain && random.below(3) == 0 {
            text.push_str(" ; -- the end ;");
        }
        let quoted = format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
        let [lists, model] = &mut self.clients;
        let source = match random.below(2) {
            0 if form != Form::Function => {
                run(lists, &format!("SET @list = {quoted}"));
                "@list".to_string()
            }
            _ => quoted,
        };
        let sql = match form {
            Form::Plain => format!("EXECUTE {source}"),
            Form::NoReturn => format!("EXECUTE {source} WITH NO RETURN"),
            Form::ConcurrentWait => format!("EXECUTE {source} CONCURRENT WAIT"),
            Form::Function => format!("SELECT EXECUTE({source}) AS done"),
        };
        let answer = ask(lists, &sql);
        let told_of = conditions(lists);
        if form == Form::Plain {
            let expected = ask(model, &statements[0]);
            assert_eq!(answer.map_err(|error| told(&error)), expected.map_err(|error| told(&error)), "{sql}");
            assert_eq!(told_of, conditions(model), "{sql}");
            return;
        }
        let mut beside = form.is_child().then(|| {
            let mut client = connect(&self.server);
            run(&mut client, &format!("USE {}", DATABASES[1]));
            client
        });
        let expected = run_as_model(beside.as_mut().unwrap_or(model), statements, around);
        match expected {
            Ok(changed) => {
                let rows = if form == Form::Function { vec!["[Some([49])]".to_string()] } else { Vec::new() };
                let changed = if form == Form::Function { 0 } else { changed };
                assert_eq!(answer.map_err(|error| told(&error)), Ok((rows, changed)), "{sql}");
                assert_eq!(told_of, Vec::<[String; 3]>::new(), "{sql}");
            }
            Err((at, error)) => {
                let Err(raised) = answer else { panic!("{sql}: no error, but statement {} fails: {error}", at + 1) };
                // A syntax error tells of the rest of the list, and counts its lines.
                let near = |error: &ServerError| told(error).split(" near '").next().map(str::to_string);
                assert_eq!(near(&raised), near(&error), "{sql}");
                let shown: String = match raised.code == 1064 {
                    true => String::new(),
                    false => statements[at].trim().trim_end_matches(BEHIND).chars().take(SHOWN_CHARACTERS).collect(),
                };
                let note = &told_of[0];
                assert_eq!([&*note[0], &note[1]], ["Note", FAILED_STATEMENT], "{sql}");
                let expected = format!("Statement {} of EXECUTE failed: {shown}", at + 1);
                assert!(note[2].starts_with(&expected), "{sql}: {}, not {expected}", note[2]);
                assert_eq!(told_of.len(), 2, "{sql}: {told_of:?}");
            }
        }
    }
}

#[test]
fn lists_are_what_a_client_does_one_by_one() {
    let rounds = std::env::var("SQUALL_EXECUTE_LISTS").map_or(120, |text| text.parse().expect("a number"));
    let mut random = Random::of_run("lists_are_what_a_client_does_one_by_one");
    let mut pair = Pair::new();
    run(&mut pair.clients[0], "SET GLOBAL innodb_lock_wait_timeout = 3");
    for round in 0..rounds {
        let form = [Form::Plain, Form::NoReturn, Form::NoReturn, Form::ConcurrentWait, Form::Function]
            [random.below(5) as usize];
        let length = if form == Form::Plain { 1 } else { 1 + random.below(7) };
        let statements: Vec<_> = (0..length).map(|_| statement(&mut random)).collect();
        // A transaction of the caller around it: a child would wait for it.
        let around = !form.is_child() && random.below(3) == 0;
        if around {
            pair.both("BEGIN");
            pair.both(&format!("INSERT INTO b (n) VALUES ({round})"));
            pair.both("SAVEPOINT o");
        }
        pair.list(form, &statements, around, &mut random);
        let what = format!("round {round}, {form:?}, around: {around}: {statements:#?}");
        if around {
            pair.compare(&what);
        }
        pair.both(if random.below(2) == 0 { "COMMIT" } else { "ROLLBACK" });
        pair.compare(&what);
        if round % 10 == 9 {
            pair.both("DELETE FROM a WHERE id % 3 = 0");
        }
    }
}

#[test]
fn a_thousand_statements_and_a_megabyte() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, &format!("CREATE DATABASE d; USE d; {TABLES}"));
    let inserts: String = (0..1000).map(|id| format!("INSERT INTO a VALUES ({id}, 'a;b');")).collect();
    let quoted = inserts.replace('\'', "''");
    for form in [
        format!("SELECT EXECUTE('{quoted}')"),
        format!("EXECUTE '{quoted}' WITH NO RETURN"),
        format!("EXECUTE '{quoted}' CONCURRENT WAIT"),
    ] {
        run(&mut client, &form);
        assert_eq!(value(&mut client, "SELECT CONCAT(COUNT(*), ' ', MIN(v)) FROM a"), "1000 a;b");
        // The last one fails: nothing is left.
        run(&mut client, "DELETE FROM a");
        let refused = error(&mut client, &form.replacen("VALUES (0, ", "VALUES (999, ", 1));
        assert!(refused.starts_with("ERROR 1062 (23000): Duplicate entry '999'"), "{refused}");
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM a"), "0");
    }
    run(&mut client, "ALTER TABLE a MODIFY v LONGTEXT");
    let large = "x;".repeat(512 << 10);
    run(&mut client, &format!("SELECT EXECUTE('INSERT INTO a VALUES (1, ''{large}''); INSERT INTO b VALUES (1, 1)')"));
    assert_eq!(value(&mut client, "SELECT LENGTH(v) FROM a"), (1 << 20).to_string());
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM b"), "1");
    // A text of a megabyte of nothing but ends of statements takes no longer than its length.
    let empty = error(&mut client, &format!("EXECUTE '{}' WITH NO RETURN", ";".repeat(1 << 20)));
    assert!(empty.starts_with("ERROR 1065 (42000)"), "{empty}");
    let many = error(&mut client, &format!("EXECUTE '{}' WITH NO RETURN", "DO 1;".repeat(200_000)));
    assert!(many.starts_with("ERROR 1210 (HY000)"), "{many}");
}
