//! SUM and AVG: exact for integers and decimals.
//!
//! Sums are kept in 128 bits where no number of rows that fits a disk can overflow them (integers, decimals of up to 27
//! digits), else in 256 bits; doubles are summed as doubles.

use super::codec::{decode_value, encode_value, take};
use crate::arrow_map::{ValueArrayBuilder, decimal_type, value_to_scalar};
use crate::expr::datafusion_error;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Decimal256Array, Float64Array,
    Int64Array, PrimitiveArray,
};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type};
use arrow_buffer::i256;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{Decimal, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Most digits of decimals that are summed in 128 bits.
const NARROW_DIGITS_MAX: u8 = 27;

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumInput {
    /// Integers of either sign.
    Integer,
    /// Decimals.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Doubles.
    Double,
}

/// The kernel of both.
#[derive(Debug)]
pub struct SumKernel {
    /// What is summed.
    pub input: SumInput,
    /// AVG.
    pub average: bool,
    /// The result.
    pub result: SqlType,
}

impl SumKernel {
    fn scale(&self) -> u8 {
        match self.input {
            SumInput::Decimal { scale, .. } => scale,
            _ => 0,
        }
    }

    /// Whether sums are kept in 128 bits.
    pub fn is_narrow(&self) -> bool {
        match self.input {
            SumInput::Integer => true,
            SumInput::Decimal { precision, .. } => precision <= NARROW_DIGITS_MAX,
            SumInput::Double => false,
        }
    }

    /// Whether the sum is exact, so that rows can be taken out again.
    pub fn is_exact(&self) -> bool {
        self.input != SumInput::Double
    }

    /// The Arrow type of a partial sum.
    pub fn state_type(&self) -> DataType {
        let scale = self.scale() as i8;
        match self.input {
            SumInput::Double => DataType::Float64,
            _ if self.is_narrow() => DataType::Decimal128(38, scale),
            _ => DataType::Decimal256(76, scale),
        }
    }

    fn sums(&self) -> Sums {
        match self.input {
            SumInput::Double => Sums::Double(Vec::new()),
            _ if self.is_narrow() => Sums::Narrow(Vec::new()),
            _ => Sums::Wide(Vec::new()),
        }
    }

    /// The states of many groups.
    pub fn groups_accumulator(&self, context: &StatementContext) -> SumGroups {
        SumGroups {
            average: self.average,
            result: self.result.clone(),
            scale: self.scale(),
            increment: context.settings.div_precision_increment,
            state_type: self.state_type(),
            sums: self.sums(),
            counts: Vec::new(),
        }
    }

    /// The state of one group.
    pub fn datafusion_accumulator(&self, context: &StatementContext) -> SumOne {
        let mut groups = self.groups_accumulator(context);
        groups.resize(1);
        SumOne { groups }
    }
}

impl AggregateKernel for SumKernel {
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        let mut groups = self.groups_accumulator(&context);
        groups.resize(1);
        Box::new(SumRows { groups })
    }
}

#[derive(Debug)]
enum Sums {
    Narrow(Vec<i128>),
    Wide(Vec<i256>),
    Double(Vec<f64>),
}

/// The sums and counts of groups.
#[derive(Debug)]
pub struct SumGroups {
    average: bool,
    result: SqlType,
    scale: u8,
    increment: u8,
    state_type: DataType,
    sums: Sums,
    counts: Vec<i64>,
}

/// Calls `f` with group and value of each row that counts.
fn for_each_row<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    groups: Groups<'_>,
    filter: Option<&BooleanArray>,
    mut f: impl FnMut(usize, T::Native),
) {
    match (groups, values.null_count(), filter) {
        (Groups::Of(groups), 0, None) => {
            groups.iter().zip(values.values()).for_each(|(group, value)| f(*group, *value));
        }
        (Groups::One, 0, None) => values.values().iter().for_each(|value| f(0, *value)),
        (groups, _, filter) => {
            for row in 0..values.len() {
                let counts =
                    !values.is_null(row) && filter.is_none_or(|filter| !filter.is_null(row) && filter.value(row));
                if counts {
                    f(groups.at(row), values.value(row));
                }
            }
        }
    }
}

/// Sign and count of a row that is added, and of one that is taken out.
const ADDED: (i8, i64) = (1, 1);
/// See [`ADDED`].
const TAKEN_OUT: (i8, i64) = (-1, -1);

#[derive(Clone, Copy)]
enum Groups<'a> {
    One,
    Of(&'a [usize]),
}

impl Groups<'_> {
    fn at(self, row: usize) -> usize {
        match self {
            Groups::One => 0,
            Groups::Of(groups) => groups[row],
        }
    }
}

impl SumGroups {
    fn resize(&mut self, count: usize) {
        match &mut self.sums {
            Sums::Narrow(sums) => sums.resize(count, 0),
            Sums::Wide(sums) => sums.resize(count, i256::ZERO),
            Sums::Double(sums) => sums.resize(count, 0.0),
        }
        self.counts.resize(count, 0);
    }

    /// Adds rows, each of which counts `step`, or with `sign` −1 takes them out.
    fn add(
        &mut self,
        values: &ArrayRef,
        groups: Groups<'_>,
        filter: Option<&BooleanArray>,
        (sign, step): (i8, i64),
    ) -> Result<()> {
        let counts = &mut self.counts;
        match (&mut self.sums, values.data_type()) {
            (_, DataType::Null) => {}
            (Sums::Narrow(sums), DataType::Int64) => {
                for_each_row(values.as_primitive::<Int64Type>(), groups, filter, |group, value| {
                    sums[group] += i128::from(value) * i128::from(sign);
                    counts[group] += step;
                });
            }
            (Sums::Narrow(sums), DataType::UInt64) => {
                for_each_row(values.as_primitive::<UInt64Type>(), groups, filter, |group, value| {
                    sums[group] += i128::from(value) * i128::from(sign);
                    counts[group] += step;
                });
            }
            (Sums::Narrow(sums), DataType::Decimal128(..)) => {
                for_each_row(values.as_primitive::<Decimal128Type>(), groups, filter, |group, value| {
                    sums[group] = sums[group].wrapping_add(value.wrapping_mul(i128::from(sign)));
                    counts[group] += step;
                });
            }
            (Sums::Wide(sums), DataType::Decimal128(..)) => {
                for_each_row(values.as_primitive::<Decimal128Type>(), groups, filter, |group, value| {
                    let value = i256::from_i128(value);
                    sums[group] =
                        if sign < 0 { sums[group].wrapping_sub(value) } else { sums[group].wrapping_add(value) };
                    counts[group] += step;
                });
            }
            (Sums::Wide(sums), DataType::Decimal256(..)) => {
                for_each_row(values.as_primitive::<Decimal256Type>(), groups, filter, |group, value| {
                    sums[group] =
                        if sign < 0 { sums[group].wrapping_sub(value) } else { sums[group].wrapping_add(value) };
                    counts[group] += step;
                });
            }
            (Sums::Double(sums), DataType::Float64) => {
                for_each_row(values.as_primitive::<Float64Type>(), groups, filter, |group, value| {
                    sums[group] += value;
                    counts[group] += step;
                });
            }
            (_, other) => return datafusion::common::internal_err!("a sum of {other}"),
        }
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: Groups<'_>) -> Result<()> {
        let [partial_sums, partial_counts] = states else {
            return datafusion::common::internal_err!("a state of another aggregate");
        };
        self.add(partial_sums, groups, None, (1, 0))?;
        let counts = &mut self.counts;
        for_each_row(partial_counts.as_primitive::<Int64Type>(), groups, None, |group, count| {
            counts[group] += count;
        });
        Ok(())
    }

    fn value(&self, group: usize) -> Value {
        let count = self.counts[group];
        if count == 0 {
            return Value::Null;
        }
        let unscaled = match &self.sums {
            Sums::Double(sums) if self.average => return Value::Double(sums[group] / count as f64),
            Sums::Double(sums) => return Value::Double(sums[group]),
            Sums::Narrow(sums) => i256::from_i128(sums[group]),
            Sums::Wide(sums) => sums[group],
        };
        let sum = Decimal::new(unscaled, self.scale);
        let SqlType::Decimal { precision, scale, .. } = self.result else { return Value::Decimal(sum) };
        let result = if self.average {
            let count = Decimal::from_i128(i128::from(count), 0);
            match sum.checked_div(count, self.increment) {
                Some(quotient) => quotient,
                None => return Value::Null,
            }
        } else {
            sum
        };
        Value::Decimal(result.fit(precision, scale).value)
    }

    /// The sums as they are, where the result has their digits and holds each of them.
    fn exact_sums(&self) -> Option<ArrayRef> {
        let (Sums::Narrow(sums), SqlType::Decimal { precision, scale, .. }) = (&self.sums, &self.result) else {
            return None;
        };
        if self.average || *scale != self.scale {
            return None;
        }
        // A type of more than 38 digits holds all that 128 bits do.
        let limit = 10_i128.checked_pow(u32::from(*precision)).map_or(u128::MAX, i128::unsigned_abs);
        if sums.iter().any(|sum| sum.unsigned_abs() >= limit) {
            return None;
        }
        let nulls = self.counts.contains(&0).then(|| self.counts.iter().map(|count| *count != 0).collect());
        Some(match decimal_type(*precision, *scale) {
            wide @ DataType::Decimal256(..) => {
                let values: Vec<i256> = sums.iter().map(|sum| i256::from_i128(*sum)).collect();
                Arc::new(Decimal256Array::new(values.into(), nulls).with_data_type(wide))
            }
            narrow => Arc::new(Decimal128Array::new(sums.clone().into(), nulls).with_data_type(narrow)),
        })
    }

    fn take_first(&mut self, emit: EmitTo) -> SumGroups {
        let sums = match &mut self.sums {
            Sums::Narrow(sums) => Sums::Narrow(emit.take_needed(sums)),
            Sums::Wide(sums) => Sums::Wide(emit.take_needed(sums)),
            Sums::Double(sums) => Sums::Double(emit.take_needed(sums)),
        };
        SumGroups {
            average: self.average,
            result: self.result.clone(),
            scale: self.scale,
            increment: self.increment,
            state_type: self.state_type.clone(),
            sums,
            counts: emit.take_needed(&mut self.counts),
        }
    }

    fn into_state(self) -> Result<Vec<ArrayRef>> {
        let sums: ArrayRef = match self.sums {
            Sums::Narrow(sums) => Arc::new(Decimal128Array::from_iter_values(sums).with_data_type(self.state_type)),
            Sums::Wide(sums) => Arc::new(Decimal256Array::from_iter_values(sums).with_data_type(self.state_type)),
            Sums::Double(sums) => Arc::new(Float64Array::from(sums)),
        };
        Ok(vec![sums, Arc::new(Int64Array::from(self.counts))])
    }
}

impl GroupsAccumulator for SumGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        match values.first() {
            Some(values) => self.add(values, Groups::Of(group_indices), opt_filter, ADDED),
            None => Ok(()),
        }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let taken = self.take_first(emit_to);
        if let Some(sums) = taken.exact_sums() {
            return Ok(sums);
        }
        let mut builder = ValueArrayBuilder::new(&self.result, taken.counts.len());
        for group in 0..taken.counts.len() {
            builder.append(&taken.value(group)).map_err(datafusion_error)?;
        }
        Ok(builder.finish())
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.take_first(emit_to).into_state()
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.resize(total_num_groups);
        self.merge(values, Groups::Of(group_indices))
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let count = values.first().map_or(0, |values| values.len());
        let mut rows = SumGroups {
            average: self.average,
            result: self.result.clone(),
            scale: self.scale,
            increment: self.increment,
            state_type: self.state_type.clone(),
            sums: match &self.sums {
                Sums::Narrow(_) => Sums::Narrow(Vec::new()),
                Sums::Wide(_) => Sums::Wide(Vec::new()),
                Sums::Double(_) => Sums::Double(Vec::new()),
            },
            counts: Vec::new(),
        };
        let groups: Vec<usize> = (0..count).collect();
        rows.update_batch(values, &groups, opt_filter, count)?;
        rows.into_state()
    }

    fn size(&self) -> usize {
        let sums = match &self.sums {
            Sums::Narrow(sums) => sums.capacity() * size_of::<i128>(),
            Sums::Wide(sums) => sums.capacity() * size_of::<i256>(),
            Sums::Double(sums) => sums.capacity() * size_of::<f64>(),
        };
        size_of::<Self>() + sums + self.counts.capacity() * size_of::<i64>()
    }
}

/// The sum of one group.
#[derive(Debug)]
pub struct SumOne {
    groups: SumGroups,
}

impl Accumulator for SumOne {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.first().map_or(Ok(()), |values| self.groups.add(values, Groups::One, None, ADDED))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.first().map_or(Ok(()), |values| self.groups.add(values, Groups::One, None, TAKEN_OUT))
    }

    fn supports_retract_batch(&self) -> bool {
        !matches!(self.groups.sums, Sums::Double(_))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        value_to_scalar(&self.groups.value(0), &self.groups.result).map_err(datafusion_error)
    }

    fn size(&self) -> usize {
        self.groups.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let taken = self.groups.take_first(EmitTo::All);
        self.groups.resize(1);
        taken.into_state()?.iter().map(|array| ScalarValue::try_from_array(array, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.groups.merge(states, Groups::One)
    }
}

/// The sum of one group, row by row.
#[derive(Debug)]
struct SumRows {
    groups: SumGroups,
}

impl SumRows {
    fn add(&mut self, value: &Value) {
        let number = match value {
            Value::Int(value) => i256::from_i128(i128::from(*value)),
            Value::UInt(value) => i256::from_i128(i128::from(*value)),
            Value::Decimal(value) => match value.to_i256_at(self.groups.scale) {
                Some(value) => value,
                None => return,
            },
            Value::Double(value) => {
                if let Sums::Double(sums) = &mut self.groups.sums {
                    sums[0] += value;
                    self.groups.counts[0] += 1;
                }
                return;
            }
            _ => return,
        };
        match &mut self.groups.sums {
            Sums::Narrow(sums) => sums[0] += number.as_i128(),
            Sums::Wide(sums) => sums[0] = sums[0].wrapping_add(number),
            Sums::Double(_) => return,
        }
        self.groups.counts[0] += 1;
    }
}

impl ValueAccumulator for SumRows {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        if let Some(value) = arguments.first() {
            self.add(value);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        Ok(self.groups.value(0))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let sum = match &self.groups.sums {
            Sums::Narrow(sums) => Value::Decimal(Decimal::from_i128(sums[0], self.groups.scale)),
            Sums::Wide(sums) => Value::Decimal(Decimal::new(sums[0], self.groups.scale)),
            Sums::Double(sums) => Value::Double(sums[0]),
        };
        let mut state = Vec::new();
        encode_value(&sum, &mut state);
        state.extend_from_slice(&self.groups.counts[0].to_le_bytes());
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let sum = decode_value(&mut state)?;
        let count = i64::from_le_bytes(take(&mut state)?);
        let before = self.groups.counts[0];
        self.add(&sum);
        self.groups.counts[0] = before + count;
        Ok(())
    }

    fn size(&self) -> usize {
        self.groups.size()
    }
}
