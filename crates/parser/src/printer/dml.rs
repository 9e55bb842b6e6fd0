//! Statements that change rows.

use super::expr::binary_op;
use super::*;

impl Printer {
    pub(super) fn insert(&mut self, insert: &Insert) {
        self.put(if insert.replace { "replace " } else { "insert " });
        self.hints(&insert.hints);
        self.put(match insert.priority {
            None => "",
            Some(InsertPriority::Low) => "low_priority ",
            Some(InsertPriority::Delayed) => "delayed ",
            Some(InsertPriority::High) => "high_priority ",
        });
        self.put_if(insert.ignore, "ignore ");
        self.put("into ");
        self.object_name(&insert.table);
        self.partitions(&insert.partitions);
        self.optional_idents(&insert.columns);
        match &insert.source {
            InsertSource::Values(rows) => {
                self.put(" values ");
                self.value_rows(rows);
            }
            InsertSource::Query(query) => {
                self.put(" ");
                self.query(query);
            }
        }
        if let Some(alias) = &insert.row_alias {
            self.put(" as ");
            self.ident(&alias.name);
            self.optional_idents(&alias.columns);
        }
        if !insert.on_duplicate.is_empty() {
            self.put(" on duplicate key update ");
            self.assignments(&insert.on_duplicate);
        }
        self.returning(&insert.returning);
    }

    fn value_rows(&mut self, rows: &ValueRows) {
        self.list(&rows.trees, ",", |printer, row| printer.paren_list(row, Self::expr));
        let Some(packed) = &rows.packed else { return };
        let (mut reader, mut row) = (packed.reader(), Vec::new());
        while reader.next_row(&mut row) {
            self.put(",");
            self.paren_list(&row, |printer, value| match value {
                PackedValue::Leaf(expr) => printer.expr(expr),
                PackedValue::Shared(number) => printer.expr(&packed.exprs()[*number as usize]),
            });
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        self.list(assignments, ",", |printer, assignment| {
            printer.column_name(&assignment.column);
            printer.put(" = ");
            printer.expr(&assignment.value);
        });
    }

    fn returning(&mut self, items: &[SelectItem]) {
        if !items.is_empty() {
            self.put(" returning ");
            self.select_items(items);
        }
    }

    pub(super) fn update(&mut self, update: &Update) {
        self.with(&update.with);
        self.put("update ");
        self.hints(&update.hints);
        self.put_if(update.low_priority, "low_priority ");
        self.put_if(update.ignore, "ignore ");
        self.list(&update.tables, ",", Self::table_reference);
        self.put(" set ");
        self.assignments(&update.assignments);
        self.where_clause(&update.selection);
        self.order_by(&update.order_by);
        self.limit(&update.limit);
    }

    pub(super) fn delete(&mut self, delete: &Delete) {
        self.with(&delete.with);
        self.put("delete ");
        self.hints(&delete.hints);
        self.put_if(delete.low_priority, "low_priority ");
        self.put_if(delete.quick, "quick ");
        self.put_if(delete.ignore, "ignore ");
        match &delete.target {
            DeleteTarget::Single { table, alias, partitions } => {
                self.put("from ");
                self.object_name(table);
                self.partitions(partitions);
                if let Some(alias) = alias {
                    self.put(" as ");
                    self.ident_or_string(alias);
                }
            }
            DeleteTarget::Multiple { tables, from } => {
                self.list(tables, ",", Self::object_name);
                self.put(" from ");
                self.list(from, ",", Self::table_reference);
            }
        }
        self.where_clause(&delete.selection);
        self.order_by(&delete.order_by);
        self.limit(&delete.limit);
        self.returning(&delete.returning);
    }

    pub(super) fn load_data(&mut self, load: &LoadData) {
        self.put(if load.xml { "load xml " } else { "load data " });
        self.put(match load.priority {
            None => "",
            Some(LoadPriority::Low) => "low_priority ",
            Some(LoadPriority::Concurrent) => "concurrent ",
        });
        self.put(match load.source {
            LoadSource::Server => "infile ",
            LoadSource::Client => "local infile ",
            LoadSource::Url => "from url ",
        });
        self.string(&load.path);
        self.put(match load.duplicates {
            LoadDuplicates::Default => "",
            LoadDuplicates::Ignore => " ignore",
            LoadDuplicates::Replace => " replace",
        });
        self.put(" into table ");
        self.object_name(&load.table);
        self.partitions(&load.partitions);
        if let Some(charset) = &load.charset {
            self.put(" character set ");
            self.name_or_string(charset);
        }
        self.optional_string(" rows identified by ", &load.rows_identified_by);
        self.named_format(load.named_format);
        self.file_format(&load.format);
        self.terminated(" defined null by ", &load.null_text);
        self.put_if(load.trailing_nullcols, " trailing nullcols");
        if load.ignore_lines > 0 {
            self.put(" ignore ");
            self.number(load.ignore_lines);
            self.put(" lines");
        }
        if !load.columns.is_empty() {
            self.put(" ");
            self.paren_list(&load.columns, Self::variable_target);
        }
        if !load.assignments.is_empty() {
            self.put(" set ");
            self.assignments(&load.assignments);
        }
        match load.reject_limit {
            None => {}
            Some(u64::MAX) => self.put(" reject limit unlimited"),
            Some(limit) => {
                self.put(" reject limit ");
                self.number(limit);
            }
        }
    }

    pub(super) fn handler(&mut self, handler: &Handler) {
        self.put("handler ");
        match handler {
            Handler::Open { table, alias } => {
                self.object_name(table);
                self.put(" open");
                if let Some(alias) = alias {
                    self.put(" as ");
                    self.ident_or_string(alias);
                }
            }
            Handler::Close { table } => {
                self.object_name(table);
                self.put(" close");
            }
            Handler::Read { table, read, selection, limit } => {
                self.object_name(table);
                self.put(" read ");
                match read {
                    HandlerRead::Scan(direction) => self.direction(*direction),
                    HandlerRead::Index { index, direction } => {
                        self.ident(index);
                        self.put(" ");
                        self.direction(*direction);
                    }
                    HandlerRead::Key { index, op, values } => {
                        self.ident(index);
                        self.put(binary_op(*op));
                        self.paren_list(values, Self::expr);
                    }
                }
                self.where_clause(selection);
                self.limit(limit);
            }
        }
    }

    fn direction(&mut self, direction: HandlerDirection) {
        self.put(match direction {
            HandlerDirection::First => "first",
            HandlerDirection::Next => "next",
            HandlerDirection::Previous => "prev",
            HandlerDirection::Last => "last",
        });
    }

    pub(super) fn call(&mut self, call: &Call) {
        self.put("call ");
        self.object_name(&call.procedure);
        self.paren_list(&call.arguments, Self::expr);
    }
}
