//! SHOW.

use super::*;

impl Printer {
    pub(super) fn show(&mut self, show: &Show) {
        self.put("SHOW ");
        match show {
            Show::BinaryLogs => self.put("BINARY LOGS"),
            Show::BinaryLogStatus => self.put("BINARY LOG STATUS"),
            Show::BinlogEvents { log, position, limit } => self.events("BINLOG EVENTS", log, *position, limit),
            Show::CharacterSets(filter) => self.filtered("CHARACTER SET", filter),
            Show::Collations(filter) => self.filtered("COLLATION", filter),
            Show::Columns { extended, full, table, filter } => self.show_columns(*extended, *full, table, filter),
            Show::CreateDatabase { if_not_exists, name } => self.show_create_database(*if_not_exists, name),
            Show::CreateEvent(name) => self.named_object("CREATE EVENT ", name),
            Show::CreateFunction(name) => self.named_object("CREATE FUNCTION ", name),
            Show::CreateHttpEndpoint(name) => {
                self.put("CREATE HTTP ENDPOINT ");
                self.ident(name);
            }
            Show::CreateProcedure(name) => self.named_object("CREATE PROCEDURE ", name),
            Show::CreateSequence(name) => self.named_object("CREATE SEQUENCE ", name),
            Show::CreateTable(name) => self.named_object("CREATE TABLE ", name),
            Show::CreateTrigger(name) => self.named_object("CREATE TRIGGER ", name),
            Show::CreateUser(user) => self.show_create_user(user),
            Show::CreateView(name) => self.named_object("CREATE VIEW ", name),
            Show::Databases(filter) => self.filtered("DATABASES", filter),
            Show::Engine { name, what } => self.show_engine(name, *what),
            Show::Engines => self.put("ENGINES"),
            Show::Errors(limit) => self.limited("ERRORS", limit),
            Show::ErrorCount => self.put("COUNT(*) ERRORS"),
            Show::Events { schema, filter } => self.in_schema("EVENTS", schema, filter),
            Show::FunctionCode(name) => self.named_object("FUNCTION CODE ", name),
            Show::FunctionStatus(filter) => self.filtered("FUNCTION STATUS", filter),
            Show::Grants { user, using } => self.show_grants(user, using),
            Show::Indexes { extended, table, filter } => {
                self.put_if(*extended, "EXTENDED ");
                self.named_object("INDEX FROM ", table);
                self.filter(filter);
            }
            Show::OpenTables { schema, filter } => self.in_schema("OPEN TABLES", schema, filter),
            Show::Plugins { soname, all } => self.filtered(if *all { "PLUGINS SONAME" } else { "PLUGINS" }, soname),
            Show::Privileges => self.put("PRIVILEGES"),
            Show::ProcedureCode(name) => self.named_object("PROCEDURE CODE ", name),
            Show::ProcedureStatus(filter) => self.filtered("PROCEDURE STATUS", filter),
            Show::ProcessList { full } => self.put(if *full { "FULL PROCESSLIST" } else { "PROCESSLIST" }),
            Show::Profile { types, query, limit } => self.show_profile(types, query, limit),
            Show::Profiles => self.put("PROFILES"),
            Show::RelaylogEvents { log, position, limit, channel } => {
                self.events("RELAYLOG EVENTS", log, *position, limit);
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Show::Replicas => self.put("REPLICAS"),
            Show::ReplicaStatus { channel, all } => {
                self.put(if *all { "ALL REPLICAS STATUS" } else { "REPLICA STATUS" });
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Show::Status { scope, filter } => self.scoped(*scope, "STATUS", filter),
            Show::TableStatus { schema, filter } => self.in_schema("TABLE STATUS", schema, filter),
            Show::Tables { extended, full, schema, filter } => {
                self.put_if(*extended, "EXTENDED ");
                self.put_if(*full, "FULL ");
                self.in_schema("TABLES", schema, filter);
            }
            Show::Triggers { schema, filter } => self.in_schema("TRIGGERS", schema, filter),
            Show::Variables { scope, filter } => self.scoped(*scope, "VARIABLES", filter),
            Show::Warnings(limit) => self.limited("WARNINGS", limit),
            Show::WarningCount => self.put("COUNT(*) WARNINGS"),
            Show::ParseTree(statement) => {
                self.put("PARSE_TREE ");
                self.statement(statement);
            }
            Show::Authors => self.put("AUTHORS"),
            Show::Contributors => self.put("CONTRIBUTORS"),
            Show::ApiTokens(filter) => self.filtered("API TOKENS", filter),
            Show::HttpEndpoints(filter) => self.filtered("HTTP ENDPOINTS", filter),
            Show::Information { name, filter } => self.filtered(name, filter),
            Show::ExplainFor(id) => {
                self.put("EXPLAIN FOR ");
                self.expr(id);
            }
        }
    }

    fn show_columns(&mut self, extended: bool, full: bool, table: &ObjectName, filter: &Option<ShowFilter>) {
        self.put_if(extended, "EXTENDED ");
        self.put_if(full, "FULL ");
        self.named_object("COLUMNS FROM ", table);
        self.filter(filter);
    }

    fn show_create_database(&mut self, if_not_exists: bool, name: &Ident) {
        self.put("CREATE DATABASE ");
        self.put_if(if_not_exists, "IF NOT EXISTS ");
        self.ident(name);
    }

    fn show_create_user(&mut self, user: &Option<AccountName>) {
        self.put("CREATE USER");
        if let Some(user) = user {
            self.put(" ");
            self.account_name(user);
        }
    }

    fn show_engine(&mut self, name: &Ident, what: EngineInformation) {
        self.put("ENGINE ");
        self.ident(name);
        self.put(match what {
            EngineInformation::Status => " STATUS",
            EngineInformation::Mutex => " MUTEX",
            EngineInformation::Logs => " LOGS",
        });
    }

    fn show_grants(&mut self, user: &Option<AccountName>, using: &[AccountName]) {
        self.put("GRANTS");
        if let Some(user) = user {
            self.put(" FOR ");
            self.account_name(user);
        }
        if !using.is_empty() {
            self.put(" USING ");
            self.accounts(using);
        }
    }

    fn show_profile(&mut self, types: &[ProfileType], query: &Option<u64>, limit: &Option<Limit>) {
        self.put("PROFILE ");
        self.list(types, ",", |printer, profile| {
            printer.put(match profile {
                ProfileType::All => "ALL",
                ProfileType::BlockIo => "BLOCK IO",
                ProfileType::ContextSwitches => "CONTEXT SWITCHES",
                ProfileType::Cpu => "CPU",
                ProfileType::Ipc => "IPC",
                ProfileType::Memory => "MEMORY",
                ProfileType::PageFaults => "PAGE FAULTS",
                ProfileType::Source => "SOURCE",
                ProfileType::Swaps => "SWAPS",
            });
        });
        if let Some(query) = query {
            self.put(" FOR QUERY ");
            self.number(query);
        }
        self.limit(limit);
    }

    fn named_object(&mut self, words: &str, name: &ObjectName) {
        self.put(words);
        self.object_name(name);
    }

    fn filtered(&mut self, words: &str, filter: &Option<ShowFilter>) {
        self.put(words);
        self.filter(filter);
    }

    fn in_schema(&mut self, words: &str, schema: &Option<Ident>, filter: &Option<ShowFilter>) {
        self.put(words);
        if let Some(schema) = schema {
            self.put(" FROM ");
            self.ident(schema);
        }
        self.filter(filter);
    }

    fn filter(&mut self, filter: &Option<ShowFilter>) {
        match filter {
            None => {}
            Some(ShowFilter::Like(pattern)) => {
                self.put(" LIKE ");
                self.string(pattern);
            }
            Some(ShowFilter::Where(condition)) => {
                self.put(" WHERE ");
                self.expr(condition);
            }
        }
    }

    fn limited(&mut self, words: &str, limit: &Option<Limit>) {
        self.put(words);
        self.limit(limit);
    }

    fn scoped(&mut self, scope: Option<VariableScope>, words: &str, filter: &Option<ShowFilter>) {
        self.scope(scope);
        self.filtered(words, filter);
    }

    fn events(&mut self, words: &str, log: &Option<Box<str>>, position: Option<u64>, limit: &Option<Limit>) {
        self.put(words);
        self.optional_string(" IN ", log);
        if let Some(position) = position {
            self.put(" FROM ");
            self.number(position);
        }
        self.limit(limit);
    }

    pub(super) fn scope(&mut self, scope: Option<VariableScope>) {
        self.put(match scope {
            None => "",
            Some(VariableScope::Global) => "GLOBAL ",
            Some(VariableScope::Session) => "SESSION ",
            Some(VariableScope::Persist) => "PERSIST ",
            Some(VariableScope::PersistOnly) => "PERSIST_ONLY ",
        });
    }
}
