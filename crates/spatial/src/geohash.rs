//! Geohashes: the bits of longitude and latitude alternate, with five bits for each character.

/// The characters, by their five bits.
const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// Longest geohash.
pub const LENGTH_MAX: usize = 100;

/// The geohash of a position, of at most this many characters: fewer, if they say it exactly.
pub fn encode(longitude: f64, latitude: f64, length: usize) -> String {
    let (mut longitudes, mut latitudes) = ((-180.0, 180.0), (-90.0, 90.0));
    let mut hash = String::with_capacity(length);
    let mut is_longitude = true;
    while hash.len() < length {
        let mut digit = 0;
        for _ in 0..5 {
            let (range, value) = if is_longitude { (&mut longitudes, longitude) } else { (&mut latitudes, latitude) };
            let middle = (range.0 + range.1) / 2.0;
            let above = value >= middle;
            digit = digit << 1 | usize::from(above);
            *(if above { &mut range.0 } else { &mut range.1 }) = middle;
            is_longitude = !is_longitude;
        }
        hash.push(char::from(DIGITS[digit]));
        let middle = |range: (f64, f64)| (range.0 + range.1) / 2.0;
        if middle(longitudes) == longitude && middle(latitudes) == latitude {
            break;
        }
    }
    hash
}

/// The longitude and the latitude of a geohash; `None` if it is none.
pub fn decode(hash: &str) -> Option<(f64, f64)> {
    let (mut longitudes, mut latitudes) = ((-180.0, 180.0), (-90.0, 90.0));
    let mut is_longitude = true;
    if hash.is_empty() {
        return None;
    }
    for byte in hash.bytes() {
        let digit = DIGITS.iter().position(|digit| *digit == byte.to_ascii_lowercase())?;
        for bit in (0..5).rev() {
            let range = if is_longitude { &mut longitudes } else { &mut latitudes };
            let middle = (range.0 + range.1) / 2.0;
            *(if digit >> bit & 1 == 1 { &mut range.0 } else { &mut range.1 }) = middle;
            is_longitude = !is_longitude;
        }
    }
    Some((rounded(longitudes), rounded(latitudes)))
}

/// The number of fewest decimal digits that lies between the two bounds.
fn rounded((low, high): (f64, f64)) -> f64 {
    let middle = (low + high) / 2.0;
    for digits in 0..20 {
        let scale = 10f64.powi(digits);
        let number = (middle * scale).round() / scale;
        if low <= number && number <= high {
            return number + 0.0;
        }
    }
    middle
}
