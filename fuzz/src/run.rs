//! Runs one target in this process.

use crate::coverage::Coverage;
use crate::mutate::Mutator;
use crate::targets::Target;
use crate::{Options, corpus, memory};
use squall_test_support::random::Random;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

/// The file that the input which is being run is in, behind its length as a number of four bytes.
pub const RUNNING: &str = "SQUALL_FUZZ_RUNNING";

/// How long one input may take. Far above what is expected, for busy machines.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);

/// Runs an input.
///
/// # Errors
/// If it takes too much memory or time. What else is wrong is a panic.
pub fn once(target: &Target, bytes: &[u8]) -> Result<(), String> {
    let started = Instant::now();
    memory::bounded(bytes, target.text_bytes, target.run)?;
    let taken = started.elapsed();
    if taken > INPUT_TIME_MAX { Err(format!("an input of {} bytes takes {taken:?}", bytes.len())) } else { Ok(()) }
}

/// Runs the inputs of a target's corpus and changed ones until the time is over.
///
/// # Errors
/// If an input takes too much memory or time.
pub fn run(options: &Options) -> Result<(), String> {
    let [target] = options.targets.as_slice() else { return Err("one target, please".to_owned()) };
    let running = std::env::var_os(RUNNING).ok_or("no parent process watches this one")?;
    let running = File::create(running).map_err(|error| error.to_string())?;
    let mut coverage = Coverage::default();
    let mut run_one = |input: &[u8]| -> Result<bool, String> {
        let length = u32::try_from(input.len()).unwrap_or(u32::MAX).to_le_bytes();
        running.write_all_at(&[&length, input].concat(), 0).map_err(|error| error.to_string())?;
        coverage.begin();
        once(target, input)?;
        Ok(coverage.is_new())
    };
    let mut inputs = corpus::read(target)?;
    let kept = inputs.len();
    if target.reads_scripts {
        inputs.extend(corpus::statements()?);
    }
    // Short ones first: of two that reach the same the shorter one stays.
    inputs.sort_by_key(Vec::len);
    let started = Instant::now();
    let mut found = Vec::new();
    for input in inputs {
        if run_one(&input)? || !cfg!(instrumented) {
            found.push(input);
        }
    }
    let mut mutator = Mutator::new(Random::of_run(target.name), &found);
    let mut executed = 0_u64;
    while started.elapsed() < options.time {
        let input = mutator.next(&found);
        executed += 1;
        if run_one(&input)? {
            found.push(input);
        }
    }
    println!(
        "{}: {kept} inputs are kept, {} reach something of their own; {executed} changed ones were run, {} branches reached",
        target.name,
        found.len(),
        coverage.reached()
    );
    if options.keep {
        keep(target, found)?;
    }
    Ok(())
}

/// Keeps of these inputs what is needed to reach what they reach together.
fn keep(target: &Target, mut inputs: Vec<Vec<u8>>) -> Result<(), String> {
    inputs.retain(|input| input.len() <= corpus::KEPT_BYTES_MAX);
    inputs.sort_by_key(Vec::len);
    let mut coverage = Coverage::default();
    inputs.retain(|input| {
        coverage.begin();
        (target.run)(input);
        coverage.reaches_more()
    });
    corpus::write(target, &inputs)
}
