//! Checks the lists of CONTRIBUTING.md: what is added to the server changes few files.

use crate::tidy::read;
use std::collections::BTreeSet;
use std::path::Path;

/// Most files that a list may name.
const FILES_MAX: usize = 5;
/// The heading above the lists.
const HEADING: &str = "## To add";

/// Reports lists with too many files.
pub fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let text = read(&root.join("CONTRIBUTING.md"))?;
    let lists = lists(&text);
    if lists.is_empty() {
        findings.push(format!("CONTRIBUTING.md has no lists below {HEADING:?}"));
    }
    for (title, files) in lists {
        if files.len() > FILES_MAX {
            let count = files.len();
            findings
                .push(format!("CONTRIBUTING.md: {title:?} names {count} files, and at most {FILES_MAX} are allowed"));
        }
    }
    Ok(())
}

/// The lists with their files. A file counts once, and a folder stands for one file in it. Only numbered items count: the text below a
/// list has examples.
fn lists(text: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let mut lists: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    let mut is_item = false;
    for line in text.lines().skip_while(|line| !line.starts_with(HEADING)).skip(1) {
        if line.starts_with("## ") {
            break;
        }
        if let Some(title) = line.strip_prefix("**").and_then(|line| line.strip_suffix("**")) {
            lists.push((title, BTreeSet::new()));
        }
        // An item goes on in indented lines.
        is_item = starts_item(line) || (is_item && line.starts_with(' '));
        if let Some((_, files)) = lists.last_mut().filter(|_| is_item) {
            files.extend(line.split('`').skip(1).step_by(2).filter(|span| is_file(span)));
        }
    }
    lists
}

fn starts_item(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn is_file(span: &str) -> bool {
    ["crates/", "examples/", "sql-tests/", "docs/"].iter().any(|folder| span.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_items_are_counted_once() {
        let text = "# Else\n1. `crates/none.rs`\n\n## To add …\n\n**A thing**\n1. `crates/a.rs`: see `a::B`.\n   and `crates/b/`\n2. `crates/a.rs`\n\n\
                    `crates/example.rs` is one.\n\n**Another**\n1. `docs/x.md`\n";
        let found = lists(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], ("A thing", BTreeSet::from(["crates/a.rs", "crates/b/"])));
        assert_eq!(found[1], ("Another", BTreeSet::from(["docs/x.md"])));
    }
}
