//! Digests and random bytes.

use super::support::{Args, Binding, Def, result};
use md5::{Digest as _, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use squall_registry::ExprType;
use squall_types::hex::write_hex;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new(
        "MD5",
        (1, 1),
        |binding| Ok(binding.connection_string(32)),
        |args| Ok(args.string(hex(&Md5::digest(args.encoded(0))))),
    ),
    Def::new(
        "SHA1",
        (1, 1),
        |binding| Ok(binding.connection_string(40)),
        |args| Ok(args.string(hex(&Sha1::digest(args.encoded(0))))),
    )
    .also(&["SHA"]),
    Def::new("SHA2", (2, 2), sha2_type, sha2_digest),
    Def::new("RANDOM_BYTES", (1, 1), result::bytes, random_bytes).generating(),
];

fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    write_hex(bytes, &mut digits);
    digits.into_iter().map(char::from).collect()
}

fn sha2_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let bits = match binding.literal_i64(1) {
        Some(0) => 256,
        Some(bits @ (224 | 256 | 384 | 512)) => bits,
        _ => 512,
    };
    Ok(ExprType { nullable: true, ..binding.connection_string(u32::try_from(bits / 4).unwrap_or(128)) })
}

fn sha2_digest(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    let text = match args.i64(1)? {
        224 => hex(&Sha224::digest(&bytes)),
        0 | 256 => hex(&Sha256::digest(&bytes)),
        384 => hex(&Sha384::digest(&bytes)),
        512 => hex(&Sha512::digest(&bytes)),
        _ => {
            let error = SqlError::new(ErrorCode::WrongParametersToNativeFct, &[&"sha2"]);
            args.warn(error)?;
            return Ok(Value::Null);
        }
    };
    Ok(args.string(text))
}

fn random_bytes(args: &Args<'_>) -> SqlResult<Value> {
    let Some(length) = usize::try_from(args.i64(0)?).ok().filter(|length| (1..=1024).contains(length)) else {
        let message = "length value is out of range in 'random_bytes'";
        return Err(SqlError::with_message(ErrorCode::DataOutOfRangeExpr, message));
    };
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).map_err(|error| SqlError::internal(format!("no random bytes: {error}")))?;
    Ok(Value::Bytes(bytes))
}
