//! Random texts and queries: none fails, and each result is a part of the text.

use super::{Document, Evaluation, Found, Query};
use squall_accounting::GrowingCharge;
use squall_statement_context::StatementContext;
use squall_types::CollationId;

/// Pieces of texts.
const MARKS: &[&str] = &[
    "<",
    ">",
    "</",
    "/>",
    "<a>",
    "</a>",
    "<b c='d'>",
    "</b>",
    "a",
    "b",
    " ",
    "\n",
    "=",
    "\"",
    "'",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?x?>",
    "<!D [",
    "]",
    "é",
    "&lt;",
    "5",
];

/// Pieces of queries.
const WORDS: &[&str] = &[
    "/",
    "//",
    "a",
    "b",
    "@c",
    "*",
    "[",
    "]",
    "(",
    ")",
    ".",
    "..",
    "1",
    "2.5",
    "+",
    "-",
    "=",
    "<",
    "!=",
    "|",
    "and ",
    " or ",
    " div ",
    " mod ",
    "count(",
    "last()",
    "position()",
    "contains(",
    ",",
    "'a'",
    "ancestor::",
    "self::",
    "descendant::",
    "parent::",
    "$@x",
    "not(",
    "é",
    "sum(",
    "substring(",
    "text()",
];

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn text(&mut self, pieces: &[&str], most: usize) -> String {
        (0..self.below(most)).map(|_| pieces[self.below(pieces.len())]).collect()
    }
}

fn extracted(text: &str, query: &str) -> Option<String> {
    let context = StatementContext::default();
    let mut charge = GrowingCharge::new(&context.memory);
    let document = Document::parse(text, &mut charge).unwrap().ok()?;
    let evaluation = Evaluation::new(&document, CollationId::UTF8MB4_0900_AI_CI, &context);
    let found = evaluation.find(&Query::parse(query).ok()?).ok()?;
    if let Found::Nodes(items) = &found {
        for item in items {
            assert!(document.text.get(document.nodes[item.node].whole.clone()).is_some(), "{text} {query}");
        }
    }
    evaluation.text(&found).ok()?
}

#[test]
fn random_texts_and_queries() {
    let mut random = Random(7);
    let mut found = 0;
    for _ in 0..20_000 {
        let text = if random.below(3) == 0 {
            random.text(MARKS, 30)
        } else {
            format!("<a>{}</a>", random.text(&["<a>x</a>", "<b c='d'>y</b>", "z", "<a><b/></a>", "<!--c-->"], 8))
        };
        let query = format!("/{}", random.text(WORDS, 9));
        found += usize::from(extracted(&text, &query).is_some());
    }
    assert!(found > 500, "{found} queries gave something");
}

#[test]
fn depth_has_a_bound() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    assert!(Query::parse(&deep("(", ")")).is_err());
    assert!(Query::parse(&format!("/a{}", deep("[a", "]"))).is_err());
    assert_eq!(extracted("<a/>", &deep("-", "")), Some("1".into()));
    assert_eq!(extracted("<a/>", &format!("1{}", "+1".repeat(100_000))), Some("100001".into()));
    let nested = format!("{}x{}", "<a>".repeat(50_000), "</a>".repeat(50_000));
    assert_eq!(extracted(&nested, "//a"), Some("x".into()));
}
