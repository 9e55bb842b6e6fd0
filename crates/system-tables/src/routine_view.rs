//! Routines as their readers may see them: the stored ones, and the built-in procedures. Also the text of SHOW CREATE PROCEDURE.

use crate::Source;
use crate::quoting::{quote, quote_text};
use crate::source::BuiltInProcedure;
use crate::type_text::{has_charset, type_text};
use squall_catalog::{Catalog, Privileges, RoutineDef, RoutineKind, RoutineParameter, SqlDataAccess};
use squall_parser::parse_external_body;
use squall_types::{CollationId, SqlMode, SqlType};

/// The definer that is shown for the server's own routines.
const OF_SERVER: (&str, &str) = ("mysql.sys", "localhost");
/// Any of them shows that a routine is there.
const SHOWN_BY: Privileges = Privileges::EXECUTE.union(Privileges::ALTER_ROUTINE).union(Privileges::CREATE_ROUTINE);

/// A routine as its reader may see it.
#[derive(Debug)]
pub struct RoutineView {
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Procedure or function.
    pub kind: RoutineKind,
    /// Its parameters.
    pub parameters: Vec<RoutineParameter>,
    /// The source of the list of parameters.
    pub parameters_text: String,
    /// The result of a function.
    pub returns: Option<SqlType>,
    /// `None` for one of the server's own, and where the reader may not see it.
    pub body: Option<String>,
    /// Whether the reader may see how it is made.
    pub is_shown_whole: bool,
    /// Whether it is an aggregate function.
    pub aggregate: bool,
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// What it says that it does with tables.
    pub data_access: SqlDataAccess,
    /// SQL SECURITY INVOKER.
    pub security_invoker: bool,
    /// COMMENT.
    pub comment: String,
    /// User and host.
    pub definer: (String, String),
    /// The `sql_mode` that its body is read in.
    pub sql_mode: String,
    /// The same, as bodies are read in it.
    pub sql_mode_read: SqlMode,
    /// `character_set_client` of the session that made it.
    pub client_charset: String,
    /// `collation_connection` of that session.
    pub connection_collation: String,
    /// The default collation of its database.
    pub database_collation: String,
    /// Microseconds since 1970 UTC.
    pub created_micros: i64,
    /// See `created_micros`.
    pub altered_micros: i64,
}

/// All routines that the reader of a source may see, by database and name.
pub fn routine_views(source: &Source<'_>) -> Vec<RoutineView> {
    let mut views: Vec<RoutineView> =
        source.server.built_in_procedures().into_iter().map(|procedure| of_server(procedure, source)).collect();
    views.retain(|view| source.access.on_routine(&view.database, false, &view.name).contains(Privileges::EXECUTE));
    views.extend(stored(&source.catalog, source));
    views.sort_by(|left, right| {
        (&left.database, left.kind, &left.name).cmp(&(&right.database, right.kind, &right.name))
    });
    views
}

fn of_server(procedure: BuiltInProcedure, source: &Source<'_>) -> RoutineView {
    let collation = CollationId::UTF8MB4_0900_AI_CI.name();
    let parameter = |parameter: &RoutineParameter| {
        format!("{} {} {}", parameter.mode.word(), quote(&parameter.name), type_text(&parameter.sql_type))
    };
    RoutineView {
        database: procedure.database.to_owned(),
        name: procedure.name.to_owned(),
        kind: RoutineKind::Procedure,
        parameters_text: procedure.parameters.iter().map(parameter).collect::<Vec<_>>().join(", "),
        parameters: procedure.parameters,
        returns: None,
        body: None,
        is_shown_whole: true,
        aggregate: false,
        deterministic: false,
        data_access: SqlDataAccess::ModifiesSqlData,
        security_invoker: true,
        comment: procedure.comment.to_owned(),
        definer: (OF_SERVER.0.to_string(), OF_SERVER.1.to_string()),
        sql_mode: SqlMode::DEFAULT.to_string(),
        sql_mode_read: SqlMode::DEFAULT,
        client_charset: CollationId::UTF8MB4_0900_AI_CI.charset().name().to_string(),
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

fn of_definition(database: &str, def: &RoutineDef, is_shown_whole: bool) -> RoutineView {
    RoutineView {
        database: database.to_string(),
        name: def.name.clone(),
        kind: def.kind,
        parameters: def.parameters.clone(),
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
        let options = squall_planner::bind::parse_options(self.sql_mode_read);
        let (language, source) = parse_external_body(self.body.as_deref()?, &options).ok()??;
        Some((language.as_str().to_owned(), source.into()))
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
    pub fn create_text(&self) -> String {
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
pub fn returns_text(sql_type: &SqlType) -> String {
    let mut text = type_text(sql_type);
    if let Some(collation) = sql_type.collation().filter(|_| has_charset(sql_type)) {
        text.push_str(&format!(" CHARSET {}", collation.charset().name()));
        if !collation.info().is_default {
            text.push_str(&format!(" COLLATE {}", collation.name()));
        }
    }
    text
}
