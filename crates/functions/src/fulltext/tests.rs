//! Tests of searches without a table.

use super::relevance::Weights;
use super::*;
use proptest::prelude::*;
use std::borrow::Cow;

fn search(parser: Parser, boolean: bool, against: &str) -> Search {
    if boolean { Search::boolean(parser, against).unwrap() } else { Search::natural(parser, against) }
}

fn is_met(parser: Parser, boolean: bool, text: &str, against: &str) -> bool {
    search(parser, boolean, against).is_met(&[Cow::Borrowed(text)])
}

const WORDS: Parser = Parser::Words(CollationId::UTF8MB4_0900_AI_CI);

#[test]
fn boolean_searches() {
    let text = "The quick brown fox jumps over the lazy dog, quick as ever";
    for (against, expected) in [
        ("+quick +dog", true),
        ("+quick +cat", false),
        ("quick -dog", false),
        ("cat dog", true),
        ("-cat", false),
        ("~quick", false),
        ("\"brown fox\"", true),
        ("\"fox brown\"", false),
        ("\"the lazy dog\"", true),
        ("\"a lazy dog\"", false),
        ("\"dog brown\"@7", true),
        ("\"dog brown\"@6", false),
        ("\"dog brown\"@99999999999999999999999", true),
        ("jum*", true),
        ("+(cat dog) +fox", true),
        ("+(cat cow) +fox", false),
        ("+the quick", false),
        ("QUICK", true),
        ("", false),
        ("()", false),
        ("\"", false),
        ("\"quick", true),
    ] {
        assert_eq!(is_met(WORDS, true, text, against), expected, "{against}");
    }
    assert!(!is_met(WORDS, false, text, "the"));
    assert!(is_met(WORDS, false, text, "cat \"lazy dog\""));
    assert!(!is_met(WORDS, false, text, "\"lazy fox\""));
}

#[test]
fn the_grammar_of_boolean_searches() {
    let nested = |depth: usize| format!("{}word{}", "(".repeat(depth), ")".repeat(depth));
    let (deep, deepest) = (nested(33), nested(100_000));
    for (against, expected) in [
        ("++word", "syntax error, unexpected '+'"),
        ("word +", "syntax error, unexpected $end"),
        ("(word", "syntax error, unexpected $end"),
        ("(word @", "syntax error, unexpected '@'"),
        ("+)", "syntax error, unexpected ')'"),
        (")", "syntax error, unexpected ')', expecting $end"),
        ("word @4", "syntax error, unexpected '@', expecting $end"),
        ("\"two words\"@", "syntax error, unexpected $end, expecting FTS_NUMB"),
        ("\"two words\"@x", "syntax error, unexpected FTS_TERM, expecting FTS_NUMB"),
        ("word**", "syntax error, unexpected $end, expecting FTS_TERM or FTS_NUMB or '*'"),
        (deep.as_str(), "Too many nested sub-expressions in a full-text search"),
        (deepest.as_str(), "Too many nested sub-expressions in a full-text search"),
    ] {
        assert_eq!(Search::boolean(WORDS, against).unwrap_err().message, expected);
    }
    assert!(Search::boolean(WORDS, &nested(32)).is_ok());
}

#[test]
fn lines_of_documents() {
    let document =
        r#"{"first_name": "Ann", "last_name": "Vembu", "type": "Powdered Sugar", "ppu": 0.55, "id": [1, "2"]}"#;
    for (against, boolean, expected) in [
        ("last_name=vembu", false, true),
        ("first_name=Vembu", false, false),
        ("type=Sugar", false, true),
        ("type=Powdered Sugar", false, true),
        ("\"type=Powdered Sugar\"", true, true),
        ("\"type=Powdered\"", true, true),
        ("\"Powdered Sugar\"", true, false),
        ("ppu=0.55", false, true),
        ("ppu=0.5", false, false),
        ("+id=1 +id=2 -id=3", true, true),
        ("last_name=Ve*", true, true),
    ] {
        assert_eq!(is_met(Parser::Json, boolean, document, against), expected, "{against}");
    }
    assert!(!is_met(Parser::Json, false, "{\"a\"", "a=1"));
    let relevance =
        |against: &str| search(Parser::Json, false, against).relevance(&[Cow::Borrowed(document)], &Weights::default());
    assert_eq!(relevance("id=1 id=2 id=3"), Some(2.0));
    assert_eq!(relevance("id=3"), None);
}

proptest! {
    /// Words are searched for in ASCII texts, and told one by one in others.
    #[test]
    fn words_that_are_searched_for_are_those_that_are_read(text in "([abAB_=-]{1,4} ){0,12}", against in "([abAB]{3} ){1,6}") {
        for name in ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "latin1_swedish_ci", "ft_kvpair_ci", "utf8mb4_tr_0900_ai_ci"] {
            let search = search(Parser::Words(CollationId::from_name(name).unwrap()), false, &against);
            let relevance = |text: &str| search.relevance(&[Cow::Borrowed(text)], &Weights::default());
            prop_assert_eq!(relevance(&text), relevance(&format!("{text} é")), "{} in {} by {}", against, text, name);
        }
    }
}
