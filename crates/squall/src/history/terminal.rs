//! Charts of characters.

use super::axis::{Scale, time_marks};
use super::series::Chart;

/// A cell that is filled from below by no eighth up to all eight.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII.
const ASCII: [char; 9] = [' ', '.', '.', ':', ':', '|', '|', '#', '#'];

/// A chart in this many columns and lines; heading and time axis take three lines more.
pub(super) fn draw(chart: &Chart, width: usize, height: usize, ascii: bool) -> String {
    let scale = Scale::of(chart.values(), (height / 2).clamp(2, 8));
    let marks: Vec<(usize, String)> =
        scale.marks().into_iter().map(|mark| (line_of(scale.share(mark), height), chart.unit.shown(mark))).collect();
    let label_width = marks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(label_width + 2).max(10);
    let spans = chart.spans(columns);
    let (corner, side, floor, tick) = if ascii { ('+', '|', '-', '+') } else { ('└', '┤', '─', '┬') };
    let blocks = if ascii { ASCII } else { BLOCKS };
    let mut out = format!("{}\n", heading(chart));
    for line in (0..height).rev() {
        let label = marks.iter().find(|(at, _)| *at == line).map_or("", |(_, label)| label.as_str());
        let mark = if label.is_empty() && !ascii { '│' } else { side };
        let cells: String = spans
            .iter()
            .map(|span| {
                let Some(value) = span else { return ' ' };
                let eighths = (scale.share(*value) * (height * 8) as f64).round() as usize;
                // Even the least value leaves a trace: none looks like a gap.
                let eighths = eighths.max(1);
                blocks[eighths.saturating_sub(line * 8).min(8)]
            })
            .collect();
        let cells = cells.trim_end();
        out.push_str(&format!("{label:>label_width$} {mark}{cells}\n"));
    }
    let mut axis = vec![floor; columns];
    let mut labels = vec![' '; columns + 24];
    let mut free = 0;
    for (time, label) in time_marks(chart.from, chart.to, (columns / 14).max(2), chart.offset) {
        let at = ((time - chart.from) / (chart.to - chart.from) * (columns - 1) as f64).round() as usize;
        let start = at.saturating_sub(label.len() / 2);
        if at < columns && start >= free && start + label.len() < columns + 8 {
            axis[at] = tick;
            label.chars().enumerate().for_each(|(offset, letter)| labels[start + offset] = letter);
            free = start + label.len() + 2;
        }
    }
    out.push_str(&format!("{:>label_width$} {corner}{}\n", "", axis.into_iter().collect::<String>()));
    let labels: String = labels.into_iter().collect();
    out.push_str(&format!("{:>label_width$}  {}\n", "", labels.trim_end()));
    out
}

/// The line, from below, in which a share of the height lies.
fn line_of(share: f64, height: usize) -> usize {
    ((share * height as f64).ceil() as usize).saturating_sub(1).min(height - 1)
}

fn heading(chart: &Chart) -> String {
    let (mut count, mut sum, mut least, mut greatest) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for value in chart.values() {
        count += 1;
        sum += value;
        least = f64::min(least, value);
        greatest = f64::max(greatest, value);
    }
    if count == 0 {
        return chart.title();
    }
    let shown = |value: f64| chart.unit.shown(value);
    let last = chart.values().last().unwrap_or_default();
    format!(
        "{}   min {}  avg {}  max {}  last {}",
        chart.title(),
        shown(least),
        shown(sum / f64::from(count)),
        shown(greatest),
        shown(last)
    )
}

#[cfg(test)]
mod tests {
    use super::super::metric::Metric;
    use super::super::series::Shape;
    use super::*;

    fn chart() -> Chart {
        let metric = Metric::parse("Threads_running").expect("a metric");
        let points = (0..=60).map(|at| (f64::from(at) * 60.0, f64::from(at))).collect();
        Chart::new(&metric, points, Some(Shape::Value), (0.0, 3600.0), 0.0)
    }

    #[test]
    fn a_rising_line_rises() {
        let drawn = draw(&chart(), 50, 6, false);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 9);
        assert!(lines[0].starts_with("Threads_running   min 0  avg 30  max 60"), "{}", lines[0]);
        assert!(lines.iter().all(|line| line.chars().count() <= 74), "{drawn}");
        let filled = |line: &str| line.chars().filter(|letter| BLOCKS[1..].contains(letter)).count();
        assert!(lines[1..7].windows(2).all(|pair| filled(pair[0]) <= filled(pair[1])), "{drawn}");
        assert!(lines[8].contains("00:30"), "{drawn}");
    }

    #[test]
    fn ascii_is_ascii() {
        assert!(draw(&chart(), 80, 12, true).is_ascii());
        let empty = Chart { points: Vec::new(), ..chart() };
        assert!(draw(&empty, 40, 3, true).is_ascii());
    }
}
