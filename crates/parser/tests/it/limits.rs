//! Statements that are very long or very deep.

use squall_parser::{ParseOptions, parse};

fn code(sql: &str) -> u16 {
    parse(sql, &ParseOptions::default()).map_or_else(|error| error.code, |_| 0)
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn a_thousand_levels_parse() {
    assert_eq!(code(&format!("SELECT {}", nested("(", "1", ")", 1000))), 0);
    assert_eq!(code(&format!("SELECT {}", nested("abs(", "1", ")", 1000))), 0);
    assert_eq!(code(&format!("SELECT {}", nested("(SELECT ", "1", ")", 500))), 0);
    assert_eq!(code(&nested("(", "SELECT 1", ")", 1000)), 0);
    assert_eq!(code(&format!("SELECT * FROM {}", nested("(", "t", ")", 1000))), 0);
}

#[test]
fn a_million_levels_are_refused() {
    let depth = 1_000_000;
    for (open, inside, close) in [
        ("(", "1", ")"),
        ("NOT ", "1", ""),
        ("- ", "1", ""),
        ("!", "1", ""),
        ("~", "1", ""),
        ("BINARY ", "1", ""),
        ("abs(", "1", ")"),
        ("CASE WHEN 1 THEN ", "1", " END"),
        ("(SELECT ", "1", ")"),
        ("@a := ", "1", ""),
        ("1 IN (", "1", ")"),
        ("1 = ", "1", ""),
        ("1 + (", "1", ")"),
        ("1 + ", "1", ""),
        ("1 BETWEEN 2 AND ", "1", ""),
        ("INTERVAL (", "1", ")"),
        ("a COLLATE b ", "", ""),
        ("", "1", " COLLATE utf8mb4_bin"),
        ("SELECT 1 UNION ", "SELECT 1", ""),
        ("((", "1", ")+1)"),
    ] {
        let sql = format!("SELECT {}", nested(open, inside, close, depth));
        assert_ne!(code(&sql), 0, "{open}");
    }
    for (before, open, inside, close) in [
        ("", "(", "SELECT 1", ")"),
        ("SELECT * FROM ", "(", "t", ")"),
        ("SELECT * FROM t", " JOIN t", "", ""),
        ("SELECT * FROM t", " LEFT JOIN t ON 1", "", ""),
        ("SELECT * FROM ", "{oj ", "t", "}"),
        ("SELECT * FROM (SELECT ", "(SELECT * FROM ", "t", ") x"),
        ("", "EXPLAIN ", "SELECT 1", ""),
        ("", "EXPLAIN ANALYZE ", "SELECT 1", ""),
        ("", "SET STATEMENT a = 1 FOR ", "SELECT 1", ""),
        ("", "SHOW PARSE_TREE ", "SELECT 1", ""),
        ("SELECT 1", " UNION SELECT 1", "", ""),
        ("SELECT 1", " INTERSECT SELECT 1", "", ""),
        ("CREATE PROCEDURE p() ", "BEGIN ", "", "; END"),
        ("CREATE PROCEDURE p() ", "IF 1 THEN ", "DO 1", "; END IF"),
        ("CREATE PROCEDURE p() ", "CREATE PROCEDURE p() ", "DO 1", ""),
        ("CHANGE MASTER TO a = ", "(", "1", ")"),
        ("SELECT * FROM JSON_TABLE('', '$' COLUMNS(", "NESTED PATH '$' COLUMNS (", "a INT PATH '$'", ")"),
        ("ALTER TABLE t PARTITION BY LIST (a) (PARTITION p VALUES IN (", "(", "1", ")"),
    ] {
        let sql = format!("{before}{}", nested(open, inside, close, depth));
        assert_ne!(code(&sql), 0, "{open}");
    }
}

#[test]
fn long_chains_of_conditions_are_flat() {
    assert_eq!(code(&format!("SELECT 1{}", " OR a = 1".repeat(100_000))), 0);
    assert_eq!(code(&format!("SELECT 1{}", " AND a = 1".repeat(100_000))), 0);
    assert_eq!(code(&format!("SELECT 1 IN (1{})", ", 1".repeat(100_000))), 0);
}

#[test]
fn many_rows() {
    let rows = 200_000;
    let sql = format!("INSERT INTO t VALUES (0, 'x', NULL){}", ", (1, 'some text', -2.5)".repeat(rows));
    assert_eq!(code(&sql), 0);
}

/// Rows behind the first few are packed, and an expression that is written again is kept once.
#[test]
fn packed_rows_are_equal_however_they_are_written() {
    let tree = |rows: &str| {
        let sql = format!("INSERT INTO t VALUES (1){},{rows}", ",(1)".repeat(100));
        format!("{:?}", parse(&sql, &ParseOptions::default()).unwrap().statement)
    };
    assert_eq!(tree("((a + 1)),(a + 1),(a+1)"), tree("(a + 1),(a + 1),(a + 1)"));
    assert_ne!(tree("(a + 1),(a + 1)"), tree("(a + 1),(a + 2)"));
    assert_ne!(tree("(a + 1),(a + 1)"), tree("(a + 1,a + 1)"));
}

/// Integers of a long IN list are read without tokens, whatever stands around them.
#[test]
fn long_lists_are_equal_however_they_are_written() {
    let literals = "1, ".repeat(20_000);
    let tree = |items: &str| {
        let sql = format!("SELECT a IN ({literals}{items}) AS x");
        let parsed = parse(&sql, &ParseOptions::default())?;
        let printed = format!("{:?}", parsed.statement);
        // Without the place in the text.
        Ok::<_, squall_parser::ParseError>(printed.split(", span").next().unwrap_or_default().to_string())
    };
    let plain = tree("2,3,-4,5").unwrap();
    for written in ["2 , 3,\n-4\t,5 ", "2/**/,3/**/,-4/**/,5/**/", "2, 3, -4 -- four\n, 5"] {
        assert!(tree(written).unwrap() == plain, "{written}");
    }
    // A number that is too long for 64 bits, other numbers, names and operators are what they always are.
    let decimal = "9".repeat(20);
    assert!(tree(&format!("{decimal}, 1")).unwrap().contains("InLiterals"));
    for general in ["2a, 3", "2 + 3, 4", "2, b"] {
        assert!(tree(general).unwrap().contains("InList "), "{general}");
    }
    for wrong in ["2,", "2,,3", "2 3", "2) 3"] {
        assert!(tree(wrong).is_err(), "{wrong}");
    }
    // The list is counted as it is read.
    let options = ParseOptions { memory_max: 1 << 20, ..ParseOptions::default() };
    assert!(parse(&format!("SELECT a IN ({literals}{}1)", "1,".repeat(2_000_000)), &options).is_err());
}

#[test]
fn long_tokens() {
    let long = "x".repeat(1_000_000);
    assert_eq!(code(&format!("SELECT '{long}'")), 0);
    assert_eq!(code(&format!("SELECT `{long}`")), 0);
    assert_eq!(code(&format!("SELECT {}", "9".repeat(1_000_000))), 0);
    assert_eq!(code(&format!("/* {long} */ SELECT 1")), 0);
}

#[test]
fn a_small_stack_is_enough() {
    let handle = std::thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        assert_eq!(code(&format!("SELECT {}", nested("(", "1", ")", 1000))), 0);
    });
    handle.unwrap().join().unwrap();
}
