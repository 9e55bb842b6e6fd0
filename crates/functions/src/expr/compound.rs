//! Large expressions as single calls.
//!
//! DataFusion asks for the type and the name of every part of an expression by asking its parts, again and again; some of its rules,
//! and some operators of MySQL (`BETWEEN`, `NULLIF`, `CASE x WHEN …`), name a part twice. For large or deep parts that costs quadratic
//! time or more. Such an expression becomes one call whose arguments are the columns that it reads, and is evaluated row by row. So its
//! cost is in proportion to its length.

use super::hidden_digits::{SHOWN_LEVELS_MAX, has_hidden_digits};
use super::{BoundExpr, Call, ColumnRef};
use squall_registry::{ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, Value};
use std::collections::HashMap;
use std::fmt::{self, Debug, Display, Formatter, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Nodes of an expression that may be named more than once where it is written once.
pub(crate) const COPIED_NODES_MAX: usize = 16;
/// Levels of an expression that DataFusion sees one by one.
pub(super) const DEPTH_MAX: u32 = 32;
/// Conditional expressions inside of each other that DataFusion sees one by one: for each it asks the inner one several times.
pub(super) const CONDITIONAL_DEPTH_MAX: u32 = 6;
/// Stack that evaluation of one level takes at most, without optimizations.
const LEVEL_STACK_BYTES: usize = 8 << 10;
/// Stack that is taken at once for evaluating calls inside of each other, or for letting go of them.
const STACK_SEGMENT: usize = 16 << 20;
/// Stack that letting go of a call's body may take.
const DROP_STACK_BYTES: usize = 1 << 20;
/// Bytes of text that stand for an expression in messages.
const TEXT_BYTES_MAX: usize = 200;

/// How deep an expression is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Depth {
    /// Levels.
    pub levels: u32,
    /// CASE and COALESCE among them, and conversions of conditions to numbers: DataFusion asks for what is inside of each of them more
    /// than once.
    pub conditionals: u32,
}

impl Depth {
    /// Whether DataFusion may see all of it.
    pub(super) fn is_shallow(self) -> bool {
        self.levels <= DEPTH_MAX && self.conditionals <= CONDITIONAL_DEPTH_MAX
    }

    fn max(self, other: Depth) -> Depth {
        Depth { levels: self.levels.max(other.levels), conditionals: self.conditionals.max(other.conditionals) }
    }
}

impl BoundExpr {
    /// How deep it is, with the expressions behind computed columns, which a projection may put in their place.
    pub fn depth(&self) -> Depth {
        let mut depth = match self {
            BoundExpr::Column(column) => column.depth,
            _ => Depth::default(),
        };
        let mut of_condition = false;
        self.for_each_child(&mut |child| {
            depth = depth.max(child.depth());
            of_condition |= child.is_condition();
        });
        depth.levels = depth.levels.saturating_add(1);
        let asks_often = match self {
            BoundExpr::Case(_) | BoundExpr::Coalesce { .. } => true,
            BoundExpr::Call(_) | BoundExpr::Compare { .. } | BoundExpr::InList { .. } => of_condition,
            _ => false,
        };
        depth.conditionals += u32::from(asks_often);
        depth
    }

    /// The depth of its DataFusion expression: one level more than its inputs if it becomes a separate call.
    pub fn planned_depth(&self) -> Depth {
        let depth = self.depth();
        if depth.is_shallow() {
            return depth;
        }
        let mut leaves = Depth::default();
        self.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                leaves = leaves.max(column.depth);
            }
        });
        Depth { levels: leaves.levels.saturating_add(2), ..leaves }
    }

    /// Hashes what [`PartialEq`] compares.
    fn hash_structure(&self, state: &mut DefaultHasher) {
        std::mem::discriminant(self).hash(state);
        match self {
            BoundExpr::Literal(value, ty) => {
                format!("{value:?}").hash(state);
                ty.hash(state);
            }
            BoundExpr::Column(column) => column.hash(state),
            BoundExpr::Parameter { index, ty, non_negative } => (index, ty, non_negative).hash(state),
            BoundExpr::Call(call) => (&call.fingerprint, call.args.len(), &call.ty).hash(state),
            BoundExpr::And(list) | BoundExpr::Or(list) => list.len().hash(state),
            BoundExpr::Not(_) | BoundExpr::Xor(..) => {}
            BoundExpr::IsNull { negated, .. } => negated.hash(state),
            BoundExpr::IsTruth { truth, negated, .. } => (truth, negated).hash(state),
            BoundExpr::Compare { op, collation, .. } => (op, collation).hash(state),
            BoundExpr::InList { list, negated, collation, .. } => (list.len(), negated, collation).hash(state),
            BoundExpr::Case(case) => (case.branches.len(), case.otherwise.is_some(), &case.ty).hash(state),
            BoundExpr::Coalesce { values, ty } => (values.len(), ty).hash(state),
            BoundExpr::Opaque { expr, ty, predicate } => (expr, ty, predicate).hash(state),
        }
        self.for_each_child(&mut |child| child.hash_structure(state));
    }

    /// Whether it is a call that stands for a large expression.
    fn is_compound(&self) -> bool {
        let BoundExpr::Call(call) = self else { return false };
        let kernel: &dyn std::any::Any = call.kernel.as_ref();
        kernel.is::<CompoundKernel>()
    }

    /// Whether it has more nodes than that. A call that stands for a large expression has.
    pub(crate) fn is_larger_than(&self, nodes: usize) -> bool {
        fn count(expr: &BoundExpr, left: &mut usize) {
            if *left == 0 {
                return;
            }
            *left = if expr.is_compound() { 0 } else { *left - 1 };
            expr.for_each_child(&mut |child| count(child, left));
        }
        let mut left = nodes + 1;
        count(self, &mut left);
        left == 0
    }

    /// The expression as one call of the columns, parameters and opaque parts that it reads.
    pub(crate) fn into_compound(self) -> BoundExpr {
        self.into_compound_over(None)
    }

    /// The expression; if it is deep, as one call. An expression of any depth that is made of such parts is never a deep tree.
    pub fn compacted(self) -> BoundExpr {
        if self.depth().is_shallow() || self.is_shown() { self } else { self.into_compound() }
    }

    /// Whether it is looked at by what is made of it, which goes on with more digits.
    fn is_shown(&self) -> bool {
        self.depth().levels <= SHOWN_LEVELS_MAX && has_hidden_digits(self)
    }

    /// The same, with an operand's value in place of the column that stands for it.
    fn into_compound_over(self, operand: Option<(&ColumnRef, BoundExpr)>) -> BoundExpr {
        let (ty, volatility, brief) = (self.ty(), self.volatility(), self.is_brief());
        let mut args: Vec<BoundExpr> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut volatility_of_operand = Volatility::Immutable;
        if let Some((stand_in, operand)) = operand {
            places.insert(stand_in.ordinal, 0);
            volatility_of_operand = operand.volatility();
            args.push(operand);
        }
        let body = self.rewrite(&mut |node| match &node {
            BoundExpr::Column(column) => {
                let place = *places.entry(column.ordinal).or_insert_with(|| {
                    args.push(node.clone());
                    args.len() - 1
                });
                argument(place, &node, Arc::clone(&column.display))
            }
            BoundExpr::Parameter { .. } | BoundExpr::Opaque { .. } => {
                args.push(node.clone());
                argument(args.len() - 1, &node, "?".into())
            }
            _ => node,
        });
        let volatility = match (volatility, volatility_of_operand) {
            (Volatility::Volatile, _) | (_, Volatility::Volatile) => Volatility::Volatile,
            (Volatility::Stable, _) | (_, Volatility::Stable) => Volatility::Stable,
            _ => Volatility::Immutable,
        };
        BoundExpr::call(Call::new("expression", Arc::new(CompoundKernel::new(body, brief)), args, ty, volatility))
    }
}

/// What an argument of a compound call is inside of it.
fn argument(place: usize, node: &BoundExpr, display: Arc<str>) -> BoundExpr {
    let reference = ColumnRef {
        ordinal: place,
        relation: None,
        name: Arc::clone(&display),
        display,
        ty: node.ty(),
        depth: Depth::default(),
    };
    BoundExpr::Column(Arc::new(reference))
}

/// An expression that names `operand` as often as it likes, made by `build`. A large operand is looked at once.
pub(crate) fn with_operand(
    operand: BoundExpr,
    build: impl FnOnce(BoundExpr) -> SqlResult<BoundExpr>,
) -> SqlResult<BoundExpr> {
    if !operand.is_larger_than(COPIED_NODES_MAX) {
        return build(operand);
    }
    with_stand_in(operand, false, build)
}

/// An expression made by `build` of an operand that is evaluated before the rest of it: one call, whose body does not have the
/// operand in it.
pub fn with_value_of(
    operand: BoundExpr,
    build: impl FnOnce(BoundExpr) -> SqlResult<BoundExpr>,
) -> SqlResult<BoundExpr> {
    if operand.is_shown() || !operand.is_larger_than(COPIED_NODES_MAX) {
        return build(operand);
    }
    with_stand_in(operand, true, build)
}

fn with_stand_in(
    operand: BoundExpr,
    always: bool,
    build: impl FnOnce(BoundExpr) -> SqlResult<BoundExpr>,
) -> SqlResult<BoundExpr> {
    /// No statement has columns of numbers from here on.
    const STAND_INS: usize = usize::MAX / 2;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let ordinal = STAND_INS + NEXT.fetch_add(1, Ordering::Relaxed) % STAND_INS;
    let stand_in = argument(ordinal, &operand, text_of(&operand).into());
    let BoundExpr::Column(reference) = &stand_in else { return build(operand) };
    let body = build(stand_in.clone())?;
    let mut uses = 0;
    body.visit(&mut |node| uses += usize::from(matches!(node, BoundExpr::Column(column) if column.ordinal == ordinal)));
    if uses > 1 || (always && uses > 0) {
        return Ok(body.into_compound_over(Some((reference, operand))));
    }
    let mut operand = Some(operand);
    Ok(body.rewrite(&mut |node| match &node {
        BoundExpr::Column(column) if column.ordinal == ordinal => operand.take().unwrap_or(node),
        _ => node,
    }))
}

/// [`with_operand`] of a row of operands.
pub(crate) fn with_operands(
    operands: Vec<BoundExpr>,
    build: impl FnOnce(Vec<BoundExpr>) -> SqlResult<BoundExpr>,
) -> SqlResult<BoundExpr> {
    fn next(
        mut left: std::vec::IntoIter<BoundExpr>,
        mut done: Vec<BoundExpr>,
        build: &mut dyn FnMut(Vec<BoundExpr>) -> SqlResult<BoundExpr>,
    ) -> SqlResult<BoundExpr> {
        match left.next() {
            None => build(done),
            Some(operand) => with_operand(operand, |operand| {
                done.push(operand);
                next(left, done, build)
            }),
        }
    }
    let mut build = Some(build);
    let count = operands.len();
    next(operands.into_iter(), Vec::with_capacity(count), &mut |operands| match build.take() {
        Some(build) => build(operands),
        None => Err(SqlError::internal("an expression is built once")),
    })
}

/// The beginning of an expression's text.
fn text_of(expr: &impl Display) -> String {
    struct Beginning(String);
    impl Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if self.0.len() + text.len() > TEXT_BYTES_MAX {
                return Err(fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut beginning = Beginning(String::new());
    if write!(beginning, "{expr}").is_err() {
        beginning.0.push_str("...");
    }
    beginning.0
}

/// Evaluates an expression over its arguments.
struct CompoundKernel {
    /// Its columns are the arguments, by place.
    body: BoundExpr,
    /// Whether it neither waits nor makes long strings.
    brief: bool,
    /// Stack that evaluation takes.
    stack_bytes: usize,
    /// Tells it from others: comparing bodies would cost what this is there to save.
    digest: [u64; 2],
}

impl CompoundKernel {
    fn new(body: BoundExpr, brief: bool) -> Self {
        let stack_bytes = (body.depth().levels as usize + 1) * LEVEL_STACK_BYTES;
        let digest = [0_u8, 1].map(|seed| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            body.hash_structure(&mut hasher);
            hasher.finish()
        });
        Self { body, brief, stack_bytes, digest }
    }
}

impl Drop for CompoundKernel {
    fn drop(&mut self) {
        // The body may have other such calls in it, and so on.
        let body = std::mem::replace(&mut self.body, BoundExpr::null());
        stacker::maybe_grow(DROP_STACK_BYTES, STACK_SEGMENT, || drop(body));
    }
}

impl Debug for CompoundKernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompoundKernel").field(&self.digest).finish()
    }
}

impl ScalarKernel for CompoundKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        stacker::maybe_grow(self.stack_bytes, STACK_SEGMENT.max(2 * self.stack_bytes), || {
            self.body.eval(arguments, context)
        })
    }

    fn waits(&self) -> bool {
        !self.brief
    }
}
