//! An example module: a function, a procedure that makes more functions while the server runs, a table, a listener, a privilege and an
//! error.
//!
//! `cargo run --example greeter -- DIRECTORY` serves a data directory with it on port 3306.
//!
//! ```sql
//! SELECT GREETING('Ada');                           -- Hello, Ada!
//! CALL greeter.define('SALUT', 'Salut, % !');
//! SELECT SALUT('Ada');                              -- Salut, Ada !
//! SELECT * FROM greeter.statements_by_user;
//! ```

use squall_registry::{
    Argument, BoundCall, Coercibility, ExprType, FunctionResolver, Registry, ScalarFunction, ScalarKernel,
    VirtualColumn, VirtualScan, VirtualTable,
};
use squall_session::api::{LocalFuture, OkInfo};
use squall_session::procedure::{Parameter, ProcedureHead};
use squall_session::{EndedStatement, Failure, ListenedSession, Listener, Module, Procedure, ProcedureCall};
use squall_statement_context::StatementContext;
use squall_types::convert::to_text;
use squall_types::{CollationId, ErrorCode, ModuleError, SqlError, SqlResult, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

const DATABASE: &str = "greeter";
/// The privilege to make functions.
const ADMIN: &str = "GREETER_ADMIN";
const NO_PLACE: ModuleError = ModuleError::new(50_001, b"45000", "The text '%s' has no place for a name");

/// The module. Its parts share what it knows.
#[derive(Debug, Default)]
pub struct Greeter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Functions by their names in upper case, with their texts, and how often one was defined.
    functions: RwLock<(BTreeMap<String, String>, u64)>,
    /// Statements of each user.
    statements: RwLock<BTreeMap<String, u64>>,
}

impl Module for Greeter {
    fn name(&self) -> &str {
        DATABASE
    }

    fn databases(&self) -> &[&str] {
        &[DATABASE]
    }

    fn declare(&self, registry: &mut Registry) {
        registry.register_scalar(Arc::new(Greeting { name: "GREETING".into(), text: "Hello, %!".into() }));
        registry.add_function_resolver(self.0.clone());
        registry.register_privilege(ADMIN);
        registry.register_virtual_table(Arc::new(StatementsByUser::new(self.0.clone())));
    }

    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        let parameters = vec![Parameter::text("name"), Parameter::text("text")];
        let comment = "Makes a function that puts its argument in the place of % in a text.";
        let head = ProcedureHead { database: DATABASE, name: "define", parameters, comment };
        vec![Arc::new(Define { head, shared: self.0.clone() })]
    }

    fn listeners(&self) -> Vec<Arc<dyn Listener>> {
        vec![self.0.clone()]
    }
}

/// A function of one argument.
#[derive(Debug)]
struct Greeting {
    name: String,
    text: String,
}

impl ScalarFunction for Greeting {
    fn name(&self) -> &str {
        &self.name
    }

    fn arity(&self) -> (usize, usize) {
        (1, 1)
    }

    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall> {
        let argument = arguments[0].expr_type;
        let sql_type = SqlType::longtext(context.settings.collation);
        let result = ExprType { sql_type, nullable: argument.nullable, coercibility: Coercibility::Literal };
        let kernel = GreetingKernel { text: self.text.clone(), argument: argument.sql_type.clone() };
        Ok(BoundCall { result, kernel: Arc::new(kernel) })
    }
}

#[derive(Debug)]
struct GreetingKernel {
    text: String,
    argument: SqlType,
}

impl ScalarKernel for GreetingKernel {
    fn eval(&self, arguments: &[Value], _: &StatementContext) -> SqlResult<Value> {
        Ok(match &arguments[0] {
            Value::Null => Value::Null,
            name => Value::String(self.text.replace('%', &to_text(name, &self.argument))),
        })
    }
}

/// Functions that were made by `greeter.define`.
impl FunctionResolver for Shared {
    fn scalar(&self, name: &str) -> Option<Arc<dyn ScalarFunction>> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let text = functions.0.get(name)?.clone();
        Some(Arc::new(Greeting { name: name.to_owned(), text }))
    }

    fn version(&self) -> u64 {
        self.functions.read().unwrap_or_else(PoisonError::into_inner).1
    }
}

#[derive(Debug)]
struct Define {
    head: ProcedureHead,
    shared: Arc<Shared>,
}

impl Procedure for Define {
    fn head(&self) -> &ProcedureHead {
        &self.head
    }

    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>> {
        Box::pin(async move {
            if !call.access().has_dynamic(ADMIN) {
                return Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&ADMIN]).into());
            }
            let (Some(name), Some(text)) = (call.text(0), call.text(1)) else {
                return Err(SqlError::new(ErrorCode::WrongArguments, &[&"define"]).into());
            };
            if !text.contains('%') {
                return Err(SqlError::of_module(&NO_PLACE, &[&text]).into());
            }
            let mut functions = self.shared.functions.write().unwrap_or_else(PoisonError::into_inner);
            functions.0.insert(name.to_ascii_uppercase(), text.to_owned());
            functions.1 += 1;
            Ok(OkInfo::default())
        })
    }
}

/// Counts what each user runs.
impl Listener for Shared {
    fn statement_ended(&self, session: &ListenedSession<'_>, _: &EndedStatement<'_>) {
        let mut statements = self.statements.write().unwrap_or_else(PoisonError::into_inner);
        *statements.entry(session.current_user.to_owned()).or_default() += 1;
    }
}

#[derive(Debug)]
struct StatementsByUser {
    columns: [VirtualColumn; 2],
    shared: Arc<Shared>,
}

impl StatementsByUser {
    fn new(shared: Arc<Shared>) -> StatementsByUser {
        let column = |name: &'static str, sql_type| VirtualColumn {
            name: name.into(),
            sql_type,
            nullable: false,
            invisible: false,
        };
        let user = SqlType::varchar(288, CollationId::UTF8MB4_0900_AI_CI);
        StatementsByUser { columns: [column("user", user), column("statements", SqlType::BIGINT_UNSIGNED)], shared }
    }
}

impl VirtualTable for StatementsByUser {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        "statements_by_user"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let statements = self.shared.statements.read().unwrap_or_else(PoisonError::into_inner);
        Ok(statements.iter().map(|(user, count)| vec![Value::from(user.as_str()), Value::UInt(*count)]).collect())
    }
}

/// Serves a data directory with the module until the process is ended.
#[allow(dead_code, reason = "the test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: greeter DIRECTORY")?;
    let (_database, _server) = serve(directory.as_ref(), 3306)?;
    loop {
        std::thread::park();
    }
}

/// A server with the module.
pub fn serve(
    directory: &std::path::Path,
    port: u16,
) -> Result<(squall_session::Database, squall_server::Server), Box<dyn std::error::Error>> {
    let modules: Vec<Arc<dyn Module>> = vec![Arc::new(Greeter::default())];
    let options = squall_session::OpenOptions { modules, ..Default::default() };
    let database = squall_session::Database::open(directory, options).map_err(|error| error.message)?;
    let options = squall_server::ServerOptions {
        data_directory: directory.to_path_buf(),
        bind_address: "127.0.0.1".into(),
        port,
        admin_address: None,
        admin_port: 0,
        socket: None,
        event_loops: std::num::NonZeroUsize::MIN,
        drain_timeout: std::time::Duration::from_secs(5),
    };
    let server = squall_server::Server::start(&options, Arc::new(database.clone()))?;
    Ok((database, server))
}
