//! Checks that the modules of each folder of a crate depend on each other in one direction, as crates do.
//!
//! A path in the code leads from the module that names it to another one. The two are compared in the deepest folder that has both: the
//! folder's item with the one is above its item with the other. The file of a folder itself (`mod.rs`, `lib.rs`) is not compared with
//! its own modules, and names that it takes out of modules stand for these.

use crate::tidy::{collect, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Modules of a folder, with those that each one names.
type Graph = BTreeMap<String, BTreeSet<String>>;
/// A module by the names above it and its own, from the crate's root.
type ModulePath = Vec<String>;
/// For each folder the names that its file takes out of modules, with what they stand for.
type Exports = BTreeMap<ModulePath, BTreeMap<String, ModulePath>>;

/// How many names that stand for others may follow each other.
const EXPORT_STEPS_MAX: usize = 8;

/// Reports each circle of modules.
pub fn check(root: &Path, crates: &[&str], findings: &mut Vec<String>) -> Result<(), String> {
    for name in crates {
        let source = root.join("crates").join(name).join("src");
        if !source.exists() {
            continue;
        }
        for (folder, graph) in graphs(&source)? {
            let folder = std::iter::once((*name).to_string()).chain(folder).collect::<Vec<_>>().join("/");
            for path in circles(&graph).iter().filter_map(|circle| path_of(&graph, circle)) {
                let path = path.join(" -> ");
                findings.push(format!("crates/{folder}: modules depend on each other in a circle: {path}"));
            }
        }
    }
    Ok(())
}

/// The graph of each folder of a crate, by the folder's module.
fn graphs(source: &Path) -> Result<BTreeMap<ModulePath, Graph>, String> {
    let mut files = Vec::new();
    collect(source, "rs", &mut files)?;
    let mut texts: BTreeMap<ModulePath, String> = BTreeMap::new();
    for file in &files {
        let path = file.strip_prefix(source).unwrap_or(file);
        let names = path.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_string());
        let mut module: ModulePath = names.collect();
        if module.iter().any(|name| name.ends_with("tests")) {
            continue;
        }
        module.retain(|name| !matches!(name.as_str(), "lib" | "main" | "mod"));
        texts.entry(module).or_default().push_str(&code(&read(file)?));
    }
    let modules: BTreeSet<ModulePath> = texts.keys().cloned().collect();
    let exports: Exports = texts.iter().map(|(module, text)| (module.clone(), exports(module, text))).collect();
    let mut graphs: BTreeMap<ModulePath, Graph> = BTreeMap::new();
    for (module, text) in &texts {
        for named in paths(module, text) {
            if let Some((folder, from, to)) = edge(module, named, &modules, &exports) {
                graphs.entry(folder).or_default().entry(from).or_default().insert(to);
            }
        }
    }
    Ok(graphs)
}

/// The folder that a module and what it names have in common, with the item of each there.
fn edge(
    module: &[String],
    mut named: ModulePath,
    modules: &BTreeSet<ModulePath>,
    exports: &Exports,
) -> Option<(ModulePath, String, String)> {
    for _ in 0..EXPORT_STEPS_MAX {
        let common = module.iter().zip(&named).take_while(|(a, b)| a == b).count();
        let (folder, to) = (&named[..common], named.get(common)?);
        if modules.contains(&named[..=common]) {
            let from = module.get(common)?.clone();
            return Some((folder.to_vec(), from, to.clone()));
        }
        let stands_for = exports.get(folder)?.get(to)?;
        named = [stands_for.as_slice(), &named[common + 1..]].concat();
    }
    None
}

/// A file without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

/// The names that a module takes out of others (`use module::{A, B as C}`), with what they stand for.
fn exports(module: &[String], code: &str) -> BTreeMap<String, ModulePath> {
    let mut found = BTreeMap::new();
    for (at, word) in code.match_indices("use ") {
        let starts = code[..at].chars().next_back().is_none_or(char::is_whitespace);
        let Some(end) = code[at..].find(';').filter(|_| starts) else { continue };
        for (path, name) in expand(&code[at + word.len()..at + end]) {
            let absolute = absolute(module, path.clone()).unwrap_or_else(|| [module, &path].concat());
            found.insert(name, absolute);
        }
    }
    found
}

/// The paths that a module's code names from the crate's root, from itself or from what stands above it.
fn paths(module: &[String], code: &str) -> Vec<ModulePath> {
    let starts = ["crate::", "super::", "self::"];
    let mut places: Vec<usize> = starts.iter().flat_map(|start| code.match_indices(start)).map(|(at, _)| at).collect();
    places.sort_unstable();
    let (mut found, mut end) = (Vec::new(), 0);
    for at in places {
        // `squall_crate::` is none, and parts of a path are found with its beginning.
        let before = code[..at].chars().next_back();
        if at < end || before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
            continue;
        }
        end = at + length(&code[at..]);
        found.extend(expand(&code[at..]).into_iter().filter_map(|(path, _)| absolute(module, path)));
    }
    found
}

/// Bytes of the path that a text begins with, with its list in braces.
fn length(text: &str) -> usize {
    let mut depth = 0u32;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth <= 1 => return at,
            '}' => depth -= 1,
            _ if depth > 0 || character.is_alphanumeric() || matches!(character, '_' | ':') => {}
            _ => return at,
        }
    }
    text.len()
}

/// A path from the crate's root; `None` if it does not begin with `crate`, `super` or `self`.
fn absolute(module: &[String], path: ModulePath) -> Option<ModulePath> {
    let mut from = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "super" | "self" => module.to_vec(),
        _ => return None,
    };
    let mut rest = path.as_slice();
    while let [first @ ("crate" | "super" | "self"), ..] = rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        if first == "super" {
            from.pop();
        }
        rest = &rest[1..];
    }
    from.extend_from_slice(rest);
    Some(from)
}

/// The paths that a text begins with, those in braces one by one, each with the name that it has from then on.
fn expand(text: &str) -> Vec<(ModulePath, String)> {
    let mut path = Vec::new();
    let mut rest = text;
    while let Some(name) = word(rest) {
        rest = &rest[name.len()..];
        path.push(name);
        let Some(behind) = rest.strip_prefix("::") else { break };
        rest = behind;
        if let Some(list) = rest.strip_prefix('{') {
            let parts = list_items(list);
            return parts
                .iter()
                .flat_map(|item| expand(item))
                .map(|(below, name)| ([path.as_slice(), &below].concat(), name))
                .collect();
        }
    }
    let renamed = rest.trim_start().strip_prefix("as ").and_then(|rest| word(rest.trim_start()));
    match (path.last().cloned(), renamed) {
        (Some(last), name) => vec![(path, name.unwrap_or(last))],
        (None, _) => Vec::new(),
    }
}

/// The items of a list in braces that a text begins in.
fn list_items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0u32, 0, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(list[start..at].trim());
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

fn word(text: &str) -> Option<String> {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_string())
}

/// The modules that can be reached from one.
fn reached<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = graph.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(graph.get(module).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// Sets of modules that all reach each other.
fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), reached(graph, module))).collect();
    let is_reached = |from: &str, to: &str| reach.get(from).is_some_and(|reached| reached.contains(to));
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for module in graph.keys().filter(|module| is_reached(module, module)) {
        if !found.iter().any(|circle| circle.contains(module)) {
            let others = graph.keys().filter(|other| is_reached(module, other) && is_reached(other, module));
            found.push(others.cloned().collect());
        }
    }
    found
}

/// Modules of a circle of which each names the next, and the last one the first.
fn path_of(graph: &Graph, circle: &BTreeSet<String>) -> Option<Vec<String>> {
    let mut path = vec![circle.first()?.clone()];
    loop {
        let next = graph.get(path.last()?)?.iter().find(|name| circle.contains(*name))?.clone();
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

    fn module(path: &str) -> ModulePath {
        path.split("::").filter(|name| !name.is_empty()).map(str::to_string).collect()
    }

    fn shown(paths: Vec<ModulePath>) -> Vec<String> {
        let mut paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
        paths.sort();
        paths
    }

    #[test]
    fn names_are_found() {
        let text = "use crate::a::B;\nuse crate::{c, d::{E, f}, g};\n// crate::no\nuse squall_crate::h;\n\
                    fn x() { crate::i::y() }\n#[cfg(test)]\nmod tests {\nuse crate::j;\n}";
        assert_eq!(shown(paths(&module("z"), &code(text))), ["a::B", "c", "d::E", "d::f", "g", "i::y"]);
        let text = "use super::{k, super::l::M};\nself::n::o();";
        assert_eq!(shown(paths(&module("x::y::z"), text)), ["x::l::M", "x::y::k", "x::y::z::n::o"]);
    }

    #[test]
    fn names_that_a_folder_takes_out_of_modules_are_theirs() {
        let found = exports(&module("m"), "pub use a::{B, c::D as E};\npub use self::e::F;\nuse crate::g::H;\n");
        let found: Vec<_> = found.iter().map(|(name, path)| format!("{name} {}", path.join("::"))).collect();
        assert_eq!(found, ["B m::a::B", "E m::a::c::D", "F m::e::F", "H g::H"]);
    }

    #[test]
    fn modules_are_compared_in_the_folder_that_has_both() {
        let modules: BTreeSet<ModulePath> = ["a", "a::b", "a::b::c", "a::d", "e"].into_iter().map(module).collect();
        let names = |name: &str, path: &str| (name.to_string(), module(path));
        let exports: Exports =
            [(module(""), [names("E", "e::E")].into()), (module("a"), [names("D", "a::d::D")].into())].into();
        let edge = |from: &str, named: &str| {
            let (folder, from, to) = edge(&module(from), module(named), &modules, &exports)?;
            Some(format!("{}: {from} {to}", folder.join("::")))
        };
        assert_eq!(edge("a::b::c", "a::d::X").as_deref(), Some("a: b d"));
        assert_eq!(edge("a::b::c", "a::D").as_deref(), Some("a: b d"));
        assert_eq!(edge("a::b::c", "E").as_deref(), Some(": a e"));
        assert_eq!(edge("a::b::c", "a::OfItsOwnFile"), None);
        assert_eq!(edge("a", "a::b"), None);
    }

    #[test]
    fn circles_are_found() {
        let graph = |edges: &[(&str, &[&str])]| -> Graph {
            edges.iter().map(|(from, to)| (from.to_string(), to.iter().map(|to| to.to_string()).collect())).collect()
        };
        assert_eq!(circles(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), Vec::<BTreeSet<String>>::new());
        let two = graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &["a", "e"]), ("e", &["d"])]);
        let found = circles(&two);
        assert_eq!(found, [module("b::c"), module("d::e")].map(|names| names.into_iter().collect()));
        assert_eq!(path_of(&two, &found[0]), Some(module("b::c::b")));
    }
}
