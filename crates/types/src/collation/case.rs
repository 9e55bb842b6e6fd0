//! `LOWER()` and `UPPER()`: one character for one character, as MySQL does it.

use super::CollationId;

/// The text with its letters in lower case.
pub fn to_lower(collation: CollationId, text: &str) -> String {
    if collation == CollationId::BINARY {
        return text.to_string();
    }
    let turkish = is_turkish(collation);
    if text.is_ascii() && !turkish {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .map(|character| match character {
            'I' if turkish => 'ı',
            'İ' => 'i',
            _ => single(character, character.to_lowercase()),
        })
        .collect()
}

/// The text with its letters in upper case.
pub fn to_upper(collation: CollationId, text: &str) -> String {
    if collation == CollationId::BINARY {
        return text.to_string();
    }
    let turkish = is_turkish(collation);
    if text.is_ascii() && !turkish {
        return text.to_ascii_uppercase();
    }
    text.chars()
        .map(|character| match character {
            'i' if turkish => 'İ',
            _ => single(character, character.to_uppercase()),
        })
        .collect()
}

/// The mapping, where it is one character; `ß` stays as it is.
fn single(character: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

fn is_turkish(collation: CollationId) -> bool {
    let name = collation.name();
    name.contains("turkish") || name.contains("_tr_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases() {
        let utf8 = CollationId::UTF8MB4_0900_AI_CI;
        assert_eq!(to_lower(utf8, "ÀÉ İ ABC"), "àé i abc");
        assert_eq!(to_upper(utf8, "straße é"), "STRAßE É");
        assert_eq!(to_upper(CollationId::BINARY, "a"), "a");
        let turkish = CollationId::from_name("utf8mb4_tr_0900_ai_ci").unwrap();
        assert_eq!((to_upper(turkish, "i"), to_lower(turkish, "I")), ("İ".to_string(), "ı".to_string()));
    }
}
