//! Plans of point statements that are kept for the next time: by a prepared statement's number, or by a text's shape.
//!
//! A plan holds for as long as everything holds that it was made from: the catalog, the accounts, and what the session
//! itself has set ([`PlanVersions`]). Whatever has no such plan is parsed and bound each time.
//!
//! Every session keeps its own, so finding one takes no lock. What sessions can tell each other stands behind it:
//! [`crate::plan_cache`].

use crate::api::ColumnMeta;
use crate::authorization::{Authorized, Touches};
use crate::plan_cache::PlanUse;
use crate::prepared::PreparedStatement;
use rustc_hash::FxHashMap;
use squall_catalog::Need;
use squall_parser::{Digest, ShapeLiteral, ShapeScanner};
use squall_planner::ParameterKind;
use squall_planner::dml::DmlPlan;
use squall_planner::point::{ConstantRow, PointSelect};
use squall_planner::rowwise::RowPlan;
use squall_registry::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Most shapes that a session keeps; when there are more it begins anew.
const SHAPES_MAX: usize = 256;
/// Longest text that is kept as it is, for a plan that has no parameters, and most of them.
const CONSTANT_BYTES_MAX: usize = 64;
const CONSTANTS_MAX: usize = 16;
/// Most literals that a session keeps room for.
const ROOM_MAX: usize = 64;

/// What plans depend on, by versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanVersions {
    /// Of the catalog.
    pub catalog: u64,
    /// Of the accounts and their privileges.
    pub accounts: u64,
    /// Of the session's settings, default database, roles and TEMPORARY tables.
    pub session: u64,
}

/// The plan of a statement.
#[derive(Clone, Debug)]
pub(crate) enum KeptPlan {
    /// None: the statement goes the general way.
    General,
    /// A look-up by key.
    Select(Arc<Authorized<SelectPlan>>),
    /// A small query, run row by row.
    Rows(Arc<RowsPlan>),
    /// A change of single rows.
    Change(Arc<ChangePlan>),
    /// One row that is the same each time.
    Constant(Arc<ConstantPlan>),
}

/// One row that is the same each time, with its values.
#[derive(Debug)]
pub(crate) struct ConstantPlan {
    pub row: ConstantRow,
    pub values: Vec<Value>,
    pub columns: Arc<[ColumnMeta]>,
    /// Of its text, once it has been counted.
    pub digest: OnceLock<Arc<Digest>>,
}

impl ConstantPlan {
    /// A row with its values as they are now.
    pub fn new(row: ConstantRow, context: &StatementContext) -> SqlResult<ConstantPlan> {
        let values = row.values(context)?;
        let columns = crate::query::columns(&row.columns).into();
        Ok(ConstantPlan { row, values, columns, digest: OnceLock::new() })
    }

    /// Whether it holds for the next time too; `context` is what its values were computed in.
    pub fn is_the_same_each_time(&self, context: &StatementContext) -> bool {
        self.row.is_literal && context.diagnostics.count() == 0
    }
}

/// A small query, run row by row.
#[derive(Debug)]
pub(crate) struct RowsPlan {
    pub plan: Authorized<RowPlan>,
    pub columns: Arc<[ColumnMeta]>,
    /// What the parameters must be for the plan to hold.
    pub kinds: Box<[ParameterKind]>,
    /// How often in a row the query has turned out not to be small.
    pub given_up: AtomicU32,
}

/// A query that was not small this many times in a row is taken to be none.
const GIVEN_UP_MAX: u32 = 3;

impl RowsPlan {
    /// Whether it is worth trying with these values.
    pub fn takes(&self, parameters: &[Value]) -> bool {
        self.given_up.load(Ordering::Relaxed) < GIVEN_UP_MAX && fit(&self.kinds, parameters)
    }

    /// Notes whether it gave an answer.
    pub fn note(&self, answered: bool) {
        // Only the session's own thread is here.
        let given_up = if answered { 0 } else { self.given_up.load(Ordering::Relaxed) + 1 };
        self.given_up.store(given_up, Ordering::Relaxed);
    }
}

/// Whether values are of the kinds that a plan was made for.
fn fit(kinds: &[ParameterKind], parameters: &[Value]) -> bool {
    kinds.len() == parameters.len()
        && kinds.iter().zip(parameters).all(|(kind, value)| ParameterKind::of(value) == Some(*kind))
}

/// A look-up by key.
#[derive(Clone, Debug)]
pub(crate) struct SelectPlan {
    pub point: PointSelect,
    pub columns: Arc<[ColumnMeta]>,
}

impl Touches for SelectPlan {
    fn needs(&self) -> Vec<Need> {
        self.point.needs()
    }
}

/// A change of single rows.
#[derive(Debug)]
pub(crate) struct ChangePlan {
    pub plan: Arc<Authorized<DmlPlan>>,
    /// What the values must be for the plan to hold.
    pub kinds: Box<[ParameterKind]>,
}

impl ChangePlan {
    /// Whether the plan holds for these values.
    pub fn takes(&self, parameters: &[Value]) -> bool {
        fit(&self.kinds, parameters)
    }
}

/// A place for a statement's plan.
#[derive(Debug, Default)]
pub(crate) struct PlanSlot(Option<(PlanVersions, KeptPlan)>);

impl PlanSlot {
    /// The plan, if it still holds.
    pub fn get(&self, now: PlanVersions) -> Option<&KeptPlan> {
        self.0.as_ref().filter(|(made, _)| *made == now).map(|(_, plan)| plan)
    }

    /// Whether there is a plan that does not hold any more.
    pub fn is_outdated(&self, now: PlanVersions) -> bool {
        self.0.as_ref().is_some_and(|(made, _)| *made != now)
    }

    /// Keeps a plan.
    pub fn set(&mut self, now: PlanVersions, plan: KeptPlan) {
        self.0 = Some((now, plan));
    }
}

/// What a session knows of a shape.
#[derive(Debug, Default)]
pub(crate) struct ShapeEntry {
    /// The shape as a statement with parameters; `None` if it is none that could have a plan.
    pub statement: Option<Arc<PreparedStatement>>,
    pub slot: PlanSlot,
    /// Where its uses are counted, if it is in the cache of all sessions.
    pub plan_use: Option<Arc<PlanUse>>,
}

/// The shapes of a session's texts.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    scanner: ShapeScanner,
    entries: FxHashMap<Box<[u8]>, ShapeEntry>,
    /// Texts of rows that are the same each time.
    constants: FxHashMap<Box<[u8]>, PlanSlot>,
    /// Room for a text's literals, used again and again.
    room: Vec<Value>,
}

/// What is known of a text's shape.
pub(crate) enum Known<'s> {
    /// Nothing, and there is nothing to be known: it has none, or none that could have a plan.
    Nothing,
    /// Nothing yet: the shape, for [`Shapes::learn`], and the text's literals.
    New(&'s [u8], &'s [ShapeLiteral]),
    /// Its entry and the text's literals.
    Entry(&'s mut ShapeEntry, Vec<Value>),
}

impl Shapes {
    /// What is known of a text.
    pub fn find(&mut self, text: &[u8]) -> Known<'_> {
        let Some((shape, literals)) = self.scanner.scan(text) else { return Known::Nothing };
        match self.entries.get_mut(shape) {
            Some(entry) if entry.statement.is_none() => Known::Nothing,
            Some(entry) => {
                let mut parameters = std::mem::take(&mut self.room);
                parameters.extend(values(text, literals));
                Known::Entry(entry, parameters)
            }
            None => Known::New(shape, literals),
        }
    }

    /// Whether there is a row that a text has always given.
    pub fn has_constant(&self, text: &[u8]) -> bool {
        text.len() <= CONSTANT_BYTES_MAX && !self.constants.is_empty() && self.constants.contains_key(text)
    }

    /// The row that a text always gives, if it is known and holds.
    pub fn constant(&self, text: &[u8], now: PlanVersions) -> Option<&KeptPlan> {
        self.constants.get(text)?.get(now)
    }

    /// Keeps the row that a text always gives.
    pub fn learn_constant(&mut self, text: &[u8], now: PlanVersions, plan: ConstantPlan) {
        if text.len() > CONSTANT_BYTES_MAX {
            return;
        }
        if self.constants.len() >= CONSTANTS_MAX {
            self.constants.clear();
        }
        self.constants.entry(text.into()).or_default().set(now, KeptPlan::Constant(Arc::new(plan)));
    }

    /// Takes the room of a text's literals back.
    pub fn give_back(&mut self, mut parameters: Vec<Value>) {
        parameters.clear();
        // Many literals are rare, and sessions many.
        if (1..=ROOM_MAX).contains(&parameters.capacity()) {
            self.room = parameters;
        }
    }

    /// Keeps what a shape means.
    pub fn learn(&mut self, shape: Vec<u8>, entry: ShapeEntry) {
        if self.entries.len() >= SHAPES_MAX {
            self.entries.clear();
        }
        self.entries.insert(shape.into(), entry);
    }

    /// Lets go of all plans: a TEMPORARY table is gone, none of them holds any more, and some hold the table.
    pub fn forget_plans(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.slot = PlanSlot::default());
        self.constants.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Shapes::default();
    }
}

/// The values of a text's literals.
pub(crate) fn values(text: &[u8], literals: &[ShapeLiteral]) -> impl Iterator<Item = Value> {
    literals.iter().map(|literal| match literal {
        ShapeLiteral::Integer(number) => Value::Int(*number),
        ShapeLiteral::String(range) => {
            Value::String(String::from_utf8_lossy(text.get(range.clone()).unwrap_or_default()).into_owned())
        }
    })
}
