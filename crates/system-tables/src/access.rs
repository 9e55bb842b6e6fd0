//! The accounts that may read and change system tables.

use crate::names::{ROWS_OF_STATEMENT, is_public, is_system_table, needs_process, virtual_database};
use crate::performance_truncate::is_counted_table;
use squall_catalog::{AccessMap, AccountKey, LockedNames, Need, Privileges, ServerTableRule, ServerTables, Subject};
use squall_registry::Registry;
use squall_server_state::ServerState;
use squall_server_state::variables::{Values, ids};

/// What changes a table or what is in it.
const WRITES: Privileges = Privileges::INSERT
    .union(Privileges::UPDATE)
    .union(Privileges::DELETE)
    .union(Privileges::CREATE)
    .union(Privileges::DROP)
    .union(Privileges::ALTER)
    .union(Privileges::INDEX)
    .union(Privileges::CREATE_VIEW)
    .union(Privileges::TRIGGER)
    .union(Privileges::REFERENCES)
    .union(Privileges::LOCK_TABLES);

/// The rules of MySQL for information_schema and performance_schema, and Squall's for its own tables in `mysql`.
#[derive(Debug)]
struct SystemTableRules<'r>(&'r Registry);

impl ServerTables for SystemTableRules<'_> {
    fn rule(&self, need: &Need) -> ServerTableRule {
        let (Some(database), Some(table)) = (need.database_name(), need.table_name()) else {
            return ServerTableRule::Grants;
        };
        if database == ROWS_OF_STATEMENT {
            return ServerTableRule::Everybody;
        }
        if virtual_database(database).is_none() {
            return match is_system_table(database, table) && need.privileges().intersects(WRITES) {
                true => ServerTableRule::ClosedTable,
                false => ServerTableRule::Grants,
            };
        }
        let reads = need.privileges().without(Privileges::SELECT.union(Privileges::SHOW_VIEW)).is_empty();
        match reads {
            true => read_rule(need, database, table),
            false => self.change_rule(need, database, table),
        }
    }
}

fn read_rule(need: &Need, database: &str, table: &str) -> ServerTableRule {
    if !is_public(database, table) {
        return ServerTableRule::Grants;
    }
    match needs_process(database, table) {
        // It shows data of all accounts.
        true => {
            let process = Need::server(Privileges::PROCESS, &[], "PROCESS");
            ServerTableRule::Instead(Need { invoker: need.invoker.clone(), ..process })
        }
        false => ServerTableRule::Everybody,
    }
}

impl SystemTableRules<'_> {
    fn change_rule(&self, need: &Need, database: &str, table: &str) -> ServerTableRule {
        let asked = need.privileges();
        match self.0.virtual_table(database, table) {
            // What may be granted is another question.
            _ if asked == Privileges::GRANT_OPTION => ServerTableRule::Grants,
            Some(table) if table.takes_changes() => ServerTableRule::Grants,
            // TRUNCATE makes it forget.
            Some(table) if asked == Privileges::DROP && is_counted_table(database, table.name()) => {
                ServerTableRule::Grants
            }
            _ => ServerTableRule::ClosedDatabase,
        }
    }
}

/// Whose statement runs.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// The account that matched.
    pub account: &'a AccountKey,
    /// The host that the client comes from.
    pub client_host: &'a str,
    /// The grants of the account with its active roles.
    pub access: &'a AccessMap,
    /// The tables that LOCK TABLES allows, while it is in force.
    pub locked: Option<&'a LockedNames>,
}

/// Asks something of a session's subject, by the accounts and the settings of now.
pub fn with_subject<T>(state: &ServerState, who: Who<'_>, ask: impl FnOnce(&Subject<'_>) -> T) -> T {
    let accounts = state.accounts.load_now();
    let globals = state.globals.load_values();
    ask(&Subject {
        account: who.account,
        client_host: who.client_host,
        access: who.access,
        accounts: &accounts,
        all_roles: Values(&globals).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN),
        server_tables: &SystemTableRules(&state.registry),
        locked: who.locked,
    })
}
