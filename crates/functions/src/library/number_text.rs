//! Numbers as text in other bases and forms, and back.

use super::support::{Args, Binding, Def, result};
use crate::operators::coerce;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use squall_registry::ExprType;
use squall_types::hex::parse_hex;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// Characters to a line of BASE64.
const BASE64_LINE: u64 = 76;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("HEX", (1, 1), hex_type, hex),
    Def::new("UNHEX", (1, 1), unhex_type, unhex),
    Def::new("BIN", (1, 1), result::short_text, |args| in_base(args, 2)),
    Def::new("OCT", (1, 1), result::short_text, |args| in_base(args, 8)),
    Def::new("CONV", (3, 3), result::short_text, conv),
    Def::new("FORMAT", (2, 3), result::short_text, format_number).takes_null(),
    Def::new("TO_BASE64", (1, 1), to_base64_type, to_base64),
    Def::new("FROM_BASE64", (1, 1), from_base64_type, from_base64),
];

fn hex_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    if let Some(bytes) = binding.arg(0).digit_bytes() {
        return Ok(binding.connection_string(u32::try_from(2 * bytes).unwrap_or(u32::MAX)));
    }
    let bytes_per_char = if binding.arg(0).is_binary_string() { 2 } else { 8 };
    let length = if binding.arg(0).is_numeric() { 16 } else { binding.length(0).saturating_mul(bytes_per_char) };
    Ok(binding.connection_string(length))
}

/// Bytes for two digits each.
fn unhex_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    result::bytes_of_length(binding.length(0).div_ceil(2))
}

/// Bytes, three for four characters.
fn from_base64_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    result::bytes_of_length(u32::try_from(u64::from(binding.length(0)) * 3 / 4 + 1).unwrap_or(u32::MAX))
}

/// Four characters for three bytes, in lines.
fn to_base64_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let bytes_per_char = if binding.arg(0).is_binary_string() { 1 } else { 4 };
    let characters = (u64::from(binding.length(0)) * bytes_per_char).div_ceil(3) * 4;
    let length = u32::try_from(characters + characters / BASE64_LINE).unwrap_or(u32::MAX);
    Ok(ExprType { nullable: true, ..binding.connection_string(length) })
}

fn hex(args: &Args<'_>) -> SqlResult<Value> {
    if args.ty(0).is_numeric() {
        let number = args.integer(0)?;
        // Out of range in either direction is all ones.
        let bits = u64::try_from(number).or_else(|_| i64::try_from(number).map(|number| number as u64));
        return Ok(args.string(format!("{:X}", bits.unwrap_or(u64::MAX))));
    }
    let bytes = args.encoded(0);
    if !args.fits(bytes.len() as u64 * 2) {
        return Ok(Value::Null);
    }
    Ok(args.string(hex_of(&bytes)))
}

/// Two digits in upper case for each byte.
pub fn hex_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn unhex(args: &Args<'_>) -> SqlResult<Value> {
    let digits = args.bytes(0);
    match bytes_of_hex(&digits) {
        Some(bytes) => Ok(Value::Bytes(bytes)),
        None => {
            let text = String::from_utf8_lossy(&digits).into_owned();
            args.context.diagnostics.warn(SqlError::with_message(
                ErrorCode::WrongArguments,
                format!("Incorrect string value: '{text}' for function unhex"),
            ));
            Ok(Value::Null)
        }
    }
}

/// The bytes of hexadecimal digits; a digit too few stands for a leading zero.
pub fn bytes_of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = digits.split_at(digits.len() % 2);
    let [digit] = first else { return parse_hex(rest) };
    let mut bytes = parse_hex(&[b'0', *digit])?;
    bytes.extend(parse_hex(rest)?);
    Some(bytes)
}

fn digits_in_base(mut number: u64, base: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = char::from_digit((number % base) as u32, base as u32).unwrap_or('0');
        digits.push(digit.to_ascii_uppercase());
        number /= base;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

fn in_base(args: &Args<'_>, base: u64) -> SqlResult<Value> {
    let number = args.integer(0)?;
    let bits = u64::try_from(number).unwrap_or_else(|_| i64::try_from(number).map_or(u64::MAX, |number| number as u64));
    Ok(args.string(digits_in_base(bits, base)))
}

fn conv(args: &Args<'_>) -> SqlResult<Value> {
    let (from, to) = (args.i64(1)?, args.i64(2)?);
    let valid = |base: i64| (2..=36).contains(&base.unsigned_abs());
    if !valid(from) || !valid(to) {
        return Ok(Value::Null);
    }
    let text = match (args.value(0), args.ty(0)) {
        // BIT is its number here, not its bytes.
        (Value::UInt(bits), SqlType::Bit { .. }) => bits.to_string().into(),
        _ => args.text(0),
    };
    let trimmed = text.trim_start();
    if trimmed.is_empty() {
        return Ok(Value::Null);
    }
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let from_base = from.unsigned_abs() as u32;
    let mut magnitude = 0_u64;
    for digit in digits.chars().map_while(|c| c.to_digit(from_base)) {
        magnitude = magnitude
            .checked_mul(u64::from(from_base))
            .and_then(|magnitude| magnitude.checked_add(u64::from(digit)))
            .unwrap_or(u64::MAX);
    }
    // A negative number without a signed target base is its two's complement.
    let bits = if negative { magnitude.wrapping_neg() } else { magnitude };
    let to_base = to.unsigned_abs();
    let result = if to < 0 && (bits as i64) < 0 {
        format!("-{}", digits_in_base((bits as i64).unsigned_abs(), to_base))
    } else {
        digits_in_base(bits, to_base)
    };
    Ok(args.string(result))
}

/// Groups of thousands of a locale: separator of groups and point.
fn locale_signs(locale: &str) -> Option<(&'static str, char)> {
    const COMMA: &[&str] = &[
        "en_US", "en_GB", "en_AU", "en_CA", "en_NZ", "en_IE", "en_IN", "en_PH", "en_ZW", "ja_JP", "ko_KR", "zh_CN",
        "zh_TW", "zh_HK", "he_IL", "th_TH", "ar_EG", "hi_IN", "es_MX", "ms_MY", "es_US",
    ];
    const DOT: &[&str] = &[
        "de_DE", "de_BE", "de_LU", "es_ES", "es_AR", "es_CL", "es_CO", "id_ID", "it_IT", "nl_NL", "nl_BE", "pt_BR",
        "da_DK", "tr_TR", "el_GR", "vi_VN", "is_IS", "ro_RO", "gl_ES", "fo_FO",
    ];
    const NONE: &[&str] =
        &["de_AT", "fr_FR", "fr_BE", "fr_CH", "fr_LU", "fr_CA", "pl_PL", "pt_PT", "es_PE", "hr_HR", "sl_SI", "lt_LT"];
    const SPACE: &[&str] =
        &["sv_SE", "fi_FI", "cs_CZ", "ru_RU", "uk_UA", "sk_SK", "nb_NO", "no_NO", "bg_BG", "et_EE", "lv_LV"];
    let is = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(locale));
    if is(COMMA) {
        Some((",", '.'))
    } else if is(DOT) {
        Some((".", ','))
    } else if locale.eq_ignore_ascii_case("de_CH") {
        Some(("'", '.'))
    } else if is(NONE) {
        Some(("", ','))
    } else if is(SPACE) {
        Some((" ", ','))
    } else {
        None
    }
}

fn format_number(args: &Args<'_>) -> SqlResult<Value> {
    if args.value(0).is_null() || args.value(1).is_null() {
        return Ok(Value::Null);
    }
    let places = args.i64(1)?.clamp(0, 30) as u8;
    let text = match args.value(0) {
        Value::Double(_) | Value::String(_) | Value::Bytes(_) => {
            let number = args.f64(0)?;
            match squall_types::Decimal::from_f64(number).and_then(|number| number.rescale(places)) {
                Some(number) => number.to_string(),
                None => format!("{number:.*}", usize::from(places)),
            }
        }
        value => {
            let number = coerce::to_decimal(value, args.ty(0), args.context)?.unwrap_or(squall_types::Decimal::ZERO);
            number.rescale(places).unwrap_or(number).to_string()
        }
    };
    let (group, point) = match args.text_or_null(2) {
        None => (",", '.'),
        Some(locale) => match locale_signs(&locale) {
            Some(signs) => signs,
            None => {
                args.context.diagnostics.warn(SqlError::new(ErrorCode::UnknownLocale, &[&locale]));
                (",", '.')
            }
        },
    };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push_str(group);
        }
        out.push(digit);
    }
    if places > 0 {
        out.push(point);
        out.push_str(fraction);
    }
    Ok(args.string(out))
}

fn to_base64(args: &Args<'_>) -> SqlResult<Value> {
    const LINE: usize = BASE64_LINE as usize;
    let encoded = STANDARD.encode(args.encoded(0));
    if !args.fits(encoded.len() as u64) {
        return Ok(Value::Null);
    }
    let mut out = String::with_capacity(encoded.len() + encoded.len() / LINE);
    for (at, c) in encoded.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    Ok(args.string(out))
}

fn from_base64(args: &Args<'_>) -> SqlResult<Value> {
    let text: Vec<u8> = args.bytes(0).iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    Ok(STANDARD.decode(text).map_or(Value::Null, Value::Bytes))
}
