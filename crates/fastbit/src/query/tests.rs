//! Queries of FastBit and the SQL that they become.

use super::*;
use crate::quote::Dialect;
use proptest::prelude::*;

fn options() -> SqlOptions<'static> {
    SqlOptions { table: "`fastbit`.`/t/part`", partition: "part", dialect: Dialect::default() }
}

/// The SQL of a query without what every one of them has.
fn sql(text: &str) -> String {
    let sql = parse(text).and_then(|query| query.to_sql(&options(), Output::Rows));
    match sql {
        Ok(sql) => sql.replace(" FROM `fastbit`.`/t/part`", " FROM t"),
        Err(error) => format!("{}: {error}", error.code()),
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(sql(text), *expected, "{text}");
    }
}

#[test]
fn clauses() {
    check(&[
        ("select c1", "SELECT `c1` FROM t"),
        ("SELECT * Where c1 = 1", "SELECT * FROM t WHERE (`c1` = 1)"),
        ("where c1 == 1;", "SELECT * FROM t WHERE (`c1` = 1)"),
        ("select c1 as a, c2 b from part limit 3", "SELECT `c1` AS `a`, `c2` AS `b` FROM t LIMIT 0, 3"),
        ("select c1 order by c2 desc, c1 asc limit 5, 7", "SELECT `c1` FROM t ORDER BY `c2` DESC, `c1` LIMIT 5, 7"),
        ("select part.c1 from 'part'", "SELECT `c1` FROM t"),
        ("", "-100: the query is empty"),
        ("from part", "-200: the query has neither a select list nor a WHERE beside FROM"),
        ("select", "-300: the query has neither a select list nor a WHERE"),
        ("order by c1", "-300: the query has neither a select list nor a WHERE"),
        ("select c1 from other", "-1: FROM names the unknown partition 'other'"),
        ("select other.c1", "-1: there is no partition 'other'"),
        ("select c1 where", "-1: the query ends too early"),
        ("select c1 whee c2", "-1: the query cannot be read near 'c2'"),
        ("select c1; drop table t", "-1: the query cannot be read near '; drop table t'"),
        ("select c1 where c2 = 'a", "-1: a text in the query has no end"),
    ]);
}

#[test]
fn grouping_is_implied() {
    check(&[
        ("select count(*)", "SELECT COUNT(*) AS `count(*)` FROM t"),
        (
            "select c2, count(*) as cnt, avg(c3) as avg",
            "SELECT `c2`, COUNT(*) AS `cnt`, CAST(AVG(`c3`) AS DOUBLE) AS `avg` FROM t GROUP BY `c2` ORDER BY `c2`",
        ),
        (
            "select c2 % 2 as odd, SUM(c3) s, 7 order by s desc",
            "SELECT (`c2` % 2) AS `odd`, SUM(`c3`) AS `s`, 7 AS `7` FROM t GROUP BY (`c2` % 2) ORDER BY SUM(`c3`) DESC",
        ),
        (
            "select countdistinct(a), var(b), stdevp(b)",
            "SELECT COUNT(DISTINCT `a`) AS `countdistinct(a)`, CAST(VAR_SAMP(`b`) AS DOUBLE) AS `var(b)`, CAST(STDDEV_POP(`b`) AS DOUBLE) AS `stdevp(b)` FROM t",
        ),
        ("select a, median(b)", "SELECT `a`, MEDIAN(`b`) AS `median(b)` FROM t GROUP BY `a` ORDER BY `a`"),
        ("select sum(avg(a))", "-1: an aggregate within sum"),
        ("select a where sum(a) > 1", "-1: an aggregate in WHERE"),
    ]);
}

#[test]
fn conditions() {
    let condition = |text: &str| sql(&format!("where {text}")).replace("SELECT * FROM t WHERE ", "");
    for (text, expected) in [
        ("10 <= b < 20", "((10 <= `b`) AND (`b` < 20))"),
        ("a < b <= 5", "((`a` < `b`) AND (`b` <= 5))"),
        ("a = 1 && !b = 2 || c = 3 xor d = 4", "(((`a` = 1) AND (NOT (`b` = 2))) OR ((`c` = 3) XOR (`d` = 4)))"),
        ("not c1 not null", "(NOT (`c1` IS NOT NULL))"),
        (
            "c1 NOT NULL and c2 is null and c3 IS NOT NULL",
            "((`c1` IS NOT NULL) AND (`c2` IS NULL) AND (`c3` IS NOT NULL))",
        ),
        ("a in (1, 'x', null) or a not in (2)", "((`a` IN (1, 'x', NULL)) OR (`a` NOT IN (2)))"),
        ("a between 1 and 2 and b not like 'x%'", "((`a` BETWEEN 1 AND 2) AND (`b` NOT LIKE 'x%'))"),
        ("s = ' where ' and s != \"it's \\\" and\"", r#"((`s` = ' where ') AND (`s` <> 'it''s " and'))"#),
        (r"s = 'a\\b' or s = 'x'' or 1=1 -- '", r"((`s` = 'a\\b') OR (`s` = 'x'' or 1=1 -- '))"),
        ("-a + 2 * b ** 2 ** 3 > 0x10", "(((- `a`) + (2 * POW(`b`, POW(2, 3)))) > 16)"),
        ("(a + b) / 2 < .5e1", "(((`a` + `b`) * 1e0 / 2) < .5e1)"),
        (
            "log(a) > 1 and fmod(a, 2) = hypot(b, c)",
            "((LN(`a`) > 1) AND (MOD(`a`, 2) = SQRT(POW(`b`, 2e0) + POW(`c`, 2e0))))",
        ),
        ("sleep(5)", "-1: there is no function 'sleep'"),
        ("pow(1)", "-1: 'pow' takes 2 arguments"),
        ("a = 1x", "-1: the query cannot be read near '1x'"),
        ("a = `b`", "-1: the query cannot be read near '`b`'"),
    ] {
        assert_eq!(condition(text), expected, "{text}");
    }
}

#[test]
fn other_outputs() {
    let query = |text: &str| parse(text).unwrap();
    let write = |query: &Query, output| query.to_sql(&options(), output).unwrap();
    assert_eq!(write(&query("select a limit 3"), Output::Columns), "SELECT `a` FROM `fastbit`.`/t/part` LIMIT 0");
    let listed = write(&query("select a where b = 1"), Output::List { text: false });
    assert_eq!(listed, "SELECT GROUP_CONCAT(`a`) FROM `fastbit`.`/t/part` WHERE (`b` = 1)");
    let texts = write(&query("select a"), Output::List { text: true });
    assert!(
        texts
            .starts_with(r"SELECT GROUP_CONCAT(CONCAT('''', REPLACE(REPLACE(`a`, '\\', '\\\\'), '''', ''''''), ''''))"),
        "{texts}"
    );
    let mut all = query("select *");
    all.name_columns(["a".to_string(), "b`".to_string()]);
    let file = write(&all, Output::File { path: "/tmp/o'", texts: &[false, true] });
    assert!(file.starts_with("SELECT `a`, REPLACE(`b```, '\"', '\"\"') FROM"), "{file}");
    assert!(file.contains(" INTO OUTFILE '/tmp/o''' "), "{file}");
}

#[test]
fn depth_is_bounded() {
    for text in ["(", "-", "not ", "abs("] {
        let error = parse(&format!("where {}", text.repeat(100_000))).unwrap_err();
        assert!(error.to_string().contains("nested") || error.to_string().contains("too early"), "{error}");
    }
    let long = format!("where a = 1{}", " or a = 2".repeat(100_000));
    assert!(parse(&long).is_ok());
    let doubling = format!("where {}a{} > 1", "sinh(".repeat(60), ")".repeat(60));
    assert_eq!(sql(&doubling), "-1: the query is too long");
}

proptest! {
    /// Any text is refused or becomes one SELECT that the server's parser reads.
    #[test]
    fn any_query_becomes_one_select(text in "\\PC{0,60}", near in query_text()) {
        for text in [text, near] {
            let Ok(query) = parse(&text) else { continue };
            let Ok(sql) = query.to_sql(&options(), Output::Rows) else { continue };
            let parsed = squall_parser::parse_bytes(sql.as_bytes(), &Default::default());
            let parsed = parsed.map_err(|error| TestCaseError::fail(format!("{text}\n{sql}\n{error:?}")))?;
            prop_assert!(parsed.rest.is_none() && matches!(parsed.statement, squall_parser::ast::Statement::Query(_)));
        }
    }

    /// A text in a query is the same text in SQL.
    #[test]
    fn texts_arrive(text in "[a'\"\\\\%_ é]{0,20}", backslash: bool) {
        let dialect = Dialect { no_backslash_escapes: backslash };
        let written = text.replace('\\', "\\\\").replace('\'', "''");
        let query = parse(&format!("where a = '{written}'")).unwrap();
        let sql = query.to_sql(&SqlOptions { dialect, ..options() }, Output::Rows).unwrap();
        let read = if backslash { text.clone() } else { text.replace('\\', "\\\\") };
        let ending = format!("(`a` = '{}')", read.replace('\'', "''"));
        prop_assert!(sql.ends_with(&ending), "{}", sql);
    }
}

/// Texts that are close to queries.
fn query_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "select", "from", "where", "order by", "limit", "as", "desc", "a", "part", "b.c", "1", "2.5e3", "0xff", "'t'",
        "\"u\"", "null", "not", "!", "and", "&&", "or", "||", "xor", "between", "in", "like", "is", "(", ")", ",", "*",
        "**", "+", "-", "/", "%", "|", "&", "^", "=", "==", "<", "<=", ">", "!=", "sum(", "count(*)", "avg(", "sin(",
        "pow(", ";",
    ]);
    prop::collection::vec(words, 0..20).prop_map(|words| words.join(" "))
}
