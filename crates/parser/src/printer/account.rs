//! Users, roles and privileges.

use super::*;

impl Printer {
    pub(super) fn account_name(&mut self, account: &AccountName) {
        match account {
            AccountName::Named { user, host } => {
                self.name_or_string(user);
                if let Some(host) = host {
                    self.put("@");
                    self.name_or_string(host);
                }
            }
            AccountName::CurrentUser => self.put("CURRENT_USER"),
            AccountName::CurrentRole => self.put("CURRENT_ROLE"),
        }
    }

    pub(super) fn accounts(&mut self, accounts: &[AccountName]) {
        self.list(accounts, ",", Self::account_name);
    }

    pub(super) fn create_user(&mut self, user: &CreateUser) {
        self.put(if user.alter { "ALTER " } else { "CREATE " });
        self.put_if(user.or_replace, "OR REPLACE ");
        self.put("USER ");
        if user.if_exists_clause {
            self.put(if user.alter { "IF EXISTS " } else { "IF NOT EXISTS " });
        }
        self.list(&user.users, ",", Self::user_specification);
        if let Some(roles) = &user.default_role {
            self.put(" DEFAULT ROLE ");
            self.role_set(roles);
        }
        self.tls(&user.tls);
        if !user.limits.is_empty() {
            self.put(" WITH");
            self.limits(&user.limits);
        }
        for option in &user.account {
            self.account_option(option);
        }
        self.optional_string(" COMMENT ", &user.comment);
        self.optional_string(" ATTRIBUTE ", &user.attribute);
    }

    fn user_specification(&mut self, user: &UserSpecification) {
        self.account_name(&user.name);
        self.put_if(user.discard_old_password, " DISCARD OLD PASSWORD");
        for (index, authentication) in user.authentication.iter().enumerate() {
            self.put(if index == 0 { " IDENTIFIED" } else { " AND IDENTIFIED" });
            self.authentication(authentication);
        }
    }

    fn authentication(&mut self, authentication: &Authentication) {
        if let Some(plugin) = &authentication.plugin {
            self.put(" WITH ");
            self.string(plugin);
        }
        match &authentication.credential {
            None => {}
            Some(Credential::Password(password)) => {
                self.put(" BY ");
                self.string(password);
            }
            Some(Credential::Random) => self.put(" BY RANDOM PASSWORD"),
            Some(Credential::Hash(hash)) => {
                self.put(if authentication.plugin.is_some() { " AS " } else { " BY PASSWORD " });
                self.string(hash);
            }
        }
        self.optional_string(" REPLACE ", &authentication.replace);
        self.put_if(authentication.retain_current, " RETAIN CURRENT PASSWORD");
    }

    fn tls(&mut self, requirements: &[TlsRequirement]) {
        if requirements.is_empty() {
            return;
        }
        self.put(" REQUIRE ");
        self.list(requirements, " AND ", |printer, requirement| {
            let (word, text) = match requirement {
                TlsRequirement::None => ("NONE", None),
                TlsRequirement::Ssl => ("SSL", None),
                TlsRequirement::X509 => ("X509", None),
                TlsRequirement::Cipher(text) => ("CIPHER ", Some(text)),
                TlsRequirement::Issuer(text) => ("ISSUER ", Some(text)),
                TlsRequirement::Subject(text) => ("SUBJECT ", Some(text)),
            };
            printer.put(word);
            if let Some(text) = text {
                printer.string(text);
            }
        });
    }

    fn limits(&mut self, limits: &[ResourceLimit]) {
        for limit in limits {
            let (word, value) = match limit {
                ResourceLimit::QueriesPerHour(value) => (" MAX_QUERIES_PER_HOUR ", value.to_string()),
                ResourceLimit::UpdatesPerHour(value) => (" MAX_UPDATES_PER_HOUR ", value.to_string()),
                ResourceLimit::ConnectionsPerHour(value) => (" MAX_CONNECTIONS_PER_HOUR ", value.to_string()),
                ResourceLimit::UserConnections(value) => (" MAX_USER_CONNECTIONS ", value.to_string()),
                ResourceLimit::StatementTime(value) => (" MAX_STATEMENT_TIME ", value.to_string()),
            };
            self.put(word);
            self.put(&value);
        }
    }

    fn account_option(&mut self, option: &AccountOption) {
        let or_default = |value: &Option<u64>, unit: &str| match value {
            Some(value) => format!("{value}{unit}"),
            None => "DEFAULT".to_string(),
        };
        let text = match option {
            AccountOption::PasswordExpire(PasswordExpiry::Now) => " PASSWORD EXPIRE".to_string(),
            AccountOption::PasswordExpire(PasswordExpiry::Default) => " PASSWORD EXPIRE DEFAULT".to_string(),
            AccountOption::PasswordExpire(PasswordExpiry::Never) => " PASSWORD EXPIRE NEVER".to_string(),
            AccountOption::PasswordExpire(PasswordExpiry::Days(days)) => {
                format!(" PASSWORD EXPIRE INTERVAL {days} DAY")
            }
            AccountOption::PasswordHistory(count) => format!(" PASSWORD HISTORY {}", or_default(count, "")),
            AccountOption::PasswordReuseInterval(days) => {
                format!(" PASSWORD REUSE INTERVAL {}", or_default(days, " DAY"))
            }
            AccountOption::PasswordRequireCurrent(None) => " PASSWORD REQUIRE CURRENT DEFAULT".to_string(),
            AccountOption::PasswordRequireCurrent(Some(false)) => " PASSWORD REQUIRE CURRENT OPTIONAL".to_string(),
            AccountOption::PasswordRequireCurrent(Some(true)) => " PASSWORD REQUIRE CURRENT".to_string(),
            AccountOption::FailedLoginAttempts(count) => format!(" FAILED_LOGIN_ATTEMPTS {count}"),
            AccountOption::PasswordLockTime(Some(days)) => format!(" PASSWORD_LOCK_TIME {days}"),
            AccountOption::PasswordLockTime(None) => " PASSWORD_LOCK_TIME UNBOUNDED".to_string(),
            AccountOption::Lock(true) => " ACCOUNT LOCK".to_string(),
            AccountOption::Lock(false) => " ACCOUNT UNLOCK".to_string(),
        };
        self.put(&text);
    }

    pub(super) fn role_set(&mut self, roles: &RoleSet) {
        match roles {
            RoleSet::None => self.put("NONE"),
            RoleSet::All => self.put("ALL"),
            RoleSet::AllExcept(roles) => {
                self.put("ALL EXCEPT ");
                self.accounts(roles);
            }
            RoleSet::Default => self.put("DEFAULT"),
            RoleSet::Roles(roles) => self.accounts(roles),
        }
    }

    pub(super) fn create_role(&mut self, role: &CreateRole) {
        self.put("CREATE ");
        self.put_if(role.or_replace, "OR REPLACE ");
        self.put("ROLE ");
        self.put_if(role.if_not_exists, "IF NOT EXISTS ");
        self.accounts(&role.names);
        if let Some(admin) = &role.admin {
            self.put(" WITH ADMIN ");
            self.account_name(admin);
        }
    }

    pub(super) fn drop_user(&mut self, words: &str, drop: &DropUser) {
        self.put(words);
        self.put_if(drop.if_exists, "IF EXISTS ");
        self.accounts(&drop.names);
    }

    pub(super) fn grant(&mut self, grant: &Grant) {
        self.put("GRANT ");
        match grant {
            Grant::Privileges { privileges, on, to, tls, grant_option, limits, as_user } => {
                self.privileges(privileges);
                self.target(on);
                self.put(" TO ");
                self.list(to, ",", Self::user_specification);
                self.tls(tls);
                self.put_if(*grant_option || !limits.is_empty(), " WITH");
                self.put_if(*grant_option, " GRANT OPTION");
                self.limits(limits);
                if let Some((user, roles)) = as_user {
                    self.put(" AS ");
                    self.account_name(user);
                    if let Some(roles) = roles {
                        self.put(" WITH ROLE ");
                        self.role_set(roles);
                    }
                }
            }
            Grant::Proxy { user, to, grant_option } => {
                self.put("PROXY ON ");
                self.account_name(user);
                self.put(" TO ");
                self.list(to, ",", Self::user_specification);
                self.put_if(*grant_option, " WITH GRANT OPTION");
            }
            Grant::Roles { roles, to, admin_option } => {
                self.accounts(roles);
                self.put(" TO ");
                self.accounts(to);
                self.put_if(*admin_option, " WITH ADMIN OPTION");
            }
        }
    }

    pub(super) fn revoke(&mut self, revoke: &Revoke) {
        self.put("REVOKE ");
        let (if_exists, from, ignore) = match revoke {
            Revoke::Privileges { if_exists, from, ignore_unknown_user, .. }
            | Revoke::All { if_exists, from, ignore_unknown_user }
            | Revoke::Proxy { if_exists, from, ignore_unknown_user, .. }
            | Revoke::Roles { if_exists, from, ignore_unknown_user, .. } => (*if_exists, from, *ignore_unknown_user),
        };
        self.put_if(if_exists, "IF EXISTS ");
        match revoke {
            Revoke::Privileges { privileges, on, .. } => {
                self.privileges(privileges);
                self.target(on);
            }
            Revoke::All { .. } => self.put("ALL PRIVILEGES, GRANT OPTION"),
            Revoke::Proxy { user, .. } => {
                self.put("PROXY ON ");
                self.account_name(user);
            }
            Revoke::Roles { roles, admin_option_for, .. } => {
                self.put_if(*admin_option_for, "ADMIN OPTION FOR ");
                self.accounts(roles);
            }
        }
        self.put(" FROM ");
        self.accounts(from);
        self.put_if(ignore, " IGNORE UNKNOWN USER");
    }

    fn privileges(&mut self, privileges: &[Privilege]) {
        self.list(privileges, ", ", |printer, privilege| {
            printer.put(&privilege.name);
            printer.optional_idents(&privilege.columns);
        });
    }

    fn target(&mut self, target: &GrantTarget) {
        self.put(match target.kind {
            GrantTargetKind::Table => " ON ",
            GrantTargetKind::Function => " ON FUNCTION ",
            GrantTargetKind::Procedure => " ON PROCEDURE ",
        });
        match &target.level {
            GrantLevel::Global => self.put("*.*"),
            GrantLevel::CurrentDatabase => self.put("*"),
            GrantLevel::Database(name) => {
                self.ident(name);
                self.put(".*");
            }
            GrantLevel::Object(name) => self.object_name(name),
        }
    }
}
