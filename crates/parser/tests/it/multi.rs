//! Other results of parsing: the end of the statement, the rest of the text, placeholders, column names.

use squall_parser::ast::{Expr, QueryBody, SelectItem, Statement};
use squall_parser::{ParseOptions, parse, parse_bytes, parse_data_type, parse_expr};

#[test]
fn comments_alone_are_a_statement() {
    for sql in ["-- x", "/* x */", "# x\n ", " /* x */ ;", "/*!99999 SELECT 1 */"] {
        let parsed = parse(sql, &ParseOptions::default()).expect("a statement");
        assert_eq!((parsed.statement, parsed.rest), (Statement::Empty, None), "{sql:?}");
    }
    let parsed = parse("/* x */; SELECT 1", &ParseOptions::default()).expect("a statement");
    assert_eq!((parsed.statement, parsed.end, parsed.rest), (Statement::Empty, 7, Some(8)));
}

#[test]
fn statements_one_after_another() {
    let sql = "SELECT 1;\n CREATE PROCEDURE p() BEGIN SELECT 2; SELECT 3; END; SELECT 4 ; -- end\n";
    let mut rest = Some(0);
    let mut pieces = Vec::new();
    while let Some(start) = rest {
        let parsed = parse(&sql[start..], &ParseOptions::default()).unwrap();
        pieces.push(sql[start..start + parsed.end].trim_start());
        rest = parsed.rest.map(|offset| start + offset);
    }
    assert_eq!(pieces, ["SELECT 1", "CREATE PROCEDURE p() BEGIN SELECT 2; SELECT 3; END", "SELECT 4"]);
}

#[test]
fn placeholders_are_counted() {
    let parsed = parse("SELECT ?, a + ? FROM t WHERE b IN (?, ?) LIMIT ?", &ParseOptions::default()).unwrap();
    assert_eq!(parsed.placeholders, 5);
    assert_eq!(parse("SELECT '?' -- ?", &ParseOptions::default()).unwrap().placeholders, 0);
}

#[test]
fn column_names() {
    let sql = "SELECT 1 + 1 , t.a, 'x' 'y', b AS c, ( 2 ), +3, -4, count( * ), @v, null, true, \
               5 /*! +6 */ /* seven */ - 7 /*!99999 + 8 */ * 9, name_const('n', 1), _latin1 'z' FROM t";
    let Statement::Query(query) = parse(sql, &ParseOptions::default()).unwrap().statement else {
        panic!("no query");
    };
    let QueryBody::Select(select) = query.body else {
        panic!("no select");
    };
    let names: Vec<String> = select
        .items
        .iter()
        .map(|item| match item {
            SelectItem::Expr(item) => item.column_name(sql.as_bytes()),
            _ => String::new(),
        })
        .collect();
    assert_eq!(
        names,
        [
            "1 + 1",
            "a",
            "x",
            "c",
            "2",
            "3",
            "-4",
            "count( * )",
            "@v",
            "NULL",
            "TRUE",
            "5  +6  /* seven */ - 7  * 9",
            "n",
            "z"
        ]
    );
}

#[test]
fn strings_of_any_bytes() {
    let sql = b"INSERT INTO t VALUES (_binary'\xff\\0\xfe')";
    let Statement::Insert(insert) = parse_bytes(sql, &ParseOptions::default()).unwrap().statement else {
        panic!("no insert");
    };
    assert!(format!("{:?}", insert.source).contains(r#"b"\xff\x00\xfe""#));
}

#[test]
fn parts_alone() {
    let options = ParseOptions::default();
    assert_eq!(parse_expr("a+1", &options).unwrap().to_string(), "(`a` + 1)");
    assert!(matches!(parse_expr("'x'", &options), Ok(Expr::Literal(_))));
    assert!(parse_expr("a b", &options).is_err());
    assert!(parse_expr("", &options).is_err());
    assert_eq!(parse_data_type("INTEGER(5) unsigned", &options).unwrap().to_string(), "int(5) unsigned");
    assert!(parse_data_type("int x", &options).is_err());
}
