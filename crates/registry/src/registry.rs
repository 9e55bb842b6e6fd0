//! The registry: finds declarations by name.

use crate::function::{AggregateFunction, ScalarFunction, TableFunction};
use crate::function_resolver::FunctionResolver;
use crate::routine_language::RoutineLanguage;
use crate::table_resolver::TableResolver;
use crate::virtual_table::VirtualTable;
use squall_catalog::DYNAMIC_PRIVILEGES;
use squall_system_variables::VariableRegistry;
use squall_types::ModuleError;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Every declared function, virtual table and system variable, by name without case.
#[derive(Debug, Default)]
pub struct Registry {
    scalars: HashMap<String, Arc<dyn ScalarFunction>>,
    aggregates: HashMap<String, Arc<dyn AggregateFunction>>,
    tables: HashMap<String, Arc<dyn TableFunction>>,
    virtual_tables: HashMap<(String, String), Arc<dyn VirtualTable>>,
    resolvers: Vec<Arc<dyn FunctionResolver>>,
    table_resolvers: Vec<Arc<dyn TableResolver>>,
    languages: Vec<Arc<dyn RoutineLanguage>>,
    /// Dynamic privileges of modules.
    privileges: BTreeSet<&'static str>,
    /// Errors that are not MySQL's, with their names.
    errors: Vec<(&'static str, ModuleError)>,
    /// Every declared system variable.
    pub variables: VariableRegistry,
}

impl Registry {
    /// Declares a scalar function under its name and aliases; a later declaration replaces an earlier one.
    pub fn register_scalar(&mut self, function: Arc<dyn ScalarFunction>) {
        for alias in function.aliases() {
            self.scalars.insert(alias.to_ascii_uppercase(), function.clone());
        }
        self.scalars.insert(function.name().to_ascii_uppercase(), function);
    }

    /// Declares a dynamic privilege of a module's own, in capital letters. GRANT knows it, and ALL at the global level gives it; the module asks
    /// for it where it is needed.
    pub fn register_privilege(&mut self, name: &'static str) {
        self.privileges.insert(name);
    }

    /// The names of all dynamic privileges: MySQL's, then those of modules.
    pub fn dynamic_privileges(&self) -> impl Iterator<Item = &'static str> {
        DYNAMIC_PRIVILEGES.iter().chain(&self.privileges).copied()
    }

    /// Declares errors that are not MySQL's, with names in capital letters (`ER_SCRIPT`), so that lists of all errors have them.
    pub fn register_errors(&mut self, errors: &[(&'static str, ModuleError)]) {
        self.errors.extend_from_slice(errors);
    }

    /// All errors that are not MySQL's, by number.
    pub fn errors(&self) -> Vec<(&'static str, ModuleError)> {
        let mut errors = self.errors.clone();
        errors.sort_by_key(|(name, error)| (error.number(), *name));
        errors
    }

    /// Declares an aggregate function.
    pub fn register_aggregate(&mut self, function: Arc<dyn AggregateFunction>) {
        for alias in function.aliases() {
            self.aggregates.insert(alias.to_ascii_uppercase(), function.clone());
        }
        self.aggregates.insert(function.name().to_ascii_uppercase(), function);
    }

    /// Declares a function in the place of a table.
    pub fn register_table_function(&mut self, function: Arc<dyn TableFunction>) {
        self.tables.insert(function.name().to_ascii_uppercase(), function);
    }

    /// The function of that name in the place of a table.
    pub fn table_function(&self, name: &str) -> Option<&Arc<dyn TableFunction>> {
        self.tables.get(&name.to_ascii_uppercase())
    }

    /// All functions in the place of a table, in no order.
    pub fn table_functions(&self) -> impl Iterator<Item = &Arc<dyn TableFunction>> {
        self.tables.values()
    }

    /// Adds a language that stored functions may be written in.
    pub fn add_routine_language(&mut self, language: Arc<dyn RoutineLanguage>) {
        self.languages.push(language);
    }

    /// The language of that name, in any case.
    pub fn routine_language(&self, name: &str) -> Option<&Arc<dyn RoutineLanguage>> {
        self.languages.iter().find(|language| language.name().eq_ignore_ascii_case(name))
    }

    /// Adds what finds functions that are not declared; of several, the first that finds one counts.
    pub fn add_function_resolver(&mut self, resolver: Arc<dyn FunctionResolver>) {
        self.resolvers.push(resolver);
    }

    /// A number that grows with the functions that come and go while the server runs.
    pub fn functions_version(&self) -> u64 {
        self.resolvers.iter().fold(0, |sum, resolver| sum.wrapping_add(resolver.version()))
    }

    /// The scalar function of that name.
    pub fn scalar(&self, name: &str) -> Option<Arc<dyn ScalarFunction>> {
        self.declared_scalar(name).cloned().or_else(|| self.resolved_scalar(name))
    }

    /// The scalar function of that name, if it is there for as long as the server is.
    pub fn declared_scalar(&self, name: &str) -> Option<&Arc<dyn ScalarFunction>> {
        self.scalars.get(name).or_else(|| self.scalars.get(&name.to_ascii_uppercase()))
    }

    fn resolved_scalar(&self, name: &str) -> Option<Arc<dyn ScalarFunction>> {
        if self.resolvers.is_empty() {
            return None;
        }
        let name = name.to_ascii_uppercase();
        self.resolvers.iter().find_map(|resolver| resolver.scalar(&name))
    }

    /// The aggregate function of that name.
    pub fn aggregate(&self, name: &str) -> Option<&Arc<dyn AggregateFunction>> {
        self.aggregates.get(name).or_else(|| self.aggregates.get(&name.to_ascii_uppercase()))
    }

    /// Whether a function can be called as `database.name(…)`.
    fn is_qualified_function(&self, database: &str, name: &str) -> bool {
        let own = match (self.declared_scalar(name), self.aggregate(name)) {
            (Some(scalar), _) => scalar.database(),
            (None, Some(aggregate)) => aggregate.database(),
            (None, None) => None,
        };
        own.is_some_and(|own| own.eq_ignore_ascii_case(database))
    }

    /// The name by which `database.name(…)` is declared: a function of that name in full, or one that can be called by its database, too.
    pub fn qualified_function(&self, database: &str, name: &str) -> Option<String> {
        let whole = format!("{database}.{name}").to_ascii_uppercase();
        if self.scalars.contains_key(&whole) {
            return Some(whole);
        }
        self.is_qualified_function(database, name).then(|| name.to_ascii_uppercase())
    }

    /// Declares a virtual table.
    pub fn register_virtual_table(&mut self, table: Arc<dyn VirtualTable>) {
        let key = (table.database().to_ascii_lowercase(), table.name().to_ascii_lowercase());
        self.virtual_tables.insert(key, table);
    }

    /// The virtual table of that name, in any letter case.
    pub fn virtual_table(&self, database: &str, name: &str) -> Option<&Arc<dyn VirtualTable>> {
        self.virtual_tables.get(&(database.to_ascii_lowercase(), name.to_ascii_lowercase()))
    }

    /// Adds what finds tables by what their names say; of several, the first that finds one counts.
    pub fn add_table_resolver(&mut self, resolver: Arc<dyn TableResolver>) {
        self.table_resolvers.push(resolver);
    }

    /// The table that a name means, where nothing is declared.
    pub fn resolved_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        self.table_resolvers.iter().find_map(|resolver| resolver.table(database, name))
    }

    /// All virtual tables, in no order.
    pub fn virtual_tables(&self) -> impl Iterator<Item = &Arc<dyn VirtualTable>> {
        self.virtual_tables.values()
    }

    /// All scalar functions by name and alias, sorted.
    pub fn scalars(&self) -> Vec<(&str, &Arc<dyn ScalarFunction>)> {
        sorted(&self.scalars)
    }

    /// All aggregate functions by name and alias, sorted.
    pub fn aggregates(&self) -> Vec<(&str, &Arc<dyn AggregateFunction>)> {
        sorted(&self.aggregates)
    }
}

fn sorted<T>(functions: &HashMap<String, T>) -> Vec<(&str, &T)> {
    let mut sorted: Vec<_> = functions.iter().map(|(name, function)| (name.as_str(), function)).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    sorted
}
