//! Local variables, as statements read and set them.

use crate::converted::converted;
use crate::program_errors::undeclared_variable;
use crate::session::SessionState;
use crate::state::locals::Locals;
use squall_definitions::data_type::{TypeRules, resolve_type};
use squall_parser::ast::{ColumnName, DataType, Set, SetItem, Statement};
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, SqlType, Value};

impl SessionState {
    /// Whether a stored program runs that has a variable of that name.
    pub(crate) fn has_local(&self, name: &str) -> bool {
        self.locals.as_ref().is_some_and(|locals| locals.lock().type_of(name).is_some())
    }

    /// Whether a statement gives variables of the program that runs their values, which is as strict as a change of rows.
    pub(crate) fn assigns_locals(&self, statement: &Statement) -> bool {
        let Statement::Set(Set::Items(items)) = statement else { return false };
        self.locals.is_some()
            && items.iter().all(|item| matches!(item, SetItem::System { .. } | SetItem::NewColumn { .. }))
    }

    /// The type of a variable as it is declared: texts are in the character set of the default database.
    ///
    /// # Errors
    /// When there is no such type.
    pub(super) fn local_type(&self, data_type: &DataType, name: &str) -> SqlResult<SqlType> {
        let database = Values(&self.variables.session).text(ids::COLLATION_DATABASE);
        let collation = CollationId::named(database)?;
        resolve_type(data_type, name, TypeRules { collation, sql_mode: self.settings.bind.sql_mode })
    }

    /// Whether a name is that of a column of NEW that the trigger that runs may set.
    pub(crate) fn is_settable_new(&self, name: &ColumnName) -> bool {
        name.schema.is_none()
            && name.table.as_ref().is_some_and(|table| table.is("NEW"))
            && self.locals.as_ref().is_some_and(|locals| locals.lock().is_settable_new(&name.column))
    }

    /// Gives a column of NEW a value of some type; `false` outside of a trigger.
    ///
    /// # Errors
    /// Those of the conversion to its type.
    pub(crate) fn set_new_column(
        &self,
        column: &str,
        (value, from): (Value, &SqlType),
        context: &StatementContext,
    ) -> SqlResult<bool> {
        let Some(locals) = &self.locals else { return Ok(false) };
        let name = Locals::row_column("NEW", column);
        let Some(sql_type) = locals.lock().type_of(&name) else { return Ok(false) };
        let value = converted(value, from, &sql_type, column, context)?;
        locals.lock().set(&name, value);
        Ok(true)
    }

    /// Assigns a value to a target of SELECT … INTO: a local variable or a column of NEW.
    ///
    /// # Errors
    /// 1327 if there is none of that name; those of the conversion.
    pub(crate) fn set_target(
        &self,
        target: &ColumnName,
        (value, from): (Value, &SqlType),
        context: &StatementContext,
    ) -> SqlResult<()> {
        let is_set = match &target.table {
            Some(_) => self.set_new_column(&target.column, (value, from), context)?,
            None => self.set_local(&target.column, (value, from), context)?,
        };
        if is_set { Ok(()) } else { Err(undeclared_variable(&target.column)) }
    }

    /// Gives a local variable a value of some type; `false` if there is none of that name.
    ///
    /// # Errors
    /// When the value does not fit, in strict mode.
    pub(crate) fn set_local(
        &self,
        name: &str,
        (value, from): (Value, &SqlType),
        context: &StatementContext,
    ) -> SqlResult<bool> {
        let Some(locals) = &self.locals else { return Ok(false) };
        let Some(sql_type) = locals.lock().type_of(name) else { return Ok(false) };
        let value = converted(value, from, &sql_type, name, context)?;
        locals.lock().set(name, value);
        Ok(true)
    }
}
