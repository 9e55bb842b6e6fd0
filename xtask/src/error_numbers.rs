//! Numbers of MySQL's errors stand in one table, `squall_types::ErrorCode`.

/// The table itself, and what stands by itself below it: the parser, and the packets on the wire.
const TABLES: &[&str] = &["crates/types/src/error.rs", "crates/parser/src/", "crates/wire/src/response.rs"];

/// Whether a file may have no numbers of errors: the code of the server, without its tests.
pub fn are_forbidden(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && !path.starts_with("crates/test-support/")
        && !TABLES.iter().any(|table| path.starts_with(table))
}

/// Whether a line of code has the number of an error: where one is built (`code: 1064`, `error(1064, b"42000"`), compared
/// (`code == 1064`), told apart (`1064 | 1065 => SqlError…`) or named (`CODE: u16 = 1064`).
pub fn has_one(line: &str) -> bool {
    let code = line.split(" // ").next().unwrap_or_default().trim_start();
    if code.starts_with("//") {
        return false;
    }
    let built = ["of_parts(", "error("].iter().any(|before| follows(code, before, 1, ", "));
    let compared = ["code: ", "code == ", "code != "].iter().any(|before| follows(code, before, 4, ""));
    let told_apart = digits(code) == 4 && code.contains("=>") && code.contains("Error");
    let named = (code.contains("CODE") || code.contains("ERR")) && follows(code, ": u16 = ", 4, ";");
    built || compared || told_apart || named
}

/// Whether a number of `least` to 4 digits, and then `after`, stands behind `before`.
fn follows(code: &str, before: &str, least: usize, after: &str) -> bool {
    code.match_indices(before).any(|(at, found)| {
        let rest = &code[at + found.len()..];
        let length = digits(rest);
        (least..=4).contains(&length) && rest[length..].starts_with(after)
    })
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::has_one;

    #[test]
    fn numbers_are_found_wherever_they_stand() {
        for line in [
            "        SqlError { code: 1064, sqlstate }",
            "    error(1308, b\"42000\", message)",
            "    SqlError::of_parts(29, *b\"HY000\", message)",
            "        1264 | 1367 => SqlError::new(code, &[]),",
            "    if server.code == 3948 {",
            "    const ERROR_GONE: u16 = 1161;",
        ] {
            assert!(has_one(line), "{line}");
        }
    }

    #[test]
    fn other_numbers_are_not_errors() {
        for line in [
            "    // Of 1264 | 1367 => an Error",
            "    1901..=2155 => number,",
            "pub const BUCKETS: u16 = 450;",
            "    code: code.number(),",
            "    reason, code: 0, text",
        ] {
            assert!(!has_one(line), "{line}");
        }
    }
}
