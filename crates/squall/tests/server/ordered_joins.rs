//! Joined rows come in the order that is asked for, of columns of all tables, whatever orders their operators know. The keys of the joins
//! repeat on all sides, and tables are large enough for hash joins.

use super::two_ways::{Choices, answer};
use super::{connect, run, start};
use squall_client::Client;
use squall_test_support::random::Random;
use std::cmp::Ordering;

const QUERIES: usize = 120;
/// Most rows that are ranked.
const RANKED_MAX: usize = 1000;
const TABLES: [&str; 3] = ["l", "m", "r"];
const COLUMNS: [&str; 4] = ["id", "a", "b", "c"];

fn fill(client: &mut Client, random: &mut Choices) {
    run(client, "CREATE DATABASE d; USE d");
    for (table, rows) in TABLES.iter().zip([40, 150, 400]) {
        run(client, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a), KEY (b, c))"));
        let row = |id: usize| {
            let c = if random.one_in(9) { "NULL".to_owned() } else { random.below(9).to_string() };
            format!("({id}, {}, {}, {c})", random.below(40), random.below(12))
        };
        let values: Vec<String> = (0..rows).map(row).collect();
        run(client, &format!("INSERT INTO {table} VALUES {}", values.join(", ")));
    }
}

/// Tables that are joined, and the rest of FROM and WHERE.
fn joined(random: &mut Choices) -> (Vec<&'static str>, String) {
    let mut left = TABLES.to_vec();
    let mut tables = vec![left.swap_remove(random.below(left.len()))];
    let mut from = tables[0].to_owned();
    for _ in 0..=usize::from(random.one_in(3)) {
        let table = left.swap_remove(random.below(left.len()));
        let before = random.of(&tables);
        let join = random.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        let by = random.of(&["a", "b"]);
        let more = match random.below(4) {
            0 => format!(" AND {before}.c <= {table}.c"),
            _ => String::new(),
        };
        from.push_str(&format!(" {join} {table} ON {before}.{by} = {table}.{by}{more}"));
        tables.push(table);
    }
    if random.one_in(3) {
        from.push_str(&format!(
            " WHERE {}.{} < {}",
            random.of(&tables),
            random.of(&["a", "id"]),
            10 + random.below(20)
        ));
    }
    (tables, from)
}

/// The numbers of the rows, NULL before all others.
fn numbers(client: &mut Client, sql: &str) -> Vec<Vec<Option<i64>>> {
    let (_, rows) = answer(client, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let number =
        |value: Option<Vec<u8>>| value.map(|text| String::from_utf8(text).expect("a text").parse().expect("a number"));
    rows.into_iter().map(|row| row.into_iter().map(number).collect()).collect()
}

#[test]
fn joined_rows_are_in_the_order_that_is_asked_for() {
    let server = start();
    let mut client = connect(&server);
    let mut random = Choices(Random::of_run("joined_rows_are_in_the_order"));
    fill(&mut client, &mut random);
    for number in 0..QUERIES {
        let (tables, from) = joined(&mut random);
        let keys: Vec<(String, bool)> = (0..2 + random.below(2))
            .map(|_| (format!("{}.{}", random.of(&tables), random.of(&COLUMNS)), random.one_in(4)))
            .collect();
        let columns: Vec<&str> = keys.iter().map(|(column, _)| column.as_str()).collect();
        let columns = columns.join(", ");
        let order: Vec<String> =
            keys.iter().map(|(column, falls)| format!("{column}{}", if *falls { " DESC" } else { "" })).collect();
        let order = order.join(", ");
        let compare = |left: &Vec<Option<i64>>, right: &Vec<Option<i64>>| {
            let by_key = |at: usize| if keys[at].1 { right[at].cmp(&left[at]) } else { left[at].cmp(&right[at]) };
            (0..keys.len()).map(by_key).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let mut expected = numbers(&mut client, &format!("SELECT {columns} FROM {from}"));
        expected.sort_by(compare);
        let sql = format!("SELECT {columns} FROM {from} ORDER BY {order}");
        assert_eq!(numbers(&mut client, &sql), expected, "{number}: {sql}");
        let (offset, limit) = (random.below(expected.len() + 1), 1 + random.below(50));
        let page: Vec<_> = expected.iter().skip(offset).take(limit).cloned().collect();
        let sql = format!("{sql} LIMIT {offset}, {limit}");
        assert_eq!(numbers(&mut client, &sql), page, "{number}: {sql}");
        // The rank of a row in its partition, counted by the client, which takes a while.
        if expected.len() > RANKED_MAX {
            continue;
        }
        let partition = &keys[0].0;
        let ranked = format!("SELECT {columns}, RANK() OVER (PARTITION BY {partition} ORDER BY {order}) FROM {from}");
        let mut ranked = numbers(&mut client, &ranked);
        ranked.sort();
        let mut own: Vec<_> = (0..expected.len())
            .map(|at| {
                let row = &expected[at];
                let in_front = |other: &&Vec<Option<i64>>| other[0] == row[0] && compare(other, row).is_lt();
                let rank = 1 + expected.iter().filter(in_front).count() as i64;
                row.iter().copied().chain([Some(rank)]).collect::<Vec<_>>()
            })
            .collect();
        own.sort();
        assert_eq!(ranked, own, "{number}: ranks of {sql}");
    }
}
