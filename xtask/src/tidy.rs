//! Checks of the tree that no compiler makes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The workspace's crates from the bottom up: a crate may depend only on crates before it.
const CRATE_ORDER: &[&str] = &[
    "dependency-features",
    "types",
    "accounting",
    "spatial",
    "vector-index",
    "passwords",
    "wire",
    "client",
    "parser",
    "logs",
    "catalog",
    "system-variables",
    "statement-context",
    "registry",
    "functions",
    "row-store",
    "instrumentation",
    "front-end",
    "column-store",
    "column-tables",
    "file-formats",
    "history-store",
    "backup",
    "http-client",
    "executor",
    "planner",
    "jobs",
    "server-state",
    "system-tables",
    "definitions",
    "session",
    "fastbit",
    "javascript",
    "row-json",
    "http-api",
    "modules",
    "server",
    "squall",
    "test-support",
];

/// Above this many lines a file is two ideas.
const FILE_LINES_MAX: usize = 800;

/// The lint that a function over 80 lines would have to be excused from.
const LONG_FUNCTION: &str = concat!("clippy::", "too_many_lines");
/// The one file with a function that is: a match with a line for each statement.
const LONG_MATCH: &str = "crates/parser/src/printer/statement.rs";

/// Functions of the library warn by `Args::warn`, which knows what is an error in a strict write.
const FUNCTIONS: &str = "crates/functions/src/library/";

/// Runs all checks and reports every finding.
pub fn run(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    crate_order(root, &mut findings)?;
    crate::module_order::check(root, CRATE_ORDER, &mut findings)?;
    let mut sources = Vec::new();
    collect(&root.join("crates"), "rs", &mut sources)?;
    for folder in ["examples", "fuzz/src", "xtask"] {
        collect(&root.join(folder), "rs", &mut sources)?;
    }
    for path in &sources {
        source_file(root, path, &mut findings)?;
    }
    script_folders(root, &mut findings)?;
    crate::document_names::check(root, &mut findings)?;
    crate::lists_of_files::check(root, &mut findings)?;
    crate::decisions::check(root, &mut findings)?;
    one_feature_set(root, &mut findings)?;
    benchmarks(root, &mut findings)?;
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("tidy: {} findings", findings.len())) }
}

fn crate_order(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    for name in CRATE_ORDER.iter().filter(|name| !root.join("crates").join(name).exists()) {
        findings.push(format!("tidy's CRATE_ORDER names {name}, which is no crate"));
    }
    for entry in read_dir(&root.join("crates"))? {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
        let Some(position) = CRATE_ORDER.iter().position(|other| *other == name) else {
            findings.push(format!("crates/{name} has no place in tidy's CRATE_ORDER"));
            continue;
        };
        let manifest = read(&entry.join("Cargo.toml"))?;
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for (other_position, other) in CRATE_ORDER.iter().enumerate() {
            let depends = dependencies.lines().any(|line| {
                line.strip_prefix("squall-")
                    .and_then(|rest| rest.strip_prefix(other))
                    .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            });
            if depends && other_position >= position {
                findings.push(format!("crates/{name} must not depend on crates/{other}, which stands below it"));
            }
        }
        let root_file = ["src/lib.rs", "src/main.rs"].iter().map(|file| entry.join(file)).find(|file| file.exists());
        match root_file {
            Some(file) if read(&file)?.starts_with("//!") => {}
            _ => findings.push(format!("crates/{name}: the root module does not say what the crate is for")),
        }
    }
    Ok(())
}

/// Checks a file.
fn source_file(root: &Path, path: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let text = read(path)?;
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX {
        findings.push(format!("{shown}: {lines} lines, and at most {FILE_LINES_MAX} are allowed: split it"));
    }
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("#[ignore]") {
            findings.push(format!("{shown}:{}: #[ignore] without a reason", number + 1));
        }
        if line.contains(LONG_FUNCTION) && shown != LONG_MATCH {
            findings.push(format!("{shown}:{}: a function of over 80 lines: split it", number + 1));
        }
        if shown.starts_with(FUNCTIONS) && line.contains("diagnostics.warn") {
            findings.push(format!("{shown}:{}: a function warns by Args::warn", number + 1));
        }
        if crate::error_numbers::are_forbidden(&shown) && crate::error_numbers::has_one(line) {
            findings.push(format!("{shown}:{}: a MySQL error by its number; add it to ErrorCode", number + 1));
        }
    }
    Ok(())
}

/// Every folder of golden scripts is named in a runner.
fn script_folders(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let folder = root.join("sql-tests");
    if !folder.exists() {
        return Ok(());
    }
    let runner = read(&root.join("crates/squall/tests/golden.rs"))?;
    for entry in read_dir(&folder)? {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
        if entry.is_dir() && !runner.contains(&format!("\"{name}\"")) {
            findings.push(format!("sql-tests/{name} is not run by crates/squall/tests/golden.rs"));
        }
    }
    Ok(())
}

/// The page of benchmarks is what the results make it.
fn benchmarks(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let output = std::process::Command::new("python3")
        .current_dir(root)
        .args(["bench/report.py", "--check"])
        .output()
        .map_err(|error| format!("python3 bench/report.py --check: {error}"))?;
    if !output.status.success() {
        findings.push(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
    }
    Ok(())
}

/// Every selection of packages builds dependencies with the same features; otherwise each would build them again.
fn one_feature_set(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let all = features(root, &["--workspace", "--edges", "normal,build,dev"])?;
    for selection in [&["--workspace", "--edges", "normal,build"], &["--package=squall", "--edges", "normal,build"]] {
        for (package, chosen) in features(root, selection)? {
            if all.get(&package).is_some_and(|wanted| !chosen.is_subset(wanted)) {
                let chosen = chosen.into_iter().collect::<Vec<_>>().join(" | ");
                findings.push(format!(
                    "{package} has other features ({chosen}) for {} than for tests: add what is missing to \
                     crates/dependency-features",
                    selection[0]
                ));
            }
        }
    }
    Ok(())
}

/// The feature lists that each package of a selection is built with: one, or two if build scripts use it as well.
fn features(root: &Path, selection: &[&str]) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .current_dir(root)
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}"])
        .args(selection)
        .output()
        .map_err(|error| format!("cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // A package that was listed before has a mark in the place of its dependencies.
        let line = line.trim_end().trim_end_matches(" (*)");
        if let Some((package, features)) = line.split_once('\t') {
            packages.entry(package.to_string()).or_default().insert(features.trim().to_string());
        }
    }
    Ok(packages)
}

pub(crate) fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in read_dir(folder)? {
        if entry.is_dir() {
            collect(&entry, extension, files)?;
        } else if entry.extension().is_some_and(|found| found == extension) {
            files.push(entry);
        }
    }
    Ok(())
}

fn read_dir(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    Ok(paths)
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
