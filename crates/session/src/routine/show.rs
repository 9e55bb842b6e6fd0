//! Routines for SHOW and information_schema: the stored ones, and the built-in procedures.

use crate::authorization::SecurityContext;
use crate::database::{Parameter, ParameterMode, ProcedureHead, Shared};
use crate::result::ResultSet;
use squall_catalog::{Catalog, Privileges, RoutineDef, RoutineKind, RoutineParameterMode, SqlDataAccess};
use squall_parser::ast::ObjectName;
use squall_server_state::charset::{charset_name, collation_name, is_default_collation};
use squall_statement_context::StatementContext;
use squall_system_tables::quoting::{quote, quote_text};
use squall_system_tables::type_text::{has_charset, type_text};
use squall_system_tables::{Source, s};
use squall_types::{CollationId, ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};

/// The definer that is shown for the server's own routines.
const OF_SERVER: (&str, &str) = ("mysql.sys", "localhost");
/// Any of them shows that a routine is there.
const SHOWN_BY: Privileges = Privileges::EXECUTE.union(Privileges::ALTER_ROUTINE).union(Privileges::CREATE_ROUTINE);

/// A routine as its reader may see it.
pub(crate) struct RoutineView {
    pub database: String,
    pub name: String,
    pub kind: RoutineKind,
    pub parameters: Vec<Parameter>,
    /// The source of the list of parameters.
    pub parameters_text: String,
    pub returns: Option<SqlType>,
    /// `None` for one of the server's own, and where the reader may not see it.
    pub body: Option<String>,
    /// Whether the reader may see how it is made.
    pub is_shown_whole: bool,
    pub aggregate: bool,
    pub deterministic: bool,
    pub data_access: SqlDataAccess,
    pub security_invoker: bool,
    pub comment: String,
    /// User and host.
    pub definer: (String, String),
    pub sql_mode: String,
    /// The same, as bodies are read in it.
    pub sql_mode_read: SqlMode,
    pub client_charset: String,
    pub connection_collation: String,
    pub database_collation: String,
    /// Microseconds since 1970 UTC.
    pub created_micros: i64,
    /// See `created_micros`.
    pub altered_micros: i64,
}

/// All routines that the reader of a source may see, by database and name.
pub(crate) fn routine_views(shared: &Shared, source: &Source<'_>) -> Vec<RoutineView> {
    let mut views: Vec<RoutineView> =
        shared.procedures.all().map(|procedure| of_server(procedure.head(), source)).collect();
    views.retain(|view| source.access.on_routine(&view.database, false, &view.name).contains(Privileges::EXECUTE));
    views.extend(stored(&source.catalog, source));
    views.sort_by(|left, right| {
        (&left.database, left.kind, &left.name).cmp(&(&right.database, right.kind, &right.name))
    });
    views
}

fn of_server(head: &ProcedureHead, source: &Source<'_>) -> RoutineView {
    let collation = collation_name(CollationId::UTF8MB4_0900_AI_CI);
    let parameter = |parameter: &Parameter| {
        format!("{} {} {}", parameter.mode.word(), quote(&parameter.name), type_text(&parameter.sql_type))
    };
    RoutineView {
        database: head.database.to_string(),
        name: head.name.to_string(),
        kind: RoutineKind::Procedure,
        parameters: head.parameters.clone(),
        parameters_text: head.parameters.iter().map(parameter).collect::<Vec<_>>().join(", "),
        returns: None,
        body: None,
        is_shown_whole: true,
        aggregate: false,
        deterministic: false,
        data_access: SqlDataAccess::ModifiesSqlData,
        security_invoker: true,
        comment: head.comment.to_string(),
        definer: (OF_SERVER.0.to_string(), OF_SERVER.1.to_string()),
        sql_mode: SqlMode::DEFAULT.to_string(),
        sql_mode_read: SqlMode::DEFAULT,
        client_charset: charset_name(CollationId::UTF8MB4_0900_AI_CI).to_string(),
        connection_collation: collation.to_string(),
        database_collation: collation.to_string(),
        created_micros: source.state.started_micros,
        altered_micros: source.state.started_micros,
    }
}

fn stored(catalog: &Catalog, source: &Source<'_>) -> Vec<RoutineView> {
    let sees_all = source.access.global.contains(Privileges::SELECT) || source.access.dynamic.contains("SHOW_ROUTINE");
    let mut views = Vec::new();
    for database in catalog.databases().values() {
        for def in database.routines.values() {
            let definer = format!("{}@{}", def.definer.user, def.definer.host);
            let is_shown_whole = sees_all || definer == *source.context.current_user;
            let own = source.access.on_routine(&database.name, def.kind.is_function(), &def.name);
            if is_shown_whole || own.intersects(SHOWN_BY) {
                views.push(of_definition(&database.name, def, is_shown_whole));
            }
        }
    }
    views
}

/// The parameters of a stored routine, as calls have them.
pub(crate) fn parameters_of(def: &RoutineDef) -> Vec<Parameter> {
    let parameter = |parameter: &squall_catalog::RoutineParameter| Parameter {
        name: parameter.name.clone().into(),
        mode: match parameter.mode {
            RoutineParameterMode::In => ParameterMode::In,
            RoutineParameterMode::Out => ParameterMode::Out,
            RoutineParameterMode::InOut => ParameterMode::InOut,
        },
        sql_type: parameter.sql_type.clone(),
    };
    def.parameters.iter().map(parameter).collect()
}

fn of_definition(database: &str, def: &RoutineDef, is_shown_whole: bool) -> RoutineView {
    RoutineView {
        database: database.to_string(),
        name: def.name.clone(),
        kind: def.kind,
        parameters: parameters_of(def),
        parameters_text: def.parameters_text.clone(),
        returns: def.returns.clone(),
        body: is_shown_whole.then(|| def.body.clone()),
        is_shown_whole,
        aggregate: def.aggregate,
        deterministic: def.deterministic,
        data_access: def.data_access,
        security_invoker: def.security_invoker,
        comment: def.comment.clone(),
        definer: (def.definer.user.clone(), def.definer.host.clone()),
        sql_mode: SqlMode(def.sql_mode).to_string(),
        sql_mode_read: SqlMode(def.sql_mode),
        client_charset: def.client_charset.clone(),
        connection_collation: def.connection_collation.clone(),
        database_collation: def.database_collation.clone(),
        created_micros: def.created_micros,
        altered_micros: def.altered_micros,
    }
}

impl RoutineView {
    /// SQL SECURITY.
    pub fn security(&self) -> &'static str {
        if self.security_invoker { "INVOKER" } else { "DEFINER" }
    }

    /// Language and source, of one in another language than SQL.
    pub fn external(&self) -> Option<(String, String)> {
        crate::routine_language::language_and_source(self.body.as_deref()?, self.sql_mode_read)
    }

    /// The language.
    pub fn language(&self) -> String {
        self.external().map_or_else(|| "SQL".to_owned(), |(language, _)| language)
    }

    /// `user@host`.
    pub fn definer_text(&self) -> String {
        format!("{}@{}", self.definer.0, self.definer.1)
    }

    /// The statement that makes it. One of the server's own is made without a body, and so that a dump that has it can be read again.
    fn create_text(&self) -> String {
        let (user, host) = &self.definer;
        let aggregate = if self.aggregate { "AGGREGATE " } else { "" };
        let mut text = format!("CREATE DEFINER={}@{} {aggregate}{} ", quote(user), quote(host), self.kind.word());
        if self.body.is_none() {
            text.push_str("IF NOT EXISTS ");
        }
        text.push_str(&format!("{}({})", quote(&self.name), self.parameters_text));
        if let Some(returns) = &self.returns {
            text.push_str(&format!(" RETURNS {}", returns_text(returns)));
        }
        text.push('\n');
        let is_of_server = self.body.is_none();
        if !is_of_server && self.data_access != SqlDataAccess::ContainsSql {
            text.push_str(&format!("    {}\n", self.data_access.clause()));
        }
        if self.deterministic {
            text.push_str("    DETERMINISTIC\n");
        }
        if self.security_invoker {
            text.push_str("    SQL SECURITY INVOKER\n");
        }
        if !self.comment.is_empty() {
            text.push_str(&format!("    COMMENT {}\n", quote_text(&self.comment)));
        }
        text.push_str(self.body.as_deref().unwrap_or("BEGIN END"));
        text
    }
}

/// The type of a function's result, with its character set.
pub(crate) fn returns_text(sql_type: &SqlType) -> String {
    let mut text = type_text(sql_type);
    if let Some(collation) = sql_type.collation().filter(|_| has_charset(sql_type)) {
        text.push_str(&format!(" CHARSET {}", charset_name(collation)));
        if !is_default_collation(collation) {
            text.push_str(&format!(" COLLATE {}", collation_name(collation)));
        }
    }
    text
}

/// SHOW CREATE PROCEDURE and SHOW CREATE FUNCTION (1305). Who may run a routine and not see it is shown NULL.
pub(crate) fn show_create_routine(
    security: &SecurityContext<'_>,
    kind: RoutineKind,
    name: &ObjectName,
    context: &std::sync::Arc<StatementContext>,
) -> SqlResult<ResultSet> {
    let (database, name) = security.qualify(name)?;
    let views = routine_views(security.shared, &security.source(context));
    let is_it = |view: &RoutineView| {
        view.database == database && view.kind == kind && view.name.to_lowercase() == name.to_lowercase()
    };
    let Some(view) = views.into_iter().find(is_it) else {
        return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&kind.word(), &name]));
    };
    let (title, create) = match kind {
        RoutineKind::Procedure => ("Procedure", "Create Procedure"),
        RoutineKind::Function => ("Function", "Create Function"),
    };
    let mut result = ResultSet::of_texts(&[
        title,
        "sql_mode",
        create,
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ]);
    let text = if view.is_shown_whole { s(view.create_text()) } else { Value::Null };
    let mut row = vec![s(&*view.name), s(&*view.sql_mode), text];
    row.extend([s(&*view.client_charset), s(&*view.connection_collation), s(&*view.database_collation)]);
    result.rows.push(row);
    Ok(result)
}
