//! A bound call as a DataFusion scalar function.

use super::repeats::Repeats;
use super::{BoundExpr, Call, ExecutionSlot, LongLiteralUdf, datafusion_error};
use crate::arrow_map::{
    ValueArrayBuilder, array_of_value, charged, field_ref, scalar_to_value, value_at, value_to_scalar,
};
use arrow::array::{Array, ArrayRef, BinaryViewBuilder};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility as DataFusionVolatility,
};
use rustc_hash::FxHasher;
use squall_accounting::{Charge, GrowingCharge};
use squall_registry::{ExprType, Volatility};
use squall_statement_context::{StatementContext, off_pool};
use squall_types::{SqlResult, SqlType, Value};
use std::any::Any;
use std::fmt::{self, Debug, Formatter, Write};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, OnceLock};

/// Values of more bytes are copied as seldom as can be.
const LONG_BYTES: usize = 64 << 10;

/// The name of the argument that tells DataFusion that a call differs from row to row; EXPLAIN leaves it out.
pub const EACH_ROW_NAME: &str = "each_row";

/// A call with the slot that its statement comes from.
pub struct CallUdf {
    call: Arc<Call>,
    slot: Arc<ExecutionSlot>,
    arg_types: Vec<SqlType>,
    return_field: FieldRef,
    signature: Signature,
    column_name: ColumnName,
    /// Whether the call has lost an argument that holds a huge literal: DataFusion has it.
    is_stripped: bool,
}

/// Whether an argument is a huge literal, or a call that is over one.
fn holds_huge_literal(arg: &Expr) -> bool {
    let Expr::ScalarFunction(function) = arg else { return false };
    LongLiteralUdf::of(&function.func).is_some_and(LongLiteralUdf::is_huge)
        || CallUdf::of(&function.func).is_some_and(|udf| udf.is_stripped)
}

/// The name that DataFusion gives to a column of a call's values. It asks for it all the time, and each call's name has those of
/// its arguments in it: it is made once, and no longer than names that people give.
#[derive(Debug, Default)]
pub(super) struct ColumnName(OnceLock<Box<str>>);

impl ColumnName {
    /// Most bytes of a name that tells all there is.
    const BYTES_MAX: usize = 256;

    /// The name of `function(args)`.
    pub fn get(&self, function: &str, args: &[Expr]) -> String {
        self.0.get_or_init(|| Self::make(function, args).into()).to_string()
    }

    fn make(function: &str, args: &[Expr]) -> String {
        let mut name = format!("{function}(");
        for (at, arg) in args.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(name, "{}{}", if at > 0 { "," } else { "" }, arg.schema_name());
        }
        name.push(')');
        if name.len() <= Self::BYTES_MAX {
            return name;
        }
        // Two hashes of different beginnings: as good as never the same for two names.
        let digest = |seed: u8| {
            let mut hasher = FxHasher::default();
            (seed, &name).hash(&mut hasher);
            hasher.finish()
        };
        let (first, second) = (digest(0), digest(1));
        name.truncate(name.floor_char_boundary(Self::BYTES_MAX / 2));
        let _ = write!(name, "... {first:016x}{second:016x})");
        name
    }
}

impl CallUdf {
    /// The call that a function is; `None` for other functions.
    pub fn of(function: &ScalarUDF) -> Option<&CallUdf> {
        (function.inner().as_ref() as &dyn Any).downcast_ref()
    }

    /// Wraps a call whose arguments are `args` for DataFusion. Of arguments with a huge literal the call keeps only the types.
    pub fn over(args: &[Expr], call: &Arc<Call>, slot: Arc<ExecutionSlot>) -> Self {
        if !args.iter().any(holds_huge_literal) {
            return Self::new(call.clone(), slot);
        }
        let kept = |(arg, converted): (&BoundExpr, &Expr)| match holds_huge_literal(converted) {
            true => BoundExpr::Literal(Value::Null, arg.ty()),
            false => arg.clone(),
        };
        let args = call.args.iter().zip(args).map(kept).collect();
        Self { is_stripped: true, ..Self::new(Arc::new(Call { args, ..(**call).clone() }), slot) }
    }

    /// Wraps a call.
    fn new(call: Arc<Call>, slot: Arc<ExecutionSlot>) -> Self {
        let volatility = match call.volatility {
            Volatility::Volatile => DataFusionVolatility::Volatile,
            // DataFusion folds stable calls when it plans, so a plan with one is never kept.
            Volatility::Stable => DataFusionVolatility::Stable,
            Volatility::Immutable => DataFusionVolatility::Immutable,
        };
        let signature = match call.args.len() {
            0 => Signature::new(TypeSignature::Nullary, volatility),
            count => Signature::any(count + usize::from(changes_with_rows(&call)), volatility),
        };
        let arg_types = call.args.iter().map(super::BoundExpr::sql_type).collect();
        // A kernel may give NULL for more reasons than its type can say (a result too long to send, a date that is none).
        let field_type = ExprType { nullable: true, ..call.ty.clone() };
        let return_field = field_ref(&call.name, &field_type);
        Self { call, slot, arg_types, return_field, signature, column_name: ColumnName::default(), is_stripped: false }
    }

    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    fn run(&self, args: &[ColumnarValue], row_count: usize) -> SqlResult<ColumnarValue> {
        let context = self.slot.context();
        let return_type = &self.call.ty.sql_type;
        let constant = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        if constant && self.call.volatility != Volatility::Volatile {
            let values = self.scalar_values(args, &context)?;
            let value = self.call.kernel.eval(&values.values, &context)?;
            // A scalar is a copy of an array's element.
            if row_count == 1 && value.heap_bytes() > LONG_BYTES {
                return Ok(ColumnarValue::Array(array_of_value(&value, return_type, 1)?));
            }
            return Ok(ColumnarValue::Scalar(value_to_scalar(&value, return_type)?));
        }
        let is_external = self.call.kernel.is_external();
        if (!constant || is_external)
            && let Some(array) = self.run_vectorised(args, row_count, &context)
        {
            // A vectorised form that fails leaves it to the row-wise one to say which row failed and how, unless rows would be
            // evaluated twice.
            let array = match array {
                Err(error) if is_external => return Err(error),
                other => other,
            };
            if let Ok(array) = array {
                let mut charge = GrowingCharge::new(&context.memory);
                charge.grow(array.get_buffer_memory_size())?;
                return Ok(ColumnarValue::Array(charged(array, charge)?));
            }
        }
        let many = || if args.is_empty() { self.call.kernel.eval_rows(row_count, &context) } else { None };
        let run = || match many() {
            Some(array) => {
                let array = array?;
                let mut charge = GrowingCharge::new(&context.memory);
                charge.grow(array.get_buffer_memory_size())?;
                charged(array, charge)
            }
            None => self.run_row_wise(args, row_count, &context),
        };
        // A thread is given away once for all rows.
        let array = if self.call.kernel.waits() { off_pool(run)? } else { run() };
        array.map(ColumnarValue::Array)
    }

    fn run_vectorised(
        &self,
        args: &[ColumnarValue],
        row_count: usize,
        context: &StatementContext,
    ) -> Option<SqlResult<ArrayRef>> {
        if !self.call.kernel.has_eval_arrays() {
            return None;
        }
        let arrays = args.iter().map(|arg| array_of(arg, row_count)).collect::<Result<Vec<_>>>().ok()?;
        self.call.kernel.eval_arrays(&arrays, context)
    }

    fn run_row_wise(
        &self,
        args: &[ColumnarValue],
        row_count: usize,
        context: &StatementContext,
    ) -> SqlResult<ArrayRef> {
        let mut builder = ValueArrayBuilder::new(&self.call.ty.sql_type, row_count);
        let mut values = self.scalar_values(args, context)?;
        let mut charge = GrowingCharge::new(&context.memory);
        let kernel = &self.call.kernel;
        let is_pure = self.call.volatility != Volatility::Volatile && !kernel.is_external() && !kernel.waits();
        let mut repeats = if is_pure { Repeats::of(args, row_count) } else { None };
        for row in 0..row_count {
            // A row may take a while: its values may be megabytes.
            context.kill.check()?;
            if repeats.as_mut().is_some_and(|repeats| repeats.repeats(row)) {
                continue;
            }
            let warnings = context.diagnostics.count();
            for (position, arg) in args.iter().enumerate() {
                if let ColumnarValue::Array(array) = arg {
                    values.set(position, value_at(array, row, &self.arg_types[position])?)?;
                }
            }
            let value = self.call.kernel.eval(&values.values, context)?;
            charge.grow(value.heap_bytes())?;
            builder.append(&value)?;
            if let Some(repeats) = &mut repeats {
                repeats.add(row, context.diagnostics.count() != warnings);
            }
        }
        let results = match repeats {
            Some(repeats) => repeats.of_rows(builder.finish())?,
            None => builder.finish(),
        };
        charged(results, charge)
    }

    /// The values of scalar arguments, with NULL in the places of arrays.
    fn scalar_values(&self, args: &[ColumnarValue], context: &StatementContext) -> SqlResult<ArgumentValues> {
        let mut values =
            ArgumentValues { values: vec![Value::Null; args.len()], bytes: 0, charge: context.memory.charge() };
        for (position, (arg, sql_type)) in args.iter().zip(&self.arg_types).enumerate() {
            if let ColumnarValue::Scalar(scalar) = arg {
                values.set(position, scalar_to_value(scalar, sql_type)?)?;
            }
        }
        Ok(values)
    }
}

/// The arguments of one row. Long ones are charged: a call may have many of them.
struct ArgumentValues {
    values: Vec<Value>,
    bytes: usize,
    charge: Charge,
}

impl ArgumentValues {
    fn set(&mut self, position: usize, value: Value) -> SqlResult<()> {
        let place = &mut self.values[position];
        let (old, new) = (place.heap_bytes(), value.heap_bytes());
        *place = value;
        self.bytes = self.bytes - old + new;
        if old.max(new) > LONG_BYTES { self.charge.resize(self.bytes) } else { Ok(()) }
    }
}

/// Whether a call has one argument more for DataFusion, which takes a call of constants for a constant, even if it is volatile:
/// `ORDER BY RAND(10)` would sort nothing.
pub(super) fn changes_with_rows(call: &Call) -> bool {
    call.volatility == Volatility::Volatile && !call.args.is_empty()
}

/// That argument.
pub(super) fn each_row() -> Expr {
    static EACH_ROW: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(EachRowUdf)));
    Expr::ScalarFunction(ScalarFunction::new_udf(EACH_ROW.clone(), Vec::new()))
}

/// A function that DataFusion takes for another value in each row. Nobody reads it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EachRowUdf;

impl ScalarUDFImpl for EachRowUdf {
    fn name(&self) -> &str {
        EACH_ROW_NAME
    }

    fn signature(&self) -> &Signature {
        static SIGNATURE: LazyLock<Signature> =
            LazyLock::new(|| Signature::new(TypeSignature::Nullary, DataFusionVolatility::Volatile));
        &SIGNATURE
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Null))
    }
}

/// An argument as an array. A constant byte string is there once, however many rows have it.
fn array_of(arg: &ColumnarValue, row_count: usize) -> Result<ArrayRef> {
    let ColumnarValue::Scalar(ScalarValue::BinaryView(Some(bytes))) = arg else { return arg.to_array(row_count) };
    let mut builder = BinaryViewBuilder::with_capacity(row_count);
    let (length, block) = (bytes.len() as u32, builder.append_block(bytes.as_slice().into()));
    for _ in 0..row_count {
        builder.try_append_view(block, 0, length)?;
    }
    Ok(Arc::new(builder.finish()))
}

impl ScalarUDFImpl for CallUdf {
    fn name(&self) -> &str {
        &self.call.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.column_name.get(self.name(), args.get(..self.arg_types.len()).unwrap_or(args)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.return_field.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        // Planning asks this of every call over and over: what takes long asks it most.
        self.slot.check_kill().map_err(datafusion_error)?;
        // A join's equality lets DataFusion put one column in the place of another, which may be NULL where the first
        // is not.
        if !self.return_field.is_nullable() && args.arg_fields.iter().any(|field| field.is_nullable()) {
            return Ok(Arc::new(self.return_field.as_ref().clone().with_nullable(true)));
        }
        Ok(self.return_field.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(own) = args.args.get(..self.arg_types.len()) else {
            return datafusion::common::internal_err!("{} called with {} arguments", self.name(), args.args.len());
        };
        self.run(own, args.number_rows).map_err(|error| datafusion_error(self.call.explain(error)))
    }
}

impl Debug for CallUdf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallUdf").field("name", &self.call.name).field("kernel", &self.call.kernel).finish()
    }
}

/// Equal when they do the same with equal arguments; the arguments themselves are compared by DataFusion.
impl PartialEq for CallUdf {
    fn eq(&self, other: &Self) -> bool {
        self.call.fingerprint == other.call.fingerprint
            && self.call.ty == other.call.ty
            && self.call.volatility == other.call.volatility
            && self.arg_types == other.arg_types
    }
}

impl Eq for CallUdf {}

impl Hash for CallUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.fingerprint.hash(state);
        self.call.ty.hash(state);
    }
}

/// A reader of one of the statement's parameters.
pub struct ParameterUdf {
    index: u32,
    name: String,
    field: FieldRef,
    sql_type: SqlType,
    slot: Arc<ExecutionSlot>,
    signature: Signature,
}

impl ParameterUdf {
    /// The parameter with this number, from 0, and its type.
    pub fn new(index: u32, ty: &ExprType, slot: Arc<ExecutionSlot>) -> Self {
        let name = format!("${}", u64::from(index) + 1);
        // The same for all rows of a run, so conditions with it may be moved. What would fold it finds no value while a plan is made.
        let signature = Signature::new(TypeSignature::Nullary, DataFusionVolatility::Stable);
        Self { index, field: field_ref(&name, ty), name, sql_type: ty.sql_type.clone(), slot, signature }
    }

    /// The parameter that a function reads, if it is such a reader.
    pub fn of(udf: &ScalarUDF) -> Option<&ParameterUdf> {
        (udf.inner().as_ref() as &dyn Any).downcast_ref()
    }

    /// Its number, from 0.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The value that it has now, also while a plan is made. The plan must not keep it.
    ///
    /// # Errors
    /// When the statement has no such parameter: a defect.
    pub fn value(&self) -> Result<ScalarValue> {
        let parameters = self.slot.parameters();
        let Some(value) = parameters.get(self.index as usize) else {
            return datafusion::common::exec_err!("parameter {} was not given", self.name);
        };
        value_to_scalar(value, &self.sql_type).map_err(datafusion_error)
    }
}

impl ScalarUDFImpl for ParameterUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(self.field.clone())
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // DataFusion's list expression, for one, evaluates its items when it is made, and keeps their values if there are any.
        if self.slot.is_planning() {
            return datafusion::common::exec_err!("parameter {} has no value before the plan runs", self.name);
        }
        Ok(ColumnarValue::Scalar(self.value()?))
    }
}

impl Debug for ParameterUdf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterUdf").field("index", &self.index).field("sql_type", &self.sql_type).finish()
    }
}

impl PartialEq for ParameterUdf {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && self.sql_type == other.sql_type
    }
}

impl Eq for ParameterUdf {}

impl Hash for ParameterUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}
