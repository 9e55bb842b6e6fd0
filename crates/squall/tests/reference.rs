//! The pages of `docs/reference/` match the program. `cargo xtask reference` rewrites them.

use squall_functions::build::CONTROL_FUNCTIONS;
use squall_registry::{Registry, Volatility};
use squall_session::procedure::{Parameter, ProcedureHead, type_text};
use squall_system_variables::{DefaultValue, Effect, Kind, Scope, VariableDef};
use squall_types::ErrorCode;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Functions that the grammar knows by a form of their own, or that are made of others.
const GRAMMAR_FUNCTIONS: &[(&str, (usize, usize))] = &[
    ("ADDDATE", (2, 2)),
    ("ANY_VALUE", (1, 1)),
    ("CAST", (1, 1)),
    ("CONVERT", (1, 1)),
    ("DATE_ADD", (2, 2)),
    ("DATE_SUB", (2, 2)),
    ("DEFAULT", (1, 1)),
    ("GROUPING", (1, usize::MAX)),
    ("JSON_VALUE", (2, 2)),
    ("SUBDATE", (2, 2)),
    ("TIMESTAMPADD", (3, 3)),
    ("VALUES", (1, 1)),
];

const GENERATED: &str = "*Written by `cargo xtask reference` from the program's own lists; change those.*\n";

/// The windows' own functions, which the grammar knows by name; aggregates can have a window too.
const WINDOW_FUNCTIONS: &str = "`CUME_DIST`, `DENSE_RANK`, `FIRST_VALUE`, `LAG`, `LAST_VALUE`, `LEAD`, `NTH_VALUE`, `NTILE`, \
                                `PERCENT_RANK`, `RANK`, `ROW_NUMBER`";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// Compares a page with what it should be, or writes it.
fn page(name: &str, expected: &str) {
    let path = folder().join(name);
    if std::env::var("SQUALL_REFERENCE").is_ok_and(|mode| mode == "update") {
        std::fs::create_dir_all(folder()).expect("a folder");
        std::fs::write(&path, expected).expect("a page");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/{name} is not up to date: run `cargo xtask reference`");
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    squall_functions::register_all(&mut registry);
    squall_modules::all().iter().for_each(|module| module.declare(&mut registry));
    registry
}

#[test]
fn procedures() {
    let mut text = format!("# Procedures\n\n{GENERATED}\nCALL needs EXECUTE on the procedure or its schema.\n\n");
    text += "| Procedure | |\n|---|---|\n";
    let mut procedures: Vec<_> = squall_modules::all().iter().flat_map(|module| module.procedures()).collect();
    procedures.sort_by_key(|procedure| (procedure.head().database, procedure.head().name));
    for procedure in procedures {
        let parameter = |parameter: &Parameter| {
            let mode = if parameter.mode.gives() { format!("{} ", parameter.mode.word()) } else { String::new() };
            format!("{mode}{} {}", parameter.name, type_text(&parameter.sql_type).to_uppercase())
        };
        let ProcedureHead { database, name, parameters, comment } = procedure.head();
        let parameters: Vec<String> = parameters.iter().map(parameter).collect();
        let _ = writeln!(text, "| `{database}.{name}({})` | {comment} |", parameters.join(", "));
    }
    page("procedures.md", &text);
}

#[test]
fn functions() {
    let registry = registry();
    let mut text =
        format!("# Functions\n\n{GENERATED}\nA function that is not here is error 1305.\n\n## Scalar functions\n\n");
    text += "| Function | Arguments | |\n|---|---|---|\n";
    let mut rows: Vec<(&str, (usize, usize), String)> = Vec::new();
    for (name, function) in registry.scalars() {
        // Operators are registered too, under signs and words that no call can be spelt with.
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || name.contains(' ') {
            continue;
        }
        let mut notes = Vec::new();
        if name != function.name() {
            notes.push(format!("same as `{}`", function.name()));
        }
        match function.volatility() {
            Volatility::Immutable => {}
            Volatility::Stable => notes.push("one value per statement".to_owned()),
            Volatility::Volatile => notes.push("computed anew for each row".to_owned()),
        }
        rows.push((name, function.arity(), notes.join("; ")));
    }
    rows.extend(CONTROL_FUNCTIONS.iter().map(|(name, arity)| (*name, *arity, String::new())));
    rows.extend(GRAMMAR_FUNCTIONS.iter().map(|(name, arity)| (*name, *arity, String::new())));
    rows.sort();
    rows.dedup_by_key(|(name, ..)| *name);
    for (name, arity, notes) in rows {
        let _ = writeln!(text, "| `{name}` | {} | {notes} |", arguments(arity));
    }
    text += "\n## Aggregate functions\n\n";
    let names: Vec<String> = registry.aggregates().iter().map(|(name, _)| format!("`{name}`")).collect();
    let _ = writeln!(text, "{}", wrapped(&names.join(", ")));
    let _ = write!(text, "\n## Window functions\n\n{}\n", wrapped(WINDOW_FUNCTIONS));
    text += "\n## Functions in FROM\n\n";
    let mut names: Vec<String> = registry.table_functions().map(|function| format!("`{}`", function.name())).collect();
    names.push("`JSON_TABLE`".to_owned());
    names.sort();
    let _ = writeln!(text, "{}", wrapped(&names.join(", ")));
    page("functions.md", &text);
}

/// Names of functions that the page has: the first of each row of its table, and all of its lists.
fn documented_functions() -> Vec<String> {
    let page = std::fs::read_to_string(folder().join("functions.md")).expect("the page");
    let (table, lists) = page.split_once("## Aggregate functions").expect("the lists");
    let rows = table.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('`').nth(1));
    rows.chain(lists.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// The SQL of all golden scripts, without the answers, in capitals.
fn golden_sql(folder: &Path, sql: &mut String) {
    for entry in std::fs::read_dir(folder).expect("the scripts").flatten() {
        let path = entry.path();
        if path.is_dir() {
            golden_sql(&path, sql);
        } else if path.extension().is_some_and(|extension| extension == "test") {
            let mut answers = false;
            for line in std::fs::read_to_string(&path).expect("a script").lines() {
                answers = (answers || line == "----") && !line.is_empty();
                if !answers && !line.starts_with('#') {
                    sql.push_str(&line.to_ascii_uppercase());
                    sql.push('\n');
                }
            }
        }
    }
}

#[test]
fn every_function_is_in_a_golden_script() {
    let mut sql = String::new();
    golden_sql(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql-tests"), &mut sql);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let called = |name: &str| {
        sql.match_indices(&format!("{name}(")).any(|(at, _)| !sql.as_bytes()[..at].last().is_some_and(is_name))
    };
    let functions = documented_functions();
    assert!(functions.len() > 250, "the page has been read: {}", functions.len());
    let missing: Vec<&String> = functions.iter().filter(|name| !called(name)).collect();
    assert!(missing.is_empty(), "no golden script calls {missing:?}");
}

fn arguments((min, max): (usize, usize)) -> String {
    match (min, max) {
        (_, usize::MAX) => format!("{min} or more"),
        _ if min == max => min.to_string(),
        _ => format!("{min} to {max}"),
    }
}

/// Text in lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= 120 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

#[test]
fn variables() {
    let registry = registry();
    let mut all: Vec<&VariableDef> = registry.variables.all().iter().collect();
    all.sort_unstable_by_key(|definition| definition.name);
    let mut text = format!("# System variables\n\n{GENERATED}\n");
    text += "`SET GLOBAL`, `SET SESSION` and `SET PERSIST` change them while the server runs; there is no configuration file. \
             *Dynamic* is `no`\nwhere a variable can only be read, `at start` where `SET PERSIST_ONLY` keeps it for the next start, and \
             `kept only` where clients set it and read it back and\nnothing depends on it, `its default` where any other value would promise what is not done (1235).\n\n";
    text += "| Variable | Scope | Type | Default | Dynamic | |\n|---|---|---|---|---|---|\n";
    for definition in all {
        let scope = match definition.scope {
            Scope::Global => "global",
            Scope::Session => "session",
            Scope::Both => "global, session",
        };
        let dynamic = match definition.effect {
            Effect::Live => "yes",
            Effect::ReadOnly => "no",
            Effect::AtStart => "at start",
            Effect::CompatibilityOnly => "kept only",
            Effect::OnlyDefault { .. } => "its default",
        };
        let (kind, default) = (kind(definition.kind), default(definition));
        let mut doc = definition.doc.replace('|', "\\|");
        if let Effect::OnlyDefault { instead } = definition.effect {
            let _ = write!(doc, " In its place there is: {instead}.");
        }
        match definition.replacement {
            Some("") => doc += " Deprecated (1287).",
            Some(replacement) => {
                let _ = write!(doc, " Deprecated (1287): use `{replacement}`.");
            }
            None => {}
        }
        let _ = writeln!(text, "| `{}` | {scope} | {kind} | {default} | {dynamic} | {doc} |", definition.name);
    }
    page("variables.md", &text);
}

fn kind(kind: Kind) -> String {
    let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Bool => "`ON`, `OFF`".to_owned(),
        Kind::Int { min, max } => format!("{min} to {max}"),
        Kind::UInt { min, max, block: 1 } => format!("{min} to {max}"),
        Kind::UInt { min, max, block } => format!("{min} to {max}, multiples of {block}"),
        Kind::Double { min, max } => format!("{min} to {max}, any number"),
        Kind::Engine { temporary: false } => "storage engine".to_owned(),
        Kind::Engine { temporary: true } => "storage engine of temporary tables".to_owned(),
        Kind::Enum(list) => format!("one of {}", words(list)),
        Kind::Flags(list) => format!("any of {}", words(list)),
        Kind::Switches(_) => "`name=on` or `name=off`, several".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::NullableText => "text or NULL".to_owned(),
        Kind::SqlMode => "SQL modes".to_owned(),
        Kind::Charset { nullable: false } => "character set".to_owned(),
        Kind::Charset { nullable: true } => "character set or NULL".to_owned(),
        Kind::Collation => "collation".to_owned(),
        Kind::TimeZone => "`SYSTEM`, an offset or a time zone's name".to_owned(),
        Kind::Locale => "locale".to_owned(),
        Kind::Period => "a length of time, such as `1 WEEK`".to_owned(),
    }
}

fn default(definition: &VariableDef) -> String {
    match definition.default {
        DefaultValue::Null => "NULL".to_owned(),
        DefaultValue::Text("") => "empty".to_owned(),
        // A list is easier to read where it can be broken into lines.
        other => {
            let shown = definition.show(&other.to_value());
            match definition.kind {
                Kind::SqlMode | Kind::Flags(_) | Kind::Switches(_) => format!("`{}`", shown.replace(',', ", ")),
                _ => format!("`{shown}`"),
            }
        }
    }
}

#[test]
fn errors() {
    let mut text = format!(
        "# Errors\n\n{GENERATED}\nNumbers, SQLSTATEs and texts are MySQL 8.4's. `%s` stands for what a message is about.\n\n"
    );
    text += "| Number | SQLSTATE | Message |\n|---|---|---|\n";
    for code in ErrorCode::ALL {
        let state = code.sqlstate();
        let state = String::from_utf8_lossy(&state);
        let _ = writeln!(text, "| {} | {state} | {} |", code.number(), code.template().replace('|', "\\|"));
    }
    text += "\n## Squall's own errors\n\n| Number | Name | SQLSTATE | Message |\n|---|---|---|---|\n";
    for (name, error) in registry().errors() {
        let state = error.sqlstate();
        let state = String::from_utf8_lossy(&state);
        let _ = writeln!(text, "| {} | {name} | {state} | {} |", error.number(), error.template().replace('|', "\\|"));
    }
    page("errors.md", &text);
}
