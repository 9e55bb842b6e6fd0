//! VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP: Welford's running mean and sum of squares.

use super::codec::take;
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

impl AggregateKernel for VarianceKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Variance { sample: self.sample, deviation: self.deviation, count: 0, mean: 0.0, squares: 0.0 })
    }
}

#[derive(Debug)]
struct Variance {
    sample: bool,
    deviation: bool,
    count: u64,
    mean: f64,
    squares: f64,
}

impl ValueAccumulator for Variance {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let Some(Value::Double(value)) = arguments.first() else { return Ok(()) };
        self.count += 1;
        let delta = value - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (value - self.mean);
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let divisor = if self.sample { self.count.saturating_sub(1) } else { self.count };
        if divisor == 0 {
            return Ok(Value::Null);
        }
        let variance = self.squares / divisor as f64;
        Ok(Value::Double(if self.deviation { variance.sqrt() } else { variance }))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = self.count.to_le_bytes().to_vec();
        state.extend_from_slice(&self.mean.to_le_bytes());
        state.extend_from_slice(&self.squares.to_le_bytes());
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
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

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
