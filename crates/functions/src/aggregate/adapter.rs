//! Aggregates that take rows, as DataFusion accumulators.

use super::call::AggregateCall;
use super::count::CountKernel;
use super::group_concat::GroupConcatKernel;
use super::min_max::ExtremeKernel;
use super::state_charge::StateCharge;
use super::variance::VarianceKernel;
use crate::arrow_map::{value_at, value_to_scalar};
use crate::expr::{BoundExpr, ExecutionSlot, datafusion_error};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, TypeSignature, Volatility,
};
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What DataFusion takes of an aggregate call, in an aggregation or a window.
#[derive(Clone, Debug)]
pub struct AggregateParts {
    /// The function.
    pub function: Arc<AggregateUDF>,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
}

impl AggregateCall {
    /// The parts that DataFusion takes: for `Expr::AggregateFunction` and for window expressions.
    pub fn parts(self: &Arc<Self>, slot: &Arc<ExecutionSlot>) -> Result<AggregateParts> {
        let mut args = self.args.iter().map(|arg| arg.to_value(slot)).collect::<Result<Vec<_>>>()?;
        let kernel: &dyn Any = self.kernel.as_ref();
        let function = if kernel.is::<CountKernel>() && args.len() <= 1 {
            if args.is_empty() {
                args.push(datafusion::logical_expr::lit(1_i64));
            }
            count_udaf()
        } else if let Some(kernel) = kernel.downcast_ref::<ExtremeKernel>() {
            if kernel.max { max_udaf() } else { min_udaf() }
        } else {
            Arc::new(AggregateUDF::new_from_impl(KernelUdaf::new(self.clone(), slot.clone())))
        };
        Ok(AggregateParts { function, args, distinct: self.distinct })
    }

    /// The call as an expression of an aggregation.
    pub fn to_datafusion(self: &Arc<Self>, slot: &Arc<ExecutionSlot>) -> Result<Expr> {
        let AggregateParts { function, args, distinct } = self.parts(slot)?;
        Ok(Expr::AggregateFunction(AggregateFunction::new_udf(function, args, distinct, None, vec![], None)))
    }
}

/// A bound aggregate as a DataFusion aggregate function.
pub struct KernelUdaf {
    call: Arc<AggregateCall>,
    slot: Arc<ExecutionSlot>,
    arg_types: Arc<[SqlType]>,
    return_field: FieldRef,
    signature: Signature,
}

impl KernelUdaf {
    /// Wraps a call.
    pub fn new(call: Arc<AggregateCall>, slot: Arc<ExecutionSlot>) -> Self {
        let signature = match call.args.len() {
            0 => Signature::new(TypeSignature::Nullary, Volatility::Immutable),
            count => Signature::any(count, Volatility::Immutable),
        };
        let arg_types = call.args.iter().map(BoundExpr::sql_type).collect();
        let return_field = crate::arrow_map::field_ref(&call.name, &call.ty);
        Self { call, slot, arg_types, return_field, signature }
    }

    /// The bound aggregate that a function is; `None` for DataFusion's own.
    pub fn of(function: &AggregateUDF) -> Option<&KernelUdaf> {
        (function.inner().as_ref() as &dyn Any).downcast_ref()
    }

    /// The call.
    pub fn call(&self) -> &Arc<AggregateCall> {
        &self.call
    }

    /// Whether rows have to come in the same order each time.
    pub fn keeps_order(&self) -> bool {
        self.kernel().keeps_order()
    }

    /// Whether it holds for one statement alone.
    pub fn is_of_statement(&self) -> bool {
        self.kernel().is_of_statement()
    }

    fn kernel(&self) -> &dyn AggregateKernel {
        self.call.kernel.as_ref()
    }

    fn plain_concat(&self) -> Option<&GroupConcatKernel> {
        self.native::<GroupConcatKernel>().filter(|kernel| kernel.is_plain())
    }

    fn native<K: 'static>(&self) -> Option<&K> {
        (self.kernel() as &dyn Any).downcast_ref()
    }
}

impl AggregateUDFImpl for KernelUdaf {
    fn name(&self) -> &str {
        &self.call.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.return_field.data_type().clone())
    }

    fn return_field(&self, _arg_fields: &[FieldRef]) -> Result<FieldRef> {
        Ok(self.return_field.clone())
    }

    fn is_nullable(&self) -> bool {
        self.call.ty.nullable
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        // What orders its rows does so itself.
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if let Some(kernel) = self.native::<super::sum::SumKernel>() {
            return Ok(Box::new(kernel.datafusion_accumulator(&self.slot.context())));
        }
        if let Some(kernel) = self.native::<super::min_max::StringExtremeKernel>() {
            return Ok(Box::new(kernel.datafusion_accumulator()));
        }
        if let Some(kernel) = self.plain_concat() {
            return Ok(Box::new(kernel.plain_accumulator(self.slot.context())));
        }
        let context = self.slot.context();
        Ok(Box::new(RowAccumulator {
            inner: self.kernel().accumulator(context.clone()),
            charge: StateCharge::new(&context),
            context,
            arg_types: self.arg_types.clone(),
            return_type: self.call.ty.sql_type.clone(),
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if let Some(kernel) = self.native::<super::sum::SumKernel>() {
            return Ok(vec![
                Arc::new(Field::new(format_state_name(args.name, "sum"), kernel.state_type(), true)),
                Arc::new(Field::new(format_state_name(args.name, "count"), DataType::Int64, true)),
            ]);
        }
        if self.native::<super::min_max::StringExtremeKernel>().is_some() {
            return Ok(vec![Arc::new(Field::new(format_state_name(args.name, "value"), DataType::Utf8View, true))]);
        }
        let state = if self.plain_concat().is_some() { DataType::BinaryView } else { DataType::Binary };
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "state"), state, true))])
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        self.native::<super::sum::SumKernel>().is_some()
            || self.native::<VarianceKernel>().is_some()
            || self.plain_concat().is_some()
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        if let Some(kernel) = self.native::<VarianceKernel>() {
            return Ok(Box::new(kernel.groups_accumulator()));
        }
        match (self.native::<super::sum::SumKernel>(), self.plain_concat()) {
            (Some(kernel), _) => Ok(Box::new(kernel.groups_accumulator(&self.slot.context()))),
            (None, Some(kernel)) => Ok(Box::new(kernel.groups_accumulator(self.slot.context()))),
            (None, None) => datafusion::common::internal_err!("{} has no accumulator of groups", self.name()),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if let Some(kernel) = self.native::<super::sum::SumKernel>()
            && kernel.is_exact()
        {
            return self.accumulator(args);
        }
        let context = self.slot.context();
        Ok(Box::new(SlidingAccumulator {
            kernel: self.call.kernel.clone(),
            charge: StateCharge::new(&context),
            bytes: 0,
            context,
            arg_types: self.arg_types.clone(),
            return_type: self.call.ty.sql_type.clone(),
            rows: VecDeque::new(),
        }))
    }

    fn default_value(&self, _data_type: &DataType) -> Result<ScalarValue> {
        let mut none = self.kernel().accumulator(self.slot.context());
        none.evaluate().and_then(|value| value_to_scalar(&value, &self.call.ty.sql_type)).map_err(datafusion_error)
    }
}

impl Debug for KernelUdaf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelUdaf").field("name", &self.call.name).field("kernel", &self.call.kernel).finish()
    }
}

impl PartialEq for KernelUdaf {
    fn eq(&self, other: &Self) -> bool {
        self.call.fingerprint() == other.call.fingerprint()
            && self.call.ty == other.call.ty
            && self.arg_types == other.arg_types
    }
}

impl Eq for KernelUdaf {}

impl Hash for KernelUdaf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.fingerprint().hash(state);
    }
}

fn row_of(values: &[ArrayRef], row: usize, types: &[SqlType], buffer: &mut Vec<Value>) -> SqlResult<()> {
    buffer.clear();
    for (array, sql_type) in values.iter().zip(types) {
        buffer.push(value_at(array, row, sql_type)?);
    }
    Ok(())
}

struct RowAccumulator {
    inner: Box<dyn ValueAccumulator>,
    charge: StateCharge,
    context: Arc<StatementContext>,
    arg_types: Arc<[SqlType]>,
    return_type: SqlType,
}

impl RowAccumulator {
    fn update_rows(&mut self, values: &[ArrayRef]) -> SqlResult<()> {
        let count = values.first().map_or(0, |array| array.len());
        let mut row_values = Vec::with_capacity(values.len());
        for row in 0..count {
            // A row may be a document of megabytes.
            self.context.kill.check()?;
            row_of(values, row, &self.arg_types, &mut row_values)?;
            self.inner.update(&row_values)?;
            self.charge.grown(self.inner.size())?;
        }
        Ok(())
    }
}

impl RowAccumulator {
    fn result(&mut self) -> SqlResult<ScalarValue> {
        /// The value, and what the operator gets of it.
        const COPIES: usize = 2;
        self.context.kill.check()?;
        self.charge.making(self.inner.size(), COPIES)?;
        let value = self.inner.evaluate()?;
        let result = value_to_scalar(&value, &self.return_type)?;
        self.charge.gave(result.size())?;
        Ok(result)
    }
}

impl Debug for RowAccumulator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowAccumulator").field("inner", &self.inner).finish()
    }
}

impl Accumulator for RowAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.update_rows(values).map_err(datafusion_error)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.result().map_err(datafusion_error)
    }

    fn size(&self) -> usize {
        self.charge.tell(size_of::<Self>() + self.inner.size())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.charge.making(self.inner.size(), 1).map_err(datafusion_error)?;
        Ok(vec![ScalarValue::Binary(Some(self.inner.state().map_err(datafusion_error)?))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(states) = states.first().and_then(|states| states.as_binary_opt::<i32>()) else {
            return datafusion::common::internal_err!("a state of another aggregate");
        };
        for state in states.iter().flatten() {
            self.context.kill.check().map_err(datafusion_error)?;
            self.inner.merge(state).map_err(datafusion_error)?;
            self.charge.grown(self.inner.size()).map_err(datafusion_error)?;
        }
        Ok(())
    }
}

/// The aggregate of a moving window frame: keeps the frame's rows and goes through them for each result.
struct SlidingAccumulator {
    kernel: Arc<dyn AggregateKernel>,
    context: Arc<StatementContext>,
    arg_types: Arc<[SqlType]>,
    return_type: SqlType,
    rows: VecDeque<Vec<Value>>,
    /// What the rows hold.
    bytes: usize,
    charge: StateCharge,
}

impl SlidingAccumulator {
    fn result(&mut self) -> SqlResult<ScalarValue> {
        let mut accumulator = self.kernel.accumulator(self.context.clone());
        for row in &self.rows {
            self.context.kill.check()?;
            accumulator.update(row)?;
            self.charge.grown(self.bytes + accumulator.size())?;
        }
        let result = value_to_scalar(&accumulator.evaluate()?, &self.return_type)?;
        self.charge.gave(result.size())?;
        Ok(result)
    }

    fn row_bytes(row: &[Value]) -> usize {
        size_of::<Vec<Value>>() + row.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>()
    }
}

impl Debug for SlidingAccumulator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlidingAccumulator").field("kernel", &self.kernel).field("rows", &self.rows.len()).finish()
    }
}

impl Accumulator for SlidingAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let count = values.first().map_or(0, |array| array.len());
        for row in 0..count {
            let mut row_values = Vec::with_capacity(values.len());
            row_of(values, row, &self.arg_types, &mut row_values).map_err(datafusion_error)?;
            self.bytes += Self::row_bytes(&row_values);
            self.rows.push_back(row_values);
            self.charge.grown(self.bytes).map_err(datafusion_error)?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let count = values.first().map_or(0, |array| array.len());
        for row in self.rows.drain(..count.min(self.rows.len())) {
            self.bytes -= Self::row_bytes(&row);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.result().map_err(datafusion_error)
    }

    fn size(&self) -> usize {
        self.charge.tell(size_of::<Self>() + self.bytes)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        datafusion::common::internal_err!("a window frame has no partial state")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        datafusion::common::internal_err!("a window frame has no partial state")
    }
}
