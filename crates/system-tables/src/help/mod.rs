//! The topics of HELP and of `mysql.help_…`. They are made from the program's own lists of statements, functions and variables.

mod statements;
mod tables;

pub(crate) use tables::TABLES;

use squall_registry::{Registry, Volatility};
use squall_system_variables::Scope;
use statements::STATEMENTS;
use std::collections::BTreeMap;

/// What topics are gathered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// All others.
    Contents,
    /// Rows.
    Manipulation,
    /// Databases, tables, views and programs.
    Definition,
    /// Transactions and locks.
    Transactions,
    /// Prepared statements.
    Prepared,
    /// What is in stored programs.
    Compound,
    /// Accounts and privileges.
    Accounts,
    /// The server.
    Administration,
    /// What tells of others.
    Explaining,
    /// Functions of one row.
    Functions,
    /// Functions of many.
    Aggregates,
    /// System variables.
    Variables,
}

impl Category {
    /// All, in the order of their numbers.
    pub const ALL: &'static [Category] = &[
        Category::Contents,
        Category::Manipulation,
        Category::Definition,
        Category::Transactions,
        Category::Prepared,
        Category::Compound,
        Category::Accounts,
        Category::Administration,
        Category::Explaining,
        Category::Functions,
        Category::Aggregates,
        Category::Variables,
    ];

    /// Its name, MySQL's where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Category::Contents => "Contents",
            Category::Manipulation => "Data Manipulation",
            Category::Definition => "Data Definition",
            Category::Transactions => "Transactions",
            Category::Prepared => "Prepared Statements",
            Category::Compound => "Compound Statements",
            Category::Accounts => "Account Management",
            Category::Administration => "Administration",
            Category::Explaining => "Utility",
            Category::Functions => "Functions",
            Category::Aggregates => "Aggregate Functions and Modifiers",
            Category::Variables => "System Variables",
        }
    }

    /// The one that it is in.
    pub fn parent(self) -> Option<Category> {
        match self {
            Category::Contents => None,
            Category::Aggregates => Some(Category::Functions),
            _ => Some(Category::Contents),
        }
    }

    pub(crate) fn number(self) -> u64 {
        self as u64
    }
}

/// Something that HELP tells of.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// What it is among.
    pub category: Category,
    /// How it is written, and what it does.
    pub description: String,
    /// An example; empty for none.
    pub example: &'static str,
}

fn arguments((least, most): (usize, usize)) -> String {
    let one = |count: usize| if count == 1 { "1 argument".to_string() } else { format!("{count} arguments") };
    match (least, most) {
        (0, 0) => "no argument".into(),
        (_, usize::MAX) => format!("{least} or more arguments"),
        _ if least == most => one(least),
        _ => format!("{least} to {}", one(most)),
    }
}

/// All topics, in the order of their names.
pub fn topics(registry: &Registry) -> Vec<Topic> {
    let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
    let mut add = |topic: Topic| {
        topics.entry(topic.name.clone()).or_insert(topic);
    };
    for (category, name, syntax, text, example) in STATEMENTS {
        let description = format!("Syntax:\n{syntax}\n\n{text}\n");
        add(Topic { name: (*name).into(), category: *category, description, example });
    }
    for (name, function) in registry.scalars() {
        // Operators are registered too, under signs and words that no call can be spelt with.
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || name.contains(' ') {
            continue;
        }
        let mut description = format!("A function of {}.", arguments(function.arity()));
        if !name.eq_ignore_ascii_case(function.name()) {
            description += &format!(" The same as {}.", function.name());
        }
        description += match function.volatility() {
            Volatility::Immutable => " It depends on its arguments alone.\n",
            Volatility::Stable => " It has one value per statement.\n",
            Volatility::Volatile => " It is computed anew for each row.\n",
        };
        add(Topic { name: name.into(), category: Category::Functions, description, example: "" });
    }
    for (name, _) in registry.aggregates() {
        let description = "An aggregate function: one value of all rows of a group.\n".to_string();
        add(Topic { name: name.into(), category: Category::Aggregates, description, example: "" });
    }
    for variable in registry.variables.all() {
        let scope = match variable.scope {
            Scope::Global => "global",
            Scope::Session => "session",
            Scope::Both => "global and session",
        };
        let description = format!("A system variable ({scope}). {}\n", variable.doc);
        add(Topic { name: variable.name.into(), category: Category::Variables, description, example: "" });
    }
    topics.into_values().collect()
}
