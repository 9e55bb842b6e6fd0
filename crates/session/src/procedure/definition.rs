//! Definitions of stored programs: there are only those of the server, but dumps have them, and drop what is not there.

use super::{ParameterMode, ProcedureHead};
use crate::result::Outcome;
use crate::session::Session;
use squall_parser::ast::{ObjectName, Statement};
use squall_registry::StatementContext;
use squall_system_tables::quoting::{quote, quote_text};
use squall_system_tables::type_text::type_text;
use squall_types::{ErrorCode, Level, SqlError, SqlResult};

/// The account that SHOW PROCEDURE STATUS names.
const DEFINER: &str = "`mysql.sys`@`localhost`";

/// CREATE PROCEDURE of one of the server's procedures: without a body, and so that a dump that has it can be read again.
pub(crate) fn create_text(head: &ProcedureHead) -> String {
    let parameters: Vec<String> = head
        .parameters
        .iter()
        .map(|parameter| {
            let mode = match parameter.mode {
                ParameterMode::In => "IN",
                ParameterMode::Out => "OUT",
                ParameterMode::InOut | ParameterMode::InOutOrValue => "INOUT",
            };
            format!("{mode} {} {}", quote(parameter.name), type_text(&parameter.sql_type))
        })
        .collect();
    format!(
        "CREATE DEFINER={DEFINER} PROCEDURE IF NOT EXISTS {}({})\n    SQL SECURITY INVOKER\n    COMMENT {}\nBEGIN END",
        quote(head.name),
        parameters.join(", "),
        quote_text(head.comment)
    )
}

impl Session {
    /// CREATE and DROP of procedures, functions and triggers: they cannot be made, so there are none but those of the server.
    /// `None` for what is not supported.
    pub(crate) fn run_program_definition(
        &self,
        statement: &Statement,
        context: &StatementContext,
    ) -> SqlResult<Option<Outcome>> {
        match statement {
            Statement::CreateProcedure(create) => {
                let Some(head) = self.own_procedure(&create.name)? else { return Ok(None) };
                let error = SqlError::new(ErrorCode::SpAlreadyExists, &[&"PROCEDURE", &head.name]);
                if !create.if_not_exists {
                    return Err(error);
                }
                context.diagnostics.push(Level::Note, error);
                Ok(Some(Outcome::done()))
            }
            Statement::DropProcedure(drop) => {
                for name in &drop.names {
                    let Some(head) = self.own_procedure(name)? else {
                        self.drop_nothing(name, drop.if_exists, "PROCEDURE", context)?;
                        continue;
                    };
                    let routine = format!("{}.{}", head.database, head.name);
                    let account = &self.account;
                    let wanted: [&dyn std::fmt::Display; 4] =
                        [&"alter routine", &account.user, &self.client_host(), &routine];
                    let error = SqlError::new(ErrorCode::ProcAccessDenied, &wanted);
                    if !drop.if_exists {
                        return Err(error);
                    }
                    // Dumps drop what they are about to make, which says IF NOT EXISTS.
                    context.diagnostics.push(Level::Note, error);
                }
                Ok(Some(Outcome::done()))
            }
            Statement::DropFunction(drop) => {
                drop.names.iter().try_for_each(|name| self.drop_nothing(name, drop.if_exists, "FUNCTION", context))?;
                Ok(Some(Outcome::done()))
            }
            Statement::DropTrigger(drop) => {
                let error = SqlError::new(ErrorCode::TriggerDoesNotExist, &[]);
                if !drop.if_exists {
                    return Err(error);
                }
                context.diagnostics.push(Level::Note, error);
                Ok(Some(Outcome::done()))
            }
            _ => Ok(None),
        }
    }

    fn own_procedure(&self, name: &ObjectName) -> SqlResult<Option<&ProcedureHead>> {
        let (database, name) = self.qualify(name)?;
        Ok(self.shared.procedures.find(&database, &name).map(|procedure| procedure.head()))
    }

    /// What is dropped is not there: 1305, as an error or as a note.
    fn drop_nothing(
        &self,
        name: &ObjectName,
        if_exists: bool,
        kind: &str,
        context: &StatementContext,
    ) -> SqlResult<()> {
        let (database, name) = self.qualify(name)?;
        let error = SqlError::new(ErrorCode::SpDoesNotExist, &[&kind, &format!("{database}.{name}")]);
        if !if_exists {
            return Err(error);
        }
        context.diagnostics.push(Level::Note, error);
        Ok(())
    }
}
