//! Triggers.

use crate::AccountKey;

/// When a trigger runs: before a row is changed, or behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTime {
    /// BEFORE: NEW may still be set.
    Before,
    /// AFTER.
    After,
}

impl TriggerTime {
    /// The word of SQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "BEFORE",
            Self::After => "AFTER",
        }
    }
}

/// The change of a row that a trigger runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// It comes: NEW is there, OLD is not.
    Insert,
    /// It gets other values.
    Update,
    /// It goes: OLD is there, NEW is not.
    Delete,
}

impl TriggerEvent {
    /// The word of SQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// Whether there is a row before the change.
    pub fn has_old(self) -> bool {
        self != Self::Insert
    }

    /// Whether there is a row behind the change.
    pub fn has_new(self) -> bool {
        self != Self::Delete
    }
}

/// A trigger of a table: its body as text, parsed and bound when it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerDef {
    /// Its name, which no other trigger of the database has, in any letter case.
    pub name: String,
    /// BEFORE or AFTER.
    pub time: TriggerTime,
    /// INSERT, UPDATE or DELETE.
    pub event: TriggerEvent,
    /// The source of its body.
    pub body: String,
    /// In whose name it runs.
    pub definer: AccountKey,
    /// `sql_mode` of the session that made it, in which its body is read and run.
    pub sql_mode: u64,
    /// `character_set_client`, `collation_connection` and the database's collation then, by name.
    pub client_charset: String,
    /// See `client_charset`.
    pub connection_collation: String,
    /// See `client_charset`.
    pub database_collation: String,
    /// When it was made, microseconds since 1970 UTC.
    pub created_micros: i64,
}

impl TriggerDef {
    /// Whether it runs at this time, for this event.
    pub fn is_for(&self, time: TriggerTime, event: TriggerEvent) -> bool {
        self.time == time && self.event == event
    }
}
