//! Charts as self-contained files: SVG, and SVG in an HTML page.

use super::axis::{Scale, time_marks};
use super::series::Chart;
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
/// Height of a chart with its heading and axis.
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 34.0;
/// Points of a line that are drawn; of more, averages are.
const POINTS_MAX: usize = 1200;

/// Colours for a light ground and a dark one, by what the reader prefers.
const STYLE: &str = "
  .chart { color-scheme: light dark; font: 12px system-ui, sans-serif; }
  .ground { fill: #ffffff; } .text { fill: #24292f; } .title { font-weight: 600; font-size: 14px; }
  .grid { stroke: #d0d7de; stroke-width: 1; } .axis { stroke: #57606a; stroke-width: 1; }
  .line { fill: none; stroke: #0969da; stroke-width: 1.5; stroke-linejoin: round; } .area { fill: #0969da; fill-opacity: .12; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .grid { stroke: #30363d; } .axis { stroke: #8b949e; }
    .line { stroke: #58a6ff; } .area { fill: #58a6ff; fill-opacity: .18; }
  }
";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The charts below each other as an SVG file.
pub(super) fn document(charts: &[Chart]) -> String {
    let height = HEIGHT * charts.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    for (at, chart) in charts.iter().enumerate() {
        draw(chart, HEIGHT * at as f64, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

/// The same in a page.
pub(super) fn page(charts: &[Chart]) -> String {
    let titles: Vec<String> = charts.iter().map(|chart| escaped(&chart.title())).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{}</title>\n<style>:root {{ color-scheme: light dark; }} body {{ margin: 1rem; }} \
         svg {{ max-width: 100%; height: auto; }}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        titles.join(", "),
        document(charts)
    )
}

fn draw(chart: &Chart, top: f64, out: &mut String) {
    let scale = Scale::of(chart.values(), 5);
    let (left, right, upper, lower) = (LEFT, WIDTH - RIGHT, top + TOP, top + HEIGHT - BOTTOM);
    let x = |time: f64| left + (time - chart.from) / (chart.to - chart.from) * (right - left);
    let y = |value: f64| lower - scale.share(value) * (lower - upper);
    let mut line = |text: std::fmt::Arguments<'_>| {
        // Writing to a text cannot fail.
        let _ = out.write_fmt(text);
        out.push('\n');
    };
    let title = escaped(&chart.title());
    line(format_args!("<g><title>{title}</title>"));
    line(format_args!("<text class=\"text title\" x=\"{left}\" y=\"{:.1}\">{title}</text>", top + 22.0));
    for mark in scale.marks() {
        let at = y(mark);
        line(format_args!("<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"));
        let label = escaped(&chart.unit.shown(mark));
        line(format_args!(
            "<text class=\"text\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 8.0,
            at + 4.0
        ));
    }
    for (time, label) in time_marks(chart.from, chart.to, 9, chart.offset) {
        let at = x(time);
        line(format_args!(
            "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{lower:.1}\" y2=\"{:.1}\"/>",
            lower + 5.0
        ));
        let place = lower + 20.0;
        line(format_args!("<text class=\"text\" x=\"{at:.1}\" y=\"{place:.1}\" text-anchor=\"middle\">{label}</text>"));
    }
    line(format_args!("<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{lower:.1}\" y2=\"{lower:.1}\"/>"));
    for run in runs(chart) {
        let points: Vec<String> = run.iter().map(|(time, value)| format!("{:.1},{:.1}", x(*time), y(*value))).collect();
        let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else { continue };
        let path = points.join(" ");
        let (start, end) = (x(*first), x(*last));
        line(format_args!("<polygon class=\"area\" points=\"{start:.1},{lower:.1} {path} {end:.1},{lower:.1}\"/>"));
        line(format_args!("<polyline class=\"line\" points=\"{path}\"/>"));
    }
    line(format_args!("</g>"));
}

/// Lines without gaps.
fn runs(chart: &Chart) -> Vec<Vec<(f64, f64)>> {
    let points: Vec<(f64, Option<f64>)> = if chart.points.len() <= POINTS_MAX {
        chart.points.clone()
    } else {
        let width = (chart.to - chart.from) / POINTS_MAX as f64;
        let spans = chart.spans(POINTS_MAX).into_iter().enumerate();
        spans.map(|(at, value)| (chart.from + (at as f64 + 0.5) * width, value)).collect()
    };
    let mut runs = vec![Vec::new()];
    for (time, value) in points {
        match (value, runs.last_mut()) {
            (Some(value), Some(run)) => run.push((time, value)),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::super::metric::Metric;
    use super::super::series::Shape;
    use super::*;

    #[test]
    fn files_are_whole_and_names_are_harmless() {
        let metric = Metric::parse("hosts.TOTAL_CONNECTIONS[HOST=<script>\"&]").expect("a metric");
        let points = (0..5000).map(|at| (f64::from(at), f64::from(at % 7))).collect();
        let chart = Chart::new(&metric, points, Some(Shape::Value), (0.0, 5000.0), 0.0);
        let gap = Chart { points: vec![(1.0, Some(1.0)), (2.0, None), (3.0, Some(2.0))], ..chart.clone() };
        for text in [document(&[chart.clone(), gap.clone()]), page(&[chart, gap])] {
            assert!(!text.contains("<script>"), "{text}");
            assert!(text.contains("&lt;script&gt;") && text.contains("prefers-color-scheme: dark"));
            assert_eq!(text.matches("<polyline").count(), 3);
            assert!(!text.contains("http") || text.matches("http").count() == 1, "nothing is fetched");
            assert!(text.len() < 100_000 && !text.contains("NaN"));
        }
    }
}
