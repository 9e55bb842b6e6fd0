//! `POST /1.0/call/{schema}/{routine}`: calls a stored procedure or function with named arguments.

use super::body::{Fields, Row, read_row};
use super::rows::cell_of;
use super::transaction;
use super::wants_exact;
use crate::answer::{JSON, whole};
use crate::body::{check_type, read_on_pool};
use crate::exchange::Exchange;
use crate::forms::json::JsonForm;
use crate::forms::values::push_json_value;
use crate::problem::Problem;
use crate::running::RequestSession;
use crate::writer::AnswerWriter;
use bytes::Bytes;
use hyper::StatusCode;
use squall_file_formats::text::push_json_string;
use squall_row_json::filter::quoted;
use squall_session::api::{ParameterDescription, RoutineDescription};
use squall_types::{SqlType, Value};
use std::sync::Arc;

/// A routine that is called.
struct Routine {
    /// Its name in statements.
    sql_name: String,
    is_function: bool,
    description: RoutineDescription,
}

impl Fields for Routine {
    fn fields(&self) -> impl Iterator<Item = (&str, &SqlType)> {
        self.description.parameters.iter().map(|parameter| (&*parameter.name, &parameter.sql_type))
    }

    fn unknown(&self, name: &str) -> Problem {
        Problem::bad_request(format!("the routine has no parameter '{name}'"))
    }
}

/// A call with its arguments.
struct Call {
    session: RequestSession,
    routine: Arc<Routine>,
    /// By the ordinals of parameters.
    arguments: Vec<Option<Value>>,
    exact: bool,
}

/// Answers a request.
pub(super) async fn answer(mut exchange: Exchange, database: &str, name: &str) {
    match prepare(&mut exchange, database, name).await {
        Err(problem) => exchange.refuse(&problem),
        Ok(call) if call.routine.is_function => call.function(exchange).await,
        Ok(call) => call.procedure(exchange).await,
    }
}

async fn prepare(exchange: &mut Exchange, database: &str, name: &str) -> Result<Call, Problem> {
    check_type(&exchange.head.headers, &["application/json"])?;
    exchange.check_query(&["numbers", "kind"])?;
    let exact = wants_exact(exchange)?;
    let kind = exchange.query("kind");
    let mut session = exchange.logged_in().await?;
    let routine = Arc::new(find(&mut session, database, name, kind.as_deref())?);
    let body = exchange.read_body(&mut session).await?;
    let row = {
        let routine = routine.clone();
        read_on_pool(body, move |body| read_row(body, &*routine)).await??
    };
    let arguments = arguments_of(&routine.description.parameters, row)?;
    Ok(Call { session, routine, arguments, exact })
}

/// The routine of that name: a procedure, if there are both and nothing else is asked for.
fn find(session: &mut RequestSession, database: &str, name: &str, kind: Option<&str>) -> Result<Routine, Problem> {
    let mut describe = |is_function| session.connection.describe_routine(database, name, is_function);
    let (is_function, description) = match kind {
        Some("procedure") => (false, describe(false)?),
        Some("function") => (true, describe(true)?),
        Some(_) => return Err(Problem::bad_request("kind is procedure or function")),
        None => match describe(false) {
            Ok(description) => (false, description),
            Err(error) => (true, describe(true).map_err(|_| error)?),
        },
    };
    let sql_name = format!("{}.{}", quoted(database), quoted(&description.name));
    Ok(Routine { sql_name, is_function, description })
}

fn arguments_of(parameters: &[ParameterDescription], row: Row) -> Result<Vec<Option<Value>>, Problem> {
    let mut arguments = vec![None; parameters.len()];
    for member in row {
        arguments[member.column] = Some(member.value);
    }
    for (parameter, argument) in parameters.iter().zip(&arguments) {
        let what = match (parameter.is_in, argument) {
            (true, None) => "is missing",
            (false, Some(_)) => "is OUT, and takes no value",
            _ => continue,
        };
        return Err(Problem::bad_request(format!("the parameter '{}' {what}", parameter.name)));
    }
    Ok(arguments)
}

/// The user variable of a parameter whose value comes out. The session has no others.
fn variable(at: usize) -> String {
    format!("@`parameter {at}`")
}

impl Call {
    async fn function(mut self, mut exchange: Exchange) {
        let places = vec!["?"; self.arguments.len()].join(", ");
        let sql = format!("SELECT {}({places})", self.routine.sql_name);
        let values = std::mem::take(&mut self.arguments).into_iter().map(Option::unwrap_or_default).collect();
        let result = match self.session.result_of(&sql, values).await {
            Ok(result) => result,
            Err(problem) => return exchange.refuse(&problem),
        };
        // The function may have changed something, whatever autocommit is.
        if let Err(problem) = transaction::commit(&mut self.session).await {
            return exchange.refuse(&problem);
        }
        let mut out = b"{\"value\":".to_vec();
        let value = result.rows.first().and_then(|row| row.first()).unwrap_or(&Value::Null);
        let sql_type = result.columns.first().map_or(&SqlType::Null, |column| &column.sql_type);
        push_json_value(cell_of(value), sql_type, self.exact, &mut out);
        out.push(b'}');
        exchange.sink.set_write_timeout(self.session.write_timeout());
        // Its place is for others, however slowly the client takes the answer.
        drop(self);
        // A client that has gone needs no answer.
        let _gone = exchange.sink.send_answer(whole(StatusCode::OK, JSON, out)).await;
    }

    async fn procedure(mut self, exchange: Exchange) {
        let Exchange { mut sink, start, .. } = exchange;
        sink.set_write_timeout(self.session.write_timeout());
        let mut writer = AnswerWriter::new(JsonForm::new(self.exact), sink, u64::MAX, start);
        let problem = self.run(&mut writer).await.err();
        // What has not been committed is undone before the client learns of the failure, and its place is for others.
        drop(self);
        // A client that has gone needs no answer.
        let _gone = writer.finish(problem.flatten()).await;
    }

    /// Calls the procedure, and tells the form what has come out of it.
    ///
    /// # Errors
    /// What has ended it; `None` for an error that the writer has got.
    async fn run(&mut self, writer: &mut AnswerWriter<JsonForm>) -> Result<(), Option<Problem>> {
        let routine = self.routine.clone();
        let parameters = &routine.description.parameters;
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for (at, (parameter, value)) in parameters.iter().zip(std::mem::take(&mut self.arguments)).enumerate() {
            if !parameter.is_out {
                places.push("?".to_owned());
                values.extend(value);
                continue;
            }
            places.push(variable(at));
            if let Some(value) = value {
                let sql = format!("SET {} = ?", variable(at));
                self.session.run_command(&sql, vec![value]).await.map_err(Some)?;
            }
        }
        let sql = format!("CALL {}({})", routine.sql_name, places.join(", "));
        let ran = self.session.run(&Bytes::from(sql), values, writer).await;
        if !ran || writer.has_failed() {
            return Err(self.session.problem(ran, writer.has_failed()));
        }
        let out = self.values_out(parameters).await.map_err(Some)?;
        // Without autocommit, or if the procedure has left a transaction open, its changes would be lost after the answer.
        transaction::commit(&mut self.session).await.map_err(Some)?;
        writer.form_mut().add("out", &out);
        Ok(())
    }

    /// A JSON object of the values that have come out.
    async fn values_out(&mut self, parameters: &[ParameterDescription]) -> Result<Vec<u8>, Problem> {
        let mut out = b"{".to_vec();
        let outs: Vec<(usize, &ParameterDescription)> =
            parameters.iter().enumerate().filter(|(_, parameter)| parameter.is_out).collect();
        if !outs.is_empty() {
            let expressions = outs.iter().map(|(at, parameter)| match parameter.sql_type {
                SqlType::Json => format!("CAST({} AS JSON)", variable(*at)),
                _ => variable(*at),
            });
            let sql = format!("SELECT {}", expressions.collect::<Vec<_>>().join(", "));
            let rows = self.session.rows(&sql).await?;
            for ((_, parameter), value) in outs.iter().zip(rows.iter().flatten()) {
                if out.len() > 1 {
                    out.push(b',');
                }
                push_json_string(&parameter.name, &mut out);
                out.push(b':');
                push_json_value(cell_of(value), &parameter.sql_type, self.exact, &mut out);
            }
        }
        out.push(b'}');
        Ok(out)
    }
}
