//! The module's variables, and their values for a statement.

use super::BLOCKED;
use parking_lot::Mutex;
use squall_http_client::{HeaderValue, Limits, Proxy, Rules};
use squall_statement_context::StatementContext;
use squall_system_variables::definition::{Unit, boolean, text, text_of, unsigned};
use squall_system_variables::{ReadScope, Scope, VariableDef, VariableId};
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;
use std::time::Duration;

/// Longest time of a request, ms.
pub(super) const TIMEOUT_MAX: u64 = 3_600_000;
/// Most bytes of a body: what a packet can have.
pub(super) const BYTES_MAX: u64 = 1 << 30;
/// Most redirects.
pub(super) const REDIRECTS_MAX: u64 = 50;

/// Which of the variables is which.
#[derive(Clone, Copy)]
enum Setting {
    Timeout,
    ConnectTimeout,
    MaxBytes,
    MaxRedirects,
    RowParallelism,
    Allow,
    Deny,
    AllowPrivate,
    MaxConcurrent,
    Proxy,
    Log,
    UserAgent,
    InTriggers,
    LoadMaxBytes,
}

/// The variables, in the order of [`Setting`].
pub(super) const VARIABLES: &[VariableDef] = &[
    unsigned(
        "http_client_timeout_ms",
        Scope::Both,
        5000,
        1,
        TIMEOUT_MAX,
        "Milliseconds for a request of HTTP_GET() and its kin: waiting for others, names, TLS, redirects and the body.",
    ).unit(Unit::Milliseconds),
    unsigned(
        "http_client_connect_timeout_ms",
        Scope::Both,
        2000,
        1,
        TIMEOUT_MAX,
        "Milliseconds for the name and the connection of each hop of a request over HTTP.",
    ).unit(Unit::Milliseconds),
    unsigned(
        "http_client_max_bytes",
        Scope::Both,
        16 << 20,
        1,
        BYTES_MAX,
        "Most bytes of an unpacked body that HTTP_GET() and its kin take; max_allowed_packet bounds them, too.",
    ).unit(Unit::Bytes),
    unsigned(
        "http_client_max_redirects",
        Scope::Both,
        5,
        0,
        REDIRECTS_MAX,
        "Redirects that a request over HTTP follows, each checked as the first; with 0 a redirect is the answer.",
    ),
    unsigned(
        "http_client_row_parallelism",
        Scope::Both,
        4,
        1,
        64,
        "Requests that one call of HTTP_GET() and its kin over many rows makes at once.",
    ),
    text(
        "http_client_allow",
        Scope::Global,
        "",
        "Hosts (api.example.com, *.example.com:443) and networks (203.0.113.0/24), separated by commas. Unless it is empty, requests over HTTP reach nothing else.",
    )
    .of_form(is_list),
    text(
        "http_client_deny",
        Scope::Global,
        "",
        "Hosts and networks, as in http_client_allow, that requests over HTTP never reach.",
    )
    .of_form(is_list),
    boolean(
        "http_client_allow_private",
        Scope::Global,
        false,
        "Whether requests over HTTP may reach loopback, link-local, private, shared, reserved and multicast addresses, and metadata of clouds.",
    ),
    unsigned(
        "http_client_max_concurrent",
        Scope::Global,
        64,
        1,
        10_000,
        "Requests over HTTP of all sessions at once; others wait within their time.",
    ),
    text(
        "http_client_proxy",
        Scope::Global,
        "",
        "The proxy (http://host:port) that requests over HTTP are tunnelled through; empty for none.",
    )
    .of_form(|proxy| text_of(proxy).is_some_and(|proxy| Proxy::parse(proxy).is_ok())),
    boolean(
        "http_client_log",
        Scope::Global,
        true,
        "Whether requests over HTTP are noted in data_dictionary.http_client_requests.",
    ),
    text(
        "http_client_user_agent",
        Scope::Global,
        concat!("squall/", env!("CARGO_PKG_VERSION")),
        "The header User-Agent of requests over HTTP.",
    )
    .of_form(|name| text_of(name).is_some_and(|name| HeaderValue::from_str(name).is_ok())),
    boolean(
        "http_client_in_triggers",
        Scope::Global,
        false,
        "Whether triggers, and what they call, may make requests over HTTP.",
    ),
    unsigned(
        "http_client_load_max_bytes",
        Scope::Both,
        64 << 30,
        1,
        u64::MAX >> 1,
        "Most bytes of an unpacked file that LOAD DATA FROM URL reads.",
    ).unit(Unit::Bytes),
];

/// Whether a list of hosts and networks can be read.
fn is_list(list: &Value) -> bool {
    text_of(list).is_some_and(|list| Rules::new(list, "", false).broken().is_none())
}

/// The texts that rules are made of, and the rules.
type KnownRules = ((String, String, bool), Arc<Rules>);

/// Reads the variables.
#[derive(Debug)]
pub(super) struct SettingsReader {
    ids: Vec<VariableId>,
    /// Those that were made last.
    rules: Mutex<Option<KnownRules>>,
}

/// What the variables say.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// How far a request may go, unless its options say less or more.
    pub limits: Limits,
    /// Requests of a call at once.
    pub row_parallelism: usize,
    /// Most bytes that LOAD DATA FROM URL reads.
    pub load_max_bytes: usize,
    /// Whether requests are noted.
    pub log: bool,
}

impl SettingsReader {
    /// `ids` are those of [`VARIABLES`].
    pub fn new(ids: Vec<VariableId>) -> SettingsReader {
        SettingsReader { ids, rules: Mutex::default() }
    }

    /// The settings of a statement.
    ///
    /// # Errors
    /// 50411 for what cannot be read: nothing is let through.
    pub fn read(&self, function: &str, context: &StatementContext) -> SqlResult<Settings> {
        let blocked = |what: &str| SqlError::of_module(&BLOCKED, &[&function, &what]);
        if context.is_in_trigger && !self.flag(Setting::InTriggers, context) {
            return Err(blocked("triggers make no requests (http_client_in_triggers is OFF)"));
        }
        let millis = |setting| Duration::from_millis(self.number(setting, context));
        let rules = self.rules(context);
        if let Some(list) = rules.broken() {
            return Err(blocked(&format!("{list} cannot be read")));
        }
        let proxy = Proxy::parse(self.text(Setting::Proxy, context)).map_err(|error| blocked(&error.to_string()))?;
        let user_agent = HeaderValue::from_str(self.text(Setting::UserAgent, context));
        let limits = Limits {
            timeout: millis(Setting::Timeout),
            connect_timeout: millis(Setting::ConnectTimeout),
            max_bytes: self.number(Setting::MaxBytes, context).min(context.settings.max_allowed_packet) as usize,
            max_redirects: self.number(Setting::MaxRedirects, context) as u32,
            max_concurrent: self.number(Setting::MaxConcurrent, context) as usize,
            rules,
            proxy,
            user_agent: user_agent.map_err(|_| blocked("http_client_user_agent cannot be sent"))?,
        };
        let row_parallelism = self.number(Setting::RowParallelism, context) as usize;
        let load_max_bytes = usize::try_from(self.number(Setting::LoadMaxBytes, context)).unwrap_or(usize::MAX);
        Ok(Settings { limits, row_parallelism, load_max_bytes, log: self.flag(Setting::Log, context) })
    }

    fn rules(&self, context: &StatementContext) -> Arc<Rules> {
        let (allow, deny) = (self.text(Setting::Allow, context), self.text(Setting::Deny, context));
        let allow_private = self.flag(Setting::AllowPrivate, context);
        let mut known = self.rules.lock();
        match &*known {
            Some(((known_allow, known_deny, known_private), rules))
                if known_allow == allow && known_deny == deny && *known_private == allow_private =>
            {
                rules.clone()
            }
            _ => {
                let rules = Arc::new(Rules::new(allow, deny, allow_private));
                *known = Some(((allow.to_string(), deny.to_string(), allow_private), rules.clone()));
                rules
            }
        }
    }

    fn value<'c>(&self, setting: Setting, context: &'c StatementContext) -> &'c Value {
        let at = setting as usize;
        let has_session = VARIABLES.get(at).is_some_and(VariableDef::has_session);
        self.ids.get(at).map_or(&Value::Null, |id| context.variables.get(*id, ReadScope::Any, has_session))
    }

    fn number(&self, setting: Setting, context: &StatementContext) -> u64 {
        match self.value(setting, context) {
            Value::UInt(number) => *number,
            Value::Int(number) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        }
    }

    fn flag(&self, setting: Setting, context: &StatementContext) -> bool {
        self.number(setting, context) != 0
    }

    fn text<'c>(&self, setting: Setting, context: &'c StatementContext) -> &'c str {
        match self.value(setting, context) {
            Value::String(text) => text,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_its_variable() {
        let name = |setting: Setting| VARIABLES[setting as usize].name;
        assert_eq!(name(Setting::Timeout), "http_client_timeout_ms");
        assert_eq!(name(Setting::RowParallelism), "http_client_row_parallelism");
        assert_eq!(name(Setting::Allow), "http_client_allow");
        assert_eq!(name(Setting::AllowPrivate), "http_client_allow_private");
        assert_eq!(name(Setting::Log), "http_client_log");
        assert_eq!(name(Setting::InTriggers), "http_client_in_triggers");
        assert_eq!(VARIABLES.len(), Setting::LoadMaxBytes as usize + 1);
    }
}
