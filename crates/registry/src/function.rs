//! Functions: their declaration, types and execution.
//!
//! A function is looked up by name, *bound* to its argument types once per statement, and then run many times through the kernel that
//! binding returned. A kernel is defined on single values. It may also have a vectorised form for speed, which must give the same
//! answers.

use arrow::array::ArrayRef;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// How strongly an operand's collation counts when operands differ (MySQL's coercibility; lower is stronger).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coercibility {
    /// An explicit COLLATE.
    Explicit = 0,
    /// A concatenation of different collations.
    None = 1,
    /// A column or a routine's variable.
    Implicit = 2,
    /// `USER()`, `VERSION()`.
    SystemConstant = 3,
    /// A literal.
    Literal = 4,
    /// Numbers and dates.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExprType {
    /// Type with length and collation.
    pub sql_type: SqlType,
    /// Whether NULL can come out.
    pub nullable: bool,
    /// Strength of the collation.
    pub coercibility: Coercibility,
}

impl ExprType {
    /// That of a column or variable of a type.
    pub fn of_column(sql_type: SqlType, nullable: bool) -> ExprType {
        let coercibility = match sql_type.collation() {
            Some(_) => Coercibility::Implicit,
            None => Coercibility::Numeric,
        };
        ExprType { sql_type, nullable, coercibility }
    }

    /// That of a number or a time, which has no collation.
    pub fn numeric(sql_type: SqlType, nullable: bool) -> ExprType {
        ExprType { sql_type, nullable, coercibility: Coercibility::Numeric }
    }
}

/// The properties of one argument for binding.
#[derive(Clone, Debug)]
pub struct Argument<'a> {
    /// Its type.
    pub expr_type: &'a ExprType,
    /// Its value if it is a literal, such as the 2 of `ROUND(x, 2)`.
    pub literal: Option<&'a Value>,
    /// The name it was given with AS, for a function that [takes names](ScalarFunction::takes_names).
    pub name: Option<&'a str>,
}

/// When a call with equal arguments gives an equal result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// Always.
    Immutable,
    /// Within one statement (`NOW()`, `DATABASE()`).
    Stable,
    /// Never to be folded or moved (`RAND()`, `UUID()`, `SLEEP()`, `@a := …`).
    Volatile,
}

/// The state that a [`ScalarKernel`] keeps between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelMemory {
    /// Nothing: sessions may share it.
    None,
    /// Something that follows from its arguments alone (a pattern made ready): one execution at a time may use it.
    OfArguments,
    /// Something of its statement (a random number, what an account may run): it is made for one execution.
    OfStatement,
}

/// A scalar function or operator as it is declared.
pub trait ScalarFunction: Debug + Send + Sync {
    /// Its name in upper case; operators have theirs too (`+`, `LIKE`).
    fn name(&self) -> &str;
    /// Other names it answers to.
    fn aliases(&self) -> &[&str] {
        &[]
    }
    /// The database that it can be called in by a qualified name, too (`fastbit.fb_inlist(…)`), lower case.
    fn database(&self) -> Option<&str> {
        None
    }
    /// Fewest and most arguments; `usize::MAX` for any number. Others are error 1582 (`WrongParamCountToNativeFct`).
    fn arity(&self) -> (usize, usize);
    /// Whether arguments may be given names (`f(1 AS x)`); for any other function that is error 1583.
    fn takes_names(&self) -> bool {
        false
    }
    /// Whether expressions of table definitions may call it: DEFAULT, generated columns, CHECK and keys. They say so if not (3770, 3763, 3814, 3758). What acts
    /// outside of its statement, as a request over HTTP or a session of its own does, may not be called: rows must not depend on it.
    fn is_for_definitions(&self) -> bool {
        true
    }
    /// Whether it runs texts as SQL in a session of its own. Stored functions and triggers may not call it: CREATE says so (1336).
    fn runs_texts(&self) -> bool {
        false
    }
    /// Types a call and picks its kernel.
    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall>;
    /// See [`Volatility`].
    fn volatility(&self) -> Volatility {
        Volatility::Immutable
    }
    /// A function that gives the same value as this one applied to a call of `inner`. It takes the arguments of that call, and
    /// makes no intermediate value.
    fn fused(&self, _inner: &str) -> Option<&str> {
        None
    }
}

/// A typed call.
#[derive(Clone, Debug)]
pub struct BoundCall {
    /// Type of the result.
    pub result: ExprType,
    /// The code to run.
    pub kernel: Arc<dyn ScalarKernel>,
}

/// The code of a bound call.
pub trait ScalarKernel: Any + Debug + Send + Sync {
    /// One row. `arguments` are of the types the call was bound with (or NULL).
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value>;

    /// Whether [`ScalarKernel::eval`] may wait for something (`SLEEP`, `GET_LOCK`), which it must not do on a thread that
    /// others count on.
    fn waits(&self) -> bool {
        false
    }

    /// What the kernel keeps between calls.
    fn memory(&self) -> KernelMemory {
        KernelMemory::None
    }

    /// Whether it acts outside of its statement: it asks other servers, or opens sessions. Each row is then evaluated once and no more, constant arguments or not: what
    /// [`ScalarKernel::eval_arrays`] answers counts, errors too. Programs that call it are run by the interpreter, as their definer. It
    /// [waits](ScalarKernel::waits), and its function is [`Volatility::Volatile`].
    fn is_external(&self) -> bool {
        false
    }

    /// Whether it runs statements as parts of the one that calls it, which lends it its transaction ([`Programs`](squall_statement_context::Programs)).
    fn runs_statements(&self) -> bool {
        false
    }

    /// Whether it is volatile for nothing but another value in each call (`UUID()`): it waits for nothing, and a call that nobody has asked
    /// for changes nothing.
    fn is_generator(&self) -> bool {
        false
    }

    /// Whether it assigns a user variable, so that a row sees what the row before it assigned: rows are then evaluated one at a time.
    fn assigns_variables(&self) -> bool {
        false
    }

    /// Whether the result is at most a few times as long as the arguments, whatever its type says.
    fn is_proportional(&self) -> bool {
        false
    }

    /// Whether [`ScalarKernel::eval_arrays`] may give an answer, so that no arrays are built for nothing.
    fn has_eval_arrays(&self) -> bool {
        false
    }

    /// Many rows at once, where there is a faster way than row by row: arrays of equal length in the Arrow types that
    /// `squall-functions` maps the argument types to; the result in the Arrow type of the bound result. `None` or an
    /// error leaves the rows to [`ScalarKernel::eval`], which says which of them fails and how; an error of an
    /// [external](ScalarKernel::is_external) kernel is the statement's.
    fn eval_arrays(&self, _arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        None
    }

    /// The same for an [external](ScalarKernel::is_external) kernel without arguments, whose values differ from row to row.
    fn eval_rows(&self, _row_count: usize, _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        None
    }
}

/// A function in the place of a table, whose rows are those of a query: `FROM fb_rows(…)`.
pub trait TableFunction: Debug + Send + Sync {
    /// Its name in upper case.
    fn name(&self) -> &str;
    /// See [`ScalarFunction::database`].
    fn database(&self) -> Option<&str> {
        None
    }
    /// How many arguments it takes; any other number is error 1582.
    fn arity(&self) -> usize;
    /// The query, as SQL that the statement's `sql_mode` reads. It is run with the privileges of the account that reads the table.
    ///
    /// # Errors
    /// When the arguments say nothing that could be asked for.
    fn query(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<String>;
}

/// An aggregate function as it is declared.
pub trait AggregateFunction: Debug + Send + Sync {
    /// Its name in upper case.
    fn name(&self) -> &str;
    /// Other names it answers to.
    fn aliases(&self) -> &[&str] {
        &[]
    }
    /// See [`ScalarFunction::database`].
    fn database(&self) -> Option<&str> {
        None
    }
    /// Types a call and picks its kernel.
    fn bind(&self, arguments: &[Argument<'_>], distinct: bool, context: &StatementContext)
    -> SqlResult<BoundAggregate>;
}

/// A typed aggregate call.
#[derive(Clone, Debug)]
pub struct BoundAggregate {
    /// Type of the result.
    pub result: ExprType,
    /// The code to run.
    pub kernel: Arc<dyn AggregateKernel>,
}

/// The code of an aggregate over values. `squall-functions` adapts it to DataFusion; the common ones (COUNT, SUM, MIN,
/// MAX, AVG) have vectorised forms there.
pub trait AggregateKernel: Any + Debug + Send + Sync {
    /// A state to start a group with.
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator>;
    /// Whether the result says in which order rows came, so that these have to come in the same one each time.
    fn keeps_order(&self) -> bool {
        false
    }
    /// Whether it holds for one statement alone, so that no other may run its plan.
    fn is_of_statement(&self) -> bool {
        false
    }
}

/// The state of one group of one aggregate.
pub trait ValueAccumulator: Debug + Send + Sync {
    /// Takes one row's arguments in.
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()>;
    /// The result so far.
    fn evaluate(&mut self) -> SqlResult<Value>;
    /// What the group knows so far, for another state of the same kernel to take in.
    fn state(&mut self) -> SqlResult<Vec<u8>>;
    /// Takes in what another state of the same kernel gave, as if its rows had come after those of this one.
    fn merge(&mut self, state: &[u8]) -> SqlResult<()>;
    /// Bytes held, for the memory pool.
    fn size(&self) -> usize;
}
