//! SHOW GRANTS and SHOW CREATE USER.

use crate::accounts::role::keys_of;
use crate::authorization::SecurityContext;
use crate::result::{Outcome, ResultSet, text_column};
use crate::session::Session;
use squall_catalog::{
    AccountDef, AccountKey, Need, PasswordLockTime, PrivilegeLevel, Privileges, TlsRequirement, common_restrictions,
};
use squall_parser::ast::AccountName;
use squall_server_state::variables::{Values, ids};
use squall_system_tables::quoting::{quote, quote_text};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

impl Session {
    /// SHOW GRANTS.
    pub(crate) fn show_grants(&mut self, name: Option<&AccountName>, using: &[AccountName]) -> SqlResult<Outcome> {
        let key = shown_account(&self.security(), name)?;
        check_may_show(&self.security(), &key)?;
        let accounts = self.shared.accounts.load_full();
        let account =
            accounts.get(&key).ok_or_else(|| SqlError::new(ErrorCode::NonexistingGrant, &[&key.user, &key.host]))?;
        let roles = match name {
            // Its own are shown as they are now.
            None | Some(AccountName::CurrentUser) if using.is_empty() => self.identity.active_grants.roles.clone(),
            _ => keys_of(&self.security(), using)?.into_iter().collect(),
        };
        if let Some(role) = roles.iter().find(|role| !using.is_empty() && !accounts.is_granted(role, account)) {
            return Err(super::role::not_granted(role, &key));
        }
        let mut merged = AccountDef::clone(account);
        for role in accounts.with_their_roles(roles.into_iter().filter(|role| accounts.is_granted(role, account))) {
            if let Some(role) = accounts.get(&role) {
                merge(&mut merged, role);
            }
        }
        // MySQL names mandatory roles only for one's own account, so a dump of other accounts has only what they were
        // granted.
        if matches!(name, None | Some(AccountName::CurrentUser)) {
            for role in accounts.granted_roles(account) {
                merged.roles.entry(role).or_default();
            }
        }
        let mut result = ResultSet::new(vec![text_column(&format!("Grants for {}@{}", key.user, key.host), 1024)]);
        result.rows = grants_of(&merged).into_iter().map(|text| vec![Value::String(text)]).collect();
        Ok(Outcome::Rows(result))
    }

    /// SHOW CREATE USER.
    pub(crate) fn show_create_user(&mut self, name: Option<&AccountName>) -> SqlResult<Outcome> {
        let key = shown_account(&self.security(), name)?;
        check_may_show(&self.security(), &key)?;
        let accounts = self.shared.accounts.load_full();
        let account = accounts
            .get(&key)
            .ok_or_else(|| squall_server_state::accounts::failed("SHOW CREATE USER", std::slice::from_ref(&key)))?;
        let as_hex = Values(&self.variables.session).on(ids::PRINT_IDENTIFIED_WITH_AS_HEX);
        let column = format!("CREATE USER for {}@{}", key.user, key.host);
        let mut result = ResultSet::new(vec![text_column(&column, 1024)]);
        result.rows.push(vec![Value::String(create_user_text(account, as_hex))]);
        Ok(Outcome::Rows(result))
    }
}

fn shown_account(security: &SecurityContext<'_>, name: Option<&AccountName>) -> SqlResult<AccountKey> {
    match name {
        None => Ok(security.account.clone()),
        Some(name) => security.account_key(name),
    }
}

/// Of others only who reads MySQL's tables of accounts is told (1044).
fn check_may_show(security: &SecurityContext<'_>, account: &AccountKey) -> SqlResult<()> {
    match *account == *security.account && !security.access.is_limited() {
        true => Ok(()),
        false => security.check_needs(&[Need::database("mysql", Privileges::SELECT)]),
    }
}

fn merge(account: &mut AccountDef, role: &AccountDef) {
    let own = (account.global, &account.restrictions);
    account.restrictions = common_restrictions(own, (role.global, &role.restrictions));
    account.global = account.global.union(role.global);
    for (name, grantable) in &role.dynamic {
        *account.dynamic.entry(name.clone()).or_default() |= grantable;
    }
    for (name, privileges) in &role.databases {
        let entry = account.databases.entry(name.clone()).or_default();
        *entry = entry.union(*privileges);
    }
    for (name, grant) in &role.tables {
        let entry = account.tables.entry(name.clone()).or_default();
        entry.table = entry.table.union(grant.table);
        for (column, privileges) in &grant.columns {
            let column = entry.columns.entry(column.clone()).or_default();
            *column = column.union(*privileges);
        }
    }
    for (name, privileges) in &role.routines {
        let entry = account.routines.entry(name.clone()).or_default();
        *entry = entry.union(*privileges);
    }
}

fn privilege_list(privileges: Privileges, level: PrivilegeLevel) -> String {
    let own = privileges.without(Privileges::GRANT_OPTION);
    if own.is_empty() {
        return "USAGE".to_string();
    }
    // MySQL spells the global ones out since 8.0.
    if level != PrivilegeLevel::Global && own.contains(Privileges::all_at(level)) {
        return "ALL PRIVILEGES".to_string();
    }
    own.names().join(", ")
}

fn grant_suffix(privileges: Privileges) -> &'static str {
    if privileges.contains(Privileges::GRANT_OPTION) { " WITH GRANT OPTION" } else { "" }
}

/// The GRANT statements of an account, in MySQL's order.
pub(crate) fn grants_of(account: &AccountDef) -> Vec<String> {
    let to = format!("{}@{}", quote(&account.user), quote(&account.host));
    let mut grants = Vec::new();
    let list = privilege_list(account.global, PrivilegeLevel::Global);
    grants.push(format!("GRANT {list} ON *.* TO {to}{}", grant_suffix(account.global)));
    for grantable in [false, true] {
        let names: Vec<&str> =
            account.dynamic.iter().filter(|(_, own)| **own == grantable).map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() {
            let suffix = if grantable { " WITH GRANT OPTION" } else { "" };
            grants.push(format!("GRANT {} ON *.* TO {to}{suffix}", names.join(",")));
        }
    }
    for (database, privileges) in &account.databases {
        let list = privilege_list(*privileges, PrivilegeLevel::Database);
        grants.push(format!("GRANT {list} ON {}.* TO {to}{}", quote(database), grant_suffix(*privileges)));
    }
    let from = to.as_str();
    for (database, privileges) in &account.restrictions {
        grants.push(format!("REVOKE {} ON {}.* FROM {from}", privileges.names().join(", "), quote(database)));
    }
    for ((database, table), grant) in &account.tables {
        let mut list = Vec::new();
        if !grant.table.without(Privileges::GRANT_OPTION).is_empty() || grant.columns.is_empty() {
            list.push(privilege_list(grant.table, PrivilegeLevel::Table));
        }
        for (name, flag, ..) in Privileges::LIST {
            let columns: Vec<String> = grant
                .columns
                .iter()
                .filter(|(_, privileges)| privileges.contains(*flag))
                .map(|(column, _)| quote(column))
                .collect();
            if !columns.is_empty() {
                list.push(format!("{name} ({})", columns.join(", ")));
            }
        }
        let place = format!("{}.{}", quote(database), quote(table));
        grants.push(format!("GRANT {} ON {place} TO {to}{}", list.join(", "), grant_suffix(grant.table)));
    }
    for ((database, is_function, name), privileges) in &account.routines {
        let kind = if *is_function { "FUNCTION" } else { "PROCEDURE" };
        let list = if privileges.without(Privileges::GRANT_OPTION).is_empty() {
            "USAGE".to_string()
        } else {
            privileges.names().join(", ")
        };
        let place = format!("{}.{}", quote(database), quote(name));
        grants.push(format!("GRANT {list} ON {kind} {place} TO {to}{}", grant_suffix(*privileges)));
    }
    for admin in [false, true] {
        let roles: Vec<String> = account
            .roles
            .iter()
            .filter(|(_, own)| **own == admin)
            .map(|(role, _)| format!("{}@{}", quote(&role.user), quote(&role.host)))
            .collect();
        if !roles.is_empty() {
            let suffix = if admin { " WITH ADMIN OPTION" } else { "" };
            grants.push(format!("GRANT {} TO {to}{suffix}", roles.join(",")));
        }
    }
    grants
}

/// CREATE USER as it would make the account again.
fn create_user_text(account: &AccountDef, as_hex: bool) -> String {
    let mut text = format!(
        "CREATE USER {}@{} IDENTIFIED WITH {}",
        quote(&account.user),
        quote(&account.host),
        quote_text(&account.plugin)
    );
    if !account.authentication.is_empty() {
        if as_hex {
            let hex: String = account.authentication.iter().map(|byte| format!("{byte:02X}")).collect();
            text.push_str(&format!(" AS 0x{hex}"));
        } else {
            text.push_str(&format!(" AS {}", quote_text(&String::from_utf8_lossy(&account.authentication))));
        }
    }
    if !account.default_roles.is_empty() {
        let roles: Vec<String> =
            account.default_roles.iter().map(|role| format!("{}@{}", quote(&role.user), quote(&role.host))).collect();
        text.push_str(&format!(" DEFAULT ROLE {}", roles.join(",")));
    }
    push_tls_requirement(&mut text, &account.tls);
    let set = account.limits.by_option().into_iter().filter(|(_, limit)| *limit != 0);
    for (at, (option, limit)) in set.enumerate() {
        text.push_str(&format!("{} {option} {limit}", if at == 0 { " WITH" } else { "" }));
    }
    match (account.password_expired, account.password_lifetime_days) {
        (true, _) => text.push_str(" PASSWORD EXPIRE"),
        (false, Some(0)) => text.push_str(" PASSWORD EXPIRE NEVER"),
        (false, Some(days)) => text.push_str(&format!(" PASSWORD EXPIRE INTERVAL {days} DAY")),
        (false, None) => text.push_str(" PASSWORD EXPIRE DEFAULT"),
    }
    text.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    match account.password_history {
        None => text.push_str(" PASSWORD HISTORY DEFAULT"),
        Some(count) => text.push_str(&format!(" PASSWORD HISTORY {count}")),
    }
    match account.password_reuse_days {
        None => text.push_str(" PASSWORD REUSE INTERVAL DEFAULT"),
        Some(days) => text.push_str(&format!(" PASSWORD REUSE INTERVAL {days} DAY")),
    }
    text.push_str(match account.password_require_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    });
    if account.failed_login_attempts != 0 {
        text.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {}", account.failed_login_attempts));
    }
    match account.password_lock_time {
        PasswordLockTime::Off => {}
        PasswordLockTime::Days(days) => text.push_str(&format!(" PASSWORD_LOCK_TIME {days}")),
        PasswordLockTime::Unbounded => text.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
    }
    if let Some(attribute) = &account.attribute {
        text.push_str(&format!(" ATTRIBUTE {}", quote_text(attribute)));
    }
    text
}

fn push_tls_requirement(text: &mut String, requirement: &TlsRequirement) {
    match requirement {
        TlsRequirement::None => text.push_str(" REQUIRE NONE"),
        TlsRequirement::Encrypted => text.push_str(" REQUIRE SSL"),
        TlsRequirement::Certificate => text.push_str(" REQUIRE X509"),
        TlsRequirement::Specified { subject, issuer, cipher } => {
            text.push_str(" REQUIRE");
            for (word, value) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
                if let Some(value) = value {
                    text.push_str(&format!(" {word} {}", quote_text(value)));
                }
            }
        }
    }
}
