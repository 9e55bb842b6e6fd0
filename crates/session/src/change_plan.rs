//! The plan of a change of configuration or of a table, as EXPLAIN shows it.

use crate::result::{ResultSet, typed_column};
use squall_types::json::quote;
use squall_types::{CollationId, SqlType, Value};
use std::fmt::Write;
use std::time::Duration;

/// The steps of a SET, RESET PERSIST or ALTER TABLE, in their order.
#[derive(Debug, Default)]
pub(crate) struct ChangePlan {
    pub steps: Vec<Step>,
}

/// A step.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// What is done.
    pub action: &'static str,
    /// The variable, table or key; `None` for a step of the whole statement.
    pub name: Option<String>,
    /// Its value before and after the step, as tables show it.
    pub old: Option<String>,
    pub new: Option<String>,
    /// When the new value holds.
    pub applies: Option<&'static str>,
    /// What waits meanwhile.
    pub blocks: &'static str,
    /// How long it takes, by what such steps have taken since the server has started; `None` if there were none.
    pub time: Option<Duration>,
    /// Memory, or space of files, that it takes, or gives back if negative, bytes.
    pub bytes: i64,
    pub is_reversible: bool,
    pub note: Option<String>,
}

/// Names and types of the columns.
fn columns() -> Vec<(&'static str, SqlType)> {
    let text = |length| SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI);
    vec![
        ("STEP", SqlType::BIGINT_UNSIGNED),
        ("NODE", text(64)),
        ("ACTION", text(32)),
        ("NAME", text(64)),
        ("OLD_VALUE", text(16_383)),
        ("NEW_VALUE", text(16_383)),
        ("APPLIES", text(16)),
        ("BLOCKS", text(64)),
        ("ESTIMATED_SECONDS", SqlType::Double { unsigned: false, zerofill: false, digits: Some((22, 6)) }),
        ("ESTIMATED_BYTES", SqlType::BIGINT),
        ("REVERSIBLE", text(3)),
        ("NOTE", text(1024)),
    ]
}

impl ChangePlan {
    /// The steps, and the line that sums them up.
    fn rows(&self) -> Vec<Vec<Value>> {
        let mut rows: Vec<Vec<Value>> = (1..).zip(&self.steps).map(|(number, step)| step.values(number)).collect();
        let total = Step {
            action: "total",
            blocks: self.steps.iter().map(|step| step.blocks).find(|blocks| *blocks != NOTHING).unwrap_or(NOTHING),
            // One that is not known makes the sum unknown.
            time: self.steps.iter().map(|step| step.time).sum(),
            bytes: self.steps.iter().fold(0, |sum, step| sum.saturating_add(step.bytes)),
            is_reversible: self.steps.iter().all(|step| step.is_reversible),
            ..Step::default()
        };
        rows.push(total.values(self.steps.len() as u64 + 1));
        rows
    }

    /// As a table.
    pub fn table(&self) -> ResultSet {
        let columns = columns().into_iter().map(|(name, sql_type)| typed_column(name, sql_type, false)).collect();
        ResultSet { columns, rows: self.rows() }
    }

    /// As a JSON document.
    pub fn json(&self) -> String {
        let steps = self.rows().into_iter().map(|row| {
            let members = columns().into_iter().zip(row).map(|((name, _), value)| {
                let value = match value {
                    Value::UInt(number) => number.to_string(),
                    Value::Int(number) => number.to_string(),
                    Value::Double(number) => format!("{number:.6}"),
                    Value::String(text) => quote(&text),
                    _ => "null".to_owned(),
                };
                format!("      {}: {value}", quote(&name.to_ascii_lowercase()))
            });
            format!("    {{\n{}\n    }}", members.collect::<Vec<_>>().join(",\n"))
        });
        format!("{{\n  \"steps\": [\n{}\n  ]\n}}", steps.collect::<Vec<_>>().join(",\n"))
    }

    /// As lines.
    pub fn tree(&self) -> String {
        self.steps.iter().fold(String::new(), |mut text, step| {
            step.write_line(&mut text);
            text
        })
    }
}

/// What most steps block.
pub(crate) const NOTHING: &str = "nothing";

impl Step {
    fn values(&self, number: u64) -> Vec<Value> {
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        vec![
            Value::UInt(number),
            Value::Null,
            Value::from(self.action),
            text(self.name.as_deref()),
            text(self.old.as_deref()),
            text(self.new.as_deref()),
            text(self.applies),
            Value::from(self.blocks),
            self.time.map_or(Value::Null, |time| Value::Double(time.as_secs_f64())),
            Value::Int(self.bytes),
            Value::from(if self.is_reversible { "YES" } else { "NO" }),
            text(self.note.as_deref()),
        ]
    }

    fn write_line(&self, text: &mut String) {
        let value = |value: &Option<String>| value.as_ref().map_or_else(|| "NULL".to_owned(), |value| quote(value));
        // Writing to a string cannot fail.
        let _ = write!(text, "-> {}", self.action);
        if let Some(name) = &self.name {
            let _ = write!(text, " {name}: {} to {}", value(&self.old), value(&self.new));
        }
        let _ = write!(text, "  (blocks {}", self.blocks);
        if let Some(applies) = self.applies {
            let _ = write!(text, ", applies {applies}");
        }
        if let Some(time) = self.time {
            let _ = write!(text, ", seconds={:.6}", time.as_secs_f64());
        }
        if self.bytes != 0 {
            let _ = write!(text, ", bytes={}", self.bytes);
        }
        text.push_str(")\n");
    }
}
