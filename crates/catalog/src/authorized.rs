//! Authorized plans: the one check has accepted them.
//!
//! Everything that runs a plan takes it as an [`Authorized`] value, and only [`Subject::authorize`] makes one of a plan. So a
//! way around the check does not compile.

use crate::authorization::{Need, Subject};
use crate::locked_names::LockedNames;
use squall_types::SqlResult;
use std::ops::Deref;
use std::sync::Arc;

/// A plan that lists the objects that it uses when it runs.
pub trait Touches {
    /// Its needs.
    fn needs(&self) -> Vec<Need>;

    /// Whether it keeps to the tables that LOCK TABLES has locked.
    ///
    /// # Errors
    /// 1100 for a name that is not locked, and 1099 for one that is locked for reading only.
    fn check_locks(&self, _locked: &LockedNames) -> SqlResult<()> {
        Ok(())
    }
}

impl<T: Touches> Touches for Arc<T> {
    fn needs(&self) -> Vec<Need> {
        (**self).needs()
    }

    fn check_locks(&self, locked: &LockedNames) -> SqlResult<()> {
        (**self).check_locks(locked)
    }
}

/// A plan that its subject may run. Only [`Subject::authorize`] makes one; parts of a plan may be run if the plan
/// may.
#[derive(Clone, Copy, Debug)]
pub struct Authorized<T>(T);

impl<T> Authorized<T> {
    pub(crate) fn new(value: T) -> Authorized<T> {
        Authorized(value)
    }

    /// The plan, without the proof that it may run.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// It, borrowed.
    pub fn as_ref(&self) -> Authorized<&T> {
        Authorized(&self.0)
    }
}

impl<T> Authorized<Arc<T>> {
    /// A borrow of a shared plan.
    pub fn shared(&self) -> Authorized<&T> {
        Authorized(&self.0)
    }
}

impl<'p, T> Authorized<&'p T> {
    /// A part of it.
    pub fn part<U: ?Sized>(self, part: impl FnOnce(&T) -> &U) -> Authorized<&'p U> {
        Authorized(part(self.0))
    }

    /// A part that it may have.
    pub fn optional_part<U: ?Sized>(self, part: impl FnOnce(&T) -> Option<&U>) -> Option<Authorized<&'p U>> {
        part(self.0).map(Authorized)
    }

    /// The borrowed plan, while it exists.
    pub fn get(self) -> &'p T {
        self.0
    }
}

impl<T: Clone> Authorized<&T> {
    /// A copy of what is borrowed.
    pub fn cloned(self) -> Authorized<T> {
        Authorized(self.0.clone())
    }
}

impl<T> Deref for Authorized<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Subject<'_> {
    /// Lets a plan be run, if all may be done that it does.
    ///
    /// # Errors
    /// Those of [`Subject::check`]; 1099 and 1100 under LOCK TABLES.
    pub fn authorize<T: Touches>(&self, plan: T) -> SqlResult<Authorized<T>> {
        self.check(&plan.needs())?;
        if let Some(locked) = self.locked {
            plan.check_locks(locked)?;
        }
        Ok(Authorized::new(plan))
    }
}
