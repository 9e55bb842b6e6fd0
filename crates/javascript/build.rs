//! Compiles the part that cannot be written in Rust: the jump out of a script that does not stop.

fn main() {
    println!("cargo:rerun-if-changed=src/engine/escape.c");
    cc::Build::new().file("src/engine/escape.c").compile("squall_javascript_escape");
}
