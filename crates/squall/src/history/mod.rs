//! `squall history`: charts of the server's counters, from `ps_history`.

mod axis;
mod metric;
mod series;
mod svg;
mod terminal;

use crate::connection::ConnectionArgs;
use clap::{ArgGroup, Args};
use metric::{Metric, parse_time};
use series::{Chart, Shape};
use squall_client::Client;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Most metrics of one call.
const METRICS_MAX: usize = 32;

/// Draws charts of status variables, or of any number in ps_history, over time.
///
/// A METRIC is the name of a status variable (Questions), or TABLE.COLUMN of a table of ps_history, which is summed over its rows; conditions
/// choose some of them: 'events_statements_summary_global_by_event_name.COUNT_STAR[EVENT_NAME=statement/sql/select]'.
/// What only grows is shown by the second; --value shows it as it is.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, group = ArgGroup::new("form").args(["svg", "html"]))]
#[command(after_help = "Examples:\n  squall history Questions Threads_running --since 6h\n  \
    squall history 'events_statements_summary_by_digest.SUM_TIMER_WAIT' --since 1d --svg load.svg\n  \
    squall history --list")]
pub(crate) struct HistoryArgs {
    /// What to draw [default: Questions]
    #[arg(value_name = "METRIC")]
    metrics: Vec<String>,
    /// From when on: a length of time back from now (90s, 30m, 6h, 2d, 1w), or a time of the server ('2026-01-31 10:00')
    #[arg(long, value_name = "TIME", default_value = "1h")]
    since: String,
    /// Until when, in the same way [default: now]
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Shows how much is added in a second
    #[arg(long, conflicts_with = "value")]
    rate: bool,
    /// Shows values as they are
    #[arg(long)]
    value: bool,
    /// Columns of the terminal [default: COLUMNS, or 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,
    /// Lines of a chart
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(3..=100))]
    height: u16,
    /// Draws with ASCII characters only
    #[arg(long)]
    ascii: bool,
    /// Writes the charts to an SVG file instead
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Writes the charts to an HTML file instead
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Lists status variables and the numbers of tables that can be drawn
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Draws.
pub(crate) fn run(args: &HistoryArgs) -> Result<(), String> {
    if args.metrics.len() > METRICS_MAX {
        return Err(format!("{} metrics at once are too many; {METRICS_MAX} are the most", args.metrics.len()));
    }
    let names = if args.metrics.is_empty() { vec!["Questions".to_owned()] } else { args.metrics.clone() };
    let metrics: Vec<Metric> = names.iter().map(|name| Metric::parse(name)).collect::<Result<_, _>>()?;
    let mut client = args.connection.connect("")?;
    if args.list {
        return list(&mut client);
    }
    let now = cell(&mut client, "SELECT UNIX_TIMESTAMP(NOW(6))")?.parse::<f64>().map_err(|error| error.to_string())?;
    // Labels are in the server's time, whatever that of this terminal is.
    let offset = cell(&mut client, "SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())")?.parse::<f64>();
    let offset = offset.map_err(|error| error.to_string())?;
    rows(&mut client, "SET time_zone = '+00:00'")?;
    let from = parse_time(&args.since, now, offset)?;
    let to = args.until.as_deref().map_or(Ok(now), |until| parse_time(until, now, offset))?;
    if from >= to {
        return Err("--until is not later than --since".to_owned());
    }
    let shape = match (args.rate, args.value) {
        (true, _) => Some(Shape::Rate),
        (_, true) => Some(Shape::Value),
        _ => None,
    };
    let mut charts = Vec::with_capacity(metrics.len());
    for metric in &metrics {
        let points = points(&mut client, metric, from, to)?;
        charts.push(Chart::new(metric, points, shape, (from, to), offset));
    }
    // A server that is gone needs no goodbye.
    let _ = client.quit();
    match (&args.svg, &args.html) {
        (Some(path), _) => write_file(path, &svg::document(&charts)),
        (_, Some(path)) => write_file(path, &svg::page(&charts)),
        _ => {
            let width = args.width.map(usize::from).unwrap_or_else(terminal_width);
            let texts: Vec<String> =
                charts.iter().map(|chart| terminal::draw(chart, width, args.height.into(), args.ascii)).collect();
            let mut out = std::io::stdout().lock();
            match out.write_all(texts.join("\n").as_bytes()) {
                // The reader has seen enough.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
                written => written.map_err(|error| error.to_string()),
            }
        }
    }
}

fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    columns.unwrap_or(100).clamp(40, 1000)
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}

/// The rows of a statement, as text; NULL is empty.
fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let results = client.run(sql).map_err(|error| error.to_string())?;
    let text =
        |value: Option<Vec<u8>>| value.map_or_else(String::new, |value| String::from_utf8_lossy(&value).into_owned());
    Ok(results.into_iter().flat_map(|(_, rows)| rows).map(|row| row.into_iter().map(text).collect()).collect())
}

fn cell(client: &mut Client, sql: &str) -> Result<String, String> {
    let value = rows(client, sql)?.into_iter().flatten().next();
    value.ok_or_else(|| "the server gave no answer".to_owned())
}

/// The values of a metric: seconds since 1970 UTC, and numbers.
fn points(client: &mut Client, metric: &Metric, from: f64, to: f64) -> Result<Vec<(f64, f64)>, String> {
    let rows = rows(client, &metric.sql(from, to)).map_err(|error| format!("{}: {error}", metric.name()))?;
    let mut points = Vec::with_capacity(rows.len());
    for row in &rows {
        let [time, value] = row.as_slice() else { return Err("the server gave another answer".to_owned()) };
        // What is no number (ON, a text) has no place in a chart.
        if let (Ok(time), Ok(value)) = (time.parse(), value.parse()) {
            points.push((time, value));
        }
    }
    if points.is_empty() {
        let reason = match rows.is_empty() {
            true => {
                "nothing in ps_history in that time: is there such a metric (--list), and is ps_history_enabled ON?"
            }
            false => "its values are no numbers",
        };
        return Err(format!("{}: {reason}", metric.name()));
    }
    Ok(points)
}

fn list(client: &mut Client) -> Result<(), String> {
    let status = "SELECT variable_name FROM performance_schema.global_status ORDER BY 1";
    let columns = "SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns \
        WHERE table_schema = 'ps_history' AND data_type IN ('bigint', 'int', 'double', 'decimal') \
        AND column_name <> 'server_id' ORDER BY 1";
    let mut text = String::new();
    for sql in [status, columns] {
        rows(client, sql)?.iter().flatten().for_each(|name| {
            text.push_str(name);
            text.push('\n');
        });
    }
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}
