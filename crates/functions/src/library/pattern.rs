//! REGEXP_LIKE and its family.

use super::support::{Args, Def, result};
use crate::operators::regexp::compile_once;
use regex::Regex;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("REGEXP_LIKE", (2, 3), result::nullable_boolean, |args| {
        Ok(Value::from(regex(args, 2)?.is_match(&args.text(0))))
    }),
    Def::new("REGEXP_INSTR", (2, 6), result::nullable_bigint, regexp_instr),
    Def::new("REGEXP_SUBSTR", (2, 5), result::long_like_first, regexp_substr),
    Def::new("REGEXP_REPLACE", (3, 6), result::long_like_first, regexp_replace),
];

/// The expression of argument 1 with the match type of another argument.
fn regex(args: &Args<'_>, match_type: usize) -> SqlResult<Arc<Regex>> {
    compile_once(&args.text(1), &args.text(match_type), args.collation().is_case_sensitive())
}

/// The byte place of a character's position, counted from 1.
fn byte_place(text: &str, position: i64) -> Option<usize> {
    let skip = usize::try_from(position).ok()?.checked_sub(1)?;
    match text.char_indices().nth(skip) {
        Some((at, _)) => Some(at),
        None if text.chars().count() == skip => Some(text.len()),
        None => None,
    }
}

fn index_out_of_bounds() -> SqlError {
    SqlError::new(ErrorCode::RegexpIndexOutOfBounds, &[])
}

/// Start and end of the match with a number, from a position on.
fn nth_match(args: &Args<'_>, text: &str, match_type: usize) -> SqlResult<Option<(usize, usize)>> {
    let start = byte_place(text, args.i64_or(2, 1)?).ok_or_else(index_out_of_bounds)?;
    let occurrence = usize::try_from(args.i64_or(3, 1)?.max(1)).unwrap_or(1);
    let regex = regex(args, match_type)?;
    let rest = &text[start..];
    let mut found = None;
    for (at, place) in regex.find_iter(rest).enumerate().take(occurrence) {
        args.context.kill.check()?;
        found = (at + 1 == occurrence).then_some(place);
    }
    Ok(found.map(|found| (start + found.start(), start + found.end())))
}

fn regexp_instr(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    let after = args.i64(4)? != 0;
    Ok(match nth_match(args, &text, 5)? {
        Some((start, end)) => {
            let place = if after { end } else { start };
            Value::Int(i64::try_from(text[..place].chars().count() + 1).unwrap_or(i64::MAX))
        }
        None => Value::Int(0),
    })
}

fn regexp_substr(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    Ok(match nth_match(args, &text, 4)? {
        Some((start, end)) => args.string(&text[start..end]),
        None => Value::Null,
    })
}

fn regexp_replace(args: &Args<'_>) -> SqlResult<Value> {
    let (text, replacement) = (args.text(0), args.text(2));
    let start = byte_place(&text, args.i64_or(3, 1)?).ok_or_else(index_out_of_bounds)?;
    let occurrence = args.i64(4)?.max(0);
    let regex = regex(args, 5)?;
    let mut out = String::from(&text[..start]);
    let rest = &text[start..];
    let mut copied = 0;
    for (at, found) in regex.captures_iter(rest).enumerate() {
        args.context.kill.check()?;
        let (Some(whole), true) = (found.get(0), occurrence == 0 || occurrence == at as i64 + 1) else { continue };
        out.push_str(&rest[copied..whole.start()]);
        push_replacement(&replacement, &found, &mut out);
        copied = whole.end();
        if !args.fits(out.len() as u64)? {
            return Ok(Value::Null);
        }
    }
    out.push_str(&rest[copied..]);
    Ok(args.string(out))
}

/// Appends a replacement: `$1` is a group, a backslash takes the next character as it is.
fn push_replacement(replacement: &str, found: &regex::Captures<'_>, out: &mut String) {
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '$' if chars.peek().is_some_and(char::is_ascii_digit) => {
                let mut number = 0_usize;
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    let next = number.saturating_mul(10).saturating_add(digit as usize);
                    // As many digits as name a group that there is.
                    if number > 0 && next >= found.len() {
                        break;
                    }
                    number = next;
                    chars.next();
                }
                out.push_str(found.get(number).map_or("", |group| group.as_str()));
            }
            c => out.push(c),
        }
    }
}
