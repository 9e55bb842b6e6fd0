//! VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP: Welford's running mean and sum of squares.

use super::codec::take;
use crate::error::datafusion_error;
use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, Float64Array};
use arrow::datatypes::Float64Type;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The kernel of the four.
#[derive(Debug)]
pub struct VarianceKernel {
    /// Divide by the count less one.
    pub sample: bool,
    /// Take the square root.
    pub deviation: bool,
}

impl VarianceKernel {
    /// The states of many groups.
    pub fn groups_accumulator(&self) -> VarianceGroups {
        VarianceGroups { empty: self.empty(), groups: Vec::new() }
    }

    fn empty(&self) -> Variance {
        Variance { sample: self.sample, deviation: self.deviation, count: 0, mean: 0.0, squares: 0.0 }
    }
}

impl AggregateKernel for VarianceKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(self.empty())
    }
}

#[derive(Clone, Copy, Debug)]
struct Variance {
    sample: bool,
    deviation: bool,
    count: u64,
    mean: f64,
    squares: f64,
}

impl Variance {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let delta = value - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (value - self.mean);
    }

    fn result(&self) -> Option<f64> {
        let divisor = if self.sample { self.count.saturating_sub(1) } else { self.count };
        let variance = self.squares / divisor as f64;
        (divisor > 0).then(|| if self.deviation { variance.sqrt() } else { variance })
    }

    fn to_state(self) -> Vec<u8> {
        let mut state = self.count.to_le_bytes().to_vec();
        state.extend_from_slice(&self.mean.to_le_bytes());
        state.extend_from_slice(&self.squares.to_le_bytes());
        state
    }

    fn add_state(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let count = u64::from_le_bytes(take(&mut state)?);
        let (mean, squares) = (f64::from_le_bytes(take(&mut state)?), f64::from_le_bytes(take(&mut state)?));
        if count == 0 {
            return Ok(());
        }
        let total = self.count + count;
        let delta = mean - self.mean;
        let (own, other, all) = (self.count as f64, count as f64, total as f64);
        self.squares += squares + delta * delta * own * other / all;
        self.mean += delta * other / all;
        self.count = total;
        Ok(())
    }
}

impl ValueAccumulator for Variance {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        if let Some(Value::Double(value)) = arguments.first() {
            self.add(*value);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        Ok(self.result().map_or(Value::Null, Value::Double))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        Ok(self.to_state())
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        self.add_state(state)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

/// The states of many groups, from arrays.
#[derive(Debug)]
pub struct VarianceGroups {
    empty: Variance,
    groups: Vec<Variance>,
}

impl VarianceGroups {
    fn taken(&mut self, emit_to: EmitTo) -> Vec<Variance> {
        emit_to.take_needed(&mut self.groups)
    }
}

fn states_of(groups: Vec<Variance>) -> Vec<ArrayRef> {
    let mut states = BinaryBuilder::new();
    groups.into_iter().for_each(|group| states.append_value(group.to_state()));
    vec![Arc::new(states.finish())]
}

/// The arguments, which the binder has made doubles.
fn doubles(values: &[ArrayRef]) -> Result<&Float64Array> {
    let doubles = values.first().and_then(|values| values.as_primitive_opt::<Float64Type>());
    doubles.ok_or_else(|| internal_datafusion_err!("variances are of doubles"))
}

impl GroupsAccumulator for VarianceGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, self.empty);
        for (row, (value, group)) in doubles(values)?.iter().zip(group_indices).enumerate() {
            let is_asked = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if let (Some(value), true, Some(group)) = (value, is_asked, self.groups.get_mut(*group)) {
                group.add(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let results = self.taken(emit_to).iter().map(Variance::result).collect::<Float64Array>();
        Ok(Arc::new(results))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(states_of(self.taken(emit_to)))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups.resize(total_num_groups, self.empty);
        let states = values.first().and_then(|values| values.as_binary_opt::<i32>());
        let states = states.ok_or_else(|| internal_datafusion_err!("states of variances are bytes"))?;
        for (state, group) in states.iter().zip(group_indices) {
            if let (Some(state), Some(group)) = (state, self.groups.get_mut(*group)) {
                group.add_state(state).map_err(datafusion_error)?;
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = doubles(values)?.len();
        let mut each = VarianceGroups { empty: self.empty, groups: Vec::new() };
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), opt_filter, rows)?;
        Ok(states_of(each.groups))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.groups.capacity() * size_of::<Variance>()
    }
}
