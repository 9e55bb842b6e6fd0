//! Statements, handlers and texts inside of each other, without end: an error, and the server lives.

use super::{connect, error, run, start, value};

const OVERRUN: &str = "ERROR 1436 (HY000): Thread stack overrun: the statement is nested too deeply";

#[test]
fn texts_that_execute_themselves_end() {
    let mut server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d");
    for text in [
        "EXECUTE IMMEDIATE @q",
        "BEGIN NOT ATOMIC EXECUTE IMMEDIATE @q; END",
        "SET STATEMENT sort_buffer_size = 100000 FOR EXECUTE IMMEDIATE @q",
        "BEGIN NOT ATOMIC BEGIN BEGIN IF 1 THEN EXECUTE IMMEDIATE @q; END IF; END; END; END",
    ] {
        run(&mut client, &format!("SET @q = '{text}'"));
        assert_eq!(error(&mut client, "EXECUTE IMMEDIATE @q"), OVERRUN, "{text}");
        assert_eq!(value(&mut client, "SELECT 1"), "1");
    }
    assert!(server.is_running(), "{}", server.log());
}

#[test]
fn handlers_inside_of_handlers_end() {
    let mut server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; SET max_sp_recursion_depth = 255");
    let nested = |count: usize, innermost: &str| {
        let begin = "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN ".repeat(count);
        let end = "END; SIGNAL SQLSTATE '45000'; END; ".repeat(count);
        format!("{begin}{innermost}{end}")
    };
    for count in [150, 300, 700] {
        let steps = nested(count, "SET @count = @count + 1; ");
        run(&mut client, "SET @count = 0");
        // All of them run, or the stack ends.
        match client.run(&format!("BEGIN NOT ATOMIC {steps} END")) {
            Ok(_) => assert_eq!(value(&mut client, "SELECT @count"), "1", "{count}"),
            Err(failure) => assert!(failure.to_string().contains("1436"), "{count}: {failure}"),
        }
    }
    run(&mut client, &format!("CREATE FUNCTION f() RETURNS INT BEGIN {} RETURN 1; END", nested(150, "")));
    assert_eq!(value(&mut client, "SELECT f()"), "1");
    run(
        &mut client,
        &format!("CREATE PROCEDURE p(n INT) BEGIN {} END", nested(30, "IF n > 0 THEN CALL p(n - 1); END IF; ")),
    );
    let _answer = client.run("CALL p(100)");
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    assert!(server.is_running(), "{}", server.log());
}

#[test]
fn calls_in_blocks_inside_of_each_other_end() {
    let mut server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; SET max_sp_recursion_depth = 255");
    for (name, begin, end) in [("blocks", "BEGIN ", "END; "), ("branches", "IF 1 THEN ", "END IF; ")] {
        let body = format!(
            "{}IF n > 0 THEN CALL {name}(n - 1); END IF; SET @calls = @calls + 1; {}",
            begin.repeat(40),
            end.repeat(40)
        );
        run(&mut client, &format!("CREATE PROCEDURE {name}(n INT) BEGIN {body} END"));
        run(&mut client, "SET @calls = 0");
        match client.run(&format!("CALL {name}(100)")) {
            Ok(_) => assert_eq!(value(&mut client, "SELECT @calls"), "101", "{name}"),
            Err(failure) => assert!(failure.to_string().contains("1436"), "{name}: {failure}"),
        }
        assert_eq!(value(&mut client, "SELECT 1"), "1");
    }
    assert!(server.is_running(), "{}", server.log());
}
