//! EXPLAIN of SET and RESET PERSIST: the same checks as of the statement, and the steps that it would take. Nothing changes.

use super::{Assignment, set_names};
use crate::change_plan::{ChangePlan, NOTHING, Step};
use crate::session::{Session, StatementRun};
use squall_parser::ast::{Expr, Reset, Set, SetItem, Statement};
use squall_server_state::globals::shown_value;
use squall_server_state::memory_limit::available_memory;
use squall_system_variables::{Action, VariableDef, VariableId};
use squall_types::{SqlError, SqlResult, Value};
use std::time::Duration;

impl Session {
    /// The plan of a statement that changes configuration; `None` for others.
    pub(crate) async fn explain_configuration(&mut self, run: &StatementRun<'_>) -> SqlResult<Option<ChangePlan>> {
        // The statement's own privileges.
        self.authorize_statement(run)?;
        let assignments = match run.request.statement {
            Statement::Set(Set::Items(items)) => self.check_without_effects(items, run).await?,
            Statement::Reset(Reset::Persist { if_exists, variable }) => {
                let name = variable.as_ref().map(|variable| variable.name.to_ascii_lowercase());
                let persisted = self.kept_by_names(name, *if_exists)?;
                return Ok(Some(self.plan_of(&[], &persisted, &[])));
            }
            Statement::Reset(Reset::PersistVersion { version }) => {
                let (globals, persisted) = self.values_of_version(*version).await?;
                self.check_modules(&globals)?;
                return Ok(Some(self.plan_of(&globals, &persisted, &[])));
            }
            _ => return Ok(None),
        };
        let (globals, persisted, others) = self.divided(assignments);
        self.check_modules(&globals)?;
        Ok(Some(self.plan_of(&globals, &persisted, &others)))
    }

    /// The checked assignments of a SET. Values are computed only where that has no effects.
    async fn check_without_effects(&mut self, items: &[SetItem], run: &StatementRun<'_>) -> SqlResult<Vec<Assignment>> {
        let mut assignments = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SetItem::System { variable, .. } if self.is_local(variable) => {
                    return Err(SqlError::unsupported("EXPLAIN SET of a variable of a stored program"));
                }
                SetItem::NewColumn { .. } => {
                    return Err(SqlError::unsupported("EXPLAIN SET of a column of a trigger"));
                }
                SetItem::User { name, value } => {
                    self.check_has_no_effects(value, run)?;
                    assignments.push(self.user_assignment(name, value, run).await?);
                }
                SetItem::System { variable, value } => {
                    self.check_has_no_effects(value, run)?;
                    self.check_item(variable, value, run, &mut assignments).await?;
                }
                SetItem::Names { charset, collation } => {
                    set_names(charset.as_deref(), collation.as_deref(), &mut assignments)?;
                }
                SetItem::CharacterSet(charset) => self.set_character_set(charset.as_deref(), &mut assignments)?,
            }
        }
        Ok(assignments)
    }

    /// Refuses a value whose making takes locks, waits, or assigns variables.
    fn check_has_no_effects(&self, expr: &Expr, run: &StatementRun<'_>) -> SqlResult<()> {
        let is_word = matches!(expr, Expr::Column(_) | Expr::Default | Expr::UserVariable(_) | Expr::Literal(_));
        match !is_word && self.has_effects(expr, run)? {
            true => Err(SqlError::unsupported("EXPLAIN SET of a value whose computation has effects")),
            false => Ok(()),
        }
    }

    /// Asks modules whether they could follow values that hold then.
    fn check_modules(&self, globals: &[(VariableId, Value)]) -> SqlResult<()> {
        let variables = &self.shared.registry.variables;
        let mut values = self.shared.globals.load_values();
        globals.iter().for_each(|(id, value)| values.set(*id, value.clone()));
        for module in &self.shared.modules {
            if globals.iter().any(|(id, _)| variables.module_of(*id) == Some(module.name())) {
                module.check_variables(&values)?;
            }
        }
        Ok(())
    }

    fn plan_of(
        &self,
        globals: &[(VariableId, Value)],
        persisted: &[(String, Option<Value>)],
        others: &[Assignment],
    ) -> ChangePlan {
        let times = &self.shared.globals.action_times;
        let check = Step {
            action: "check",
            blocks: NOTHING,
            time: Some(Duration::ZERO),
            is_reversible: true,
            note: Some("all values are set, or none".to_owned()),
            ..Step::default()
        };
        let mut steps = vec![check];
        for (id, value) in globals {
            steps.extend(self.eviction(*id, value));
            steps.push(self.global_step(*id, value));
        }
        steps.extend(others.iter().filter_map(|assignment| self.session_step(assignment)));
        for (at, (name, value)) in persisted.iter().enumerate() {
            steps.push(Step {
                // All of them are one commit.
                time: if at == 0 { times.keep.mean() } else { Some(Duration::ZERO) },
                ..self.keep_step(name, value.as_ref())
            });
        }
        ChangePlan { steps }
    }

    fn global_step(&self, id: VariableId, value: &Value) -> Step {
        let definition = self.shared.registry.variables.definition(id);
        let action = definition.action;
        let before = self.current_value(id, true);
        let time = match action {
            // A pointer is replaced.
            Action::Publish => Some(Duration::ZERO),
            action => self.shared.globals.action_times.estimate(action),
        };
        Step {
            action: action.name(),
            name: Some(definition.name.to_owned()),
            old: shown(definition, &before),
            new: shown(definition, value),
            applies: definition.applies(),
            blocks: action.blocks(),
            time,
            bytes: 0,
            is_reversible: action.is_reversible(),
            note: Some(self.note_on(id, definition, &before, value)),
        }
    }

    /// What a cache gives back when it gets smaller, before it does.
    fn eviction(&self, id: VariableId, value: &Value) -> Option<Step> {
        let held = self.shared.bytes_in_cache(id)?;
        let freed = self.shared.freed_by(id, held, unsigned(value)?);
        (freed > 0).then(|| Step {
            action: "evict",
            name: Some(self.shared.registry.variables.definition(id).name.to_owned()),
            blocks: NOTHING,
            time: self.shared.globals.action_times.evict.estimate(freed),
            bytes: i64::try_from(freed).map_or(i64::MIN, |freed| -freed),
            is_reversible: true,
            note: Some("what is freed is read again when it is needed".to_owned()),
            ..Step::default()
        })
    }

    fn note_on(&self, id: VariableId, definition: &VariableDef, before: &Value, value: &Value) -> String {
        if definition.applies().is_none() {
            return "nothing depends on it".to_owned();
        }
        if definition.action == Action::EndConnections && *value == Value::Int(1) {
            return "connections that end do not come back".to_owned();
        }
        if self.shared.bytes_in_cache(id).is_some()
            && let (Some(before), Some(after)) = (unsigned(before), unsigned(value))
            && after > before
        {
            let more = after - before;
            let lacks = available_memory().is_some_and(|available| more > available);
            let warning = if lacks { ", which is more than the machine has free" } else { "" };
            return format!("may take {more} bytes more as it fills{warning}");
        }
        format!("RESET PERSIST TO VERSION {} goes back", self.shared.globals.version())
    }

    fn keep_step(&self, name: &str, value: Option<&Value>) -> Step {
        let variables = &self.shared.registry.variables;
        let definition = variables.find(name).map(|id| variables.definition(id));
        let shown = |value: &Value| match definition {
            Some(definition) => shown(definition, value),
            None => Some(shown_value(value)),
        };
        Step {
            action: if value.is_some() { "keep" } else { "forget" },
            name: Some(name.to_owned()),
            old: self.shared.globals.persisted_value(name).as_ref().and_then(shown),
            new: value.and_then(shown),
            applies: Some("next_start"),
            blocks: NOTHING,
            is_reversible: true,
            note: Some(format!("RESET PERSIST TO VERSION {} goes back", self.shared.globals.version())),
            ..Step::default()
        }
    }

    fn session_step(&self, assignment: &Assignment) -> Option<Step> {
        const OWN: &str = "in this session alone";
        let (name, old, new, note) = match assignment {
            Assignment::User { name, value, .. } => {
                let old = self.user_variables.lock().get(name).map(|(value, _)| value.clone());
                (format!("@{}", name.as_str()), old.as_ref().and_then(text_of_value), text_of_value(value), OWN)
            }
            Assignment::Session { id, value } => {
                let definition = self.shared.registry.variables.definition(*id);
                let name = definition.name.to_owned();
                (name, shown(definition, &self.current_value(*id, false)), shown(definition, value), OWN)
            }
            Assignment::KeyCache { cache, variable, value } => {
                (format!("{cache}.{variable}"), None, Some(value.to_string()), "of a key cache of the server")
            }
            Assignment::Global { .. } => return None,
        };
        Some(Step {
            action: "publish",
            name: Some(name),
            old,
            new,
            applies: Some("immediate"),
            blocks: NOTHING,
            time: Some(Duration::ZERO),
            is_reversible: true,
            note: Some(note.to_owned()),
            ..Step::default()
        })
    }
}

/// A value as tables show it; `None` for NULL.
fn shown(definition: &VariableDef, value: &Value) -> Option<String> {
    match value {
        Value::Null if !definition.secret => None,
        value => Some(definition.show(value)),
    }
}

fn text_of_value(value: &Value) -> Option<String> {
    (*value != Value::Null).then(|| squall_server_state::check::text(value))
}

fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(number) => Some(*number),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
