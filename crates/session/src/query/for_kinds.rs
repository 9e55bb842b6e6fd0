//! Queries planned for all values of the kinds that their literals have.
//!
//! Only a constant that a condition compares with a plain column becomes a parameter. Any other may decide types, names of columns or
//! the form of the plan, so the plan is for its value alone.

use super::cached::{CachePlace, ParameterPlace, is_same_for_all};
use super::{PlannedQuery, SessionTables};
use crate::plans::parameter_use::{ConstantUse, ParameterUse, QueryValues};
use crate::session::{Session, StatementRun};
use squall_catalog::{Authorized, Catalog};
use squall_executor::reusable::{converts_silently, may_take_other_values};
use squall_parser::ParseOptions;
use squall_parser::ast::{Expr, Literal, Query, Statement, UnaryOp};
use squall_planner::{Binder, BoundQuery, KeptParameters, ParameterKind};
use squall_types::{SqlResult, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Times that a query is bound with fewer parameters, at most.
const ATTEMPTS_MAX: usize = 3;

/// A query whose plan has parameters.
pub(super) struct PlannedForKinds {
    pub bound: Authorized<BoundQuery>,
    pub planned: PlannedQuery,
    /// By which constants its plan is kept.
    pub constants: Vec<u8>,
    pub known: Arc<ParameterUse>,
}

/// A query that is bound with parameters.
struct BoundForKinds {
    bound: Authorized<BoundQuery>,
    constants: Vec<u8>,
    known: Arc<ParameterUse>,
}

/// The constants of a query that its conditions compare with something.
#[derive(Default)]
struct Compared {
    /// In the order of [`Query::for_each_compared_constant_mut`]: the number of each, if it has one, and whether a minus stands before it,
    /// which belongs to it.
    constants: Vec<Option<(u32, bool)>>,
}

impl Session {
    /// Plans a query for all values of the kinds that its literals have, with these values in its slot. `None` if that is not possible, or
    /// these values want a plan of their own.
    ///
    /// # Errors
    /// When the transaction cannot be taken back.
    pub(super) async fn plan_for_kinds(
        &mut self,
        place: &CachePlace,
        query: &Query,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
    ) -> SqlResult<Option<PlannedForKinds>> {
        let Some(BoundForKinds { bound, constants, known }) = self.bind_for_kinds(place, query, run, catalog) else {
            return Ok(None);
        };
        let noted = run.context.diagnostics.count();
        let planned = self.plan_query(bound.as_ref(), &run.context, catalog.clone()).await;
        let is_silent = run.context.diagnostics.count() == noted;
        match planned {
            Ok(planned) if is_silent => return Ok(Some(PlannedForKinds { bound, planned, constants, known })),
            Ok(planned) => self.take_back(planned.lent, &run.context).await?,
            // The plan with literals tells.
            Err(_) => {}
        }
        run.context.diagnostics.truncate(noted);
        known.attempts.end(false);
        Ok(None)
    }

    fn bind_for_kinds(
        &self,
        place: &CachePlace,
        query: &Query,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
    ) -> Option<BoundForKinds> {
        let with_parameters = place.with_parameters.as_ref().filter(|place| place.keeps)?;
        if !query.locking.is_empty() || query.into.is_some() {
            return None;
        }
        let entry = self.shared.plans.find_or_insert(&with_parameters.text, &place.settings)?;
        let values = &with_parameters.values.values;
        let known = entry.parameter_use(place.versions, &with_parameters.kinds);
        if let Some(known) = &known {
            let constants = known.constants(values).filter(|_| !known.has_none())?;
            if !self.is_worth_keeping(place, with_parameters, known, &constants) {
                return None;
            }
        }
        let noted = run.context.diagnostics.count();
        let (bound, uses) = self.bind_with_parameters(with_parameters, query, known.as_deref(), run, catalog);
        let is_silent = run.context.diagnostics.count() == noted;
        run.context.diagnostics.truncate(noted);
        let is_useful = |bound: &BoundQuery| is_same_for_all(bound) && may_take_other_values(&bound.plan);
        let (bound, uses) = match bound {
            Some(bound) if !is_useful(&bound) => (None, vec![ConstantUse::Fixed; values.len()].into()),
            bound => (bound, uses),
        };
        let known = known.filter(|known| *known.uses() == *uses).unwrap_or_else(|| {
            let found = Arc::new(ParameterUse::new(with_parameters.kinds.clone(), uses));
            entry.set_parameter_use(place.versions, found.clone());
            found
        });
        let bound = bound.filter(|bound| is_silent && self.is_silent_with(&known, values, bound, run));
        let Some(bound) = bound else {
            known.attempts.end(false);
            return None;
        };
        let constants = known.constants(values)?;
        Some(BoundForKinds { bound: self.security().authorize(bound).ok()?, constants, known })
    }

    /// Whether the parameters of a query can be converted without an error or a warning, with these values in its slot.
    fn is_silent_with(
        &self,
        known: &ParameterUse,
        values: &[Value],
        bound: &BoundQuery,
        run: &StatementRun<'_>,
    ) -> bool {
        let Some(parameters) = known.parameters(values) else { return false };
        bound.slot.plan(run.context.clone(), Arc::new(parameters));
        converts_silently(&bound.plan, &run.context)
    }

    /// Whether a plan with parameters is worth making: if constants are a part of it, they have come before; and it was possible, for other
    /// values.
    fn is_worth_keeping(
        &self,
        place: &CachePlace,
        with_parameters: &ParameterPlace,
        known: &ParameterUse,
        constants: &[u8],
    ) -> bool {
        let has_fixed = known.uses().contains(&ConstantUse::Fixed);
        let comes_again =
            !has_fixed || self.shared.plans.planned_before(with_parameters.key(constants), &place.settings);
        comes_again && known.attempts.begin()
    }

    /// Binds a query with as many parameters as can be, or with those that are known; with what each constant is then. No query: it has an
    /// error, or no constant of these kinds can be a parameter.
    fn bind_with_parameters(
        &self,
        place: &ParameterPlace,
        query: &Query,
        known: Option<&ParameterUse>,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
    ) -> (Option<BoundQuery>, Box<[ConstantUse]>) {
        let values = &place.values.values;
        let none = || (None, vec![ConstantUse::Fixed; values.len()].into());
        let compared = match place.values.are_of_prepared {
            true => Some(Compared::of_prepared(query)),
            false => Compared::of_text(query, &place.text, &place.values, &self.parse_options()),
        };
        let Some(compared) = compared else { return none() };
        let mut kept = match known {
            Some(known) => known.numbers(),
            None => compared.with_kinds(values),
        };
        for _ in 0..ATTEMPTS_MAX {
            if kept.is_empty() {
                break;
            }
            let uses = compared.uses(&kept, values.len());
            let used = ParameterUse::new(place.kinds.clone(), uses.clone());
            let Some(parameters) = used.parameters(values) else { return (None, uses) };
            let tables = SessionTables::new(self, &run.context, None);
            let binder = self.binder(run.request.sql, &parameters, catalog, &run.context, &tables);
            let binder = Binder { kept_parameters: KeptParameters::Some(&kept), ..binder };
            let Ok(bound) = binder.bind_query(&compared.with_parameters(query, &kept)) else { return (None, uses) };
            let plain: BTreeSet<u32> = bound.plain_parameters.iter().copied().collect();
            if plain == kept {
                return (Some(bound), uses);
            }
            kept = plain;
        }
        none()
    }
}

impl Compared {
    /// Those of a prepared query: its `?`.
    fn of_prepared(query: &Query) -> Compared {
        let mut found = Compared::default();
        let number = |constant: &Expr| match constant {
            Expr::Placeholder(number) => Some((*number, false)),
            _ => None,
        };
        query.clone().for_each_compared_constant_mut(&mut |constant| found.constants.push(number(constant)));
        found
    }

    /// Those of a text. Its normalized text tells their numbers; `None` if its tree has another form.
    fn of_text(query: &Query, normalized: &[u8], values: &QueryValues, options: &ParseOptions) -> Option<Compared> {
        let parsed = squall_parser::parse_bytes(normalized, options).ok()?;
        let Statement::Query(mut normalized) = parsed.statement else { return None };
        let mut found = Compared::default();
        normalized.for_each_compared_constant_mut(&mut |constant| found.constants.push(number_of(constant)));
        let (mut at, mut is_same_form) = (0, true);
        query.clone().for_each_compared_constant_mut(&mut |constant| {
            if let Some((number, is_negated)) = found.constants.get(at).copied().flatten() {
                let value = values.values.get(number as usize);
                is_same_form &= value.is_some_and(|value| is_literal_of(constant, value, is_negated));
            }
            at += 1;
        });
        (is_same_form && at == found.constants.len()).then_some(found)
    }

    /// The numbers of those that have kinds.
    fn with_kinds(&self, values: &[Value]) -> BTreeSet<u32> {
        let has_kind = |number: &u32| {
            let value = values.get(*number as usize);
            value.is_some_and(|value| !value.is_null() && ParameterKind::of(value).is_some())
        };
        self.constants.iter().flatten().map(|(number, _)| *number).filter(has_kind).collect()
    }

    /// What each of this many constants is, if these are parameters.
    fn uses(&self, kept: &BTreeSet<u32>, count: usize) -> Box<[ConstantUse]> {
        let mut uses = vec![ConstantUse::Fixed; count];
        for (number, is_negated) in self.constants.iter().flatten().filter(|(number, _)| kept.contains(number)) {
            if let Some(constant) = uses.get_mut(*number as usize) {
                *constant = if *is_negated { ConstantUse::Negated } else { ConstantUse::Parameter };
            }
        }
        uses.into()
    }

    /// The query with `?` for these of its constants. The others stay as they are.
    fn with_parameters(&self, query: &Query, kept: &BTreeSet<u32>) -> Query {
        let mut query = query.clone();
        let mut constants = self.constants.iter();
        query.for_each_compared_constant_mut(&mut |constant| {
            if let Some(Some((number, _))) = constants.next()
                && kept.contains(number)
            {
                *constant = Expr::Placeholder(*number);
            }
        });
        query
    }
}

/// The number of the `?` that a constant is, and whether a minus stands before it.
fn number_of(constant: &Expr) -> Option<(u32, bool)> {
    match constant {
        Expr::Placeholder(number) => Some((*number, false)),
        Expr::Unary { op: UnaryOp::Minus, operand } => match **operand {
            Expr::Placeholder(number) => Some((number, true)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a constant is the literal of a value.
fn is_literal_of(constant: &Expr, value: &Value, is_negated: bool) -> bool {
    match (constant, value) {
        (Expr::Unary { op: UnaryOp::Minus, operand }, _) if is_negated => is_literal_of(operand, value, false),
        (Expr::Literal(Literal::Integer(digits)), Value::Int(number)) if !is_negated => {
            digits.parse().is_ok_and(|digits: i64| digits == *number)
        }
        (Expr::Literal(Literal::String(text)), Value::String(value)) if !is_negated => {
            text.introducer.is_none() && text.value.as_bytes() == value.as_bytes()
        }
        _ => false,
    }
}
