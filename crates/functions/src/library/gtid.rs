//! Sets of transaction identifiers: `UUID[:tag]:first-last:…`, separated by commas.

use super::support::{Args, Def, result};
use squall_types::hex::{parse_uuid, write_uuid};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::BTreeMap;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("GTID_SUBSET", (2, 2), result::nullable_int, |args| {
        let (part, whole) = two_sets(args)?;
        Ok(Value::from(part.subtract(&whole).0.is_empty()))
    }),
    Def::new("GTID_SUBTRACT", (2, 2), result::connection_text, |args| {
        let (from, what) = two_sets(args)?;
        Ok(args.string(from.subtract(&what).to_text()))
    }),
    Def::new("WAIT_FOR_EXECUTED_GTID_SET", (1, 2), result::nullable_int, wait_for_executed).takes_null().volatile(),
];

/// Characters of a UUID's text.
const UUID_CHARACTERS: usize = 36;
/// Most characters of a tag.
const TAG_CHARACTERS_MAX: usize = 32;
/// The greatest number of a transaction.
const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

/// First and last number.
type Interval = (u64, u64);

/// Which server's transactions they are: its UUID, and a tag or nothing.
type Source = ([u8; 16], String);

/// A set: of each source the intervals in order, none of which touches another one.
#[derive(Debug, Default, PartialEq)]
struct GtidSet(BTreeMap<Source, Vec<Interval>>);

fn malformed(text: &str) -> SqlError {
    SqlError::new(ErrorCode::MalformedGtidSet, &[&text])
}

fn two_sets(args: &Args<'_>) -> SqlResult<(GtidSet, GtidSet)> {
    let read = |at: usize| {
        let text = args.text(at);
        GtidSet::parse(&text).ok_or_else(|| malformed(&text))
    };
    Ok((read(0)?, read(1)?))
}

/// Without a binary log no transaction has an identifier, so there is nothing to wait for.
fn wait_for_executed(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() {
        return Err(malformed("NULL"));
    }
    if args.len() > 1 && args.f64(1)? < 0.0 {
        return Err(SqlError::new(ErrorCode::WrongArguments, &[&"WAIT_FOR_EXECUTED_GTID_SET."]));
    }
    Err(SqlError::new(ErrorCode::GtidModeOff, &[&"use WAIT_FOR_EXECUTED_GTID_SET"]))
}

impl GtidSet {
    /// `None` for a text that is no set.
    fn parse(text: &str) -> Option<GtidSet> {
        let mut set = GtidSet::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let uuid = parse_uuid(part.get(..UUID_CHARACTERS)?.as_bytes())?;
            let rest = part[UUID_CHARACTERS..].trim_start();
            let mut tag = String::new();
            if rest.is_empty() {
                continue;
            }
            for item in rest.strip_prefix(':')?.split(':').map(str::trim) {
                if item.starts_with(|first: char| first.is_ascii_digit()) {
                    if let Some(interval) = parse_interval(item)? {
                        set.0.entry((uuid, tag.clone())).or_default().push(interval);
                    }
                } else {
                    tag = parse_tag(item)?;
                }
            }
        }
        for intervals in set.0.values_mut() {
            *intervals = merged(std::mem::take(intervals));
        }
        Some(set)
    }

    /// The identifiers that are not in another set.
    fn subtract(&self, other: &GtidSet) -> GtidSet {
        let mut left = BTreeMap::new();
        for (source, intervals) in &self.0 {
            let without = other.0.get(source).map_or(&[][..], Vec::as_slice);
            let kept: Vec<Interval> = intervals.iter().flat_map(|interval| cut(*interval, without)).collect();
            if !kept.is_empty() {
                left.insert(source.clone(), kept);
            }
        }
        GtidSet(left)
    }

    /// A line for each server, as MySQL writes them.
    fn to_text(&self) -> String {
        let (mut out, mut last) = (Vec::new(), None);
        for ((uuid, tag), intervals) in &self.0 {
            if last != Some(uuid) {
                if last.is_some() {
                    out.extend_from_slice(b",\n");
                }
                write_uuid(uuid, &mut out);
                last = Some(uuid);
            }
            if !tag.is_empty() {
                out.push(b':');
                out.extend_from_slice(tag.as_bytes());
            }
            for (first, end) in intervals {
                let text = if first == end { format!(":{first}") } else { format!(":{first}-{end}") };
                out.extend_from_slice(text.as_bytes());
            }
        }
        out.into_iter().map(char::from).collect()
    }
}

/// `first` or `first-last`; one that ends before it begins has no numbers (`Some(None)`).
fn parse_interval(text: &str) -> Option<Option<Interval>> {
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number <= NUMBER_MAX);
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first == 0 {
        return None;
    }
    Some((first <= last).then_some((first, last)))
}

/// Tags differ without their case.
fn parse_tag(text: &str) -> Option<String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let fits = (1..=TAG_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(known);
    fits.then(|| text.to_ascii_lowercase())
}

/// In order, each number once, neighbours joined.
fn merged(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_unstable();
    let mut out: Vec<Interval> = Vec::with_capacity(intervals.len());
    for (first, last) in intervals {
        match out.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => out.push((first, last)),
        }
    }
    out
}

/// The rest of an interval without other intervals, which are in order.
fn cut((mut first, last): Interval, without: &[Interval]) -> Vec<Interval> {
    let mut out = Vec::new();
    for &(from, to) in without {
        if to < first || from > last {
            continue;
        }
        if from > first {
            out.push((first, from - 1));
        }
        first = to + 1;
    }
    if first <= last {
        out.push((first, last));
    }
    out
}
