//! Bound aggregate calls.

use super::count::CountKernel;
use crate::expr::BoundExpr;
use squall_registry::{AggregateKernel, ExprType};
use squall_types::Value;
use std::any::Any;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// An aggregate call with its arguments converted to what its kernel takes.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function's name.
    pub name: Arc<str>,
    /// The code.
    pub kernel: Arc<dyn AggregateKernel>,
    /// The arguments; none for `COUNT(*)`.
    pub args: Vec<BoundExpr>,
    /// The result.
    pub ty: ExprType,
    /// Whether DataFusion is to drop duplicates; kernels that drop them themselves do not say so here.
    pub distinct: bool,
    fingerprint: Arc<str>,
}

impl AggregateCall {
    /// The kernel, if it is one of this type.
    pub fn kernel_as<K: AggregateKernel>(&self) -> Option<&K> {
        (self.kernel.as_ref() as &dyn Any).downcast_ref()
    }

    pub(super) fn new(
        name: impl Into<Arc<str>>,
        kernel: Arc<dyn AggregateKernel>,
        args: Vec<BoundExpr>,
        ty: ExprType,
    ) -> Self {
        let name = name.into();
        let fingerprint = format!("{name}\0{kernel:?}").into();
        Self { name, kernel, args, ty, distinct: false, fingerprint }
    }

    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// The same aggregate of the same arguments.
impl PartialEq for AggregateCall {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.ty == other.ty
            && self.distinct == other.distinct
            && self.args == other.args
    }
}

impl Display for AggregateCall {
    /// As MySQL prints it: `COUNT(*)` counts zeros.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", self.name.to_ascii_lowercase(), if self.distinct { "distinct " } else { "" })?;
        if self.args.is_empty() {
            f.write_str("0")?;
        }
        for (at, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if at > 0 { "," } else { "" })?;
        }
        f.write_str(")")
    }
}

/// The result of an aggregate of no rows, where it is known without running it.
pub fn empty_result(call: &AggregateCall) -> Option<Value> {
    (call.kernel.as_ref() as &dyn Any).is::<CountKernel>().then_some(Value::Int(0))
}
