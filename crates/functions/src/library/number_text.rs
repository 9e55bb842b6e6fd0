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
    Def::new("CONV", (3, 3), conv_type, conv),
    Def::new("FORMAT", (2, 3), format_type, format_number).takes_null(),
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
    if !args.fits(bytes.len() as u64 * 2)? {
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
            args.wrong_string(&String::from_utf8_lossy(&digits))?;
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

/// How a locale writes numbers.
struct LocaleSigns {
    /// What stands between groups of digits, if anything does.
    group: Option<char>,
    /// Digits in each group before the last, which has three.
    group_digits: usize,
    point: char,
}

/// The signs of a locale that MySQL knows.
fn locale_signs(locale: &str) -> Option<LocaleSigns> {
    const GROUPED_BY_COMMA: &[&str] = &[
        "ar_AE", "ar_BH", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_JO", "ar_KW", "ar_LB", "ar_LY", "ar_MA", "ar_OM",
        "ar_QA", "ar_SD", "ar_SY", "ar_TN", "ar_YE", "en_AU", "en_CA", "en_GB", "en_NZ", "en_PH", "en_US", "en_ZA",
        "en_ZW", "es_DO", "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_SV", "es_US", "gu_IN",
        "he_IL", "hi_IN", "ja_JP", "ko_KR", "ms_MY", "th_TH", "ur_PK", "zh_CN", "zh_HK", "zh_TW",
    ];
    const GROUPED_BY_POINT: &[&str] = &[
        "be_BY", "da_DK", "de_BE", "de_DE", "de_LU", "es_AR", "es_BO", "es_CL", "es_CO", "es_EC", "es_ES", "es_PY",
        "es_UY", "es_VE", "fo_FO", "hu_HU", "id_ID", "is_IS", "lt_LT", "mn_MN", "nb_NO", "no_NO", "ro_RO", "ru_UA",
        "sq_AL", "tr_TR", "uk_UA", "vi_VN",
    ];
    const GROUPED_BY_SPACE: &[&str] =
        &["cs_CZ", "es_CR", "et_EE", "fi_FI", "lv_LV", "mk_MK", "ru_RU", "sk_SK", "sv_FI", "sv_SE"];
    const IN_PAIRS: &[&str] = &["en_IN", "ta_IN", "te_IN"];
    const WITH_COMMA: &[&str] = &[
        "ca_ES", "de_AT", "el_GR", "eu_ES", "fr_BE", "fr_CA", "fr_CH", "fr_FR", "fr_LU", "gl_ES", "hr_HR", "it_IT",
        "nl_BE", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "sl_SI",
    ];
    let is = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(locale));
    let signs = |group, point| Some(LocaleSigns { group, group_digits: 3, point });
    if is(GROUPED_BY_COMMA) {
        signs(Some(','), '.')
    } else if is(GROUPED_BY_POINT) {
        signs(Some('.'), ',')
    } else if is(GROUPED_BY_SPACE) {
        signs(Some(' '), ',')
    } else if is(IN_PAIRS) {
        Some(LocaleSigns { group: Some(','), group_digits: 2, point: '.' })
    } else if is(WITH_COMMA) {
        signs(None, ',')
    } else if is(&["ar_SA", "sr_RS"]) {
        signs(None, '.')
    } else if is(&["de_CH"]) {
        signs(Some('\''), '.')
    } else if is(&["it_CH", "rm_CH"]) {
        signs(Some('\''), ',')
    } else if is(&["bg_BG"]) {
        // It has groups, but no sign for them, and MySQL writes the end of that empty text.
        signs(Some('\0'), ',')
    } else {
        None
    }
}

/// A sign and 64 binary digits.
fn conv_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    const CHARACTERS_MAX: u32 = 65;
    Ok(ExprType { nullable: true, ..binding.connection_string(CHARACTERS_MAX) })
}

/// 308 digits of a double, their groups, a sign, a point and 30 places.
fn format_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    const CHARACTERS_MAX: u32 = 450;
    Ok(ExprType { nullable: true, ..binding.connection_string(CHARACTERS_MAX) })
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
                // It is a whole number; digits beyond those that a double has are zeros.
                None => format!("{number}.{:0<1$}", "", usize::from(places)),
            }
        }
        value => {
            let number = coerce::to_decimal(value, args.ty(0), args.context)?.unwrap_or(squall_types::Decimal::ZERO);
            number.rescale(places).unwrap_or(number).to_string()
        }
    };
    let locale = args.text_or_null(2);
    let known = locale.as_ref().and_then(|locale| locale_signs(locale));
    if let (Some(locale), None) = (&locale, &known) {
        args.warn(SqlError::new(ErrorCode::UnknownLocale, &[locale]))?;
    }
    let LocaleSigns { group, group_digits, point } =
        known.unwrap_or(LocaleSigns { group: Some(','), group_digits: 3, point: '.' });
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        let rest = whole.len() - at;
        if at > 0 && rest >= 3 && (rest - 3) % group_digits == 0 {
            out.extend(group);
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
    if !args.fits(encoded.len() as u64)? {
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
