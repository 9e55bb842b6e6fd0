//! Network addresses.

use super::support::{Args, Binding, Def, result};
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("INET_ATON", (1, 1), result::nullable_unsigned, inet_aton),
    Def::new("INET_NTOA", (1, 1), result::short_text, |args| {
        let number = u32::try_from(args.integer(0)?);
        Ok(number.map_or(Value::Null, |number| args.string(Ipv4Addr::from(number).to_string())))
    }),
    Def::new("INET6_ATON", (1, 1), address_type, inet6_aton),
    Def::new("INET6_NTOA", (1, 1), result::short_text, |args| {
        Ok(address(args.value(0)).map_or(Value::Null, |address| args.string(address.to_string())))
    }),
    Def::new("IS_IPV4", (1, 1), result::boolean, |args| {
        Ok(Value::from(without_zeros(&args.text(0)).parse::<Ipv4Addr>().is_ok()))
    })
    .takes_null(),
    Def::new("IS_IPV6", (1, 1), result::boolean, |args| {
        Ok(Value::from(without_zeros(&args.text(0)).parse::<Ipv6Addr>().is_ok()))
    })
    .takes_null(),
    Def::new("IS_IPV4_COMPAT", (1, 1), result::boolean, |args| {
        Ok(Value::from(ipv6(args).is_some_and(|segments| segments[..6] == [0; 6] && segments[6..] > [0, 1][..])))
    })
    .takes_null(),
    Def::new("IS_IPV4_MAPPED", (1, 1), result::boolean, |args| {
        Ok(Value::from(ipv6(args).is_some_and(|segments| segments[..5] == [0; 5] && segments[5] == 0xFFFF)))
    })
    .takes_null(),
];

fn address_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType {
        sql_type: SqlType::varchar(16, CollationId::BINARY),
        nullable: true,
        coercibility: Coercibility::Implicit,
    })
}

/// `a.b.c.d`, and its short forms `a.b` and `a.b.c`, whose last number stands last.
fn inet_aton(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    let part = |part: &str| match part {
        "" => Some(0),
        _ if part.bytes().all(|byte| byte.is_ascii_digit()) => part.parse::<u8>().ok().map(u64::from),
        _ => None,
    };
    let Some(parts) = text.split('.').map(part).collect::<Option<Vec<u64>>>().filter(|_| !text.is_empty()) else {
        return wrong(args, &text);
    };
    if text.ends_with('.') {
        return wrong(args, &text);
    }
    // More than four parts are shifted out at last. Of two and three parts the last one has what is missing before it.
    let number = parts.iter().fold(0_u64, |number, part| number << 8 | part);
    let missing = if matches!(parts.len(), 2 | 3) { 8 * (4 - parts.len()) } else { 0 };
    Ok(Value::UInt((number >> 8) << (8 + missing) | number & 0xFF))
}

fn wrong(args: &Args<'_>, text: &str) -> SqlResult<Value> {
    args.wrong_string(text).map(|()| Value::Null)
}

fn inet6_aton(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    match without_zeros(&text).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Ok(Value::Bytes(address.octets().to_vec())),
        Ok(IpAddr::V6(address)) => Ok(Value::Bytes(address.octets().to_vec())),
        Err(_) => wrong(args, &text),
    }
}

/// An address whose decimal numbers, of three digits at most, do not begin with a zero.
fn without_zeros(text: &str) -> Cow<'_, str> {
    let decimals = text.rfind(':').map_or(0, |colon| colon + 1);
    let numbers: Vec<&str> = text[decimals..].split('.').collect();
    let is_wrong =
        |number: &&str| number.is_empty() || number.len() > 3 || !number.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.len() != 4 || numbers.iter().any(is_wrong) {
        return Cow::Borrowed(text);
    }
    let plain = |number: &&str| {
        match number.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        }
        .to_owned()
    };
    let numbers: Vec<String> = numbers.iter().map(plain).collect();
    Cow::Owned(format!("{}{}", &text[..decimals], numbers.join(".")))
}

/// The address that 4 or 16 bytes are.
fn address(value: &Value) -> Option<IpAddr> {
    let Value::Bytes(bytes) = value else { return None };
    if let Ok(octets) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(IpAddr::from(octets));
    }
    <[u8; 16]>::try_from(bytes.as_slice()).ok().map(IpAddr::from)
}

fn ipv6(args: &Args<'_>) -> Option<[u16; 8]> {
    match address(args.value(0)) {
        Some(IpAddr::V6(address)) => Some(address.segments()),
        _ => None,
    }
}
