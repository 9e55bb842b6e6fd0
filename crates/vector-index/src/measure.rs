//! Distances within the graph: of 32-bit numbers, without steps that do not change the order (such as roots).

use squall_types::vector::{Metric, numbers};

/// Numbers that are added up beside each other. Vectors are filled up with zeros to a multiple of it.
pub const LANES: usize = 16;

/// Numbers that a vector takes in the graph.
pub fn padded(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// Writes a value's numbers as the graph has them: of length 1 for the cosine, whose distance is then a scalar product.
pub fn prepare(metric: Metric, value: &[u8], out: &mut [f32]) {
    for (out, number) in out.iter_mut().zip(numbers(value)) {
        *out = number;
    }
    if metric == Metric::Cosine {
        let squares: f64 = out.iter().map(|number| f64::from(*number).powi(2)).sum();
        if squares > 0.0 {
            let length = squares.sqrt();
            out.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
        }
    }
}

/// How far two vectors are apart, in the order of the metric.
pub fn distance(metric: Metric, left: &[f32], right: &[f32]) -> f32 {
    let distance = match metric {
        Metric::Euclidean => sum(left, right, |left, right| (left - right) * (left - right)),
        Metric::Cosine | Metric::Dot => -sum(left, right, |left, right| left * right),
    };
    // Products beyond all numbers may cancel out to none.
    if distance.is_nan() { f32::MAX } else { distance }
}

fn sum(left: &[f32], right: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for (left, right) in left.as_chunks::<LANES>().0.iter().zip(right.as_chunks::<LANES>().0) {
        for ((sum, left), right) in lanes.iter_mut().zip(left).zip(right) {
            *sum += term(*left, *right);
        }
    }
    lanes.iter().sum()
}
