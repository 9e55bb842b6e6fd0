//! ALTER TABLE: the actions applied to a definition, and the necessary work on the rows.

mod rename;

use crate::column::{resolve_column, resolve_default};
use crate::constant;
use crate::constraint::{add_check, add_foreign_key, check_nullable, check_types, has_index_on, has_unique_key_of};
use crate::context::DdlContext;
use crate::create_table::{add_column_constraints, add_column_keys, check_table};
use crate::data_type::{keeps_values, named_collation};
use crate::functional_key::resolve_hidden_columns;
use crate::index::{
    add_index, check_spatial_keys, check_vector_keys, require_not_null, resolve_index_kinds, sort_indexes,
};
use crate::long_key::resolve_long_keys;
use crate::names::check_table_name;
use crate::partition::{moves_rows, refuse_partition_column};
use crate::partition_change::{PartitionChange, change_partitions};
use crate::table_option::{apply_options, table_collation};
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{
    ColumnDef, ColumnDefault, ColumnId, ForeignKey, IndexDef, Reference, ReferencedColumns, TableDef,
};
use squall_parser::ast::{
    AlterAction, AlterTable, ColumnDefinition, ColumnPosition, Ident, TableConstraint, TableOption,
};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, StringKind};

/// The result of ALTER TABLE's actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Alteration {
    /// The definition afterwards, with the id and the name of the table before, whatever RENAME TO says.
    pub table: TableDef,
    /// The work on the rows.
    pub work: Work,
    /// AUTO_INCREMENT = n.
    pub auto_increment: Option<u64>,
    /// Whether others can write to the table while it is changed.
    pub is_online: bool,
    /// ENABLE KEYS, DISABLE KEYS: row tables keep every key up to date, and MySQL says so with a note.
    pub keys_switch: bool,
}

/// The work on the rows, from none to a copy of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Only the definition changes.
    Metadata,
    /// New keys are built; rows stay.
    Indexes,
    /// All rows are copied into a new table as they are, which counts as done in place.
    Rebuild,
    /// All rows are copied into a new table, converted on the way.
    Copy,
}

struct Builder<'a> {
    table: TableDef,
    old: &'a TableDef,
    work: Work,
    context: &'a DdlContext<'a>,
    collation: CollationId,
    /// Names of the columns that the statement adds.
    added: Vec<&'a Ident>,
    /// Columns that it drops and adds again: keys hold on to the name.
    replaced: Vec<ColumnId>,
}

/// Applies the actions in MySQL's order: columns and keys go first, then come the new ones.
pub fn alter_table(old: &TableDef, statement: &AlterTable, context: &DdlContext<'_>) -> SqlResult<Alteration> {
    let mut table = old.clone();
    table.version += 1;
    let options: Vec<&TableOption> = statement
        .actions
        .iter()
        .filter_map(|action| match action {
            AlterAction::Options(options) => Some(options.iter()),
            _ => None,
        })
        .flatten()
        .collect();
    let collation = table_collation(&options.into_iter().cloned().collect::<Vec<_>>(), old.collation)?;
    table.collation = collation;
    let added = statement.actions.iter().filter_map(|action| match action {
        AlterAction::AddColumn { column, .. } => Some(&column.name),
        _ => None,
    });
    let (added, replaced) = (added.collect(), Vec::new());
    let mut builder = Builder { table, old, work: Work::Metadata, context, collation, added, replaced };
    let mut alteration = Alteration {
        table: old.clone(),
        work: Work::Metadata,
        auto_increment: None,
        is_online: true,
        keys_switch: false,
    };
    for action in statement.actions.iter().filter(|action| is_drop(action)) {
        builder.drop(action)?;
    }
    builder.rename_columns(&statement.actions)?;
    builder.rename_indexes(&statement.actions)?;
    for action in statement.actions.iter().filter(|action| !is_drop(action)) {
        builder.apply(action, &mut alteration)?;
    }
    builder.finish()?;
    if old.primary_key().is_some() && builder.table.primary_key().is_none() {
        builder.need(Work::Copy);
    }
    alteration.is_online = builder.is_online(statement)?;
    check_algorithm(statement, builder.work, alteration.is_online)?;
    if builder.work == Work::Rebuild && statement.algorithm.as_ref().is_some_and(|word| word.is("COPY")) {
        builder.work = Work::Copy;
    }
    alteration.table = builder.table;
    alteration.work = builder.work;
    Ok(alteration)
}

fn is_drop(action: &AlterAction) -> bool {
    matches!(
        action,
        AlterAction::DropColumn { .. }
            | AlterAction::DropPrimaryKey
            | AlterAction::DropIndex { .. }
            | AlterAction::DropForeignKey { .. }
            | AlterAction::DropCheck { .. }
            | AlterAction::DropConstraint { .. }
    )
}

/// ALGORITHM and LOCK: an algorithm that cannot do the work is refused (1845, 1846).
fn check_algorithm(statement: &AlterTable, work: Work, is_online: bool) -> SqlResult<()> {
    let word = |ident: &Option<Ident>| ident.as_ref().map(|word| word.to_ascii_uppercase());
    match word(&statement.algorithm).as_deref() {
        None | Some("DEFAULT" | "COPY") => {}
        Some("INPLACE") if work < Work::Copy => {}
        Some("INSTANT" | "NOCOPY") if work == Work::Metadata => {}
        Some("NOCOPY") if work == Work::Indexes => {}
        Some(word @ ("INPLACE" | "INSTANT" | "NOCOPY")) => {
            let asked = format!("ALGORITHM={word}");
            let other = if work == Work::Indexes { "ALGORITHM=COPY/INPLACE" } else { "ALGORITHM=COPY" };
            return Err(SqlError::new(ErrorCode::AlterOperationNotSupported, &[&asked, &other]));
        }
        Some(word) => {
            return Err(SqlError::new(ErrorCode::UnknownAlterAlgorithm, &[&word]));
        }
    }
    // MariaDB's ALTER ONLINE TABLE.
    let lock = if statement.online { Some("NONE".to_owned()) } else { word(&statement.lock) };
    match lock.as_deref() {
        None | Some("DEFAULT" | "SHARED" | "EXCLUSIVE") => Ok(()),
        Some("NONE") if is_online && statement.algorithm.as_ref().is_none_or(|word| !word.is("COPY")) => Ok(()),
        Some("NONE") => Err(SqlError::new(ErrorCode::AlterOperationNotSupported, &[&"LOCK=NONE", &"LOCK=SHARED"])),
        Some(word) => Err(SqlError::new(ErrorCode::UnknownAlterLock, &[&word])),
    }
}

fn cannot_drop(name: &str) -> SqlError {
    SqlError::new(ErrorCode::CantDropFieldOrKey, &[&name])
}

impl Builder<'_> {
    /// Whether others can write to the table meanwhile. Rows are found in a copy by a primary key; graphs of vectors go by the table's definition; new
    /// foreign keys are checked against tables that nobody changes.
    fn is_online(&self, statement: &AlterTable) -> SqlResult<bool> {
        let is_new = |index: &&IndexDef| self.old.indexes.iter().all(|other| other.id != index.id);
        let has_entries = |index: &IndexDef| !index.is_bitmap() && !index.has_no_entries();
        let is_new_counter = |column: &ColumnDef| column.auto_increment && self.old.ordinal(column.id).is_none();
        let is_new_key = |key: &ForeignKey| !self.old.foreign_keys.contains(key);
        let takes_lock = statement.lock.as_ref().is_some_and(|word| word.is("SHARED") || word.is("EXCLUSIVE"));
        let has_vectors = [self.old, &self.table].iter().any(|table| table.indexes.iter().any(IndexDef::is_vector));
        if self.work == Work::Metadata {
            return Ok(true);
        }
        if takes_lock || has_vectors || self.old.temporary || self.context.engine_traits(self.old)?.reads_by_column {
            return Ok(false);
        }
        Ok(match self.work {
            Work::Metadata | Work::Indexes => self.table.indexes.iter().filter(is_new).all(has_entries),
            Work::Rebuild | Work::Copy => {
                !statement.ignore
                    && !statement.actions.iter().any(|action| matches!(action, AlterAction::OrderBy(_)))
                    && self.table.primary_key().is_some()
                    && !self.table.columns.iter().any(is_new_counter)
                    && !self.table.foreign_keys.iter().any(is_new_key)
            }
        })
    }

    fn need(&mut self, work: Work) {
        self.work = self.work.max(work);
    }

    fn drop(&mut self, action: &AlterAction) -> SqlResult<()> {
        match action {
            AlterAction::DropColumn { if_exists, name, .. } => self.drop_column(name, *if_exists),
            AlterAction::DropPrimaryKey => {
                if self.table.primary_key().is_none() {
                    return Err(cannot_drop("PRIMARY"));
                }
                self.table.indexes.remove(0);
                self.need(Work::Rebuild);
                Ok(())
            }
            AlterAction::DropIndex { if_exists, name } if name.is("PRIMARY") && !*if_exists => {
                self.drop(&AlterAction::DropPrimaryKey)
            }
            AlterAction::DropIndex { if_exists, name } => self.drop_index(name, *if_exists),
            AlterAction::DropForeignKey { if_exists, name } => {
                if !self.drop_foreign_key(name) && !*if_exists {
                    return Err(cannot_drop(name));
                }
                Ok(())
            }
            AlterAction::DropCheck { name } => {
                if !self.drop_check(name) {
                    return Err(SqlError::new(ErrorCode::CheckConstraintNotFound, &[&name.as_str()]));
                }
                Ok(())
            }
            AlterAction::DropConstraint { if_exists, name } => {
                if name.is("PRIMARY") && self.table.primary_key().is_some() {
                    return self.drop(&AlterAction::DropPrimaryKey);
                }
                let unique = self.table.index(name).is_some_and(|index| index.unique);
                if self.drop_check(name) || self.drop_foreign_key(name) {
                    Ok(())
                } else if unique {
                    self.drop_index(name, false)
                } else if *if_exists {
                    Ok(())
                } else {
                    Err(SqlError::new(ErrorCode::ConstraintNotFound, &[&name.as_str()]))
                }
            }
            _ => Ok(()),
        }
    }

    fn drop_column(&mut self, name: &Ident, if_exists: bool) -> SqlResult<()> {
        let Some((at, column)) = self.table.column(name) else {
            return if if_exists { Ok(()) } else { Err(cannot_drop(name)) };
        };
        let (id, shown) = (column.id, column.name.clone());
        for check in &self.table.checks {
            let mut columns = Vec::new();
            constant::columns_of_text(&check.expression, &mut columns);
            // A CHECK on this column alone goes with it; on others too, it is in the way.
            if columns.len() > 1 && columns.iter().any(|column| eq_ignore_case(column, &shown)) {
                return Err(SqlError::new(ErrorCode::DependentByCheckConstraint, &[&check.name, &shown]));
            }
        }
        if let Some(key) = self.table.foreign_keys.iter().find(|key| key.columns.contains(&id)) {
            return Err(SqlError::new(ErrorCode::DropColumnOfForeignKey, &[&shown, &key.name]));
        }
        self.refuse_drop_of_referenced(id, &shown)?;
        refuse_partition_column(&self.table, &shown)?;
        self.refuse_generated_dependency(&shown)?;
        self.table.checks.retain(|check| {
            let mut columns = Vec::new();
            constant::columns_of_text(&check.expression, &mut columns);
            !columns.iter().any(|column| eq_ignore_case(column, &shown))
        });
        self.table.columns.remove(at);
        if self.added.iter().any(|added| eq_ignore_case(added, &shown)) {
            self.replaced.push(id);
            return Ok(());
        }
        let mut work = Work::Metadata;
        for index in &mut self.table.indexes {
            let before = index.parts.len();
            index.parts.retain(|part| part.column != id);
            if index.parts.len() != before {
                work = work.max(if index.primary { Work::Copy } else { Work::Indexes });
            }
        }
        self.table.indexes.retain(|index| !index.parts.is_empty());
        // A key that lost a part is another key: it gets a new id, so that it is built again.
        let mut next = self.table.next_index_id;
        for index in &mut self.table.indexes {
            let old = self.old.indexes.iter().find(|old| old.id == index.id);
            if !index.primary && old.is_some_and(|old| old.parts.len() != index.parts.len()) {
                index.id = squall_catalog::IndexId(next);
                next += 1;
            }
        }
        self.table.next_index_id = next;
        self.need(work);
        Ok(())
    }

    fn refuse_generated_dependency(&self, name: &str) -> SqlResult<()> {
        for column in &self.table.columns {
            let Some(generated) = &column.generated else { continue };
            let mut columns = Vec::new();
            constant::columns_of_text(&generated.expression, &mut columns);
            if columns.iter().any(|other| eq_ignore_case(other, name)) {
                if column.is_hidden() {
                    return Err(SqlError::new(ErrorCode::DependentByFunctionalIndex, &[&name]));
                }
                return Err(SqlError::new(ErrorCode::DependentByGeneratedColumn, &[&name]));
            }
        }
        Ok(())
    }

    fn drop_index(&mut self, name: &Ident, if_exists: bool) -> SqlResult<()> {
        let Some(index) = self.table.index(name).cloned() else {
            return if if_exists { Ok(()) } else { Err(cannot_drop(name)) };
        };
        if index.primary {
            return self.drop(&AlterAction::DropPrimaryKey);
        }
        self.table.indexes.retain(|other| other.id != index.id);
        Ok(())
    }

    fn drop_foreign_key(&mut self, name: &str) -> bool {
        let before = self.table.foreign_keys.len();
        self.table.foreign_keys.retain(|key| !eq_ignore_case(&key.name, name));
        self.table.foreign_keys.len() != before
    }

    fn drop_check(&mut self, name: &str) -> bool {
        let before = self.table.checks.len();
        self.table.checks.retain(|check| !eq_ignore_case(&check.name, name));
        self.table.checks.len() != before
    }

    fn apply(&mut self, action: &AlterAction, alteration: &mut Alteration) -> SqlResult<()> {
        match action {
            AlterAction::AddColumn { if_not_exists, column, position } => {
                if *if_not_exists && self.table.column(&column.name).is_some() {
                    return Ok(());
                }
                self.add_column(column, position.as_ref())
            }
            AlterAction::AddConstraint(constraint) => self.add_constraint(constraint),
            AlterAction::ChangeColumn { if_exists, old, column, position } => {
                self.change_column(old, column, position.as_ref(), *if_exists)
            }
            AlterAction::ModifyColumn { if_exists, column, position } => {
                self.change_column(&column.name, column, position.as_ref(), *if_exists)
            }
            AlterAction::SetDefault { column, value } => self.set_default(column, value),
            AlterAction::DropDefault { column } => {
                self.column_mut(column)?.default = ColumnDefault::None;
                Ok(())
            }
            AlterAction::SetColumnVisible { column, visible } => {
                self.column_mut(column)?.invisible = !*visible;
                Ok(())
            }
            AlterAction::SetIndexVisible { index, visible } => self.set_index_visible(index, *visible),
            AlterAction::SetCheckEnforced { name, enforced }
            | AlterAction::SetConstraintEnforced { name, enforced } => self.set_check_enforced(name, *enforced),
            AlterAction::RenameTable(name) => check_table_name(&name.name),
            AlterAction::RenameColumn { old, .. } => match self.place_before(old) {
                Some(_) => Ok(()),
                None => Err(SqlError::new(ErrorCode::BadField, &[&old.as_str(), &self.table.name])),
            },
            AlterAction::RenameIndex { .. } => Ok(()),
            AlterAction::ConvertCharset { charset, collation } => {
                self.convert_charset(charset.as_deref(), collation.as_deref())
            }
            AlterAction::Options(options) => {
                alteration.auto_increment = options.iter().rev().find_map(|option| match option {
                    TableOption::AutoIncrement(value) => Some(*value),
                    _ => None,
                });
                if options.iter().any(|option| matches!(option, TableOption::Engine(_))) {
                    // ENGINE=InnoDB is how tables are rebuilt.
                    self.need(Work::Rebuild);
                }
                apply_options(&mut self.table, options, self.context)
            }
            AlterAction::OrderBy(_) => {
                self.need(Work::Copy);
                Ok(())
            }
            AlterAction::EnableKeys | AlterAction::DisableKeys => {
                alteration.keys_switch = true;
                Ok(())
            }
            AlterAction::Force => {
                self.need(Work::Rebuild);
                Ok(())
            }
            AlterAction::DiscardTablespace | AlterAction::ImportTablespace => {
                Err(SqlError::unsupported("ALTER TABLE … TABLESPACE"))
            }
            AlterAction::SecondaryLoad | AlterAction::SecondaryUnload => Err(SqlError::unsupported("SECONDARY_LOAD")),
            partitions => {
                let work = match change_partitions(&mut self.table, partitions, self.context)? {
                    PartitionChange::Metadata => Work::Metadata,
                    PartitionChange::Rebuild => Work::Rebuild,
                    PartitionChange::Copy => Work::Copy,
                    PartitionChange::None => return Err(SqlError::unsupported("this action of ALTER TABLE")),
                };
                self.need(work);
                Ok(())
            }
        }
    }

    fn add_column(&mut self, definition: &ColumnDefinition, position: Option<&ColumnPosition>) -> SqlResult<()> {
        if self.table.column(&definition.name).is_some() {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&definition.name.as_str()]));
        }
        let mut column = resolve_column(definition, self.collation, self.context)?;
        column.id = ColumnId(self.table.next_column_id);
        self.table.next_column_id += 1;
        self.take_over_keys(&mut column)?;
        if column.auto_increment {
            self.need(Work::Rebuild);
        }
        let is_virtual = column.generated.as_ref().is_some_and(|generated| !generated.stored);
        let computed = column.generated.is_some() || matches!(column.default, ColumnDefault::Expression(_));
        // There is no geometry (1416) or vector (6138) for rows that are there; a table without rows takes the column.
        let computed = computed || column.sql_type.has_no_zero() && !column.nullable;
        if computed {
            // A virtual column is kept in the rows too, but the message does not say that they are copied.
            self.need(if is_virtual { Work::Rebuild } else { Work::Copy });
        } else {
            column.value_for_older_rows = constant::value_for_older_rows(&column, self.context.statement)?;
        }
        let at = self.position(position, self.table.named_columns().len())?;
        self.table.columns.insert(at, column);
        let before = self.table.next_index_id;
        let had_primary = self.table.primary_key().is_some();
        add_column_keys(&mut self.table, std::slice::from_ref(definition), self.context)?;
        if self.table.next_index_id != before {
            self.need(if self.table.primary_key().is_some() != had_primary { Work::Rebuild } else { Work::Indexes });
        }
        if !definition.checks.is_empty() || definition.references.is_some() {
            self.need(Work::Copy);
        }
        add_column_constraints(&mut self.table, definition, self.context)
    }

    /// The keys of a column that was dropped become those of the one that has come in its place. They are built again.
    fn take_over_keys(&mut self, column: &mut ColumnDef) -> SqlResult<()> {
        let is_same = |id: &&ColumnId| {
            let before = self.old.ordinal(**id).map(|at| &self.old.columns[at]);
            before.is_some_and(|before| eq_ignore_case(&before.name, &column.name))
        };
        let Some(id) = self.replaced.iter().find(is_same).copied() else { return Ok(()) };
        for index in &mut self.table.indexes {
            let Some(part) = index.parts.iter_mut().find(|part| part.column == id) else { continue };
            part.column = column.id;
            if index.primary {
                require_not_null(column)?;
                self.work = Work::Copy;
            } else {
                index.id = squall_catalog::IndexId(self.table.next_index_id);
                self.table.next_index_id += 1;
                self.work = self.work.max(Work::Indexes);
            }
        }
        self.check_prefixes(column)
    }

    fn position(&self, position: Option<&ColumnPosition>, default: usize) -> SqlResult<usize> {
        match position {
            None => Ok(default),
            Some(ColumnPosition::First) => Ok(0),
            Some(ColumnPosition::After(name)) => match self.table.column(name) {
                Some((at, _)) => Ok(at + 1),
                None => Err(SqlError::new(ErrorCode::BadField, &[&name.as_str(), &self.table.name])),
            },
        }
    }

    fn add_constraint(&mut self, constraint: &TableConstraint) -> SqlResult<()> {
        match constraint {
            TableConstraint::Index(index) => {
                if index.if_not_exists && index.name.as_ref().is_some_and(|name| self.table.index(name).is_some()) {
                    return Ok(());
                }
                add_index(&mut self.table, index, self.context)?;
                let primary = index.kind == squall_parser::ast::IndexKind::Primary;
                self.need(if primary { Work::Rebuild } else { Work::Indexes });
                Ok(())
            }
            TableConstraint::Check(check) => {
                if check.enforced != Some(false) {
                    self.need(Work::Copy);
                }
                add_check(&mut self.table, check, self.context.registry)
            }
            TableConstraint::ForeignKey(key) => {
                let before = self.table.next_index_id;
                add_foreign_key(&mut self.table, key, self.context)?;
                if self.context.foreign_key_checks {
                    // Copying checks every row against the parent.
                    self.need(Work::Copy);
                } else if self.table.next_index_id != before {
                    self.need(Work::Indexes);
                }
                Ok(())
            }
        }
    }

    fn change_column(
        &mut self,
        old: &Ident,
        definition: &ColumnDefinition,
        position: Option<&ColumnPosition>,
        if_exists: bool,
    ) -> SqlResult<()> {
        let Some(at) = self.place_before(old) else {
            if if_exists {
                return Ok(());
            }
            return Err(SqlError::new(ErrorCode::BadField, &[&old.as_str(), &self.table.name]));
        };
        let before = self.table.columns[at].clone();
        let mut column = resolve_column(definition, self.collation, self.context)?;
        column.id = before.id;
        column.value_for_older_rows = before.value_for_older_rows.clone();
        let in_primary = self.table.primary_key().is_some_and(|key| key.parts.iter().any(|p| p.column == before.id));
        if in_primary {
            if definition.nullable == Some(true) {
                return Err(SqlError::new(ErrorCode::PrimaryCantHaveNull, &[]));
            }
            column.nullable = false;
        }
        let same_generation = before.generated == column.generated;
        let keeps_rows = keeps_values(&before.sql_type, &column.sql_type)
            && (column.nullable || !before.nullable)
            && same_generation
            && (before.auto_increment || !column.auto_increment);
        if !keeps_rows {
            // The values are other ones, so rows that lack the column cannot take its old value.
            self.need(Work::Copy);
        }
        let keyed = self.table.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == before.id));
        if keyed && before.sql_type != column.sql_type {
            self.check_prefixes(&column)?;
        }
        self.table.columns.remove(at);
        let at = self.position(position, at)?;
        self.table.columns.insert(at, column);
        add_column_keys(&mut self.table, std::slice::from_ref(definition), self.context)?;
        // Not their number: a generated key may have given way.
        if self.table.next_index_id != self.old.next_index_id {
            self.need(Work::Indexes);
        }
        if self.table.primary_key().map(|key| key.id) != self.old.primary_key().map(|key| key.id) {
            self.need(Work::Copy);
        }
        add_column_constraints(&mut self.table, definition, self.context)
    }

    /// Prefixes of keys have to fit the column's new type.
    fn check_prefixes(&mut self, column: &ColumnDef) -> SqlResult<()> {
        for index in &mut self.table.indexes {
            if index.has_no_entries() {
                continue;
            }
            if index.is_fulltext() && index.parts.iter().any(|part| part.column == column.id) {
                let fits = match &column.sql_type {
                    SqlType::Json => index.is_json(),
                    SqlType::String { collation, .. } => *collation != CollationId::BINARY,
                    _ => false,
                };
                if !fits {
                    return Err(SqlError::new(ErrorCode::BadFulltextColumn, &[&column.name]));
                }
                continue;
            }
            for part in index.parts.iter_mut().filter(|part| part.column == column.id) {
                match (&column.sql_type, part.prefix) {
                    // It becomes a key of hashes.
                    (SqlType::String { kind: StringKind::Text(_), .. }, None) if index.unique && !index.primary => {}
                    (SqlType::String { kind: StringKind::Text(_) | StringKind::Geometry(_), .. }, None) => {
                        return Err(SqlError::new(ErrorCode::BlobKeyWithoutLength, &[&column.name]));
                    }
                    (SqlType::Json, _) => return Err(SqlError::new(ErrorCode::JsonUsedAsKey, &[&column.name])),
                    (SqlType::String { kind: StringKind::Vector, .. }, _) => {
                        return Err(SqlError::new(ErrorCode::NonScalarUsedAsKey, &[&column.name]));
                    }
                    (SqlType::String { kind: StringKind::Text(_) | StringKind::Geometry(_), .. }, Some(_)) => {}
                    (SqlType::String { length, .. }, Some(prefix)) if prefix >= *length => part.prefix = None,
                    (SqlType::String { .. }, _) => {}
                    (_, _) => part.prefix = None,
                }
            }
        }
        Ok(())
    }

    fn column_mut(&mut self, name: &Ident) -> SqlResult<&mut ColumnDef> {
        let table = self.table.name.clone();
        match self.table.column(name) {
            Some((at, _)) => Ok(&mut self.table.columns[at]),
            None => Err(SqlError::new(ErrorCode::BadField, &[&name.as_str(), &table])),
        }
    }

    fn set_default(&mut self, name: &Ident, value: &squall_parser::ast::DefaultValue) -> SqlResult<()> {
        let context = self.context;
        let column = self.column_mut(name)?;
        let (shown, sql_type, nullable) = (column.name.clone(), column.sql_type.clone(), column.nullable);
        let default = resolve_default(value, &shown, &sql_type, nullable, context)?;
        self.column_mut(name)?.default = default;
        Ok(())
    }

    fn set_index_visible(&mut self, name: &Ident, visible: bool) -> SqlResult<()> {
        let table = self.table.name.clone();
        let index = self.table.indexes.iter_mut().find(|index| eq_ignore_case(&index.name, name));
        let Some(index) = index else {
            return Err(SqlError::new(ErrorCode::KeyDoesNotExist, &[&name.as_str(), &table]));
        };
        if index.primary && !visible {
            return Err(SqlError::new(ErrorCode::PrimaryKeyInvisible, &[]));
        }
        index.invisible = !visible;
        Ok(())
    }

    fn set_check_enforced(&mut self, name: &Ident, enforced: bool) -> SqlResult<()> {
        let Some(at) = self.table.checks.iter().position(|check| eq_ignore_case(&check.name, name)) else {
            return Err(SqlError::new(ErrorCode::CheckConstraintNotFound, &[&name.as_str()]));
        };
        if enforced && !self.table.checks[at].enforced {
            self.need(Work::Copy);
        }
        self.table.checks[at].enforced = enforced;
        Ok(())
    }

    fn convert_charset(&mut self, charset: Option<&str>, collation: Option<&str>) -> SqlResult<()> {
        let to = named_collation(charset, collation, self.context.database_collation)?;
        self.table.collation = to;
        self.collation = to;
        for column in &mut self.table.columns {
            let converted = match &mut column.sql_type {
                SqlType::String { collation, .. } if *collation != CollationId::BINARY => collation,
                SqlType::Enum { collation, .. } | SqlType::Set { collation, .. } => collation,
                _ => continue,
            };
            if *converted != to {
                *converted = to;
                self.work = Work::Copy;
            }
        }
        Ok(())
    }

    /// Hidden columns of new keys have values that the rows lack, and so have those whose expressions mean something else.
    fn resolve_hidden_columns(&mut self) -> SqlResult<()> {
        let changed = resolve_hidden_columns(&mut self.table, self.context)?;
        let is_new = |column: &ColumnDef| column.is_hidden() && self.old.ordinal(column.id).is_none();
        if self.table.columns.iter().any(is_new) {
            self.need(Work::Rebuild);
        }
        for (id, before) in changed {
            let now = self.table.ordinal(id).map(|at| &self.table.columns[at].sql_type);
            if now.is_some_and(|now| !keeps_values(&before, now)) {
                self.need(Work::Copy);
            }
        }
        Ok(())
    }

    /// A column that other tables refer to stays (1829).
    fn refuse_drop_of_referenced(&self, id: ColumnId, name: &str) -> SqlResult<()> {
        let refers = |reference: &Reference<'_>| match &reference.key.parent_columns {
            ReferencedColumns::Ids(ids) => ids.contains(&id),
            ReferencedColumns::Names(names) => names.iter().any(|other| eq_ignore_case(other, name)),
        };
        // What the statement has dropped of the table itself is not among them.
        let own = |reference: &Reference<'_>| {
            reference.table.id == self.old.id
                && self.table.foreign_keys.iter().all(|key| key.name != reference.key.name)
        };
        let mut references = self.context.catalog.references_to(self.context.database, &self.old.name);
        match references.find(|reference| refers(reference) && !own(reference)) {
            None => Ok(()),
            Some(Reference { database, table, key }) => Err(SqlError::new(
                ErrorCode::DropColumnOfForeignKeyChild,
                &[&name, &key.name, &database.name, &table.name],
            )),
        }
    }

    /// Checks the foreign keys of this table and of tables that refer to it. Columns must keep their values unless
    /// `foreign_key_checks` is off (1832, 1833), and have the same types at both ends (3780). Columns that an action sets to NULL
    /// must allow it (1830). The referenced unique key must stay (1553).
    fn check_foreign_keys(&self) -> SqlResult<()> {
        let (catalog, database) = (self.context.catalog, self.context.database);
        for key in &self.table.foreign_keys {
            if !self.old.foreign_keys.iter().any(|old| old.name == key.name) {
                continue;
            }
            if let Some(column) = self.changed_column(&key.columns) {
                return Err(SqlError::new(ErrorCode::ChangeColumnOfForeignKey, &[&column.name, &key.name]));
            }
            check_nullable(&self.table, key)?;
            if !key.refers_to(database, &self.old.name)
                && let Some(parent) = catalog.parent_of(key)
            {
                check_types(&self.table, key, parent, self.context.foreign_key_checks)?;
            }
        }
        for Reference { database: owner, table, key } in catalog.references_to(database, &self.old.name) {
            let is_own = table.id == self.old.id;
            if is_own && self.table.foreign_keys.iter().all(|kept| kept.name != key.name) {
                continue;
            }
            let Some(ordinals) = key.parent_columns.ordinals(self.old) else { continue };
            let ids: Vec<ColumnId> = ordinals.into_iter().map(|ordinal| self.old.columns[ordinal].id).collect();
            if let Some(column) = self.changed_column(&ids) {
                return Err(SqlError::new(
                    ErrorCode::ChangeColumnOfForeignKeyChild,
                    &[&column.name, &key.name, &owner.name, &table.name],
                ));
            }
            let child = if is_own { &self.table } else { table };
            check_types(child, key, &self.table, self.context.foreign_key_checks)?;
            if !has_unique_key_of(&self.table, &ids) {
                return Err(self.needed_index());
            }
        }
        Ok(())
    }

    /// The first of these columns whose values may be other ones afterwards, as it was.
    fn changed_column(&self, ids: &[ColumnId]) -> Option<&ColumnDef> {
        if !self.context.foreign_key_checks {
            return None;
        }
        let changes = |before: &&ColumnDef| {
            let now = self.table.ordinal(before.id).map(|at| &self.table.columns[at]);
            now.is_some_and(|now| !keeps_values(&before.sql_type, &now.sql_type) || before.nullable && !now.nullable)
        };
        ids.iter().filter_map(|id| Some(&self.old.columns[self.old.ordinal(*id)?])).find(changes)
    }

    /// "Cannot drop index": the one that the statement drops.
    fn needed_index(&self) -> SqlError {
        let dropped = self.old.indexes.iter().find(|index| self.table.indexes.iter().all(|i| i.id != index.id));
        let name = dropped.map_or("", |index: &IndexDef| index.name.as_str());
        SqlError::new(ErrorCode::DropIndexForeignKey, &[&name])
    }

    fn finish(&mut self) -> SqlResult<()> {
        if self.table.named_columns().is_empty() {
            return Err(SqlError::new(ErrorCode::CantRemoveAllFields, &[]));
        }
        for key in &self.table.foreign_keys {
            if !has_index_on(&self.table, &key.columns) {
                return Err(self.needed_index());
            }
        }
        self.check_foreign_keys()?;
        check_spatial_keys(&self.table, self.old)?;
        check_vector_keys(&self.table)?;
        sort_indexes(&mut self.table);
        resolve_index_kinds(&mut self.table, self.context)?;
        self.resolve_hidden_columns()?;
        if resolve_long_keys(&mut self.table, self.old)? {
            self.need(Work::Indexes);
        }
        if moves_rows(self.old, &self.table)? {
            self.need(Work::Copy);
        }
        check_table(&self.table, self.context)
    }
}
