//! Finds what the name of an option stands for.

use super::known::{self, ALIASES};
use squall_session::DeclaredVariables;
use squall_system_variables::VariableDef;

/// What a name is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning<'a> {
    /// A system variable.
    Variable(&'a VariableDef),
    /// An option that does nothing here, with the reason.
    Known(&'static str),
}

/// What is said before the name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Nothing.
    #[default]
    None,
    /// `skip-` or `disable-`.
    Off,
    /// `enable-`.
    On,
    /// `maximum-`.
    Maximum,
}

/// A name that was found.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    /// What it is.
    pub meaning: Meaning<'a>,
    /// The whole name, if it was cut short or is another name.
    pub instead: Option<String>,
    /// What was said before it.
    pub prefix: Prefix,
}

/// A name that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotFound {
    /// No option has it.
    Unknown,
    /// Two options begin with it.
    Ambiguous(String, String),
}

/// Words before a name, as they are with `_` for `-`.
const PREFIXES: &[(&str, Prefix)] =
    &[("skip_", Prefix::Off), ("disable_", Prefix::Off), ("enable_", Prefix::On), ("maximum_", Prefix::Maximum)];

/// A name without `loose-`, with `_` for `-`; and whether `loose-` was before it.
pub(super) fn normalized(name: &str) -> (String, bool) {
    let name = name.replace('-', "_");
    match name.strip_prefix("loose_") {
        Some(rest) => (rest.to_owned(), true),
        None => (name, false),
    }
}

/// Finds the option of a [`normalized`] name: the whole name first, then without a word before it, then what alone begins with it.
pub(super) fn find<'a>(variables: &'a DeclaredVariables, name: &str) -> Result<Found<'a>, NotFound> {
    let split = || PREFIXES.iter().filter_map(|(word, prefix)| Some((name.strip_prefix(word)?, *prefix)));
    if let Some(found) = by_whole_name(variables, name, Prefix::None) {
        return Ok(found);
    }
    if let Some(found) = split().find_map(|(rest, prefix)| by_whole_name(variables, rest, prefix)) {
        return Ok(found);
    }
    match by_beginning(variables, name, Prefix::None) {
        Err(NotFound::Unknown) => {
            split().next().map_or(Err(NotFound::Unknown), |(rest, prefix)| by_beginning(variables, rest, prefix))
        }
        found => found,
    }
}

fn by_whole_name<'a>(variables: &'a DeclaredVariables, name: &str, prefix: Prefix) -> Option<Found<'a>> {
    let alias = ALIASES.iter().find(|(other, _)| *other == name).map(|(_, name)| *name);
    // Names of options are told apart by letter case, other than those of variables.
    let variable = variables.find(alias.unwrap_or(name)).filter(|definition| is_option(definition));
    if let Some(definition) = variable.filter(|definition| alias.is_some() || definition.name == name) {
        let instead = alias.map(ToOwned::to_owned);
        return Some(Found { meaning: Meaning::Variable(definition), instead, prefix });
    }
    known::reason(name).map(|reason| Found { meaning: Meaning::Known(reason), instead: None, prefix })
}

/// Whether a variable can be set when a server starts.
fn is_option(definition: &VariableDef) -> bool {
    definition.has_global()
}

fn by_beginning<'a>(variables: &'a DeclaredVariables, beginning: &str, prefix: Prefix) -> Result<Found<'a>, NotFound> {
    if beginning.is_empty() {
        return Err(NotFound::Unknown);
    }
    let of_variables = variables.all().iter().filter(|definition| is_option(definition)).map(|found| found.name);
    let others = ALIASES.iter().map(|(name, _)| *name).chain(known::names());
    let mut names: Vec<&str> = of_variables.chain(others).filter(|name| name.starts_with(beginning)).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => Err(NotFound::Unknown),
        [name] => {
            let found = by_whole_name(variables, name, prefix).ok_or(NotFound::Unknown)?;
            Ok(Found { instead: Some(found.instead.unwrap_or_else(|| (*name).to_owned())), ..found })
        }
        [first, second, ..] => Err(NotFound::Ambiguous((*first).to_owned(), (*second).to_owned())),
    }
}
