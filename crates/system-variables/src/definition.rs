//! The declaration of one system variable: scope, type, range, default and text, written as a constant.

use crate::action::Action;
use squall_types::{CollationId, ErrorCode, SqlError, SqlType, Value};
use std::fmt;

/// Where a variable has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One value for the server.
    Global,
    /// One value per session.
    Session,
    /// One per session, and a global one that new sessions start with.
    Both,
}

/// Type and range of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// ON or OFF; held as 1 or 0.
    Bool,
    /// A signed integer in a range; outside of it the nearest end is taken, with a warning.
    Int {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// An unsigned integer in a range, rounded down to a multiple of `block`.
    UInt {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
        /// Values are multiples of this.
        block: u64,
    },
    /// A number in a range.
    Double {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// The name of a storage engine; of one that has temporary tables where `temporary`.
    Engine {
        /// Of temporary tables.
        temporary: bool,
    },
    /// One of these words, or its position.
    Enum(&'static [&'static str]),
    /// Several of these words, separated by commas.
    Flags(&'static [&'static str]),
    /// `name=on|off` switches in one string, as `optimizer_switch` is; the names.
    Switches(&'static [&'static str]),
    /// Any text.
    Text,
    /// Any text, or NULL.
    NullableText,
    /// `sql_mode`: flags with combinations.
    SqlMode,
    /// The name of a character set; NULL where `nullable`.
    Charset {
        /// NULL is a value too.
        nullable: bool,
    },
    /// The name of a collation.
    Collation,
    /// `SYSTEM`, an offset or the name of a zone.
    TimeZone,
    /// A length of time, such as `1 WEEK`.
    Period,
    /// The name of a locale, such as `en_US`.
    Locale,
}

/// The text that a value is, if it is one: what checks of a form look at.
pub fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A default, as a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// NULL.
    Null,
    /// A signed number, or 0 and 1 for OFF and ON.
    Int(i64),
    /// An unsigned number.
    UInt(u64),
    /// A number.
    Double(f64),
    /// Text.
    Text(&'static str),
}

impl DefaultValue {
    /// As a value.
    pub fn to_value(self) -> Value {
        match self {
            DefaultValue::Null => Value::Null,
            DefaultValue::Int(value) => Value::Int(value),
            DefaultValue::UInt(value) => Value::UInt(value),
            DefaultValue::Double(value) => Value::Double(value),
            DefaultValue::Text(text) => Value::String(text.to_string()),
        }
    }
}

/// Whether a value has the form that its variable asks for, beyond its kind. See [`VariableDef::of_form`].
#[derive(Clone, Copy)]
pub struct FormCheck(fn(&Value) -> bool);

impl FormCheck {
    /// Whether the value has it.
    pub fn accepts(&self, value: &Value) -> bool {
        (self.0)(value)
    }
}

impl fmt::Debug for FormCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormCheck")
    }
}

impl PartialEq for FormCheck {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

/// The effect of setting a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// What its doc says.
    Live,
    /// It can be read only.
    ReadOnly,
    /// The server takes it when it starts: SET PERSIST_ONLY keeps it for the next time.
    AtStart,
    /// Clients set it and read it back; nothing in Squall depends on it.
    CompatibilityOnly,
    /// It can be set to its default alone: any other value would promise what Squall does not do (1235).
    OnlyDefault {
        /// What the server has instead.
        instead: &'static str,
    },
}

/// What is printed in place of a secret value.
pub const SECRET: &str = "******";

/// What a number of a variable counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of memory, files or texts.
    Bytes,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// Its name, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Microseconds => "microseconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Seconds => "seconds",
        }
    }
}

/// One system variable as it is declared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariableDef {
    /// Name, lower case.
    pub name: &'static str,
    /// Where it has values.
    pub scope: Scope,
    /// Type and range.
    pub kind: Kind,
    /// Its default.
    pub default: DefaultValue,
    /// One sentence on what it does.
    pub doc: &'static str,
    /// The effect of setting it.
    pub effect: Effect,
    /// Whether SET PERSIST takes it.
    pub persistable: bool,
    /// Whether setting the session value needs SESSION_VARIABLES_ADMIN.
    pub restricted: bool,
    /// Whether it is left out of SHOW VARIABLES (session-only pseudo variables such as `insert_id` are not).
    pub hidden: bool,
    /// Whether sessions have the global value of their start and cannot set it (1238).
    pub fixed_in_session: bool,
    /// The replacement of a deprecated variable, for the warning 1287; empty if there is none.
    pub replacement: Option<&'static str>,
    /// The form of its values, where its kind does not say all.
    pub form: Option<FormCheck>,
    /// Switches that another server has and clients set: kept behind the others once they are set, by their whole names.
    pub foreign_switches: &'static [&'static str],
    /// What its number counts, if that is a length of time or a size.
    pub unit: Option<Unit>,
    /// Whether tables and SHOW have asterisks in place of its value.
    pub secret: bool,
    /// What the server does when its global value changes.
    pub action: Action,
}

const fn define(name: &'static str, scope: Scope, kind: Kind, default: DefaultValue, doc: &'static str) -> VariableDef {
    let persistable = !matches!(scope, Scope::Session);
    VariableDef {
        name,
        scope,
        kind,
        default,
        doc,
        effect: Effect::Live,
        persistable,
        restricted: false,
        hidden: false,
        fixed_in_session: false,
        replacement: None,
        form: None,
        foreign_switches: &[],
        unit: None,
        secret: false,
        action: Action::Publish,
    }
}

/// A switch.
pub const fn boolean(name: &'static str, scope: Scope, default: bool, doc: &'static str) -> VariableDef {
    define(name, scope, Kind::Bool, DefaultValue::Int(if default { 1 } else { 0 }), doc)
}

/// An unsigned integer.
pub const fn unsigned(
    name: &'static str,
    scope: Scope,
    default: u64,
    min: u64,
    max: u64,
    doc: &'static str,
) -> VariableDef {
    define(name, scope, Kind::UInt { min, max, block: 1 }, DefaultValue::UInt(default), doc)
}

/// A signed integer.
pub const fn signed(
    name: &'static str,
    scope: Scope,
    default: i64,
    min: i64,
    max: i64,
    doc: &'static str,
) -> VariableDef {
    define(name, scope, Kind::Int { min, max }, DefaultValue::Int(default), doc)
}

/// A number.
pub const fn double(
    name: &'static str,
    scope: Scope,
    default: f64,
    min: f64,
    max: f64,
    doc: &'static str,
) -> VariableDef {
    define(name, scope, Kind::Double { min, max }, DefaultValue::Double(default), doc)
}

/// The engine of new tables, that of rows by default.
pub const fn engine(name: &'static str, temporary: bool, doc: &'static str) -> VariableDef {
    define(name, Scope::Both, Kind::Engine { temporary }, DefaultValue::Text(squall_catalog::ROW_ENGINE), doc)
}

/// A word out of some.
pub const fn choice(
    name: &'static str,
    scope: Scope,
    default: &'static str,
    words: &'static [&'static str],
    doc: &'static str,
) -> VariableDef {
    define(name, scope, Kind::Enum(words), DefaultValue::Text(default), doc)
}

/// Several words out of some.
pub const fn flags(
    name: &'static str,
    scope: Scope,
    default: &'static str,
    words: &'static [&'static str],
    doc: &'static str,
) -> VariableDef {
    define(name, scope, Kind::Flags(words), DefaultValue::Text(default), doc)
}

/// A text.
pub const fn text(name: &'static str, scope: Scope, default: &'static str, doc: &'static str) -> VariableDef {
    define(name, scope, Kind::Text, DefaultValue::Text(default), doc)
}

/// A text that is NULL by default.
pub const fn nullable(name: &'static str, scope: Scope, doc: &'static str) -> VariableDef {
    define(name, scope, Kind::NullableText, DefaultValue::Null, doc)
}

/// A variable of a kind with rules of its own.
pub const fn special(
    name: &'static str,
    scope: Scope,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> VariableDef {
    define(name, scope, kind, DefaultValue::Text(default), doc)
}

impl VariableDef {
    /// It can be read only.
    pub const fn read_only(mut self) -> Self {
        self.effect = Effect::ReadOnly;
        self.persistable = false;
        self
    }

    /// The server takes it when it starts.
    pub const fn at_start(mut self) -> Self {
        self.effect = Effect::AtStart;
        self
    }

    /// Nothing in Squall depends on it.
    pub const fn compatibility(mut self) -> Self {
        self.effect = Effect::CompatibilityOnly;
        self
    }

    /// Any value but the default is error 1235, which names the alternative (`instead`).
    pub const fn only_default(mut self, instead: &'static str) -> Self {
        self.effect = Effect::OnlyDefault { instead };
        self
    }

    /// Sessions cannot set their value.
    pub const fn fixed_in_session(mut self) -> Self {
        self.fixed_in_session = true;
        self
    }

    /// Its use is warned of, with what to use in its place; empty for nothing.
    pub const fn deprecated(mut self, replacement: &'static str) -> Self {
        self.replacement = Some(replacement);
        self
    }

    /// SET refuses values that this does not accept (1231). It has to accept the default. Values that were persisted before the
    /// check existed stay, so readers of a variable must still handle invalid values.
    pub const fn of_form(mut self, accepts: fn(&Value) -> bool) -> Self {
        self.form = Some(FormCheck(accepts));
        self
    }

    /// It also keeps these switches of another server.
    pub const fn with_foreign_switches(mut self, names: &'static [&'static str]) -> Self {
        self.foreign_switches = names;
        self
    }

    /// No table shows its value.
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// The server does this when its global value changes.
    pub const fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }

    /// Its number counts these.
    pub const fn unit(mut self, unit: Unit) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Values are multiples of `block`.
    pub const fn block(mut self, block: u64) -> Self {
        if let Kind::UInt { min, max, .. } = self.kind {
            self.kind = Kind::UInt { min, max, block };
        }
        self
    }

    /// Setting the session value needs a privilege.
    pub const fn restricted(mut self) -> Self {
        self.restricted = true;
        self
    }

    /// SET PERSIST refuses it.
    pub const fn not_persistable(mut self) -> Self {
        self.persistable = false;
        self
    }

    /// SHOW VARIABLES leaves it out.
    pub const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// When a new global value holds, as `data_dictionary.configuration` says it; `None` where none can be set, or where nothing depends on it.
    pub fn applies(&self) -> Option<&'static str> {
        match (self.effect, self.scope) {
            (Effect::ReadOnly | Effect::CompatibilityOnly | Effect::OnlyDefault { .. }, _) => None,
            (Effect::AtStart, _) => Some("next_start"),
            (Effect::Live, Scope::Both) => Some("new_sessions"),
            (Effect::Live, Scope::Global | Scope::Session) => Some("immediate"),
        }
    }

    /// Whether there is a global value.
    pub fn has_global(&self) -> bool {
        self.scope != Scope::Session
    }

    /// Whether there is a session value.
    pub fn has_session(&self) -> bool {
        self.scope != Scope::Global
    }

    /// The warning that its use gives (1287), if it does.
    pub fn deprecation(&self) -> Option<SqlError> {
        let replacement = self.replacement?;
        let mut message = format!("'@@{}' is deprecated and will be removed in a future release.", self.name);
        if !replacement.is_empty() {
            message.push_str(&format!(" Please use {replacement} instead."));
        }
        Some(SqlError::with_message(ErrorCode::WarnDeprecatedSyntax, message))
    }

    /// The type of `@@name`.
    pub fn sql_type(&self) -> SqlType {
        match self.kind {
            Kind::Bool | Kind::Int { .. } => SqlType::BIGINT,
            Kind::UInt { .. } => SqlType::BIGINT_UNSIGNED,
            // As many decimals as SHOW VARIABLES has.
            Kind::Double { .. } => SqlType::Double { unsigned: false, zerofill: false, digits: Some((22, 6)) },
            _ => SqlType::varchar(16_383, CollationId::UTF8MB4_0900_AI_CI),
        }
    }

    /// The value as SHOW VARIABLES and tables print it; [`SECRET`] if it is secret.
    pub fn show(&self, value: &Value) -> String {
        if self.secret {
            return SECRET.to_owned();
        }
        match (self.kind, value) {
            (Kind::Bool, Value::Int(0)) => "OFF".to_string(),
            (Kind::Bool, Value::Int(_)) => "ON".to_string(),
            (_, Value::Null) => String::new(),
            (_, Value::Int(value)) => value.to_string(),
            (_, Value::UInt(value)) => value.to_string(),
            (_, Value::Double(value)) => format!("{value:.6}"),
            (_, Value::String(text)) => text.clone(),
            (_, other) => format!("{other:?}"),
        }
    }
}
