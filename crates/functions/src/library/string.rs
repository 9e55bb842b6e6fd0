//! Strings: joining, cutting, padding, case.

use super::support::{Args, Binding, Def, MANY, result};
use crate::operators::coerce;
use crate::typing::string_of_length;
use squall_registry::{Coercibility, ExprType};
use squall_types::collation::{to_lower, to_upper};
use squall_types::{CollationId, SqlResult, Value};
use std::ops::Range;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("CONCAT", (1, MANY), concat_type, concat),
    Def::new("CONCAT_WS", (2, MANY), concat_type, concat_ws).takes_null(),
    Def::new("LENGTH", (1, 1), result::int, |args| Ok(Value::Int(byte_length(args, 0)))).also(&["OCTET_LENGTH"]),
    Def::new("BIT_LENGTH", (1, 1), result::bigint, |args| Ok(Value::Int(byte_length(args, 0) * 8))),
    Def::new("CHAR_LENGTH", (1, 1), result::int, char_length).also(&["CHARACTER_LENGTH"]),
    Def::new("UPPER", (1, 1), result::like_first, |args| Ok(cased(args, to_upper))).also(&["UCASE"]),
    Def::new("LOWER", (1, 1), result::like_first, |args| Ok(cased(args, to_lower))).also(&["LCASE"]),
    Def::new("LEFT", (2, 2), result::like_first, |args| slice(args, left))
        .taking_parts(|args, text| part(args, text, left)),
    Def::new("RIGHT", (2, 2), result::like_first, |args| slice(args, right))
        .taking_parts(|args, text| part(args, text, right)),
    Def::new("SUBSTRING", (2, 3), result::like_first, |args| slice(args, substring))
        .also(&["SUBSTR", "MID"])
        .taking_parts(|args, text| part(args, text, substring)),
    Def::new("SUBSTRING_INDEX", (3, 3), substring_index_type, substring_index),
    Def::new("LPAD", (2, 3), pad_type, |args| pad(args, true)),
    Def::new("RPAD", (2, 3), pad_type, |args| pad(args, false)),
    Def::new("REPEAT", (2, 2), repeat_type, repeat),
    Def::new("SPACE", (1, 1), result::connection_text, space),
    Def::new("REPLACE", (3, 3), replace_type, replace),
    Def::new("REVERSE", (1, 1), result::like_first, reverse),
    Def::new("INSERT", (4, 4), insert_type, insert),
    Def::new("TRIM", (1, 2), result::like_first, |args| Ok(trim(args, true, true))),
    Def::new("LTRIM", (1, 2), result::like_first, |args| Ok(trim(args, true, false))),
    Def::new("RTRIM", (1, 2), result::like_first, |args| Ok(trim(args, false, true))),
    Def::new("ELT", (2, MANY), elt_type, elt).takes_null(),
    Def::new("QUOTE", (1, 1), quote_type, quote).takes_null(),
    Def::new("CHAR", (1, MANY), char_type, char_function).takes_null(),
    Def::new("SOUNDEX", (1, 1), soundex_type, soundex),
    Def::new("MAKE_SET", (2, MANY), make_set_type, make_set).takes_null(),
    Def::new("EXPORT_SET", (3, 5), export_set_type, export_set),
];

/// The text is compared with the delimiter.
fn substring_index_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    binding.string_of(&[0, 1], binding.length(0))
}

/// Each character may be replaced.
fn replace_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let length = binding.length(0).saturating_mul(binding.length(2).max(1));
    binding.string_of_all(length).map(|ty| ExprType { nullable: true, ..ty })
}

/// All of the texts, with a comma between two.
fn make_set_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let texts = (1..binding.arguments.len()).map(|at| binding.length(at));
    let length = texts.fold(0_u32, |sum, length| sum.saturating_add(length).saturating_add(1));
    binding.string_of_all(length).map(|ty| ExprType { nullable: true, ..ty })
}

/// A text for each of 64 bits, with the separator between two.
fn export_set_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    const BITS: u32 = 64;
    let separator = if binding.arguments.len() > 3 { binding.length(3) } else { 1 };
    let length = binding.length(1).max(binding.length(2)).saturating_add(separator).saturating_mul(BITS);
    binding.string_of_all(length).map(|ty| ExprType { nullable: true, ..ty })
}

fn concat_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let count = binding.arguments.len();
    let mut length = (0..count).fold(0_u32, |sum, at| sum.saturating_add(binding.length(at)));
    if binding.name == "CONCAT_WS" {
        // The separator stands between the others.
        let between = u32::try_from(count.saturating_sub(2)).unwrap_or(u32::MAX);
        length = length.saturating_add(binding.length(0).saturating_mul(between));
        let ty = binding.string_of_all(length)?;
        let nullable = binding.arguments[0].expr_type.nullable;
        return Ok(ExprType { nullable, ..ty });
    }
    let ty = binding.string_of_all(length)?;
    Ok(ExprType { nullable: true, ..ty })
}

fn joined(args: &Args<'_>, parts: impl Iterator<Item = usize> + Clone, separator: &[u8]) -> SqlResult<Value> {
    let length = |at: usize| match args.value(at) {
        Value::String(text) => text.len() + separator.len(),
        Value::Bytes(bytes) => bytes.len() + separator.len(),
        // Numbers and dates, which are short.
        _ => 0,
    };
    // What grows by itself takes twice the room of a long text, or three times while it moves.
    let room = parts.clone().map(length).sum::<usize>();
    let fits = room as u64 <= args.context.settings.max_allowed_packet;
    let mut out = Vec::with_capacity(if fits { room } else { 0 });
    for (position, at) in parts.enumerate() {
        if position > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(&args.bytes(at));
        if !args.fits(out.len() as u64)? {
            return Ok(Value::Null);
        }
    }
    Ok(from_bytes(args, out))
}

/// Bytes that are text, or bytes, as the result's kind of string.
fn from_bytes(args: &Args<'_>, bytes: Vec<u8>) -> Value {
    if args.is_binary() {
        return Value::Bytes(bytes);
    }
    Value::String(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

fn concat(args: &Args<'_>) -> SqlResult<Value> {
    joined(args, 0..args.len(), b"")
}

fn concat_ws(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() {
        return Ok(Value::Null);
    }
    let parts = (1..args.len()).filter(|at| !args.value(*at).is_null());
    joined(args, parts, &args.bytes(0))
}

/// Bytes of a value in its own character set.
fn byte_length(args: &Args<'_>, at: usize) -> i64 {
    i64::try_from(args.encoded(at).len()).unwrap_or(i64::MAX)
}

fn char_length(args: &Args<'_>) -> SqlResult<Value> {
    let length = match args.value(0) {
        Value::Bytes(bytes) => bytes.len(),
        Value::String(text) => text.chars().count(),
        _ => args.text(0).chars().count(),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn cased(args: &Args<'_>, change: fn(CollationId, &str) -> String) -> Value {
    match args.value(0) {
        // Bytes have no case.
        Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
        _ => args.string(change(args.collation(), &args.text(0))),
    }
}

/// The first character (or byte) of a part, and how many it has at most; the length of the whole is asked for where it matters.
type Bounds = fn(&Args<'_>, &dyn Fn() -> u64) -> SqlResult<(u64, u64)>;

/// A part of the first argument: characters, or bytes of a byte string.
fn slice(args: &Args<'_>, bounds: Bounds) -> SqlResult<Value> {
    if let Value::Bytes(bytes) = args.value(0)
        && args.is_binary()
    {
        let (from, count) = bounds(args, &|| bytes.len() as u64)?;
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
        let end = from.saturating_add(usize::try_from(count).unwrap_or(usize::MAX)).min(bytes.len());
        return Ok(Value::Bytes(bytes[from..end].to_vec()));
    }
    let text = args.text(0);
    Ok(args.string(&text[part(args, &text, bounds)?]))
}

/// Where in a text a part of its characters is.
fn part(args: &Args<'_>, text: &str, bounds: Bounds) -> SqlResult<Range<usize>> {
    let (from, count) = bounds(args, &|| text.chars().count() as u64)?;
    let (from, count) = (usize::try_from(from).unwrap_or(usize::MAX), usize::try_from(count).unwrap_or(usize::MAX));
    let start = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    let rest = &text[start..];
    let length = rest.char_indices().nth(count).map_or(rest.len(), |(at, _)| at);
    Ok(start..start + length)
}

fn left(args: &Args<'_>, _: &dyn Fn() -> u64) -> SqlResult<(u64, u64)> {
    Ok((0, args.i64(1)?.max(0) as u64))
}

fn right(args: &Args<'_>, length: &dyn Fn() -> u64) -> SqlResult<(u64, u64)> {
    let count = args.i64(1)?.max(0) as u64;
    Ok((length().saturating_sub(count), count))
}

fn substring(args: &Args<'_>, length: &dyn Fn() -> u64) -> SqlResult<(u64, u64)> {
    let (start, count) = (args.i64(1)?, args.i64_or(2, i64::MAX)?);
    if start == 0 || count <= 0 {
        return Ok((0, 0));
    }
    if start > 0 {
        return Ok((start as u64 - 1, count as u64));
    }
    Ok(length().checked_sub(start.unsigned_abs()).map_or((0, 0), |from| (from, count as u64)))
}

fn substring_index(args: &Args<'_>) -> SqlResult<Value> {
    let (text, delimiter, count) = (args.text(0), args.text(1), args.i64(2)?);
    if delimiter.is_empty() || count == 0 {
        return Ok(args.string(""));
    }
    let times = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let part = if count > 0 {
        text.match_indices(delimiter.as_ref()).nth(times - 1).map_or(text.as_ref(), |(at, _)| &text[..at])
    } else {
        text.rmatch_indices(delimiter.as_ref())
            .nth(times - 1)
            .map_or(text.as_ref(), |(at, _)| &text[at + delimiter.len()..])
    };
    Ok(args.string(part))
}

fn pad_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let length = binding.literal_i64(1).and_then(|length| u32::try_from(length).ok()).unwrap_or(u32::MAX);
    let places: &[usize] = if binding.arguments.len() == 3 { &[0, 2] } else { &[0] };
    binding.string_of(places, length).map(|ty| ExprType { nullable: true, ..ty })
}

fn pad(args: &Args<'_>, left: bool) -> SqlResult<Value> {
    let length = args.i64(1)?;
    let Ok(length) = usize::try_from(length) else { return Ok(Value::Null) };
    if !args.fits(length as u64)? {
        return Ok(Value::Null);
    }
    if args.is_binary() {
        let fill = if args.len() == 3 { args.bytes(2).into_owned() } else { b" ".to_vec() };
        return Ok(padded(args.bytes(0).into_owned(), &fill, length, left).map_or(Value::Null, Value::Bytes));
    }
    let fill: Vec<char> = if args.len() == 3 { args.text(2).chars().collect() } else { vec![' '] };
    let text: Vec<char> = args.text(0).chars().collect();
    Ok(padded(text, &fill, length, left).map_or(Value::Null, |text| Value::String(text.into_iter().collect())))
}

fn padded<T: Copy>(mut units: Vec<T>, fill: &[T], length: usize, left: bool) -> Option<Vec<T>> {
    if units.len() >= length {
        units.truncate(length);
        return Some(units);
    }
    if fill.is_empty() {
        return None;
    }
    let padding: Vec<T> = fill.iter().copied().cycle().take(length - units.len()).collect();
    Some(if left { padding.into_iter().chain(units).collect() } else { units.into_iter().chain(padding).collect() })
}

fn repeat_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let times = binding.literal_i64(1).map(|times| u32::try_from(times.max(0)).unwrap_or(u32::MAX));
    let length = times.map_or(u32::MAX, |times| binding.length(0).saturating_mul(times));
    binding.string_of(&[0], length).map(|ty| ExprType { nullable: true, ..ty })
}

fn repeat(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.bytes(0);
    let times = usize::try_from(args.i64(1)?.max(0)).unwrap_or(usize::MAX);
    let total = bytes.len().checked_mul(times).map_or(u64::MAX, |total| total as u64);
    if !args.fits(total)? {
        return Ok(Value::Null);
    }
    Ok(from_bytes(args, bytes.repeat(times)))
}

fn space(args: &Args<'_>) -> SqlResult<Value> {
    let count = args.i64(0)?.max(0) as u64;
    if !args.fits(count)? {
        return Ok(Value::Null);
    }
    Ok(args.string(" ".repeat(usize::try_from(count).unwrap_or(0))))
}

fn replace(args: &Args<'_>) -> SqlResult<Value> {
    let (from, to) = (args.bytes(1), args.bytes(2));
    let text = args.bytes(0);
    if from.is_empty() {
        return Ok(from_bytes(args, text.into_owned()));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest: &[u8] = &text;
    let finder = memchr::memmem::Finder::new(&*from);
    while let Some(at) = finder.find(rest) {
        args.context.kill.check()?;
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&to);
        rest = &rest[at + from.len()..];
        if !args.fits(out.len() as u64)? {
            return Ok(Value::Null);
        }
    }
    out.extend_from_slice(rest);
    Ok(from_bytes(args, out))
}

fn reverse(args: &Args<'_>) -> SqlResult<Value> {
    if let (Value::Bytes(bytes), true) = (args.value(0), args.is_binary()) {
        return Ok(Value::Bytes(bytes.iter().rev().copied().collect()));
    }
    Ok(args.string(args.text(0).chars().rev().collect::<String>()))
}

fn insert_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    binding.string_of(&[0, 3], binding.length(0).saturating_add(binding.length(3)))
}

fn insert(args: &Args<'_>) -> SqlResult<Value> {
    let (text, new) = (args.text(0), args.text(3));
    let (position, count) = (args.i64(1)?, args.i64(2)?);
    let length = text.chars().count();
    let Some(start) = usize::try_from(position).ok().and_then(|at| at.checked_sub(1)).filter(|at| *at < length) else {
        return Ok(args.string(text));
    };
    // A count that leaves the text takes all of its rest.
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(start.saturating_add(count)).collect();
    Ok(args.string(format!("{head}{new}{tail}")))
}

fn trim(args: &Args<'_>, leading: bool, trailing: bool) -> Value {
    let remove = if args.len() == 2 { args.bytes(1).into_owned() } else { b" ".to_vec() };
    let bytes = args.bytes(0);
    let mut rest: &[u8] = &bytes;
    if !remove.is_empty() {
        while leading && rest.starts_with(&remove) {
            rest = &rest[remove.len()..];
        }
        while trailing && rest.ends_with(&remove) {
            rest = &rest[..rest.len() - remove.len()];
        }
    }
    from_bytes(args, rest.to_vec())
}

fn elt_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let places: Vec<usize> = (1..binding.arguments.len()).collect();
    let length = places.iter().map(|at| binding.length(*at)).max().unwrap_or(0);
    binding.string_of(&places, length).map(|ty| ExprType { nullable: true, ..ty })
}

fn elt(args: &Args<'_>) -> SqlResult<Value> {
    let at = usize::try_from(args.i64(0)?).unwrap_or(0);
    if args.value(0).is_null() || at == 0 || at >= args.len() || args.value(at).is_null() {
        return Ok(Value::Null);
    }
    Ok(from_bytes(args, args.bytes(at).into_owned()))
}

fn quote_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let quoted = binding.length(0).saturating_mul(2).saturating_add(2);
    binding.string_of(&[0], quoted.max("NULL".len() as u32))
}

fn quote(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() {
        return Ok(args.string("NULL"));
    }
    let mut out = vec![b'\''];
    for byte in args.bytes(0).iter() {
        match byte {
            0 => out.extend_from_slice(b"\\0"),
            0x1A => out.extend_from_slice(b"\\Z"),
            b'\\' | b'\'' => out.extend_from_slice(&[b'\\', *byte]),
            _ => out.push(*byte),
        }
    }
    out.push(b'\'');
    Ok(from_bytes(args, out))
}

fn char_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let length = u32::try_from(binding.arguments.len() * 4).unwrap_or(u32::MAX);
    Ok(ExprType {
        sql_type: string_of_length(length, CollationId::BINARY),
        nullable: false,
        coercibility: Coercibility::Implicit,
    })
}

/// CHAR(): bytes of numbers, leading zero bytes left out; `CHAR(… USING charset)` is a CAST of it.
fn char_function(args: &Args<'_>) -> SqlResult<Value> {
    let mut out = Vec::new();
    for at in (0..args.len()).filter(|at| !args.value(*at).is_null()) {
        let number = coerce::to_integer(args.value(at), args.ty(at), args.context)?.unwrap_or(0) as u32;
        let bytes = number.to_be_bytes();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(3);
        out.extend_from_slice(&bytes[first..]);
    }
    Ok(Value::Bytes(out))
}

fn soundex_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    binding.string_of(&[0], binding.length(0).max(4))
}

fn soundex(args: &Args<'_>) -> SqlResult<Value> {
    Ok(args.string(soundex_of(&args.text(0))))
}

/// The sound of a word: its first letter and the classes of the consonants after it, at least three.
pub fn soundex_of(text: &str) -> String {
    fn class(letter: char) -> Option<char> {
        match letter.to_ascii_uppercase() {
            'B' | 'F' | 'P' | 'V' => Some('1'),
            'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
            'D' | 'T' => Some('3'),
            'L' => Some('4'),
            'M' | 'N' => Some('5'),
            'R' => Some('6'),
            _ => None,
        }
    }
    let mut letters = text.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else { return String::new() };
    let mut out: String = first.to_uppercase().collect();
    let mut last = class(first);
    // Vowels are left out first, and then what comes twice: they part no letters of one class.
    for digit in letters.filter_map(class) {
        if last != Some(digit) {
            out.push(digit);
        }
        last = Some(digit);
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    out
}

fn make_set(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() {
        return Ok(Value::Null);
    }
    let bits = args.integer(0)? as u64;
    let chosen = (1..args.len()).filter(|at| {
        let bit = u32::try_from(at - 1).unwrap_or(u32::MAX);
        bits.checked_shr(bit).unwrap_or(0) & 1 == 1 && !args.value(*at).is_null()
    });
    joined(args, chosen, b",")
}

fn export_set(args: &Args<'_>) -> SqlResult<Value> {
    let bits = args.integer(0)? as u64;
    let (on, off) = (args.bytes(1), args.bytes(2));
    let separator = if args.len() > 3 { args.bytes(3).into_owned() } else { b",".to_vec() };
    let count = if args.len() > 4 { args.i64(4)? } else { 64 };
    let count = if (0..=64).contains(&count) { count as u32 } else { 64 };
    let longest = on.len().max(off.len()) + separator.len();
    if !args.fits((longest as u64).saturating_mul(u64::from(count)))? {
        return Ok(Value::Null);
    }
    let mut out = Vec::new();
    for bit in 0..count {
        if bit > 0 {
            out.extend_from_slice(&separator);
        }
        out.extend_from_slice(if bits >> bit & 1 == 1 { &on } else { &off });
    }
    Ok(from_bytes(args, out))
}
