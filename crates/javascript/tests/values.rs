//! Values of SQL that pass through a script agree with a model.

use squall_javascript::convert::input_of;
use squall_javascript::engine::{Failure, Limits, Output, ResultForm, Task};
use squall_javascript::pool::{Engine, LastScript};
use squall_statement_context::KillState;
use squall_types::convert::to_text;
use squall_types::json::Document;
use squall_types::temporal::{DateTime, TimeZone};
use squall_types::{CollationId, Date, Decimal, SqlType, Value};
use std::sync::Arc;
use std::time::Duration;

const LIMITS: Limits = Limits { heap: 64 << 20, stack: 1 << 20, time: Some(Duration::from_secs(20)), result: 64 << 20 };

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Of any size.
    fn number(&mut self) -> u64 {
        let bits = self.below(65) as u32;
        self.next().checked_shr(64 - bits).unwrap_or(0)
    }

    fn text(&mut self) -> String {
        let kinds = ['\0', 'a', '"', '\\', '\n', 'é', '☃', '\u{1f600}', '\u{7f}', '\u{ffff}', '$'];
        (0..self.below(20)).map(|_| kinds[self.below(kinds.len() as u64) as usize]).collect()
    }

    fn date(&mut self) -> Date {
        let (year, month, day) = (1 + self.below(9999), 1 + self.below(12), 1 + self.below(28));
        Date::from_parts(year as u16, month as u8, day as u8).unwrap()
    }
}

/// A value of SQL with its type, and what the model says that it is when it comes back.
fn value(random: &mut Random, decimal_as_text: bool) -> (Value, SqlType, Output) {
    let text = |text: String| Output::Text(text);
    match random.below(10) {
        0 => {
            let number = random.number() as i64;
            (Value::Int(number), SqlType::BIGINT, text(number.to_string()))
        }
        1 => {
            let number = random.number();
            (Value::UInt(number), SqlType::BIGINT_UNSIGNED, text(number.to_string()))
        }
        2 => {
            let number = f64::from_bits(random.next());
            let number = if number.is_finite() { number } else { 0.5 };
            // Its text is compared as a number.
            (Value::Double(number), SqlType::DOUBLE, text(number.to_string()))
        }
        3 => {
            let own = random.text();
            (Value::String(own.clone()), SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI), text(own))
        }
        4 => {
            let bytes: Vec<u8> = (0..random.below(20)).map(|_| random.next() as u8).collect();
            (Value::Bytes(bytes.clone()), SqlType::longtext(CollationId::BINARY), Output::Bytes(bytes))
        }
        5 => {
            let date = random.date();
            let sql_type = SqlType::Date;
            let expected = format!("{} 00:00:00", to_text(&Value::Date(date), &sql_type));
            (Value::Date(date), sql_type, text(expected))
        }
        6 => {
            let micros = random.below(86_400_000_000) as i64;
            let at = DateTime::from_unix_micros(random.date().at_midnight().unix_micros().unwrap() + micros).unwrap();
            let sql_type = SqlType::DateTime { fsp: 6 };
            let shown = to_text(&Value::DateTime(at), &sql_type);
            // A Date has milliseconds.
            let expected = shown[..shown.len() - 3].trim_end_matches(".000").to_string();
            (Value::DateTime(at), sql_type, text(expected))
        }
        7 => {
            let digits = format!("{}.{:05}", random.number() as i64, random.below(100_000));
            let value = Value::Decimal(Decimal::parse(&digits).value);
            let sql_type = SqlType::decimal(30, 5);
            let spelled = to_text(&value, &sql_type);
            let expected = if decimal_as_text { spelled } else { spelled.parse::<f64>().unwrap().to_string() };
            (value, sql_type, text(expected))
        }
        8 => {
            let own = serde_text(&random.text());
            let document = Document::parse(&format!("{{\"k\": [{}, {own}, null, true]}}", random.below(1000))).unwrap();
            let expected = document.text().into_owned();
            (Value::Json(document), SqlType::Json, text(expected))
        }
        _ => (Value::Null, SqlType::Null, Output::Null),
    }
}

/// A string of a document.
fn serde_text(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if (c as u32) < 32 => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn same(given: &Output, expected: &Output, sql_type: &SqlType) -> bool {
    match (given, expected, sql_type) {
        (Output::Text(given), Output::Text(expected), SqlType::Double { .. } | SqlType::Decimal { .. })
            if given != expected =>
        {
            given.parse::<f64>().ok() == expected.parse::<f64>().ok()
        }
        (Output::Text(given), Output::Text(expected), SqlType::Json) => {
            Document::parse(given).unwrap().text() == Document::parse(expected).unwrap().text()
        }
        _ => given == expected,
    }
}

#[test]
fn values_come_back_as_they_went() {
    let engine = Engine::default();
    let kill = Arc::<KillState>::default();
    let mut random = Random(20_261_128);
    let scripts = [
        "arguments[0]",
        "v",
        "[v][0]",
        "(() => v)()",
        "Promise.resolve(v)",
        "(function (x) { return x }).call(null, v)",
    ];
    for zone in ["+00:00", "+10:00", "-09:30"] {
        let zone = Arc::new(TimeZone::parse(zone).unwrap());
        for round in 0..4_000 {
            let decimal_as_text = round % 2 == 0;
            let (value, sql_type, expected) = value(&mut random, decimal_as_text);
            let arguments = [(Some("v"), input_of(&value, &sql_type, &zone, decimal_as_text))];
            let task = Task {
                arguments: &arguments,
                form: ResultForm::Sql,
                limits: LIMITS,
                kill: &kill,
                zone: &zone,
                statements: None,
                is_abandoned: None,
            };
            let script = scripts[random.below(scripts.len() as u64) as usize];
            let given: Result<Output, Failure> = engine.call(script, &mut LastScript::default(), &task, 16).0;
            let given = given.unwrap_or_else(|failure| panic!("{value:?} {script}: {failure:?}"));
            assert!(same(&given, &expected, &sql_type), "{value:?} {script} gives {given:?}, not {expected:?}");
        }
    }
}
