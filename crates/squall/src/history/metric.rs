//! A metric of a chart: its name, its unit, and its query.

use super::axis::Unit;
use crate::connection::quoted;
use squall_types::DateTime;

/// A number over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Metric {
    /// A status variable.
    Status(String),
    /// The sum of a column over the rows that meet conditions `column = text`.
    Column { table: String, column: String, conditions: Vec<(String, String)>, name: String },
}

impl Metric {
    /// Reads `Questions`, `table.column`, `table.column[key=value,…]`.
    pub fn parse(text: &str) -> Result<Metric, String> {
        let refused = |reason: &str| Err(format!("'{text}' is no metric: {reason}"));
        let (path, rest) = match text.split_once('[') {
            Some((path, rest)) => (path, Some(rest)),
            None => (text, None),
        };
        let Some((table, column)) = path.split_once('.') else {
            if rest.is_some() {
                return refused("conditions belong to TABLE.COLUMN");
            }
            return if path.is_empty() { refused("it is empty") } else { Ok(Metric::Status(path.to_owned())) };
        };
        if table.is_empty() || column.is_empty() || column.contains('.') {
            return refused("expected TABLE.COLUMN");
        }
        let mut conditions = Vec::new();
        if let Some(rest) = rest {
            let Some(list) = rest.strip_suffix(']') else { return refused("a ']' is missing") };
            for condition in list.split(',') {
                let Some((key, value)) = condition.split_once('=') else {
                    return refused("conditions are COLUMN=VALUE, separated by commas");
                };
                conditions.push((key.trim().to_owned(), value.to_owned()));
            }
        }
        Ok(Metric::Column { table: table.to_owned(), column: column.to_owned(), conditions, name: text.to_owned() })
    }

    /// As it was given.
    pub fn name(&self) -> &str {
        match self {
            Metric::Status(name) | Metric::Column { name, .. } => name,
        }
    }

    /// What its numbers are.
    pub fn unit(&self) -> Unit {
        let column = match self {
            Metric::Status(name) => name,
            Metric::Column { column, .. } => column,
        };
        let column = column.to_ascii_lowercase();
        if column.contains("timer") || column.contains("lock_time") || column.contains("cpu_time") {
            Unit::Picoseconds
        } else if column.contains("bytes") || column.contains("memory") {
            Unit::Bytes
        } else {
            Unit::Plain
        }
    }

    /// The query for its values: seconds since 1970 and numbers, in the order of time. The session's time zone is UTC.
    pub fn sql(&self, from: f64, to: f64) -> String {
        let range = format!("ts BETWEEN {} AND {}", literal(from), literal(to));
        let time = "UNIX_TIMESTAMP(ts)";
        match self {
            Metric::Status(name) => format!(
                "SELECT {time}, variable_value FROM ps_history.global_status WHERE {range} AND variable_name = {} ORDER BY ts",
                text(name)
            ),
            Metric::Column { table, column, conditions, .. } => {
                let conditions: String =
                    conditions.iter().map(|(key, value)| format!(" AND {} = {}", quoted(key), text(value))).collect();
                let (table, column) = (quoted(table), quoted(column));
                format!(
                    "SELECT {time}, SUM({column}) FROM ps_history.{table} WHERE {range}{conditions} GROUP BY ts ORDER BY ts"
                )
            }
        }
    }
}

/// A text as SQL has it, whatever the sql_mode.
fn text(text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    if hex.is_empty() { "''".to_owned() } else { format!("_utf8mb4 0x{hex}") }
}

/// Seconds since 1970 as a DATETIME of UTC.
fn literal(seconds: f64) -> String {
    let moment = DateTime::from_unix_micros((seconds * 1e6) as i64);
    format!("'{}'", moment.map_or_else(String::new, |moment| moment.to_text(6)))
}

/// Reads a time: a length back from `now`, or a local time, which is `offset` seconds ahead of UTC.
pub(super) fn parse_time(text: &str, now: f64, offset: f64) -> Result<f64, String> {
    let trimmed = text.trim();
    let unit = trimmed.chars().last().unwrap_or_default();
    let seconds = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86_400.0,
        'w' => 604_800.0,
        _ => 0.0,
    };
    if seconds > 0.0
        && let Ok(count) = trimmed[..trimmed.len() - 1].trim().parse::<f64>()
        && count.is_finite()
        && count >= 0.0
    {
        return Ok(now - count * seconds);
    }
    let rules = squall_types::temporal::DateRules::LENIENT;
    let parsed = squall_types::temporal::parse::parse_datetime(trimmed, rules).ok();
    match parsed.and_then(|parsed| parsed.value.unix_micros()) {
        Some(micros) => Ok(micros as f64 / 1e6 - offset),
        None => Err(format!("'{text}' is no time: expected 90s, 30m, 6h, 2d, 1w or 'YYYY-MM-DD hh:mm:ss'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read() {
        assert_eq!(Metric::parse("Questions"), Ok(Metric::Status("Questions".into())));
        let metric = Metric::parse("hosts.TOTAL_CONNECTIONS[HOST=a'b\\,USER=x=y]").expect("a metric");
        let Metric::Column { conditions, .. } = &metric else { panic!("{metric:?}") };
        assert_eq!(conditions[1], ("USER".into(), "x=y".into()));
        // Nothing of a value is read as SQL.
        assert!(metric.sql(0.0, 1.0).contains("`HOST` = _utf8mb4 0x6127625c AND"), "{}", metric.sql(0.0, 1.0));
        for text in ["", "a[b=c]", ".x", "t.", "a.b.c", "a.b[c=d", "a.b[c]"] {
            assert!(Metric::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read() {
        let now = 1_000_000.0;
        assert_eq!(parse_time("90s", now, 0.0), Ok(now - 90.0));
        assert_eq!(parse_time("1.5h", now, 7200.0), Ok(now - 5400.0));
        assert_eq!(parse_time("1970-01-02 02:00:00", now, 7200.0), Ok(86_400.0));
        for text in ["", "h", "-1h", "soon", "10", "é", "NaNh"] {
            assert!(parse_time(text, now, 0.0).is_err(), "{text}");
        }
    }
}
