//! Collations that only MariaDB has, by its ids and names. Names in its dumps and programs have to mean something; their rules are
//! those of the collations beside them.

use super::charset::Charset;

/// What MariaDB adds to the ids of collations whose spaces at the end count.
pub(super) const NO_PAD_ID: u16 = 1024;

/// The name without padding of a collation that has one: the default one of its character set, `general_ci`, `unicode_ci`,
/// `unicode_520_ci` and the binary one.
pub(super) fn no_pad_name(name: &str, is_default: bool) -> Option<String> {
    let has_one = is_default || ["_general_ci", "_unicode_ci", "_unicode_520_ci"].iter().any(|end| name.ends_with(end));
    match (name.strip_suffix("_bin"), name.strip_suffix("_ci")) {
        (Some(charset), _) => Some(format!("{charset}_nopad_bin")),
        (_, Some(rest)) if has_one => Some(format!("{rest}_nopad_ci")),
        _ => None,
    }
}

/// A collation by the Unicode algorithm.
pub(super) struct UnicodeCollation {
    pub id: u16,
    pub name: String,
    pub charset: Charset,
    pub locale: &'static str,
    /// Levels that count, as in an [`IcuRule`](super::definition::IcuRule).
    pub levels: u8,
    pub pads_space: bool,
}

/// First ids of `myanmar_ci` and `thai_520_w2`, and of the UCA 14.0.0 family.
const FIRST: [(Charset, u16, u16); 5] = [
    (Charset::Utf8mb3, 577, 2048),
    (Charset::Utf8mb4, 609, 2304),
    (Charset::Ucs2, 641, 2560),
    (Charset::Utf16, 673, 2816),
    (Charset::Utf32, 737, 3072),
];

/// The UCA 14.0.0 family without a language, in the order of its ids. Of accents and case the weaker one cannot count alone: `ai_cs` is
/// left out.
const UCA_1400: [(u16, &str, u8, bool); 6] = [
    (0, "ai_ci", 1, true),
    (2, "as_ci", 2, true),
    (3, "as_cs", 3, true),
    (4, "nopad_ai_ci", 1, false),
    (6, "nopad_as_ci", 2, false),
    (7, "nopad_as_cs", 3, false),
];

/// MariaDB's collations by the Unicode algorithm that MySQL does not have.
pub(super) fn unicode_collations() -> Vec<UnicodeCollation> {
    let mut collations = Vec::new();
    for (charset, language, uca_1400) in FIRST {
        for (offset, suffix, locale, levels) in [(0, "myanmar_ci", "my", 1), (1, "thai_520_w2", "th", 2)] {
            let name = format!("{}_{suffix}", charset.name());
            collations.push(UnicodeCollation {
                id: language + offset,
                name,
                charset,
                locale,
                levels,
                pads_space: true,
            });
        }
        for (offset, suffix, levels, pads_space) in UCA_1400 {
            let name = format!("{}_uca1400_{suffix}", charset.name());
            let id = uca_1400 + offset;
            collations.push(UnicodeCollation { id, name, charset, locale: "und", levels, pads_space });
        }
    }
    collations
}

/// MySQL's name of a collation that MariaDB calls otherwise: its `croatian_ci` is another one than MySQL's.
pub(super) fn renamed(name: &str) -> Option<String> {
    const CROATIAN: &str = "_croatian_mysql561_ci";
    let at = name.len().checked_sub(CROATIAN.len())?;
    let charset = name.get(..at).filter(|_| name[at..].eq_ignore_ascii_case(CROATIAN))?;
    Some(format!("{charset}_croatian_ci"))
}
