//! Checks the stack frames of the server's own functions, because large ones limit the depth of nested statements.
//!
//! A function's prologue subtracts the size of its frame from the stack pointer, in the first instructions of its code. The check reads
//! them from the binary of the tests, whose frames are larger than those of an optimized one. The compiler's own list of frame sizes
//! (`-Z emit-stack-sizes`) is not in stable Rust.

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::path::Path;

/// Largest frame of a function that a statement's depth may call over and over, bytes.
const RECURSIVE_MAX: u64 = 16 << 10;
/// Largest frame of all others, bytes. Two megabytes are the smallest stack of a thread.
const FRAME_MAX: u64 = 32 << 10;

/// Crates whose functions walk trees that a client writes.
const RECURSIVE_CRATES: &[&str] = &[
    "squall_catalog",
    "squall_column_store",
    "squall_column_tables",
    "squall_fastbit",
    "squall_functions",
    "squall_parser",
    "squall_executor",
    "squall_planner",
    "squall_registry",
    "squall_statement_context",
    "squall_types",
];

/// Functions of these crates that no recursion goes through, with the reason.
const NOT_RECURSIVE: &[(&str, &str)] = &[
    ("squall_types::collation::registry::REGISTRY::", "fills the list of collations, once"),
    ("squall_executor::engine::session_state", "sets DataFusion up, once for each statement"),
];

/// How far into a function its prologue may go, bytes.
const PROLOGUE_BYTES: usize = 160;

/// Reads a binary and fails for functions with large frames.
pub fn run(binary: &Path) -> Result<(), String> {
    let data = std::fs::read(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let file = object::File::parse(&*data).map_err(|error| format!("{}: {error}", binary.display()))?;
    if file.architecture() != object::Architecture::X86_64 {
        eprintln!("frames: {:?} is not read", file.architecture());
        return Ok(());
    }
    let (mut functions, mut large) = (0, Vec::new());
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let Some(name) = symbol.name().ok().filter(|name| name.contains("squall")) else { continue };
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let length = symbol.size().min(PROLOGUE_BYTES as u64);
        let code = section.and_then(|section| section.data_range(symbol.address(), length).ok().flatten());
        let Some(frame) = code.map(frame_bytes) else { continue };
        functions += 1;
        let name = format!("{:#}", rustc_demangle::demangle(name));
        if frame > bytes_max(&name) {
            large.push(format!("{frame} bytes: {name}"));
        }
    }
    // A binary without names would pass whatever it had.
    if functions < 1000 {
        return Err(format!("{} names {functions} functions of the server", binary.display()));
    }
    if large.is_empty() {
        return Ok(());
    }
    Err(format!(
        "stack frames of more than {RECURSIVE_MAX} bytes, or {FRAME_MAX} where nothing nests:\n{}",
        large.join("\n")
    ))
}

/// How large the frame of a function may be.
fn bytes_max(name: &str) -> u64 {
    let in_crate = name.trim_start_matches(|character: char| !character.is_alphanumeric());
    let nests =
        RECURSIVE_CRATES.iter().any(|name| in_crate.strip_prefix(name).is_some_and(|rest| rest.starts_with("::")));
    let is_excused = NOT_RECURSIVE.iter().any(|(start, _)| name.starts_with(start));
    if nests && !is_excused { RECURSIVE_MAX } else { FRAME_MAX }
}

/// What a function takes from the stack pointer before it does anything else.
///
/// Up to a page by `sub rsp, n`. More of it page by page, each of which is touched: either one `sub rsp, 4096` after the
/// other, or by a loop up to an address that `lea r11, [rsp - n]` has made.
fn frame_bytes(code: &[u8]) -> u64 {
    const SUB_RSP: [u8; 3] = [0x48, 0x81, 0xec];
    const LEA_R11_RSP: [u8; 4] = [0x4c, 0x8d, 0x9c, 0x24];
    const JNE: u8 = 0x75;
    let operand = |at: usize| code.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_le_bytes);
    let (mut frame, mut at) = (0_u64, 0);
    while at < code.len() {
        let rest = &code[at..];
        if rest.starts_with(&LEA_R11_RSP) {
            frame += u64::from(operand(at + 4).unwrap_or_default().unsigned_abs());
            // The loop takes what has been counted.
            at += rest.iter().position(|byte| *byte == JNE).map_or(rest.len(), |jump| jump + 2);
        } else if rest.starts_with(&SUB_RSP) {
            frame += u64::from(operand(at + 3).unwrap_or_default().unsigned_abs());
            at += 7;
        } else if rest.starts_with(&[0xe8]) {
            // A call: the prologue is over.
            break;
        } else {
            at += 1;
        }
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_from_prologues() {
        // push rbp; mov rbp, rsp; sub rsp, 0x120; call …
        assert_eq!(frame_bytes(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0x20, 1, 0, 0, 0xe8, 0, 0, 0, 0]), 0x120);
        // sub rsp, 0x1000; mov qword ptr [rsp], 0; sub rsp, 0x88
        let touched =
            [0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0xc7, 4, 0x24, 0, 0, 0, 0, 0x48, 0x81, 0xec, 0x88, 0, 0, 0];
        assert_eq!(frame_bytes(&touched), 0x1088);
        // lea r11, [rsp - 0x5000]; sub rsp, 0x1000; mov qword ptr [rsp], 0; cmp rsp, r11; jne; sub rsp, 0x10
        let mut by_loop = vec![0x4c, 0x8d, 0x9c, 0x24, 0, 0xb0, 0xff, 0xff, 0x48, 0x81, 0xec, 0, 0x10, 0, 0];
        by_loop
            .extend([0x48, 0xc7, 4, 0x24, 0, 0, 0, 0, 0x4c, 0x39, 0xdc, 0x75, 0xec, 0x48, 0x81, 0xec, 0x10, 0, 0, 0]);
        assert_eq!(frame_bytes(&by_loop), 0x5010);
        assert_eq!(frame_bytes(&[0xc3]), 0);
    }

    #[test]
    fn functions_of_trees_have_small_frames() {
        assert_eq!(bytes_max("squall_planner::bind::expr::bind"), RECURSIVE_MAX);
        assert_eq!(bytes_max("<squall_parser::ast::Expr as core::clone::Clone>::clone"), RECURSIVE_MAX);
        assert_eq!(bytes_max("squall_executor::engine::session_state"), FRAME_MAX);
        assert_eq!(bytes_max("squall_session::session::Session::run"), FRAME_MAX);
    }
}
