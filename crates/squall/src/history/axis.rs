//! Scales: positions and labels of the marks.

use squall_types::DateTime;

/// What numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Plain,
    Bytes,
    Picoseconds,
}

impl Unit {
    /// A number in as few characters as say it.
    pub fn shown(self, number: f64) -> String {
        let scaled = |steps: &[(f64, &str)]| {
            let size = number.abs();
            let (unit, name) = steps.iter().find(|(unit, _)| size >= *unit).copied().unwrap_or((1.0, ""));
            (number / unit, name.to_owned())
        };
        let (number, name) = match self {
            Unit::Plain => scaled(&[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]),
            Unit::Bytes => {
                let (number, name) = scaled(&[
                    (1024f64.powi(4), " TiB"),
                    (1024f64.powi(3), " GiB"),
                    (1024f64.powi(2), " MiB"),
                    (1024.0, " KiB"),
                ]);
                (number, if name.is_empty() { " B".to_owned() } else { name })
            }
            Unit::Picoseconds => {
                let (number, name) = scaled(&[(1e12, " s"), (1e9, " ms"), (1e6, " us"), (1e3, " ns")]);
                (number, if name.is_empty() { " ps".to_owned() } else { name })
            }
        };
        let digits = match number.abs() {
            size if size >= 100.0 || number == 0.0 => 0,
            size if size >= 10.0 => 1,
            _ => 2,
        };
        let text = format!("{number:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
        format!("{text}{name}")
    }
}

/// Marks from below the least value to above the greatest, at round numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub step: f64,
}

impl Scale {
    /// A scale of about this many marks. It begins at 0 unless the values lie close together far above it.
    pub fn of(values: impl Iterator<Item = f64>, marks: usize) -> Scale {
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            least = least.min(value);
            greatest = greatest.max(value);
        }
        if least > greatest {
            (least, greatest) = (0.0, 1.0);
        }
        if least >= 0.0 && (greatest - least > least / 4.0 || least == greatest) {
            least = 0.0;
        }
        if greatest <= least {
            greatest = least + 1.0;
        }
        let raw = (greatest - least) / marks.max(1) as f64;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|factor| factor * power).find(|step| *step >= raw * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let low = (least / step).floor() * step;
        let high = (greatest / step).ceil() * step;
        Scale { low, high: if high > low { high } else { low + step }, step }
    }

    /// The marks.
    pub fn marks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count.min(100)).map(|at| self.low + at as f64 * self.step).collect()
    }

    /// Where a value lies, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// Steps of time between marks, in seconds.
const STEPS: [f64; 19] = [
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    1800.0,
    3600.0,
    7200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    604_800.0,
    2_592_000.0,
];

/// Round moments of a span of time, at most this many, with what stands beside them; `offset` seconds are local time ahead of UTC.
pub(super) fn time_marks(from: f64, to: f64, marks_max: usize, offset: f64) -> Vec<(f64, String)> {
    let raw = (to - from) / marks_max.max(1) as f64;
    let step = STEPS.iter().copied().find(|step| *step >= raw).unwrap_or_else(|| (raw / 86_400.0).ceil() * 86_400.0);
    let first = ((from + offset) / step).ceil() * step - offset;
    let count = ((to - first) / step).floor().max(-1.0) as i64 + 1;
    let label = |seconds: f64| {
        let Some(moment) = DateTime::from_unix_micros(((seconds + offset) * 1e6) as i64) else { return String::new() };
        let text = moment.to_text(0);
        // YYYY-MM-DD hh:mm:ss
        let part = match step {
            step if step < 60.0 => text.get(11..19),
            step if step < 86_400.0 && to - from <= 86_400.0 => text.get(11..16),
            step if step < 86_400.0 => text.get(5..16),
            _ => text.get(..10),
        };
        part.unwrap_or_default().to_owned()
    };
    (0..count.clamp(0, 1000)).map(|at| first + at as f64 * step).map(|time| (time, label(time))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round() {
        let scale = Scale::of([3.0, 97.0].into_iter(), 4);
        assert_eq!((scale.low, scale.high, scale.step), (0.0, 100.0, 25.0));
        let close = Scale::of([1000.0, 1010.0].into_iter(), 4);
        assert!(close.low >= 990.0 && close.high <= 1020.0, "{close:?}");
        for values in [vec![], vec![0.0], vec![7.0, 7.0], vec![f64::NAN], vec![-3.0, 5.0], vec![1e300, -1e300]] {
            let scale = Scale::of(values.into_iter(), 5);
            assert!(scale.high > scale.low && scale.marks().len() >= 2, "{scale:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let shown = |unit: Unit, number| unit.shown(number);
        assert_eq!(shown(Unit::Plain, 0.0), "0");
        assert_eq!(shown(Unit::Plain, 1234.0), "1.23k");
        assert_eq!(shown(Unit::Plain, 25_000_000.0), "25M");
        assert_eq!(shown(Unit::Bytes, 1536.0), "1.5 KiB");
        assert_eq!(shown(Unit::Picoseconds, 2.5e9), "2.5 ms");
        assert_eq!(shown(Unit::Plain, 0.25), "0.25");
    }

    #[test]
    fn times_are_round_and_local() {
        let marks = time_marks(1_000.0, 4_600.0, 6, 3600.0);
        let labels: Vec<&str> = marks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["01:20", "01:30", "01:40", "01:50", "02:00", "02:10"]);
        assert!(time_marks(0.0, 30.0 * 86_400.0, 8, 0.0).len() <= 8);
        assert!(time_marks(0.0, 1e12, 8, 0.0).len() <= 9);
    }
}
