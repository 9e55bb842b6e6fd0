//! The list of collations: ids, names, character sets and rules.

use super::charset::Charset;
use super::definition::{Collation, IDS_MAX, IcuRule, Rule, Sensitivity};
use super::weights::EightBitWeights;
use super::{CollationId, mariadb};
use std::sync::{LazyLock, OnceLock};

/// Suffixes of the UCA 4.0.0 and 5.2.0 families in the order of their ids, with ICU's locale.
const LEGACY_UNICODE: [(&str, &str); 24] = [
    ("unicode", "und"),
    ("icelandic", "is"),
    ("latvian", "lv"),
    ("romanian", "ro"),
    ("slovenian", "sl"),
    ("polish", "pl"),
    ("estonian", "et"),
    ("spanish", "es"),
    ("swedish", "sv"),
    ("turkish", "tr"),
    ("czech", "cs"),
    ("danish", "da"),
    ("lithuanian", "lt"),
    ("slovak", "sk"),
    ("spanish2", "es-u-co-trad"),
    ("roman", "und"),
    ("persian", "fa"),
    ("esperanto", "eo"),
    ("hungarian", "hu"),
    ("sinhala", "si"),
    ("german2", "de-u-co-phonebk"),
    ("croatian", "hr"),
    ("unicode_520", "und"),
    ("vietnamese", "vi"),
];

/// First ids of the legacy families.
const LEGACY_UNICODE_FIRST: [(Charset, u16); 5] = [
    (Charset::Utf16, 101),
    (Charset::Ucs2, 128),
    (Charset::Utf32, 160),
    (Charset::Utf8mb3, 192),
    (Charset::Utf8mb4, 224),
];

/// The UCA 9.0.0 family of utf8mb4: id, rest of the name, locale.
const UCA_0900: [(u16, &str, &str); 66] = [
    (255, "0900_ai_ci", "und"),
    (256, "de_pb_0900_ai_ci", "de-u-co-phonebk"),
    (257, "is_0900_ai_ci", "is"),
    (258, "lv_0900_ai_ci", "lv"),
    (259, "ro_0900_ai_ci", "ro"),
    (260, "sl_0900_ai_ci", "sl"),
    (261, "pl_0900_ai_ci", "pl"),
    (262, "et_0900_ai_ci", "et"),
    (263, "es_0900_ai_ci", "es"),
    (264, "sv_0900_ai_ci", "sv"),
    (265, "tr_0900_ai_ci", "tr"),
    (266, "cs_0900_ai_ci", "cs"),
    (267, "da_0900_ai_ci", "da"),
    (268, "lt_0900_ai_ci", "lt"),
    (269, "sk_0900_ai_ci", "sk"),
    (270, "es_trad_0900_ai_ci", "es-u-co-trad"),
    (271, "la_0900_ai_ci", "la"),
    (273, "eo_0900_ai_ci", "eo"),
    (274, "hu_0900_ai_ci", "hu"),
    (275, "hr_0900_ai_ci", "hr"),
    (277, "vi_0900_ai_ci", "vi"),
    (278, "0900_as_cs", "und"),
    (279, "de_pb_0900_as_cs", "de-u-co-phonebk"),
    (280, "is_0900_as_cs", "is"),
    (281, "lv_0900_as_cs", "lv"),
    (282, "ro_0900_as_cs", "ro"),
    (283, "sl_0900_as_cs", "sl"),
    (284, "pl_0900_as_cs", "pl"),
    (285, "et_0900_as_cs", "et"),
    (286, "es_0900_as_cs", "es"),
    (287, "sv_0900_as_cs", "sv"),
    (288, "tr_0900_as_cs", "tr"),
    (289, "cs_0900_as_cs", "cs"),
    (290, "da_0900_as_cs", "da"),
    (291, "lt_0900_as_cs", "lt"),
    (292, "sk_0900_as_cs", "sk"),
    (293, "es_trad_0900_as_cs", "es-u-co-trad"),
    (294, "la_0900_as_cs", "la"),
    (296, "eo_0900_as_cs", "eo"),
    (297, "hu_0900_as_cs", "hu"),
    (298, "hr_0900_as_cs", "hr"),
    (300, "vi_0900_as_cs", "vi"),
    (303, "ja_0900_as_cs", "ja"),
    (304, "ja_0900_as_cs_ks", "ja"),
    (305, "0900_as_ci", "und"),
    (306, "ru_0900_ai_ci", "ru"),
    (307, "ru_0900_as_cs", "ru"),
    (308, "zh_0900_as_cs", "zh"),
    (310, "nb_0900_ai_ci", "nb"),
    (311, "nb_0900_as_cs", "nb"),
    (312, "nn_0900_ai_ci", "nn"),
    (313, "nn_0900_as_cs", "nn"),
    (314, "sr_latn_0900_ai_ci", "sr-Latn"),
    (315, "sr_latn_0900_as_cs", "sr-Latn"),
    (316, "bs_0900_ai_ci", "bs"),
    (317, "bs_0900_as_cs", "bs"),
    (318, "bg_0900_ai_ci", "bg"),
    (319, "bg_0900_as_cs", "bg"),
    (320, "gl_0900_ai_ci", "gl"),
    (321, "gl_0900_as_cs", "gl"),
    (322, "mn_cyrl_0900_ai_ci", "mn-Cyrl"),
    (323, "mn_cyrl_0900_as_cs", "mn-Cyrl"),
    (250, "gb18030", "zh"),
    (2, "latin2_czech", "cs"),
    (34, "cp1250_czech", "cs"),
    (309, "0900_bin", ""),
];

/// Everything else.
const OTHERS: [(u16, &str); 96] = [
    (1, "big5_chinese_ci"),
    (3, "dec8_swedish_ci"),
    (4, "cp850_general_ci"),
    (5, "latin1_german1_ci"),
    (6, "hp8_english_ci"),
    (7, "koi8r_general_ci"),
    (8, "latin1_swedish_ci"),
    (9, "latin2_general_ci"),
    (10, "swe7_swedish_ci"),
    (11, "ascii_general_ci"),
    (12, "ujis_japanese_ci"),
    (13, "sjis_japanese_ci"),
    (14, "cp1251_bulgarian_ci"),
    (15, "latin1_danish_ci"),
    (16, "hebrew_general_ci"),
    (18, "tis620_thai_ci"),
    (19, "euckr_korean_ci"),
    (20, "latin7_estonian_cs"),
    (21, "latin2_hungarian_ci"),
    (22, "koi8u_general_ci"),
    (23, "cp1251_ukrainian_ci"),
    (24, "gb2312_chinese_ci"),
    (25, "greek_general_ci"),
    (26, "cp1250_general_ci"),
    (27, "latin2_croatian_ci"),
    (28, "gbk_chinese_ci"),
    (29, "cp1257_lithuanian_ci"),
    (30, "latin5_turkish_ci"),
    (31, "latin1_german2_ci"),
    (32, "armscii8_general_ci"),
    (33, "utf8mb3_general_ci"),
    (35, "ucs2_general_ci"),
    (36, "cp866_general_ci"),
    (37, "keybcs2_general_ci"),
    (38, "macce_general_ci"),
    (39, "macroman_general_ci"),
    (40, "cp852_general_ci"),
    (41, "latin7_general_ci"),
    (42, "latin7_general_cs"),
    (43, "macce_bin"),
    (44, "cp1250_croatian_ci"),
    (45, "utf8mb4_general_ci"),
    (46, "utf8mb4_bin"),
    (47, "latin1_bin"),
    (48, "latin1_general_ci"),
    (49, "latin1_general_cs"),
    (50, "cp1251_bin"),
    (51, "cp1251_general_ci"),
    (52, "cp1251_general_cs"),
    (53, "macroman_bin"),
    (54, "utf16_general_ci"),
    (55, "utf16_bin"),
    (56, "utf16le_general_ci"),
    (57, "cp1256_general_ci"),
    (58, "cp1257_bin"),
    (59, "cp1257_general_ci"),
    (60, "utf32_general_ci"),
    (61, "utf32_bin"),
    (62, "utf16le_bin"),
    (63, "binary"),
    (64, "armscii8_bin"),
    (65, "ascii_bin"),
    (66, "cp1250_bin"),
    (67, "cp1256_bin"),
    (68, "cp866_bin"),
    (69, "dec8_bin"),
    (70, "greek_bin"),
    (71, "hebrew_bin"),
    (72, "hp8_bin"),
    (73, "keybcs2_bin"),
    (74, "koi8r_bin"),
    (75, "koi8u_bin"),
    (76, "utf8mb3_tolower_ci"),
    (77, "latin2_bin"),
    (78, "latin5_bin"),
    (79, "latin7_bin"),
    (80, "cp850_bin"),
    (81, "cp852_bin"),
    (82, "swe7_bin"),
    (83, "utf8mb3_bin"),
    (84, "big5_bin"),
    (85, "euckr_bin"),
    (86, "gb2312_bin"),
    (87, "gbk_bin"),
    (88, "sjis_bin"),
    (89, "tis620_bin"),
    (90, "ucs2_bin"),
    (91, "ujis_bin"),
    (92, "geostd8_general_ci"),
    (93, "geostd8_bin"),
    (94, "latin1_spanish_ci"),
    (95, "cp932_japanese_ci"),
    (96, "cp932_bin"),
    (97, "eucjpms_japanese_ci"),
    (98, "eucjpms_bin"),
    (99, "cp1250_polish_ci"),
];

static REGISTRY: LazyLock<Vec<Option<Collation>>> = LazyLock::new(|| {
    let mut registry: Vec<Option<Collation>> = (0..IDS_MAX).map(|_| None).collect();
    let mut add = |id: u16, name: String, charset: Charset, rule: Rule, pads_space: bool, sort_length: u8| {
        let is_default = charset.default_collation() == CollationId(id);
        registry[usize::from(id)] = Some(Collation {
            id: CollationId(id),
            sensitivity: Sensitivity::of_name(&name),
            name,
            charset,
            is_default,
            pads_space,
            sort_length,
            rule,
            ascii_classes: OnceLock::new(),
        });
    };
    for (id, name) in OTHERS.into_iter().chain([
        (223, "utf8mb3_general_mysql500_ci"),
        (159, "ucs2_general_mysql500_ci"),
        (248, "gb18030_chinese_ci"),
        (249, "gb18030_bin"),
    ]) {
        let charset_name = name.split('_').next().unwrap_or(name);
        let Some(charset) = Charset::from_name(charset_name) else { continue };
        add(id, name.to_string(), charset, single_rule(name, charset), name != "binary", 1);
        let is_default = charset.default_collation() == CollationId(id);
        // MariaDB has no gb18030, and another collation has the id of the first one.
        if let Some(no_pad) = mariadb::no_pad_name(name, is_default).filter(|_| id > 1 && charset != Charset::Gb18030) {
            add(mariadb::NO_PAD_ID + id, no_pad, charset, single_rule(name, charset), false, 1);
        }
    }
    for (charset, first) in LEGACY_UNICODE_FIRST {
        for (offset, (suffix, locale)) in (0u16..).zip(LEGACY_UNICODE) {
            let name = format!("{}_{suffix}_ci", charset.name());
            let rule = || Rule::Icu(IcuRule { locale, levels: 1 });
            if let Some(no_pad) = mariadb::no_pad_name(&name, false) {
                add(mariadb::NO_PAD_ID + first + offset, no_pad, charset, rule(), false, 8);
            }
            add(first + offset, name, charset, rule(), true, 8);
        }
    }
    for (id, suffix, locale) in UCA_0900 {
        let (name, charset, levels) = match id {
            250 => ("gb18030_unicode_520_ci".to_string(), Charset::Gb18030, 1),
            2 => ("latin2_czech_cs".to_string(), Charset::from_name("latin2").unwrap_or(Charset::Latin1), 3),
            34 => ("cp1250_czech_cs".to_string(), Charset::from_name("cp1250").unwrap_or(Charset::Latin1), 3),
            _ => {
                let levels = match suffix.rsplit_once('_').map_or("", |(_, last)| last) {
                    "ks" => 4,
                    "cs" => 3,
                    _ if suffix.ends_with("as_ci") => 2,
                    _ => 1,
                };
                (format!("utf8mb4_{suffix}"), Charset::Utf8mb4, levels)
            }
        };
        let is_0900 = name.contains("0900");
        let rule = if locale.is_empty() { Rule::Binary } else { Rule::Icu(IcuRule { locale, levels }) };
        let sort_length = match (id, levels) {
            (309, _) => 1,
            (304, _) => 24,
            (250, _) => 8,
            (2 | 34, _) => 4,
            _ => 0,
        };
        add(id, name, charset, rule, !is_0900, sort_length);
    }
    for unicode in mariadb::unicode_collations() {
        let rule = Rule::Icu(IcuRule { locale: unicode.locale, levels: unicode.levels });
        let sort_length = if unicode.name.contains("1400") { 0 } else { 8 };
        add(unicode.id, unicode.name, unicode.charset, rule, unicode.pads_space, sort_length);
    }
    // `key=value` is one word of a FULLTEXT key in these. MySQL leaves ids from 1024 on to users.
    if let Some(weights) = EightBitWeights::of("latin1_swedish_ci", Charset::Latin1) {
        add(1024, "ft_kvpair_ci".to_string(), Charset::Latin1, Rule::EightBit(Box::new(weights)), true, 1);
    }
    add(1025, "utf8mb4_ft_kvpair_ci".to_string(), Charset::Utf8mb4, Rule::General, true, 1);
    registry
});

/// The rule of a collation that weighs single characters.
fn single_rule(name: &str, charset: Charset) -> Rule {
    let is_binary = Sensitivity::of_name(name) == Sensitivity::Binary;
    if let Some(weights) = EightBitWeights::bytes(charset).filter(|_| is_binary) {
        // Bytes of these sets order otherwise than the characters they stand for.
        Rule::EightBit(Box::new(weights))
    } else if is_binary {
        Rule::Binary
    } else if let Some(weights) = EightBitWeights::of(name, charset) {
        Rule::EightBit(Box::new(weights))
    } else if charset.bytes_per_character_max() == 1 || name.contains("_general_") || charset == Charset::Utf8mb3 {
        // The few eight-bit collations without a table of their own fold case and accents as general_ci does.
        Rule::General
    } else {
        Rule::Encoded
    }
}

/// The collation of an id.
pub fn by_id(id: CollationId) -> Option<&'static Collation> {
    REGISTRY.get(usize::from(id.0))?.as_ref()
}

/// The collation of a name, in any case; `utf8_` stands for `utf8mb3_`.
pub fn by_name(name: &str) -> Option<&'static Collation> {
    let renamed = match name.get(..5) {
        Some(prefix) if prefix.eq_ignore_ascii_case("utf8_") => Some(format!("utf8mb3_{}", &name[5..])),
        _ => None,
    };
    let wanted = renamed.as_deref().unwrap_or(name);
    let of_mariadb = mariadb::renamed(wanted);
    let wanted = of_mariadb.as_deref().unwrap_or(wanted);
    all().find(|collation| collation.name.eq_ignore_ascii_case(wanted))
}

/// Every collation, by id.
pub fn all() -> impl Iterator<Item = &'static Collation> {
    REGISTRY.iter().flatten()
}

impl Charset {
    /// The collation that orders by code points.
    pub fn binary_collation(self) -> CollationId {
        all()
            .find(|collation| collation.charset == self && collation.sensitivity == Sensitivity::Binary)
            .map_or(CollationId::BINARY, |collation| collation.id)
    }
}

/// `utf8mb4_0900_ai_ci`.
pub(super) fn default_collation() -> &'static Collation {
    static FALLBACK: LazyLock<Collation> = LazyLock::new(|| Collation {
        id: CollationId::UTF8MB4_0900_AI_CI,
        name: "utf8mb4_0900_ai_ci".to_string(),
        charset: Charset::Utf8mb4,
        is_default: true,
        sensitivity: Sensitivity::CaseInsensitive,
        pads_space: false,
        sort_length: 0,
        rule: Rule::Icu(IcuRule { locale: "und", levels: 1 }),
        ascii_classes: OnceLock::new(),
    });
    by_id(CollationId::UTF8MB4_0900_AI_CI).unwrap_or_else(|| &FALLBACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names() {
        for (id, name) in [
            (8, "latin1_swedish_ci"),
            (33, "utf8mb3_general_ci"),
            (45, "utf8mb4_general_ci"),
            (46, "utf8mb4_bin"),
            (63, "binary"),
            (192, "utf8mb3_unicode_ci"),
            (224, "utf8mb4_unicode_ci"),
            (246, "utf8mb4_unicode_520_ci"),
            (247, "utf8mb4_vietnamese_ci"),
            (255, "utf8mb4_0900_ai_ci"),
            (305, "utf8mb4_0900_as_ci"),
            (309, "utf8mb4_0900_bin"),
            (311, "utf8mb4_nb_0900_as_cs"),
            (610, "utf8mb4_thai_520_w2"),
            (1032, "latin1_swedish_nopad_ci"),
            (1069, "utf8mb4_general_nopad_ci"),
            (2304, "utf8mb4_uca1400_ai_ci"),
        ] {
            assert_eq!(CollationId(id).name(), name);
            assert_eq!(CollationId::from_name(&name.to_uppercase()), Some(CollationId(id)));
        }
        assert_eq!(CollationId::from_name("utf8_bin").map(CollationId::name), Some("utf8mb3_bin"));
        assert_eq!(CollationId::from_name("nope"), None);
        assert_eq!(CollationId(9999).name(), "utf8mb4_0900_ai_ci");
        assert!(!CollationId(255).info().pads_space && CollationId(45).info().pads_space);
        assert_eq!(
            CollationId::from_name("utf8_croatian_mysql561_ci").map(CollationId::name),
            Some("utf8mb3_croatian_ci")
        );
        assert_eq!(all().count(), 416);
    }
}
