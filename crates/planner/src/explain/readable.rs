//! Texts of DataFusion's expressions as EXPLAIN shows them.

use crate::bind::NUMBER_MARK;
use squall_functions::expr::EACH_ROW_NAME;

/// An expression without parts that only DataFusion needs: positions of columns, numbers of calculated columns, and calls that make
/// sort keys.
pub(super) fn readable(expr: impl std::fmt::Display) -> String {
    const SORT_KEY: &str = "convert to sort key(";
    const LITERALS: [&str; 6] = ["Int64(", "UInt64(", "Float64(", "Boolean(", "Utf8(", "Utf8View("];
    // How a list is looked up is not shown.
    let each_row = format!(", {EACH_ROW_NAME}()");
    let text = infix(expr.to_string().replace(&each_row, "")).replace("IN (SET) ([", "IN ([");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // How many parentheses are open within each sort key.
    let mut open: Vec<usize> = Vec::new();
    while let Some(next) = rest.chars().next() {
        let starts_a_word = !out.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let literal = LITERALS.iter().filter(|_| starts_a_word).find_map(|kind| rest.strip_prefix(kind));
        if let Some(tail) = rest.strip_prefix(SORT_KEY).or(literal) {
            open.push(0);
            rest = tail;
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match (next, open.last_mut()) {
            ('@', _) if rest.starts_with(|digit: char| digit.is_ascii_digit()) => {
                rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
                continue;
            }
            (NUMBER_MARK, _) => {
                rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
                continue;
            }
            ('(', Some(depth)) => *depth += 1,
            (')', Some(0)) => {
                open.pop();
                continue;
            }
            (')', Some(depth)) => *depth -= 1,
            _ => {}
        }
        out.push(next);
    }
    out
}

/// `>(a, b)`, a comparison of texts, as `a > b`, and `*(a, b)` as `(a * b)`.
fn infix(mut text: String) -> String {
    for (place, op) in ["<=>", "<=", ">=", "<>", "=", "<", ">", "*", "+", "-", "/", "%"].iter().enumerate() {
        let call = format!("{op}(");
        while let Some(at) = text.find(&call).filter(|at| *at == 0 || text[..*at].ends_with([' ', '('])) {
            let arguments = at + call.len();
            let Some(end) = closing(&text[arguments..]).map(|end| arguments + end) else { return text };
            let Some((left, right)) = text[arguments..end].split_once(", ") else { return text };
            let infix = if place < 7 { format!("{left} {op} {right}") } else { format!("({left} {op} {right})") };
            text.replace_range(at..=end, &infix);
        }
    }
    text
}

/// Where the parenthesis that is open before `text` closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}
