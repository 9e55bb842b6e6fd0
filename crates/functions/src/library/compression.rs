//! COMPRESS and UNCOMPRESS: zlib's form after the length of the uncompressed text.

use super::support::{Args, Def, result};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::io::{Read, Write};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("COMPRESS", (1, 1), result::bytes, compress),
    Def::new("UNCOMPRESS", (1, 1), result::bytes, uncompress),
    Def::new("UNCOMPRESSED_LENGTH", (1, 1), result::nullable_unsigned, uncompressed_length),
];

/// Bytes of the length.
const LENGTH_BYTES: usize = 4;

/// Of the length: MySQL keeps the upper two bits for other things.
const LENGTH_MASK: u32 = 0x3FFF_FFFF;

fn compress(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    if bytes.is_empty() {
        return Ok(Value::Bytes(Vec::new()));
    }
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX) & LENGTH_MASK;
    let mut encoder = ZlibEncoder::new(length.to_le_bytes().to_vec(), Compression::default());
    let written = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    let mut out = written.map_err(|error| SqlError::internal(format_args!("compression: {error}")))?;
    if out.last() == Some(&b' ') {
        // A column that takes blanks from the end must not take this.
        out.push(b'.');
    }
    Ok(Value::Bytes(out))
}

/// The stated length, and the bytes after it; `None` for what is too short.
fn parts(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let length = u32::from_le_bytes(*length) & LENGTH_MASK;
    (!rest.is_empty()).then_some((usize::try_from(length).ok()?, rest))
}

fn damaged(args: &Args<'_>, code: ErrorCode) -> SqlResult<Value> {
    args.warn(SqlError::new(code, &[]))?;
    Ok(Value::Null)
}

fn uncompress(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    if bytes.is_empty() {
        return Ok(Value::Bytes(Vec::new()));
    }
    let Some((length, compressed)) = parts(&bytes) else { return damaged(args, ErrorCode::ZlibDataError) };
    let longest = usize::try_from(args.context.settings.max_allowed_packet).unwrap_or(usize::MAX);
    if length > longest {
        args.warn(SqlError::new(ErrorCode::TooBigForUncompress, &[&longest]))?;
        return Ok(Value::Null);
    }
    let mut out = Vec::new();
    // A byte more tells whether there is more than is said.
    let read = ZlibDecoder::new(compressed).take(length as u64 + 1).read_to_end(&mut out);
    match read {
        Err(_) => damaged(args, ErrorCode::ZlibDataError),
        Ok(_) if out.len() > length => damaged(args, ErrorCode::ZlibBufferError),
        Ok(_) => Ok(Value::Bytes(out)),
    }
}

fn uncompressed_length(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    if bytes.is_empty() {
        return Ok(Value::UInt(0));
    }
    match parts(&bytes) {
        Some((length, _)) => Ok(Value::UInt(length as u64)),
        None => {
            damaged(args, ErrorCode::ZlibDataError)?;
            Ok(Value::UInt(0))
        }
    }
}
