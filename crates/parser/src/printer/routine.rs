//! Stored programs.

use super::expr::interval_unit;
use super::*;

impl Printer {
    pub(super) fn create_routine(&mut self, kind: &str, routine: &CreateRoutine) {
        self.put("CREATE ");
        self.put_if(routine.or_replace, "OR REPLACE ");
        self.definer(&routine.definer);
        self.put_if(routine.aggregate, "AGGREGATE ");
        self.put(kind);
        self.put_if(routine.if_not_exists, "IF NOT EXISTS ");
        self.object_name(&routine.name);
        self.paren_list(&routine.parameters, |printer, parameter| {
            printer.put(match parameter.mode {
                ParameterMode::In => "",
                ParameterMode::Out => "OUT ",
                ParameterMode::InOut => "INOUT ",
            });
            printer.ident(&parameter.name);
            printer.put(" ");
            printer.data_type(&parameter.data_type);
        });
        if let Some(returns) = &routine.returns {
            self.put(" RETURNS ");
            self.data_type(returns);
        }
        self.characteristics(&routine.characteristics);
        match &routine.body {
            RoutineBody::Sql(statement) => {
                self.put(" ");
                self.statement(statement);
            }
            RoutineBody::External(text) => {
                self.put(" AS ");
                self.string(text);
            }
        }
    }

    pub(super) fn alter_routine(&mut self, kind: &str, routine: &AlterRoutine) {
        self.put(kind);
        self.object_name(&routine.name);
        self.characteristics(&routine.characteristics);
    }

    fn characteristics(&mut self, characteristics: &Characteristics) {
        if let Some(language) = &characteristics.language {
            self.put(" LANGUAGE ");
            self.ident(language);
        }
        self.put(match characteristics.deterministic {
            None => "",
            Some(true) => " DETERMINISTIC",
            Some(false) => " NOT DETERMINISTIC",
        });
        self.put(match characteristics.data_access {
            None => "",
            Some(DataAccess::ContainsSql) => " CONTAINS SQL",
            Some(DataAccess::NoSql) => " NO SQL",
            Some(DataAccess::ReadsSqlData) => " READS SQL DATA",
            Some(DataAccess::ModifiesSqlData) => " MODIFIES SQL DATA",
        });
        if let Some(security) = characteristics.security {
            self.put(" ");
            self.security(security);
        }
        self.optional_string(" COMMENT ", &characteristics.comment);
    }

    pub(super) fn create_trigger(&mut self, trigger: &CreateTrigger) {
        self.put("CREATE ");
        self.put_if(trigger.or_replace, "OR REPLACE ");
        self.definer(&trigger.definer);
        self.put("TRIGGER ");
        self.put_if(trigger.if_not_exists, "IF NOT EXISTS ");
        self.object_name(&trigger.name);
        self.put(match trigger.time {
            TriggerTime::Before => " BEFORE",
            TriggerTime::After => " AFTER",
        });
        self.put(match trigger.event {
            TriggerEvent::Insert => " INSERT ON ",
            TriggerEvent::Update => " UPDATE ON ",
            TriggerEvent::Delete => " DELETE ON ",
        });
        self.object_name(&trigger.table);
        self.put(" FOR EACH ROW ");
        if let Some(order) = &trigger.order {
            let (word, other) = match order {
                TriggerOrder::Follows(other) => ("FOLLOWS ", other),
                TriggerOrder::Precedes(other) => ("PRECEDES ", other),
            };
            self.put(word);
            self.ident(other);
            self.put(" ");
        }
        self.statement(&trigger.body);
    }

    pub(super) fn create_event(&mut self, event: &CreateEvent) {
        self.put(if event.alter { "ALTER " } else { "CREATE " });
        self.put_if(event.or_replace, "OR REPLACE ");
        self.definer(&event.definer);
        self.put("EVENT ");
        self.put_if(event.if_not_exists, "IF NOT EXISTS ");
        self.object_name(&event.name);
        match &event.schedule {
            None => {}
            Some(Schedule::At(time)) => {
                self.put(" ON SCHEDULE AT ");
                self.expr(time);
            }
            Some(Schedule::Every { value, unit, starts, ends }) => {
                self.put(" ON SCHEDULE EVERY ");
                self.expr(value);
                self.put(" ");
                self.put(interval_unit(*unit));
                if let Some(starts) = starts {
                    self.put(" STARTS ");
                    self.expr(starts);
                }
                if let Some(ends) = ends {
                    self.put(" ENDS ");
                    self.expr(ends);
                }
            }
        }
        self.put(match event.preserve {
            None => "",
            Some(true) => " ON COMPLETION PRESERVE",
            Some(false) => " ON COMPLETION NOT PRESERVE",
        });
        if let Some(name) = &event.rename {
            self.put(" RENAME TO ");
            self.object_name(name);
        }
        self.put(match event.status {
            None => "",
            Some(EventStatus::Enabled) => " ENABLE",
            Some(EventStatus::Disabled) => " DISABLE",
            Some(EventStatus::DisabledOnReplica) => " DISABLE ON REPLICA",
        });
        self.optional_string(" COMMENT ", &event.comment);
        if let Some(body) = &event.body {
            self.put(" DO ");
            self.statement(body);
        }
    }

    pub(super) fn program(&mut self, program: &ProgramStatement) {
        match program {
            ProgramStatement::Block(block) => self.block(block),
            ProgramStatement::If { branches, otherwise } => {
                let mut word = "IF ";
                for (condition, steps) in branches {
                    self.put(word);
                    self.expr(condition);
                    self.put(" THEN ");
                    self.steps(steps);
                    word = "ELSEIF ";
                }
                self.otherwise(otherwise);
                self.put("END IF");
            }
            ProgramStatement::Case { operand, branches, otherwise } => {
                self.put("CASE ");
                if let Some(operand) = operand {
                    self.expr(operand);
                    self.put(" ");
                }
                for (when, steps) in branches {
                    self.put("WHEN ");
                    self.expr(when);
                    self.put(" THEN ");
                    self.steps(steps);
                }
                self.otherwise(otherwise);
                self.put("END CASE");
            }
            ProgramStatement::Loop { label, body } => {
                self.label(label);
                self.put("LOOP ");
                self.steps(body);
                self.put("END LOOP");
            }
            ProgramStatement::While { label, condition, body } => {
                self.label(label);
                self.put("WHILE ");
                self.expr(condition);
                self.put(" DO ");
                self.steps(body);
                self.put("END WHILE");
            }
            ProgramStatement::Repeat { label, body, until } => {
                self.label(label);
                self.put("REPEAT ");
                self.steps(body);
                self.put("UNTIL ");
                self.expr(until);
                self.put(" END REPEAT");
            }
            ProgramStatement::Leave(label) => {
                self.put("LEAVE ");
                self.ident(label);
            }
            ProgramStatement::Iterate(label) => {
                self.put("ITERATE ");
                self.ident(label);
            }
            ProgramStatement::Return(value) => {
                self.put("RETURN ");
                self.expr(value);
            }
            ProgramStatement::Open { cursor } => {
                self.put("OPEN ");
                self.ident(cursor);
            }
            ProgramStatement::Fetch { cursor, into } => {
                self.put("FETCH ");
                self.ident(cursor);
                self.put(" INTO ");
                self.list(into, ",", Self::ident);
            }
            ProgramStatement::Close { cursor } => {
                self.put("CLOSE ");
                self.ident(cursor);
            }
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.statement(&step.statement);
            self.put("; ");
        }
    }

    fn otherwise(&mut self, steps: &Option<Vec<Step>>) {
        if let Some(steps) = steps {
            self.put("ELSE ");
            self.steps(steps);
        }
    }

    fn label(&mut self, label: &Option<Ident>) {
        if let Some(label) = label {
            self.ident(label);
            self.put(": ");
        }
    }

    fn block(&mut self, block: &Block) {
        self.label(&block.label);
        self.put("BEGIN ");
        self.put_if(block.not_atomic, "NOT ATOMIC ");
        for declaration in &block.declarations {
            self.put("DECLARE ");
            self.declaration(declaration);
            self.put("; ");
        }
        self.steps(&block.steps);
        self.put("END");
    }

    fn declaration(&mut self, declaration: &Declaration) {
        match declaration {
            Declaration::Variables { names, data_type, default } => {
                self.list(names, ",", Self::ident);
                self.put(" ");
                self.data_type(data_type);
                if let Some(default) = default {
                    self.put(" DEFAULT ");
                    self.expr(default);
                }
            }
            Declaration::Condition { name, value } => {
                self.ident(name);
                self.put(" CONDITION FOR ");
                self.condition(value);
            }
            Declaration::Cursor { name, statement } => {
                self.ident(name);
                self.put(" CURSOR FOR ");
                self.statement(statement);
            }
            Declaration::Handler { action, conditions, step } => {
                self.put(match action {
                    HandlerAction::Continue => "CONTINUE HANDLER FOR ",
                    HandlerAction::Exit => "EXIT HANDLER FOR ",
                    HandlerAction::Undo => "UNDO HANDLER FOR ",
                });
                self.list(conditions, ",", Self::condition);
                self.put(" ");
                self.statement(&step.statement);
            }
        }
    }

    fn condition(&mut self, condition: &ConditionValue) {
        match condition {
            ConditionValue::ErrorCode(code) => self.number(code),
            ConditionValue::SqlState(state) => {
                self.put("SQLSTATE ");
                self.string(state);
            }
            ConditionValue::Name(name) => self.ident(name),
            ConditionValue::SqlWarning => self.put("SQLWARNING"),
            ConditionValue::NotFound => self.put("NOT FOUND"),
            ConditionValue::SqlException => self.put("SQLEXCEPTION"),
        }
    }
}
