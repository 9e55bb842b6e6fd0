//! Checks the pages of decisions: their form, their length, and that ARCHITECTURE.md lists each.

use crate::tidy::{collect, read};
use std::path::Path;

const FOLDER: &str = "docs/decisions";
/// More is not read at once.
const WORDS_MAX: usize = 700;
/// What each page has, in this order.
const PARTS: &[&str] = &["**Question.**", "## Decision", "## Reasons", "## Consequences"];

/// Reports pages of another form.
pub fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let table = read(&root.join("ARCHITECTURE.md"))?;
    let mut pages = Vec::new();
    collect(&root.join(FOLDER), "md", &mut pages)?;
    for page in pages {
        let name = page.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        findings.extend(faults(name, &read(&page)?).into_iter().map(|fault| format!("{FOLDER}/{name}: {fault}")));
        if !table.contains(&format!("({FOLDER}/{name})")) {
            findings.push(format!("{FOLDER}/{name} is not in ARCHITECTURE.md's table of decisions"));
        }
    }
    Ok(())
}

/// What is wrong with a page.
fn faults(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let number = name.split('-').next().unwrap_or_default();
    let title = text.lines().next().unwrap_or_default();
    if !title.starts_with(&format!("# {number}: ")) || !title.ends_with(')') {
        faults.push(format!("its title is not \"# {number}: What it is about (date)\""));
    }
    let words = text.split_whitespace().count();
    if words > WORDS_MAX {
        faults.push(format!("{words} words, and at most {WORDS_MAX} are allowed"));
    }
    let places: Vec<Option<usize>> = PARTS.iter().map(|part| text.find(&format!("\n{part}"))).collect();
    faults.extend(PARTS.iter().zip(&places).filter(|(_, at)| at.is_none()).map(|(part, _)| format!("no {part}")));
    if faults.is_empty() && !places.is_sorted() {
        faults.push(format!("its parts are not in the order {}", PARTS.join(", ")));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# 0007: A thing (2026-11-20)\n\n**Question.** Why?\n\n## Decision\n\nSo.\n\n## Reasons\n\n## Consequences\n";

    #[test]
    fn a_page_of_the_form_has_no_faults() {
        assert_eq!(faults("0007-a-thing.md", PAGE), Vec::<String>::new());
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(faults("0008-a-thing.md", PAGE).len(), 1);
        assert_eq!(faults("0007-a-thing.md", &PAGE.replace("## Reasons", "## Why")), ["no ## Reasons"]);
        let turned = PAGE.replace("## Reasons\n\n## Consequences", "## Consequences\n\n## Reasons");
        assert_eq!(faults("0007-a-thing.md", &turned).len(), 1);
        let long = PAGE.to_owned() + &"word ".repeat(WORDS_MAX);
        assert!(faults("0007-a-thing.md", &long)[0].ends_with("at most 700 are allowed"));
    }
}
