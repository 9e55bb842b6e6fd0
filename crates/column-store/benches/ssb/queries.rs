//! The thirteen queries, as a planner would hand them over.

use crate::load::{DimensionTable, Tables, fact};
use squall_column_store::Datum;
use squall_column_store::predicate::{Condition, Predicate, Test};
use squall_column_store::star::{
    Aggregate, Dimension, Expression, GroupBy, GroupKey, StarJoin, StarOptions, StarQuery, dimension, run_star_query,
};
use std::ops::Bound;

pub struct Query {
    pub name: &'static str,
    pub run: fn(&Tables, usize) -> Vec<String>,
}

pub fn queries() -> Vec<Query> {
    vec![
        Query { name: "Q1.1", run: |t, n| flight_1(t, n, is(&t.date, "year", 1993), (1, 3), (0, 24)) },
        Query { name: "Q1.2", run: |t, n| flight_1(t, n, is(&t.date, "yearmonthnum", 199_401), (4, 6), (26, 35)) },
        Query {
            name: "Q1.3",
            run: |t, n| {
                let week = and(is(&t.date, "weeknuminyear", 6), is(&t.date, "year", 1994));
                flight_1(t, n, week, (5, 7), (26, 35))
            },
        },
        Query { name: "Q2.1", run: |t, n| flight_2(t, n, is_text(&t.part, "category", "MFGR#12"), "AMERICA") },
        Query {
            name: "Q2.2",
            run: |t, n| {
                let (low, high) = (Bound::Included(text("MFGR#2221")), Bound::Included(text("MFGR#2228")));
                let brands = Predicate::test(t.part.ordinal("brand"), Test::Range { low, high });
                flight_2(t, n, brands, "ASIA")
            },
        },
        Query { name: "Q2.3", run: |t, n| flight_2(t, n, is_text(&t.part, "brand", "MFGR#2239"), "EUROPE") },
        Query {
            name: "Q3.1",
            run: |t, n| flight_3(t, n, &|table| is_text(table, "region", "ASIA"), "nation", years(t, 1992, 1997)),
        },
        Query {
            name: "Q3.2",
            run: |t, n| {
                flight_3(t, n, &|table| is_text(table, "nation", "UNITED STATES"), "city", years(t, 1992, 1997))
            },
        },
        Query { name: "Q3.3", run: |t, n| flight_3(t, n, &cities, "city", years(t, 1992, 1997)) },
        Query { name: "Q3.4", run: |t, n| flight_3(t, n, &cities, "city", is_text(&t.date, "yearmonth", "Dec1997")) },
        Query {
            name: "Q4.1",
            run: |t, n| {
                let parts = any(&t.part, "mfgr", &["MFGR#1", "MFGR#2"]);
                let customers = (is_text(&t.customer, "region", "AMERICA"), vec!["nation"]);
                let suppliers = (is_text(&t.supplier, "region", "AMERICA"), vec![]);
                flight_4(t, n, Predicate::Constant(true), customers, suppliers, (parts, vec![]))
            },
        },
        Query {
            name: "Q4.2",
            run: |t, n| {
                let parts = any(&t.part, "mfgr", &["MFGR#1", "MFGR#2"]);
                let customers = (is_text(&t.customer, "region", "AMERICA"), vec![]);
                let suppliers = (is_text(&t.supplier, "region", "AMERICA"), vec!["nation"]);
                flight_4(t, n, years(t, 1997, 1998), customers, suppliers, (parts, vec!["category"]))
            },
        },
        Query {
            name: "Q4.3",
            run: |t, n| {
                let customers = (is_text(&t.customer, "region", "AMERICA"), vec![]);
                let suppliers = (is_text(&t.supplier, "nation", "UNITED STATES"), vec!["city"]);
                let parts = (is_text(&t.part, "category", "MFGR#14"), vec!["brand"]);
                flight_4(t, n, years(t, 1997, 1998), customers, suppliers, parts)
            },
        },
    ]
}

fn text(value: &str) -> Datum {
    Datum::Bytes(value.as_bytes().into())
}

fn is(table: &DimensionTable, column: &str, value: i128) -> Predicate {
    Predicate::test(table.ordinal(column), Test::equal(Datum::Integer(value)))
}

fn is_text(table: &DimensionTable, column: &str, value: &str) -> Predicate {
    Predicate::test(table.ordinal(column), Test::equal(text(value)))
}

fn any(table: &DimensionTable, column: &str, values: &[&str]) -> Predicate {
    Predicate::test(table.ordinal(column), Test::AnyOf(values.iter().map(|value| text(value)).collect()))
}

pub fn between(column: usize, low: i128, high: i128) -> Predicate {
    let (low, high) = (Bound::Included(Datum::Integer(low)), Bound::Included(Datum::Integer(high)));
    Predicate::test(column, Test::Range { low, high })
}

fn years(tables: &Tables, first: i128, last: i128) -> Predicate {
    between(tables.date.ordinal("year"), first, last)
}

fn cities(table: &DimensionTable) -> Predicate {
    any(table, "city", &["UNITED KI1", "UNITED KI5"])
}

fn and(left: Predicate, right: Predicate) -> Predicate {
    Predicate::And(vec![left, right])
}

/// One side of the star: the fact table's column, the dimension, its condition, its group columns.
struct Side<'a> {
    column: &'static str,
    table: &'a DimensionTable,
    predicate: Predicate,
    groups: Vec<&'static str>,
}

fn run(tables: &Tables, threads: usize, condition: Predicate, sides: &[Side<'_>], sum: Expression) -> Vec<String> {
    let dimensions: Vec<Dimension> = sides
        .iter()
        .map(|side| {
            let groups: Vec<usize> = side.groups.iter().map(|column| side.table.ordinal(column)).collect();
            dimension(&side.table.rows, &Condition::from(&side.predicate), None, 0, &groups).expect("a map")
        })
        .collect();
    let join = |(side, dimension): (&Side<'_>, &Dimension)| StarJoin {
        column: fact(side.column),
        keys: dimension.keys.clone(),
    };
    let query = StarQuery {
        condition: Condition::from(&condition),
        joins: sides.iter().zip(&dimensions).map(join).collect(),
        groups: (0..sides.len()).filter(|side| !sides[*side].groups.is_empty()).map(GroupBy::Join).collect(),
        aggregates: vec![Aggregate::Sum(sum)],
    };
    let options = StarOptions { threads, groups_max: 1 << 20, arguments_of_64_bits: false, cancelled: None };
    let found = tables.with_sources(|sources| run_star_query(&query, sources, options)).expect("an answer").groups;
    let mut rows = Vec::with_capacity(found.len());
    for group in found {
        let mut row = String::new();
        for (key, by) in group.keys.iter().zip(&query.groups) {
            let (GroupKey::Code(code), GroupBy::Join(side)) = (key, by) else { panic!("groups are of joins") };
            for value in &dimensions[*side].groups[*code as usize] {
                match value {
                    Some(Datum::Bytes(bytes)) => row += &String::from_utf8_lossy(bytes),
                    Some(Datum::Integer(value)) => row += &value.to_string(),
                    other => panic!("{other:?} in a dimension"),
                }
                row.push('|');
            }
        }
        row += &group.values[0].map_or("NULL".to_string(), |sum| sum.to_string());
        rows.push(row);
    }
    rows
}

fn flight_1(
    tables: &Tables,
    threads: usize,
    dates: Predicate,
    discount: (i128, i128),
    quantity: (i128, i128),
) -> Vec<String> {
    let condition =
        and(between(fact("lo_discount"), discount.0, discount.1), between(fact("lo_quantity"), quantity.0, quantity.1));
    let side = Side { column: "lo_orderdate", table: &tables.date, predicate: dates, groups: vec![] };
    let (price, discount) = (Expression::Column(fact("lo_extendedprice")), Expression::Column(fact("lo_discount")));
    run(tables, threads, condition, &[side], Expression::Multiply(Box::new(price), Box::new(discount)))
}

fn flight_2(tables: &Tables, threads: usize, parts: Predicate, region: &str) -> Vec<String> {
    let every_day = Predicate::Constant(true);
    let suppliers = is_text(&tables.supplier, "region", region);
    let sides = [
        Side { column: "lo_orderdate", table: &tables.date, predicate: every_day, groups: vec!["year"] },
        Side { column: "lo_partkey", table: &tables.part, predicate: parts, groups: vec!["brand"] },
        Side { column: "lo_suppkey", table: &tables.supplier, predicate: suppliers, groups: vec![] },
    ];
    run(tables, threads, Predicate::Constant(true), &sides, Expression::Column(fact("lo_revenue")))
}

fn flight_3(
    tables: &Tables,
    threads: usize,
    people: &dyn Fn(&DimensionTable) -> Predicate,
    group: &'static str,
    dates: Predicate,
) -> Vec<String> {
    let (customer, supplier) = (&tables.customer, &tables.supplier);
    let sides = [
        Side { column: "lo_custkey", table: customer, predicate: people(customer), groups: vec![group] },
        Side { column: "lo_suppkey", table: supplier, predicate: people(supplier), groups: vec![group] },
        Side { column: "lo_orderdate", table: &tables.date, predicate: dates, groups: vec!["year"] },
    ];
    run(tables, threads, Predicate::Constant(true), &sides, Expression::Column(fact("lo_revenue")))
}

type Part = (Predicate, Vec<&'static str>);

fn flight_4(
    tables: &Tables,
    threads: usize,
    dates: Predicate,
    customers: Part,
    suppliers: Part,
    parts: Part,
) -> Vec<String> {
    let side = |column, table, (predicate, groups): Part| Side { column, table, predicate, groups };
    let sides = [
        side("lo_orderdate", &tables.date, (dates, vec!["year"])),
        side("lo_custkey", &tables.customer, customers),
        side("lo_suppkey", &tables.supplier, suppliers),
        side("lo_partkey", &tables.part, parts),
    ];
    let profit = Expression::Subtract(
        Box::new(Expression::Column(fact("lo_revenue"))),
        Box::new(Expression::Column(fact("lo_supplycost"))),
    );
    run(tables, threads, Predicate::Constant(true), &sides, profit)
}
