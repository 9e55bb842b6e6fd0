//! `URL_ENCODE` and `URL_DECODE`. They reach nothing, and need no privilege.

use squall_functions::library::support::{Args, Def, result};
use squall_http_client::text::{url_decode, url_encode};
use squall_types::{SqlResult, Value};

/// The family.
pub(super) const FUNCTIONS: &[Def] = &[
    Def::new("URL_ENCODE", (1, 1), result::long_like_first, encode).proportional(),
    Def::new("URL_DECODE", (1, 1), result::long_like_first, decode).proportional(),
];

fn encode(args: &Args<'_>) -> SqlResult<Value> {
    Ok(args.string(url_encode(&args.text(0))))
}

/// NULL for what is no UTF-8.
fn decode(args: &Args<'_>) -> SqlResult<Value> {
    Ok(url_decode(&args.text(0)).map_or(Value::Null, |text| args.string(text)))
}
