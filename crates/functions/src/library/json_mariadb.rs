//! JSON functions that only MariaDB has. Documents are in MySQL's form: members in its order, each name once.

use super::json::{document_text, single_path};
use super::support::{Args, Def, result};
use squall_types::json::{self, Outline};
use squall_types::{SqlResult, Value};
use std::cmp::Ordering;

/// Spaces of a level of JSON_DETAILED, unless its second argument says another number.
const TAB_DEFAULT: i64 = 4;
/// The greatest number of spaces, as in MariaDB.
const TAB_MAX: i64 = 16;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new(
        "JSON_COMPACT",
        (1, 1),
        |_| Ok(document_text()),
        |args| {
            let stored = args.stored(0)?;
            Ok(args.string(compact(&json::printed(&stored))))
        },
    ),
    Def::new(
        "JSON_LOOSE",
        (1, 1),
        |_| Ok(document_text()),
        |args| {
            let stored = args.stored(0)?;
            Ok(args.string(json::printed(&stored)))
        },
    ),
    Def::new("JSON_DETAILED", (1, 2), |_| Ok(document_text()), json_detailed),
    Def::new("JSON_EQUALS", (2, 2), result::nullable_boolean, |args| {
        Ok(Value::from(json::compare_stored(&args.stored(0)?, &args.stored(1)?) == Ordering::Equal))
    }),
    Def::new("JSON_EXISTS", (2, 2), result::nullable_boolean, |args| {
        let document = args.stored(0)?;
        Ok(Value::from(json::stored::at_path(&document, &single_path(args, 1)?).is_some()))
    }),
    // The array or object at the path.
    Def::new(
        "JSON_QUERY",
        (2, 2),
        |_| Ok(document_text()),
        |args| {
            let document = args.stored(0)?;
            let found = json::stored::at_path(&document, &single_path(args, 1)?).map(json::printed);
            let found = found.filter(|found| found.starts_with(['[', '{']));
            Ok(found.map_or(Value::Null, |found| args.string(found)))
        },
    ),
];

fn json_detailed(args: &Args<'_>) -> SqlResult<Value> {
    let tab = args.i64_or(1, TAB_DEFAULT)?.clamp(0, TAB_MAX) as usize;
    let stored = args.stored(0)?;
    let depth = Outline::of_stored(&stored).map_err(|error| error.for_argument(1, "json_detailed"))?.depth;
    let text = json::printed(&stored);
    // Each element may have a line of its own, as far to the right as it is deep.
    let spaces = (text.len() as u64).saturating_mul(depth as u64).saturating_mul(tab as u64);
    if !args.fits(spaces.saturating_add(text.len() as u64) / 2)? {
        return Ok(Value::Null);
    }
    Ok(args.string(detailed(&text, tab)))
}

/// The document without spaces between its parts.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    parts(text).for_each(|part| out.push_str(part));
    out
}

/// The document as MariaDB writes it over lines.
fn detailed(text: &str, tab: usize) -> String {
    let mut out = String::with_capacity(2 * text.len());
    let (mut level, mut before) = (0_usize, "");
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', level * tab));
    };
    for part in parts(text) {
        match part {
            "{" | "[" => {
                if before == ":" || before == "," || before == "[" || before == "{" {
                    line(level, &mut out);
                }
                level += 1;
            }
            "}" | "]" => {
                level = level.saturating_sub(1);
                // An empty array is closed on its line, an empty object is not.
                if before != "[" {
                    line(level, &mut out);
                }
            }
            ":" | "," => {}
            _ if before != ":" && !before.is_empty() => line(level, &mut out),
            _ => {}
        }
        out.push_str(part);
        if part == ":" {
            out.push(' ');
        }
        before = part;
    }
    out
}

/// Brackets, marks, strings and other values of a document that is well formed.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let length = match rest.as_bytes().first()? {
            b'"' => string_length(rest.as_bytes()),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => rest.find(['{', '}', '[', ']', ',', ':', ' ']).unwrap_or(rest.len()),
        };
        let (part, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(part)
    })
}

/// The length of a string at the beginning, with its quotation marks.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}
