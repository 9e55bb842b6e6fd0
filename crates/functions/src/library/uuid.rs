//! UUIDs.

use super::support::{Args, Binding, Def, result};
use squall_registry::{Coercibility, ExprType};
use squall_types::clock::now_micros;
use squall_types::hex::{parse_uuid, write_uuid};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("UUID", (0, 0), uuid_type, |args| Ok(args.string(text_of(&next_uuid())))).generating(),
    Def::new("UUID_SHORT", (0, 0), short_type, |_| Ok(Value::UInt(next_short()))).generating(),
    Def::new("IS_UUID", (1, 1), result::boolean, |args| Ok(Value::from(parse(&args.text(0)).is_some()))),
    Def::new("UUID_TO_BIN", (1, 2), binary_type, uuid_to_bin),
    Def::new("BIN_TO_UUID", (1, 2), result::short_text, bin_to_uuid),
];

fn uuid_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType {
        sql_type: SqlType::varchar(36, CollationId::UTF8MB3_GENERAL_CI),
        nullable: false,
        coercibility: Coercibility::Literal,
    })
}

fn short_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, false))
}

fn binary_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType {
        sql_type: SqlType::varchar(16, CollationId::BINARY),
        nullable: true,
        coercibility: Coercibility::Implicit,
    })
}

/// What this process gave out last, and what tells it from others.
struct Generator {
    /// The last time stamp, in units of 100 ns since 1582-10-15.
    last: AtomicU64,
    clock: u16,
    node: [u8; 6],
}

/// From 1582-10-15 to 1970-01-01 in units of 100 ns.
const GREGORIAN_OFFSET: u64 = 0x01B2_1DD2_1381_4000;

fn generator() -> &'static Generator {
    static GENERATOR: OnceLock<Generator> = OnceLock::new();
    GENERATOR.get_or_init(|| {
        let mut random = [0; 8];
        // Without randomness the time still tells UUIDs of one process apart.
        let _ = getrandom::fill(&mut random);
        let [a, b, node @ ..] = random;
        let mut node = node;
        // A node that is no network card has the multicast bit set.
        node[0] |= 1;
        Generator { last: AtomicU64::new(0), clock: u16::from_be_bytes([a & 0x3F | 0x80, b]), node }
    })
}

/// A version 1 UUID: time stamp, clock sequence and a random node.
fn next_uuid() -> [u8; 16] {
    let generator = generator();
    let now = now_micros().unsigned_abs() * 10 + GREGORIAN_OFFSET;
    // Never the same twice, however coarse the clock is.
    let stamp = match generator.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)))
    {
        Ok(last) | Err(last) => now.max(last + 1),
    };
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&(stamp as u32).to_be_bytes());
    uuid[4..6].copy_from_slice(&((stamp >> 32) as u16).to_be_bytes());
    uuid[6..8].copy_from_slice(&((stamp >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    uuid[8..10].copy_from_slice(&generator.clock.to_be_bytes());
    uuid[10..].copy_from_slice(&generator.node);
    uuid
}

/// 32 bits of the start's seconds above a counter.
fn next_short() -> u64 {
    static COUNTER: OnceLock<AtomicU64> = OnceLock::new();
    let counter = COUNTER.get_or_init(|| {
        let seconds = now_micros().unsigned_abs() / 1_000_000;
        AtomicU64::new(1 << 56 | (seconds & 0xFFFF_FFFF) << 24)
    });
    counter.fetch_add(1, Ordering::Relaxed)
}

fn text_of(uuid: &[u8; 16]) -> String {
    let mut text = Vec::with_capacity(36);
    write_uuid(uuid, &mut text);
    text.into_iter().map(char::from).collect()
}

/// With or without dashes, with or without braces.
fn parse(text: &str) -> Option<[u8; 16]> {
    match text.strip_prefix('{') {
        // Braces are around the form with dashes only.
        Some(rest) => {
            rest.strip_suffix('}').filter(|inner| inner.len() == 36).and_then(|inner| parse_uuid(inner.as_bytes()))
        }
        None => parse_uuid(text.as_bytes()),
    }
}

/// Puts the slow parts of the time stamp first, so that keys of one time are near to each other.
fn swapped(uuid: [u8; 16]) -> [u8; 16] {
    let mut result = uuid;
    result[..2].copy_from_slice(&uuid[6..8]);
    result[2..4].copy_from_slice(&uuid[4..6]);
    result[4..8].copy_from_slice(&uuid[..4]);
    result
}

fn unswapped(bytes: [u8; 16]) -> [u8; 16] {
    let mut result = bytes;
    result[6..8].copy_from_slice(&bytes[..2]);
    result[4..6].copy_from_slice(&bytes[2..4]);
    result[..4].copy_from_slice(&bytes[4..8]);
    result
}

fn wrong(args: &Args<'_>, text: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongValueForType, &[&"string", &text, &args.name.to_lowercase()])
}

fn uuid_to_bin(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    let uuid = parse(&text).ok_or_else(|| wrong(args, &text))?;
    let uuid = if args.i64(1)? != 0 { swapped(uuid) } else { uuid };
    Ok(Value::Bytes(uuid.to_vec()))
}

fn bin_to_uuid(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.bytes(0);
    let uuid: [u8; 16] = bytes.as_ref().try_into().map_err(|_| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        wrong(args, &text)
    })?;
    let uuid = if args.i64(1)? != 0 { unswapped(uuid) } else { uuid };
    Ok(args.string(text_of(&uuid)))
}
