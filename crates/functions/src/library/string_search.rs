//! Finding and comparing strings.

use super::support::{Args, Binding, Def, MANY, result};
use crate::typing::collation::{StringOperand, aggregate_collations};
use squall_registry::ExprType;
use squall_types::collation::{compare, eq, find_unless};
use squall_types::{Charset, CollationId, SqlResult, SqlType, Value};
use std::cmp::Ordering;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("LOCATE", (2, 3), locate_type, |args| position(args, 0, 1)).also(&["POSITION"]),
    Def::new("INSTR", (2, 2), instr_type, |args| position(args, 1, 0)),
    Def::new("STRCMP", (2, 2), pair_type, strcmp),
    Def::new("FIELD", (2, MANY), field_type, field).takes_null(),
    Def::new("FIND_IN_SET", (2, 2), pair_type, find_in_set),
    Def::new("ASCII", (1, 1), result::int, |args| {
        Ok(Value::Int(args.encoded(0).first().copied().map_or(0, i64::from)))
    }),
    Def::new("ORD", (1, 1), result::bigint, ord),
    Def::new("WEIGHT_STRING", (1, 1), result::bytes, weight_string),
];

/// The text comes before what is looked for in it.
fn locate_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    binding.check_comparable(&[1, 0])?;
    result::bigint(binding)
}

fn instr_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    binding.check_comparable(&[0, 1])?;
    result::bigint(binding)
}

/// An INT made of two texts that are compared.
fn pair_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    binding.check_comparable(&[0, 1])?;
    result::int(binding)
}

/// Numbers are compared as such.
fn field_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let places: Vec<usize> = (0..binding.arguments.len()).collect();
    if places.iter().all(|at| is_text(binding.arg(*at))) {
        binding.check_comparable(&places)?;
    }
    result::int(binding)
}

fn is_text(sql_type: &SqlType) -> bool {
    sql_type.is_string() || *sql_type == SqlType::Null
}

/// The collation in which arguments compare, as binding has found it: bytes if any is a byte string.
fn collation_of(args: &Args<'_>, places: impl Iterator<Item = usize> + Clone) -> CollationId {
    let mut operands = places.clone().map(|at| args.operand(at));
    let Some(first) = operands.next() else { return args.context.settings.collation };
    if operands.all(|operand| operand.collation == first.collation) {
        return first.collation;
    }
    if places.clone().any(|at| args.ty(at).is_binary_string()) {
        return CollationId::BINARY;
    }
    let operands: Vec<StringOperand> = places.map(|at| args.operand(at)).collect();
    aggregate_collations(&operands, args.name).map_or(first.collation, |(collation, _)| collation)
}

fn position(args: &Args<'_>, needle: usize, haystack: usize) -> SqlResult<Value> {
    let start = args.i64_or(2, 1)?;
    let Some(skip) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) else {
        return Ok(Value::Int(0));
    };
    let collation = collation_of(args, [needle, haystack].into_iter());
    if collation == CollationId::BINARY {
        let (needle, haystack) = (args.bytes(needle), args.bytes(haystack));
        let Some(rest) = haystack.get(skip..) else { return Ok(Value::Int(0)) };
        if needle.is_empty() {
            return Ok(Value::Int(start));
        }
        let found = memchr::memmem::find(rest, &needle);
        return Ok(Value::Int(found.map_or(0, |at| (at + skip + 1) as i64)));
    }
    let (needle, haystack) = (args.text(needle), args.text(haystack));
    if skip > haystack.chars().count() {
        return Ok(Value::Int(0));
    }
    if needle.is_empty() {
        return Ok(Value::Int(start));
    }
    let from = haystack.char_indices().nth(skip).map_or(haystack.len(), |(at, _)| at);
    let kill = &args.context.kill;
    let Some(found) = find_unless(collation, &haystack, &needle, from, &|| kill.check().is_err()) else {
        kill.check()?;
        return Ok(Value::Null);
    };
    Ok(Value::Int(found.map_or(0, |at| haystack[..at].chars().count() as i64 + 1)))
}

fn strcmp(args: &Args<'_>) -> SqlResult<Value> {
    let collation = collation_of(args, 0..2);
    let ordering = if collation == CollationId::BINARY {
        args.bytes(0).cmp(&args.bytes(1))
    } else {
        compare(collation, &args.text(0), &args.text(1))
    };
    Ok(Value::Int(match ordering {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn field(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() {
        return Ok(Value::Int(0));
    }
    let candidates = (1..args.len()).filter(|at| !args.value(*at).is_null());
    let all_strings = args.types.iter().all(is_text);
    let all_integers = args.types.iter().all(|ty| ty.is_integer() || *ty == SqlType::Null);
    let collation = collation_of(args, 0..args.len());
    for at in candidates {
        let equal = if all_strings {
            if collation == CollationId::BINARY {
                args.bytes(0) == args.bytes(at)
            } else {
                eq(collation, &args.text(0), &args.text(at))
            }
        } else if all_integers {
            args.integer(0)? == args.integer(at)?
        } else {
            args.f64(0)? == args.f64(at)?
        };
        if equal {
            return Ok(Value::Int(at as i64));
        }
    }
    Ok(Value::Int(0))
}

fn find_in_set(args: &Args<'_>) -> SqlResult<Value> {
    let (wanted, set) = (args.text(0), args.text(1));
    if set.is_empty() || wanted.contains(',') {
        return Ok(Value::Int(0));
    }
    let collation = collation_of(args, 0..2);
    let equal = |member: &str| {
        if collation == CollationId::BINARY { member == wanted } else { eq(collation, member, &wanted) }
    };
    let found = set.split(',').position(equal);
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn ord(args: &Args<'_>) -> SqlResult<Value> {
    if let Value::Bytes(bytes) = args.value(0) {
        return Ok(Value::Int(bytes.first().copied().map_or(0, i64::from)));
    }
    let text = args.text(0);
    let Some(first) = text.chars().next() else { return Ok(Value::Int(0)) };
    let charset = args.ty(0).collation().map_or(Charset::Utf8mb4, CollationId::charset);
    let mut bytes = Vec::new();
    charset.encode(first.encode_utf8(&mut [0; 4]), &mut bytes);
    Ok(Value::Int(bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))))
}

fn weight_string(args: &Args<'_>) -> SqlResult<Value> {
    match args.value(0) {
        Value::String(text) => {
            let mut key = Vec::new();
            squall_types::collation::sort_key(args.collation(), text, &mut key);
            Ok(Value::Bytes(key))
        }
        Value::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        // Numbers and dates have no weights.
        _ => Ok(Value::Null),
    }
}
