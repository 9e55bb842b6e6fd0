//! MySQL's SQL as text: lexer, syntax tree, grammar, digest and printer. No name is looked up here.

pub mod ast;
