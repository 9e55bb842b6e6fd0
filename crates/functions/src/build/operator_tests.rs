//! Operators on values of every kind, and what MySQL answers, as text.

use super::{ArithmeticOp, CastTarget, ExprBuilder};
use crate::expr::{BoundExpr, CompareOp, EmptyRow};
use crate::library::tests::argument;
use crate::operators::bits::BitOp;
use crate::operators::coerce;
use crate::test_context::context;
use squall_registry::Registry;
use squall_statement_context::StatementContext;
use squall_types::temporal::parse::{parse_date, parse_datetime, parse_time};
use squall_types::temporal::{DateRules, IntervalUnit};
use squall_types::{CollationId, SqlResult, Value};

/// An operand: those of the library's tests, and `d'…'`, `t'…'`, `ts'…'`.
fn operand(text: &str) -> Value {
    let quoted = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('\''));
    if let Some(text) = quoted("d'") {
        Value::Date(parse_date(text, DateRules::LENIENT).unwrap().value)
    } else if let Some(text) = quoted("ts'") {
        Value::DateTime(parse_datetime(text, DateRules::LENIENT).unwrap().value)
    } else if let Some(text) = quoted("t'") {
        Value::Time(parse_time(text).unwrap().value)
    } else {
        argument(text)
    }
}

fn bind(build: &ExprBuilder<'_>, left: BoundExpr, op: &str, right: BoundExpr) -> SqlResult<BoundExpr> {
    use ArithmeticOp::*;
    match op {
        "+" => build.arithmetic(Add, left, right),
        "-" => build.arithmetic(Subtract, left, right),
        "*" => build.arithmetic(Multiply, left, right),
        "/" => build.arithmetic(Divide, left, right),
        "DIV" => build.arithmetic(IntegerDivide, left, right),
        "%" => build.arithmetic(Modulo, left, right),
        "&" => build.bit_operation(BitOp::And, left, right),
        "|" => build.bit_operation(BitOp::Or, left, right),
        "^" => build.bit_operation(BitOp::Xor, left, right),
        "<<" => build.bit_operation(BitOp::ShiftLeft, left, right),
        ">>" => build.bit_operation(BitOp::ShiftRight, left, right),
        "=" => build.compare(CompareOp::Equal, left, right),
        "<=>" => build.compare(CompareOp::NullSafeEqual, left, right),
        "<>" => build.compare(CompareOp::NotEqual, left, right),
        "<" => build.compare(CompareOp::Less, left, right),
        "<=" => build.compare(CompareOp::LessOrEqual, left, right),
        ">" => build.compare(CompareOp::Greater, left, right),
        ">=" => build.compare(CompareOp::GreaterOrEqual, left, right),
        "LIKE" => build.like(left, right, None, false),
        "REGEXP" => build.regexp(left, right, false),
        "AND" => Ok(build.and(vec![left, right])),
        "OR" => Ok(build.or(vec![left, right])),
        "XOR" => Ok(build.xor(left, right)),
        other => panic!("operator {other}"),
    }
}

fn text_of(expr: SqlResult<BoundExpr>, context: &StatementContext) -> String {
    let evaluated = expr.and_then(|expr| Ok((expr.eval(&EmptyRow, context)?, expr.sql_type())));
    match evaluated {
        Ok((value, sql_type)) => {
            coerce::to_text(&value, &sql_type).map_or("NULL".to_string(), |text| text.into_owned())
        }
        Err(error) => format!("error {}", error.code),
    }
}

/// Checks lines of `left op right => text`.
fn check(lines: &str) {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let mut failures = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (expression, expected) = line.split_once(" => ").unwrap_or_else(|| panic!("{line}"));
        let (left, rest) = split_operand(expression);
        let (op, right) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let (left, right) = (build.literal(operand(left)), build.literal(operand(right)));
        let result = text_of(bind(&build, left, op, right), &context);
        if result != expected {
            failures.push(format!("{line}   got {result}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The first operand, which may have spaces in quotes, and the rest after a space.
fn split_operand(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    panic!("{text}")
}

#[test]
fn arithmetic() {
    check(
        "1 + 1 => 2
         1 + 1.5 => 2.5
         1.10 + 2.205 => 3.305
         1 + '2' => 3
         1 + '2abc' => 3
         'abc' + 1 => 1
         1 + NULL => NULL
         9223372036854775807 + 1 => error 1690
         18446744073709551615 + 1 => error 1690
         18446744073709551615 - 1 => 18446744073709551614
         18446744073709551615 + -1 => 18446744073709551614
         -9223372036854775808 - 1 => error 1690
         1e308 * 1e308 => error 1690
         7 / 2 => 3.5000
         7 / 0 => NULL
         7 DIV 2 => 3
         -7 DIV 2 => -3
         7.9 DIV 2 => 3
         7 DIV 0 => NULL
         7 % 3 => 1
         -7 % 3 => -1
         7.5 % 2 => 1.5
         7 % 0 => NULL
         1.5 * 1.5 => 2.25
         0.1 + 0.2 => 0.3
         1e-1 + 2e-1 => 0.30000000000000004
         1 / 3 => 0.3333
         2 / 3 => 0.6667
         1.00 / 3 => 0.333333
         '1.5' / '0.5' => 3
         10.0 / 4.00 => 2.50000
         99999999999999999999.5 + 0.5 => 100000000000000000000.0
         d'2024-02-29' + 0 => 20240229
         ts'2024-02-29 12:30:45' + 0 => 20240229123045
         t'12:30:45' + 0 => 123045
         x'41' + 0 => 65
         -5.5 - 4.5 => -10.0",
    );
}

#[test]
fn quotients_keep_digits_within_an_expression() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let int = |number| build.literal(Value::Int(number));
    let third = build.arithmetic(ArithmeticOp::Divide, int(2), int(3)).unwrap();
    assert_eq!(text_of(Ok(third.clone()), &context), "0.6667");
    let product = build.arithmetic(ArithmeticOp::Multiply, third, int(3));
    assert_eq!(text_of(product, &context), "2.0000");
}

#[test]
fn doubles_show_the_places_of_their_operands() {
    let mut registry = Registry::default();
    crate::register_all(&mut registry);
    let context = context();
    let build = ExprBuilder::new(&registry, &context);
    let twice =
        build.arithmetic(ArithmeticOp::Multiply, build.call("PI", vec![]).unwrap(), build.literal(Value::Int(2)));
    assert_eq!(text_of(twice, &context), "6.283185");
    let (whole, half) = (build.literal(Value::Int(1)), build.literal(Value::Double(0.123_456_789)));
    assert_eq!(text_of(build.arithmetic(ArithmeticOp::Add, whole, half), &context), "1.123456789");
}

#[test]
fn bits() {
    check(
        "29 & 15 => 13
         29 | 15 => 31
         1 ^ 3 => 2
         1 << 2 => 4
         1 << 64 => 0
         4 >> 2 => 1
         -1 >> 60 => 15
         -1 & 255 => 255
         '6' & 3 => 2
         1.5 | 0 => 2
         NULL & 1 => NULL
         x'41' | 0 => 65
         1 << -1 => 0",
    );
}

#[test]
fn comparisons() {
    check(
        "1 = 1.0 => 1
         1 = '1' => 1
         '1' = '01' => 0
         1 = '01' => 1
         'a' = 'A' => 1
         'é' = 'e' => 1
         'a' < 'b' => 1
         'abc' = 'abd' => 0
         '.01' = 0.01 => 1
         NULL = NULL => NULL
         NULL <=> NULL => 1
         NULL <=> 1 => 0
         1 <> NULL => NULL
         'abc' = 0 => 1
         '1abc' = 1 => 1
         18446744073709551615 > -1 => 1
         18446744073709551615 = 18446744073709551615.0 => 1
         9223372036854775807 = 9223372036854775808 => 0
         '18015376320243458' = 18015376320243458 => 1
         d'2024-01-01' = '2024-01-01' => 1
         d'2024-01-01' = '2024-1-1' => 1
         d'2024-01-01' = 20240101 => 1
         d'2024-01-01' < ts'2024-01-01 00:00:01' => 1
         d'2024-01-01' = ts'2024-01-01 00:00:00' => 1
         ts'2024-01-01 00:00:00' = '2024-01-01' => 1
         t'10:00:00' < t'100:00:00' => 1
         t'10:00:00' = '10:00' => 1
         t'10:00:00' = 100000 => 1
         x'61' = 'a' => 1
         x'61' = 'A' => 0
         1.5 >= 1.50 => 1
         1e0 = 1 => 1
         0.1 = 1e-1 => 1
         'a ' = 'a' => 0",
    );
}

#[test]
fn patterns_and_logic() {
    check(
        "'David!' LIKE 'David_' => 1
         'David!' LIKE '%D%v%' => 1
         'abc' LIKE 'ABC' => 1
         x'616263' LIKE 'ABC' => 0
         10 LIKE '1%' => 1
         NULL LIKE 'a' => NULL
         'David_' LIKE 'David\\_' => 1
         'David!' LIKE 'David\\_' => 0
         'Michael!' REGEXP '.*' => 1
         'a' REGEXP '^[a-d]' => 1
         'a' REGEXP 'A' => 1
         NULL REGEXP 'a' => NULL
         1 AND 0 => 0
         1 AND NULL => NULL
         0 AND NULL => 0
         1 OR NULL => 1
         0 OR NULL => NULL
         'abc' OR '1x' => 1
         0.4 AND 1 => 1
         1 XOR 1 => 0
         1 XOR NULL => NULL",
    );
}

#[test]
fn casts() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let collation = CollationId::UTF8MB4_0900_AI_CI;
    let signed = CastTarget::Integer { unsigned: false };
    let unsigned = CastTarget::Integer { unsigned: true };
    let char_of = |length| CastTarget::Char { length, collation };
    let cases = [
        ("'123abc'", signed.clone(), "123"),
        ("'-1'", unsigned.clone(), "18446744073709551615"),
        ("-1", unsigned.clone(), "18446744073709551615"),
        ("18446744073709551615", signed.clone(), "-1"),
        ("1.5", signed.clone(), "2"),
        ("'1.9'", signed.clone(), "1"),
        ("-1.5", signed.clone(), "-2"),
        ("15e-1", signed, "2"),
        ("'1.239'", CastTarget::Decimal { precision: 10, scale: 2 }, "1.24"),
        ("12345.678", CastTarget::Decimal { precision: 5, scale: 2 }, "999.99"),
        ("'2024-02-30'", CastTarget::Date, "NULL"),
        ("'2024-02-29 10:11:12'", CastTarget::Date, "2024-02-29"),
        ("20240229", CastTarget::Date, "2024-02-29"),
        ("'2024-02-29'", CastTarget::DateTime { fsp: 0 }, "2024-02-29 00:00:00"),
        ("'2024-02-29 10:11:12.6789'", CastTarget::DateTime { fsp: 2 }, "2024-02-29 10:11:12.68"),
        ("'10:11:12.5'", CastTarget::Time { fsp: 0 }, "10:11:13"),
        ("123", char_of(None), "123"),
        ("'abcdef'", char_of(Some(3)), "abc"),
        ("d'2024-02-29'", char_of(None), "2024-02-29"),
        ("1.50", char_of(None), "1.50"),
        ("'1.5x'", CastTarget::Double, "1.5"),
        ("NULL", unsigned, "NULL"),
        ("'[1,2]'", CastTarget::Json, "[1, 2]"),
        ("'[1'", CastTarget::Json, "error 3141"),
    ];
    for (text, target, expected) in cases {
        let result = text_of(build.cast(build.literal(operand(text)), &target), &context);
        assert_eq!(result, expected, "CAST({text} AS {target:?})");
    }
}

#[test]
fn intervals() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let cases = [
        ("d'2018-05-01'", "1", IntervalUnit::Day, "2018-05-02"),
        ("d'2018-01-31'", "1", IntervalUnit::Month, "2018-02-28"),
        ("'2018-05-01'", "1", IntervalUnit::Year, "2019-05-01"),
        ("'2020-12-31 23:59:59'", "1", IntervalUnit::Second, "2021-01-01 00:00:00"),
        ("'2018-12-31 23:59:59'", "'1:1'", IntervalUnit::MinuteSecond, "2019-01-01 00:01:00"),
        ("d'2018-05-01'", "1", IntervalUnit::Hour, "2018-05-01 01:00:00"),
        ("'1992-12-31 23:59:59.000002'", "'1.999999'", IntervalUnit::SecondMicrosecond, "1993-01-01 00:00:01.000001"),
        ("'2100-01-01 00:00:00'", "'-1 10'", IntervalUnit::DayHour, "2099-12-30 14:00:00"),
        ("d'9999-12-31'", "1", IntervalUnit::Day, "NULL"),
        ("t'10:00:00'", "90", IntervalUnit::Minute, "11:30:00"),
        ("NULL", "1", IntervalUnit::Day, "NULL"),
        ("'junk'", "1", IntervalUnit::Day, "NULL"),
    ];
    for (base, amount, unit, expected) in cases {
        let (base_expr, amount_expr) = (build.literal(operand(base)), build.literal(operand(amount)));
        let result = text_of(build.add_interval(base_expr, amount_expr, unit, false), &context);
        assert_eq!(result, expected, "{base} + INTERVAL {amount} {}", unit.name());
    }
}
