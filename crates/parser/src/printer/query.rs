//! Queries.

use super::*;

impl Printer {
    pub(super) fn query(&mut self, query: &Query) {
        self.deeper(|printer| {
            printer.with(&query.with);
            printer.body(&query.body);
            printer.order_by(&query.order_by);
            printer.limit(&query.limit);
            printer.into(&query.into);
            for locking in &query.locking {
                printer.locking(locking);
            }
        });
    }

    pub(super) fn with(&mut self, with: &Option<With>) {
        let Some(with) = with else {
            return;
        };
        self.put(if with.recursive { "with recursive " } else { "with " });
        self.list(&with.tables, ",", |printer, table| {
            printer.ident(&table.name);
            printer.optional_idents(&table.columns);
            printer.put(" as (");
            printer.query(&table.query);
            printer.put(")");
        });
        self.put(" ");
    }

    fn body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.put("values ");
                self.list(rows, ",", |printer, row| {
                    printer.put("row");
                    printer.paren_list(row, Self::expr);
                });
            }
            QueryBody::Table(name) => {
                self.put("table ");
                self.object_name(name);
            }
            QueryBody::SetOperation(operation) => self.deeper(|printer| printer.set_operation(operation)),
            QueryBody::Nested(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
        }
    }

    fn set_operation(&mut self, operation: &SetOperation) {
        // The left side needs parentheses only when it binds less tightly.
        let looser = operation.kind == SetOperationKind::Intersect
            && matches!(&operation.left, QueryBody::SetOperation(left) if left.kind != SetOperationKind::Intersect);
        self.put_if(looser, "(");
        self.body(&operation.left);
        self.put_if(looser, ")");
        self.put(match operation.kind {
            SetOperationKind::Union => " union ",
            SetOperationKind::Intersect => " intersect ",
            SetOperationKind::Except => " except ",
        });
        self.put_if(operation.all, "all ");
        let nested = matches!(operation.right, QueryBody::SetOperation(_));
        self.put_if(nested, "(");
        self.body(&operation.right);
        self.put_if(nested, ")");
    }

    pub(super) fn hints(&mut self, hints: &Option<Box<str>>) {
        if let Some(hints) = hints {
            self.put("/*+");
            self.put(hints);
            self.put("*/ ");
        }
    }

    fn select(&mut self, select: &Select) {
        self.put("select ");
        self.hints(&select.hints);
        let options = &select.options;
        self.put_if(options.distinct, "distinct ");
        self.put_if(options.high_priority, "high_priority ");
        self.put_if(options.straight_join, "straight_join ");
        self.put_if(options.small_result, "sql_small_result ");
        self.put_if(options.big_result, "sql_big_result ");
        self.put_if(options.buffer_result, "sql_buffer_result ");
        self.put_if(options.no_cache, "sql_no_cache ");
        self.put_if(options.calc_found_rows, "sql_calc_found_rows ");
        self.select_items(&select.items);
        if !select.from.is_empty() {
            self.put(" from ");
            self.list(&select.from, ",", Self::table_reference);
        }
        self.where_clause(&select.selection);
        if let Some(group_by) = &select.group_by {
            self.put(" group by ");
            self.list(&group_by.items, ",", |printer, item| {
                printer.expr(&item.expr);
                match item.descending {
                    Some(true) => printer.put(" desc"),
                    Some(false) => printer.put(" asc"),
                    None => {}
                }
            });
            self.put_if(group_by.rollup, " with rollup");
        }
        if let Some(having) = &select.having {
            self.put(" having ");
            self.expr(having);
        }
        if !select.windows.is_empty() {
            self.put(" window ");
            self.list(&select.windows, ",", |printer, window| {
                printer.ident(&window.name);
                printer.put(" as ");
                printer.window(&window.window);
            });
        }
    }

    pub(super) fn select_items(&mut self, items: &[SelectItem]) {
        self.list(items, ",", |printer, item| match item {
            SelectItem::Wildcard => printer.put("*"),
            SelectItem::QualifiedWildcard(name) => {
                printer.object_name(name);
                printer.put(".*");
            }
            SelectItem::Expr(item) => {
                printer.expr(&item.expr);
                if let Some(alias) = &item.alias {
                    printer.put(" AS ");
                    printer.ident_or_string(alias);
                }
            }
        });
    }

    pub(super) fn where_clause(&mut self, selection: &Option<Expr>) {
        if let Some(selection) = selection {
            self.put(" where ");
            self.expr(selection);
        }
    }

    pub(super) fn order_by(&mut self, items: &[OrderItem]) {
        if items.is_empty() {
            return;
        }
        self.put(" order by ");
        self.list(items, ",", |printer, item| {
            printer.expr(&item.expr);
            printer.put_if(item.descending, " desc");
        });
    }

    pub(super) fn limit(&mut self, limit: &Option<Limit>) {
        let Some(limit) = limit else {
            return;
        };
        let Some(count) = &limit.count else {
            if let Some(offset) = &limit.offset {
                self.put(" offset ");
                self.expr(offset);
                self.put(" rows");
            }
            return;
        };
        if limit.with_ties {
            if let Some(offset) = &limit.offset {
                self.put(" offset ");
                self.expr(offset);
                self.put(" rows");
            }
            self.put(" fetch first ");
            self.expr(count);
            self.put(" rows with ties");
            return;
        }
        self.put(" limit ");
        if let Some(offset) = &limit.offset {
            self.expr(offset);
            self.put(",");
        }
        self.expr(count);
    }

    fn locking(&mut self, locking: &Locking) {
        self.put(match locking.strength {
            LockStrength::Update => " for update",
            LockStrength::Share => " for share",
        });
        if !locking.of.is_empty() {
            self.put(" of ");
            self.list(&locking.of, ",", Self::object_name);
        }
        self.lock_wait(locking.wait);
    }

    pub(super) fn lock_wait(&mut self, wait: LockWait) {
        match wait {
            LockWait::Default => {}
            LockWait::NoWait => self.put(" nowait"),
            LockWait::SkipLocked => self.put(" skip locked"),
            LockWait::Seconds(seconds) => {
                self.put(" wait ");
                self.number(seconds);
            }
        }
    }

    fn into(&mut self, into: &Option<SelectInto>) {
        match into {
            None => {}
            Some(SelectInto::OutFile(file)) => {
                self.put(" into outfile ");
                self.string(&file.path);
                if let Some(charset) = &file.charset {
                    self.put(" character set ");
                    self.name_or_string(charset);
                }
                self.named_format(file.named_format);
                self.file_format(&file.format);
            }
            Some(SelectInto::DumpFile(path)) => {
                self.put(" into dumpfile ");
                self.string(path);
            }
            Some(SelectInto::Variables(targets)) => {
                self.put(" into ");
                self.list(targets, ",", Self::variable_target);
            }
        }
    }

    pub(super) fn named_format(&mut self, format: Option<NamedFormat>) {
        self.put(match format {
            None => "",
            Some(NamedFormat::Csv) => " format csv",
            Some(NamedFormat::NdJson) => " format ndjson",
            Some(NamedFormat::Parquet) => " format parquet",
        });
    }

    pub(super) fn variable_target(&mut self, target: &VariableTarget) {
        match target {
            VariableTarget::User(name) => self.user_variable(name),
            VariableTarget::Local(name) => self.column_name(name),
        }
    }

    pub(super) fn file_format(&mut self, format: &FileFormat) {
        if format.fields_terminated.is_some() || format.fields_enclosed.is_some() || format.fields_escaped.is_some() {
            self.put(" fields");
        }
        self.terminated(" terminated by ", &format.fields_terminated);
        self.put_if(format.fields_optionally_enclosed, " optionally");
        self.terminated(" enclosed by ", &format.fields_enclosed);
        self.terminated(" escaped by ", &format.fields_escaped);
        if format.lines_starting.is_some() || format.lines_terminated.is_some() {
            self.put(" lines");
        }
        self.terminated(" starting by ", &format.lines_starting);
        self.terminated(" terminated by ", &format.lines_terminated);
    }

    pub(super) fn terminated(&mut self, words: &str, value: &Option<SqlString>) {
        if let Some(value) = value {
            self.put(words);
            self.sql_string(value);
        }
    }

    pub(super) fn table_reference(&mut self, reference: &TableReference) {
        match reference {
            TableReference::Table(table) => self.table_factor(table),
            TableReference::Derived(derived) => {
                self.put_if(derived.lateral, "lateral ");
                self.put("(");
                self.query(&derived.query);
                self.put(")");
                self.table_alias(&derived.alias);
                self.optional_idents(&derived.columns);
            }
            TableReference::JsonTable(table) => {
                self.put("json_table(");
                self.expr(&table.document);
                self.put(",");
                self.sql_string(&table.path);
                self.json_columns(&table.columns);
                self.put(")");
                self.table_alias(&table.alias);
            }
            TableReference::Function(call) => {
                self.object_name(&call.name);
                self.put("(");
                self.exprs(&call.arguments);
                self.put(")");
                self.table_alias(&call.alias);
                self.optional_idents(&call.columns);
            }
            TableReference::Join(join) => self.deeper(|printer| printer.join(join)),
        }
    }

    fn table_alias(&mut self, alias: &Option<Ident>) {
        if let Some(alias) = alias {
            self.put(" ");
            self.ident_or_string(alias);
        }
    }

    fn table_factor(&mut self, table: &TableFactor) {
        self.object_name(&table.name);
        self.partitions(&table.partitions);
        if let Some(alias) = &table.alias {
            self.put(" as ");
            self.ident_or_string(alias);
        }
        for hint in &table.hints {
            self.put(match hint.kind {
                IndexHintKind::Use => " use index ",
                IndexHintKind::Ignore => " ignore index ",
                IndexHintKind::Force => " force index ",
            });
            self.put(match hint.scope {
                None => "",
                Some(IndexHintScope::Join) => "for join ",
                Some(IndexHintScope::OrderBy) => "for order by ",
                Some(IndexHintScope::GroupBy) => "for group by ",
            });
            self.idents(&hint.indexes);
        }
    }

    pub(super) fn partitions(&mut self, partitions: &[Ident]) {
        if !partitions.is_empty() {
            self.put(" partition ");
            self.idents(partitions);
        }
    }

    fn join(&mut self, join: &Join) {
        self.table_reference(&join.left);
        self.put_if(join.condition == JoinCondition::Natural, " natural");
        self.put(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Straight => " straight_join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
        });
        let nested = matches!(join.right, TableReference::Join(_));
        self.put_if(nested, "(");
        self.table_reference(&join.right);
        self.put_if(nested, ")");
        match &join.condition {
            JoinCondition::None | JoinCondition::Natural => {}
            JoinCondition::On(condition) => {
                self.put(" on ");
                self.expr(condition);
            }
            JoinCondition::Using(columns) => {
                self.put(" using ");
                self.idents(columns);
            }
        }
    }

    fn json_columns(&mut self, columns: &[JsonColumn]) {
        self.put(" columns ");
        self.paren_list(columns, |printer, column| match column {
            JsonColumn::Ordinality { name } => {
                printer.ident(name);
                printer.put(" for ordinality");
            }
            JsonColumn::Path { name, data_type, path, on_empty, on_error } => {
                printer.ident(name);
                printer.put(" ");
                printer.data_type(data_type);
                printer.put(" path ");
                printer.sql_string(path);
                printer.json_response(on_empty, " on empty");
                printer.json_response(on_error, " on error");
            }
            JsonColumn::Exists { name, data_type, path } => {
                printer.ident(name);
                printer.put(" ");
                printer.data_type(data_type);
                printer.put(" exists path ");
                printer.sql_string(path);
            }
            JsonColumn::Nested { path, columns } => {
                printer.put("nested path ");
                printer.sql_string(path);
                printer.deeper(|printer| printer.json_columns(columns));
            }
        });
    }

    pub(super) fn window(&mut self, window: &WindowSpecification) {
        self.put("(");
        let start = self.text.len();
        if let Some(base) = &window.base {
            self.put(" ");
            self.ident(base);
        }
        if !window.partition_by.is_empty() {
            self.put(" partition by ");
            self.exprs(&window.partition_by);
        }
        self.order_by(&window.order_by);
        if let Some(frame) = &window.frame {
            self.put(match frame.unit {
                FrameUnit::Rows => " rows ",
                FrameUnit::Range => " range ",
                FrameUnit::Groups => " groups ",
            });
            match &frame.end {
                Some(end) => {
                    self.put("between ");
                    self.frame_bound(&frame.start);
                    self.put(" and ");
                    self.frame_bound(end);
                }
                None => self.frame_bound(&frame.start),
            }
            self.put(match frame.exclusion {
                None => "",
                Some(FrameExclusion::CurrentRow) => " exclude current row",
                Some(FrameExclusion::Group) => " exclude group",
                Some(FrameExclusion::Ties) => " exclude ties",
                Some(FrameExclusion::NoOthers) => " exclude no others",
            });
        }
        // Each clause brings a space; the first needs none.
        if self.text.len() > start {
            self.text.remove(start);
        }
        self.put(")");
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::CurrentRow => self.put("current row"),
            FrameBound::UnboundedPreceding => self.put("unbounded preceding"),
            FrameBound::UnboundedFollowing => self.put("unbounded following"),
            FrameBound::Preceding(value) => {
                self.expr(value);
                self.put(" preceding");
            }
            FrameBound::Following(value) => {
                self.expr(value);
                self.put(" following");
            }
        }
    }
}
