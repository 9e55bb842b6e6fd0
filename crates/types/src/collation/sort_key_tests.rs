//! Sort keys have the order of their collation, and MySQL's equalities.

use super::*;
use crate::collation::registry;
use proptest::prelude::*;

fn id(name: &str) -> CollationId {
    CollationId::from_name(name).unwrap()
}

fn key(collation: CollationId, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    sort_key(collation, text, &mut key);
    key
}

#[test]
fn equalities_agree_with_mysql() {
    for (collation, left, right, equal) in [
        ("utf8mb4_0900_ai_ci", "a", "Á", true),
        ("utf8mb4_0900_ai_ci", "ss", "ß", true),
        ("utf8mb4_0900_ai_ci", "a", "a ", false),
        ("utf8mb4_0900_ai_ci", "æ", "ae", true),
        ("utf8mb4_0900_as_ci", "a", "A", true),
        ("utf8mb4_0900_as_ci", "a", "á", false),
        ("utf8mb4_0900_as_cs", "a", "A", false),
        ("utf8mb4_0900_bin", "a", "a ", false),
        ("utf8mb4_bin", "a", "a  ", true),
        ("utf8mb4_bin", "a", "A", false),
        ("utf8mb4_general_ci", "é", "E ", true),
        ("utf8mb4_general_ci", "ß", "s", true),
        ("utf8mb4_general_ci", "ß", "ss", false),
        ("utf8mb4_general_ci", "😀", "😁", true),
        ("utf8mb4_unicode_ci", "ß", "SS ", true),
        ("utf8mb4_unicode_ci", "😀", "😁", true),
        ("utf8mb4_unicode_520_ci", "😀", "😁", false),
        ("utf8mb4_0900_ai_ci", "😀", "😁", false),
        ("latin1_swedish_ci", "é", "E", true),
        ("latin1_swedish_ci", "å", "a", false),
        ("latin1_german2_ci", "ä", "ae", true),
        ("ascii_general_ci", "A", "a ", true),
        ("latin1_general_cs", "A", "a", false),
        ("utf8mb4_sv_0900_ai_ci", "ä", "a", false),
        ("utf8mb4_de_pb_0900_ai_ci", "ä", "ae", true),
        ("sjis_japanese_ci", "日a", "日A", true),
        ("binary", "a", "a ", false),
    ] {
        assert_eq!(eq(id(collation), left, right), equal, "{collation} {left:?} {right:?}");
        assert_eq!(key(id(collation), left) == key(id(collation), right), equal, "{collation} {left:?} {right:?}");
    }
}

#[test]
fn orders_agree_with_mysql() {
    for (collation, ordered) in [
        ("utf8mb4_bin", &["\t", "a\t", "a", "a !", "a0", "b"][..]),
        ("utf8mb4_general_ci", &["a\tz", "A", "a\u{a0}", "B", "Ö", "p", "Z"][..]),
        ("latin1_swedish_ci", &["a", "B", "z", "Å", "ä", "Ö"][..]),
        ("utf8mb4_0900_ai_ci", &["", " ", "_", "-", "'", "(", "$", "1", "a", "ä c", "Ab", "Äd", "b"][..]),
        ("utf8mb4_0900_as_cs", &["a", "A", "á", "Á", "ab"][..]),
        ("utf8mb4_sv_0900_ai_ci", &["z", "å", "ä", "ö"][..]),
        ("utf8mb4_es_trad_0900_ai_ci", &["cz", "ch", "d"][..]),
    ] {
        for pair in ordered.windows(2) {
            assert_eq!(compare(id(collation), pair[0], pair[1]), Ordering::Less, "{collation} {pair:?}");
            assert!(key(id(collation), pair[0]) < key(id(collation), pair[1]), "{collation} {pair:?}");
        }
    }
}

#[test]
fn every_collation_can_be_used() {
    for collation in registry::all() {
        assert_eq!(compare(collation.id, "a", "b"), Ordering::Less, "{}", collation.name);
        assert!(key(collation.id, "Straße").len() <= sort_key_length_max(collation.id, 6));
        let folds = eq(collation.id, "q", "Q");
        let expected = !["_bin", "_cs", "_ks", "binary"].iter().any(|end| collation.name.ends_with(end));
        assert_eq!(folds, expected, "{}", collation.name);
    }
}

#[test]
fn ascii_keys_are_the_collators_own() {
    let collation = id("utf8mb4_0900_ai_ci");
    let long = "The quick, brown fox_jumps/over 13 LAZY dogs! $5 ~ <b>\t\u{1}x";
    // With a character outside ASCII the collator writes the key itself.
    let mut slow = key(collation, &format!("{long}é"));
    let e = key(collation, "xe").len() - key(collation, "x").len();
    slow.truncate(slow.len() - e);
    assert_eq!(key(collation, long), slow);
}

const CHECKED: [&str; 12] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_bin",
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_sv_0900_ai_ci",
    "latin1_swedish_ci",
    "latin1_german2_ci",
    "gbk_chinese_ci",
    "gb18030_chinese_ci",
];

proptest! {
    #[test]
    fn keys_order_as_texts(left in "[ -~]{0,6}|[a-cA-C \t!éÉßäæ日😀\u{301}]{0,6}", right in "[ -~]{0,6}|[a-cA-C \t!éÉßäæ日😀\u{301}]{0,6}") {
        for name in CHECKED {
            let collation = id(name);
            let order = key(collation, &left).cmp(&key(collation, &right));
            prop_assert_eq!(compare(collation, &left, &right), order, "{}", name);
            prop_assert_eq!(compare(collation, &right, &left), order.reverse(), "{}", name);
            prop_assert_eq!(eq(collation, &left, &right), order.is_eq(), "{}", name);
        }
    }

    #[test]
    fn starts_of_keys_order_as_texts(
        left in "[ -~]{0,30}|[a-b \t!]{8,30}|[a-cA-C \t!éÉßäæ日😀\u{301}\u{1}]{0,30}",
        right in "[ -~]{0,30}|[a-b \t!]{8,30}|[a-cA-C \t!éÉßäæ日😀\u{301}\u{1}]{0,30}",
    ) {
        for name in CHECKED {
            let collation = id(name);
            let order = sort_key_start(collation, &left).cmp(&sort_key_start(collation, &right));
            prop_assert!(order.is_eq() || order == compare(collation, &left, &right), "{}", name);
        }
    }

    #[test]
    fn any_text_orders(left in "\\PC{0,8}", right in "\\PC{0,8}") {
        for name in CHECKED {
            let collation = id(name);
            let order = key(collation, &left).cmp(&key(collation, &right));
            prop_assert_eq!(compare(collation, &left, &right), order, "{}", name);
        }
    }

    #[test]
    fn ascii_short_cut_agrees_with_icu(text in "[\u{0}-\u{7f}]{0,30}", other in "[\u{0}-\u{7f}]{0,30}") {
        let collation = id("utf8mb4_0900_ai_ci");
        // An ignorable character outside ASCII keeps the order and takes the short cut away.
        let slow = |text: &str| key(collation, &format!("{text}\u{301}"));
        prop_assert_eq!(key(collation, &text), slow(&text));
        prop_assert_eq!(compare(collation, &text, &other), slow(&text).cmp(&slow(&other)));
    }

    #[test]
    fn keys_begin_with_keys_of_beginnings(text in "[ -~éß日]{0,8}", more in "[ -~éß日]{0,8}") {
        for name in CHECKED {
            let collation = id(name).info();
            let mut start = Vec::new();
            if collation.key_of_beginning(&text, &mut start) {
                prop_assert!(key(collation.id, &format!("{text}{more}")).starts_with(&start), "{}", name);
            }
        }
    }
}

#[test]
fn spaces_count_without_padding() {
    for name in
        ["utf8mb4_general_nopad_ci", "latin1_swedish_nopad_ci", "utf8mb4_unicode_nopad_ci", "sjis_japanese_nopad_ci"]
    {
        let collation = id(name);
        let texts = ["", " ", "a", "A", "a ", "A b", "ab", "a\t", "b"];
        for left in texts {
            for right in texts {
                assert_eq!(
                    compare(collation, left, right),
                    key(collation, left).cmp(&key(collation, right)),
                    "{name} {left:?} {right:?}"
                );
            }
        }
        assert!(eq(collation, "a", "A") && !eq(collation, "a", "a "), "{name}");
    }
}
