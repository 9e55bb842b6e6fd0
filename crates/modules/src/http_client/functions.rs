//! `HTTP_GET`, `HTTP_POST`, `HTTP_PUT`, `HTTP_PATCH`, `HTTP_DELETE`, `HTTP_HEAD`, `HTTP_REQUEST`.

use super::endpoints::{Destination, add_headers};
use super::options::{self, Options};
use super::running::{Answered, Running, Turn, Turns};
use super::settings::Settings;
use super::{Admitted, PRIVILEGE, STATUS, Shared, TRANSFER, answer};
use arrow::array::{Array, ArrayRef};
use squall_accounting::GrowingCharge;
use squall_functions::arrow_map::{ValueArrayBuilder, value_at};
use squall_functions::library::support::{Binding, document_of, result};
use squall_functions::operators::coerce::to_text;
use squall_http_client::header::{CONTENT_TYPE, HeaderValue};
use squall_http_client::text::decode;
use squall_http_client::{Method, Request};
use squall_registry::{Argument, BoundCall, ExprType, Registry, ScalarFunction, ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// What bodies are, unless a call says so.
const FORM: &str = "application/x-www-form-urlencoded";
const DOCUMENT: &str = "application/json";

/// What a function takes and gives.
#[derive(Clone, Debug)]
enum Shape {
    /// `(url [, options])`, a body.
    Plain(Method),
    /// `(url, body [, content_type [, options]])`, a body.
    WithBody(Method),
    /// `(url [, options])`, a document with the head of the answer.
    Head,
    /// `(request)`, a document with the answer.
    Request,
}

#[derive(Clone, Debug)]
struct Spec {
    name: &'static str,
    /// The name as messages have it.
    shown: &'static str,
    shape: Shape,
}

impl Spec {
    const fn new(name: &'static str, shown: &'static str, shape: Shape) -> Spec {
        Spec { name, shown, shape }
    }

    /// Where the options are.
    fn options_at(&self) -> Option<usize> {
        match self.shape {
            Shape::Plain(_) | Shape::Head => Some(1),
            Shape::WithBody(_) => Some(3),
            Shape::Request => None,
        }
    }
}

/// Declares the functions.
pub(super) fn register(registry: &mut Registry, shared: &Arc<Shared>) {
    let specs = [
        Spec::new("HTTP_GET", "http_get", Shape::Plain(Method::GET)),
        Spec::new("HTTP_POST", "http_post", Shape::WithBody(Method::POST)),
        Spec::new("HTTP_PUT", "http_put", Shape::WithBody(Method::PUT)),
        Spec::new("HTTP_PATCH", "http_patch", Shape::WithBody(Method::PATCH)),
        Spec::new("HTTP_DELETE", "http_delete", Shape::Plain(Method::DELETE)),
        Spec::new("HTTP_HEAD", "http_head", Shape::Head),
        Spec::new("HTTP_REQUEST", "http_request", Shape::Request),
    ];
    for spec in specs {
        registry.register_scalar(Arc::new(HttpFunction { spec, shared: shared.clone() }));
    }
}

#[derive(Debug)]
struct HttpFunction {
    spec: Spec,
    shared: Arc<Shared>,
}

impl ScalarFunction for HttpFunction {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn arity(&self) -> (usize, usize) {
        match self.spec.shape {
            Shape::Plain(_) | Shape::Head => (1, 2),
            Shape::WithBody(_) => (2, 4),
            Shape::Request => (1, 1),
        }
    }

    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall> {
        let binding = Binding { name: self.spec.name, arguments, context };
        let literal = self.spec.options_at().and_then(|at| binding.literal(at));
        let is_binary = matches!(literal, Some(Value::String(text)) if options::asks_for_bytes(text));
        let ty = match self.spec.shape {
            Shape::Head | Shape::Request => result::json(&binding)?,
            _ if is_binary => result::bytes(&binding)?,
            _ => text_like_url(&binding)?,
        };
        let kernel = HttpKernel {
            spec: self.spec.clone(),
            shared: self.shared.clone(),
            types: arguments.iter().map(|argument| argument.expr_type.sql_type.clone()).collect(),
            is_binary,
            result: ty.sql_type.clone(),
        };
        Ok(BoundCall { result: ty, kernel: Arc::new(kernel) })
    }

    fn volatility(&self) -> Volatility {
        Volatility::Volatile
    }

    fn is_for_definitions(&self) -> bool {
        false
    }
}

/// A long text with the URL's collation, if that is one of all characters.
fn text_like_url(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let like = result::long_like_first(binding)?;
    let is_of_all = match like.sql_type.collation() {
        Some(collation) => like.sql_type.is_string() && collation.charset() == squall_types::Charset::Utf8mb4,
        None => false,
    };
    if is_of_all { Ok(like) } else { result::utf8mb4_text(binding) }
}

struct HttpKernel {
    spec: Spec,
    shared: Arc<Shared>,
    types: Vec<SqlType>,
    /// Whether the result is of bytes.
    is_binary: bool,
    result: SqlType,
}

impl Debug for HttpKernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?}", self.spec.name, self.types, self.result)
    }
}

/// A call of one row that is on its way.
struct Started {
    running: Running,
    fail_on_status: bool,
    is_binary: bool,
}

/// What one row asks for.
struct Planned {
    request: Request,
    options: Options,
}

impl ScalarKernel for HttpKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let (settings, _place) = self.begin(context)?;
        match self.start(arguments, None, &settings, context)? {
            Some(started) => self.value(&started, context),
            None => Ok(Value::Null),
        }
    }

    fn waits(&self) -> bool {
        true
    }

    fn is_external(&self) -> bool {
        true
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        Some(self.rows(arguments, context))
    }
}

impl HttpKernel {
    /// Whether there may be requests at all. The privilege is asked for once for many rows.
    fn begin(&self, context: &StatementContext) -> SqlResult<(Settings, Admitted)> {
        context.demand_privilege(PRIVILEGE)?;
        Ok((self.shared.settings(self.spec.shown, context)?, self.shared.admit(self.spec.shown)?))
    }

    /// Many rows, a few requests at a time, with results in their order. Behind a row that fails no more are begun. As many again wait for their turn, so
    /// that a request that has ended is followed by the next one at once, not when this thread has woken up.
    fn rows(&self, arrays: &[ArrayRef], context: &StatementContext) -> SqlResult<ArrayRef> {
        let (settings, _place) = self.begin(context)?;
        let count = arrays.first().map_or(0, |array| array.len());
        let mut builder = ValueArrayBuilder::new(&self.result, count);
        let mut charge = GrowingCharge::new(&context.memory);
        let mut window: VecDeque<SqlResult<Option<Started>>> = VecDeque::new();
        let (at_once, turns) = (settings.row_parallelism, Turns::new(settings.row_parallelism));
        // One at a time go in their order.
        let window_max = if at_once > 1 { 2 * at_once } else { 1 };
        let (mut next, mut has_failed) = (0, false);
        for _ in 0..count {
            while next < count && window.len() < window_max && !has_failed {
                let started = self.start_row(arrays, (turns.clone(), next), &settings, context);
                has_failed = started.is_err();
                window.push_back(started);
                next += 1;
            }
            context.kill.check()?;
            let value = match window.pop_front().transpose()?.flatten() {
                Some(started) => self.value(&started, context)?,
                None => Value::Null,
            };
            charge.grow(value.heap_bytes())?;
            builder.append(&value)?;
        }
        Ok(builder.finish())
    }

    fn start_row(
        &self,
        arrays: &[ArrayRef],
        turn: Turn,
        settings: &Settings,
        context: &StatementContext,
    ) -> SqlResult<Option<Started>> {
        let values = arrays.iter().zip(&self.types).map(|(array, ty)| value_at(array, turn.1, ty));
        let values = values.collect::<SqlResult<Vec<_>>>()?;
        self.start(&values, Some(turn), settings, context)
    }

    /// Sends a row's request; `None` where it is NULL.
    fn start(
        &self,
        arguments: &[Value],
        turn: Option<Turn>,
        settings: &Settings,
        context: &StatementContext,
    ) -> SqlResult<Option<Started>> {
        let Some(Planned { request, options }) = self.plan(arguments, settings, context)? else { return Ok(None) };
        let how = (options.limits, options.fail_on_status);
        let running = self.shared.begin(self.spec.shown, request, how, turn, (settings, context))?;
        Ok(Some(Started { running, fail_on_status: options.fail_on_status, is_binary: options.is_binary }))
    }

    fn plan(&self, arguments: &[Value], settings: &Settings, context: &StatementContext) -> SqlResult<Option<Planned>> {
        if arguments.first().is_none_or(Value::is_null) {
            return Ok(None);
        }
        let text = |at: usize| arguments.get(at).and_then(|value| to_text(value, self.types.get(at)?));
        let options = match self.spec.options_at().and_then(|at| Some((at, arguments.get(at)?))) {
            Some((at, value)) if !value.is_null() => {
                let document = document_of(value, &self.types[at], at, self.spec.shown)?;
                options::options(self.spec.shown, &document, settings)?
            }
            _ => options::no_options(settings),
        };
        let url = text(0).unwrap_or_default();
        let destination = |url: &str| self.shared.destination(self.spec.shown, url, context);
        Ok(Some(match &self.spec.shape {
            Shape::Plain(method) => self.planned(method.clone(), destination(&url)?, None, options)?,
            Shape::Head => self.planned(Method::HEAD, destination(&url)?, None, options)?,
            Shape::WithBody(method) => {
                let (body, kind) = self.body(arguments)?;
                let kind = text(2).map_or(kind.to_string(), |given| given.into_owned());
                self.planned(method.clone(), destination(&url)?, Some((body, &kind)), options)?
            }
            Shape::Request => {
                let document = document_of(&arguments[0], &self.types[0], 0, self.spec.shown)?;
                let asked = options::request(self.spec.shown, &document, settings)?;
                let body = asked.body.map(|(body, is_document)| (body, if is_document { DOCUMENT } else { FORM }));
                self.planned(asked.method, destination(&asked.url)?, body, asked.options)?
            }
        }))
    }

    /// The body to send, and its content type if the call gives none.
    fn body(&self, arguments: &[Value]) -> SqlResult<(Vec<u8>, &'static str)> {
        let (value, ty) = (arguments.get(1).unwrap_or(&Value::Null), self.types.get(1).unwrap_or(&SqlType::Null));
        Ok(match value {
            Value::Bytes(bytes) if ty.is_binary_string() => (bytes.clone(), FORM),
            Value::Json(_) => (to_text(value, ty).unwrap_or_default().into_owned().into_bytes(), DOCUMENT),
            _ => (to_text(value, ty).unwrap_or_default().into_owned().into_bytes(), FORM),
        })
    }

    fn planned(
        &self,
        method: Method,
        destination: Destination,
        body: Option<(Vec<u8>, &str)>,
        mut options: Options,
    ) -> SqlResult<Planned> {
        let function = self.spec.shown;
        let mut headers = std::mem::take(&mut options.headers);
        add_headers(function, &mut headers, destination.headers)?;
        let body = match body {
            Some((body, kind)) => {
                let kind = HeaderValue::from_str(kind);
                let kind = kind.map_err(|_| options::wrong(function, "the content type is no header's value"))?;
                headers.entry(CONTENT_TYPE).or_insert(kind);
                body
            }
            None => Vec::new(),
        };
        let Destination { target, scope, .. } = destination;
        let request = Request { method, target, headers, body: body.into(), scope };
        Ok(Planned { request, options })
    }

    /// Waits for an answer and gives what it is.
    fn value(&self, started: &Started, context: &StatementContext) -> SqlResult<Value> {
        let function = self.spec.shown;
        let answered = started.running.wait()?;
        let Answered { response, .. } = answered;
        if started.fail_on_status && response.status.as_u16() >= 400 {
            return Err(SqlError::of_module(&STATUS, &[&function, &response.status.as_u16()]));
        }
        let failed = |what: &str| SqlError::of_module(&TRANSFER, &[&function, &what]);
        let value = match self.spec.shape {
            Shape::Head => answer::head(&response).to_value(),
            Shape::Request => answer::whole(response, started.is_binary).to_value(),
            _ if self.is_binary => Value::Bytes(response.body),
            _ if started.is_binary => match String::from_utf8(response.body) {
                Ok(text) => Value::String(text),
                Err(_) => return Err(failed("the body is bytes, which a call gives if its options are a literal")),
            },
            _ => {
                let content_type = response.content_type().to_string();
                match decode(response.body, &content_type) {
                    Ok(text) => Value::String(text),
                    Err(_) => return Err(failed(r#"the body is no text (the option {"as": "binary"} gives bytes)"#)),
                }
            }
        };
        let length = match &value {
            Value::String(text) => text.len(),
            Value::Json(document) => document.stored().len(),
            _ => 0,
        };
        if length as u64 > context.settings.max_allowed_packet {
            return Err(failed("the result is longer than max_allowed_packet"));
        }
        Ok(value)
    }
}
