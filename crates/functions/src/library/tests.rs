//! Calls and what MySQL answers, as text.

use crate::build::ExprBuilder;
use crate::expr::{BoundExpr, EmptyRow};
use crate::operators::coerce;
use crate::test_context::context;
use squall_registry::Registry;
use squall_statement_context::StatementContext;
use squall_types::{Decimal, SqlResult, Value};

/// An argument: a string `'…'`, `NULL`, an integer, a decimal, a double with an exponent, bytes `x'…'`, JSON `j'…'`.
pub(crate) fn argument(text: &str) -> Value {
    let quoted = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('\''));
    if text == "NULL" {
        Value::Null
    } else if let Some(text) = quoted("'") {
        Value::from(text)
    } else if let Some(hex) = quoted("x'") {
        Value::Bytes(super::number_text::bytes_of_hex(hex.as_bytes()).unwrap())
    } else if let Some(json) = quoted("j'") {
        squall_types::json::Json::parse(json).unwrap().to_value()
    } else if let Ok(number) = text.parse() {
        Value::Int(number)
    } else if let Ok(number) = text.parse() {
        Value::UInt(number)
    } else if text.contains('e') {
        Value::Double(text.parse().unwrap())
    } else {
        Value::Decimal(Decimal::parse(text).value)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    crate::register_all(&mut registry);
    registry
}

fn call(context: &StatementContext, name: &str, args: &[&str]) -> SqlResult<BoundExpr> {
    let registry = registry();
    let build = ExprBuilder::new(&registry, context);
    build.call(name, args.iter().map(|arg| build.literal(argument(arg))).collect())
}

fn run(context: &StatementContext, name: &str, args: &[&str]) -> SqlResult<String> {
    let expr = call(context, name, args)?;
    let value = expr.eval(&EmptyRow, context)?;
    Ok(match &value {
        Value::Bytes(bytes) => format!("x'{}'", super::number_text::hex_of(bytes)),
        _ => coerce::to_text(&value, &expr.sql_type()).map_or("NULL".to_string(), |text| text.into_owned()),
    })
}

/// Splits `'a',1,NULL` at commas outside of quotes.
fn split(args: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in args.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(args[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !args.trim().is_empty() {
        parts.push(args[start..].trim());
    }
    parts
}

/// Checks lines of `NAME(args) = text`.
fn check(lines: &str) {
    let context = context();
    let mut failures = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (call, expected) = line.rsplit_once(" = ").unwrap_or_else(|| panic!("{line}"));
        let (name, args) =
            call.strip_suffix(')').and_then(|call| call.split_once('(')).unwrap_or_else(|| panic!("{line}"));
        let result = match run(&context, name, &split(args)) {
            Ok(text) => text,
            Err(error) => format!("error {}", error.code),
        };
        if result != expected.trim_matches('|') {
            failures.push(format!("{line}   got {result}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn strings() {
    check(
        "CONCAT('a','b',1) = ab1
         CONCAT('a',NULL) = NULL
         CONCAT(x'41','b') = x'4162'
         CONCAT_WS(',','a',NULL,'b') = a,b
         CONCAT_WS(NULL,'a') = NULL
         LENGTH('é') = 2
         CHAR_LENGTH('é日') = 2
         BIT_LENGTH('ab') = 16
         UPPER('aé') = AÉ
         LCASE('ABC') = abc
         LEFT('foobar',3) = foo
         LEFT('foobar',-1) = ||
         RIGHT('foobar',4) = obar
         RIGHT('日本語',2) = 本語
         SUBSTRING('Quadratically',5) = ratically
         SUBSTRING('Quadratically',5,6) = ratica
         SUBSTRING('Sakila',-3) = ila
         SUBSTRING('Sakila',-5,3) = aki
         SUBSTRING('abc',0) = ||
         SUBSTRING('abc',-5,2) = ||
         SUBSTRING_INDEX('www.mysql.com','.',2) = www.mysql
         SUBSTRING_INDEX('www.mysql.com','.',-2) = mysql.com
         SUBSTRING_INDEX('abc','.',1) = abc
         LPAD('hi',4,'??') = ??hi
         LPAD('hi',1,'??') = h
         RPAD('hi',5,'?') = hi???
         RPAD('hi',5,'') = NULL
         REPEAT('ab',3) = ababab
         REPEAT('ab',-1) = ||
         REPEAT('a',99999999) = NULL
         SPACE(3) = |   |
         REPLACE('www.mysql.com','w','Ww') = WwWwWw.mysql.com
         REVERSE('abé') = éba
         INSERT('Quadratic',3,4,'What') = QuWhattic
         INSERT('Quadratic',-1,4,'What') = Quadratic
         INSERT('Quadratic',3,100,'What') = QuWhat
         TRIM('  bar   ') = bar
         TRIM('xxbarxx','x') = bar
         LTRIM('xxbarxx','x') = barxx
         RTRIM('bar  ') = bar
         ELT(1,'ej','Heja') = ej
         ELT(0,'ej') = NULL
         QUOTE(NULL) = NULL
         ASCII('2') = 50
         ORD('2') = 50
         ORD('é') = 50089
         SOUNDEX('Hello') = H400
         SOUNDEX('Quadratically') = Q36324
         MAKE_SET(1,'a','b','c') = a
         MAKE_SET(5,'hello','nice','world') = hello,world
         MAKE_SET(0,'a') = ||
         EXPORT_SET(5,'Y','N',',',4) = Y,N,Y,N
         CHAR(77,121,83) = x'4D7953'
         CHAR(256) = x'0100'",
    );
    let context = context();
    assert_eq!(run(&context, "QUOTE", &["'Don't!'"]).unwrap(), "'Don\\'t!'");
}

#[test]
fn searching() {
    check(
        "LOCATE('bar','foobarbar') = 4
         LOCATE('xbar','foobar') = 0
         LOCATE('bar','foobarbar',5) = 7
         LOCATE('BAR','foobar') = 4
         LOCATE('','abc') = 1
         INSTR('foobarbar','bar') = 4
         STRCMP('text','text2') = -1
         STRCMP('A','a') = 0
         FIELD('Bb','Aa','Bb','Cc') = 2
         FIELD(NULL,'a') = 0
         FIELD(2,1,2) = 2
         FIND_IN_SET('b','a,b,c,d') = 2
         FIND_IN_SET('','a,,c') = 2
         FIND_IN_SET('x','') = 0",
    );
}

#[test]
fn numbers_as_text() {
    check(
        "HEX('abc') = 616263
         HEX(255) = FF
         HEX(-1) = FFFFFFFFFFFFFFFF
         UNHEX('4D7953514C') = x'4D7953514C'
         UNHEX('GG') = NULL
         BIN(12) = 1100
         OCT(12) = 14
         CONV('a',16,2) = 1010
         CONV('6E',18,8) = 172
         CONV(-17,10,-18) = -H
         CONV('zz',10,16) = 0
         CONV(1,1,10) = NULL
         FORMAT(12332.123456,4) = 12,332.1235
         FORMAT(12332.1,4) = 12,332.1000
         FORMAT(12332.2,0) = 12,332
         FORMAT(-1234567.891,2,'de_DE') = -1.234.567,89
         TO_BASE64('abc') = YWJj
         FROM_BASE64('YWJj') = x'616263'
         FROM_BASE64('!') = NULL",
    );
}

#[test]
fn mathematics() {
    check(
        "ABS(-32) = 32
         ABS(-1.5) = 1.5
         ABS(-9223372036854775808) = error 1690
         SIGN(-32) = -1
         SQRT(4) = 2
         SQRT(-16) = NULL
         POW(2,-2) = 0.25
         EXP(0) = 1
         LN(1) = 0
         LN(0) = NULL
         LOG(2,65536) = 16
         LOG10(100) = 2
         MOD(29,9) = 2
         MOD(34.5,3) = 1.5
         MOD(1,0) = NULL
         PI() = 3.141593
         ATAN2(0,1) = 0
         DEGREES(0) = 0
         CRC32('MySQL') = 3259397556
         BIT_COUNT(29) = 4
         BIT_COUNT(-1) = 64
         INTERVAL(23,1,15,17,30,44,200) = 3
         INTERVAL(NULL,1) = -1
         ROUND(-1.23) = -1
         ROUND(-1.58) = -2
         ROUND(1.298,1) = 1.3
         ROUND(1.298,0) = 1
         ROUND(23.298,-1) = 20
         ROUND(25,-1) = 30
         ROUND(2.5) = 3
         ROUND(25e-1) = 2
         ROUND(125e-2,1) = 1.2
         ROUND(1e0,2) = 1.00
         TRUNCATE(1.223,1) = 1.2
         TRUNCATE(-1.999,1) = -1.9
         TRUNCATE(122,-2) = 100
         CEILING(1.23) = 2
         CEILING(-1.23) = -1
         FLOOR(-1.23) = -2
         FLOOR(1.5e0) = 1
         GREATEST(2,0) = 2
         GREATEST(34.0,3.0,5.0,767.0) = 767.0
         GREATEST('B','A','C') = C
         LEAST('b','A') = A
         LEAST(2,NULL) = NULL
         RAND(3) = 0.9057697559760601
         RAND(0) = 0.15522042769493574",
    );
}

#[test]
fn control_flow() {
    check(
        "IF(1,'a','b') = a
         IF(NULL,'a','b') = b
         IFNULL(NULL,10) = 10
         IFNULL(1,0) = 1
         NULLIF(1,1) = NULL
         NULLIF(1,2) = 1
         COALESCE(NULL,NULL,'c') = c
         ISNULL(NULL) = 1
         ISNULL(0) = 0",
    );
}

#[test]
fn clock() {
    let context = context();
    let text = |name: &str, args: &[&str]| run(&context, name, args).unwrap();
    assert_eq!(text("NOW", &[]), "2026-11-21 09:30:15");
    assert_eq!(text("CURRENT_TIMESTAMP", &["3"]), "2026-11-21 09:30:15.123");
    assert_eq!(text("CURDATE", &[]), "2026-11-21");
    assert_eq!(text("UTC_TIME", &[]), "09:30:15");
    assert_eq!(text("UNIX_TIMESTAMP", &[]), "1795253415");
    assert_eq!(run(&context, "NOW", &["7"]).unwrap_err().code, 1426);
}

#[test]
fn dates() {
    check(
        "DATE('2003-12-31 01:02:03') = 2003-12-31
         TIME('2003-12-31 01:02:03.000123') = 01:02:03.000123
         TIMESTAMP('2003-12-31') = 2003-12-31 00:00:00
         TIMESTAMP('2003-12-31 12:00:00','12:00:00') = 2004-01-01 00:00:00
         LAST_DAY('2004-02-05') = 2004-02-29
         LAST_DAY('2003-03-32') = NULL
         FROM_DAYS(730669) = 2000-07-03
         TO_DAYS('2007-10-07') = 733321
         TO_SECONDS('2009-11-29 13:43:32') = 63426721412
         MAKEDATE(2011,32) = 2011-02-01
         MAKEDATE(2011,0) = NULL
         MAKETIME(12,15,30) = 12:15:30
         MAKETIME(12,60,30) = NULL
         SEC_TO_TIME(2378) = 00:39:38
         TIME_TO_SEC('22:23:00') = 80580
         DATEDIFF('2007-12-31 23:59:59','2007-12-30') = 1
         DATEDIFF('2010-11-30 23:59:59','2010-12-31') = -31
         TIMEDIFF('2000-01-01 00:00:00','2000-01-01 00:00:00.000001') = -00:00:00.000001
         TIMEDIFF('12:00:00','10:30:00') = 01:30:00
         ADDTIME('2007-12-31 23:59:59.999999','1 1:1:1.000002') = 2008-01-02 01:01:01.000001
         ADDTIME('01:59:59','01:00:01') = 03:00:00
         SUBTIME('12:00:00','00:30:00') = 11:30:00
         TIMESTAMPDIFF('MONTH','2003-02-01','2003-05-01') = 3
         TIMESTAMPDIFF('YEAR','2002-05-01','2001-01-01') = -1
         TIMESTAMPDIFF('MINUTE','2003-02-01','2003-05-01 12:05:55') = 128885
         PERIOD_ADD(200801,2) = 200803
         PERIOD_DIFF(200802,200703) = 11
         STR_TO_DATE('01,5,2013','%d,%m,%Y') = 2013-05-01
         STR_TO_DATE('May 1, 2013','%M %d,%Y') = 2013-05-01
         STR_TO_DATE('09:30:17','%h:%i:%s') = 09:30:17
         STR_TO_DATE('abc','%Y-%m-%d') = NULL
         UNIX_TIMESTAMP('2015-11-13 10:20:19') = 1447410019
         UNIX_TIMESTAMP('2015-11-13 10:20:19.012') = 1447410019.012
         FROM_UNIXTIME(1447430881) = 2015-11-13 16:08:01
         FROM_UNIXTIME(1447430881,'%Y %D %M') = 2015 13th November
         CONVERT_TZ('2004-01-01 12:00:00','+00:00','+10:00') = 2004-01-01 22:00:00
         CONVERT_TZ('2004-01-01 12:00:00','nowhere','+10:00') = NULL",
    );
}

#[test]
fn parts_of_dates() {
    check(
        "YEAR('1987-01-01') = 1987
         MONTH('2008-02-03') = 2
         MONTH('2008-00-00') = 0
         DAYOFMONTH('2007-02-03') = 3
         QUARTER('2008-04-01') = 2
         DAYOFWEEK('2007-02-03') = 7
         WEEKDAY('2008-02-03 22:23:00') = 6
         DAYOFYEAR('2007-02-03') = 34
         WEEK('2008-02-20') = 7
         WEEK('2008-02-20',1) = 8
         WEEK('2008-12-31',1) = 53
         WEEKOFYEAR('2008-02-20') = 8
         YEARWEEK('1987-01-01') = 198652
         DAYNAME('2007-02-03') = Saturday
         MONTHNAME('2008-02-03') = February
         HOUR('10:05:03') = 10
         HOUR('272:59:59') = 272
         MINUTE('2008-02-03 10:05:03') = 5
         SECOND('10:05:03') = 3
         MICROSECOND('2019-12-31 23:59:59.000010') = 10
         EXTRACT('YEAR','2019-07-02') = 2019
         EXTRACT('YEAR_MONTH','2019-07-02 01:02:03') = 201907
         EXTRACT('DAY_MINUTE','2019-07-02 01:02:03') = 20102
         EXTRACT('MICROSECOND','2003-01-02 10:30:00.000123') = 123
         DATE_FORMAT('2009-10-04 22:23:00','%W %M %Y') = Sunday October 2009
         DATE_FORMAT('2007-10-04 22:23:00','%H:%i:%s') = 22:23:00
         DATE_FORMAT('1997-10-04 22:23:00','%H %k %I %r %T %S %w') = 22 22 10 10:23:00 PM 22:23:00 00 6
         TIME_FORMAT('100:00:00','%H %k %h %I %l') = 100 100 04 04 4
         GET_FORMAT('DATE','EUR') = %d.%m.%Y
         YEAR('junk') = NULL",
    );
}

#[test]
fn documents() {
    check(
        r#"JSON_ARRAY(1,'abc',NULL,1.5) = [1, "abc", null, 1.5]
         JSON_OBJECT('id',87,'name','carrot') = {"id": 87, "name": "carrot"}
         JSON_OBJECT('id') = error 1582
         JSON_QUOTE('"null"') = "\"null\""
         JSON_UNQUOTE('"abc"') = abc
         JSON_UNQUOTE(j'"a\tb"') = a	b
         JSON_EXTRACT('[10, 20, [30, 40]]','$[1]') = 20
         JSON_EXTRACT('[10, 20, [30, 40]]','$[1]','$[0]') = [20, 10]
         JSON_EXTRACT('[10, 20, [30, 40]]','$[2][*]') = [30, 40]
         JSON_EXTRACT('{"a": 1}','$.b') = NULL
         JSON_EXTRACT('{"a"','$.b') = error 3141
         JSON_EXTRACT('{"a": 1}','a') = error 3143
         JSON_VALID('{"a": 1}') = 1
         JSON_VALID('hello') = 0
         JSON_TYPE('[1]') = ARRAY
         JSON_DEPTH('[10, {"a": 20}]') = 3
         JSON_LENGTH('[1, 2, {"a": 3}]') = 3
         JSON_LENGTH('{"a": 1, "b": {"c": 30}}','$.b') = 1
         JSON_KEYS('{"a": 1, "b": {"c": 30}}') = ["a", "b"]
         JSON_CONTAINS('{"a": 1, "b": 2}','1','$.a') = 1
         JSON_CONTAINS('{"a": 1}','{"b": 1}') = 0
         JSON_CONTAINS_PATH('{"a": 1, "b": 2}','one','$.a','$.e') = 1
         JSON_CONTAINS_PATH('{"a": 1, "b": 2}','all','$.a','$.e') = 0
         JSON_OVERLAPS('[1,3,5,7]','[2,5,7]') = 1
         JSON_SEARCH('["abc", [{"k": "10"}]]','one','10') = "$[1][0].k"
         JSON_SET('{"a": 1, "b": [2, 3]}','$.a',10,'$.c','[true]') = {"a": 10, "b": [2, 3], "c": "[true]"}
         JSON_INSERT('{"a": 1}','$.a',10,'$.c',2) = {"a": 1, "c": 2}
         JSON_REPLACE('{"a": 1}','$.a',10,'$.c',2) = {"a": 10}
         JSON_REMOVE('["a", ["b", "c"], "d"]','$[1]') = ["a", "d"]
         JSON_REMOVE('{}','$') = error 3153
         JSON_ARRAY_APPEND('["a", ["b", "c"], "d"]','$[1]',1) = ["a", ["b", "c", 1], "d"]
         JSON_ARRAY_INSERT('["a", 1]','$[1]','x') = ["a", "x", 1]
         JSON_MERGE_PRESERVE('[1, 2]','[true, false]') = [1, 2, true, false]
         JSON_MERGE_PATCH('{"name": "x"}','{"id": 47}') = {"id": 47, "name": "x"}
         MEMBER OF(17,'[23, "abc", 17, "ab", 10]') = 1
         MEMBER OF('17','[23, "abc", 17]') = 0
         JSON_EXTRACT(NULL,'$') = NULL"#,
    );
}

#[test]
fn digests_addresses_and_identifiers() {
    check(
        "MD5('testing') = ae2b1fca515949e5d54fb22b8ed95575
         SHA1('abc') = a9993e364706816aba3e25717850c26c9cd0d89d
         SHA2('abc',224) = 23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
         SHA2('abc',1) = NULL
         INET_ATON('10.0.5.9') = 167773449
         INET_ATON('127.1') = 2130706433
         INET_NTOA(167773449) = 10.0.5.9
         INET6_ATON('10.0.5.9') = x'0A000509'
         INET6_NTOA(x'FDFE0000000000005A55CAFFFEFA9089') = fdfe::5a55:caff:fefa:9089
         INET6_ATON('fdfe::5a55:caff:fefa:9089') = x'FDFE0000000000005A55CAFFFEFA9089'
         IS_IPV4('10.0.5.256') = 0
         IS_IPV6('::1') = 1
         IS_UUID('6ccd780c-baba-1026-9564-5b8c656024db') = 1
         IS_UUID('6ccd780c-baba-1026-9564') = 0
         UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db') = x'6CCD780CBABA102695645B8C656024DB'
         UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db',1) = x'1026BABA6CCD780C95645B8C656024DB'
         BIN_TO_UUID(x'1026BABA6CCD780C95645B8C656024DB',1) = 6ccd780c-baba-1026-9564-5b8c656024db
         UUID_TO_BIN('x') = error 1411",
    );
}

#[test]
fn regular_expressions() {
    check(
        "REGEXP_LIKE('CamelCase','CAMELCASE') = 1
         REGEXP_LIKE('CamelCase','CAMELCASE','c') = 0
         REGEXP_LIKE('abc',NULL) = NULL
         REGEXP_LIKE('abc','(') = error 1139
         REGEXP_INSTR('dog cat dog','dog',2) = 9
         REGEXP_INSTR('aa aaa aaaa','a{4}') = 8
         REGEXP_SUBSTR('abc def ghi','[a-z]+',1,3) = ghi
         REGEXP_SUBSTR('abc','z') = NULL
         REGEXP_REPLACE('a b c','b','X') = a X c
         REGEXP_REPLACE('abc def ghi','[a-z]+','X',1,3) = abc def X
         REGEXP_REPLACE('abc','(a)(b)','$2$1') = bac",
    );
}

#[test]
fn information() {
    let context = context();
    let text = |name: &str, args: &[&str]| run(&context, name, args).unwrap();
    assert_eq!(text("DATABASE", &[]), "test");
    assert_eq!(text("USER", &[]), "root@localhost");
    assert_eq!(text("CURRENT_USER", &[]), "root@%");
    assert_eq!(text("CONNECTION_ID", &[]), "7");
    assert_eq!(text("CHARSET", &["'a'"]), "utf8mb4");
    assert_eq!(text("COLLATION", &["'a'"]), "utf8mb4_0900_ai_ci");
    assert_eq!(text("COERCIBILITY", &["'a'"]), "4");
    assert_eq!(text("COERCIBILITY", &["1"]), "5");
    assert_eq!(text("LAST_INSERT_ID", &["42"]), "42");
    assert_eq!(text("LAST_INSERT_ID", &[]), "42");
    assert_eq!(text("SLEEP", &["0.01"]), "0");
    context.kill.kill_query();
    assert_eq!(text("SLEEP", &["1000"]), "1");
}

#[test]
fn user_locks() {
    check(
        "GET_LOCK('a',0) = 1
         RELEASE_LOCK('nobody') = NULL
         GET_LOCK('',1) = error 3057",
    );
    let mut context = context();
    assert_eq!(run(&context, "GET_LOCK", &["'Job'", "10"]).unwrap(), "1");
    assert_eq!(run(&context, "IS_USED_LOCK", &["'job'"]).unwrap(), "7");
    context.connection_id = 8;
    assert_eq!(run(&context, "GET_LOCK", &["'job'", "0.01"]).unwrap(), "0");
    assert_eq!(run(&context, "RELEASE_LOCK", &["'job'"]).unwrap(), "0");
    assert_eq!(run(&context, "IS_FREE_LOCK", &["'job'"]).unwrap(), "0");
    context.connection_id = 7;
    assert_eq!(run(&context, "RELEASE_ALL_LOCKS", &[]).unwrap(), "1");
    assert_eq!(run(&context, "IS_FREE_LOCK", &["'job'"]).unwrap(), "1");
}

#[test]
fn a_constant_seed_starts_a_sequence() {
    let context = context();
    let expr = call(&context, "RAND", &["3"]).unwrap();
    let numbers: Vec<Value> = (0..3).map(|_| expr.eval(&EmptyRow, &context).unwrap()).collect();
    let expected = [0.9057697559760601, 0.37307905813034536, 0.14808605345719125];
    assert_eq!(numbers, expected.map(Value::Double));
}

#[test]
fn uuids_differ_from_call_to_call() {
    let context = context();
    let mut seen: Vec<String> = (0..100).map(|_| run(&context, "UUID", &[]).unwrap()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 100);
    assert!(seen.iter().all(|uuid| uuid.len() == 36 && &uuid[14..15] == "1"), "{seen:?}");
    assert_ne!(run(&context, "UUID_SHORT", &[]), run(&context, "UUID_SHORT", &[]));
}

#[test]
fn wrong_counts_of_arguments_and_unknown_names_are_errors() {
    let context = context();
    for (name, args, code) in
        [("LEFT", vec!["'a'"], 1582), ("PI", vec!["1"], 1582), ("IF", vec!["1"], 1582), ("NOSUCH", vec![], 1305)]
    {
        assert_eq!(call(&context, name, &args).unwrap_err().code, code, "{name}");
    }
}

#[test]
fn no_argument_makes_a_function_panic() {
    let context = context();
    let registry = registry();
    let build = ExprBuilder::new(&registry, &context);
    let values = [
        "NULL",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "1.5",
        "-0.0001",
        "1e300",
        "-1e300",
        "''",
        "'a'",
        "'é日本'",
        "'2024-02-30'",
        "'0000-00-00'",
        "'-838:59:59'",
        "x''",
        "x'FF00'",
        "j'[1]'",
        "'%Y%'",
        "'$[0]'",
        "'('",
    ];
    for (name, _) in registry.scalars() {
        // They wait.
        if matches!(name, "SLEEP" | "GET_LOCK" | "RELEASE_LOCK_AND_WAIT" | "WAIT" | "WAIT_FOR_LOCK" | "WAIT_UNTIL") {
            continue;
        }
        for first in values {
            for second in values {
                for args in [vec![], vec![first], vec![first, second], vec![second, first, second]] {
                    let args = args.into_iter().map(|arg| build.literal(argument(arg))).collect();
                    if let Ok(expr) = build.call(name, args) {
                        let _ = expr.eval(&EmptyRow, &context);
                    }
                }
            }
        }
    }
}
