//! Checks that the modules of a crate depend on each other in one direction, as crates do.

use crate::tidy::{collect, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Modules of a crate, with those that each one names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Reports a circle of modules for each crate that has one.
pub fn check(root: &Path, crates: &[&str], findings: &mut Vec<String>) -> Result<(), String> {
    for name in crates {
        let source = root.join("crates").join(name).join("src");
        if !source.exists() {
            continue;
        }
        if let Some(circle) = circle(&graph(&source)?) {
            findings.push(format!("crates/{name}: modules depend on each other in a circle: {}", circle.join(" -> ")));
        }
    }
    Ok(())
}

fn graph(source: &Path) -> Result<Graph, String> {
    let mut files = Vec::new();
    collect(source, "rs", &mut files)?;
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for file in &files {
        let path = file.strip_prefix(source).unwrap_or(file);
        let is_test = path.iter().any(|part| part.to_string_lossy().trim_end_matches(".rs").ends_with("tests"));
        let module = path.iter().next().unwrap_or_default().to_string_lossy().trim_end_matches(".rs").to_string();
        if !is_test && !matches!(module.as_str(), "lib" | "main") {
            texts.entry(module).or_default().push_str(&seen_from_the_crate(path, &code(&read(file)?)));
        }
    }
    let modules: BTreeSet<String> = texts.keys().cloned().collect();
    Ok(texts
        .into_iter()
        .map(|(module, text)| {
            let mut named = named(&text);
            named.retain(|other| modules.contains(other) && *other != module);
            (module, named)
        })
        .collect())
}

/// A file without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

/// A file's code with paths from the crate: what stands above a module of the crate is the crate.
fn seen_from_the_crate(path: &Path, code: &str) -> String {
    match path.components().count() {
        1 => code.replace("super::", "crate::"),
        _ => code.to_string(),
    }
}

/// The names behind `crate::`, also in braces.
fn named(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, prefix) in code.match_indices("crate::") {
        // `squall_crate::` is none.
        let before = code[..at].chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => found.extend(first_words(list)),
            None => found.extend(word(rest)),
        }
    }
    found
}

/// The first word of each path in the braces that a text begins in.
fn first_words(list: &str) -> Vec<String> {
    let (mut depth, mut words, mut is_first) = (0u32, Vec::new(), true);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_first = true,
            _ if is_first && depth == 0 && !character.is_whitespace() => {
                words.extend(word(&list[at..]));
                is_first = false;
            }
            _ => {}
        }
    }
    words
}

fn word(text: &str) -> Option<String> {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_string())
}

/// Modules of which each names the next, and the last one the first.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    let mut left = graph.clone();
    // What names nothing that is left is in no circle.
    loop {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, named)| !named.iter().any(|name| left.contains_key(name)))
            .map(|(name, _)| name.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|name| drop(left.remove(name)));
    }
    let mut path = vec![left.keys().next()?.clone()];
    loop {
        let next = left.get(path.last()?)?.iter().find(|name| left.contains_key(*name))?.clone();
        if let Some(start) = path.iter().position(|name| *name == next) {
            path.drain(..start);
            path.push(next);
            return Some(path);
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        let text = "use crate::a::B;\nuse crate::{c, d::{E, f}, g};\n// crate::no\nuse squall_crate::h;\nfn x() { crate::i::y() }\n#[cfg(test)]\nmod tests {\nuse crate::j;\n}";
        assert_eq!(named(&code(text)).into_iter().collect::<Vec<_>>(), ["a", "c", "d", "g", "i"]);
    }

    #[test]
    fn names_above_a_module_are_the_crates() {
        let found = |path: &str| named(&seen_from_the_crate(Path::new(path), "use super::{a, b::C};")).len();
        assert_eq!((found("d.rs"), found("d/e.rs")), (2, 0));
    }

    #[test]
    fn circles_are_found() {
        let graph = |edges: &[(&str, &[&str])]| -> Graph {
            edges.iter().map(|(from, to)| (from.to_string(), to.iter().map(|to| to.to_string()).collect())).collect()
        };
        assert_eq!(circle(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
        let found = circle(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &["a"])]));
        assert_eq!(found, Some(vec!["b".to_string(), "c".to_string(), "b".to_string()]));
    }
}
