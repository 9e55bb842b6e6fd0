//! The commands that run other programs.

use crate::tidy;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs every test there is.
pub fn test(root: &Path, arguments: &[String]) -> Result<(), String> {
    let mut cargo = vec!["test", "--workspace"];
    if let [flag, text] = arguments
        && flag == "--filter"
    {
        cargo.extend(["--", text.as_str()]);
    } else if !arguments.is_empty() {
        return Err(format!("unknown option `{}`", arguments.join(" ")));
    }
    step(root, "cargo", &cargo)?;
    if arguments.is_empty() {
        // The server's tests have built the binary; building it by itself would pick other features of the dependencies
        // and build them all again.
        step(root, "python3", &["clients/run.py"])?;
    }
    Ok(())
}

/// Writes `docs/reference/`. The lists are in crates that this one would take minutes to build with: a test of theirs
/// writes the pages, and compares them whenever the tests are run.
pub fn reference(root: &Path) -> Result<(), String> {
    let cargo = ["test", "--workspace", "--test", "reference"];
    step_with(root, "cargo", &cargo, &[("SQUALL_REFERENCE", "update")])
}

/// Everything that CI runs.
pub fn check(root: &Path) -> Result<(), String> {
    step(root, "cargo", &["fmt", "--all", "--check"])?;
    tidy::run(root)?;
    step(root, "cargo", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    step_with(root, "cargo", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "--deny warnings")])?;
    test(root, &[])
}

fn step(root: &Path, program: &str, arguments: &[&str]) -> Result<(), String> {
    step_with(root, program, arguments, &[])
}

fn step_with(root: &Path, program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let line = format!("{program} {}", arguments.join(" "));
    eprintln!("==> {line}");
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot run `{line}`: {error}"))?;
    eprintln!("==> {line}: {:.0} s", started.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed ({status})")) }
}
