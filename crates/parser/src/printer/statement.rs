//! Prints a statement of any kind.

use super::*;

impl Printer {
    pub(super) fn statement(&mut self, statement: &Statement) {
        self.deeper(|printer| printer.statement_inner(statement));
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each statement")]
    fn statement_inner(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::LoadData(load) => self.load_data(load),
            Statement::Do(items) => {
                self.put("do ");
                self.exprs(items);
            }
            Statement::Call(call) => self.call(call),
            Statement::Handler(handler) => self.handler(handler),

            Statement::CreateDatabase(database) => self.create_database(database),
            Statement::AlterDatabase(database) => self.alter_database(database),
            Statement::DropDatabase(database) => self.drop_database(database),
            Statement::CreateTable(table) => self.create_table(table),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::DropTable(drop) => self.drop_table(drop),
            Statement::TruncateTable(name) => {
                self.put("TRUNCATE TABLE ");
                self.object_name(name);
            }
            Statement::RenameTable(rename) => self.rename_table(rename),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::DropIndex(drop) => self.drop_index(drop),
            Statement::CreateView(view) => self.create_view(view),
            Statement::DropView(drop) => self.drop_view(drop),
            Statement::CreateSequence(sequence) => self.create_sequence(sequence),
            Statement::AlterSequence(sequence) => self.alter_sequence(sequence),
            Statement::DropSequence(drop) => self.drop_object("SEQUENCE ", drop),
            Statement::CreateServer(server) => {
                self.put("CREATE SERVER ");
                self.ident_or_string(&server.name);
                self.put(" FOREIGN DATA WRAPPER ");
                self.ident_or_string(&server.wrapper);
                self.server_options(&server.options);
            }
            Statement::AlterServer { name, options } => {
                self.put("ALTER SERVER ");
                self.ident_or_string(name);
                self.server_options(options);
            }
            Statement::DropServer { if_exists, name } => {
                self.put("DROP SERVER ");
                self.put_if(*if_exists, "IF EXISTS ");
                self.ident_or_string(name);
            }

            Statement::CreateHttpEndpoint { or_replace, if_not_exists, endpoint } => {
                self.put("CREATE ");
                self.put_if(*or_replace, "OR REPLACE ");
                self.put("HTTP ENDPOINT ");
                self.put_if(*if_not_exists, "IF NOT EXISTS ");
                self.http_endpoint(endpoint);
            }
            Statement::AlterHttpEndpoint(endpoint) => {
                self.put("ALTER HTTP ENDPOINT ");
                self.http_endpoint(endpoint);
            }
            Statement::CreateApiToken(token) => self.create_api_token(token),
            Statement::DropApiToken { if_exists, id } => {
                self.put("DROP API TOKEN ");
                self.put_if(*if_exists, "IF EXISTS ");
                self.string(id);
            }
            Statement::DropHttpEndpoint { if_exists, name } => {
                self.put("DROP HTTP ENDPOINT ");
                self.put_if(*if_exists, "IF EXISTS ");
                self.ident(name);
            }
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
            Statement::RenameUser(renames) => {
                self.put("RENAME USER ");
                self.list(renames, ",", |printer, (old, new)| {
                    printer.account_name(old);
                    printer.put(" TO ");
                    printer.account_name(new);
                });
            }
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
            Statement::Backup(Backup::Stage(name)) => {
                self.put("BACKUP STAGE ");
                self.ident(name);
            }
            Statement::Backup(Backup::Lock(table)) => {
                self.put("BACKUP LOCK ");
                self.object_name(table);
            }
            Statement::Backup(Backup::Unlock) => self.put("BACKUP UNLOCK"),

            Statement::Set(set) => self.set(set),
            Statement::Use(name) => {
                self.put("USE ");
                self.ident(name);
            }
            Statement::Show(show) => self.show(show),
            Statement::Explain(explain) => self.explain(explain),
            Statement::DescribeTable(describe) => {
                self.put("DESCRIBE ");
                self.object_name(&describe.table);
                self.optional_string(" ", &describe.column);
            }
            Statement::Help(topic) => {
                self.put("HELP ");
                self.string(topic);
            }

            Statement::Prepare(prepare) => {
                self.put("PREPARE ");
                self.ident(&prepare.name);
                self.put(" FROM ");
                self.expr(&prepare.source);
            }
            Statement::Execute(execute) => {
                self.put("EXECUTE ");
                self.ident(&execute.name);
                self.using(&execute.using);
            }
            Statement::ExecuteImmediate(execute) => {
                self.put("EXECUTE IMMEDIATE ");
                self.expr(&execute.source);
                self.using(&execute.using);
            }
            Statement::ExecuteText(execute) => {
                self.put("EXECUTE ");
                self.expr(&execute.source);
                self.using(&execute.using);
                self.put_if(execute.no_return, " WITH NO RETURN");
                self.put_if(execute.concurrent, " CONCURRENT");
                self.put_if(execute.wait, " WAIT");
            }
            Statement::Deallocate(name) => {
                self.put("DEALLOCATE PREPARE ");
                self.ident(name);
            }

            Statement::Kill(kill) => self.kill(kill),
            Statement::Flush(flush) => self.flush(flush),
            Statement::Reset(reset) => self.reset(reset),
            Statement::TableMaintenance(maintenance) => self.maintenance(maintenance),
            Statement::CacheIndex { tables, cache } => {
                self.put("CACHE INDEX ");
                self.list(tables, ",", Self::cached_table);
                self.put(" IN ");
                self.ident(cache);
            }
            Statement::LoadIndex { tables } => {
                self.put("LOAD INDEX INTO CACHE ");
                self.list(tables, ",", Self::cached_table);
            }
            Statement::Install(install) => self.install(install),
            Statement::Uninstall(uninstall) => self.uninstall(uninstall),
            Statement::Replication(replication) => self.replication(replication),
            Statement::Shutdown => self.put("SHUTDOWN"),
            Statement::Restart => self.put("RESTART"),

            Statement::GetDiagnostics(get) => self.diagnostics(get),
            Statement::Signal(signal) => self.signal(signal),
        }
    }
}
