//! The fuzz targets.

mod client_packets;
mod documents;
mod fastbit;
mod filters;
mod nesting;
mod scripts;
mod segment_blocks;
mod server_packets;
mod statements;

/// A function of bytes that panics if something is wrong.
#[derive(Debug)]
pub struct Target {
    /// Its name, which its corpus has, too.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]),
    /// Whether statements of the golden scripts are inputs, each behind a byte of options that is 0.
    pub reads_scripts: bool,
    /// How many bytes of text a byte of an input may stand for: this many times the memory is allowed.
    pub text_bytes: usize,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "client_packets", run: client_packets::run, reads_scripts: false, text_bytes: 1 },
    Target { name: "documents", run: documents::run, reads_scripts: false, text_bytes: 1 },
    Target { name: "fastbit", run: fastbit::run, reads_scripts: false, text_bytes: 1 },
    Target { name: "filters", run: filters::run, reads_scripts: false, text_bytes: 1 },
    Target { name: "nesting", run: nesting::run, reads_scripts: false, text_bytes: 1 << 16 },
    Target { name: "scripts", run: scripts::run, reads_scripts: false, text_bytes: 1 << 16 },
    Target { name: "segment_blocks", run: segment_blocks::run, reads_scripts: false, text_bytes: 1 },
    Target { name: "server_packets", run: server_packets::run, reads_scripts: false, text_bytes: 1 },
    Target { name: "statements", run: statements::run, reads_scripts: true, text_bytes: 1 },
];

/// Whether a statement is refused for its size (1117: columns, 1436: levels, 3170: memory), which says nothing against its grammar.
fn is_limit(error: &squall_parser::ParseError) -> bool {
    matches!(error.code, 1117 | 1436 | 3170)
}

/// The target of a name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
