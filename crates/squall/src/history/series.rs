//! Values over time, as a chart shows them.

use super::axis::Unit;
use super::metric::Metric;

/// How values are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// What was added since the value before, by the second.
    Rate,
    /// As they are.
    Value,
}

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    pub name: String,
    pub unit: Unit,
    pub shape: Shape,
    /// Seconds since 1970 UTC and values, in the order of time; no value where the server was started again.
    pub points: Vec<(f64, Option<f64>)>,
    /// What the x axis begins and ends with.
    pub from: f64,
    pub to: f64,
    /// Seconds that local time is ahead of UTC.
    pub offset: f64,
}

impl Chart {
    /// A chart of values; without a shape it is by the second if they only grow.
    pub fn new(metric: &Metric, values: Vec<(f64, f64)>, shape: Option<Shape>, span: (f64, f64), offset: f64) -> Chart {
        let shape = shape.unwrap_or_else(|| natural_shape(metric.name(), &values));
        let points = match shape {
            Shape::Value => values.into_iter().map(|(time, value)| (time, Some(value))).collect(),
            Shape::Rate => rates(&values),
        };
        let name = metric.name().to_owned();
        Chart { name, unit: metric.unit(), shape, points, from: span.0, to: span.1, offset }
    }

    /// Its heading: name and unit.
    pub fn title(&self) -> String {
        match self.shape {
            Shape::Rate => format!("{} per second", self.name),
            Shape::Value => self.name.clone(),
        }
    }

    /// The values alone.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().filter_map(|(_, value)| *value)
    }

    /// The averages of as many equal spans of time; none where there is no value. A span between two neighbouring values has what a
    /// line between them has.
    pub fn spans(&self, count: usize) -> Vec<Option<f64>> {
        let width = (self.to - self.from) / count.max(1) as f64;
        let mut sums = vec![(0.0, 0u32); count];
        for (time, value) in &self.points {
            let at = ((time - self.from) / width).floor();
            if let (Some(value), true) = (value, at >= 0.0)
                && let Some((sum, number)) = sums.get_mut((at as usize).min(count.saturating_sub(1)))
            {
                *sum += value;
                *number += 1;
            }
        }
        let mut spans: Vec<Option<f64>> =
            sums.iter().map(|(sum, number)| (*number > 0).then(|| sum / f64::from(*number))).collect();
        let known: Vec<(f64, Option<f64>)> = self.points.clone();
        for (at, span) in spans.iter_mut().enumerate().filter(|(_, span)| span.is_none()) {
            let middle = self.from + (at as f64 + 0.5) * width;
            let after = known.partition_point(|(time, _)| *time < middle);
            let neighbours = after.checked_sub(1).and_then(|before| Some((known.get(before)?, known.get(after)?)));
            if let Some(((start, Some(first)), (end, Some(last)))) = neighbours
                && end > start
            {
                *span = Some(first + (last - first) * (middle - start) / (end - start));
            }
        }
        spans
    }
}

/// Counters grow more than once. A metric of the current state is not a counter.
fn natural_shape(name: &str, values: &[(f64, f64)]) -> Shape {
    let name = name.to_ascii_lowercase();
    let of_now = ["current", "running", "connected", "uptime", "_used", "max_", "avg_", "min_", "quantile"];
    if of_now.iter().any(|part| name.contains(part)) || values.len() < 3 {
        return Shape::Value;
    }
    // One that falls once was started again.
    let falls = values.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    let grows = values.windows(2).any(|pair| pair[1].1 > pair[0].1);
    if grows && falls * 50 <= values.len() { Shape::Rate } else { Shape::Value }
}

fn rates(values: &[(f64, f64)]) -> Vec<(f64, Option<f64>)> {
    let rate = |pair: &[(f64, f64)]| {
        let [(start, before), (end, after)] = pair else { return (0.0, None) };
        let added = after - before;
        (*end, (added >= 0.0 && end > start).then(|| added / (end - start)))
    };
    values.windows(2).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64], shape: Option<Shape>) -> Chart {
        let points = values.iter().enumerate().map(|(at, value)| (at as f64 * 10.0, *value)).collect();
        let metric = Metric::parse("Questions").expect("a metric");
        Chart::new(&metric, points, shape, (0.0, 10.0 * (values.len() - 1) as f64), 0.0)
    }

    #[test]
    fn counters_are_shown_by_the_second() {
        let chart = chart(&[0.0, 100.0, 300.0, 300.0], None);
        assert_eq!(chart.shape, Shape::Rate);
        assert_eq!(chart.values().collect::<Vec<_>>(), [10.0, 20.0, 0.0]);
        assert_eq!(super::tests::chart(&[3.0, 1.0, 2.0, 1.0], None).shape, Shape::Value);
        assert_eq!(super::tests::chart(&[3.0, 3.0, 3.0], None).shape, Shape::Value);
    }

    #[test]
    fn a_start_of_the_server_is_a_gap() {
        let chart = chart(&[500.0, 600.0, 5.0, 105.0], Some(Shape::Rate));
        assert_eq!(chart.points[1], (20.0, None));
        assert_eq!(chart.values().collect::<Vec<_>>(), [10.0, 10.0]);
    }

    #[test]
    fn spans_are_averages_or_between_neighbours() {
        let chart = chart(&[0.0, 10.0, 20.0], Some(Shape::Value));
        assert_eq!(chart.spans(1), [Some(10.0)]);
        let spans = chart.spans(8);
        assert_eq!((spans[0], spans[4], spans[7]), (Some(0.0), Some(10.0), Some(20.0)));
        assert!(spans[1] > spans[0] && spans[2] > spans[1]);
    }
}
