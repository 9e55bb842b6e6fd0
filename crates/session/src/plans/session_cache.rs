//! The session plan cache: a session's routes, by the number of a prepared statement, or by the normalized statement of a text (the
//! text with a `?` for each plain literal).
//!
//! A route is valid while its inputs stay the same: the catalog, the accounts, and the session's settings ([`PlanVersions`]). A
//! statement without a route is parsed and bound each time.
//!
//! Every session has its own cache, so finding a route takes no lock. Sessions share statements and plans through
//! [`crate::plans::shared_cache`].

use crate::plans::prepared::PreparedStatement;
use crate::plans::shared_cache::PlanUse;
use crate::plans::slot::{PlanSlot, PlanVersions, Slot};
use crate::plans::{ConstantPlan, Route};
use rustc_hash::FxHashMap;
use squall_parser::{NormalizedLiteral, Normalizer};
use squall_types::Value;
use std::sync::Arc;

/// Most normalized statements that a session keeps; when there are more it begins again.
const STATEMENTS_MAX: usize = 256;
/// Longest text that is kept as it is, for a plan that has no parameters, and most of them.
const CONSTANT_BYTES_MAX: usize = 64;
const CONSTANTS_MAX: usize = 16;
/// The most literals that a session keeps a buffer for.
const ROOM_MAX: usize = 64;

/// A session's entry of a normalized statement.
#[derive(Debug, Default)]
pub(crate) struct CachedStatement {
    /// The statement with parameters; `None` if its route cannot be cached.
    pub statement: Option<Arc<PreparedStatement>>,
    pub slot: PlanSlot,
    /// Where its uses are counted, if it is in the cache of all sessions.
    pub plan_use: Option<Arc<PlanUse>>,
}

/// The routes of a session's texts.
#[derive(Debug, Default)]
pub(crate) struct SessionPlanCache {
    normalizer: Normalizer,
    entries: FxHashMap<Box<[u8]>, CachedStatement>,
    /// Texts of rows that are the same each time.
    constants: FxHashMap<Box<[u8]>, PlanSlot>,
    /// A buffer for a text's literals, used again and again.
    room: Vec<Value>,
}

/// The result of looking up a text.
pub(crate) enum Known<'s> {
    /// It has no normalized statement, or its route cannot be cached.
    Nothing,
    /// Nothing yet: the normalized statement, for [`SessionPlanCache::insert`], and the text's literals.
    New(&'s [u8], &'s [NormalizedLiteral]),
    /// Its entry and the text's literals.
    Entry(&'s mut CachedStatement, Vec<Value>),
}

impl SessionPlanCache {
    /// What is known of a text.
    pub fn find(&mut self, text: &[u8]) -> Known<'_> {
        let Some((statement, literals)) = self.normalizer.normalize(text) else { return Known::Nothing };
        match self.entries.get_mut(statement) {
            Some(entry) if entry.statement.is_none() => Known::Nothing,
            Some(entry) => {
                let mut parameters = std::mem::take(&mut self.room);
                parameters.extend(values(text, literals));
                Known::Entry(entry, parameters)
            }
            None => Known::New(statement, literals),
        }
    }

    /// What is known of a text that is normalized as it is.
    pub fn entry(&self, statement: &[u8]) -> Option<&CachedStatement> {
        self.entries.get(statement)
    }

    /// Whether there is a row that a text has always given.
    pub fn has_constant(&self, text: &[u8]) -> bool {
        text.len() <= CONSTANT_BYTES_MAX && !self.constants.is_empty() && self.constants.contains_key(text)
    }

    /// The row that a text always gives, if it is known and holds.
    pub fn constant(&self, text: &[u8], now: PlanVersions) -> Option<Route> {
        match self.constants.get(text)?.get(now, &[]) {
            Slot::Route(route) => Some(route),
            Slot::Uncached | Slot::Unknown => None,
        }
    }

    /// Keeps the row that a text always gives.
    pub fn insert_constant(&mut self, text: &[u8], now: PlanVersions, plan: ConstantPlan) {
        if text.len() > CONSTANT_BYTES_MAX {
            return;
        }
        if self.constants.len() >= CONSTANTS_MAX {
            self.constants.clear();
        }
        self.constants.entry(text.into()).or_default().set(now, Some(Route::Constant(Arc::new(plan))));
    }

    /// Takes the buffer of a text's literals back.
    pub fn give_back(&mut self, mut parameters: Vec<Value>) {
        parameters.clear();
        // Many literals are rare, and sessions many.
        if (1..=ROOM_MAX).contains(&parameters.capacity()) {
            self.room = parameters;
        }
    }

    /// Keeps what is known of a normalized statement.
    pub fn insert(&mut self, statement: Vec<u8>, entry: CachedStatement) {
        if self.entries.len() >= STATEMENTS_MAX {
            self.entries.clear();
        }
        self.entries.insert(statement.into(), entry);
    }

    /// Takes out what is known of the route of a normalized statement.
    pub fn take_slot(&mut self, statement: &[u8]) -> PlanSlot {
        self.entries.get_mut(statement).map(|entry| std::mem::take(&mut entry.slot)).unwrap_or_default()
    }

    /// Drops all plans: a TEMPORARY table is gone, none of them holds any more, and some hold the table.
    pub fn forget_plans(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.slot = PlanSlot::default());
        self.constants.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = SessionPlanCache::default();
    }
}

/// The values of a text's literals.
pub(crate) fn values(text: &[u8], literals: &[NormalizedLiteral]) -> impl Iterator<Item = Value> {
    literals.iter().map(|literal| match literal {
        NormalizedLiteral::Integer(number) => Value::Int(*number),
        NormalizedLiteral::String(range) => {
            Value::String(String::from_utf8_lossy(text.get(range.clone()).unwrap_or_default()).into_owned())
        }
    })
}
