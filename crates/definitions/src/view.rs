//! CREATE VIEW and ALTER VIEW.

use crate::edit::change_catalog;
use crate::execute::DdlEnv;
use crate::names::{check_column_name, check_table_name};
use squall_catalog::{AccountKey, TableEntry, ViewDef};
use squall_parser::ast::{AccountName, CheckOption, CreateView, Security, ViewAlgorithm};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// A view's query as the planner has understood it.
#[derive(Clone, Debug)]
pub struct ResolvedView {
    /// Its text with all names qualified.
    pub query: String,
    /// Names of its columns.
    pub columns: Vec<String>,
}

/// Carries the statement out.
pub fn create_view(
    state: &ServerState,
    env: &DdlEnv,
    statement: &CreateView,
    resolved: ResolvedView,
    account: &AccountKey,
) -> SqlResult<()> {
    let name = env.qualify(&statement.name)?;
    check_table_name(&name.1)?;
    let columns = if statement.columns.is_empty() {
        resolved.columns
    } else {
        if statement.columns.len() != resolved.columns.len() {
            return Err(SqlError::new(ErrorCode::ViewWrongList, &[]));
        }
        statement.columns.iter().map(|column| column.to_string()).collect()
    };
    for (at, column) in columns.iter().enumerate() {
        check_column_name(column)?;
        if columns[..at].iter().any(|other| other.eq_ignore_ascii_case(column)) {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&column]));
        }
    }
    let definer = match &statement.definer {
        Some(AccountName::Named { user, host }) => {
            format!("{user}@{}", host.as_deref().unwrap_or("%").to_lowercase())
        }
        _ => format!("{}@{}", account.user, account.host),
    };
    let view = ViewDef {
        name: name.1.clone(),
        query: resolved.query,
        columns,
        algorithm: match statement.algorithm {
            None | Some(ViewAlgorithm::Undefined) => "UNDEFINED",
            Some(ViewAlgorithm::Merge) => "MERGE",
            Some(ViewAlgorithm::TempTable) => "TEMPTABLE",
        }
        .to_string(),
        definer,
        security_invoker: statement.security == Some(Security::Invoker),
        check_option: match statement.check_option {
            None => "NONE",
            Some(CheckOption::Cascaded) => "CASCADED",
            Some(CheckOption::Local) => "LOCAL",
        }
        .to_string(),
        sql_mode: env.context.settings.sql_mode.0,
    };
    // Its definer is not dropped before it is known to define something.
    let _accounts = state.accounts.begin_change_blocking();
    change_catalog(state, |catalog| {
        match catalog.entry(&name.0, &name.1) {
            Some(TableEntry::Table(_)) if statement.alter || statement.or_replace => {
                return Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"VIEW"]));
            }
            Some(_) if !statement.alter && !statement.or_replace => {
                let error = SqlError::new(ErrorCode::TableExists, &[&name.1]);
                if statement.if_not_exists {
                    env.note(error);
                    return Ok(());
                }
                return Err(error);
            }
            None if statement.alter => return Err(crate::execute::missing(catalog, &name)),
            _ => {}
        }
        catalog.put_view(&name.0, view)
    })
}
