//! Relaxed forms of dates and times, as MySQL reads them.

use super::*;
use proptest::prelude::*;

fn datetime(text: &str) -> String {
    match parse_datetime(text, DateRules::LENIENT) {
        Ok(parsed) => {
            format!("{}{}", parsed.value.to_text(6), if parsed.truncated { " cut" } else { "" })
        }
        Err(problem) => format!("{problem:?}"),
    }
}

fn time(text: &str) -> String {
    match parse_time(text) {
        Ok(parsed) => format!(
            "{}{}{}",
            parsed.value.to_text(6),
            if parsed.truncated { " cut" } else { "" },
            if parsed.clamped { " clamped" } else { "" }
        ),
        Err(problem) => format!("{problem:?}"),
    }
}

#[test]
fn relaxed_datetimes() {
    for (text, expected) in [
        ("2020-1-2", "2020-01-02 00:00:00.000000"),
        ("20200102", "2020-01-02 00:00:00.000000"),
        ("200102", "2020-01-02 00:00:00.000000"),
        ("700102", "1970-01-02 00:00:00.000000"),
        ("20-1-2", "2020-01-02 00:00:00.000000"),
        ("99-1-2", "1999-01-02 00:00:00.000000"),
        ("2020^01@02 3*4*5.25", "2020-01-02 03:04:05.250000"),
        ("2020-01-02T03:04:05", "2020-01-02 03:04:05.000000"),
        ("20200102T030405", "2020-01-02 03:04:05.000000"),
        ("20200102030405.123456", "2020-01-02 03:04:05.123456"),
        ("200102030405", "2020-01-02 03:04:05.000000"),
        ("  2020-01-02   3:4", "2020-01-02 03:04:00.000000"),
        ("2020-01-02 03:04:05abc", "2020-01-02 03:04:05.000000 cut"),
        ("2020-01-02 ", "2020-01-02 00:00:00.000000"),
        ("2020-01-02x", "2020-01-02 00:00:00.000000 cut"),
        ("2020-00-00", "2020-00-00 00:00:00.000000"),
        ("0000-00-00", "0000-00-00 00:00:00.000000"),
        ("2020-02-30", "OutOfRange"),
        ("2020-13-01", "Malformed"),
        ("2020", "Malformed"),
        ("", "Malformed"),
        ("abc", "Malformed"),
        ("2020-01", "Malformed"),
        ("2020-01-01 25:00:00", "Malformed"),
        ("99999999999999999999-1-1", "Malformed"),
    ] {
        assert_eq!(datetime(text), expected, "{text}");
    }
}

#[test]
fn displacements_are_reported() {
    let parsed = parse_datetime("2020-01-01 10:00:00.5+05:30", DateRules::LENIENT).unwrap();
    assert_eq!((parsed.offset_seconds, parsed.truncated), (Some(19_800), false));
    assert_eq!(parse_datetime("2020-01-01 10:00:00-14:00", DateRules::LENIENT), Err(ParseProblem::Malformed));
}

#[test]
fn modes_decide_about_zero_parts() {
    let strict = DateRules::from(SqlMode::DEFAULT);
    assert_eq!(parse_date("0000-00-00", strict), Err(ParseProblem::ZeroDate));
    assert_eq!(parse_date("2020-00-01", strict), Err(ParseProblem::ZeroDate));
    assert_eq!(parse_date("2020-02-30", strict), Err(ParseProblem::OutOfRange));
    let any = DateRules { allow_invalid: true, ..strict };
    assert_eq!(parse_date("2020-02-30", any).unwrap().value.to_number(), 20_200_230);
}

#[test]
fn relaxed_times() {
    for (text, expected) in [
        ("12:34:56.5", "12:34:56.500000"),
        ("12:34", "12:34:00.000000"),
        ("1 12:34:56", "36:34:56.000000"),
        ("2 10", "58:00:00.000000"),
        ("123456", "12:34:56.000000"),
        ("1112", "00:11:12.000000"),
        ("12", "00:00:12.000000"),
        ("-1:2:3", "-01:02:03.000000"),
        ("839:00:00", "838:59:59.000000 clamped"),
        ("-900:00:00", "-838:59:59.000000 clamped"),
        ("2020-01-02 03:04:05", "03:04:05.000000"),
        ("10:60:00", "OutOfRange"),
        ("10:11:12x", "10:11:12.000000 cut"),
        ("12 :1.1", "12:01:00.100000"),
        ("129 .1", "00:01:29.100000"),
        ("205 1", "00:02:05.000000 cut"),
        ("2020x53131599", "Malformed"),
        ("1e3", "Malformed"),
        ("abc", "Malformed"),
        ("", "Malformed"),
        ("-", "Malformed"),
    ] {
        assert_eq!(time(text), expected, "{text}");
    }
}

#[test]
fn numbers() {
    let number = |n| datetime_from_number(n, DateRules::LENIENT).map(|p| p.value.to_number());
    assert_eq!(number(20_200_102), Ok(20_200_102_000_000));
    assert_eq!(number(200_102), Ok(20_200_102_000_000));
    assert_eq!(number(991_231), Ok(19_991_231_000_000));
    assert_eq!(number(200_102_030_405), Ok(20_200_102_030_405));
    assert_eq!(number(0), Ok(0));
    assert_eq!(number(100), Err(ParseProblem::Malformed));
    assert_eq!(number(20_201_301), Err(ParseProblem::OutOfRange));
    let time = |n| time_from_number(n).map(|p| (p.value.to_number(), p.clamped));
    assert_eq!(time(123_456), Ok((123_456, false)));
    assert_eq!(time(-123_456), Ok((-123_456, false)));
    assert_eq!(time(9_000_000), Ok((8_385_959, true)));
    assert_eq!(time(i64::MIN), Ok((-8_385_959, true)));
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = parse_datetime(&text, DateRules::LENIENT);
        let _ = parse_time(&text);
    }

    #[test]
    fn no_digits_panic(text in "[-0-9:. T+e]{0,40}") {
        let _ = parse_datetime(&text, DateRules::LENIENT);
        let _ = parse_time(&text);
    }

    #[test]
    fn no_number_panics(number in any::<i64>(), small in 0i64..99_999_999_999_999) {
        for n in [number, small] {
            let _ = datetime_from_number(n, DateRules::LENIENT);
            let _ = time_from_number(n);
        }
    }

    #[test]
    fn text_of_a_datetime_parses_back(micros in 366 * super::super::MICROS_PER_DAY..3_652_425 * super::super::MICROS_PER_DAY) {
        let value = DateTime::from_micros(micros).unwrap();
        prop_assert_eq!(value.to_micros(), micros);
        prop_assert_eq!(parse_datetime(&value.to_text(6), DateRules::LENIENT).unwrap().value, value);
        prop_assert_eq!(DateTime::from_packed(value.to_packed()), value);
    }

    #[test]
    fn text_of_a_time_parses_back(micros in -Time::MAX.to_micros()..=Time::MAX.to_micros()) {
        let value = Time::from_micros(micros).unwrap();
        let parsed = parse_time(&value.to_text(6)).unwrap();
        prop_assert_eq!(parsed.value, value);
    }
}
