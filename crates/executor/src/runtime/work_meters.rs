//! Tasks that DataFusion starts use the meter of the task that started them.

use datafusion::common::runtime::{JoinSetTracer, set_join_set_tracer};
use futures::future::BoxFuture;
use squall_accounting::work_meter::{carried, current, measured};
use std::any::Any;

/// Has every task that DataFusion starts in this process carry the processor meter of its thread on.
pub(super) fn carry_on() {
    // It is the same for all runtimes of a process; the first one has set it.
    let _set_before = set_join_set_tracer(&Carrier);
}

struct Carrier;

type Output = Box<dyn Any + Send>;

impl JoinSetTracer for Carrier {
    fn trace_future(&self, future: BoxFuture<'static, Output>) -> BoxFuture<'static, Output> {
        match current() {
            None => future,
            meter => Box::pin(measured(meter, future)),
        }
    }

    fn trace_block(&self, work: Box<dyn FnOnce() -> Output + Send>) -> Box<dyn FnOnce() -> Output + Send> {
        Box::new(carried(work))
    }
}
