//! The header `Range` (RFC 9110, 14): which bytes of a value are asked for.

use std::ops::Range;

/// Most ranges of one request.
const RANGES_MAX: usize = 16;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// These bytes, none of them twice; one range at least.
    Parts(Vec<Range<u64>>),
    /// No byte that there is, or more than is answered at once.
    Nothing,
}

/// Reads the header of a request for so many bytes. What is no range of bytes is as if it were not there.
pub(super) fn wanted(header: &str, length: u64) -> Wanted {
    let Some((unit, list)) = header.split_once('=') else { return Wanted::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    let specs: Vec<&str> =
        list.split(',').map(str::trim).filter(|spec| !spec.is_empty()).take(RANGES_MAX + 1).collect();
    let mut parts = Vec::new();
    for spec in &specs {
        match range(spec, length) {
            Some(Some(part)) => parts.push(part),
            // Beyond the end.
            Some(None) => {}
            None => return Wanted::Whole,
        }
    }
    let overlap =
        |at: usize| parts[at + 1..].iter().any(|other| other.start < parts[at].end && parts[at].start < other.end);
    match specs.is_empty() {
        true => Wanted::Whole,
        false if parts.is_empty() || specs.len() > RANGES_MAX || (0..parts.len()).any(overlap) => Wanted::Nothing,
        false => Wanted::Parts(parts),
    }
}

/// `a-b`, `a-` or `-n`: `None` for a text that is none of these, `Some(None)` for a range that has no byte.
fn range(spec: &str, length: u64) -> Option<Option<Range<u64>>> {
    let (first, last) = spec.split_once('-')?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Beyond any length.
        true => Some(text.parse().unwrap_or(u64::MAX)),
        false => None,
    };
    let part = match (first.is_empty(), last.is_empty()) {
        (true, true) => return None,
        (true, false) => length.saturating_sub(number(last)?)..length,
        (false, true) => number(first)?..length,
        (false, false) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(length)
        }
    };
    Some(Some(part).filter(|part| part.start < part.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let one = |part: Range<u64>| Wanted::Parts(vec![part]);
        for (header, expected) in [
            ("bytes=0-3", one(0..4)),
            ("bytes=3-3", one(3..4)),
            ("Bytes = 5-", one(5..10)),
            ("bytes=-3", one(7..10)),
            ("bytes=-99", one(0..10)),
            ("bytes=8-99999999999999999999999", one(8..10)),
            ("bytes=0-0, 9-,,12-13", Wanted::Parts(vec![0..1, 9..10])),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=0-5,5-9", Wanted::Nothing),
            ("bytes=0-5,2-3", Wanted::Nothing),
            ("bytes=3-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=", Wanted::Whole),
            ("bytes", Wanted::Whole),
            ("rows=0-3", Wanted::Whole),
        ] {
            assert_eq!(wanted(header, 10), expected, "{header}");
        }
        assert_eq!(wanted("bytes=0-", 0), Wanted::Nothing);
        let many: Vec<String> = (0..20).map(|at| format!("{}-{}", 2 * at, 2 * at)).collect();
        assert_eq!(wanted(&format!("bytes={}", many.join(",")), 100), Wanted::Nothing);
        assert_eq!(
            wanted(&format!("bytes={}", many[..16].join(",")), 100),
            Wanted::Parts((0..16).map(|at| 2 * at..2 * at + 1).collect())
        );
    }
}
