//! Stored procedures, functions and triggers, and the statements of their bodies.

use super::ddl::CreatePrefix;
use super::*;

impl Parser<'_> {
    pub(super) fn create_procedure(&mut self, prefix: CreatePrefix) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let (parameters, parameters_span) = self.parameters(true)?;
        self.routine(prefix, if_not_exists, name, parameters, parameters_span, None)
            .map(|routine| Statement::CreateProcedure(Box::new(routine)))
    }

    pub(super) fn create_function(&mut self, prefix: CreatePrefix) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if prefix.definer.is_none() && self.accept(K::Returns) {
            let returns = self.any_word()?;
            self.expect(K::Soname)?;
            let library = self.string()?;
            return Ok(Statement::CreateLoadableFunction(Box::new(CreateLoadableFunction {
                or_replace: prefix.or_replace,
                if_not_exists,
                aggregate: prefix.aggregate,
                name: name.name,
                returns,
                library,
            })));
        }
        let (parameters, parameters_span) = self.parameters(false)?;
        self.expect(K::Returns)?;
        let returns = Some(self.data_type()?);
        self.routine(prefix, if_not_exists, name, parameters, parameters_span, returns)
            .map(|routine| Statement::CreateFunction(Box::new(routine)))
    }

    /// `([IN|OUT|INOUT] name type, …)`.
    fn parameters(&mut self, modes: bool) -> Result<(Vec<Parameter>, Span)> {
        let start = self.current.end;
        self.expect_kind(TokenKind::LeftParen)?;
        let mut parameters = Vec::new();
        if !self.at_kind(TokenKind::RightParen) {
            parameters = self.comma_list(|parser| {
                let mode = match parser.current.keyword {
                    K::Out if modes => ParameterMode::Out,
                    K::Inout if modes => ParameterMode::InOut,
                    _ => ParameterMode::In,
                };
                if parser.at(K::In) || modes && parser.at_any(&[K::Out, K::Inout]) {
                    parser.advance();
                }
                let name = parser.ident()?;
                Ok(Parameter { mode, name, data_type: parser.data_type()? })
            })?;
        }
        let span = Span::new(start, self.current.start.max(start));
        self.expect_kind(TokenKind::RightParen)?;
        Ok((parameters, span))
    }

    fn routine(
        &mut self,
        prefix: CreatePrefix,
        if_not_exists: bool,
        name: ObjectName,
        parameters: Vec<Parameter>,
        parameters_span: Span,
        returns: Option<DataType>,
    ) -> Result<CreateRoutine> {
        let characteristics = self.characteristics()?;
        let start = self.current.start;
        let body = if self.at(K::As) {
            RoutineBody::External(self.external_source()?)
        } else {
            RoutineBody::Sql(Box::new(self.program_body()?))
        };
        let called = self.take_called();
        Ok(CreateRoutine {
            or_replace: prefix.or_replace,
            if_not_exists,
            definer: prefix.definer,
            aggregate: prefix.aggregate,
            name,
            parameters,
            returns,
            characteristics,
            body,
            called,
            parameters_span,
            body_span: self.span_from(start),
        })
    }

    /// `AS 'source'`, `AS $$source$$` or `AS $tag$source$tag$`, on its AS.
    fn external_source(&mut self) -> Result<Box<str>> {
        let opening = self.peek(1).start as usize;
        let Some(tag) = dollar_tag(&self.sql[opening..]) else {
            self.advance();
            return self.string();
        };
        let start = opening + tag.len();
        let Some(length) = memchr::memmem::find(&self.sql[start..], tag) else {
            return Err(self.unexpected_next());
        };
        let source = std::str::from_utf8(&self.sql[start..start + length]).map(Box::from);
        self.continue_at(start + length + tag.len());
        source.map_err(|_| self.unexpected())
    }

    /// The language and the source of a routine's body that the catalog has: `LANGUAGE name AS 'source'`; `None` for a body in SQL.
    pub(crate) fn external_body(&mut self) -> Result<Option<(Ident, Box<str>)>> {
        if !self.accept(K::Language) {
            return Ok(None);
        }
        let language = self.any_word()?;
        if !self.at(K::As) {
            return Err(self.unexpected());
        }
        Ok(Some((language, self.external_source()?)))
    }

    fn characteristics(&mut self) -> Result<Characteristics> {
        let mut characteristics = Characteristics::default();
        loop {
            match self.keyword() {
                K::Comment => {
                    self.advance();
                    characteristics.comment = Some(self.string()?);
                }
                K::Language => {
                    self.advance();
                    characteristics.language = Some(self.any_word()?);
                }
                K::Deterministic => {
                    self.advance();
                    characteristics.deterministic = Some(true);
                }
                K::Not if self.peek_is(1, K::Deterministic) => {
                    self.advance();
                    self.advance();
                    characteristics.deterministic = Some(false);
                }
                K::Contains => {
                    self.advance();
                    self.expect(K::Sql)?;
                    characteristics.data_access = Some(DataAccess::ContainsSql);
                }
                K::No if self.peek_is(1, K::Sql) => {
                    self.advance();
                    self.advance();
                    characteristics.data_access = Some(DataAccess::NoSql);
                }
                K::Reads => {
                    self.advance();
                    self.expect_all(&[K::Sql, K::Data])?;
                    characteristics.data_access = Some(DataAccess::ReadsSqlData);
                }
                K::Modifies => {
                    self.advance();
                    self.expect_all(&[K::Sql, K::Data])?;
                    characteristics.data_access = Some(DataAccess::ModifiesSqlData);
                }
                K::Sql => {
                    self.advance();
                    characteristics.security = Some(self.security()?);
                }
                _ => return Ok(characteristics),
            }
        }
    }

    /// ALTER PROCEDURE and ALTER FUNCTION, behind the words.
    pub(super) fn alter_routine(&mut self, function: bool) -> Result<Statement> {
        let name = self.object_name()?;
        let routine = Box::new(AlterRoutine { name, characteristics: self.characteristics()? });
        Ok(if function { Statement::AlterFunction(routine) } else { Statement::AlterProcedure(routine) })
    }

    pub(super) fn create_trigger(&mut self, prefix: CreatePrefix) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let time = match self.expect_any(&[K::Before, K::After])? {
            K::Before => TriggerTime::Before,
            _ => TriggerTime::After,
        };
        let event = match self.expect_any(&[K::Insert, K::Update, K::Delete])? {
            K::Insert => TriggerEvent::Insert,
            K::Update => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect(K::On)?;
        let table = self.object_name()?;
        self.expect_all(&[K::For, K::Each, K::Row])?;
        let mut order = None;
        if self.at_any(&[K::Follows, K::Precedes]) {
            let follows = self.advance().keyword == K::Follows;
            let other = self.ident()?;
            order = Some(if follows { TriggerOrder::Follows(other) } else { TriggerOrder::Precedes(other) });
        }
        let start = self.current.start;
        let body = Box::new(self.program_body()?);
        let called = self.take_called();
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            or_replace: prefix.or_replace,
            if_not_exists,
            definer: prefix.definer,
            name,
            time,
            event,
            table,
            order,
            body,
            called,
            body_span: self.span_from(start),
        })))
    }

    /// The functions that the body that has been read calls.
    fn take_called(&mut self) -> Vec<Box<str>> {
        std::mem::take(&mut self.called).into_iter().collect()
    }

    /// The body of a stored program, and its source.
    pub(crate) fn body_with_span(&mut self) -> Result<(Statement, Span)> {
        let start = self.current.start;
        let body = self.program_body()?;
        Ok((body, self.span_from(start)))
    }

    /// The statement that is the body of a stored program.
    pub(super) fn program_body(&mut self) -> Result<Statement> {
        let outer = std::mem::replace(&mut self.in_program, true);
        let body = self.nested(Self::program_statement);
        self.in_program = outer;
        body
    }

    /// A statement of a stored program: any statement, or one that stands only there.
    fn program_statement(&mut self) -> Result<Statement> {
        if self.peek_kind(1, TokenKind::Colon) && self.at_ident() {
            let label = self.ident()?;
            self.advance();
            return self.labelled(Some(label));
        }
        let start = self.current.start;
        let program = match self.keyword() {
            K::Begin | K::Loop | K::While | K::For => return self.labelled(None),
            K::Repeat => return self.labelled(None),
            K::If => self.if_statement()?,
            K::Case => self.case_statement()?,
            K::Leave => {
                self.advance();
                ProgramStatement::Leave(self.ident()?)
            }
            K::Iterate => {
                self.advance();
                ProgramStatement::Iterate(self.ident()?)
            }
            K::Return => {
                self.advance();
                ProgramStatement::Return(self.expr()?)
            }
            K::Open => {
                self.advance();
                ProgramStatement::Open { cursor: self.ident()? }
            }
            K::Close => {
                self.advance();
                ProgramStatement::Close { cursor: self.ident()? }
            }
            K::Fetch => {
                self.advance();
                if self.accept(K::Next) {
                    self.expect(K::From)?;
                } else {
                    self.accept(K::From);
                }
                let cursor = self.ident()?;
                self.expect(K::Into)?;
                ProgramStatement::Fetch { cursor, into: self.ident_list()? }
            }
            K::Use => return self.error(1314, "0A000", "USE is not allowed in stored procedures"),
            _ => {
                let statement = self.statement()?;
                let refused = match refused_in_program(&statement) {
                    Some(refused) => refused,
                    None => return Ok(statement),
                };
                let message = format!("{refused} is not allowed in stored procedures");
                return Err(Box::new(ParseError::other(1314, "0A000", message, start as usize)));
            }
        };
        Ok(Statement::Program(Box::new(program)))
    }

    /// `statement; statement; …` up to one of the words.
    fn steps(&mut self, ends: &[K]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        while !self.at_any(ends) {
            steps.push(self.step()?);
            self.expect_kind(TokenKind::Semicolon)?;
        }
        Ok(steps)
    }

    fn step(&mut self) -> Result<Step> {
        let start = self.current.start;
        let statement = self.nested(Self::program_statement)?;
        Ok(Step { statement, span: self.span_from(start) })
    }

    /// As above, of at least one statement.
    pub(super) fn some_steps(&mut self, ends: &[K]) -> Result<Vec<Step>> {
        let steps = self.steps(ends)?;
        if steps.is_empty() { Err(self.unexpected()) } else { Ok(steps) }
    }

    /// A block or loop, which may have a label.
    fn labelled(&mut self, label: Option<Ident>) -> Result<Statement> {
        let program = match self.keyword() {
            K::Begin => {
                let mut block = self.block()?;
                self.end_label(&label)?;
                block.label = label;
                ProgramStatement::Block(block)
            }
            K::Loop => {
                self.advance();
                let body = self.some_steps(&[K::End])?;
                self.expect_all(&[K::End, K::Loop])?;
                self.end_label(&label)?;
                ProgramStatement::Loop { label, body }
            }
            K::While => {
                self.advance();
                let condition = self.expr()?;
                self.expect(K::Do)?;
                let body = self.some_steps(&[K::End])?;
                self.expect_all(&[K::End, K::While])?;
                self.end_label(&label)?;
                ProgramStatement::While { label, condition, body }
            }
            K::Repeat => {
                self.advance();
                let body = self.some_steps(&[K::Until])?;
                self.expect(K::Until)?;
                let until = self.expr()?;
                self.expect_all(&[K::End, K::Repeat])?;
                self.end_label(&label)?;
                ProgramStatement::Repeat { label, body, until }
            }
            K::For => self.for_loop(label)?,
            _ => return Err(self.unexpected()),
        };
        Ok(Statement::Program(Box::new(program)))
    }

    /// The label repeated at the end must be the one at the beginning.
    pub(super) fn end_label(&mut self, label: &Option<Ident>) -> Result<()> {
        if !self.at_ident() {
            return Ok(());
        }
        let end = self.ident()?;
        if label.as_ref().is_some_and(|label| label.is(&end)) {
            return Ok(());
        }
        self.error(1310, "42000", format!("End-label {} without match", end.value))
    }

    /// `BEGIN … END`.
    fn block(&mut self) -> Result<Block> {
        self.expect(K::Begin)?;
        let not_atomic = self.at(K::Not);
        if not_atomic {
            self.advance();
            self.expect(K::Atomic)?;
        }
        let mut declarations = Vec::new();
        while self.at(K::Declare) {
            declarations.push(self.declaration()?);
            self.expect_kind(TokenKind::Semicolon)?;
        }
        let steps = self.steps(&[K::End])?;
        self.expect(K::End)?;
        Ok(Block { label: None, not_atomic, declarations, steps })
    }

    /// MariaDB's `FOR`, `WHILE`, `IF` and the like as statements of their own, as in a `BEGIN NOT ATOMIC … END`.
    pub(super) fn compound(&mut self) -> Result<Statement> {
        let outer = std::mem::replace(&mut self.in_program, true);
        let statement = self.nested(Self::program_statement);
        self.in_program = outer;
        let mut statement = statement?;
        // FOR is a block around its loop, which prints as one that stands alone.
        if let Statement::Program(program) = &mut statement
            && let ProgramStatement::Block(block) = &mut **program
        {
            block.not_atomic |= block.label.is_none();
        }
        Ok(statement)
    }

    /// MariaDB's `BEGIN NOT ATOMIC … END` as a statement of its own.
    pub(super) fn anonymous_block(&mut self) -> Result<Statement> {
        let outer = std::mem::replace(&mut self.in_program, true);
        let block = self.nested(Self::block);
        self.in_program = outer;
        Ok(Statement::Program(Box::new(ProgramStatement::Block(block?))))
    }

    fn declaration(&mut self) -> Result<Declaration> {
        self.advance();
        let action = match self.keyword() {
            K::Continue => Some(HandlerAction::Continue),
            K::Exit => Some(HandlerAction::Exit),
            K::Undo => Some(HandlerAction::Undo),
            _ => None,
        };
        if let Some(action) = action {
            self.advance();
            self.expect_all(&[K::Handler, K::For])?;
            let conditions = self.comma_list(Self::condition_value)?;
            return Ok(Declaration::Handler { action, conditions, step: Box::new(self.step()?) });
        }
        let name = self.ident()?;
        if self.accept(K::Condition) {
            self.expect(K::For)?;
            if !self.at(K::Sqlstate) && !self.at_kind(TokenKind::Integer) {
                return Err(self.unexpected());
            }
            return Ok(Declaration::Condition { name, value: self.condition_value()? });
        }
        if self.accept(K::Cursor) {
            self.expect(K::For)?;
            let query = Statement::Query(Box::new(self.inner_query()?));
            return Ok(Declaration::Cursor { name, statement: Box::new(query) });
        }
        let mut names = vec![name];
        while self.accept_kind(TokenKind::Comma) {
            names.push(self.ident()?);
        }
        let data_type = self.data_type()?;
        let default =
            if self.accept(K::Default) || self.accept_kind(TokenKind::Assign) { Some(self.expr()?) } else { None };
        Ok(Declaration::Variables { names, data_type, default })
    }

    fn condition_value(&mut self) -> Result<ConditionValue> {
        Ok(match self.keyword() {
            K::Sqlstate => ConditionValue::SqlState(self.sqlstate()?),
            K::Sqlwarning => {
                self.advance();
                ConditionValue::SqlWarning
            }
            K::Sqlexception => {
                self.advance();
                ConditionValue::SqlException
            }
            K::Not => {
                self.advance();
                self.expect(K::Found)?;
                ConditionValue::NotFound
            }
            _ if self.at_kind(TokenKind::Integer) => ConditionValue::ErrorCode(self.unsigned32()?),
            _ => ConditionValue::Name(self.ident()?),
        })
    }

    /// `SQLSTATE [VALUE] 'state'`.
    fn sqlstate(&mut self) -> Result<Box<str>> {
        self.expect(K::Sqlstate)?;
        self.accept(K::Value);
        let state = self.string()?;
        let good = state.len() == 5
            && state.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            && !state.starts_with("00");
        if !good {
            return self.error(1407, "42000", format!("Bad SQLSTATE: '{state}'"));
        }
        Ok(state)
    }

    fn if_statement(&mut self) -> Result<ProgramStatement> {
        self.advance();
        let mut branches = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect(K::Then)?;
            branches.push((condition, self.some_steps(&[K::Elseif, K::Else, K::End])?));
            if !self.accept(K::Elseif) {
                break;
            }
        }
        let otherwise = if self.accept(K::Else) { Some(self.some_steps(&[K::End])?) } else { None };
        self.expect_all(&[K::End, K::If])?;
        Ok(ProgramStatement::If { branches, otherwise })
    }

    fn case_statement(&mut self) -> Result<ProgramStatement> {
        self.advance();
        let operand = if self.at(K::When) { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        self.expect(K::When)?;
        loop {
            let when = self.expr()?;
            self.expect(K::Then)?;
            branches.push((when, self.some_steps(&[K::When, K::Else, K::End])?));
            if !self.accept(K::When) {
                break;
            }
        }
        let otherwise = if self.accept(K::Else) { Some(self.some_steps(&[K::End])?) } else { None };
        self.expect_all(&[K::End, K::Case])?;
        Ok(ProgramStatement::Case { operand, branches, otherwise })
    }

    /// SIGNAL and RESIGNAL, behind the word.
    pub(super) fn signal(&mut self, resignal: bool) -> Result<Statement> {
        let condition = if self.at(K::Sqlstate) {
            Some(SignalCondition::SqlState(self.sqlstate()?))
        } else if self.at_ident() {
            Some(SignalCondition::Name(self.ident()?))
        } else if resignal {
            None
        } else {
            return Err(self.unexpected());
        };
        let mut items = Vec::new();
        if self.accept(K::Set) {
            let mut known = Vec::new();
            items = self.comma_list(|parser| {
                let start = parser.current.start;
                let name = parser.upper_word()?;
                let Some(item) = SIGNAL_ITEMS.iter().find(|item| **item == &*name) else {
                    return Err(parser.syntax_error(start));
                };
                if known.contains(item) {
                    let message = format!("Duplicate condition information item '{item}'");
                    return Err(Box::new(ParseError::other(1641, "42000", message, start as usize)));
                }
                known.push(*item);
                parser.expect_kind(TokenKind::Equal)?;
                let start = parser.current.start;
                let value = parser.expr()?;
                if is_simple_value(&value) { Ok((name, value)) } else { Err(parser.syntax_error(start)) }
            })?;
        }
        Ok(Statement::Signal(Box::new(Signal { resignal, condition, items })))
    }

    /// GET DIAGNOSTICS, behind the word GET.
    pub(super) fn get_diagnostics(&mut self) -> Result<Statement> {
        let stacked = self.accept(K::Stacked);
        if !stacked {
            self.accept(K::Current);
        }
        self.expect(K::Diagnostics)?;
        let what = if self.accept(K::Condition) {
            let start = self.current.start;
            let number = self.primary()?;
            if !is_simple_value(&number) {
                return Err(self.syntax_error(start));
            }
            DiagnosticsItems::Condition { number, items: self.diagnostics_items(CONDITION_ITEMS)? }
        } else {
            DiagnosticsItems::Statement(self.diagnostics_items(&["NUMBER", "ROW_COUNT"])?)
        };
        Ok(Statement::GetDiagnostics(Box::new(GetDiagnostics { stacked, what })))
    }

    fn diagnostics_items(&mut self, names: &[&str]) -> Result<Vec<DiagnosticsItem>> {
        self.comma_list(|parser| {
            let target = parser.variable_target()?;
            parser.expect_kind(TokenKind::Equal)?;
            let start = parser.current.start;
            let name = parser.upper_word()?;
            if !names.contains(&&*name) {
                return Err(parser.syntax_error(start));
            }
            Ok(DiagnosticsItem { target, name })
        })
    }
}

/// Whether a value can be given to SIGNAL, or as a condition's number: a literal, a column or local variable, or a variable.
fn is_simple_value(value: &Expr) -> bool {
    matches!(value.peeled(), Expr::Literal(_) | Expr::Column(_) | Expr::UserVariable(_) | Expr::SystemVariable(_))
}

/// The items that SIGNAL can set.
const SIGNAL_ITEMS: &[&str] = &[
    "CLASS_ORIGIN",
    "SUBCLASS_ORIGIN",
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "CATALOG_NAME",
    "SCHEMA_NAME",
    "TABLE_NAME",
    "COLUMN_NAME",
    "CURSOR_NAME",
    "MESSAGE_TEXT",
    "MYSQL_ERRNO",
];

/// The items that GET DIAGNOSTICS CONDITION can read.
const CONDITION_ITEMS: &[&str] = &[
    "CLASS_ORIGIN",
    "SUBCLASS_ORIGIN",
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "CATALOG_NAME",
    "SCHEMA_NAME",
    "TABLE_NAME",
    "COLUMN_NAME",
    "CURSOR_NAME",
    "MESSAGE_TEXT",
    "MYSQL_ERRNO",
    "RETURNED_SQLSTATE",
];

/// `$$` or `$tag$`, if a text begins with it.
fn dollar_tag(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"$")?;
    let length = inner.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
    (inner[length] == b'$').then(|| &text[..length + 2])
}

/// What no stored program may do, as the error names it; also as the statement of a `SET STATEMENT`.
fn refused_in_program(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::LoadData(_) => Some("LOAD DATA"),
        Statement::LockTables(_) => Some("LOCK"),
        Statement::UnlockTables => Some("UNLOCK"),
        Statement::Set(Set::Statement { statement, .. }) => refused_in_program(statement),
        _ => None,
    }
}
