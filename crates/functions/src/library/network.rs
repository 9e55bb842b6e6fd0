//! Network addresses.

use super::support::{Args, Binding, Def, result};
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
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
    Def::new("IS_IPV4", (1, 1), result::boolean, |args| Ok(Value::from(args.text(0).parse::<Ipv4Addr>().is_ok())))
        .takes_null(),
    Def::new("IS_IPV6", (1, 1), result::boolean, |args| Ok(Value::from(args.text(0).parse::<Ipv6Addr>().is_ok())))
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
    let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse::<u8>().ok().map(u64::from)).collect();
    let number = match parts.as_deref() {
        Some([only]) => *only,
        Some([first, last]) => first << 24 | last,
        Some([first, second, last]) => first << 24 | second << 16 | last,
        Some([first, second, third, last]) => first << 24 | second << 16 | third << 8 | last,
        _ => return Ok(wrong(args, &text)),
    };
    Ok(Value::UInt(number))
}

fn wrong(args: &Args<'_>, text: &str) -> Value {
    let name = args.name.to_lowercase();
    args.context.diagnostics.warn(SqlError::with_message(
        ErrorCode::WrongArguments,
        format!("Incorrect string value: '{text}' for function {name}"),
    ));
    Value::Null
}

fn inet6_aton(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    Ok(match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Value::Bytes(address.octets().to_vec()),
        Ok(IpAddr::V6(address)) => Value::Bytes(address.octets().to_vec()),
        Err(_) => wrong(args, &text),
    })
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
