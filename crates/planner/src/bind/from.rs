//! FROM: tables, views, derived tables and joins.

use super::block::{BoundBlock, FromItem};
use super::column::BlockId;
use super::context::{Context, Frame, plan_result};
use super::environment::TableRequest;
use super::output::{ColumnOrigin, TableUse};
use super::scope::{Clause, Relation, RelationColumn};
use super::view::invoker_inside;
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::TableReference;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScanBuilder};
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnDef, TableDef, TableEntry, ViewDef};
use squall_executor::access::virtual_table::{is_endless, is_invisible};
use squall_executor::access::{is_row_key_column, row_key_column};
use squall_executor::operators::nested_block::NestedBlock;
use squall_functions::arrow_map::expr_type_of;
use squall_parser::ast;
use squall_registry::{Coercibility, ExprType};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// Most tables that a block may join.
const TABLES_MAX: usize = 61;

impl Context<'_> {
    /// Binds FROM. Without tables there is one row without columns.
    pub fn bind_from(&mut self, references: &[ast::TableReference], block: BlockId) -> SqlResult<FromItem> {
        let mut bound: Option<FromItem> = None;
        for reference in references {
            let item = self.bind_reference(reference, block, bound.take())?;
            bound = Some(item);
        }
        let item = match bound {
            Some(item) => item,
            None => {
                let plan = plan_result(LogicalPlanBuilder::empty(true).build())?;
                FromItem { plan, relations: Vec::new(), visible: Vec::new() }
            }
        };
        if item.relations.len() > TABLES_MAX {
            return Err(SqlError::new(ErrorCode::TooManyTables, &[&TABLES_MAX]));
        }
        Ok(item)
    }

    /// Binds a table reference and joins it to what stands left of it, which LATERAL may refer to.
    pub fn bind_reference(
        &mut self,
        reference: &ast::TableReference,
        block: BlockId,
        left: Option<FromItem>,
    ) -> SqlResult<FromItem> {
        let item = match reference {
            ast::TableReference::Table(factor) => self.bind_table(factor, block)?,
            ast::TableReference::Derived(derived) if derived.lateral => {
                return self.bind_lateral(derived, block, left, false, None);
            }
            ast::TableReference::Derived(derived) => self.bind_derived(derived, block)?,
            ast::TableReference::JsonTable(table) => return self.bind_json_table(table, block, left, false),
            ast::TableReference::Function(call) => self.bind_table_function(call, block)?,
            ast::TableReference::Join(join) => {
                // A join's own LATERAL parts see what stands left of the join only through the join's left side.
                self.bind_join(join, block)?
            }
        };
        match left {
            None => Ok(item),
            Some(left) => self.cross_join(left, item),
        }
    }

    /// Checks that no two relations have one name.
    pub fn check_unique(&self, left: &[Relation], right: &[Relation]) -> SqlResult<()> {
        for relation in right {
            let same = |other: &&Relation| {
                other.alias == relation.alias
                    && (other.database == relation.database || other.database.is_none() || relation.database.is_none())
            };
            if left.iter().any(|other| same(&other)) {
                return Err(SqlError::new(ErrorCode::NonUniqueTable, &[&relation.alias]));
            }
        }
        Ok(())
    }

    fn bind_table(&mut self, factor: &ast::TableFactor, block: BlockId) -> SqlResult<FromItem> {
        let alias: Arc<str> = factor.alias.as_ref().unwrap_or(&factor.name.name).value.as_ref().into();
        if factor.name.schema.is_none()
            && let Some(item) = self.bind_common_table(&factor.name.name, &alias, block)?
        {
            return Ok(item);
        }
        let database = self.database_of(&factor.name)?;
        let name = &*factor.name.name;
        if let Some(definition) = self.binder.tables.temporary_table(&database, name) {
            return self.bind_base_table(factor, &database, &alias, &definition, block);
        }
        // Inside of a view it is the view that is not valid.
        if self.views.is_empty() {
            self.binder.tables.check_known(&database, name)?;
        }
        let catalog = self.binder.catalog;
        match catalog.entry(&database, name) {
            Some(TableEntry::Table(definition)) => {
                let definition = Arc::clone(definition);
                self.bind_base_table(factor, &database, &alias, &definition, block)
            }
            Some(TableEntry::View(view)) => {
                let view = Arc::clone(view);
                self.bind_view(&database, &alias, &view, block)
            }
            None => match self.binder.tables.virtual_table(&database, name)? {
                Some(provider) => self.bind_virtual_table(&database, name, &alias, provider, block),
                None if catalog.database(&database).is_none() && !self.binder.tables.virtual_database(&database) => {
                    Err(SqlError::new(ErrorCode::BadDatabase, &[&database]))
                }
                None => match self.binder.tables.resolved_table(&database, name) {
                    Some(provider) => self.bind_virtual_table(&database, name, &alias, provider, block),
                    None if database.eq_ignore_ascii_case("information_schema") => {
                        Err(SqlError::new(ErrorCode::UnknownTable, &[&name, &"information_schema"]))
                    }
                    None => Err(no_such_table(&database, name)),
                },
            },
        }
    }

    /// The database of a table name: as written, or the default one.
    pub fn database_of(&self, name: &ast::ObjectName) -> SqlResult<Arc<str>> {
        match (&name.schema, self.binder.default_database) {
            (Some(schema), _) => Ok(schema.value.as_ref().into()),
            (None, Some(database)) => Ok(database.into()),
            (None, None) => Err(SqlError::new(ErrorCode::NoDatabase, &[])),
        }
    }

    fn bind_base_table(
        &mut self,
        factor: &ast::TableFactor,
        database: &Arc<str>,
        alias: &Arc<str>,
        definition: &Arc<TableDef>,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        for hint in &factor.hints {
            if let Some(index) =
                hint.indexes.iter().find(|index| !index.is("PRIMARY") && definition.index(index).is_none())
            {
                return Err(SqlError::new(ErrorCode::KeyDoesNotExist, &[&index.as_str(), alias]));
            }
        }
        let request = TableRequest {
            database,
            name: &definition.name,
            alias,
            lock: self.locks.of_table(alias),
            hints: &factor.hints,
            partitions: &factor.partitions,
        };
        let provider = self.binder.tables.base_table(&request, definition)?;
        let types = definition
            .columns
            .iter()
            .map(|column| ExprType::of_column(column.sql_type.clone(), column.nullable))
            .collect();
        self.scan(database, &definition.name, alias, provider, Some(definition), types, block)
    }

    fn bind_virtual_table(
        &mut self,
        database: &Arc<str>,
        name: &str,
        alias: &Arc<str>,
        provider: Arc<dyn TableProvider>,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        if is_endless(&*provider) {
            self.endless_table = Some(name.into());
        }
        let types = provider.schema().fields().iter().map(|field| expr_type_of(field)).collect();
        self.scan(database, name, alias, provider, None, types, block)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a scan, each of its own type")]
    fn scan(
        &mut self,
        database: &Arc<str>,
        name: &str,
        alias: &Arc<str>,
        provider: Arc<dyn TableProvider>,
        definition: Option<&Arc<TableDef>>,
        types: Vec<ExprType>,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        let scan_name = self.scan_name(alias);
        let reference = TableReference::bare(scan_name.clone());
        let name: Arc<str> = name.into();
        let schema = provider.schema();
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (ordinal, field) in schema.fields().iter().enumerate() {
            let defined = definition.and_then(|definition| definition.columns.get(ordinal));
            let column_name: Arc<str> =
                defined.map_or_else(|| field.name().as_str().into(), |column| column.name.as_str().into());
            let ty = types.get(ordinal).cloned().unwrap_or_else(|| expr_type_of(field));
            let origin = ColumnOrigin {
                database: Arc::clone(database),
                table: Arc::clone(alias),
                org_table: Arc::clone(&name),
                org_name: Arc::clone(&column_name),
                base: definition.map(|definition| (Arc::clone(definition), ordinal)),
                behind: None,
            };
            let display = format!("`{database}`.`{alias}`.`{column_name}`");
            let id =
                self.columns.add(block, Some(reference.clone()), field.name(), &display, ty, Some(Arc::new(origin)));
            let row_key = definition.is_some() && defined.is_none();
            let invisible = row_key || defined.map_or_else(|| is_invisible(field), |column| column.invisible);
            let hidden = defined.is_some_and(ColumnDef::is_hidden);
            columns.push(RelationColumn { name: column_name, id, invisible, hidden });
        }
        self.tables.push(TableUse {
            in_subquery: self.in_subquery && !self.is_gathered,
            database: Arc::clone(database),
            name,
            alias: Arc::clone(alias),
            scan_name: scan_name.into(),
            definition: definition.cloned(),
            virtual_schema: definition.is_none().then(|| schema.clone()),
            columns: Vec::new(),
            invoker: self.invoker.clone(),
            inside_view: self.views.first().cloned(),
            view: None,
            lock: definition.and_then(|_| self.locks.of_table(alias)).map(|(strength, _)| strength),
            locked_by_change: self.locks.of_change,
        });
        let scan = plan_result(TableScanBuilder::new(reference, provider_as_source(provider)).build())?;
        let relation = Relation {
            alias: Arc::clone(alias),
            database: Some(Arc::clone(database)),
            columns,
            definition: definition.cloned(),
            any_case: false,
        };
        Ok(FromItem::of(LogicalPlan::TableScan(scan), relation))
    }

    fn bind_view(
        &mut self,
        database: &Arc<str>,
        alias: &Arc<str>,
        view: &Arc<ViewDef>,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        let name: Arc<str> = view.name.as_str().into();
        let key = (Arc::clone(database), Arc::clone(&name));
        if self.views.contains(&key) {
            return Err(SqlError::new(ErrorCode::ViewRecursive, &[database, &name]));
        }
        let mut query = super::view::parse(view, database)?;
        let mut columns: Vec<Arc<str>> = view.columns.iter().map(|column| column.as_str().into()).collect();
        if self.binder.row_keys_of_views
            && !super::updatable::updatable(self.binder.catalog, database, view)?.is_empty()
        {
            let keys = super::updatable::row_key_items(self.binder.catalog, database, &query)?;
            columns.extend((0..keys.len()).map(|table| row_key_column(table).into()));
            if let ast::QueryBody::Select(select) = &mut query.body {
                select.items.extend(keys);
            }
        }
        self.tables.push(TableUse {
            in_subquery: self.in_subquery && !self.is_gathered,
            database: Arc::clone(database),
            name: Arc::clone(&name),
            alias: Arc::clone(alias),
            scan_name: "".into(),
            definition: None,
            virtual_schema: None,
            columns: Vec::new(),
            invoker: self.invoker.clone(),
            inside_view: self.views.first().cloned(),
            view: Some(Arc::clone(view)),
            lock: self.locks.of_table(alias).map(|(strength, _)| strength),
            locked_by_change: self.locks.of_change,
        });
        let table = self.tables.len() - 1;
        // A view sees neither the blocks nor the WITH clauses around it; what locks it locks its tables.
        let frames = std::mem::take(&mut self.frames);
        let common_tables = std::mem::take(&mut self.common_tables);
        let text = std::mem::replace(&mut self.text, view.query.clone().into_bytes().into());
        let inside = invoker_inside(view, &self.invoker);
        let invoker = std::mem::replace(&mut self.invoker, inside);
        self.views.push(key);
        let outer_gathered = self.is_gathered;
        self.is_gathered |= !super::updatable::is_merged(view, &query);
        let locks = self.locks.inside_view(alias);
        let bound = self.nested(|context| context.bind_query_with(&query, locks));
        self.is_gathered = outer_gathered;
        self.views.pop();
        self.invoker = invoker;
        self.text = text;
        self.common_tables = common_tables;
        self.frames = frames;
        let bound = bound.map_err(|error| view_error(error, database, &name))?;
        let origin = Some((Arc::clone(database), name));
        let item = self.derived_item(bound, alias, &columns, Some(Arc::clone(database)), origin, block)?;
        for (ordinal, column) in item.relations.iter().flat_map(|relation| relation.columns.iter().enumerate()) {
            self.view_columns.insert(column.id, (table, ordinal));
        }
        Ok(item)
    }

    /// Binds a query whose rows are gathered before they are used.
    pub(super) fn gathered<T>(&mut self, bind: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        let outer = std::mem::replace(&mut self.is_gathered, true);
        let bound = self.nested(bind);
        self.is_gathered = outer;
        bound
    }

    fn bind_derived(&mut self, derived: &ast::DerivedTable, block: BlockId) -> SqlResult<FromItem> {
        let Some(alias) = &derived.alias else { return Err(SqlError::new(ErrorCode::DerivedMustHaveAlias, &[])) };
        let assigned_before = std::mem::replace(&mut self.row_order_matters, false);
        let mut bound = self.gathered(|context| context.bind_query_block(&derived.query))?;
        if self.row_order_matters {
            bound.plan = self.keep_assignments(bound.plan)?;
        }
        self.row_order_matters |= assigned_before;
        let columns: Vec<Arc<str>> = derived.columns.iter().map(|column| column.value.as_ref().into()).collect();
        self.derived_item(bound, &alias.value.as_ref().into(), &columns, None, None, block)
    }

    /// A condition on every column that is always met: a column that assigns a variable is made even where nothing
    /// reads it, as in `FROM t, (SELECT @n := 0) AS start`.
    fn keep_assignments(&self, plan: LogicalPlan) -> SqlResult<LogicalPlan> {
        let columns = plan.schema().columns().into_iter().map(Expr::Column);
        let met = columns.map(|column| column.clone().is_null().or(column.is_not_null()));
        match met.reduce(Expr::and) {
            Some(met) => super::plans::filter_plan(plan, met),
            None => Ok(plan),
        }
    }

    /// The names of a derived table, view or table expression in the block that uses it.
    pub fn derived_item(
        &mut self,
        bound: BoundBlock,
        alias: &Arc<str>,
        names: &[Arc<str>],
        database: Option<Arc<str>>,
        view: Option<(Arc<str>, Arc<str>)>,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        if !names.is_empty() && names.len() != bound.outputs.len() {
            return Err(SqlError::new(ErrorCode::ViewWrongList, &[]));
        }
        let mut columns: Vec<RelationColumn> = Vec::with_capacity(bound.outputs.len());
        for (ordinal, output) in bound.outputs.iter().enumerate() {
            let name = names.get(ordinal).unwrap_or(&output.name);
            if columns.iter().any(|column| eq_ignore_case(&column.name, name)) {
                return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[name]));
            }
            let info = self.columns.get(output.id);
            let (database, org_table) = match &view {
                Some((database, view)) => (Arc::clone(database), Arc::clone(view)),
                None => match &info.origin {
                    Some(origin) => (Arc::clone(&origin.database), Arc::clone(&origin.org_table)),
                    None => ("".into(), "".into()),
                },
            };
            let org_name = match &info.origin {
                Some(origin) if view.is_none() => Arc::clone(&origin.org_name),
                _ => Arc::clone(name),
            };
            let behind = info.origin.as_ref().and_then(|origin| origin.base.clone().or(origin.behind.clone()));
            let origin = ColumnOrigin { database, table: Arc::clone(alias), org_table, org_name, base: None, behind };
            let reference = Arc::clone(&info.reference);
            let display = format!("`{alias}`.`{name}`");
            let mut ty = reference.ty.clone();
            if ty.sql_type.collation().is_some() {
                ty.coercibility = Coercibility::Implicit;
            }
            let id = self.columns.add(
                block,
                reference.relation.clone(),
                &reference.name,
                &display,
                ty,
                Some(Arc::new(origin)),
            );
            self.columns.set_depth(id, reference.depth);
            let invisible = is_row_key_column(name);
            columns.push(RelationColumn { name: Arc::clone(name), id, invisible, hidden: false });
        }
        let relation = Relation { alias: Arc::clone(alias), database, columns, definition: None, any_case: false };
        Ok(FromItem::of(NestedBlock::every(bound.plan, self.depth()), relation))
    }

    /// Binds LATERAL: a derived table that reads the rows left of it.
    pub fn bind_lateral(
        &mut self,
        derived: &ast::DerivedTable,
        block: BlockId,
        left: Option<FromItem>,
        keep_unmatched: bool,
        condition: Option<&ast::Expr>,
    ) -> SqlResult<FromItem> {
        let Some(left) = left else {
            let item = self.bind_derived(derived, block)?;
            return match condition {
                None => Ok(item),
                Some(_) => Err(SqlError::unsupported("ON for a LATERAL table that stands alone")),
            };
        };
        let frame = Frame::new(left.scope(block), Clause::From);
        let (item, _) = self.with_frame(frame, |context| context.bind_derived(derived, block))?;
        self.check_unique(&left.relations, &item.relations)?;
        self.apply_lateral(left, item, block, keep_unmatched, condition)
    }
}

/// Most characters of a name.
const NAME_CHARACTERS_MAX: usize = 64;

/// 1146; 1103 or 1059 if no table can have the name.
pub(crate) fn no_such_table(database: &str, name: &str) -> SqlError {
    match name {
        name if name.is_empty() || name.ends_with(' ') => SqlError::new(ErrorCode::WrongTableName, &[&name]),
        name if name.chars().count() > NAME_CHARACTERS_MAX => SqlError::new(ErrorCode::TooLongIdent, &[&name]),
        name => SqlError::new(ErrorCode::NoSuchTable, &[&database, &name]),
    }
}

/// Errors inside of a view name the view.
pub(crate) fn view_error(error: SqlError, database: &str, view: &str) -> SqlError {
    let hidden = [
        ErrorCode::NoSuchTable,
        ErrorCode::BadField,
        ErrorCode::BadDatabase,
        ErrorCode::SpDoesNotExist,
        ErrorCode::ProcAccessDenied,
    ];
    match hidden.iter().any(|code| error.is(*code)) {
        true => SqlError::new(ErrorCode::ViewInvalid, &[&database, &view]),
        false => error,
    }
}
