//! Times in the form of the logs.

use squall_types::temporal::TimeZone;
use std::sync::Arc;

/// `log_timestamps`.
#[derive(Clone, Debug, Default)]
pub enum Zone {
    /// `UTC`.
    #[default]
    Utc,
    /// `SYSTEM`.
    System(Arc<TimeZone>),
}

const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

/// The proleptic Gregorian calendar, with years that begin in March so that the leap day comes last.
fn parts(unix_micros: i64) -> Parts {
    let (seconds, micros) = (unix_micros.div_euclid(MICROS), unix_micros.rem_euclid(MICROS));
    let (days, second) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    Parts {
        year: era * 400 + year_of_era + i64::from(month <= 2),
        month,
        day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
        hour: second / 3600,
        minute: second / 60 % 60,
        second: second % 60,
        micros,
    }
}

fn digits<const N: usize>(mut number: i64) -> [u8; N] {
    let mut text = [b'0'; N];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text
}

fn push_local(out: &mut Vec<u8>, unix_micros: i64) {
    let parts = parts(unix_micros);
    out.extend_from_slice(&digits::<4>(parts.year));
    for (separator, number) in
        [(b'-', parts.month), (b'-', parts.day), (b'T', parts.hour), (b':', parts.minute), (b':', parts.second)]
    {
        out.push(separator);
        out.extend_from_slice(&digits::<2>(number));
    }
    out.push(b'.');
    out.extend_from_slice(&digits::<6>(parts.micros));
}

/// Appends `2012-06-16T09:00:00.000000Z`, or with `+02:00` in place of the `Z`.
pub fn push(out: &mut Vec<u8>, unix_micros: i64, zone: &Zone) {
    let Zone::System(zone) = zone else {
        push_local(out, unix_micros);
        out.push(b'Z');
        return;
    };
    let offset = i64::from(zone.offset_at(unix_micros.div_euclid(MICROS)));
    push_local(out, unix_micros + offset * MICROS);
    out.push(if offset < 0 { b'-' } else { b'+' });
    out.extend_from_slice(&digits::<2>(offset.abs() / 3600));
    out.push(b':');
    out.extend_from_slice(&digits::<2>(offset.abs() / 60 % 60));
}

/// Appends `2012-06-16T09:00:00.000000`, in UTC.
pub fn push_plain(out: &mut Vec<u8>, unix_micros: i64) {
    push_local(out, unix_micros);
}

/// `20120616T090000`, in UTC, for names of files.
pub fn compact(unix_micros: i64) -> String {
    let mut text = Vec::new();
    push_local(&mut text, unix_micros);
    let text = text.into_iter().take(19).filter(|byte| !matches!(byte, b'-' | b':')).collect();
    String::from_utf8(text).unwrap_or_default()
}

/// Appends microseconds as seconds with six digits behind the point.
pub fn push_seconds(out: &mut Vec<u8>, micros: u64) {
    crate::text::push_number(out, micros / 1_000_000);
    out.push(b'.');
    out.extend_from_slice(&digits::<6>((micros % 1_000_000) as i64));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(micros: i64) -> String {
        let mut out = Vec::new();
        push(&mut out, micros, &Zone::Utc);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn moments() {
        assert_eq!(utc(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(utc(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(utc(1_339_837_200_000_000), "2012-06-16T09:00:00.000000Z");
        assert_eq!(utc(4_107_542_399_999_999), "2100-02-28T23:59:59.999999Z");
        assert_eq!(compact(1_339_837_200_000_000), "20120616T090000");
        let mut out = Vec::new();
        let zone = TimeZone::parse("-03:30").expect("an offset");
        push(&mut out, 1_339_837_200_000_000, &Zone::System(Arc::new(zone)));
        assert_eq!(out, b"2012-06-16T05:30:00.000000-03:30");
    }

    #[test]
    fn durations() {
        let mut out = Vec::new();
        push_seconds(&mut out, 16_723_020);
        assert_eq!(out, b"16.723020");
    }
}
