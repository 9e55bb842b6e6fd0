//! `MEDIAN` of FastBit's queries, an aggregate that SQL lacks.

use super::DATABASE;
use squall_registry::{AggregateFunction, AggregateKernel, Argument, BoundAggregate, ExprType, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::convert::number::value_to_f64;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

const NAME: &str = "MEDIAN";

/// The middle one of a group's numbers in their order, or the mean of the two middle ones: a DOUBLE, NULL of no numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Median;

impl AggregateFunction for Median {
    fn name(&self) -> &str {
        NAME
    }

    fn database(&self) -> Option<&str> {
        Some(DATABASE)
    }

    fn bind(&self, arguments: &[Argument<'_>], distinct: bool, _: &StatementContext) -> SqlResult<BoundAggregate> {
        if arguments.len() != 1 || distinct {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&NAME]));
        }
        let result = ExprType::numeric(SqlType::DOUBLE, true);
        Ok(BoundAggregate { result, kernel: Arc::new(Median) })
    }
}

impl AggregateKernel for Median {
    fn accumulator(&self, _: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Numbers::default())
    }
}

/// A group's numbers.
#[derive(Debug, Default)]
struct Numbers(Vec<f64>);

impl ValueAccumulator for Numbers {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        self.0.extend(arguments.iter().filter_map(value_to_f64).map(|(number, _)| number));
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let count = self.0.len();
        if count == 0 {
            return Ok(Value::Null);
        }
        let (below, upper, _) = self.0.select_nth_unstable_by(count / 2, f64::total_cmp);
        let upper = *upper;
        if count % 2 == 1 {
            return Ok(Value::Double(upper));
        }
        let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
        // Not by their sum, which two great ones might not have.
        Ok(Value::Double(lower / 2.0 + upper / 2.0))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        Ok(self.0.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        let (numbers, rest) = state.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(SqlError::internal("a state of another aggregate"));
        }
        self.0.extend(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.0.capacity() * size_of::<f64>()
    }
}
