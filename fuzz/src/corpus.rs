//! The corpus: a file for each target, with one input on each line, written as a byte string of Rust.

use crate::targets::Target;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer inputs are not kept: a corpus is read by people, and by every clone of the repository.
pub const KEPT_BYTES_MAX: usize = 512;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn path(target: &Target) -> PathBuf {
    root().join("corpus").join(target.name)
}

/// A target's kept inputs.
///
/// # Errors
/// If its file cannot be read or has a line that is no input.
pub fn read(target: &Target) -> Result<Vec<Vec<u8>>, String> {
    let path = path(target);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let inputs = text.lines().enumerate().map(|(number, line)| {
        unescape(line).ok_or_else(|| format!("{}:{}: no bytes that are escaped", path.display(), number + 1))
    });
    inputs.collect()
}

/// Keeps these inputs of a target and no others.
///
/// # Errors
/// If its file cannot be written.
pub fn write(target: &Target, inputs: &[Vec<u8>]) -> Result<(), String> {
    let mut lines: Vec<String> = inputs.iter().map(|input| format!("{}\n", input.escape_ascii())).collect();
    lines.sort_unstable();
    let path = path(target);
    fs::write(&path, lines.concat()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Statements of the golden scripts, behind a byte of options.
///
/// # Errors
/// If the scripts cannot be read.
pub fn statements() -> Result<Vec<Vec<u8>>, String> {
    let folder = root().join("../sql-tests");
    let shown = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut statements = Vec::new();
    for folder in fs::read_dir(&folder).map_err(shown)?.flatten() {
        for script in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let text = fs::read_to_string(script.path()).map_err(shown)?;
            let sql = text.split("\n\n").filter_map(|block| block.split_once("\n----").map(|(sql, _)| sql));
            statements.extend(sql.flat_map(|sql| sql.split(";\n")).map(|sql| [b"\0", sql.as_bytes()].concat()));
        }
    }
    Ok(statements)
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (kind, after) = rest.split_first()?;
        rest = after;
        bytes.push(match kind {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'\\' | b'"' | b'\'' => *kind,
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            _ => return None,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::TARGETS;

    #[test]
    fn what_is_written_is_read() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&bytes.escape_ascii().to_string()), Some(bytes));
        assert_eq!(unescape("\\"), None);
        assert_eq!(unescape("\\x1"), None);
    }

    #[test]
    fn every_target_has_a_corpus_and_takes_it() {
        for target in TARGETS {
            let inputs = read(target).expect("a corpus");
            assert!(!inputs.is_empty(), "{}", target.name);
            for input in inputs {
                (target.run)(&input);
            }
        }
    }
}
