//! Finds the handler of a condition.

use super::scope::Scope;
use squall_parser::ast::{ConditionValue, Declaration, HandlerAction, Ident, Step};
use squall_types::{Level, SqlError};

/// A handler that is to run.
pub(super) struct FoundHandler<'a> {
    /// The block that has declared it, from the outermost.
    pub block: usize,
    pub action: HandlerAction,
    pub step: &'a Step,
}

/// How closely a handler's condition names an error; the closest of a block is the one that runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    Class,
    State,
    Code,
}

/// The handler of a condition: the closest of the innermost block that has one for it and is not handling something itself.
pub(super) fn find<'a>(scopes: &[Scope<'a>], level: Level, error: &SqlError) -> Option<FoundHandler<'a>> {
    let mut blocks = scopes.iter().enumerate().rev().filter(|(_, scope)| !scope.is_handling);
    blocks.find_map(|(block, scope)| {
        let handlers = scope.declarations.iter().filter_map(|declaration| match declaration {
            Declaration::Handler { action, conditions, step } => {
                let close =
                    conditions.iter().filter_map(|condition| closeness(&scopes[..=block], condition, level, error));
                close.max().map(|closeness| (closeness, FoundHandler { block, action: *action, step }))
            }
            _ => None,
        });
        handlers.max_by_key(|(closeness, _)| *closeness).map(|(_, found)| found)
    })
}

/// The condition of a name.
pub(super) fn condition_named<'a>(scopes: &[Scope<'a>], name: &Ident) -> Option<&'a ConditionValue> {
    scopes.iter().rev().flat_map(|scope| scope.declarations).find_map(|declaration| match declaration {
        Declaration::Condition { name: known, value } if known.is(name.as_str()) => Some(value),
        _ => None,
    })
}

fn closeness(scopes: &[Scope<'_>], condition: &ConditionValue, level: Level, error: &SqlError) -> Option<Closeness> {
    let class = &error.sqlstate[..2];
    let is_class = match condition {
        ConditionValue::ErrorCode(code) => return (*code == u32::from(error.code)).then_some(Closeness::Code),
        ConditionValue::SqlState(state) => return (state.as_bytes() == error.sqlstate).then_some(Closeness::State),
        ConditionValue::Name(name) => {
            return condition_named(scopes, name)
                .filter(|value| !matches!(value, ConditionValue::Name(_)))
                .and_then(|value| closeness(scopes, value, level, error));
        }
        // Whatever its class: most warnings have the state of the error that they are in strict mode.
        ConditionValue::SqlWarning => class == b"01" || level == Level::Warning,
        ConditionValue::NotFound => class == b"02",
        ConditionValue::SqlException => {
            level == Level::Error && ![b"00", b"01", b"02"].iter().any(|other| class == *other)
        }
    };
    is_class.then_some(Closeness::Class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_parser::ast::{ProgramStatement, Statement};

    /// The blocks that a body begins with, each the first statement of the one before.
    fn scopes<'a>(mut statement: &'a Statement, scopes: &mut Vec<Scope<'a>>) {
        while let Statement::Program(program) = statement
            && let ProgramStatement::Block(block) = &**program
        {
            scopes.push(Scope::new(&block.declarations));
            match block.steps.first() {
                Some(step) => statement = &step.statement,
                None => return,
            }
        }
    }

    #[test]
    fn the_closest_of_the_innermost_block_runs() {
        let sql = "BEGIN DECLARE named CONDITION FOR SQLSTATE '42S02'; DECLARE EXIT HANDLER FOR 1146 DO 10;
            DECLARE CONTINUE HANDLER FOR NOT FOUND DO 11;
            BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION DO 20; DECLARE EXIT HANDLER FOR named DO 21;
            DECLARE CONTINUE HANDLER FOR SQLWARNING DO 22; END; END";
        let (body, _) = squall_parser::parse_body(sql, &Default::default()).expect("a body");
        let mut all = Vec::new();
        scopes(&body, &mut all);
        assert_eq!(all.len(), 2);
        let found_at = |scopes: &[Scope<'_>], level, code, state: &[u8; 5]| {
            let error = SqlError::of_parts(code, *state, "");
            find(scopes, level, &error)
                .map(|found| String::from_utf8_lossy(found.step.span.bytes(sql.as_bytes())).into_owned())
        };
        let found = |scopes: &[Scope<'_>], code, state| found_at(scopes, Level::Error, code, state);
        let at = |text: &str| Some(text.to_string());
        assert_eq!(found(&all, 1146, b"42S02"), at("DO 21"), "a state is closer than a class");
        assert_eq!(found(&all[..1], 1146, b"42S02"), at("DO 10"));
        assert_eq!(found(&all, 1062, b"23000"), at("DO 20"));
        assert_eq!(found(&all[..1], 1062, b"23000"), None);
        assert_eq!(found(&all, 1329, b"02000"), at("DO 11"));
        assert_eq!(found(&all, 1265, b"01000"), at("DO 22"));
        assert_eq!(found_at(&all, Level::Warning, 1292, b"22007"), at("DO 22"), "an exception is no warning");
        all[1].is_handling = true;
        assert_eq!(found(&all, 1146, b"42S02"), at("DO 10"), "no handler of a block that handles something");
    }
}
