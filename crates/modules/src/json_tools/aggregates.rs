//! JSON_SUM_ALL and similar functions: aggregates of a key's values in the documents of a group.

use super::tally::{Tally, decimal_type};
use super::{DATABASE, document, malformed};
use squall_registry::{AggregateFunction, AggregateKernel, Argument, BoundAggregate, ExprType, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sum,
    Min,
    Max,
    Avg,
    Count,
}

/// One of the aggregates.
#[derive(Clone, Copy, Debug)]
pub struct KeyAggregate {
    name: &'static str,
    kind: Kind,
}

/// All of them.
pub fn all() -> [KeyAggregate; 5] {
    [
        ("JSON_SUM_ALL", Kind::Sum),
        ("JSON_MIN_ALL", Kind::Min),
        ("JSON_MAX_ALL", Kind::Max),
        ("JSON_AVG_ALL", Kind::Avg),
        ("JSON_COUNT_ALL", Kind::Count),
    ]
    .map(|(name, kind)| KeyAggregate { name, kind })
}

impl AggregateFunction for KeyAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn database(&self) -> Option<&str> {
        Some(DATABASE)
    }

    fn bind(&self, arguments: &[Argument<'_>], distinct: bool, _: &StatementContext) -> SqlResult<BoundAggregate> {
        if arguments.len() != 2 || distinct {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&self.name]));
        }
        let result = match self.kind {
            Kind::Count => ExprType::numeric(SqlType::BIGINT, true),
            _ => decimal_type(),
        };
        Ok(BoundAggregate { result, kernel: Arc::new(*self) })
    }
}

impl AggregateKernel for KeyAggregate {
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Group { aggregate: *self, context, tally: Tally::default(), documents: 0 })
    }
}

#[derive(Debug)]
struct Group {
    aggregate: KeyAggregate,
    context: Arc<StatementContext>,
    tally: Tally,
    /// Documents taken in: of none the result is NULL.
    documents: u64,
}

impl ValueAccumulator for Group {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let [value, Value::String(key)] = arguments else { return Ok(()) };
        let function = self.aggregate.name.to_lowercase();
        // A document that is none takes nothing in.
        let mut own = Tally::default();
        let added = if let Value::Json(document) = value {
            own.add_key(document.stored(), true, key, &self.context)
        } else {
            let Some(document) = document(value, &function, &self.context) else { return Ok(()) };
            own.add_key(&document, false, key, &self.context)
        };
        match added {
            Ok(()) => {
                self.tally.merge(&own);
                self.documents += 1;
            }
            Err(error) => malformed(error, &function, &self.context),
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        if self.documents == 0 {
            return Ok(Value::Null);
        }
        let function = self.aggregate.name.to_lowercase();
        match self.aggregate.kind {
            Kind::Sum => self.tally.sum(&function),
            Kind::Min => self.tally.min(&function),
            Kind::Max => self.tally.max(&function),
            Kind::Avg => self.tally.avg(&function),
            Kind::Count => Ok(self.tally.count()),
        }
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = self.documents.to_le_bytes().to_vec();
        state.extend(self.tally.encode());
        Ok(state)
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        let corrupt = || SqlError::internal("a state of another aggregate");
        let (documents, tally) = state.split_first_chunk::<8>().ok_or_else(corrupt)?;
        self.documents += u64::from_le_bytes(*documents);
        self.tally.merge(&Tally::decode(tally).ok_or_else(corrupt)?);
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
