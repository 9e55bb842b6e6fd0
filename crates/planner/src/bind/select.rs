//! A query block: FROM, WHERE, the select list, GROUP BY, HAVING, windows, DISTINCT, ORDER BY, LIMIT, in that order.

use super::block::{BlockExprs, BlockOutput, BoundBlock, FromItem, Item, OrderKey, SimpleBlock, position_of};
use super::column::{BlockId, ColumnId};
use super::context::{Context, Frame, display_name};
use super::decorrelate::reads_any;
use super::match_against::relevance_order;
use super::output::announced_type;
use super::scope::{Clause, Found};
use squall_catalog::name::eq_ignore_case;
use squall_functions::expr::BoundExpr;
use squall_parser::ast;
use squall_registry::ENDLESS_TABLE;
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult};
use std::sync::Arc;

impl Context<'_> {
    /// Binds a query block.
    pub fn bind_select(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> SqlResult<BoundBlock> {
        let block = self.new_block();
        let around = self.endless_table.take();
        let from = self.bind_from(&select.from, block)?;
        let endless = std::mem::replace(&mut self.endless_table, around);
        let mut frame = Frame::new(from.scope(block), Clause::FieldList);
        super::window::check_names(&select.windows)?;
        frame.named_windows.clone_from(&select.windows);
        let (bound, _) = self.with_frame(frame, |context| {
            if let Some(table) = &endless {
                context.check_ends(table, select, order_by, limit)?;
            }
            context.bind_block(select, from, order_by, limit, (block, endless))
        })?;
        Ok(bound)
    }

    /// Whether a block that reads a table without end has an end itself.
    fn check_ends(
        &self,
        table: &str,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> SqlResult<()> {
        let has_end = limit.is_some_and(|limit| limit.count.is_some() && !limit.with_ties);
        let reads_all = select.group_by.is_some()
            || select.having.is_some()
            || select.options.distinct
            || select.options.calc_found_rows
            || !order_by.is_empty();
        match has_end && !reads_all {
            true => Ok(()),
            false => Err(SqlError::of_module(&ENDLESS_TABLE, &[&table])),
        }
    }

    fn bind_block(
        &mut self,
        select: &ast::Select,
        from: FromItem,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
        (block, endless): (BlockId, Option<Arc<str>>),
    ) -> SqlResult<BoundBlock> {
        let limit = limit.map(|limit| self.bind_limit(limit)).transpose()?;
        let filtered = self.bind_where(from.plan, select.selection.as_ref(), block)?;
        let mut exprs = BlockExprs { items: self.bind_items(&select.items)?, ..BlockExprs::default() };
        let group = self.bind_group_by(select.group_by.as_ref(), &exprs.items)?;
        self.frame()?.group.clone_from(&group);
        self.frame()?.aliases = exprs.items.iter().map(|item| (Arc::clone(&item.name), item.expr.clone())).collect();
        exprs.having = self.bind_having(select.having.as_ref())?;
        exprs.order = self.bind_order_by(order_by, &exprs.items)?;
        if let Some(matched) = relevance_order(select, order_by)
            && (limit.is_some() || self.is_outermost_block())
            && limit.as_ref().is_none_or(|limit| !limit.with_ties)
            && self.frame()?.aggregates.is_empty()
            && self.frame()?.windows.is_empty()
        {
            exprs.order = self.relevance_keys(matched)?;
        }
        // Nothing is bound any more, and literals may be large.
        self.frame()?.aliases.clear();
        if select.group_by.is_none() && !select.options.distinct && self.frame()?.aggregates.is_empty() {
            for key in &mut exprs.order {
                key.expr = self.keyed_order(key.expr.clone());
            }
        }

        let grouped = select.group_by.is_some() || !self.frame()?.aggregates.is_empty();
        let rollup = select.group_by.as_ref().is_some_and(|group_by| group_by.rollup);
        if !rollup && !self.frame()?.groupings.is_empty() {
            return Err(SqlError::new(ErrorCode::InvalidGroupFuncUse, &[]));
        }
        let windowed = !self.frame()?.windows.is_empty();
        if let Some(table) = endless.filter(|_| grouped || windowed) {
            return Err(SqlError::of_module(&ENDLESS_TABLE, &[&table]));
        }
        let plain = !windowed && select.having.is_none() && self.frame()?.subqueries.is_empty();
        let unlimited = limit.is_none_or(|limit| limit.offset == 0 && limit.count.is_some_and(|count| count > 0));
        let mut simple = None;
        if plain && limit.is_none() && !grouped {
            let outputs = exprs.items.iter().map(|item| item.expr.clone()).collect();
            simple = Some(SimpleBlock::rows(block, filtered.source.clone(), filtered.correlated.clone(), outputs));
        } else if plain && unlimited && grouped && select.group_by.is_none() && !select.options.distinct {
            let outputs = exprs.items.iter().map(|item| item.expr.clone()).collect();
            let aggregates = self.frame()?.aggregates.clone();
            simple = Some(SimpleBlock::aggregated(
                block,
                filtered.source.clone(),
                filtered.correlated.clone(),
                outputs,
                aggregates,
            ));
        }
        let mut plan = self.filter(filtered.source, filtered.correlated, block)?;
        if grouped {
            plan = self.aggregate(plan, group, rollup, &mut exprs, block)?;
        }
        let subqueries = std::mem::take(&mut self.frame()?.subqueries);
        if select.options.distinct && !exprs.order.is_empty() {
            exprs.subqueries = subqueries.iter().map(|query| (query.outputs.clone(), query.columns_read())).collect();
        }
        plan = self.attach_subqueries(plan, subqueries, block)?;
        if let Some(having) = exprs.having.take() {
            plan = self.filter(plan, vec![having], block)?;
        }
        if windowed {
            plan = self.window(plan, block)?;
        }
        self.finish_block(plan, exprs, select, limit, block, simple.map(Box::new))
    }

    /// Projection, DISTINCT, ORDER BY and LIMIT.
    fn finish_block(
        &mut self,
        plan: datafusion::logical_expr::LogicalPlan,
        exprs: BlockExprs,
        select: &ast::Select,
        limit: Option<super::output::RowLimit>,
        block: BlockId,
        simple: Option<Box<SimpleBlock>>,
    ) -> SqlResult<BoundBlock> {
        let assigns = |expr: &BoundExpr| expr.volatility() == squall_registry::Volatility::Volatile;
        if self.row_order_matters
            && !select.options.distinct
            && !select.options.calc_found_rows
            && !exprs.order.iter().any(|key| assigns(&key.expr))
        {
            return self.finish_in_order(plan, exprs, limit, block);
        }
        let mut projected = Vec::with_capacity(exprs.items.len());
        let mut outputs = Vec::with_capacity(exprs.items.len());
        for item in &exprs.items {
            let id = self.output_column(item, block);
            projected.push((self.value(&item.expr, block)?, id));
            outputs.push(BlockOutput { name: Arc::clone(&item.name), id });
        }
        // What ORDER BY needs beyond the select list rides along as hidden columns.
        let is_ordered = !exprs.order.is_empty();
        let mut keys = Vec::with_capacity(exprs.order.len());
        let mut hidden: Vec<ColumnId> = Vec::new();
        for (number, key) in exprs.order.into_iter().enumerate() {
            let id = match exprs.items.iter().position(|item| item.expr == key.expr) {
                Some(position) => outputs[position].id,
                None if key.expr.as_literal().is_some() => continue,
                None => {
                    if select.options.distinct
                        && self.binder.context.settings.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY)
                    {
                        self.check_made_of_items(number + 1, &key.expr, &exprs.items, &exprs.subqueries, block)?;
                    }
                    let id = self.columns.add_computed(block, &key.expr.to_string(), key.expr.ty());
                    projected.push((self.value(&key.expr, block)?, id));
                    hidden.push(id);
                    id
                }
            };
            keys.push(OrderKey { expr: self.columns.expr(id), descending: key.descending });
        }
        let mut plan = self.project(plan, projected)?;
        if select.options.distinct {
            let ids: Vec<ColumnId> = outputs.iter().map(|output| output.id).collect();
            plan = self.distinct(plan, &ids, &hidden, block)?;
        }
        let ties = limit.filter(|limit| limit.with_ties);
        if let Some(ties) = ties {
            if select.options.calc_found_rows {
                return Err(SqlError::unsupported("SQL_CALC_FOUND_ROWS with FETCH … WITH TIES"));
            }
            plan = self.limit_with_ties(plan, &keys, is_ordered, ties, block)?;
        }
        plan = self.sort(plan, &keys, block)?;
        if let Some(limit) = limit.filter(|limit| !limit.with_ties) {
            if select.options.calc_found_rows && self.is_outermost_block() {
                self.found_rows_limit = Some(limit);
            } else {
                plan = self.limit(plan, limit)?;
            }
        } else if select.options.calc_found_rows && self.is_outermost_block() {
            // So that all rows are counted, also where fewer are wanted.
            self.found_rows_limit = Some(super::output::RowLimit::default());
        }
        if !hidden.is_empty() || ties.is_some() {
            let exprs = outputs
                .iter()
                .map(|output| Ok((self.value(&self.columns.expr(output.id), block)?, output.id)))
                .collect::<SqlResult<Vec<_>>>()?;
            plan = self.project(plan, exprs)?;
        }
        Ok(BoundBlock { plan, outputs, simple })
    }

    /// ORDER BY and LIMIT before the select list, whose assignments of variables see the rows as they are sent.
    fn finish_in_order(
        &mut self,
        plan: datafusion::logical_expr::LogicalPlan,
        exprs: BlockExprs,
        limit: Option<super::output::RowLimit>,
        block: BlockId,
    ) -> SqlResult<BoundBlock> {
        let mut plan = plan;
        if let Some(ties) = limit.filter(|limit| limit.with_ties) {
            plan = self.limit_with_ties(plan, &exprs.order, !exprs.order.is_empty(), ties, block)?;
        }
        plan = self.sort(plan, &exprs.order, block)?;
        if let Some(limit) = limit.filter(|limit| !limit.with_ties) {
            plan = self.limit(plan, limit)?;
        }
        let mut projected = Vec::with_capacity(exprs.items.len());
        let mut outputs = Vec::with_capacity(exprs.items.len());
        for item in exprs.items {
            let id = self.output_column(&item, block);
            projected.push((self.value(&item.expr, block)?, id));
            outputs.push(BlockOutput { name: item.name, id });
        }
        Ok(BoundBlock { plan: self.project(plan, projected)?, outputs, simple: None })
    }

    /// The column of the result that an item of the select list makes.
    fn output_column(&mut self, item: &Item, block: BlockId) -> ColumnId {
        let id = self.columns.add_computed(block, &item.name, item.expr.ty());
        self.columns.set_depth(id, item.expr.planned_depth());
        self.columns.set_announced(id, announced_type(&item.expr));
        if let BoundExpr::Column(column) = &item.expr {
            let info = self.columns.get(column.ordinal).clone();
            self.columns.set_display(id, &info.reference.display);
            self.columns.set_origin(id, info.origin);
        }
        id
    }

    /// What rows of SELECT DISTINCT are ordered by is the same for all that are one row of the result, as it reads nothing else
    /// (3065).
    fn check_made_of_items(
        &self,
        number: usize,
        expr: &BoundExpr,
        items: &[Item],
        subqueries: &[(Vec<ColumnId>, Vec<ColumnId>)],
        block: BlockId,
    ) -> SqlResult<()> {
        let mut read = Vec::new();
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                read.push(column.ordinal);
            }
        });
        while let Some(id) = read.pop() {
            let is_item = |item: &Item| matches!(&item.expr, BoundExpr::Column(column) if column.ordinal == id);
            if self.is_outer(id, block) || items.iter().any(is_item) {
                continue;
            }
            match subqueries.iter().find(|(outputs, _)| outputs.contains(&id)) {
                // A subquery gives the same value if its outer columns have the same values. It reads no columns of its own.
                Some((_, columns)) => read.extend(columns),
                None => {
                    let missing = self.plain_display(id);
                    return Err(SqlError::new(ErrorCode::FieldInOrderNotSelect, &[&number, &missing]));
                }
            }
        }
        Ok(())
    }

    /// Binds the select list.
    fn bind_items(&mut self, items: &[ast::SelectItem]) -> SqlResult<Vec<Item>> {
        let frame = self.frame()?;
        frame.clause = Clause::FieldList;
        frame.aggregates_allowed = true;
        frame.windows_allowed = true;
        frame.later_aliases = items
            .iter()
            .rev()
            .filter_map(|item| match item {
                ast::SelectItem::Expr(item) => Some(item.alias.as_ref()?.value.as_ref().into()),
                _ => None,
            })
            .collect();
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            match item {
                ast::SelectItem::Wildcard => self.expand_all(&mut bound)?,
                ast::SelectItem::QualifiedWildcard(name) => self.expand_table(name, &mut bound)?,
                ast::SelectItem::Expr(item) => {
                    let expr = self.bind_expr(&item.expr)?;
                    let name: Arc<str> = item.column_name(&self.text).into();
                    if item.alias.is_some() {
                        let frame = self.frame()?;
                        frame.aliases.push((Arc::clone(&name), expr.clone()));
                        frame.later_aliases.pop();
                    }
                    bound.push(Item { name, expr, aliased: item.alias.is_some() });
                }
            }
        }
        Ok(bound)
    }

    fn expand_all(&mut self, items: &mut Vec<Item>) -> SqlResult<()> {
        let scope = &self.frame()?.scope;
        if scope.relations.is_empty() {
            return Err(SqlError::new(ErrorCode::NoTablesUsed, &[]));
        }
        let visible = scope.visible.clone();
        for column in visible.iter().filter(|column| !column.invisible) {
            self.mark_used(column.id);
            let expr = self.columns.expr(column.id);
            items.push(Item { name: Arc::clone(&column.name), expr, aliased: false });
        }
        Ok(())
    }

    fn expand_table(&mut self, name: &ast::ObjectName, items: &mut Vec<Item>) -> SqlResult<()> {
        let scope = &self.frame()?.scope;
        let Some(relation) = scope.relation(name.schema.as_deref(), &name.name) else {
            let shown = match &name.schema {
                Some(schema) => format!("{}.{}", schema.as_str(), name.name.as_str()),
                None => name.name.value.to_string(),
            };
            return Err(SqlError::new(ErrorCode::BadTable, &[&shown]));
        };
        let columns = relation.columns.clone();
        for column in columns.iter().filter(|column| !column.invisible) {
            self.mark_used(column.id);
            let expr = self.columns.expr(column.id);
            items.push(Item { name: Arc::clone(&column.name), expr, aliased: false });
        }
        Ok(())
    }

    fn bind_group_by(&mut self, group_by: Option<&ast::GroupBy>, items: &[Item]) -> SqlResult<Vec<BoundExpr>> {
        let Some(group_by) = group_by else { return Ok(Vec::new()) };
        let mut group = Vec::with_capacity(group_by.items.len());
        for item in &group_by.items {
            let expr = self.bind_group_item(&item.expr, items)?;
            group.push(expr);
        }
        Ok(group)
    }

    fn bind_group_item(&mut self, expr: &ast::Expr, items: &[Item]) -> SqlResult<BoundExpr> {
        let frame = self.frame()?;
        frame.clause = Clause::Group;
        frame.aggregates_allowed = false;
        frame.windows_allowed = false;
        if let Some(position) = position_of(expr) {
            let Some(item) = items.get(position.wrapping_sub(1)) else {
                return Err(SqlError::new(ErrorCode::BadField, &[&position, &Clause::Group]));
            };
            return self.groupable(item);
        }
        if let ast::Expr::Column(name) = expr
            && name.table.is_none()
        {
            // A column of FROM comes before an alias of the select list, if there is one of that name and not several.
            let named = Self::item_named(name, items, Clause::Group)?;
            let block_scope = &self.frame()?.scope;
            if !matches!(block_scope.find(None, None, &name.column), Found::One(_))
                && let Some(item) = named
            {
                return self.groupable(item);
            }
        }
        self.bind_expr(expr)
    }

    fn groupable(&mut self, item: &Item) -> SqlResult<BoundExpr> {
        match self.is_of_groups(&item.expr)? {
            true => Err(SqlError::new(ErrorCode::WrongGroupField, &[&item.name])),
            false => Ok(item.expr.clone()),
        }
    }

    /// Whether an expression reads an aggregate or a window of this block, also inside of a subquery.
    pub fn is_of_groups(&mut self, expr: &BoundExpr) -> SqlResult<bool> {
        let frame = self.frame()?;
        let aggregates = frame.aggregates.iter().map(|aggregate| aggregate.id);
        let outputs: Vec<ColumnId> = aggregates.chain(frame.windows.iter().map(|window| window.id)).collect();
        Ok(reads_any(expr, &outputs)
            || frame.subqueries.iter().any(|subquery| {
                reads_any(expr, &subquery.outputs) && subquery.outer.iter().any(|(_, value)| reads_any(value, &outputs))
            }))
    }

    fn bind_having(&mut self, having: Option<&ast::Expr>) -> SqlResult<Option<BoundExpr>> {
        let Some(having) = having else { return Ok(None) };
        let frame = self.frame()?;
        frame.clause = Clause::Having;
        frame.aggregates_allowed = true;
        frame.windows_allowed = false;
        self.bind_condition(having).map(Some)
    }

    fn bind_order_by(&mut self, order_by: &[ast::OrderItem], items: &[Item]) -> SqlResult<Vec<OrderKey>> {
        let frame = self.frame()?;
        frame.clause = Clause::Order;
        frame.aggregates_allowed = true;
        frame.windows_allowed = true;
        order_by
            .iter()
            .map(|item| {
                let expr = self.bind_order_item(&item.expr, items)?;
                Ok(OrderKey { expr, descending: item.descending })
            })
            .collect()
    }

    fn bind_order_item(&mut self, expr: &ast::Expr, items: &[Item]) -> SqlResult<BoundExpr> {
        if let Some(position) = position_of(expr) {
            return match items.get(position.wrapping_sub(1)) {
                Some(item) => Ok(item.expr.clone()),
                None => Err(SqlError::new(ErrorCode::BadField, &[&position, &Clause::Order])),
            };
        }
        if let ast::Expr::Column(name) = expr
            && name.table.is_none()
            && let Some(found) = Self::item_named(name, items, Clause::Order)?
        {
            return Ok(found.expr.clone());
        }
        self.bind_expr(expr)
    }

    /// The select list's expression of that name. Two columns of one name are ambiguous; the first expression that is none is meant before
    /// any that comes later.
    fn item_named<'i>(name: &ast::ColumnName, items: &'i [Item], clause: Clause) -> SqlResult<Option<&'i Item>> {
        let mut found: Option<&Item> = None;
        for item in items.iter().filter(|item| eq_ignore_case(&item.name, &name.column) && is_named(item)) {
            if !matches!(item.expr, BoundExpr::Column(_)) {
                return Ok(Some(item));
            }
            if found.is_some_and(|found| found.expr != item.expr) {
                return Err(SqlError::new(ErrorCode::NonUniqueColumn, &[&display_name(name), &clause]));
            }
            found = found.or(Some(item));
        }
        Ok(found)
    }

    /// A column as error messages of grouping show it: `database.table.column` without quotes.
    pub fn plain_display(&self, id: ColumnId) -> String {
        let info = self.columns.get(id);
        match &info.origin {
            Some(origin) if origin.database.is_empty() => format!("{}.{}", origin.table, info.reference.name),
            Some(origin) => format!("{}.{}.{}", origin.database, origin.table, origin.org_name),
            None => info.reference.display.to_string(),
        }
    }

    /// Whether the block being bound is the statement's own and not inside of anything.
    fn is_outermost_block(&self) -> bool {
        self.frames.len() == 1 && self.views.is_empty() && self.depth() == 1
    }
}

/// Whether a name can refer to the item: it has an alias or is a plain column.
fn is_named(item: &Item) -> bool {
    item.aliased || matches!(item.expr, BoundExpr::Column(_))
}
