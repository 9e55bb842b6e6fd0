//! Checks that the names of files, modules and items in the documents for contributors exist in the source.

use crate::tidy::{collect, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Documents whose names are all checked.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Documents that also name parts of other programs. Only names with an owner (`Session::choose`) are checked there.
const DECISIONS: &str = "docs/decisions";

/// Folders with Rust source. Paths in documents may leave out `crates/` and `src/`.
const SOURCES: &[&str] = &["crates", "examples", "fuzz/src"];

/// A name in a code span of a document.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    /// A file or folder: `route/choose.rs`.
    Path(String),
    /// An item, with the module or the type that it belongs to: `Session::choose`.
    Item(Vec<String>),
}

/// The words of one file, of those that documents use.
#[derive(Default)]
struct File {
    /// Its folders and its own name, as modules are called: `row_store`, `locks`.
    modules: BTreeSet<String>,
    words: BTreeSet<String>,
    defined: BTreeSet<String>,
}

/// Reports each name that is not in the source.
pub fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let names = names(root)?;
    let wanted: BTreeSet<&str> = names
        .iter()
        .filter_map(|(.., name)| match name {
            Name::Item(parts) => Some(parts.iter().map(String::as_str)),
            Name::Path(_) => None,
        })
        .flatten()
        .collect();
    let mut paths = Vec::new();
    for folder in SOURCES {
        collect(&root.join(folder), "rs", &mut paths)?;
    }
    let mut files = Vec::new();
    for path in &paths {
        let path_in_root = path.strip_prefix(root).unwrap_or(path);
        files.push(file_of(path_in_root, &read(path)?, &wanted));
    }
    let by_definition = by_definition(&files);
    for (document, line, span, name) in &names {
        let exists = match name {
            Name::Path(path) => path_exists(root, &paths, path),
            Name::Item(parts) => item_exists(&files, &by_definition, parts),
        };
        if !exists {
            findings.push(format!("{document}:{line}: `{span}` is not in the source"));
        }
    }
    Ok(())
}

/// The names to check: document, line, span, name.
fn names(root: &Path) -> Result<Vec<(String, usize, String, Name)>, String> {
    let mut decisions = Vec::new();
    collect(&root.join(DECISIONS), "md", &mut decisions)?;
    let documents = DOCUMENTS.iter().map(|document| root.join(document)).chain(decisions);
    let mut names = Vec::new();
    for path in documents {
        let text = read(&path)?;
        let document = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let is_decision = document.starts_with(DECISIONS);
        for (line, span) in spans(&text) {
            let has_owner = |name: &Name| matches!(name, Name::Item(parts) if parts.len() > 1);
            if let Some(name) = name_of(span).filter(|name| !is_decision || has_owner(name)) {
                names.push((document.clone(), line, span.to_owned(), name));
            }
        }
    }
    Ok(names)
}

/// The code spans of a document outside of fenced blocks, with their lines.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut is_fenced) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (at + 1, span)));
        }
    }
    found
}

/// The name in a span; `None` for SQL, commands and plain words.
fn name_of(span: &str) -> Option<Name> {
    let is_path = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    if span.chars().all(is_path) && (span.contains('/') || span.ends_with(".rs")) {
        // NAME stands for any name.
        return (!span.contains("NAME")).then(|| Name::Path(span.trim_end_matches('/').to_owned()));
    }
    let item = span.trim_end_matches("()").trim_end_matches('!');
    let parts: Vec<&str> = item.split("::").collect();
    let is_word = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_camel =
        item.starts_with(|c: char| c.is_ascii_uppercase()) && item.contains(|c: char| c.is_ascii_lowercase());
    let is_item = parts.iter().all(is_word) && (parts.len() > 1 || item.contains('_') || is_camel);
    is_item.then(|| {
        let parts = parts.iter().filter(|part| !matches!(**part, "crate" | "self" | "super"));
        Name::Item(parts.map(|part| part.strip_prefix("squall_").unwrap_or(part).to_owned()).collect())
    })
}

/// The wanted words of a file's code; comments do not count.
fn file_of(path: &Path, text: &str, wanted: &BTreeSet<&str>) -> File {
    let mut file = File::default();
    for part in path.with_extension("").iter().map(|part| part.to_string_lossy()) {
        file.modules.insert(part.replace('-', "_"));
    }
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        let is_field = |word: &str| {
            let after = line.split(word).nth(1).unwrap_or_default();
            after.starts_with(':') && !after.starts_with("::")
        };
        let mut before = "";
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        for (at, word) in words.enumerate() {
            if wanted.contains(word) {
                file.words.insert(word.to_owned());
                let is_after_keyword =
                    ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "macro_rules"]
                        .contains(&before);
                // Variants of an enum begin their line; fields of a struct begin it, or follow `pub`, or `pub(crate)`.
                let is_variant = at == 0 && word.starts_with(|c: char| c.is_ascii_uppercase());
                let may_be_field = at == 0 || matches!(before, "pub" | "crate" | "super");
                if is_after_keyword || is_variant || (may_be_field && is_field(word)) {
                    file.defined.insert(word.to_owned());
                }
            }
            before = word;
        }
    }
    file
}

/// The files that define a name, or are a module of that name.
fn by_definition(files: &[File]) -> BTreeMap<&str, Vec<&File>> {
    let mut found: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files {
        for name in file.defined.union(&file.modules) {
            found.entry(name).or_default().push(file);
        }
    }
    found
}

/// Whether a file defines the item and has, or is in, all that the document names before it.
fn item_exists(files: &[File], by_definition: &BTreeMap<&str, Vec<&File>>, parts: &[String]) -> bool {
    match parts {
        [] => true,
        // It may be another crate's, or a system variable.
        [name] => files.iter().any(|file| file.words.contains(name) || file.modules.contains(name)),
        [owners @ .., name] => by_definition.get(name.as_str()).is_some_and(|files| {
            files
                .iter()
                .any(|file| owners.iter().all(|owner| file.modules.contains(owner) || file.words.contains(owner)))
        }),
    }
}

/// Whether a path is one from the root, or the end of a source file's or of its folder's.
fn path_exists(root: &Path, sources: &[std::path::PathBuf], path: &str) -> bool {
    root.join(path).exists()
        || sources
            .iter()
            .any(|source| source.ends_with(path) || source.parent().is_some_and(|folder| folder.ends_with(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_other_spans() {
        let item = |parts: &[&str]| Some(Name::Item(parts.iter().map(|part| part.to_string()).collect()));
        assert_eq!(name_of("Session::choose"), item(&["Session", "choose"]));
        assert_eq!(name_of("squall_types::invariant"), item(&["types", "invariant"]));
        assert_eq!(name_of("execution_plan!"), item(&["execution_plan"]));
        assert_eq!(name_of("route/choose.rs"), Some(Name::Path("route/choose.rs".into())));
        assert_eq!(name_of("bench/"), Some(Name::Path("bench".into())));
        for other in ["SELECT 1", "wire", "crates/NAME/mod.rs", "-p", "f(x AS name)", "?"] {
            assert_eq!(name_of(other), None, "{other}");
        }
    }

    #[test]
    fn spans_are_found_outside_of_blocks() {
        assert_eq!(spans("a `b` c\n```text\n`d`\n```\n`e` `f`"), [(1, "b"), (5, "e"), (5, "f")]);
    }

    #[test]
    fn an_item_is_where_its_owners_are() {
        let wanted = BTreeSet::from(["Session", "choose", "Route", "Change", "plans", "cache"]);
        let files = [
            file_of(
                Path::new("crates/session/src/plans.rs"),
                "pub enum Route {\n    Change,\n}\n// fn cache()",
                &wanted,
            ),
            file_of(
                Path::new("crates/session/src/choose.rs"),
                "impl Session {\n    pub fn choose(&self) {}\n}",
                &wanted,
            ),
        ];
        let exists = |path: &str| {
            let parts: Vec<String> = path.split("::").map(str::to_owned).collect();
            item_exists(&files, &by_definition(&files), &parts)
        };
        for path in ["Session::choose", "session::plans", "plans::Route", "Route::Change", "session::Route", "Session"]
        {
            assert!(exists(path), "{path}");
        }
        for path in ["Route::choose", "choose::Route", "session::cache", "plans::cache", "Missing"] {
            assert!(!exists(path), "{path}");
        }
    }
}
