//! What definitions of databases, tables, keys and views need.

use crate::session::Session;
use squall_catalog::{AccountKey, Need, Privileges};
use squall_parser::ast::{AccountName, AlterAction, CreateTable, ObjectName, References, Statement, TableConstraint};
use squall_system_tables::is_system_table;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The needs of a new table whose rows come from another.
const MADE: Privileges = Privileges::CREATE.union(Privileges::INSERT);

impl Session {
    /// Privileges of CREATE, ALTER, DROP, RENAME and TRUNCATE.
    pub(super) fn needs_of_definition(&self, statement: &Statement) -> SqlResult<Vec<Need>> {
        match statement {
            Statement::CreateDatabase(create) => {
                let replaced = if create.or_replace { Privileges::DROP } else { Privileges::NONE };
                Ok(vec![Need::database(&create.name, Privileges::CREATE.union(replaced))])
            }
            Statement::AlterDatabase(alter) => {
                let name =
                    alter.name.as_ref().map(|name| name.as_str()).or(self.default_database().map(|name| &**name));
                Ok(name.map(|name| Need::database(name, Privileges::ALTER)).into_iter().collect())
            }
            Statement::DropDatabase(drop) => Ok(vec![Need::database(&drop.name, Privileges::DROP)]),
            Statement::CreateTable(create) => self.needs_of_create_table(create),
            Statement::AlterTable(alter) => self.needs_of_alter_table(&alter.name, &alter.actions),
            Statement::DropTable(drop) => {
                let own = |name: &&ObjectName| {
                    self.temporary_table_named(name).is_none() && !(drop.if_exists && self.is_virtual_named(name))
                };
                let named = drop.names.iter().filter(own);
                named.map(|name| self.dropped(name)).collect()
            }
            Statement::TruncateTable(name) if self.temporary_table_named(name).is_some() => Ok(Vec::new()),
            Statement::TruncateTable(name) => Ok(vec![self.defined(name, Privileges::DROP)?]),
            Statement::RenameTable(rename) => {
                let mut needs = Vec::with_capacity(2 * rename.renames.len());
                for (from, to) in &rename.renames {
                    needs.push(self.defined(from, Privileges::ALTER.union(Privileges::DROP))?);
                    needs.push(self.made(to, MADE)?);
                }
                Ok(needs)
            }
            Statement::CreateIndex(create) => self.needs_of_index(&create.table),
            Statement::DropIndex(drop) => self.needs_of_index(&drop.table),
            Statement::CreateView(create) => {
                let replaced = if create.alter || create.or_replace { Privileges::DROP } else { Privileges::NONE };
                let mut needs = vec![self.made(&create.name, Privileges::CREATE_VIEW.union(replaced))?];
                needs.extend(self.definer_needs(create.definer.as_ref())?);
                Ok(needs)
            }
            Statement::DropView(drop) => drop.names.iter().map(|name| self.defined(name, Privileges::DROP)).collect(),
            _ => Ok(Vec::new()),
        }
    }

    fn needs_of_index(&self, table: &ObjectName) -> SqlResult<Vec<Need>> {
        if self.temporary_table_named(table).is_some() {
            return Ok(Vec::new());
        }
        Ok(vec![self.defined(table, Privileges::INDEX)?])
    }

    fn needs_of_create_table(&self, create: &CreateTable) -> SqlResult<Vec<Need>> {
        let mut needs = Vec::new();
        if create.temporary {
            let (database, _) = self.qualify(&create.name)?;
            needs.push(Need::database(&database, Privileges::CREATE_TEMPORARY_TABLES));
        } else if self.is_virtual_already(create) {
            return Ok(needs);
        } else {
            let mut needed = if create.query.is_some() { MADE } else { Privileges::CREATE };
            if create.or_replace {
                needed = needed.union(Privileges::DROP);
            }
            needs.push(self.made(&create.name, needed)?);
        }
        if let Some(source) = create.like.as_ref().filter(|source| self.temporary_table_named(source).is_none()) {
            let (database, table) = self.qualify(source)?;
            needs.push(Need::table(&database, &table, Privileges::SELECT, ""));
        }
        for constraint in &create.constraints {
            needs.extend(self.needs_of_constraint(&create.name, constraint)?);
        }
        for column in &create.columns {
            needs.extend(self.needs_of_references(&create.name, column.references.as_ref())?);
        }
        Ok(needs)
    }

    fn needs_of_alter_table(&self, name: &ObjectName, actions: &[AlterAction]) -> SqlResult<Vec<Need>> {
        if self.temporary_table_named(name).is_some() {
            return Ok(Vec::new());
        }
        let mut needs = vec![self.defined(name, Privileges::ALTER)?];
        for action in actions {
            match action {
                AlterAction::RenameTable(to) => {
                    needs.push(self.defined(name, Privileges::DROP)?);
                    needs.push(self.made(to, MADE)?);
                }
                AlterAction::DropPartition { .. } | AlterAction::TruncatePartition(_) => {
                    needs.push(self.defined(name, Privileges::DROP)?);
                }
                AlterAction::ExchangePartition { table, .. } => {
                    let needed = Privileges::INSERT.union(Privileges::CREATE).union(Privileges::DROP);
                    needs.push(self.defined(name, needed)?);
                    needs.push(self.defined(table, needed.union(Privileges::ALTER))?);
                }
                AlterAction::AddConstraint(constraint) => needs.extend(self.needs_of_constraint(name, constraint)?),
                AlterAction::AddColumn { column, .. }
                | AlterAction::ChangeColumn { column, .. }
                | AlterAction::ModifyColumn { column, .. } => {
                    needs.extend(self.needs_of_references(name, column.references.as_ref())?);
                }
                _ => {}
            }
        }
        Ok(needs)
    }

    /// The needs of a new constraint on other tables.
    fn needs_of_constraint(&self, child: &ObjectName, constraint: &TableConstraint) -> SqlResult<Option<Need>> {
        match constraint {
            TableConstraint::ForeignKey(key) => self.needs_of_references(child, Some(&key.references)),
            _ => Ok(None),
        }
    }

    /// REFERENCES on the table that a foreign key refers to, also one that stands behind a column.
    fn needs_of_references(&self, child: &ObjectName, references: Option<&References>) -> SqlResult<Option<Need>> {
        let Some(References { table: parent, .. }) = references else { return Ok(None) };
        let database = match &parent.schema {
            Some(schema) => schema.to_string(),
            // In the child's database, whatever the default one is.
            None => self.qualify(child)?.0,
        };
        Ok(Some(Need::table(&database, &parent.name, Privileges::REFERENCES, "REFERENCES")))
    }

    /// A privilege on a table or view that is defined otherwise or goes.
    fn defined(&self, name: &ObjectName, needed: Privileges) -> SqlResult<Need> {
        let (database, table) = self.qualify(name)?;
        // What is made when it is read has no definition of the user's.
        if self.shared.registry.virtual_table(&database, &table).is_some()
            && needed.intersects(Privileges::ALTER.union(Privileges::INDEX))
        {
            let word = if needed.contains(Privileges::INDEX) { "INDEX" } else { "ALTER" };
            return Err(self.table_denied(word, &table));
        }
        Ok(Need::table(&database, &table, needed, ""))
    }

    /// DROP of a table; tables whose rows are made when they are read cannot be dropped.
    fn dropped(&self, name: &ObjectName) -> SqlResult<Need> {
        let need = self.defined(name, Privileges::DROP)?;
        if self.is_virtual_named(name) {
            self.check_needs(&[need])?;
            return Err(self.table_denied("DROP", &name.name));
        }
        Ok(need)
    }

    /// A privilege on a table or view that comes to be.
    fn made(&self, name: &ObjectName, needed: Privileges) -> SqlResult<Need> {
        let (database, table) = self.qualify(name)?;
        let is_virtual = self.shared.registry.virtual_table(&database, &table).is_some();
        if is_virtual && squall_system_tables::virtual_database(&database).is_none() {
            self.check_needs(&[Need::table(&database, &table, needed, "")])?;
            return Err(SqlError::new(ErrorCode::TableExists, &[&table]));
        }
        debug_assert!(!is_virtual || !is_system_table(&database, &table));
        Ok(Need::table(&database, &table, needed, ""))
    }

    /// The needs of naming another account as definer.
    pub(crate) fn definer_needs(&self, definer: Option<&AccountName>) -> SqlResult<Vec<Need>> {
        let Some(AccountName::Named { user, host }) = definer else { return Ok(Vec::new()) };
        let key = AccountKey::new(&**user, host.as_deref().unwrap_or("%").to_lowercase());
        if key == self.account {
            return Ok(Vec::new());
        }
        let mut needs = vec![Need::server(Privileges::NONE, &["SET_ANY_DEFINER"], "SUPER or SET_ANY_DEFINER")];
        if self.shared.accounts.load_now().get(&key).is_none() {
            let dynamic = &["ALLOW_NONEXISTENT_DEFINER"];
            needs.push(Need::server(Privileges::NONE, dynamic, "SUPER or ALLOW_NONEXISTENT_DEFINER"));
        }
        needs.extend(self.system_user_need(&[key]));
        Ok(needs)
    }

    fn is_virtual_named(&self, name: &ObjectName) -> bool {
        self.qualify(name).is_ok_and(|name| self.shared.registry.virtual_table(&name.0, &name.1).is_some())
    }

    /// Whether CREATE TABLE IF NOT EXISTS names a table whose rows are made when they are read.
    pub(crate) fn is_virtual_already(&self, create: &CreateTable) -> bool {
        let exists = self.is_virtual_named(&create.name);
        exists && create.if_not_exists && !create.temporary && !create.or_replace
    }
}
