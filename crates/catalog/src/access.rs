//! The privileges of a session: the grants of an account and its active roles, looked up level by level.

use crate::account::{AccountDef, AccountKey, Accounts, Restrictions, TableGrant, common_restrictions, like};
use crate::active_grants::ActiveGrants;
use crate::privilege::Privileges;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The grants of one account together with those of the roles that are active.
#[derive(Clone, Debug, Default)]
pub struct AccessMap {
    /// The version of [`Accounts`] this was made from.
    pub version: u64,
    /// On `*.*`.
    pub global: Privileges,
    /// Dynamic privileges.
    pub dynamic: BTreeSet<String>,
    /// Those of them that may be granted on.
    pub grantable: BTreeSet<String>,
    /// By database name or pattern.
    pub databases: Vec<(String, Privileges)>,
    /// By database and table.
    pub tables: BTreeMap<(String, String), TableGrant>,
    /// By database, whether it is a function, and name in lower case.
    pub routines: BTreeMap<(String, bool, String), Privileges>,
    /// The source: the account, and its roles. `None` for one that was not there.
    made_of: Vec<(AccountKey, Option<Arc<AccountDef>>)>,
    /// The mandatory roles of that version.
    mandatory_roles: Arc<[AccountKey]>,
    /// The part of `global` that is revoked for a database.
    pub restrictions: Restrictions,
    /// Whether names of databases in grants are no patterns.
    partial_revokes: bool,
    /// Whether no grant outside of some databases counts.
    is_limited: bool,
}

/// What a session that is limited to databases has of its privileges there. Those by which rights would last longer than the session, or
/// be used outside of it, are left out: programs that run later with all rights of their definer, and GRANT.
const WITHIN_LIMITS: Privileges = Privileges::ALL_DATABASE
    .without(Privileges::CREATE_ROUTINE)
    .without(Privileges::ALTER_ROUTINE)
    .without(Privileges::EVENT)
    .without(Privileges::TRIGGER);

impl AccessMap {
    /// Everything: for what the server does itself.
    pub fn all() -> AccessMap {
        AccessMap {
            global: Privileges::ALL_GLOBAL.union(Privileges::GRANT_OPTION),
            dynamic: crate::privilege::DYNAMIC_PRIVILEGES.iter().map(|name| name.to_string()).collect(),
            grantable: crate::privilege::DYNAMIC_PRIVILEGES.iter().map(|name| name.to_string()).collect(),
            ..Default::default()
        }
    }

    /// Of an account with some of its roles active; roles bring the roles granted to them. A role that is active and not
    /// granted any more brings nothing. If the session is limited to databases, the account has in them what it has there otherwise, but no
    /// programs to define and nothing to grant, and nothing anywhere else.
    pub fn new(accounts: &Accounts, account: &AccountKey, active: &ActiveGrants) -> AccessMap {
        let map = AccessMap::without_limit(accounts, account, &active.roles);
        match &active.databases {
            Some(databases) => map.limited_to(databases),
            None => map,
        }
    }

    /// The part of it that counts in some databases, and nothing else.
    fn limited_to(mut self, databases: &BTreeSet<String>) -> AccessMap {
        let pattern = |name: &String| if self.partial_revokes { name.clone() } else { escaped(name) };
        let on = |name: &String| (pattern(name), self.on_database(name).within(WITHIN_LIMITS));
        self.databases = databases.iter().map(on).filter(|(_, privileges)| !privileges.is_empty()).collect();
        self.tables.retain(|(database, _), _| databases.contains(database));
        for grant in self.tables.values_mut() {
            grant.table = grant.table.within(WITHIN_LIMITS);
        }
        self.routines.retain(|(database, ..), _| databases.contains(database));
        for privileges in self.routines.values_mut() {
            *privileges = privileges.within(WITHIN_LIMITS);
        }
        self.global = Privileges::NONE;
        self.restrictions = Restrictions::default();
        self.dynamic.clear();
        self.grantable.clear();
        self.is_limited = true;
        self
    }

    fn without_limit(accounts: &Accounts, account: &AccountKey, active_roles: &BTreeSet<AccountKey>) -> AccessMap {
        let mandatory_roles = accounts.mandatory_roles.clone();
        let (version, partial_revokes) = (accounts.version, accounts.partial_revokes);
        let mut map = AccessMap { version, mandatory_roles, partial_revokes, ..Default::default() };
        let definition = accounts.get(account);
        let still_granted =
            |role: &&AccountKey| definition.is_some_and(|definition| accounts.is_granted(role, definition));
        let mut pending: Vec<AccountKey> =
            std::iter::once(account.clone()).chain(active_roles.iter().filter(still_granted).cloned()).collect();
        let mut seen = BTreeSet::new();
        while let Some(key) = pending.pop() {
            if !seen.insert(key.clone()) {
                continue;
            }
            let definition = accounts.get(&key);
            map.made_of.push((key.clone(), definition.cloned()));
            let Some(definition) = definition else { continue };
            // The account's own roles count only when they are active; a role's roles always do.
            if key != *account {
                pending.extend(definition.roles.keys().cloned());
            }
            let own = (definition.global, &definition.restrictions);
            map.restrictions = common_restrictions((map.global, &map.restrictions), own);
            map.global = map.global.union(definition.global);
            map.dynamic.extend(definition.dynamic.keys().cloned());
            let grantable = definition.dynamic.iter().filter(|(_, grantable)| **grantable);
            map.grantable.extend(grantable.map(|(name, _)| name.clone()));
            for (pattern, privileges) in &definition.databases {
                map.databases.push((pattern.clone(), *privileges));
            }
            for (name, grant) in &definition.tables {
                let entry = map.tables.entry(name.clone()).or_default();
                entry.table = entry.table.union(grant.table);
                for (column, privileges) in &grant.columns {
                    let column = entry.columns.entry(column.clone()).or_default();
                    *column = column.union(*privileges);
                }
            }
            for (name, privileges) in &definition.routines {
                let entry = map.routines.entry(name.clone()).or_default();
                *entry = entry.union(*privileges);
            }
        }
        map
    }

    /// Whether it would be the same if it were made again: none of the accounts that it was made of has changed. Others may
    /// have, many times a second.
    pub fn holds(&self, accounts: &Accounts) -> bool {
        let same = |(key, before): &(AccountKey, Option<Arc<AccountDef>>)| match (before, accounts.get(key)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (None, None) => true,
            _ => false,
        };
        !self.made_of.is_empty()
            && self.made_of.iter().all(same)
            && Arc::ptr_eq(&self.mandatory_roles, &accounts.mandatory_roles)
            && self.partial_revokes == accounts.partial_revokes
    }

    /// Whether a dynamic privilege, or SUPER as its predecessor, is there.
    pub fn has_dynamic(&self, name: &str) -> bool {
        self.global.contains(Privileges::SUPER) || self.dynamic.contains(name)
    }

    /// Whether it is limited to some databases. Then the account itself is out of reach as well: its password, its tokens, and what its other
    /// connections do.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Whether what the connections of an account do may be seen by a reader of that account, or of another one.
    pub fn sees_statements(&self, are_own: bool) -> bool {
        (are_own && !self.is_limited) || self.global.contains(Privileges::PROCESS)
    }

    /// Whether the account, or one of the roles that it has here, is among `accounts`.
    pub fn is_among(&self, accounts: &[AccountKey]) -> bool {
        self.made_of.iter().any(|(key, definition)| definition.is_some() && accounts.contains(key))
    }

    /// Whether a dynamic privilege may be given to others. One of a module was unknown when the first account was made: who has
    /// SUPER and GRANT OPTION may give it.
    pub fn may_grant_dynamic(&self, name: &str) -> bool {
        let of_module = !crate::privilege::DYNAMIC_PRIVILEGES.contains(&name);
        self.grantable.contains(name)
            || of_module && self.global.contains(Privileges::SUPER.union(Privileges::GRANT_OPTION))
    }

    /// Whether the account is a system account, which others may not change. SUPER does not make it one.
    pub fn is_system_user(&self) -> bool {
        self.dynamic.contains("SYSTEM_USER")
    }

    /// Privileges on a whole database, global ones included.
    pub fn on_database(&self, database: &str) -> Privileges {
        let matches = |pattern: &str| {
            pattern == database || (!self.partial_revokes && like(pattern.as_bytes(), database.as_bytes(), false))
        };
        let restricted = self.restrictions.get(database).copied().unwrap_or_default();
        self.databases
            .iter()
            .filter(|(pattern, _)| matches(pattern))
            .fold(self.global.without(restricted), |sum, (_, privileges)| sum.union(*privileges))
    }

    /// Privileges on all databases that a pattern stands for: those of patterns that cover all of it. Granting on
    /// `` `app%db` `` needs more than GRANT OPTION on `` `app_db` ``.
    pub fn on_databases_like(&self, pattern: &str) -> Privileges {
        if self.partial_revokes {
            return self.on_database(pattern);
        }
        self.databases
            .iter()
            .filter(|(own, _)| own == pattern || covers(own, pattern))
            .fold(self.global, |sum, (_, privileges)| sum.union(*privileges))
    }

    /// Privileges on a whole table, those of its database included.
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let own = self.table_grant(database, table).map_or(Privileges::NONE, |grant| grant.table);
        self.on_database(database).union(own)
    }

    /// Privileges on a column, those of its table included.
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let own = self
            .table_grant(database, table)
            .and_then(|grant| grant.columns.get(&column.to_lowercase()))
            .copied()
            .unwrap_or_default();
        self.on_table(database, table).union(own)
    }

    /// Privileges on a table or on any of its columns.
    pub fn on_any_column(&self, database: &str, table: &str) -> Privileges {
        let columns = self.table_grant(database, table).map_or(Privileges::NONE, |grant| {
            grant.columns.values().fold(Privileges::NONE, |sum, privileges| sum.union(*privileges))
        });
        self.on_table(database, table).union(columns)
    }

    /// Privileges on a routine.
    pub fn on_routine(&self, database: &str, is_function: bool, name: &str) -> Privileges {
        let key = (database.to_string(), is_function, name.to_lowercase());
        self.on_database(database).union(self.routines.get(&key).copied().unwrap_or_default())
    }

    /// Whether the database is visible: some privilege on it or on something inside.
    pub fn sees_database(&self, database: &str) -> bool {
        self.global.contains(Privileges::SHOW_DATABASES)
            || !self.on_database(database).without(Privileges::GRANT_OPTION).is_empty()
            || self.tables.keys().any(|(name, _)| name == database)
            || self.routines.keys().any(|(name, ..)| name == database)
    }

    /// Whether a table is visible: some privilege on it or on a column.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        !self.on_any_column(database, table).without(Privileges::GRANT_OPTION).is_empty()
    }

    /// Whether a column is visible: the account has a privilege for columns on it or on its table.
    pub fn sees_column(&self, database: &str, table: &str, column: &str) -> bool {
        const ON_COLUMNS: Privileges =
            Privileges::SELECT.union(Privileges::INSERT).union(Privileges::UPDATE).union(Privileges::REFERENCES);
        self.on_column(database, table, column).intersects(ON_COLUMNS)
    }

    fn table_grant(&self, database: &str, table: &str) -> Option<&TableGrant> {
        if self.tables.is_empty() {
            return None;
        }
        self.tables.get(&(database.to_string(), table.to_string()))
    }
}

/// A pattern that only this name matches.
fn escaped(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '_' | '%' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// A part of a pattern of names.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Character(char),
    /// `_`.
    One,
    /// `%`.
    Any,
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut characters = pattern.chars().peekable();
    let mut parts = Vec::new();
    while let Some(character) = characters.next() {
        parts.push(match character {
            '\\' => match characters.next_if(|next| matches!(next, '_' | '%' | '\\')) {
                Some(escaped) => Part::Character(escaped),
                None => Part::Character('\\'),
            },
            '_' => Part::One,
            '%' => Part::Any,
            other => Part::Character(other),
        });
    }
    parts
}

/// Whether a pattern matches every name that another one matches. It may say no where that is so by chance only.
fn covers(pattern: &str, other: &str) -> bool {
    let (pattern, other) = (parts(pattern), parts(other));
    let (mut p, mut o) = (0, 0);
    let mut star = None;
    while o < other.len() {
        let stands = match (pattern.get(p), other[o]) {
            (Some(Part::Any), _) => {
                star = Some((p + 1, o));
                p += 1;
                continue;
            }
            (Some(Part::One), part) => part != Part::Any,
            (Some(Part::Character(own)), Part::Character(character)) => *own == character,
            _ => false,
        };
        match (stands, star) {
            (true, _) => (p, o) = (p + 1, o + 1),
            (false, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, o) = (at, from + 1);
            }
            (false, None) => return false,
        }
    }
    pattern[p..].iter().all(|part| *part == Part::Any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::AccountDef;
    use std::sync::Arc;

    #[test]
    fn levels_add_up_and_roles_count_when_active() {
        let mut accounts = Accounts::default();
        let mut user = AccountDef { user: "u".into(), host: "%".into(), ..Default::default() };
        user.databases.insert(r"app\_%".into(), Privileges::SELECT);
        let columns = BTreeMap::from([("b".to_string(), Privileges::UPDATE)]);
        user.tables.insert(("app_1".into(), "t".into()), TableGrant { table: Privileges::INSERT, columns });
        let role = AccountDef {
            user: "r".into(),
            host: "%".into(),
            is_role: true,
            global: Privileges::PROCESS,
            ..Default::default()
        };
        user.roles.insert(role.key(), false);
        let (user_key, role_key) = (user.key(), role.key());
        accounts.accounts.insert(user_key.clone(), Arc::new(user));
        accounts.accounts.insert(role_key.clone(), Arc::new(role));

        let plain = AccessMap::new(&accounts, &user_key, &ActiveGrants::default());
        assert_eq!(plain.on_table("app_1", "t").names(), ["SELECT", "INSERT"]);
        assert_eq!(plain.on_column("app_1", "t", "B").names(), ["SELECT", "INSERT", "UPDATE"]);
        assert!(plain.sees_database("app_2") && !plain.sees_database("other"));
        assert!(plain.global.is_empty());
        let with_role = AccessMap::new(&accounts, &user_key, &BTreeSet::from([role_key.clone()]).into());
        assert!(with_role.global.contains(Privileges::PROCESS));

        // Others' changes do not matter, those of the account and of its active roles do.
        assert!(!AccessMap::default().holds(&accounts));
        let mut later = accounts.clone();
        let other = AccountDef { user: "other".into(), host: "%".into(), ..Default::default() };
        later.accounts.insert(other.key(), Arc::new(other));
        assert!(plain.holds(&later) && with_role.holds(&later));
        let less = AccountDef { user: "r".into(), host: "%".into(), is_role: true, ..Default::default() };
        later.accounts.insert(role_key.clone(), Arc::new(less));
        assert!(plain.holds(&later) && !with_role.holds(&later));
        later.accounts.remove(&role_key);
        assert!(!with_role.holds(&later));
        later.accounts.remove(&user_key);
        assert!(!plain.holds(&later));
    }

    #[test]
    fn a_limit_keeps_only_rights_on_data_in_its_databases() {
        let mut accounts = Accounts::default();
        let mut user = AccountDef { user: "u".into(), host: "%".into(), ..Default::default() };
        user.global = Privileges::ALL_GLOBAL.union(Privileges::GRANT_OPTION);
        user.dynamic.insert("SYSTEM_USER".into(), true);
        user.restrictions.insert("a_b".into(), Privileges::DROP);
        let all = TableGrant { table: Privileges::ALL_TABLE, columns: BTreeMap::new() };
        user.tables.insert(("other".into(), "t".into()), all);
        let key = user.key();
        accounts.accounts.insert(key.clone(), Arc::new(user));
        let databases = Some(BTreeSet::from(["a_b".to_string()]));
        let access = AccessMap::new(&accounts, &key, &ActiveGrants { databases, ..ActiveGrants::default() });
        let on = access.on_database("a_b");
        assert!(on.contains(Privileges::SELECT.union(Privileges::INSERT).union(Privileges::CREATE_VIEW)));
        for left_out in [Privileges::CREATE_ROUTINE, Privileges::TRIGGER, Privileges::EVENT, Privileges::GRANT_OPTION] {
            assert!(!on.intersects(left_out), "{left_out:?}");
        }
        assert!(!on.contains(Privileges::DROP));
        // A name is no pattern.
        assert!(access.on_database("axb").is_empty() && access.on_table("other", "t").is_empty());
        assert!(access.global.is_empty() && !access.has_dynamic("SYSTEM_USER") && access.is_limited());
        assert!(access.sees_database("a_b") && !access.sees_database("other"));
        assert!(access.holds(&accounts));
        // Nor is it one with partial_revokes, where `\_` is no `_`.
        accounts.partial_revokes = true;
        let databases = Some(BTreeSet::from(["a_b".to_string()]));
        let literal = AccessMap::new(&accounts, &key, &ActiveGrants { databases, ..ActiveGrants::default() });
        assert!(literal.on_database("a_b").contains(Privileges::SELECT));
        assert!(literal.on_database("axb").is_empty() && literal.on_database(r"a\_b").is_empty());
    }

    #[test]
    fn a_role_that_was_revoked_brings_nothing() {
        let mut accounts = Accounts::default();
        let user = AccountDef { user: "u".into(), host: "%".into(), ..Default::default() };
        let role = AccountDef { user: "r".into(), host: "%".into(), global: Privileges::PROCESS, ..Default::default() };
        let (user_key, role_key) = (user.key(), role.key());
        accounts.accounts.insert(user_key.clone(), Arc::new(user));
        accounts.accounts.insert(role_key.clone(), Arc::new(role));
        let access = AccessMap::new(&accounts, &user_key, &BTreeSet::from([role_key]).into());
        assert!(access.global.is_empty());
    }

    #[test]
    fn a_pattern_covers_what_it_matches_all_of() {
        assert!(covers("app_db", "app_db") && covers("app_db", "appxdb") && covers("app%", "app_db"));
        assert!(covers("%", "a%b") && covers("a%b", "a_%b") && covers("a%", r"a\%"));
        assert!(!covers("app_db", "app%db") && !covers("app_db", "%") && !covers(r"app\_db", "app_db"));
        assert!(!covers("a%b", "a%") && !covers("a_b", "ab"));
    }
}
