//! Tables of numbers, as in MariaDB's SEQUENCE engine: `seq_1_to_10`, `seq_10_to_1`, `seq_0_to_100_step_5`, in any database.
//!
//! Such a table is never created: its name determines its rows. A table or view of that name goes first.

mod numbers;

use numbers::Numbers;
use squall_registry::{Registry, TableResolver, VirtualTable};
use squall_session::Module;
use std::sync::Arc;

/// The module.
#[derive(Debug)]
pub struct NumberTables;

impl Module for NumberTables {
    fn name(&self) -> &str {
        "number_tables"
    }

    fn description(&self) -> &str {
        "Tables of numbers, whose names tell their rows: seq_1_to_10."
    }

    fn declare(&self, registry: &mut Registry) {
        registry.add_table_resolver(Arc::new(ByName));
    }
}

#[derive(Debug)]
struct ByName;

impl TableResolver for ByName {
    fn table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        Some(Arc::new(Numbers::of_name(database, name)?))
    }
}
