//! RAND().

use crate::operators::coerce;
use parking_lot::Mutex;
use squall_registry::{Argument, BoundCall, ExprType, KernelMemory, ScalarFunction, ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// RAND: a constant seed starts a sequence that goes on from row to row; a seed of the row starts again in each.
#[derive(Debug)]
pub struct Rand;

/// Largest value of the two halves of a state.
const STATE_MAX: u64 = 0x3FFF_FFFF;

/// The generator: two linear congruences.
#[derive(Clone, Copy, Debug)]
struct State {
    first: u64,
    second: u64,
}

impl State {
    fn seeded(seed: u32) -> State {
        State {
            first: u64::from(seed.wrapping_mul(0x10001).wrapping_add(55_555_555)) % STATE_MAX,
            second: u64::from(seed.wrapping_mul(0x1000_0001)) % STATE_MAX,
        }
    }

    fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % STATE_MAX;
        self.second = (self.first + self.second + 33) % STATE_MAX;
        self.first as f64 / STATE_MAX as f64
    }
}

impl ScalarFunction for Rand {
    fn name(&self) -> &str {
        "RAND"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Volatile
    }

    fn arity(&self) -> (usize, usize) {
        (0, 1)
    }

    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall> {
        let result = ExprType::numeric(SqlType::DOUBLE, false);
        let kernel: Arc<dyn ScalarKernel> = match arguments {
            [] => Arc::new(StatementRandom),
            [seed] => match seed.literal {
                Some(value) => {
                    let seed = coerce::to_integer(value, &seed.expr_type.sql_type, context)?.unwrap_or(0);
                    Arc::new(SeededRandom { state: Mutex::new(State::seeded(seed as u32)) })
                }
                None => Arc::new(RowRandom { seed: seed.expr_type.sql_type.clone() }),
            },
            _ => return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&"RAND"])),
        };
        Ok(BoundCall { result, kernel })
    }
}

/// Without a seed: the statement's own sequence.
#[derive(Debug)]
struct StatementRandom;

impl ScalarKernel for StatementRandom {
    fn is_generator(&self) -> bool {
        true
    }

    fn eval(&self, _arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let mut number = 0.0;
        let step = |packed: u64| {
            let mut state = State { first: packed >> 32 & STATE_MAX, second: packed & STATE_MAX };
            number = state.next();
            Some(state.first << 32 | state.second)
        };
        // Always gives a new state.
        let _ = context.random_state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        Ok(Value::Double(number))
    }
}

#[derive(Debug)]
struct SeededRandom {
    state: Mutex<State>,
}

impl ScalarKernel for SeededRandom {
    fn memory(&self) -> KernelMemory {
        KernelMemory::OfStatement
    }

    fn eval(&self, _arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        Ok(Value::Double(self.state.lock().next()))
    }
}

#[derive(Debug)]
struct RowRandom {
    seed: SqlType,
}

impl ScalarKernel for RowRandom {
    fn is_generator(&self) -> bool {
        true
    }

    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let seed = match arguments.first() {
            Some(value) => coerce::to_integer(value, &self.seed, context)?.unwrap_or(0),
            None => 0,
        };
        Ok(Value::Double(State::seeded(seed as u32).next()))
    }
}
