//! The module's variables.

use squall_catalog::AccountKey;
use squall_http_api::{AuthMethods, HttpSettings, TlsRule};
use squall_system_variables::definition::{Unit, boolean, choice, text, text_of, unsigned};
use squall_system_variables::{Action, Scope, ValueTable, VariableDef, VariableId};
use squall_types::Value;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The ways to log in, as `json_server_auth` names them.
const METHODS: &[&str] = &["basic", "bearer", "session"];

/// Which of the variables is which.
#[derive(Clone, Copy)]
pub(super) enum Setting {
    Enabled,
    Port,
    BindAddress,
    Tls,
    Auth,
    AnonymousAccount,
    Schema,
    Table,
    AllowDropTable,
    AddColumns,
    LegacyStatus,
    MaxThreads,
    MaxRequestsPerSecond,
    MaxWrongPasswords,
    MaxConnections,
    SignMaxSeconds,
    MaxBody,
    IdleTimeout,
    CorsOrigins,
    Hosts,
    Console,
}

/// The variables, in the order of [`Setting`].
pub(super) const VARIABLES: &[VariableDef] = &[
    boolean("json_server_enabled", Scope::Global, false, "Whether the server answers HTTP.").action(Action::MoveListener),
    unsigned(
        "json_server_port",
        Scope::Global,
        8086,
        0,
        65_535,
        "TCP port of HTTP; 0 for any that is free, which Json_server_port shows.",
    )
    .action(Action::MoveListener),
    text(
        "json_server_bind_address",
        Scope::Global,
        "127.0.0.1",
        "Addresses that HTTP listens on, separated by commas; * for all.",
    )
    .of_form(|list| text_of(list).is_some_and(|list| addresses(list, 0).is_some()))
    .action(Action::MoveListener),
    choice(
        "json_server_tls",
        Scope::Global,
        "required_if_remote",
        &["off", "required", "required_if_remote"],
        "Which connections of HTTP have to be encrypted: none can be, all, or those of other machines. The certificate is that of MySQL's protocol.",
    ),
    text(
        "json_server_auth",
        Scope::Global,
        "basic,bearer,session",
        "How clients of HTTP may prove their accounts: basic (user and password), bearer (an API token), session (the cookie of /1.0/session), separated by commas.",
    )
    .of_form(is_list_of_methods),
    text(
        "json_server_anonymous_account",
        Scope::Global,
        "",
        "The account, user@host, of requests by HTTP without credentials; they are refused if it is empty.",
    )
    .of_form(|name| text_of(name).is_some_and(|name| name.is_empty() || account(name).is_some())),
    text(
        "json_server_schema",
        Scope::Global,
        "test",
        "The database of documents whose request by HTTP names none.",
    )
    .of_form(|name| text_of(name).is_some_and(|name| !name.is_empty())),
    text("json_server_table", Scope::Global, "", "The table of documents whose request by HTTP names none."),
    boolean(
        "json_server_allow_drop_table",
        Scope::Global,
        false,
        "Whether DELETE /json without an _id drops the table.",
    ),
    boolean(
        "json_server_add_columns",
        Scope::Global,
        false,
        "Whether POST /json adds a column to the table for a key that has none; else it is error 1054.",
    ),
    boolean(
        "json_server_legacy_status",
        Scope::Global,
        false,
        "Whether /sql and /json, also under /latest and /0.3, answer with status 200 whatever happens, as Drizzle's JSON server did.",
    ),
    unsigned(
        "json_server_max_threads",
        Scope::Global,
        32,
        1,
        10_000,
        "Requests by HTTP that run at once; others wait for ten seconds, and then get 503.",
    ),
    unsigned(
        "json_server_max_requests_per_second",
        Scope::Global,
        0,
        0,
        1_000_000,
        "Requests by HTTP that one account may send in a second; others get 429. 0 for no limit.",
    ),
    unsigned(
        "json_server_max_wrong_passwords",
        Scope::Global,
        60,
        0,
        1_000_000,
        "Wrong passwords by HTTP that one address (one /64 of IPv6) may send in a minute; then its passwords, right or wrong, get 429. 0 for no limit.",
    ),
    unsigned(
        "json_server_max_connections",
        Scope::Global,
        20_000,
        1,
        1_000_000,
        "Most connections by HTTP, which max_connections does not count; others get 429.",
    ),
    unsigned(
        "blob_sign_max_seconds",
        Scope::Global,
        3600,
        0,
        604_800,
        "Most seconds for which a URL by HTTP may be signed (/1.0/blob/sign); 0 to sign none, and to take none that is signed.",
    )
    .unit(Unit::Seconds),
    unsigned(
        "json_server_max_body",
        Scope::Global,
        64 << 20,
        1024,
        1 << 30,
        "Most bytes of a request's body by HTTP; max_allowed_packet bounds it, too.",
    ).unit(Unit::Bytes),
    unsigned(
        "json_server_idle_timeout",
        Scope::Global,
        60,
        1,
        86_400,
        "Seconds from an answer by HTTP until the head of the client's next request has to be there.",
    ).unit(Unit::Seconds),
    text(
        "json_server_cors_origins",
        Scope::Global,
        "",
        "Origins (https://app.example.com) whose pages may send requests by HTTP, separated by commas; * for all, without cookies.",
    ),
    text(
        "json_server_hosts",
        Scope::Global,
        "",
        "Names by which clients of HTTP may call the server, separated by commas, beside addresses, localhost and the machine's name.",
    ),
    boolean("json_server_console", Scope::Global, true, "Whether there is a page for browsers at /."),
];

fn is_list_of_methods(list: &Value) -> bool {
    text_of(list).is_some_and(|list| parts(list).all(|method| METHODS.contains(&method)))
}

/// The parts of a list with commas.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// The addresses of a list; `None` for an empty one, and for names, which the system would have to be asked for.
pub(super) fn addresses(list: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let address = |part: &str| match part {
        "*" => Some(IpAddr::from([0, 0, 0, 0])),
        "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
        _ => part.parse().ok(),
    };
    let found: Option<Vec<_>> = parts(list).map(|part| Some(SocketAddr::new(address(part)?, port))).collect();
    found.filter(|found| !found.is_empty())
}

/// The account that a text names, with `%` as its host if there is none.
fn account(text: &str) -> Option<(String, String)> {
    let [account] = &AccountKey::list(text)?[..] else { return None };
    Some((account.user.clone(), account.host.clone()))
}

/// Where to listen: as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub addresses: String,
    pub port: u16,
}

/// Reads the variables.
pub(super) struct Reader<'v> {
    pub ids: &'v [VariableId],
    pub values: &'v ValueTable,
}

impl Reader<'_> {
    fn value(&self, setting: Setting) -> &Value {
        self.ids.get(setting as usize).map_or(&Value::Null, |id| self.values.get(*id))
    }

    pub fn number(&self, setting: Setting) -> u64 {
        match self.value(setting) {
            Value::UInt(number) => *number,
            Value::Int(number) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        }
    }

    fn flag(&self, setting: Setting) -> bool {
        self.number(setting) != 0
    }

    fn text(&self, setting: Setting) -> &str {
        text_of(self.value(setting)).unwrap_or_default()
    }

    /// Where to listen; `None` while the server is off.
    pub fn place(&self) -> Option<Place> {
        let port = u16::try_from(self.number(Setting::Port)).unwrap_or(u16::MAX);
        let addresses = self.text(Setting::BindAddress).to_owned();
        self.flag(Setting::Enabled).then_some(Place { addresses, port })
    }

    /// Everything else.
    pub fn settings(&self, hostname: &str, packet_bytes_max: u64) -> HttpSettings {
        let methods = self.text(Setting::Auth);
        let has = |name: &str| parts(methods).any(|method| method == name);
        let list = |setting| parts(self.text(setting)).map(str::to_owned);
        let body_bytes_max = self.number(Setting::MaxBody).min(packet_bytes_max);
        HttpSettings {
            tls: match self.text(Setting::Tls) {
                "off" => TlsRule::Off,
                "required" => TlsRule::Required,
                _ => TlsRule::RequiredIfRemote,
            },
            auth: AuthMethods { basic: has("basic"), bearer: has("bearer"), session: has("session") },
            anonymous_account: account(self.text(Setting::AnonymousAccount)),
            requests_max: usize::try_from(self.number(Setting::MaxThreads)).unwrap_or(usize::MAX),
            sign_seconds_max: self.number(Setting::SignMaxSeconds),
            requests_per_second_max: self.number(Setting::MaxRequestsPerSecond),
            wrong_passwords_max: self.number(Setting::MaxWrongPasswords),
            body_bytes_max: usize::try_from(body_bytes_max).unwrap_or(usize::MAX),
            cors_origins: list(Setting::CorsOrigins).collect(),
            hosts: list(Setting::Hosts).chain([hostname.to_owned()]).map(|name| name.to_ascii_lowercase()).collect(),
            console: self.flag(Setting::Console),
            schema: self.text(Setting::Schema).to_owned(),
            table: self.text(Setting::Table).to_owned(),
            allow_drop_table: self.flag(Setting::AllowDropTable),
            add_columns: self.flag(Setting::AddColumns),
            legacy_status: self.flag(Setting::LegacyStatus),
            idle_timeout: Duration::from_secs(self.number(Setting::IdleTimeout).max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_its_variable() {
        let name = |setting: Setting| VARIABLES[setting as usize].name;
        assert_eq!(name(Setting::Enabled), "json_server_enabled");
        assert_eq!(name(Setting::Auth), "json_server_auth");
        assert_eq!(name(Setting::AddColumns), "json_server_add_columns");
        assert_eq!(name(Setting::MaxBody), "json_server_max_body");
        assert_eq!(name(Setting::CorsOrigins), "json_server_cors_origins");
        assert_eq!(VARIABLES.len(), Setting::Console as usize + 1);
    }
}
