//! Declares and runs the functions of the library.

pub use crate::documents::{document_of, document_text, stored_of, tree_charge};

use super::moments::{self, Moments};
use crate::arrow_map::{ValueArrayBuilder, value_at};
use crate::operators::coerce;
use crate::typing::collation::{StringOperand, aggregate_collations, aggregate_result};
use crate::typing::has_date;
use crate::typing::{display_length, string_of_length};
use crate::wrong_value::report;
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use arrow::datatypes::Int64Type;
use squall_accounting::Charge;
use squall_registry::{
    Argument, BoundCall, Coercibility, ExprType, Registry, ScalarFunction, ScalarKernel, Volatility,
};
use squall_statement_context::StatementContext;
use squall_types::json::{Json, Outline};
use squall_types::{CollationId, Date, DateTime, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Time, Value};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// A function of the library.
#[derive(Clone, Copy, Debug)]
pub struct Def {
    /// Its name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The database that it can be called in by a qualified name, too.
    pub database: Option<&'static str>,
    /// Fewest arguments.
    pub args_min: usize,
    /// Most arguments.
    pub args_max: usize,
    /// Whether a NULL among the arguments makes the result NULL without a look at the others.
    pub null_in_null_out: bool,
    /// When equal arguments give equal results.
    pub volatility: Volatility,
    /// Whether it may wait for something.
    pub waits: bool,
    /// See [`ScalarKernel::is_external`].
    pub external: bool,
    /// See [`ScalarFunction::runs_texts`].
    pub runs_texts: bool,
    /// Whether its result takes at most a few times the memory of its arguments, for any declared type.
    pub proportional: bool,
    /// See [`ScalarKernel::is_generator`].
    pub generator: bool,
    /// See [`ScalarFunction::fused`]: the inner function's name, and that of the one that does both.
    pub fused: &'static [(&'static str, &'static str)],
    /// The type of the result.
    pub result: fn(&Binding<'_>) -> SqlResult<ExprType>,
    /// The result of one row.
    pub eval: fn(&Args<'_>) -> SqlResult<Value>,
    /// The same for a first argument that is a document, not NULL, and constant other arguments. The document comes beside the
    /// arguments, whose first is NULL, so that the documents of many rows are read in place.
    pub eval_document: Option<fn(&Args<'_>, &str) -> SqlResult<Value>>,
    /// The result as a part of the first argument, a text that is not NULL, for constant other arguments that are integers.
    pub eval_part: Option<TextPart>,
    /// The result for dates and times in arrays.
    pub eval_moments: Option<OfMoments>,
}

/// Where in a text a function's result is.
pub type TextPart = fn(&Args<'_>, &str) -> SqlResult<Range<usize>>;

/// What a function is of dates and times, its other arguments being constants; `None` where it has to be computed row by row.
pub type OfMoments = fn(&Args<'_>) -> Option<Moments>;

/// Any number of arguments.
pub const MANY: usize = usize::MAX;

impl Def {
    /// An immutable function that is NULL for NULL.
    pub const fn new(
        name: &'static str,
        args: (usize, usize),
        result: fn(&Binding<'_>) -> SqlResult<ExprType>,
        eval: fn(&Args<'_>) -> SqlResult<Value>,
    ) -> Def {
        Def {
            name,
            aliases: &[],
            database: None,
            args_min: args.0,
            args_max: args.1,
            null_in_null_out: true,
            volatility: Volatility::Immutable,
            waits: false,
            external: false,
            runs_texts: false,
            proportional: false,
            generator: false,
            fused: &[],
            result,
            eval,
            eval_document: None,
            eval_part: None,
            eval_moments: None,
        }
    }

    /// That reads documents where they lie.
    pub const fn reading_documents(self, eval: fn(&Args<'_>, &str) -> SqlResult<Value>) -> Def {
        Def { eval_document: Some(eval), ..self }
    }

    /// Whose result is a part of a text, which is taken where it lies.
    pub const fn taking_parts(self, eval: TextPart) -> Def {
        Def { eval_part: Some(eval), ..self }
    }

    /// Which is an integer of one or two dates or dates with times.
    pub const fn of_moments(self, eval: OfMoments) -> Def {
        Def { eval_moments: Some(eval), ..self }
    }

    /// Whose result is about as long as its arguments.
    pub const fn proportional(self) -> Def {
        Def { proportional: true, ..self }
    }

    /// With other names.
    pub const fn also(self, aliases: &'static [&'static str]) -> Def {
        Def { aliases, ..self }
    }

    /// That can be called as `database.name(…)`, too.
    pub const fn in_database(self, database: &'static str) -> Def {
        Def { database: Some(database), ..self }
    }

    /// That is one with certain functions inside of it.
    pub const fn fused_with(self, fused: &'static [(&'static str, &'static str)]) -> Def {
        Def { fused, ..self }
    }

    /// That looks at NULLs itself.
    pub const fn takes_null(self) -> Def {
        Def { null_in_null_out: false, ..self }
    }

    /// That is constant within a statement.
    pub const fn stable(self) -> Def {
        Def { volatility: Volatility::Stable, ..self }
    }

    /// That differs from call to call or does something.
    pub const fn volatile(self) -> Def {
        Def { volatility: Volatility::Volatile, ..self }
    }

    /// That gives another value in each call: see [`ScalarKernel::is_generator`].
    pub const fn generating(self) -> Def {
        Def { generator: true, ..self.volatile() }
    }

    /// That may wait for something, and so is volatile.
    pub const fn waiting(self) -> Def {
        Def { waits: true, ..self.volatile() }
    }

    /// That acts outside of its statement, and waits for that: see [`ScalarKernel::is_external`].
    pub const fn external(self) -> Def {
        Def { external: true, ..self.waiting() }
    }

    /// That runs its arguments as SQL in a session of its own.
    pub const fn running_texts(self) -> Def {
        Def { runs_texts: true, ..self.external() }
    }
}

/// Declares a family.
pub fn register(registry: &mut Registry, functions: &[Def]) {
    for def in functions {
        registry.register_scalar(Arc::new(LibraryFunction(*def)));
    }
}

#[derive(Debug)]
struct LibraryFunction(Def);

impl ScalarFunction for LibraryFunction {
    fn name(&self) -> &str {
        self.0.name
    }

    fn aliases(&self) -> &[&str] {
        self.0.aliases
    }

    fn database(&self) -> Option<&str> {
        self.0.database
    }

    fn volatility(&self) -> Volatility {
        self.0.volatility
    }

    fn arity(&self) -> (usize, usize) {
        (self.0.args_min, self.0.args_max)
    }

    fn is_for_definitions(&self) -> bool {
        !self.0.external
    }

    fn runs_texts(&self) -> bool {
        self.0.runs_texts
    }

    fn fused(&self, inner: &str) -> Option<&str> {
        self.0.fused.iter().find(|(name, _)| *name == inner).map(|(_, both)| *both)
    }

    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall> {
        let def = &self.0;
        let binding = Binding { name: def.name, arguments, context };
        let mut result = (def.result)(&binding)?;
        if def.null_in_null_out {
            result.nullable |= binding.any_nullable();
        }
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.expr_type.sql_type.clone()).collect();
        let coercibilities = arguments.iter().map(|argument| argument.expr_type.coercibility).collect();
        let kernel = RowKernel { def: *def, types, coercibilities, result: result.sql_type.clone() };
        Ok(BoundCall { result, kernel: Arc::new(kernel) })
    }
}

/// What the rule of a result's type may know.
#[derive(Debug)]
pub struct Binding<'a> {
    /// The function's name.
    pub name: &'a str,
    /// Types of the arguments, and values of literals.
    pub arguments: &'a [Argument<'a>],
    /// The statement.
    pub context: &'a StatementContext,
}

impl Binding<'_> {
    /// The type of an argument; of a bare NULL where there is none.
    pub fn arg(&self, at: usize) -> &SqlType {
        self.arguments.get(at).map_or(&SqlType::Null, |argument| &argument.expr_type.sql_type)
    }

    /// The value of an argument if it is a literal.
    pub fn literal(&self, at: usize) -> Option<&Value> {
        self.arguments.get(at).and_then(|argument| argument.literal)
    }

    /// A literal argument as an integer.
    pub fn literal_i64(&self, at: usize) -> Option<i64> {
        match self.literal(at)? {
            Value::Int(value) => Some(*value),
            Value::UInt(value) => i64::try_from(*value).ok(),
            Value::Decimal(value) => Some(value.to_i64().0),
            _ => None,
        }
    }

    /// Whether any argument can be NULL.
    pub fn any_nullable(&self) -> bool {
        self.arguments.iter().any(|argument| argument.expr_type.nullable)
    }

    /// Characters of an argument's text.
    pub fn length(&self, at: usize) -> u32 {
        display_length(self.arg(at))
    }

    /// The string type of a length with the collation that the arguments of these places share.
    pub fn string_of(&self, places: &[usize], length: u32) -> SqlResult<ExprType> {
        let (collation, coercibility) = aggregate_collations(&self.operands(places), &self.name.to_lowercase())?;
        Ok(string_result(length, collation, coercibility))
    }

    /// The same with all arguments, none of which is compared: there need not be one collation for them.
    pub fn string_of_all(&self, length: u32) -> SqlResult<ExprType> {
        let places: Vec<usize> = (0..self.arguments.len()).collect();
        let (collation, coercibility) = aggregate_result(&self.operands(&places), &self.name.to_lowercase())?;
        Ok(string_result(length, collation, coercibility))
    }

    /// Error 1267, 1270 or 1271 unless the arguments of these places can be compared with each other.
    pub fn check_comparable(&self, places: &[usize]) -> SqlResult<()> {
        aggregate_collations(&self.operands(places), &self.name.to_lowercase()).map(|_| ())
    }

    fn operands(&self, places: &[usize]) -> Vec<StringOperand> {
        places
            .iter()
            .filter_map(|at| self.arguments.get(*at))
            .map(|argument| StringOperand::of(argument.expr_type, self.context.settings.collation))
            .collect()
    }

    /// A string of the connection's collation.
    pub fn connection_string(&self, length: u32) -> ExprType {
        ExprType {
            sql_type: string_of_length(length, self.context.settings.collation),
            nullable: false,
            coercibility: Coercibility::Literal,
        }
    }
}

/// Numbers and dates that become text are as weak as literals.
fn string_result(length: u32, collation: CollationId, coercibility: Coercibility) -> ExprType {
    let coercibility = match coercibility {
        Coercibility::Numeric | Coercibility::Ignorable => Coercibility::Literal,
        other => other,
    };
    ExprType { sql_type: string_of_length(length, collation), nullable: false, coercibility }
}

/// Result rules that many functions share.
pub mod result {
    use super::{Binding, Coercibility, CollationId, ExprType, SqlResult, SqlType};
    use crate::expr::boolean_type;
    use crate::typing::string_of_length;

    fn numeric(sql_type: SqlType, nullable: bool) -> SqlResult<ExprType> {
        Ok(ExprType::numeric(sql_type, nullable))
    }

    /// BIGINT, NULL only for NULL.
    pub fn bigint(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::BIGINT, false)
    }

    /// BIGINT that may be NULL.
    pub fn nullable_bigint(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::BIGINT, true)
    }

    /// BIGINT UNSIGNED that may be NULL.
    pub fn nullable_unsigned(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::BIGINT_UNSIGNED, true)
    }

    /// INT.
    pub fn int(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::INT, false)
    }

    /// INT that may be NULL.
    pub fn nullable_int(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::INT, true)
    }

    /// 0 or 1.
    pub fn boolean(_: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(boolean_type(false))
    }

    /// 0, 1 or NULL.
    pub fn nullable_boolean(_: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(boolean_type(true))
    }

    /// DOUBLE.
    pub fn double(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::DOUBLE, false)
    }

    /// DOUBLE that may be NULL.
    pub fn nullable_double(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::DOUBLE, true)
    }

    /// JSON that may be NULL.
    pub fn json(_: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(ExprType { sql_type: SqlType::Json, nullable: true, coercibility: Coercibility::Implicit })
    }

    /// DATE that may be NULL.
    pub fn date(_: &Binding<'_>) -> SqlResult<ExprType> {
        numeric(SqlType::Date, true)
    }

    /// The first argument's text, as long as it is.
    pub fn like_first(binding: &Binding<'_>) -> SqlResult<ExprType> {
        binding.string_of(&[0], binding.length(0))
    }

    /// A long text of the first argument's collation.
    pub fn long_like_first(binding: &Binding<'_>) -> SqlResult<ExprType> {
        binding.string_of(&[0], u32::MAX).map(|ty| ExprType { nullable: true, ..ty })
    }

    /// A text of the connection's collation that may be NULL.
    pub fn connection_text(binding: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(ExprType { nullable: true, ..binding.connection_string(u32::MAX) })
    }

    /// LONGTEXT of utf8mb4, whatever the client's collation is. Like USER() it is stronger than literals, so that clients of any
    /// collation can compare it with their texts, and weaker than columns.
    pub fn utf8mb4_text(_: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(ExprType {
            sql_type: SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI),
            nullable: true,
            coercibility: Coercibility::SystemConstant,
        })
    }

    /// A short text of the connection's collation that may be NULL.
    pub fn short_text(binding: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(ExprType { nullable: true, ..binding.connection_string(64) })
    }

    /// Text of the server's own: names and settings.
    pub fn system_text(_: &Binding<'_>) -> SqlResult<ExprType> {
        Ok(ExprType {
            sql_type: string_of_length(384, CollationId::UTF8MB3_GENERAL_CI),
            nullable: true,
            coercibility: Coercibility::SystemConstant,
        })
    }

    /// Bytes that may be NULL.
    pub fn bytes(_: &Binding<'_>) -> SqlResult<ExprType> {
        bytes_of_length(u32::MAX)
    }

    /// Up to so many bytes that may be NULL.
    pub fn bytes_of_length(length: u32) -> SqlResult<ExprType> {
        let sql_type = string_of_length(length, CollationId::BINARY);
        Ok(ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit })
    }
}

#[derive(Debug)]
struct RowKernel {
    def: Def,
    types: Vec<SqlType>,
    coercibilities: Vec<Coercibility>,
    result: SqlType,
}

impl ScalarKernel for RowKernel {
    fn waits(&self) -> bool {
        self.def.waits
    }

    fn is_external(&self) -> bool {
        self.def.external
    }

    fn is_proportional(&self) -> bool {
        self.def.proportional
    }

    fn is_generator(&self) -> bool {
        self.def.generator
    }

    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        if self.def.null_in_null_out && arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let args = self.args(arguments, context);
        (self.def.eval)(&args).and_then(|value| args.fitting(value))
    }

    fn has_eval_arrays(&self) -> bool {
        self.def.eval_document.is_some() && self.types.first() == Some(&SqlType::Json)
            || self.takes_parts()
            || self.is_of_moments()
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        if let Some(eval) = self.def.eval_moments.filter(|_| self.is_of_moments()) {
            let values = arguments.iter().zip(&self.types);
            let values = values.map(|(array, ty)| if has_date(ty) { Some(Value::Null) } else { constant(array, ty) });
            let values: Vec<Value> = values.collect::<Option<_>>()?;
            let of = eval(&self.args(&values, context))?;
            if let Err(error) = context.kill.check() {
                return Some(Err(error));
            }
            return moments::eval(&of, arguments, &self.types).map(Ok);
        }
        let texts = arguments.first()?.as_string_view_opt()?;
        let mut values = vec![Value::Null; arguments.len()];
        for ((value, array), sql_type) in values.iter_mut().zip(arguments).zip(&self.types).skip(1) {
            *value = constant(array, sql_type)?;
        }
        let args = self.args(&values, context);
        match self.def.eval_part.filter(|_| self.takes_parts()) {
            Some(eval) => eval_parts(eval, texts, &args),
            None => Some(self.eval_documents(self.def.eval_document?, texts, &args)),
        }
    }
}

impl RowKernel {
    /// Whether it takes parts of texts: not of bytes, nor at places that are something else than integers.
    fn takes_parts(&self) -> bool {
        let [text, places @ ..] = self.types.as_slice() else { return false };
        let is_text = |of: &SqlType| matches!(of, SqlType::String { .. }) && !of.is_binary_string();
        self.def.eval_part.is_some()
            && is_text(text)
            && is_text(&self.result)
            && places.iter().all(|place| matches!(place, SqlType::Int { .. }))
    }

    /// Whether it is an integer of columns of dates.
    fn is_of_moments(&self) -> bool {
        let count = self.types.iter().filter(|ty| has_date(ty)).count();
        let is_integer = matches!(self.result, SqlType::Int { unsigned: false, .. });
        self.def.eval_moments.is_some() && is_integer && (1..=2).contains(&count)
    }

    fn args<'a>(&'a self, values: &'a [Value], context: &'a StatementContext) -> Args<'a> {
        Args {
            name: self.def.name,
            values,
            types: &self.types,
            coercibilities: &self.coercibilities,
            result: &self.result,
            context,
            trees: RefCell::default(),
        }
    }

    fn eval_documents(
        &self,
        eval: fn(&Args<'_>, &str) -> SqlResult<Value>,
        documents: &StringViewArray,
        args: &Args<'_>,
    ) -> SqlResult<ArrayRef> {
        args.context.kill.check()?;
        let mut results = ValueArrayBuilder::new(&self.result, documents.len());
        for document in documents {
            match document {
                Some(document) => results.append(&args.fitting(eval(args, document)?)?)?,
                None => results.append(&Value::Null)?,
            }
            args.trees.borrow_mut().clear();
        }
        Ok(results.finish())
    }
}

/// Parts of texts; `None` if they are so long that each has to be paid for as it is made, or one is longer than results may be.
fn eval_parts(eval: TextPart, texts: &StringViewArray, args: &Args<'_>) -> Option<SqlResult<ArrayRef>> {
    const BYTES_MAX: usize = 4 << 20;
    let mut parts = StringViewBuilder::with_capacity(texts.len());
    let mut bytes = 0;
    for text in texts {
        let part = match text {
            Some(text) => match args.context.kill.check().and_then(|()| eval(args, text)) {
                Ok(range) => Some(&text[range]),
                Err(error) => return Some(Err(error)),
            },
            None => None,
        };
        let length = part.map_or(0, str::len);
        bytes += length;
        if bytes > BYTES_MAX || length as u64 > args.context.settings.max_allowed_packet {
            return None;
        }
        parts.append_option(part);
    }
    Some(Ok(Arc::new(parts.finish())))
}

/// The value that an array has in all rows, if that is no NULL.
fn constant(array: &ArrayRef, sql_type: &SqlType) -> Option<Value> {
    if array.is_empty() || array.null_count() > 0 {
        return None;
    }
    let is_constant = match (array.as_string_view_opt(), array.as_primitive_opt::<Int64Type>()) {
        (Some(texts), _) => texts.iter().all(|text| text == Some(texts.value(0))),
        (None, Some(numbers)) => numbers.values().iter().all(|number| *number == numbers.value(0)),
        (None, None) => false,
    };
    is_constant.then(|| value_at(array, 0, sql_type).ok()).flatten()
}

/// The arguments of one row.
#[derive(Debug)]
pub struct Args<'a> {
    /// The function's name.
    pub name: &'static str,
    /// Their values.
    pub values: &'a [Value],
    /// Their types.
    pub types: &'a [SqlType],
    /// The strength of their collations.
    pub coercibilities: &'a [Coercibility],
    /// The type of the result.
    pub result: &'a SqlType,
    /// The statement.
    pub context: &'a StatementContext,
    /// What the trees of large documents are charged with, until the row's result is there.
    trees: RefCell<Vec<Charge>>,
}

impl<'a> Args<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A result; NULL with a warning if it is too long. Calls inside of calls may each make a string longer: none gets beyond the
    /// limit.
    fn fitting(&self, value: Value) -> SqlResult<Value> {
        let length = match &value {
            Value::String(text) => text.len(),
            Value::Json(document) => document.stored().len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => return Ok(value),
        };
        Ok(if self.fits(length as u64)? { value } else { Value::Null })
    }

    /// A value; NULL where there is none.
    pub fn value(&self, at: usize) -> &'a Value {
        self.values.get(at).unwrap_or(&Value::Null)
    }

    /// Its type.
    pub fn ty(&self, at: usize) -> &'a SqlType {
        self.types.get(at).unwrap_or(&SqlType::Null)
    }

    /// As text; empty for NULL.
    pub fn text(&self, at: usize) -> Cow<'a, str> {
        coerce::to_text(self.value(at), self.ty(at)).unwrap_or_default()
    }

    /// As text; `None` for NULL.
    pub fn text_or_null(&self, at: usize) -> Option<Cow<'a, str>> {
        coerce::to_text(self.value(at), self.ty(at))
    }

    /// As the bytes that the result is made of: those of its character set for a byte string, UTF-8 for a text. Empty
    /// for NULL.
    pub fn bytes(&self, at: usize) -> Cow<'a, [u8]> {
        match self.value(at) {
            Value::String(text) if !self.is_binary() => Cow::Borrowed(text.as_bytes()),
            _ => self.encoded(at),
        }
    }

    /// As bytes in the value's own character set; empty for NULL.
    pub fn encoded(&self, at: usize) -> Cow<'a, [u8]> {
        coerce::to_bytes(self.value(at), self.ty(at)).unwrap_or_default()
    }

    /// As a signed integer; `default` for NULL.
    pub fn i64_or(&self, at: usize, default: i64) -> SqlResult<i64> {
        Ok(coerce::to_i64(self.value(at), self.ty(at), self.context)?.unwrap_or(default))
    }

    /// As a signed integer; 0 for NULL.
    pub fn i64(&self, at: usize) -> SqlResult<i64> {
        self.i64_or(at, 0)
    }

    /// As an integer of either sign; 0 for NULL.
    pub fn integer(&self, at: usize) -> SqlResult<i128> {
        Ok(coerce::to_integer(self.value(at), self.ty(at), self.context)?.unwrap_or(0))
    }

    /// As a double; 0 for NULL.
    pub fn f64(&self, at: usize) -> SqlResult<f64> {
        Ok(coerce::to_double(self.value(at), self.ty(at), self.context)?.unwrap_or(0.0))
    }

    /// As a decimal; 0 for NULL.
    pub fn decimal(&self, at: usize) -> SqlResult<Decimal> {
        Ok(coerce::to_decimal(self.value(at), self.ty(at), self.context)?.unwrap_or(Decimal::ZERO))
    }

    /// As a date and time; `None` for NULL and what is none (with a warning).
    pub fn datetime(&self, at: usize) -> SqlResult<Option<DateTime>> {
        coerce::to_datetime(self.value(at), self.ty(at), self.context)
    }

    /// As a date.
    pub fn date(&self, at: usize) -> SqlResult<Option<Date>> {
        coerce::to_date(self.value(at), self.ty(at), self.context)
    }

    /// As a time.
    pub fn time(&self, at: usize) -> SqlResult<Option<Time>> {
        coerce::to_time(self.value(at), self.ty(at), self.context)
    }

    /// As a document: JSON as it is, text read as a document (error 3141 if it is none).
    ///
    /// # Errors
    /// 1041, if there is no memory left for the tree.
    pub fn document(&self, at: usize) -> SqlResult<Json> {
        if let Some(text) = document_text(self.value(at)) {
            self.charge_tree(text)?;
        }
        document_of(self.value(at), self.ty(at), at, &self.name.to_lowercase())
    }

    /// The stored form of a document, of which parts can be read without a tree of the whole.
    pub fn stored(&self, at: usize) -> SqlResult<Cow<'_, str>> {
        stored_of(self.value(at), self.ty(at), at, &self.name.to_lowercase())
    }

    /// Charges the tree of a document with this text.
    pub fn charge_tree(&self, text: &str) -> SqlResult<()> {
        let charge = tree_charge(text, self.context)?;
        self.trees.borrow_mut().extend(charge);
        Ok(())
    }

    /// The outline of a document; `None` where it takes a tree to know: members of one name are one.
    pub fn outline(&self, at: usize) -> SqlResult<Option<Outline>> {
        let outline = match self.value(at) {
            Value::Json(document) => Outline::of_stored(document.stored()),
            Value::String(text) if self.ty(at).is_string() && !text.trim_ascii_start().starts_with('{') => {
                Outline::of(text)
            }
            _ => return Ok(None),
        };
        outline.map(Some).map_err(|error| error.for_argument(at + 1, &self.name.to_lowercase()))
    }

    /// The collation that texts compare by: the result's, or that of the first string argument.
    pub fn collation(&self) -> CollationId {
        self.types.iter().find_map(SqlType::collation).unwrap_or(self.context.settings.collation)
    }

    /// The collation of an argument and how strongly it counts.
    pub fn operand(&self, at: usize) -> StringOperand {
        let coercibility = self.coercibilities.get(at).copied().unwrap_or(Coercibility::Ignorable);
        StringOperand::of_parts(self.ty(at), coercibility, self.context.settings.collation)
    }

    /// Whether the result is a byte string.
    pub fn is_binary(&self) -> bool {
        self.result.is_binary_string()
    }

    /// Text as the result's kind of string.
    pub fn string(&self, text: impl Into<String>) -> Value {
        let text = text.into();
        if self.is_binary() { Value::Bytes(text.into_bytes()) } else { Value::String(text) }
    }

    /// Whether a string of this many bytes may be built; if not there is a warning and the result is NULL.
    pub fn fits(&self, length: u64) -> SqlResult<bool> {
        let longest = self.context.settings.max_allowed_packet;
        if length <= longest {
            return Ok(true);
        }
        let name = self.name.to_lowercase();
        self.warn(SqlError::new(ErrorCode::WarnAllowedPacketOverflowed, &[&name, &longest]))?;
        Ok(false)
    }

    /// A warning, or in a strict write an error if its code is one there.
    pub fn warn(&self, warning: SqlError) -> SqlResult<()> {
        report(warning, self.context)
    }

    /// A text is none of those that the function takes (1411).
    pub fn wrong_string(&self, text: &str) -> SqlResult<()> {
        let name = self.name.to_lowercase();
        // MySQL prints the argument as it is written: a text is in quotes of its own.
        let message = format!("Incorrect string value: ''{text}'' for function {name}");
        self.warn(SqlError::with_message(ErrorCode::WrongValueForType, message))
    }

    /// Error 1210.
    pub fn wrong_arguments(&self) -> SqlError {
        SqlError::new(ErrorCode::WrongArguments, &[&self.name.to_lowercase()])
    }
}
