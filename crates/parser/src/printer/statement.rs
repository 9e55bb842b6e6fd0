//! Prints a statement of any kind.

use super::*;

impl Printer {
    pub(super) fn statement(&mut self, statement: &Statement) {
        self.deeper(|printer| printer.statement_inner(statement));
    }

    #[expect(clippy::too_many_lines, reason = "one line for each statement")]
    fn statement_inner(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::LoadData(load) => self.load_data(load),
            Statement::Do(items) => self.do_exprs(items),
            Statement::Call(call) => self.call(call),
            Statement::Handler(handler) => self.handler(handler),

            Statement::CreateDatabase(database) => self.create_database(database),
            Statement::AlterDatabase(database) => self.alter_database(database),
            Statement::DropDatabase(database) => self.drop_database(database),
            Statement::CreateTable(table) => self.create_table(table),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::DropTable(drop) => self.drop_table(drop),
            Statement::TruncateTable(name) => self.words_and_object("TRUNCATE TABLE ", name),
            Statement::RenameTable(rename) => self.rename_table(rename),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::DropIndex(drop) => self.drop_index(drop),
            Statement::CreateView(view) => self.create_view(view),
            Statement::DropView(drop) => self.drop_view(drop),
            Statement::CreateSequence(sequence) => self.create_sequence(sequence),
            Statement::AlterSequence(sequence) => self.alter_sequence(sequence),
            Statement::DropSequence(drop) => self.drop_object("SEQUENCE ", drop),
            Statement::CreateServer(server) => self.create_server(server),
            Statement::AlterServer { name, options } => self.alter_server(name, options),
            Statement::DropServer { if_exists, name } => {
                self.drop_one("DROP SERVER ", *if_exists, |printer| printer.ident_or_string(name))
            }

            Statement::CreateHttpEndpoint { or_replace, if_not_exists, endpoint } => {
                self.create_http_endpoint(*or_replace, *if_not_exists, endpoint)
            }
            Statement::AlterHttpEndpoint(endpoint) => self.alter_http_endpoint(endpoint),
            Statement::CreateApiToken(token) => self.create_api_token(token),
            Statement::DropApiToken { if_exists, id } => {
                self.drop_one("DROP API TOKEN ", *if_exists, |printer| printer.string(id))
            }
            Statement::DropHttpEndpoint { if_exists, name } => self.drop_named("DROP HTTP ENDPOINT ", *if_exists, name),
            Statement::CreateProcedure(routine) => self.create_routine("PROCEDURE ", routine),
            Statement::CreateFunction(routine) => self.create_routine("FUNCTION ", routine),
            Statement::CreateLoadableFunction(function) => self.create_loadable_function(function),
            Statement::AlterProcedure(routine) => self.alter_routine("ALTER PROCEDURE ", routine),
            Statement::AlterFunction(routine) => self.alter_routine("ALTER FUNCTION ", routine),
            Statement::DropProcedure(drop) => self.drop_object("PROCEDURE ", drop),
            Statement::DropFunction(drop) => self.drop_object("FUNCTION ", drop),
            Statement::CreateTrigger(trigger) => self.create_trigger(trigger),
            Statement::DropTrigger(drop) => self.drop_object("TRIGGER ", drop),
            Statement::CreateEvent(event) => self.create_event(event),
            Statement::DropEvent(drop) => self.drop_object("EVENT ", drop),
            Statement::Program(program) => self.program(program),

            Statement::CreateUser(user) => self.create_user(user),
            Statement::DropUser(drop) => self.drop_user("DROP USER ", drop),
            Statement::RenameUser(renames) => self.rename_user(renames),
            Statement::CreateRole(role) => self.create_role(role),
            Statement::DropRole(drop) => self.drop_user("DROP ROLE ", drop),
            Statement::Grant(grant) => self.grant(grant),
            Statement::Revoke(revoke) => self.revoke(revoke),

            Statement::Empty => self.put("/* */"),
            Statement::Transaction(transaction) => self.transaction(transaction),
            Statement::LockTables(lock) => self.lock_tables(lock),
            Statement::UnlockTables => self.put("UNLOCK TABLES"),
            Statement::LockInstance => self.put("LOCK INSTANCE FOR BACKUP"),
            Statement::UnlockInstance => self.put("UNLOCK INSTANCE"),
            Statement::Backup(Backup::Stage(name)) => self.words_and_name("BACKUP STAGE ", name),
            Statement::Backup(Backup::Lock(table)) => self.words_and_object("BACKUP LOCK ", table),
            Statement::Backup(Backup::Unlock) => self.put("BACKUP UNLOCK"),
            Statement::Backup(Backup::Server { directory }) => {
                self.put("BACKUP SERVER TO ");
                self.string(directory);
            }

            Statement::Set(set) => self.set(set),
            Statement::Use(name) => self.words_and_name("USE ", name),
            Statement::Show(show) => self.show(show),
            Statement::Explain(explain) => self.explain(explain),
            Statement::DescribeTable(describe) => self.describe_table(describe),
            Statement::Help(topic) => self.help(topic),

            Statement::Prepare(prepare) => self.prepare(prepare),
            Statement::Execute(execute) => self.execute(execute),
            Statement::ExecuteImmediate(execute) => self.execute_immediate(execute),
            Statement::ExecuteText(execute) => self.execute_text(execute),
            Statement::Deallocate(name) => self.words_and_name("DEALLOCATE PREPARE ", name),

            Statement::Kill(kill) => self.kill(kill),
            Statement::Flush(flush) => self.flush(flush),
            Statement::Reset(reset) => self.reset(reset),
            Statement::TableMaintenance(maintenance) => self.maintenance(maintenance),
            Statement::CacheIndex { tables, cache } => self.cache_index(tables, cache),
            Statement::LoadIndex { tables } => self.load_index(tables),
            Statement::Install(install) => self.install(install),
            Statement::Uninstall(uninstall) => self.uninstall(uninstall),
            Statement::Replication(replication) => self.replication(replication),
            Statement::Shutdown => self.put("SHUTDOWN"),
            Statement::Restart => self.put("RESTART"),

            Statement::GetDiagnostics(get) => self.diagnostics(get),
            Statement::Signal(signal) => self.signal(signal),
        }
    }

    fn words_and_name(&mut self, words: &str, name: &Ident) {
        self.put(words);
        self.ident(name);
    }

    fn words_and_object(&mut self, words: &str, name: &ObjectName) {
        self.put(words);
        self.object_name(name);
    }

    fn drop_one(&mut self, words: &str, if_exists: bool, name: impl FnOnce(&mut Printer)) {
        self.put(words);
        self.put_if(if_exists, "IF EXISTS ");
        name(self);
    }

    fn do_exprs(&mut self, items: &[Expr]) {
        self.put("do ");
        self.exprs(items);
    }

    fn create_server(&mut self, server: &CreateServer) {
        self.put("CREATE SERVER ");
        self.ident_or_string(&server.name);
        self.put(" FOREIGN DATA WRAPPER ");
        self.ident_or_string(&server.wrapper);
        self.server_options(&server.options);
    }

    fn alter_server(&mut self, name: &Ident, options: &[(Ident, Box<str>)]) {
        self.put("ALTER SERVER ");
        self.ident_or_string(name);
        self.server_options(options);
    }

    fn create_http_endpoint(&mut self, or_replace: bool, if_not_exists: bool, endpoint: &HttpEndpoint) {
        self.put("CREATE ");
        self.put_if(or_replace, "OR REPLACE ");
        self.put("HTTP ENDPOINT ");
        self.put_if(if_not_exists, "IF NOT EXISTS ");
        self.http_endpoint(endpoint);
    }

    fn alter_http_endpoint(&mut self, endpoint: &HttpEndpoint) {
        self.put("ALTER HTTP ENDPOINT ");
        self.http_endpoint(endpoint);
    }

    fn rename_user(&mut self, renames: &[(AccountName, AccountName)]) {
        self.put("RENAME USER ");
        self.list(renames, ",", |printer, (old, new)| {
            printer.account_name(old);
            printer.put(" TO ");
            printer.account_name(new);
        });
    }

    fn describe_table(&mut self, describe: &DescribeTable) {
        self.put("DESCRIBE ");
        self.object_name(&describe.table);
        self.optional_string(" ", &describe.column);
    }

    fn help(&mut self, topic: &str) {
        self.put("HELP ");
        self.string(topic);
    }

    fn prepare(&mut self, prepare: &Prepare) {
        self.put("PREPARE ");
        self.ident(&prepare.name);
        self.put(" FROM ");
        self.expr(&prepare.source);
    }

    fn execute(&mut self, execute: &Execute) {
        self.put("EXECUTE ");
        self.ident(&execute.name);
        self.using(&execute.using);
    }

    fn execute_immediate(&mut self, execute: &ExecuteImmediate) {
        self.put("EXECUTE IMMEDIATE ");
        self.expr(&execute.source);
        self.using(&execute.using);
    }

    fn execute_text(&mut self, execute: &ExecuteText) {
        self.put("EXECUTE ");
        self.expr(&execute.source);
        self.using(&execute.using);
        self.put_if(execute.no_return, " WITH NO RETURN");
        self.put_if(execute.concurrent, " CONCURRENT");
        self.put_if(execute.wait, " WAIT");
    }

    fn cache_index(&mut self, tables: &[CachedTable], cache: &Ident) {
        self.put("CACHE INDEX ");
        self.list(tables, ",", Self::cached_table);
        self.put(" IN ");
        self.ident(cache);
    }

    fn load_index(&mut self, tables: &[CachedTable]) {
        self.put("LOAD INDEX INTO CACHE ");
        self.list(tables, ",", Self::cached_table);
    }
}
