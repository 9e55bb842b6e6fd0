//! Distances of two vectors.
//!
//! Numbers are added up as doubles, so that no sum is infinite. There are eight partial sums: compilers make vector instructions of
//! that, and the order of additions is always the same.

use super::DIMENSION_BYTES;

/// Sums that are kept beside each other.
const LANES: usize = 8;

/// The metrics of DISTANCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The length of the straight line between them.
    Euclidean,
    /// 1 less the cosine of the angle between them: from 0 to 2. A vector of zeros has no direction and is 1 from all others.
    Cosine,
    /// Their scalar product with the other sign, so that what is most alike comes first.
    Dot,
}

impl Metric {
    const ALL: [Metric; 3] = [Metric::Euclidean, Metric::Cosine, Metric::Dot];

    /// The metric of a name, in any letter case.
    pub fn of_name(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name().eq_ignore_ascii_case(name))
    }

    /// Its name in definitions.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Euclidean => "euclidean",
            Metric::Cosine => "cosine",
            Metric::Dot => "dot",
        }
    }

    /// The distance of two values; `None` if they do not have as many dimensions.
    pub fn distance(self, left: &[u8], right: &[u8]) -> Option<f64> {
        if left.len() != right.len() {
            return None;
        }
        Some(match self {
            Metric::Euclidean => {
                let [squares] = sums(left, right, |left, right| [(left - right) * (left - right)]);
                squares.sqrt()
            }
            Metric::Dot => {
                let [product] = sums(left, right, |left, right| [left * right]);
                // Not -0 for vectors that are at right angles.
                0.0 - product
            }
            Metric::Cosine => {
                let [product, left, right] =
                    sums(left, right, |left, right| [left * right, left * left, right * right]);
                let lengths = (left * right).sqrt();
                if lengths == 0.0 { 1.0 } else { (1.0 - product / lengths).clamp(0.0, 2.0) }
            }
        })
    }
}

/// Sums over all dimensions of what `terms` makes of both values' numbers.
fn sums<const N: usize>(left: &[u8], right: &[u8], terms: impl Fn(f64, f64) -> [f64; N]) -> [f64; N] {
    const BLOCK_BYTES: usize = LANES * DIMENSION_BYTES;
    let mut lanes = [[0.0; LANES]; N];
    let mut add = |left: &[u8; BLOCK_BYTES], right: &[u8; BLOCK_BYTES]| {
        let (left, right) = (left.as_chunks().0, right.as_chunks().0);
        for lane in 0..LANES {
            let (left, right) = (f32::from_le_bytes(left[lane]), f32::from_le_bytes(right[lane]));
            for (sums, term) in lanes.iter_mut().zip(terms(f64::from(left), f64::from(right))) {
                sums[lane] += term;
            }
        }
    };
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks(), right.as_chunks());
    for (left, right) in left.iter().zip(right) {
        add(left, right);
    }
    if !left_rest.is_empty() {
        // Zeros in both add nothing to any of the sums.
        let padded = |rest: &[u8]| {
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            block
        };
        add(&padded(left_rest), &padded(right_rest));
    }
    lanes.map(|lanes| lanes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::numbers;

    fn bytes(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        for length in [1, 7, 8, 9, 64, 131] {
            let left: Vec<f32> = (0..length).map(|at| (at * 37 % 11) as f32 - 4.5).collect();
            let right: Vec<f32> = (0..length).map(|at| (at * 17 % 13) as f32 - 6.25).collect();
            let (left, right) = (bytes(&left), bytes(&right));
            let pairs = || numbers(&left).zip(numbers(&right)).map(|(left, right)| (f64::from(left), f64::from(right)));
            let product: f64 = pairs().map(|(left, right)| left * right).sum();
            let squares: f64 = pairs().map(|(left, right)| (left - right).powi(2)).sum();
            let lengths: f64 = pairs().map(|(left, _)| left * left).sum::<f64>().sqrt()
                * pairs().map(|(_, right)| right * right).sum::<f64>().sqrt();
            let near = |found: Option<f64>, wanted: f64| (found.unwrap_or(f64::NAN) - wanted).abs() < 1e-9;
            assert!(near(Metric::Euclidean.distance(&left, &right), squares.sqrt()), "{length}");
            assert!(near(Metric::Dot.distance(&left, &right), -product), "{length}");
            assert!(near(Metric::Cosine.distance(&left, &right), 1.0 - product / lengths), "{length}");
        }
    }

    #[test]
    fn corners_of_distances() {
        let (zero, large) = (bytes(&[0.0, 0.0]), bytes(&[f32::MAX, f32::MIN]));
        assert_eq!(Metric::Cosine.distance(&zero, &large), Some(1.0));
        assert_eq!(Metric::Cosine.distance(&large, &large), Some(0.0));
        assert_eq!(Metric::Dot.distance(&zero, &zero).map(f64::is_sign_positive), Some(true));
        assert!(Metric::Euclidean.distance(&zero, &large).is_some_and(f64::is_finite));
        assert_eq!(Metric::Euclidean.distance(&zero, &bytes(&[1.0])), None);
    }
}
