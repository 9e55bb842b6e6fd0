//! Calls of functions by name.

use super::{ArithmeticOp, BuildResult, ExprBuilder, arguments_of, types_for};
use crate::expr::{BoundExpr, Call};
use crate::typing::collation::{StringOperand, aggregate_collations};
use squall_registry::{AggregateFunction, BoundAggregate, ScalarFunction, Volatility};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

impl ExprBuilder<'_> {
    /// Whether [`ExprBuilder::call`] knows the name.
    pub fn has_function(&self, name: &str) -> bool {
        is_control_function(name) || self.registry.scalar(name).is_some()
    }

    /// A call of a function by name; error 1305 if there is none.
    pub fn call(&self, name: &str, args: Vec<BoundExpr>) -> BuildResult {
        self.call_named(name, args, &[])
    }

    /// As [`ExprBuilder::call`], where arguments have names; none has one if there are no names at all. Error 1583 if the function takes none.
    pub fn call_named(&self, name: &str, args: Vec<BoundExpr>, names: &[Option<&str>]) -> BuildResult {
        if !names.is_empty() && !self.registry.scalar(name).is_some_and(|function| function.takes_names()) {
            return Err(SqlError::new(ErrorCode::WrongParametersToNativeFct, &[&name]));
        }
        if is_control_function(name) {
            return self.control_call(name, args);
        }
        if let Some((old, new)) = DEPRECATED.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)) {
            self.context.diagnostics.warn(SqlError::new(ErrorCode::WarnDeprecatedSyntax, &[old, new]));
        }
        match self.registry.scalar(name) {
            Some(function) => {
                self.check_takes_vectors(function.name(), &args)?;
                self.call_function_named(&function, args, names)
            }
            None => Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&"FUNCTION", &name])),
        }
    }

    /// A call of a declared function.
    pub fn call_function(&self, function: &Arc<dyn ScalarFunction>, args: Vec<BoundExpr>) -> BuildResult {
        self.call_function_named(function, args, &[])
    }

    fn call_function_named(
        &self,
        function: &Arc<dyn ScalarFunction>,
        args: Vec<BoundExpr>,
        names: &[Option<&str>],
    ) -> BuildResult {
        if let [BoundExpr::Call(inner)] = args.as_slice()
            && let Some(both) = function.fused(&inner.name)
        {
            return self.call(both, inner.args.clone());
        }
        let (least, most) = function.arity();
        if !(least..=most).contains(&args.len()) {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&function.name()]));
        }
        // HEX has the bytes of a HEX or UUID, TYPEOF its type, every other function its text.
        let args = match function.name() {
            "HEX" | "TYPEOF" => args,
            _ => args.into_iter().map(|arg| self.spelled_out(arg)).collect::<SqlResult<_>>()?,
        };
        let in_place =
            |(place, arg)| if takes_number(function.name(), place) { self.bytes_as_number(arg) } else { arg };
        let args: Vec<_> = args.into_iter().enumerate().map(in_place).collect();
        let args = if takes_one_collation(function.name()) { self.bytes_in_set(args)? } else { args };
        let types = types_for(function.name(), &args);
        let mut arguments = arguments_of(&args, &types);
        for (argument, name) in arguments.iter_mut().zip(names) {
            argument.name = *name;
        }
        // The type of the result is that of what is shown.
        let bound = function.bind(&arguments, self.context)?;
        let args = match goes_on_with_digits(function.name()) {
            true => args.into_iter().map(|arg| self.unrounded(arg)).collect(),
            false => args,
        };
        let call = Call::new(function.name(), bound.kernel, args, bound.result, function.volatility());
        let expr = BoundExpr::call(call);
        Ok(if function.volatility() == Volatility::Immutable { self.fold(expr) } else { expr })
    }

    /// Literal bytes become characters of the other arguments' set, if those are stronger, as columns are.
    fn bytes_in_set(&self, args: Vec<BoundExpr>) -> SqlResult<Vec<BoundExpr>> {
        let is_bytes = |arg: &BoundExpr| matches!(arg, BoundExpr::Literal(Value::Bytes(_), _));
        if !args.iter().any(is_bytes) {
            return Ok(args);
        }
        let connection = self.context.settings.collation;
        let texts = args.iter().filter(|arg| arg.sql_type().collation().is_some());
        let operands: Vec<_> = texts.map(|arg| StringOperand::of(&arg.ty(), connection)).collect();
        match aggregate_collations(&operands, "") {
            Ok((collation, _)) if collation != CollationId::BINARY => {
                let in_set = |arg| if is_bytes(&arg) { self.to_text(arg, collation) } else { Ok(arg) };
                args.into_iter().map(in_set).collect()
            }
            _ => Ok(args),
        }
    }

    /// A HEX or UUID as its text; every other expression as it is.
    pub(crate) fn spelled_out(&self, expr: BoundExpr) -> BuildResult {
        if expr.sql_type().digit_bytes().is_some() {
            self.to_text(expr, self.context.settings.collation)
        } else {
            Ok(expr)
        }
    }

    /// Types a call of an aggregate function as it is declared; [`ExprBuilder::aggregate`] also converts its arguments.
    /// Error 1305 if there is none of the name.
    pub fn bind_aggregate(
        &self,
        name: &str,
        args: &[BoundExpr],
        distinct: bool,
    ) -> SqlResult<(Arc<dyn AggregateFunction>, BoundAggregate)> {
        let Some(function) = self.registry.aggregate(name) else {
            return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&"FUNCTION", &name]));
        };
        let types = types_for(function.name(), args);
        let bound = function.bind(&arguments_of(args, &types), distinct, self.context)?;
        Ok((function.clone(), bound))
    }

    /// Functions that work like operators: they do not evaluate all of their arguments, or convert them.
    fn control_call(&self, name: &str, args: Vec<BoundExpr>) -> BuildResult {
        let wrong_count = || SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&name]);
        let mut args = args.into_iter();
        let mut next = || args.next().ok_or_else(wrong_count);
        let result = match name.to_ascii_uppercase().as_str() {
            "IF" => self.if_(next()?, next()?, next()?),
            "IFNULL" | "NVL" => self.coalesce(vec![next()?, next()?], "ifnull"),
            "NULLIF" => self.null_if(next()?, next()?),
            "ISNULL" => Ok(self.is_null(next()?, false)),
            "MOD" => self.arithmetic(ArithmeticOp::Modulo, next()?, next()?),
            function @ ("GREATEST" | "LEAST") => {
                let values: Vec<_> = args.by_ref().collect();
                if values.len() < 2 {
                    return Err(wrong_count());
                }
                self.extreme(function == "GREATEST", values)
            }
            _ => {
                let values: Vec<_> = args.by_ref().collect();
                if values.is_empty() {
                    return Err(wrong_count());
                }
                self.coalesce(values, "coalesce")
            }
        };
        if args.next().is_some() {
            return Err(wrong_count());
        }
        result
    }
}

/// Whether a function takes all its strings in one collation.
fn takes_one_collation(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "CONCAT",
        "CONCAT_WS",
        "ELT",
        "EXPORT_SET",
        "FIELD",
        "FIND_IN_SET",
        "INSERT",
        "INSTR",
        "LOCATE",
        "LPAD",
        "LTRIM",
        "MAKE_SET",
        "POSITION",
        "REPLACE",
        "RPAD",
        "RTRIM",
        "STRCMP",
        "SUBSTRING_INDEX",
        "TRIM",
    ];
    NAMES.contains(&name)
}

/// Whether the function takes a number at the place (from 0), so that a hexadecimal or bit literal is one there.
fn takes_number(name: &str, place: usize) -> bool {
    match name {
        "ABS" | "ACOS" | "ASIN" | "ATAN" | "CEILING" | "COS" | "COT" | "DEGREES" | "EXP" | "FLOOR" | "INTERVAL"
        | "LN" | "LOG" | "LOG10" | "LOG2" | "MAKEDATE" | "MAKETIME" | "PERIOD_ADD" | "PERIOD_DIFF" | "POW"
        | "RADIANS" | "RAND" | "ROUND" | "SIGN" | "SIN" | "SQRT" | "TAN" | "TRUNCATE" => true,
        "ELT" | "EXPORT_SET" | "FORMAT" | "FROM_DAYS" | "FROM_UNIXTIME" | "INET_NTOA" | "MAKE_SET" | "SEC_TO_TIME"
        | "SPACE" => place == 0,
        "LEFT" | "LPAD" | "REPEAT" | "RIGHT" | "RPAD" | "WEEK" | "YEARWEEK" => place == 1,
        "INSERT" | "SUBSTRING" => place == 1 || place == 2,
        "CONV" => place > 0,
        "LOCATE" | "SUBSTRING_INDEX" => place == 2,
        _ => false,
    }
}

/// Whether a function takes numbers with all digits that are known of them. What is as long as its argument is not among these.
fn goes_on_with_digits(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "ACOS", "ASIN", "ATAN", "CEILING", "COS", "COT", "DEGREES", "EXP", "FLOOR", "FORMAT", "LN", "LOG", "LOG10",
        "LOG2", "POW", "RADIANS", "ROUND", "SIGN", "SIN", "SQRT", "TAN", "TRUNCATE",
    ];
    NAMES.contains(&name)
}

/// Deprecated names, and the replacements that MySQL's warning names.
const DEPRECATED: &[(&str, &str)] = &[("JSON_MERGE", "JSON_MERGE_PRESERVE/JSON_MERGE_PATCH")];

/// Functions that [`ExprBuilder::call`] knows without a declaration, with their fewest and most arguments.
pub const CONTROL_FUNCTIONS: &[(&str, (usize, usize))] = &[
    ("COALESCE", (1, usize::MAX)),
    ("GREATEST", (2, usize::MAX)),
    ("IF", (3, 3)),
    ("IFNULL", (2, 2)),
    ("ISNULL", (1, 1)),
    ("LEAST", (2, usize::MAX)),
    ("MOD", (2, 2)),
    ("NULLIF", (2, 2)),
    ("NVL", (2, 2)),
];

fn is_control_function(name: &str) -> bool {
    CONTROL_FUNCTIONS.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}
