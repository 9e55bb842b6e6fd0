//! Routines in another language than SQL: bodies of functions are statements that call the language's evaluator.

use crate::plans::routine_cache::{ExternalRoutine, ParsedBody};
use crate::session::parse_error;
use squall_catalog::{RoutineDef, RoutineKind};
use squall_parser::ast::{
    Cast, CastType, ColumnName, CreateRoutine, Expr, FunctionCall, Ident, Literal, ProgramStatement, RoutineBody, Span,
    Statement, StringLiteral,
};
use squall_parser::{ParseOptions, parse_external_body};
use squall_registry::{ExternalKind, Registry, RoutineLanguage};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// A body in another language, on its way into the catalog.
pub(crate) struct ExternalBody {
    language: Arc<dyn RoutineLanguage>,
    source: Box<str>,
    parameters: Vec<Box<str>>,
    kind: ExternalKind,
}

impl ExternalBody {
    /// That of a CREATE FUNCTION or CREATE PROCEDURE; `None` for one in SQL.
    ///
    /// # Errors
    /// 1235 for languages that are not there.
    pub fn of(create: &CreateRoutine, kind: RoutineKind, registry: &Registry) -> SqlResult<Option<ExternalBody>> {
        let name = create.characteristics.language.as_ref().map_or("SQL", Ident::as_str);
        let RoutineBody::External(source) = &create.body else {
            return match name.eq_ignore_ascii_case("SQL") {
                true => Ok(None),
                false => Err(SqlError::unsupported(format_args!("LANGUAGE {name}"))),
            };
        };
        let language = language(registry, name)?.clone();
        let kind = match (kind, create.aggregate) {
            (RoutineKind::Function, true) => ExternalKind::Aggregate,
            (RoutineKind::Function, false) => ExternalKind::Function,
            (RoutineKind::Procedure, _) => ExternalKind::Procedure,
        };
        let parameters = create.parameters.iter().map(|parameter| parameter.name.as_str().into()).collect();
        Ok(Some(ExternalBody { language, source: source.clone(), parameters, kind }))
    }

    /// Has the language check it, which may take as long as the source is.
    ///
    /// # Errors
    /// What the language says of the source.
    pub fn check(&self, context: &StatementContext) -> SqlResult<()> {
        self.language.check(&self.source, &self.parameters(), self.kind, context)
    }

    fn parameters(&self) -> Vec<&str> {
        self.parameters.iter().map(|name| &**name).collect()
    }

    /// The body as a statement.
    pub fn statement(&self, returns: &SqlType) -> Statement {
        if self.kind == ExternalKind::Procedure {
            return Statement::Empty;
        }
        call(self.language.evaluator(returns), &self.source, &self.parameters(), returns)
    }

    /// What the catalog keeps in front of the source.
    pub fn prefix(&self) -> String {
        format!("LANGUAGE {} ", self.language.name())
    }
}

fn language<'r>(registry: &'r Registry, name: &str) -> SqlResult<&'r Arc<dyn RoutineLanguage>> {
    registry.routine_language(name).ok_or_else(|| SqlError::unsupported(format_args!("LANGUAGE {name} AS")))
}

/// The body of a stored routine in another language; `None` for one in SQL.
///
/// # Errors
/// 1235 when the language is not there any more.
pub(crate) fn external_body(
    def: &RoutineDef,
    registry: &Registry,
    options: &ParseOptions,
) -> SqlResult<Option<ParsedBody>> {
    let Some((name, source)) = parse_external_body(&def.body, options).map_err(parse_error)? else {
        return Ok(None);
    };
    let language = language(registry, name.as_str())?;
    let span = Span::new(0, u32::try_from(def.body.len()).unwrap_or(u32::MAX));
    let external = ExternalRoutine { language: language.clone(), source: source.as_ref().into() };
    if def.kind == RoutineKind::Procedure || def.aggregate {
        return Ok(Some(ParsedBody { statement: Statement::Empty, span, external: Some(external) }));
    }
    let returns = def.returns.as_ref().unwrap_or(&SqlType::Null);
    let parameters: Vec<&str> = def.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let statement = call(language.evaluator(returns), &source, &parameters, returns);
    Ok(Some(ParsedBody { statement, span, external: Some(external) }))
}

/// `RETURN evaluator('source', parameter AS parameter, …)`.
fn call(evaluator: &str, source: &str, parameters: &[&str], returns: &SqlType) -> Statement {
    let text = StringLiteral {
        introducer: Some("utf8mb4".into()),
        value: source.into(),
        first_length: u32::try_from(source.len()).unwrap_or(u32::MAX),
    };
    let column = |name: &&str| Expr::Column(Box::new(ColumnName::new(*name)));
    let arguments = std::iter::once(Expr::Literal(Literal::String(text))).chain(parameters.iter().map(column));
    let names = std::iter::once(None).chain(parameters.iter().map(|name| Some(Ident::new(*name))));
    let call = FunctionCall {
        schema: None,
        name: Ident::new(evaluator),
        distinct: false,
        arguments: arguments.collect(),
        argument_names: names.collect(),
        span: Span::default(),
    };
    let call = Expr::Function(Box::new(call));
    let result = match returns {
        // A text is the number that it spells. As a text of SQL it would be its bytes.
        SqlType::Bit { .. } => {
            Expr::Cast(Box::new(Cast { operand: call, target: CastType::Unsigned, array: false, time_zone: None }))
        }
        _ => call,
    };
    Statement::Program(Box::new(ProgramStatement::Return(result)))
}
