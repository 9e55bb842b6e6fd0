//! Counts and groups of the fact table alone.

use crate::load::{Tables, fact};
use crate::queries::{Query, between};
use squall_column_store::Datum;
use squall_column_store::predicate::{Condition, Predicate};
use squall_column_store::star::{Aggregate, Expression, GroupBy, GroupKey, StarOptions, StarQuery, run_star_query};

pub fn queries() -> Vec<Query> {
    vec![
        Query {
            name: "shipmode",
            run: |t, n| {
                run(t, n, Predicate::Constant(true), &["lo_shipmode"], vec![Aggregate::CountRows, sum("lo_revenue")])
            },
        },
        Query {
            name: "quantity",
            run: |t, n| run(t, n, Predicate::Constant(true), &["lo_quantity"], vec![Aggregate::CountRows]),
        },
        Query {
            name: "totals",
            run: |t, n| {
                let column = |name| Expression::Column(fact(name));
                let aggregates = vec![
                    Aggregate::CountRows,
                    sum("lo_quantity"),
                    Aggregate::Min(column("lo_orderdate")),
                    Aggregate::Max(column("lo_commitdate")),
                ];
                run(t, n, Predicate::Constant(true), &[], aggregates)
            },
        },
        Query {
            name: "count",
            run: |t, n| {
                let both = vec![between(fact("lo_discount"), 3, 3), between(fact("lo_quantity"), 0, 9)];
                run(t, n, Predicate::And(both), &[], vec![Aggregate::CountRows])
            },
        },
    ]
}

fn sum(column: &str) -> Aggregate {
    Aggregate::Sum(Expression::Column(fact(column)))
}

fn run(
    tables: &Tables,
    threads: usize,
    condition: Predicate,
    groups: &[&str],
    aggregates: Vec<Aggregate>,
) -> Vec<String> {
    let query = StarQuery {
        condition: Condition::from(&condition),
        joins: vec![],
        groups: groups.iter().map(|column| GroupBy::Column(fact(column))).collect(),
        aggregates,
    };
    let options = StarOptions { threads, groups_max: 1 << 20, arguments_of_64_bits: false, cancelled: None };
    let found = tables.with_sources(|sources| run_star_query(&query, sources, options)).expect("an answer").groups;
    let row = |group: squall_column_store::star::Group| {
        let key = |key: &GroupKey| match key {
            GroupKey::Value(Some(Datum::Bytes(bytes))) => String::from_utf8_lossy(bytes).into_owned(),
            GroupKey::Value(Some(Datum::Integer(value))) => value.to_string(),
            other => panic!("{other:?} in lineorder"),
        };
        let value = |value: &Option<i128>| value.map_or("NULL".to_string(), |value| value.to_string());
        let texts: Vec<String> = group.keys.iter().map(key).chain(group.values.iter().map(value)).collect();
        texts.join("|")
    };
    found.into_iter().map(row).collect()
}
