//! Every variable that the server shows: its least and greatest value, its default, a bad type and a bad value, in every scope, read back
//! through all tables that have it. `SQUALL_VARIABLES=all` takes all of them instead of a part.

use super::{connect, error, run, start, value};
use squall_client::{Client, ClientError};
use squall_test_support::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One in so many variables is taken in a usual run.
const PART: u64 = 20;

/// Errors that a value may meet: of its kind, its range, its scope, and what has no other value here.
const REFUSALS: [u16; 9] = [1228, 1229, 1230, 1231, 1232, 1235, 1238, 1286, 3680];

/// Variables with which the session's own queries answer otherwise, or not at all.
const CHANGES_OWN_QUERIES: [&str; 4] = ["sql_select_limit", "max_execution_time", "max_join_size", "sql_big_selects"];

/// Variables whose values each statement changes.
const OF_THE_STATEMENT: [&str; 3] = ["error_count", "timestamp", "warning_count"];

/// Its row of `data_dictionary.configuration`.
struct Variable {
    name: String,
    scope: String,
    kind: String,
    bounds: Option<(String, String)>,
    words: Vec<String>,
    is_read_only: bool,
}

fn variables(client: &mut Client) -> Vec<Variable> {
    let sql = "SELECT c.name, c.scope, c.type, c.min_value, c.max_value, c.allowed_values, s.read_only
               FROM data_dictionary.configuration c JOIN information_schema.SYSTEM_VARIABLES s ON s.variable_name = c.name
               ORDER BY c.name";
    let results = client.run(sql).expect("the variables");
    let rows = results.into_iter().next().expect("a result").1;
    let variable = |row: Vec<Option<Vec<u8>>>| {
        let mut texts = row.into_iter().map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned()));
        let mut next = || texts.next().flatten();
        Variable {
            name: next().expect("a name"),
            scope: next().expect("a scope"),
            kind: next().expect("a type"),
            bounds: next().zip(next()),
            words: next().map_or_else(Vec::new, |words| words.split(',').map(str::to_owned).collect()),
            is_read_only: next().as_deref() == Some("YES"),
        }
    };
    rows.into_iter().map(variable).collect()
}

impl Variable {
    /// What it is set to, with whether that has to be taken or refused; `None` where it depends on the variable.
    fn values(&self) -> Vec<(String, Option<bool>)> {
        let mut values = vec![("DEFAULT".to_owned(), None)];
        match &*self.kind {
            "Integer" | "Numeric" => {
                let (min, max) = self.bounds.clone().expect("a range");
                values.extend([min, max].map(|bound| (bound, None)));
                values.extend(["'text'", "'1'"].map(|text| (text.to_owned(), Some(false))));
                if self.kind == "Integer" {
                    values.push(("1.5".to_owned(), Some(false)));
                }
            }
            "Boolean" => {
                values.extend(["ON", "OFF", "1", "'off'", "TRUE"].map(|word| (word.to_owned(), None)));
                values.extend(["2", "-1", "'maybe'", "1.5", "NULL"].map(|value| (value.to_owned(), Some(false))));
            }
            "Enumeration" => {
                values.extend(self.words.iter().map(|word| (format!("'{word}'"), None)));
                values.extend(["'no such word'", "1000", "1.5", "NULL"].map(|value| (value.to_owned(), Some(false))));
            }
            "Set" => {
                values.extend(self.words.iter().map(|word| (format!("'{word}'"), None)));
                values.extend(["'no such word'", "1.5"].map(|value| (value.to_owned(), Some(false))));
            }
            // Numbers of character sets and collations are names of them.
            _ => values.extend([("1".to_owned(), None), ("1.5".to_owned(), Some(false))]),
        }
        values
    }

    fn has(&self, scope: &str) -> bool {
        self.scope == "ALL" || self.scope == scope
    }
}

/// ON is 1, and numbers have the digits that they need.
fn canonical(value: &str) -> String {
    match value {
        "ON" => "1".to_owned(),
        "OFF" => "0".to_owned(),
        // A text and NULL are both nothing.
        "NULL" => String::new(),
        value => match value.parse::<f64>() {
            Ok(number) if value.contains('.') => number.to_string(),
            _ => value.to_owned(),
        },
    }
}

/// The global value, which all tables must agree on.
fn global_value(client: &mut Client, name: &str) -> String {
    let sql = format!(
        "SELECT CONCAT_WS('\n', IFNULL(@@GLOBAL.{name}, 'NULL'),
            (SELECT IFNULL(value, 'NULL') FROM data_dictionary.configuration WHERE name = '{name}'),
            (SELECT IFNULL(global_value, 'NULL') FROM information_schema.SYSTEM_VARIABLES WHERE variable_name = '{name}'),
            (SELECT IFNULL(variable_value, 'NULL') FROM performance_schema.global_variables WHERE variable_name = '{name}'))"
    );
    agreed(client, "GLOBAL", name, &sql)
}

/// The session's value, which all tables must agree on.
fn session_value(client: &mut Client, name: &str) -> String {
    let sql = format!(
        "SELECT CONCAT_WS('\n', IFNULL(@@SESSION.{name}, 'NULL'),
            (SELECT IFNULL(session_value, 'NULL') FROM information_schema.SYSTEM_VARIABLES WHERE variable_name = '{name}'),
            (SELECT IFNULL(variable_value, 'NULL') FROM performance_schema.session_variables WHERE variable_name = '{name}'),
            (SELECT IFNULL(variable_value, 'NULL') FROM performance_schema.variables_by_thread WHERE variable_name = '{name}'))"
    );
    agreed(client, "SESSION", name, &sql)
}

fn agreed(client: &mut Client, scope: &str, name: &str, sql: &str) -> String {
    let values = value(client, sql);
    let mut values: Vec<String> = values.split('\n').map(canonical).collect();
    let sql = format!("SHOW {scope} VARIABLES WHERE Variable_name = '{name}'");
    let shown = client.run(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    if let Some(row) = shown[0].1.first() {
        values.push(canonical(&String::from_utf8_lossy(row[1].as_ref().expect("a value"))));
    }
    values.dedup();
    assert_eq!(values.len(), 1, "the tables differ on the {scope} {name}: {values:?}");
    values.remove(0)
}

/// Runs a SET. It is taken, or refused with one of the errors that a SET has.
fn set(client: &mut Client, sql: &str, must: Option<bool>) -> bool {
    match client.run(sql) {
        Ok(_) => {
            assert_ne!(must, Some(false), "taken: {sql}");
            true
        }
        Err(ClientError::Server(error)) => {
            assert!(must != Some(true) && REFUSALS.contains(&error.code), "{sql}: {error}");
            false
        }
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn check_global(client: &mut Client, variable: &Variable) {
    let name = &variable.name;
    let first = global_value(client, name);
    for (given, must) in variable.values() {
        let before = global_value(client, name);
        let is_set = set(client, &format!("SET GLOBAL {name} = {given}"), must);
        let after = global_value(client, name);
        if !is_set {
            assert_eq!(after, before, "a refused SET has changed {name}");
        }
        let kept = format!(
            "SELECT IFNULL((SELECT variable_value FROM performance_schema.persisted_variables WHERE variable_name = '{name}'), '(none)')"
        );
        let is_kept = set(client, &format!("SET PERSIST {name} = {given}"), must);
        match is_kept {
            true => assert_eq!(canonical(&value(client, &kept)), global_value(client, name), "{name} = {given}"),
            false => assert_eq!(value(client, &kept), "(none)", "{name} = {given}"),
        }
        run(client, &format!("RESET PERSIST IF EXISTS {name}"));
    }
    let _back = set(client, &format!("SET GLOBAL {name} = DEFAULT"), None);
    // What the start has set is not the default.
    if variable.is_read_only {
        assert_eq!(global_value(client, name), first);
    }
}

#[test]
fn every_variable_in_every_scope() {
    let server = start();
    let mut watcher = connect(&server);
    let takes_all = std::env::var("SQUALL_VARIABLES").is_ok_and(|which| which == "all");
    let mut random = Random::of_run("every_variable_in_every_scope");
    let all = variables(&mut watcher);
    assert!(all.len() > 600);
    let mut failures = Vec::new();
    for variable in all {
        if !takes_all && random.below(PART) > 0 {
            continue;
        }
        // The others are asked all the same.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            check_global_scope(&mut watcher, &variable);
            // Each in a session of its own: what it does to others' statements is not asked here.
            check_session_scope(&mut connect(&server), &mut watcher, &variable);
        }));
        if checked.is_err() {
            failures.push(variable.name);
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

fn check_global_scope(client: &mut Client, variable: &Variable) {
    match variable.has("GLOBAL") {
        true => check_global(client, variable),
        false => drop(error(client, &format!("SET GLOBAL {} = DEFAULT", variable.name))),
    }
}

fn check_session_scope(subject: &mut Client, watcher: &mut Client, variable: &Variable) {
    let name = &variable.name;
    if !variable.has("SESSION") {
        let refused = error(subject, &format!("SET SESSION {name} = DEFAULT"));
        assert!(refused.contains("1229") || refused.contains("1238"), "{name}: {refused}");
        return;
    }
    for (given, must) in variable.values() {
        let sql = format!("SET SESSION {name} = {given}");
        if CHANGES_OWN_QUERIES.iter().chain(&OF_THE_STATEMENT).any(|changed| changed == name) {
            set(subject, &sql, must);
            continue;
        }
        let before = session_value(subject, name);
        if !set(subject, &sql, must) {
            assert_eq!(session_value(subject, name), before, "a refused SET has changed {name}");
        } else if given == "DEFAULT" && variable.has("GLOBAL") {
            assert_eq!(session_value(subject, name), global_value(watcher, name), "{name}");
        }
    }
}
