//! Apply: for each row of its input, the answer of a subquery that may depend on the row.
//!
//! This is the general form of a subquery: one that the binder cannot turn into a join becomes an [`Apply`]. Inside the
//! subquery's plan a value of the row is a placeholder; running the node puts literals in their place, once per
//! distinct combination of values.

use crate::operator::without_order;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use squall_parser::ast::with_stack;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The result of a subquery for each row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApplyKind {
    /// The columns of its only row, NULLs if it has none; more than one row is error 1242.
    Scalar,
    /// One column: 1 if there is any row, otherwise 0.
    Exists,
    /// One column: whether `comparison` holds for some row of the subquery (`IN`, `= ANY`); NULL if it holds for none
    /// and is unknown for some.
    Any,
    /// One column: whether `comparison` holds for every row of the subquery (`NOT IN` is `<> ALL`).
    All,
    /// LATERAL: the row beside each row of the subquery; a row without any is dropped.
    Lateral,
    /// LEFT JOIN LATERAL: the same, and a row without any stands beside NULLs.
    LeftLateral,
}

/// A value of the outer row that the subquery reads: the placeholder's name and the value over the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OuterValue {
    /// Id of the placeholders inside the subquery.
    pub placeholder: String,
    /// The value.
    pub value: Expr,
}

/// The logical operator. Its output is its input's columns and then those that the kind says.
#[derive(Clone, Debug)]
pub struct Apply {
    /// The rows.
    pub input: LogicalPlan,
    /// The subquery, with placeholders for values of the row. No child: it cannot run by itself.
    pub subquery: Arc<LogicalPlan>,
    /// The columns that the placeholders replace.
    pub outer_values: Vec<OuterValue>,
    /// The result of the subquery.
    pub kind: ApplyKind,
    /// For ANY and ALL: the left operand's values over the input …
    pub operands: Vec<Expr>,
    /// … and the comparison, over [`Apply::comparison_schema`].
    pub comparison: Option<Expr>,
    /// Whether `subquery` has been optimized.
    pub optimized: bool,
    /// The subquery as it was bound, if it has been optimized and reads values of the row.
    pub written: Option<Arc<LogicalPlan>>,
    schema: DFSchemaRef,
    facts: Arc<SubqueryFacts>,
}

/// Facts of a subquery's plan that are needed repeatedly, and that would cost a walk of all inner subqueries each
/// time.
#[derive(Debug)]
struct SubqueryFacts {
    /// Tells the plan from others.
    hash: u64,
    /// Placeholders in it that none of its own subqueries gives a value to.
    placeholders: BTreeSet<String>,
}

impl SubqueryFacts {
    fn of(subquery: &LogicalPlan) -> Result<Arc<Self>> {
        let mut hasher = DefaultHasher::new();
        subquery.hash(&mut hasher);
        Ok(Arc::new(Self { hash: hasher.finish(), placeholders: free_placeholders(subquery)? }))
    }
}

/// The placeholders in a plan that none of its subqueries gives a value to.
pub fn free_placeholders(plan: &LogicalPlan) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    plan.apply(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::Placeholder(placeholder) = expr {
                    found.insert(placeholder.id.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        if let Some(apply) = Apply::of(plan) {
            found.extend(apply.free_placeholders().cloned());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

impl Apply {
    /// A plan's topmost node, if it is an Apply.
    pub fn of(plan: &LogicalPlan) -> Option<&Apply> {
        let LogicalPlan::Extension(extension) = plan else { return None };
        extension.node.as_any().downcast_ref()
    }

    /// Builds the node. `outputs` describes the added columns.
    #[allow(clippy::too_many_arguments, reason = "the parts of the node, each of its own type")]
    pub fn new(
        input: LogicalPlan,
        subquery: Arc<LogicalPlan>,
        outer_values: Vec<OuterValue>,
        kind: ApplyKind,
        operands: Vec<Expr>,
        comparison: Option<Expr>,
        outputs: &DFSchema,
    ) -> Result<Self> {
        let schema = Arc::new(input.schema().join(outputs)?);
        let facts = SubqueryFacts::of(&subquery)?;
        let (optimized, written) = (false, None);
        Ok(Self { input, subquery, outer_values, kind, operands, comparison, optimized, written, schema, facts })
    }

    /// The same over other rows, which have the columns that the values read.
    pub fn over(&self, input: LogicalPlan, outer_values: Vec<OuterValue>, operands: Vec<Expr>) -> Result<Self> {
        // The optimizer may have taken columns away from the input; the added ones are always the last.
        let added = self.input.schema().fields().len()..self.schema.fields().len();
        let outputs = added
            .map(|ordinal| {
                let (qualifier, field) = self.schema.qualified_field(ordinal);
                (qualifier.cloned(), Arc::clone(field))
            })
            .collect();
        let outputs = DFSchema::new_with_metadata(outputs, HashMap::new())?;
        let schema = Arc::new(input.schema().join(&outputs)?);
        Ok(Self { input, outer_values, operands, schema, ..self.clone() })
    }

    /// The same of another plan for the subquery.
    pub fn with_subquery(&self, subquery: LogicalPlan) -> Result<Self> {
        let facts = SubqueryFacts::of(&subquery)?;
        Ok(Self { subquery: Arc::new(subquery), facts, ..self.clone() })
    }

    /// Placeholders in the subquery that this does not give a value to.
    fn free_placeholders(&self) -> impl Iterator<Item = &String> {
        let bound = |id: &String| self.outer_values.iter().any(|outer| outer.placeholder == *id);
        self.facts.placeholders.iter().filter(move |id| !bound(id))
    }

    /// As a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }

    /// How many columns are added to the input's.
    pub fn output_count(&self) -> usize {
        self.schema.fields().len() - self.input.schema().fields().len()
    }

    /// The schema that `comparison` is over: the operands as columns `left0`, `left1` …, then the subquery's columns.
    pub fn comparison_schema(operands: &[arrow::datatypes::DataType], subquery: &DFSchema) -> Result<DFSchema> {
        let fields = operands
            .iter()
            .enumerate()
            .map(|(ordinal, data_type)| {
                (None, Arc::new(arrow::datatypes::Field::new(operand_name(ordinal), data_type.clone(), true)))
            })
            .collect();
        DFSchema::new_with_metadata(fields, HashMap::new())?.join(subquery)
    }
}

/// The name of an operand's column in [`Apply::comparison_schema`].
pub fn operand_name(ordinal: usize) -> String {
    format!("left{ordinal}")
}

/// Puts literals in place of placeholders, in subqueries of subqueries too.
pub fn substitute(plan: LogicalPlan, values: &HashMap<String, ScalarValue>) -> Result<LogicalPlan> {
    if values.is_empty() {
        return Ok(plan);
    }
    plan.transform_up(|plan| {
        let plan = plan.map_expressions(|expr| {
            expr.transform_up(|expr| match &expr {
                Expr::Placeholder(placeholder) => match values.get(&placeholder.id) {
                    Some(value) => Ok(Transformed::yes(Expr::Literal(value.clone(), None))),
                    None => Ok(Transformed::no(expr)),
                },
                _ => Ok(Transformed::no(expr)),
            })
        })?;
        let Some(apply) = Apply::of(&plan.data) else { return Ok(plan) };
        if !apply.facts.placeholders.iter().any(|id| values.contains_key(id)) {
            return Ok(plan);
        }
        let with_values = |plan: &Arc<LogicalPlan>| with_stack(|| substitute(plan.as_ref().clone(), values));
        let mut substituted = apply.with_subquery(with_values(&apply.subquery)?)?;
        substituted.written = apply.written.as_ref().map(with_values).transpose()?.map(Arc::new);
        Ok(Transformed::yes(substituted.into_plan()))
    })
    .data()
}

impl PartialEq for Apply {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.outer_values == other.outer_values
            && self.operands == other.operands
            && self.comparison == other.comparison
            && self.schema == other.schema
            && self.input == other.input
            && self.facts.hash == other.facts.hash
            && (Arc::ptr_eq(&self.subquery, &other.subquery) || self.subquery == other.subquery)
    }
}

impl Eq for Apply {}

impl Hash for Apply {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.outer_values.hash(state);
        self.operands.hash(state);
        self.comparison.hash(state);
        self.schema.hash(state);
        self.input.hash(state);
        self.facts.hash.hash(state);
    }
}

without_order!(Apply);

impl UserDefinedLogicalNodeCore for Apply {
    fn name(&self) -> &str {
        "Apply"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.outer_values.iter().map(|outer| outer.value.clone()).chain(self.operands.iter().cloned()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Apply: kind={:?}", self.kind)?;
        if !self.outer_values.is_empty() {
            let values: Vec<_> =
                self.outer_values.iter().map(|outer| format!("{}={}", outer.placeholder, outer.value)).collect();
            write!(f, ", outer=[{}]", values.join(", "))?;
        }
        if let Some(comparison) = &self.comparison {
            let operands: Vec<_> = self.operands.iter().map(ToString::to_string).collect();
            write!(f, ", operands=[{}], comparison={comparison}", operands.join(", "))?;
        }
        let subquery = self.subquery.display_indent().to_string().replace('\n', "; ");
        write!(f, ", subquery=({subquery})")
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else {
            return datafusion::common::internal_err!("Apply has one input");
        };
        let mut exprs = exprs.into_iter();
        let outer_values = self
            .outer_values
            .iter()
            .zip(exprs.by_ref())
            .map(|(outer, value)| OuterValue { placeholder: outer.placeholder.clone(), value })
            .collect();
        let operands = exprs.collect();
        self.over(input, outer_values, operands)
    }

    /// Conditions on the input's own columns may be met before the subquery runs.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let added = self.input.schema().fields().len()..self.schema.fields().len();
        added.map(|ordinal| self.schema.field(ordinal).name().clone()).collect()
    }

    fn supports_limit_pushdown(&self) -> bool {
        // Every kind but the lateral joins gives a row for a row.
        !matches!(self.kind, ApplyKind::Lateral | ApplyKind::LeftLateral)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let input_schema = self.input.schema();
        let mut needed: Vec<usize> =
            output_columns.iter().copied().filter(|ordinal| *ordinal < input_schema.fields().len()).collect();
        for expr in self.expressions() {
            for column in expr.column_refs() {
                needed.push(input_schema.maybe_index_of_column(column)?);
            }
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
