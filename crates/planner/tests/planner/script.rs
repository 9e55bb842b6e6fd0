//! Runs golden scripts.

use super::database::TestDatabase;
use std::path::Path;

/// Runs every script of a folder; gives what differs.
pub fn run_all(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut scripts: Vec<_> =
        std::fs::read_dir(&folder).expect("the scripts").map(|entry| entry.expect("an entry").path()).collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "no scripts in {}", folder.display());
    scripts.iter().flat_map(|script| run_script(script)).collect()
}

fn run_script(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a script");
    let mut database = TestDatabase::new();
    let mut failures = Vec::new();
    let mut written = String::new();
    for block in text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty()) {
        let (sql, expected) = block.split_once("\n----\n").unwrap_or((block, ""));
        let sql = sql.trim_end_matches("\n----");
        let statement: String = sql.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        let actual = match statement.trim().is_empty() {
            true => String::new(),
            false => match database.run(&statement) {
                Ok(result) => result,
                Err(error) => format!("{error}\n"),
            },
        };
        written.push_str(sql);
        if !actual.is_empty() {
            written.push_str("\n----\n");
            written.push_str(actual.trim_end());
        }
        written.push_str("\n\n");
        if actual.trim_end() != expected.trim_end() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            failures.push(format!("{name}: {sql}\nexpected:\n{expected}\nactual:\n{actual}"));
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, written.trim_end().to_string() + "\n").expect("the script is writable");
        failures.clear();
    }
    failures
}
