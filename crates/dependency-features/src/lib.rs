//! Nothing to use: this crate's dependencies switch on features of crates that several packages share. See its manifest.
