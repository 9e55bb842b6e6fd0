//! Calls of functions by name, and calls with their own syntax.

use super::context::Context;
use super::types::interval_unit;
use squall_catalog::Invoker;
use squall_functions::build::{CastTarget, ExprBuilder};
use squall_functions::expr::{BoundExpr, Call};
use squall_functions::library::spatial;
use squall_functions::library::utility::{ASSERT, Assertion, RESULT_TYPE, ROW_RESULT};
use squall_parser::ast;
use squall_registry::{ExprType, ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::{Charset, CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Gives its argument: ANY_VALUE, which matters to the checks of grouping only.
#[derive(Debug)]
pub(super) struct Identity;

impl ScalarKernel for Identity {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        Ok(arguments.first().cloned().unwrap_or_default())
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(
        &self,
        arguments: &[arrow::array::ArrayRef],
        _context: &StatementContext,
    ) -> Option<SqlResult<arrow::array::ArrayRef>> {
        arguments.first().cloned().map(Ok)
    }
}

/// The name that ANY_VALUE's calls have in bound trees.
pub(crate) const ANY_VALUE: &str = "ANY_VALUE";

/// The function that names its value. It takes nothing but literals, with a sign or a collation perhaps.
const NAME_CONST: &str = "NAME_CONST";

fn is_written_constant(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Literal(_) => true,
        ast::Expr::Unary { op: ast::UnaryOp::Minus, operand } | ast::Expr::Collate { operand, .. } => {
            is_written_constant(operand)
        }
        _ => false,
    }
}

impl Context<'_> {
    /// CHAR(): numbers as bytes, and as characters of a set. Where those take several bytes each number is one at least.
    fn bind_char(&mut self, args: Vec<BoundExpr>, charset: Option<&str>) -> SqlResult<BoundExpr> {
        let args: Vec<_> = args.into_iter().map(|arg| self.binder.builder().bytes_as_number(arg)).collect();
        let named = |name| Charset::named(name).map(Charset::default_collation);
        let collation = charset.map_or(Ok(CollationId::BINARY), named)?;
        if collation == CollationId::BINARY {
            return self.call("CHAR", args);
        }
        let bytes = if collation.charset().bytes_per_character_min() == 1 {
            self.call("CHAR", args)?
        } else {
            let mut numbers = Vec::with_capacity(args.len());
            for arg in args {
                let bytes = self.call("CHAR", vec![arg])?;
                numbers.push(self.binder.builder().bytes_of_character(bytes, collation));
            }
            self.call("CONCAT", numbers)?
        };
        Ok(self.binder.builder().characters(bytes, collation))
    }

    /// Binds a call that the grammar knows by its own form.
    pub fn bind_special_call(&mut self, expr: &ast::Expr) -> SqlResult<BoundExpr> {
        match expr {
            ast::Expr::Function(call) => self.bind_function(call),
            ast::Expr::Extract { unit, operand } => {
                let args = vec![self.unit_text(*unit), self.bind_expr(operand)?];
                self.call("EXTRACT", args)
            }
            ast::Expr::Trim { side, remove, operand } => {
                let name = match side {
                    ast::TrimSide::Both => "TRIM",
                    ast::TrimSide::Leading => "LTRIM",
                    ast::TrimSide::Trailing => "RTRIM",
                };
                let mut args = vec![self.bind_expr(operand)?];
                if let Some(remove) = remove {
                    args.push(self.bind_expr(remove)?);
                }
                self.call(name, args)
            }
            ast::Expr::TimestampAdd { unit, amount, operand } => {
                let (operand, amount) = (self.bind_expr(operand)?, self.bind_expr(amount)?);
                self.binder.builder().add_interval(operand, amount, interval_unit(*unit), false)
            }
            ast::Expr::TimestampDiff { unit, from, to } => {
                let args = vec![self.unit_text(*unit), self.bind_expr(from)?, self.bind_expr(to)?];
                self.call("TIMESTAMPDIFF", args)
            }
            ast::Expr::GetFormat { kind, format } => {
                let kind = match kind {
                    ast::GetFormatKind::Date => "DATE",
                    ast::GetFormatKind::Time => "TIME",
                    ast::GetFormatKind::DateTime => "DATETIME",
                };
                let args = vec![self.text(kind), self.bind_expr(format)?];
                self.call("GET_FORMAT", args)
            }
            ast::Expr::Char { arguments, charset } => {
                let args = self.bind_list(arguments)?;
                self.bind_char(args, charset.as_deref())
            }
            ast::Expr::WeightString { operand, conversion } => {
                let operand = self.bind_expr(operand)?;
                let length = |length: u64| Some(u32::try_from(length).unwrap_or(u32::MAX));
                let operand = match conversion {
                    None => operand,
                    Some(ast::WeightStringType::Char(chars)) => {
                        let collation =
                            operand.sql_type().collation().unwrap_or(self.binder.context.settings.collation);
                        let target = CastTarget::Char { length: length(*chars), collation };
                        self.binder.builder().cast(operand, &target)?
                    }
                    Some(ast::WeightStringType::Binary(bytes)) => {
                        let target = CastTarget::Binary { length: length(*bytes) };
                        self.binder.builder().cast(operand, &target)?
                    }
                };
                self.call("WEIGHT_STRING", vec![operand])
            }
            ast::Expr::JsonArrow { operand, path, unquote } => {
                let path = self.text(&path.to_str_lossy());
                let args = vec![self.bind_expr(operand)?, path];
                let found = self.call("JSON_EXTRACT", args)?;
                if *unquote { self.call("JSON_UNQUOTE", vec![found]) } else { Ok(found) }
            }
            ast::Expr::MemberOf { value, array } => {
                let (value, array) = (self.bind_expr(value)?, self.bind_expr(array)?);
                let args = vec![value, self.keyed_array(array)];
                self.call("MEMBER OF", args)
            }
            ast::Expr::JsonValue(call) => self.bind_json_value(call),
            _ => Err(SqlError::internal("an expression of an unknown form")),
        }
    }

    fn bind_function(&mut self, call: &ast::FunctionCall) -> SqlResult<BoundExpr> {
        let name = call.name.as_str();
        let upper = match &call.schema {
            None => name.to_ascii_uppercase(),
            Some(schema) => match self.binder.registry.qualified_function(schema, name) {
                Some(upper) => upper,
                None => return self.bind_stored_function(Some(schema.as_str()), call),
            },
        };
        if self.binder.builder().has_function(&upper) || self.binder.registry.aggregate(&upper).is_some() {
            refuse_distinct(call)?;
        }
        let names: Vec<_> = call.argument_names.iter().map(|name| name.as_ref().map(ast::Ident::as_str)).collect();
        let no_names = |code| if names.is_empty() { Ok(()) } else { Err(SqlError::new(code, &[&name])) };
        if let Some((subtract, days)) = date_arithmetic(&upper)
            && let [base, amount] = call.arguments.as_slice()
        {
            no_names(ErrorCode::WrongParametersToNativeFct)?;
            return match amount {
                ast::Expr::Interval { value, unit } => self.bind_interval(base, value, *unit, subtract),
                amount if days => self.bind_interval(base, amount, ast::IntervalUnit::Day, subtract),
                _ => Err(SqlError::new(ErrorCode::WrongArguments, &[&name])),
            };
        }
        if upper == NAME_CONST && !call.arguments.iter().all(is_written_constant) {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&NAME_CONST]));
        }
        if upper == ANY_VALUE
            && let [arg] = call.arguments.as_slice()
        {
            no_names(ErrorCode::WrongParametersToNativeFct)?;
            let arg = self.bind_expr(arg)?;
            let ty = arg.ty();
            return Ok(BoundExpr::call(Call::new(ANY_VALUE, Arc::new(Identity), vec![arg], ty, Volatility::Immutable)));
        }
        if self.binder.registry.aggregate(&upper).is_some() && !self.binder.builder().has_function(&upper) {
            no_names(ErrorCode::WrongParametersToNativeFct)?;
            let bound = self.bind_module_aggregate(&upper, &call.arguments);
            return bound.map_err(|error| named_as_written(error, name));
        }
        if !self.binder.builder().has_function(&upper) {
            // MySQL takes any other name for a stored function of the default database.
            no_names(ErrorCode::WrongParametersToStoredFct)?;
            let stored = self.bind_stored_function(self.binder.default_database, call);
            return match (spatial::current_name(&upper), stored) {
                (Some(current), Err(error)) if error.is(ErrorCode::SpDoesNotExist) => {
                    let args = self.bind_list(&call.arguments)?;
                    self.call(current, args).map_err(|error| named_as_written(error, name))
                }
                (_, bound) => bound,
            };
        }
        if let ("CURRENT_USER", Invoker::Definer(definer), []) = (upper.as_str(), &self.invoker, &*call.arguments) {
            // Inside of a view that its definer reads.
            let text = Value::String(format!("{}@{}", definer.user, definer.host));
            return Ok(BoundExpr::Literal(text, self.call(&upper, Vec::new())?.ty()));
        }
        if let (ASSERT, [condition]) = (upper.as_str(), &*call.arguments) {
            no_names(ErrorCode::WrongParametersToNativeFct)?;
            return self.bind_assert(call, condition);
        }
        if let (RESULT_TYPE, [ast::Expr::Row(values)]) = (upper.as_str(), &*call.arguments) {
            let values = self.bind_list(values)?;
            let ty = self.call(&upper, values.into_iter().take(1).collect())?.ty();
            return Ok(BoundExpr::Literal(Value::from(ROW_RESULT), ty));
        }
        let mut args = self.bind_list(&call.arguments)?;
        for (at, argument) in call.arguments.iter().enumerate() {
            if matches!(argument, ast::Expr::Placeholder(_)) && ExprBuilder::takes_vector(&upper, at) {
                let parameter = std::mem::replace(&mut args[at], BoundExpr::null());
                args[at] = self.binder.builder().vector_parameter(parameter)?;
            }
        }
        if matches!((upper.as_str(), args.len()), ("JSON_CONTAINS" | "JSON_OVERLAPS", 2)) {
            args = args.into_iter().map(|arg| self.keyed_array(arg)).collect();
        }
        let bound = self.binder.builder().call_named(&upper, args, &names);
        bound.map_err(|error| named_as_written(error, name))
    }

    /// ASSERT(condition), which is called with the condition's text.
    fn bind_assert(&mut self, call: &ast::FunctionCall, condition: &ast::Expr) -> SqlResult<BoundExpr> {
        let written = written_argument(&self.text, call).map_or_else(|| condition.to_string(), str::to_owned);
        // Other literals are another text.
        self.is_told_by_text = false;
        let condition = self.bind_expr(condition)?;
        let condition = self.binder.builder().condition(condition);
        let (kernel, ty) = (Assertion(written.into()), ExprType::numeric(SqlType::INT, false));
        Ok(BoundExpr::call(Call::new(ASSERT, Arc::new(kernel), vec![condition], ty, Volatility::Volatile)))
    }

    fn bind_stored_function(&mut self, database: Option<&str>, call: &ast::FunctionCall) -> SqlResult<BoundExpr> {
        let (name, arguments) = (call.name.as_str(), &*call.arguments);
        let no_such = |shown: &str| SqlError::new(ErrorCode::SpDoesNotExist, &[&"FUNCTION", &shown]);
        let Some(database) = database else { return Err(no_such(name)) };
        let shown = format!("{database}.{name}");
        if let Some(aggregate) = self.binder.tables.stored_aggregate(database, name, &self.invoker)? {
            return self.bind_stored_aggregate(&*aggregate, call);
        }
        let function = self.binder.tables.stored_function(database, name, &self.invoker)?;
        let function = function.ok_or_else(|| no_such(&shown))?;
        refuse_distinct(call)?;
        let (expected, got) = (function.arity().0, arguments.len());
        if expected != got {
            return Err(SqlError::new(ErrorCode::SpWrongArgumentCount, &[&"FUNCTION", &shown, &expected, &got]));
        }
        self.is_told_by_text = false;
        let args = self.bind_list(arguments)?;
        self.binder.builder().call_function(&function, args)
    }

    fn bind_list(&mut self, exprs: &[ast::Expr]) -> SqlResult<Vec<BoundExpr>> {
        exprs.iter().map(|expr| self.bind_expr(expr)).collect()
    }

    fn call(&mut self, name: &str, args: Vec<BoundExpr>) -> SqlResult<BoundExpr> {
        self.binder.builder().call(name, args)
    }

    fn text(&self, text: &str) -> BoundExpr {
        self.binder.builder().string_literal(text, self.binder.context.settings.collation)
    }

    fn unit_text(&self, unit: ast::IntervalUnit) -> BoundExpr {
        self.text(interval_unit(unit).name())
    }
}

/// The only argument of a call as it is written in a text; `None` where the text is another one than the call was read from.
fn written_argument<'t>(text: &'t [u8], call: &ast::FunctionCall) -> Option<&'t str> {
    let written = std::str::from_utf8(text.get(call.span.start as usize..call.span.end as usize)?).ok()?;
    let name = written.get(..call.name.len())?;
    let argument = written.get(call.name.len()..)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    name.eq_ignore_ascii_case(call.name.as_str()).then_some(argument.trim())
}

/// Only stored aggregate functions take DISTINCT, beside those of the grammar.
fn refuse_distinct(call: &ast::FunctionCall) -> SqlResult<()> {
    match call.distinct {
        true => Err(SqlError::unsupported(format_args!(
            "DISTINCT in {}(), which is no stored aggregate function",
            call.name.as_str()
        ))),
        false => Ok(()),
    }
}

/// A wrong number of arguments, or names that it does not take, names the function as the statement does.
fn named_as_written(error: SqlError, name: &str) -> SqlError {
    let codes = [ErrorCode::WrongParamCountToNativeFct, ErrorCode::WrongParametersToNativeFct];
    match codes.into_iter().find(|code| error.is(*code)) {
        Some(code) => SqlError::new(code, &[&name]),
        None => error,
    }
}

/// For DATE_ADD and its like: whether they subtract, and whether a bare number is taken as days.
fn date_arithmetic(name: &str) -> Option<(bool, bool)> {
    match name {
        "DATE_ADD" => Some((false, false)),
        "DATE_SUB" => Some((true, false)),
        "ADDDATE" => Some((false, true)),
        "SUBDATE" => Some((true, true)),
        _ => None,
    }
}
