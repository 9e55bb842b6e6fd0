//! A plan of the full planner that was made for other values gives the same answers as one that is made for these.

use super::two_ways::{Answer, Choices, TABLES, answer, change, fill, query_of_planner};
use super::{connect, run, start, value};
use squall_client::Client;
use squall_test_support::random::Random;

/// Queries, and how often each is asked with other literals.
const QUERIES: usize = 80;
const ROUNDS: usize = 12;

/// Integers: of rows, of no rows, and beyond the types of columns.
const INTEGERS: [&str; 12] =
    ["0", "1", "3", "5", "11", "17", "40", "69", "70", "200", "2147483648", "999999999999999999"];
const WORDS: [&str; 8] = ["a", "AB", "b", "B ", "", "Z", "q3", "23"];
const DATES: [&str; 6] =
    ["2024-01-05", "2024-01-10 10:30:00", "2024-02-10", "2023-01-01", "2024-02-30", "2024-01-05 10:00:00.5"];
const TIMES: [&str; 4] = ["05:00:00", "10:00:00", "23:59:59", "-01:00:00"];

/// A text with other literals of the same kinds. Those that name columns by their places, and pairs of constants, stay.
fn with_other_literals(sql: &str, random: &mut Choices) -> String {
    let mut other = String::new();
    let mut rest = sql;
    while let Some(at) = rest.find(|character: char| character.is_ascii_digit() || character == '\'') {
        let (before, literal) = rest.split_at(at);
        other.push_str(before);
        let is_text = literal.starts_with('\'');
        let length = match is_text {
            true => 2 + literal[1..].find('\'').expect("the end of a text"),
            false => literal.find(|character: char| !character.is_ascii_digit()).unwrap_or(literal.len()),
        };
        let (literal, after) = literal.split_at(length);
        rest = after;
        let compares =
            ["= ", "< ", "> ", "(", ", ", "-", "AND ", "LIMIT ", "> -"].iter().any(|end| before.ends_with(end));
        let ends = after.starts_with([' ', ')', ',']) || after.is_empty();
        let is_position = before.contains(" BY ") || other.contains(" ORDER BY ") && !other.contains("LIMIT");
        let stays = !compares || !ends || is_position || after.starts_with(" = ") || before.ends_with("1 = ");
        let content = literal.trim_matches('\'');
        match (stays, is_text) {
            (true, _) => other.push_str(literal),
            (_, false) => other.push_str(random.of(&INTEGERS)),
            (_, true) if content.starts_with("20") => other.push_str(&format!("'{}'", random.of(&DATES))),
            (_, true) if content.contains(':') => other.push_str(&format!("'{}'", random.of(&TIMES))),
            (_, true) if random.one_in(20) => other.push_str(&format!("'{}'", "long".repeat(300))),
            (_, true) => other.push_str(&format!("'{}'", random.of(&WORDS))),
        }
    }
    other + rest
}

fn sorted(mut answer: Answer, is_ordered: bool) -> Answer {
    if let (false, Ok((_, rows))) = (is_ordered, &mut answer) {
        rows.sort();
    }
    answer
}

/// The number of executions by cached plans of the full planner.
fn hits(client: &mut Client) -> u32 {
    let sql = "SELECT COALESCE(SUM(HITS), 0) FROM information_schema.PLAN_CACHE WHERE PLAN_KIND = 'full planner'";
    value(client, sql).parse().expect("a number")
}

#[test]
fn plans_hold_for_other_literals() {
    let server = start();
    let (mut client, mut other) = (connect(&server), connect(&server));
    let mut random = Choices(Random::of_run("plans_hold_for_other_literals"));
    run(&mut client, TABLES);
    run(&mut other, "USE d; SET time_zone = '+02:00'");
    fill(&mut client, &mut random);
    let queries: Vec<_> = (0..QUERIES).map(|_| query_of_planner(&mut random)).collect();
    // Estimates know no parameters (0071). So a plan may join or read in another order than one by literals, and warn of other rows.
    let mut other_warnings = 0;
    for round in 0..ROUNDS {
        for (sql, is_ordered) in &queries {
            let sql = with_other_literals(sql, &mut random);
            // A text that comes once has a plan of its own.
            let new = sorted(answer(&mut client, &format!("{sql} -- {round}")), *is_ordered);
            let warnings = value(&mut client, "SELECT @@warning_count");
            let asking = if random.one_in(3) { &mut other } else { &mut client };
            let cached = sorted(answer(asking, &sql), *is_ordered);
            other_warnings += u32::from(value(asking, "SELECT @@warning_count") != warnings);
            assert_eq!(cached, new, "{round}: {sql}");
        }
        if round % 4 == 3 && round + 1 < ROUNDS {
            (0..random.below(6)).for_each(|number| change(&mut client, &mut random, round * 6 + number));
        }
    }
    assert!(other_warnings * 200 <= (QUERIES * ROUNDS) as u32, "{other_warnings} queries had other warnings");
    let hits = hits(&mut client);
    assert!(hits > 150, "{hits} of {} executions were by a cached plan", QUERIES * ROUNDS);
}

/// Queries with two parameters, and values for each of them.
const PREPARED: [(&str, &[&str], &[&str]); 7] = [
    (
        "SELECT t.id, u.y FROM t JOIN u ON u.x = t.a WHERE t.id > ? AND u.y < ? ORDER BY t.id, u.y, u.x",
        &NUMBERS,
        &NUMBERS,
    ),
    ("SELECT a, COUNT(*), MIN(b) FROM t WHERE id BETWEEN ? AND ? GROUP BY a ORDER BY a", &NUMBERS, &NUMBERS),
    ("SELECT id FROM t WHERE b = ? OR e = ? ORDER BY id", &TEXTS, &["'x'", "'y'", "2", "NULL", "'none'"]),
    ("SELECT x, dt FROM u WHERE dt >= ? AND s <> ? ORDER BY x, y", &MOMENTS, &TEXTS),
    (
        "SELECT id, (SELECT MAX(y) FROM u WHERE x = t.a AND y < ?) AS m FROM t WHERE a IN (?, 3) ORDER BY id",
        &NUMBERS,
        &NUMBERS,
    ),
    ("SELECT id FROM t WHERE a = ? ORDER BY id DESC LIMIT ?", &NUMBERS, &["0", "1", "3", "100"]),
    ("SELECT id, d FROM t WHERE d > ? AND ts < ? ORDER BY id", &["3", "4.50", "'7.25'", "1e1", "NULL"], &MOMENTS),
];
const NUMBERS: [&str; 12] =
    ["0", "5", "-1", "17", "60", "69", "NULL", "'23'", "7.5", "1e1", "18446744073709551615", "-9223372036854775808"];
const TEXTS: [&str; 6] = ["'a'", "'AB'", "''", "NULL", "5", "'ä'"];
const MOMENTS: [&str; 6] =
    ["'2024-01-10'", "'2024-02-10 00:00:00'", "NULL", "'never'", "20240215", "TIMESTAMP'2024-02-11 00:00:00'"];

#[test]
fn prepared_plans_hold_for_other_values() {
    let server = start();
    let mut client = connect(&server);
    let mut random = Choices(Random::of_run("prepared_plans_hold_for_other_values"));
    run(&mut client, TABLES);
    fill(&mut client, &mut random);
    // Every query goes to the full planner.
    let unused = "WITH unused AS (SELECT 1) ";
    for (number, (sql, _, _)) in PREPARED.iter().enumerate() {
        run(&mut client, &format!("PREPARE p{number} FROM '{unused}{sql}'"));
    }
    for round in 0..40 {
        for (number, (sql, firsts, seconds)) in PREPARED.iter().enumerate() {
            let (first, second) = (random.of(firsts), random.of(seconds));
            run(&mut client, &format!("SET @a = {first}, @b = {second}"));
            run(&mut client, &format!("PREPARE new FROM '{unused}{sql} -- {round}'"));
            let new = answer(&mut client, "EXECUTE new USING @a, @b");
            let warnings = value(&mut client, "SELECT @@warning_count");
            let cached = answer(&mut client, &format!("EXECUTE p{number} USING @a, @b"));
            assert_eq!(value(&mut client, "SELECT @@warning_count"), warnings, "warnings of {sql}: {first}, {second}");
            assert_eq!(cached, new, "{sql}: {first}, {second}");
        }
    }
    let hits = hits(&mut client);
    assert!(hits > 60, "{hits} of {} executions were by a cached plan", 40 * PREPARED.len());
}

/// A column for each kind of value, with items for lists.
const LISTED: [(&str, &str, [&str; 6]); 16] = [
    ("i", "INT", ["1", "-2", "7", "0", "300", "99999999999"]),
    ("n", "BIGINT UNSIGNED", ["1", "2", "7", "0", "18446744073709551615", "-1"]),
    ("t", "TINYINT", ["1", "-2", "7", "0", "127", "300"]),
    ("d", "DECIMAL(6,2)", ["1", "2.50", "-7.25", "0", "1.00", "99999"]),
    ("f", "DOUBLE", ["1", "2.5e0", "-7.25e0", "0", "-0e0", "1e300"]),
    ("s", "VARCHAR(10) COLLATE utf8mb4_0900_ai_ci", ["'a'", "'B'", "'c '", "''", "'AB'", "'none of them'"]),
    ("b", "VARCHAR(10) COLLATE utf8mb4_bin", ["'a'", "'B'", "'c '", "''", "'AB'", "'none of them'"]),
    ("l", "VARBINARY(10)", ["'a'", "'B'", "'c '", "''", "'AB'", "'none of them'"]),
    ("y", "DATE", ["'2024-01-01'", "'2024-02-29'", "'2023-12-31'", "'20240305'", "'240101'", "'2024-01-01 10:00:00'"]),
    (
        "m",
        "DATETIME(1)",
        [
            "'2024-01-01'",
            "'2024-02-29 10:00:00'",
            "'2024-02-29 10:00:00.1'",
            "'2023-12-31'",
            "'20240305'",
            "'2024-01-01 00:00:00.01'",
        ],
    ),
    (
        "z",
        "TIMESTAMP NULL",
        [
            "'2024-01-01'",
            "'2024-02-29 10:00:00'",
            "'2023-12-31'",
            "'2024-03-05'",
            "'2025-01-01'",
            "'2024-01-01 00:00:00.5'",
        ],
    ),
    ("h", "TIME", ["'10:00:00'", "'-01:00:00'", "'100000'", "'00:00:00'", "'23:59:59'", "'10:00:00.5'"]),
    ("k", "YEAR", ["2024", "'2024'", "'24'", "1999", "'99'", "24"]),
    ("e", "ENUM('a','b','7')", ["'a'", "'b'", "'7'", "1", "2", "'A'"]),
    ("q", "SET('a','b','c')", ["'a'", "'a,b'", "'c'", "3", "4", "'b,a'"]),
    ("w", "BIT(8)", ["1", "7", "0", "200", "'a'", "300"]),
];

/// Fills a table that has each column of [`LISTED`] with the items of its lists, and some rows without values.
fn fill_listed(client: &mut Client, table: &str, random: &mut Choices) {
    for id in 0..120 {
        let values = LISTED.iter().map(|(_, _, items)| if random.one_in(8) { "NULL" } else { random.of(&items[..5]) });
        let values: Vec<&str> = values.collect();
        run(client, &format!("INSERT IGNORE INTO {table} VALUES ({id}, {})", values.join(", ")));
    }
}

/// Comparisons of one column with two values, in every form that has parameters.
const FORMS: [&str; 12] = [
    "{c} IN ({1}, {2})",
    "{c} NOT IN ({1}, {2})",
    "NOT {c} IN ({1}, {2})",
    "{c} IN ({1})",
    "({c} IN ({1}, {2}, {1}) OR {c} IS NULL)",
    "{c} BETWEEN {1} AND {2}",
    "{c} NOT BETWEEN {1} AND {2}",
    "({c} = {1} OR {2} = {c})",
    "{c} <> {1} AND {c} <= {2}",
    "{c} <=> {1}",
    "{c} > {1} AND {2} > {c}",
    "NOT ({c} >= {1} AND {c} < {2})",
];

/// Each kind of value in lists and comparisons, with an index and without, as texts and prepared: other values and NULLs give what a plan by
/// their literals gives.
#[test]
fn lists_and_comparisons_of_each_kind_hold_for_other_values() {
    let server = start();
    let mut client = connect(&server);
    let mut random = Choices(Random::of_run("lists_and_comparisons_of_each_kind"));
    run(&mut client, "CREATE DATABASE d; USE d; SET sql_mode = ''");
    let columns: Vec<String> = LISTED.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
    let keys: Vec<String> = LISTED.iter().map(|(name, _, _)| format!("KEY ({name})")).collect();
    run(&mut client, &format!("CREATE TABLE plain (id INT PRIMARY KEY, {})", columns.join(", ")));
    run(&mut client, &format!("CREATE TABLE keyed (id INT PRIMARY KEY, {}, {})", columns.join(", "), keys.join(", ")));
    fill_listed(&mut client, "plain", &mut random);
    run(&mut client, "INSERT INTO keyed SELECT * FROM plain");
    let (mut number, mut asked) = (0, 0);
    for (table, (column, _, items)) in ["plain", "keyed"].iter().flat_map(|table| LISTED.map(|listed| (table, listed)))
    {
        // Half of the forms in each run: all of them take minutes.
        for form in FORMS.into_iter().filter(|_| random.one_in(2)).collect::<Vec<_>>() {
            let condition = form.replace("{c}", column);
            // Every query goes to the full planner.
            let sql = format!("WITH unused AS (SELECT 1) SELECT COUNT(*), SUM(id) FROM {table} WHERE {condition}");
            let prepared = sql.replace("{1}", "?").replace("{2}", "?");
            let placeholders = prepared.matches('?').count();
            run(&mut client, &format!("PREPARE p FROM '{prepared}'"));
            for _ in 0..5 {
                let mut values = [random.of(&items), random.of(&items)];
                if random.one_in(6) {
                    values[random.below(2)] = "NULL";
                }
                let sql = sql.replace("{1}", values[0]).replace("{2}", values[1]);
                number += 1;
                let new = answer(&mut client, &format!("{sql} -- {number}"));
                let warnings = value(&mut client, "SELECT @@warning_count");
                let cached = answer(&mut client, &sql);
                assert_eq!(value(&mut client, "SELECT @@warning_count"), warnings, "warnings of {sql}");
                assert_eq!(cached, new, "{sql}");
                let [first, second] = values;
                run(&mut client, &format!("SET @a = {first}, @b = {second}, @c = {first}"));
                let using =
                    if form.starts_with("({c} = ") { ["@a, @b"; 4] } else { ["", "@a", "@a, @b", "@a, @b, @c"] };
                run(&mut client, &format!("PREPARE new FROM '{prepared} -- {number}'"));
                let new = answer(&mut client, &format!("EXECUTE new USING {}", using[placeholders]));
                let warnings = value(&mut client, "SELECT @@warning_count");
                let cached = answer(&mut client, &format!("EXECUTE p USING {}", using[placeholders]));
                assert_eq!(
                    value(&mut client, "SELECT @@warning_count"),
                    warnings,
                    "warnings of {prepared}: {values:?}"
                );
                assert_eq!(cached, new, "{prepared}: {values:?}");
                asked += 2;
            }
        }
    }
    let hits = hits(&mut client);
    assert!(hits > asked / 6, "{hits} of {asked} executions were by a cached plan");
}

/// Pages of a LIMIT, and texts whose literals are a part of the plan, keep a plan each, however many there are.
#[test]
fn each_page_and_each_pattern_keeps_its_plan() {
    const TEXTS: usize = 12;
    let server = start();
    let mut client = connect(&server);
    let mut random = Choices(Random::of_run("each_page_and_each_pattern"));
    run(&mut client, TABLES);
    fill(&mut client, &mut random);
    // Every query goes to the full planner. The first two rounds meet the texts, the third makes the last plans.
    let page = |number: usize, round: usize| {
        format!("WITH unused AS (SELECT 1) SELECT id FROM t WHERE a > {round} ORDER BY id LIMIT {number}, 1")
    };
    let pattern = |number: usize, _| format!("WITH unused AS (SELECT 1) SELECT id FROM t WHERE b LIKE '{number}%'");
    let texts: [&dyn Fn(usize, usize) -> String; 2] = [&page, &pattern];
    for text in texts {
        for round in 0..3 {
            (0..TEXTS).for_each(|number| run(&mut client, &text(number, round)));
        }
        let before = hits(&mut client);
        (0..TEXTS).for_each(|number| run(&mut client, &text(number, 3)));
        assert_eq!(hits(&mut client) - before, TEXTS as u32, "{}", text(0, 3));
    }
}
