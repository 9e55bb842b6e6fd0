//! Checks of the tree that no compiler makes.

use std::fs;
use std::path::{Path, PathBuf};

/// The workspace's crates from the bottom up: a crate may depend only on crates before it.
const CRATE_ORDER: &[&str] = &[
    "types",
    "wire",
    "client",
    "parser",
    "catalog",
    "registry",
    "functions",
    "row-store",
    "column-store",
    "json-index",
    "planner",
    "session",
    "jobs",
    "modules",
    "server",
    "squall",
    "query-tester",
    "test-support",
];

/// Above this many lines a file has to answer whether it is two ideas.
const FILE_LINES_MAX: usize = 900;

/// Files above [`FILE_LINES_MAX`] that were looked at and are one idea, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Runs all checks and reports every finding.
pub fn run(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    crate_order(root, &mut findings)?;
    let mut sources = Vec::new();
    collect(&root.join("crates"), "rs", &mut sources)?;
    collect(&root.join("xtask"), "rs", &mut sources)?;
    for path in &sources {
        source_file(root, path, &mut findings)?;
    }
    script_folders(root, &mut findings)?;
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("tidy: {} findings", findings.len())) }
}

fn crate_order(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
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

fn source_file(root: &Path, path: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let text = read(path)?;
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX && !LONG_FILES.iter().any(|(file, _)| *file == shown) {
        findings.push(format!("{shown}: {lines} lines; split it, or list it in LONG_FILES with a reason"));
    }
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("#[ignore]") {
            findings.push(format!("{shown}:{}: #[ignore] without a reason", number + 1));
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

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> Result<(), String> {
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

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
