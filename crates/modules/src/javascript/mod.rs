//! The module `javascript`: `JS()`, `JS_JSON()`, their variables and counters, and the table `data_dictionary.javascript_output` with
//! the messages of scripts. The engine is the crate `squall-javascript`.

mod output;

use squall_javascript::errors::{LIMIT, SCRIPT, variable};
use squall_javascript::functions::{PRIVILEGE, ScriptFunction, Settings, Shared};
use squall_javascript::language::JavaScriptLanguage;
use squall_registry::Registry;
use squall_session::{Database, Module, WeakDatabase, machine_memory};
use squall_system_variables::definition::{Unit, choice, unsigned};
use squall_system_variables::{Scope, VariableDef};
use squall_types::{SqlResult, Value};
use std::sync::{Arc, OnceLock};

/// The database of the module's table.
const DATABASE: &str = "data_dictionary";
const MIB: u64 = 1 << 20;
/// The least and the most that all scripts have together where the variable leaves it to the server.
const TOTAL_MIN: u64 = 400_000_000;
const TOTAL_MAX: u64 = 32_000_000_000;
const DAY_MILLIS: u64 = 86_400_000;

const VARIABLES: &[VariableDef] = &[
    unsigned(
        variable::MEMORY,
        Scope::Global,
        64 * MIB,
        MIB,
        8192 * MIB,
        "Bytes of heap that a running script may have.",
    ).unit(Unit::Bytes),
    unsigned(
        variable::TOTAL,
        Scope::Global,
        0,
        0,
        u64::MAX,
        "Bytes that all scripts may have together; 0: a twentieth of the machine's memory, from 400 MB to 32 GB. Calls beyond it wait, then fail.",
    ).unit(Unit::Bytes),
    unsigned(variable::STACK, Scope::Global, MIB, 64 << 10, 16 * MIB, "Bytes of stack that a running script may have.").unit(Unit::Bytes),
    unsigned(
        variable::TIME,
        Scope::Global,
        0,
        0,
        DAY_MILLIS,
        "Milliseconds that a script may run; 0: as long as its statement.",
    ).unit(Unit::Milliseconds),
    unsigned(variable::CACHE_SIZE, Scope::Global, 1024, 0, 1_000_000, "Compiled scripts that are kept."),
    choice(
        variable::DECIMAL_AS,
        Scope::Both,
        "number",
        &["number", "string"],
        "What a DECIMAL is in a script: a Number, or a string with all of its digits.",
    ),
];

/// The module.
#[derive(Debug)]
pub struct JavaScript {
    shared: Arc<Shared>,
    database: OnceLock<WeakDatabase>,
}

impl Default for JavaScript {
    fn default() -> Self {
        let shared = Shared { engine: Default::default(), logs: Default::default() };
        JavaScript { shared: Arc::new(shared), database: OnceLock::new() }
    }
}

impl Module for JavaScript {
    fn name(&self) -> &str {
        "javascript"
    }

    fn description(&self) -> &str {
        "Scripts: JS(), JS_JSON() and stored routines in JavaScript."
    }

    fn declare(&self, registry: &mut Registry) {
        for definition in VARIABLES {
            registry.variables.declare(*definition);
        }
        registry.register_privilege(PRIVILEGE);
        registry.register_errors(&[("ER_SCRIPT", SCRIPT), ("ER_SCRIPT_LIMIT", LIMIT)]);
        registry.register_virtual_table(Arc::new(output::OutputTable::new(&self.shared)));
        if let Some(settings) = Settings::of(registry) {
            for function in ScriptFunction::all(settings, &self.shared) {
                registry.register_scalar(Arc::new(function));
            }
            registry.add_routine_language(Arc::new(JavaScriptLanguage::new(settings, &self.shared)));
        }
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        // It is called once.
        let _first = self.database.set(database.downgrade());
        self.set_total(database);
        Ok(())
    }

    fn status(&self) -> Vec<(&'static str, u64)> {
        let counts = self.shared.engine.counts();
        vec![
            ("Javascript_cache_hits", counts.cache_hits),
            ("Javascript_calls", counts.calls),
            ("Javascript_errors", counts.errors),
            ("Javascript_limit_kills", counts.limits),
            ("Javascript_memory_bytes", self.shared.engine.memory().used() as u64),
            ("Javascript_time_us", counts.micros),
        ]
    }

    fn variables_changed(&self) -> SqlResult<()> {
        if let Some(database) = self.database.get().and_then(WeakDatabase::upgrade) {
            self.set_total(&database);
        }
        Ok(())
    }
}

impl JavaScript {
    fn set_total(&self, database: &Database) {
        let id = database.registry().variables.find(variable::TOTAL);
        let total = match id.map(|id| database.globals().get(id).clone()) {
            Some(Value::UInt(bytes)) if bytes > 0 => bytes,
            _ => (machine_memory().unwrap_or(0) as u64 / 20).clamp(TOTAL_MIN, TOTAL_MAX),
        };
        self.shared.engine.memory().set_limit(usize::try_from(total).unwrap_or(usize::MAX));
    }
}
