//! The commands that run other programs.

use crate::{frames, manual_functions, manual_variables, tidy};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs every test there is.
pub fn test(root: &Path, arguments: &[String]) -> Result<(), String> {
    let mut cargo = vec!["test", "--locked", "--workspace"];
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
    let cargo = ["test", "--locked", "--workspace", "--test", "reference"];
    step_with(root, "cargo", &cargo, &[("SQUALL_REFERENCE", "update")])
}

/// Everything that CI runs.
pub fn check(root: &Path) -> Result<(), String> {
    step(root, "cargo", &["fmt", "--all", "--check"])?;
    tidy::run(root)?;
    manual_functions::run(root)?;
    manual_variables::run(root)?;
    step(root, "cargo", &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    step_with(root, "cargo", &["doc", "--locked", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "--deny warnings")])?;
    test(root, &[])?;
    console(root)?;
    frames()?;
    release_flags_build(root)?;
    fuzz_build(root)?;
    // The scripts run one after the other on one server, so a processor is left for the fuzz targets.
    std::thread::scope(|scope| {
        let fuzz = scope.spawn(|| fuzz_run(root, &["--seconds".to_owned(), "20".to_owned()]));
        let scripts = release_flags_run(root);
        let fuzz = fuzz.join().map_err(|_| "the thread of the fuzz targets panicked".to_owned());
        scripts.and(fuzz?)
    })
}

/// Checks the console: its types, that the committed bundle is that of the source, and the page in a browser, with the server that the
/// tests have built.
pub fn console(root: &Path) -> Result<(), String> {
    if !root.join("console/node_modules").is_dir() {
        let missing = "the console's packages are missing: `npm ci --prefix console`";
        if std::env::var_os("SQUALL_SKIP_IS_FAILURE").is_some() {
            return Err(missing.to_owned());
        }
        eprintln!("==> console: skipped, {missing}");
        return Ok(());
    }
    step(root, "npm", &["--prefix", "console", "run", "check"])?;
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let server = itself.with_file_name("squall").display().to_string();
    step_with(root, "npm", &["--prefix", "console", "test"], &[("SQUALL_BINARY", &server)])
}

/// Looks for large stack frames in the server that the tests have built.
pub fn frames() -> Result<(), String> {
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    eprintln!("==> frames");
    frames::run(&itself.with_file_name("squall"))
}

/// Runs the golden scripts on a server without overflow checks and debug assertions, as the release profile has it: what is an error of
/// the tests may be a wrong answer there. Only the workspace's crates are built again: docs/decisions/0040-how-scripts-are-run.md.
pub fn release_flags(root: &Path) -> Result<(), String> {
    release_flags_build(root)?;
    release_flags_run(root)
}

fn release_flags_build(root: &Path) -> Result<(), String> {
    let mut cargo = release_flags_test();
    cargo.push("--no-run");
    step(root, "cargo", &cargo)
}

fn release_flags_run(root: &Path) -> Result<(), String> {
    let mut cargo = release_flags_test();
    // The other ways are the tests'.
    cargo.extend(["--", "--skip", "(prepared)", "--skip", "(row by row)", "--skip", "(full planner)"]);
    // What a script shows may not depend on the scripts before it.
    step_with(root, "cargo", &cargo, &[("SQUALL_GOLDEN_ORDER", "reverse")])
}

/// The command that builds and runs the golden scripts with the release profile's flags.
fn release_flags_test() -> Vec<&'static str> {
    let mut cargo = vec!["test", "--locked", "--workspace", "--test", "golden"];
    for flag in [
        "profile.dev.overflow-checks=false",
        "profile.dev.debug-assertions=false",
        "profile.dev.package.'*'.overflow-checks=true",
        "profile.dev.package.'*'.debug-assertions=true",
    ] {
        cargo.extend(["--config", flag]);
    }
    cargo
}

/// Runs the fuzz targets. Crates of the workspace are built so that they count what of them is run; dependencies are those of the
/// tests, as long as the whole workspace is what features are chosen for.
pub fn fuzz(root: &Path, arguments: &[String]) -> Result<(), String> {
    fuzz_build(root)?;
    fuzz_run(root, arguments)
}

fn fuzz_build(root: &Path) -> Result<(), String> {
    let wrapper = root.join("fuzz/instrument.sh").display().to_string();
    let build = ["build", "--locked", "--workspace", "--bin", "squall-fuzz"];
    step_with(root, "cargo", &build, &[("RUSTC_WORKSPACE_WRAPPER", &wrapper)])
}

fn fuzz_run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = itself.with_file_name("squall-fuzz").display().to_string();
    step(root, &program, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Builds what a package has: the program, and in `package/` beside it the manual pages and completions that it writes.
pub fn package(root: &Path) -> Result<(), String> {
    step(root, "cargo", &["build", "--release", "--locked", "--package", "squall"])?;
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = itself.parent().and_then(Path::parent).ok_or("the target directory is not known")?;
    let (program, package) = (target.join("release/squall"), target.join("release/package"));
    let program = program.to_string_lossy();
    step(root, &program, &["man", &package.join("man").to_string_lossy()])?;
    for (shell, name) in [("bash", "squall"), ("zsh", "_squall"), ("fish", "squall.fish")] {
        let output = Command::new(&*program).args(["completion", shell]).output();
        let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{program} completion {shell}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let file = package.join(shell).join(name);
        let folder = file.parent().unwrap_or(&package);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, &output.stdout))
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    eprintln!("{program} and {}", package.display());
    Ok(())
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
