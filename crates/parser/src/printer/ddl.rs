//! Definitions other than those of tables.

use super::*;

impl Printer {
    pub(super) fn create_database(&mut self, database: &CreateDatabase) {
        self.put("CREATE ");
        self.put_if(database.or_replace, "OR REPLACE ");
        self.put("DATABASE ");
        self.put_if(database.if_not_exists, "IF NOT EXISTS ");
        self.ident(&database.name);
        self.database_options(&database.options);
    }

    pub(super) fn alter_database(&mut self, database: &AlterDatabase) {
        self.put("ALTER DATABASE");
        if let Some(name) = &database.name {
            self.put(" ");
            self.ident(name);
        }
        self.database_options(&database.options);
    }

    fn database_options(&mut self, options: &[DatabaseOption]) {
        for option in options {
            match option {
                DatabaseOption::Charset(None) => self.put(" DEFAULT CHARACTER SET DEFAULT"),
                DatabaseOption::Charset(Some(charset)) => {
                    self.put(" DEFAULT CHARACTER SET ");
                    self.name_or_string(charset);
                }
                DatabaseOption::Collate(collation) => {
                    self.put(" DEFAULT COLLATE ");
                    self.name_or_string(collation);
                }
                DatabaseOption::Encryption(on) => {
                    self.put(if *on { " DEFAULT ENCRYPTION='Y'" } else { " DEFAULT ENCRYPTION='N'" });
                }
                DatabaseOption::ReadOnly(value) => self.put(match value {
                    None => " READ ONLY = DEFAULT",
                    Some(true) => " READ ONLY = 1",
                    Some(false) => " READ ONLY = 0",
                }),
                DatabaseOption::Comment(text) => {
                    self.put(" COMMENT ");
                    self.string(text);
                }
            }
        }
    }

    pub(super) fn drop_database(&mut self, database: &DropDatabase) {
        self.put("DROP DATABASE ");
        self.put_if(database.if_exists, "IF EXISTS ");
        self.ident(&database.name);
    }

    pub(super) fn drop_table(&mut self, drop: &DropTable) {
        self.put("DROP ");
        self.put_if(drop.temporary, "TEMPORARY ");
        self.put("TABLE ");
        self.put_if(drop.if_exists, "IF EXISTS ");
        self.list(&drop.names, ",", Self::object_name);
        self.behavior(drop.behavior);
    }

    pub(super) fn drop_view(&mut self, drop: &DropView) {
        self.put("DROP VIEW ");
        self.put_if(drop.if_exists, "IF EXISTS ");
        self.list(&drop.names, ",", Self::object_name);
        self.behavior(drop.behavior);
    }

    pub(super) fn drop_object(&mut self, kind: &str, drop: &DropObject) {
        self.put("DROP ");
        self.put_if(drop.temporary, "TEMPORARY ");
        self.put(kind);
        self.put_if(drop.if_exists, "IF EXISTS ");
        self.list(&drop.names, ",", Self::object_name);
    }

    pub(super) fn rename_table(&mut self, rename: &RenameTable) {
        self.put("RENAME TABLE ");
        self.put_if(rename.if_exists, "IF EXISTS ");
        self.list(&rename.renames, ",", |printer, (old, new)| {
            printer.object_name(old);
            printer.put(" TO ");
            printer.object_name(new);
        });
    }

    pub(super) fn create_index(&mut self, create: &CreateIndex) {
        self.put("CREATE ");
        self.put_if(create.or_replace, "OR REPLACE ");
        self.put(match create.index.kind {
            IndexKind::Unique => "UNIQUE ",
            IndexKind::Fulltext => "FULLTEXT ",
            IndexKind::Spatial => "SPATIAL ",
            IndexKind::Columnar => "COLUMN ",
            IndexKind::Vector => "VECTOR ",
            IndexKind::Plain | IndexKind::Primary => "",
        });
        self.put("INDEX ");
        self.put_if(create.index.if_not_exists, "IF NOT EXISTS ");
        if let Some(name) = &create.index.name {
            self.ident(name);
        }
        self.put(" ON ");
        self.object_name(&create.table);
        self.index_parts(&create.index);
        self.index_options(&create.index.options);
        self.algorithm_and_lock(&create.algorithm, &create.lock);
    }

    fn algorithm_and_lock(&mut self, algorithm: &Option<Ident>, lock: &Option<Ident>) {
        if let Some(algorithm) = algorithm {
            self.put(" ALGORITHM=");
            self.ident(algorithm);
        }
        if let Some(lock) = lock {
            self.put(" LOCK=");
            self.ident(lock);
        }
    }

    pub(super) fn drop_index(&mut self, drop: &DropIndex) {
        self.put("DROP INDEX ");
        self.put_if(drop.if_exists, "IF EXISTS ");
        self.ident(&drop.name);
        self.put(" ON ");
        self.object_name(&drop.table);
        self.algorithm_and_lock(&drop.algorithm, &drop.lock);
    }

    pub(super) fn create_view(&mut self, view: &CreateView) {
        self.put(if view.alter { "ALTER " } else { "CREATE " });
        self.put_if(view.or_replace, "OR REPLACE ");
        self.put(match view.algorithm {
            None => "",
            Some(ViewAlgorithm::Undefined) => "ALGORITHM=UNDEFINED ",
            Some(ViewAlgorithm::Merge) => "ALGORITHM=MERGE ",
            Some(ViewAlgorithm::TempTable) => "ALGORITHM=TEMPTABLE ",
        });
        self.definer(&view.definer);
        if let Some(security) = view.security {
            self.security(security);
            self.put(" ");
        }
        self.put("VIEW ");
        self.put_if(view.if_not_exists, "IF NOT EXISTS ");
        self.object_name(&view.name);
        self.optional_idents(&view.columns);
        self.put(" AS ");
        self.query(&view.query);
        self.put(match view.check_option {
            None => "",
            Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
            Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
        });
    }

    pub(super) fn definer(&mut self, definer: &Option<AccountName>) {
        if let Some(definer) = definer {
            self.put("DEFINER=");
            self.account_name(definer);
            self.put(" ");
        }
    }

    pub(super) fn security(&mut self, security: Security) {
        self.put(match security {
            Security::Definer => "SQL SECURITY DEFINER",
            Security::Invoker => "SQL SECURITY INVOKER",
        });
    }

    pub(super) fn create_sequence(&mut self, sequence: &CreateSequence) {
        self.put("CREATE ");
        self.put_if(sequence.or_replace, "OR REPLACE ");
        self.put_if(sequence.temporary, "TEMPORARY ");
        self.put("SEQUENCE ");
        self.put_if(sequence.if_not_exists, "IF NOT EXISTS ");
        self.object_name(&sequence.name);
        self.sequence_options(&sequence.options);
        for option in &sequence.table_options {
            self.put(" ");
            self.table_option(option);
        }
    }

    pub(super) fn alter_sequence(&mut self, sequence: &AlterSequence) {
        self.put("ALTER SEQUENCE ");
        self.put_if(sequence.if_exists, "IF EXISTS ");
        self.object_name(&sequence.name);
        self.sequence_options(&sequence.options);
    }

    fn sequence_options(&mut self, options: &[SequenceOption]) {
        for option in options {
            let (words, number) = match option {
                SequenceOption::Increment(number) => (" INCREMENT BY ", Some(number)),
                SequenceOption::MinValue(Some(number)) => (" MINVALUE ", Some(number)),
                SequenceOption::MinValue(None) => (" NO MINVALUE", None),
                SequenceOption::MaxValue(Some(number)) => (" MAXVALUE ", Some(number)),
                SequenceOption::MaxValue(None) => (" NO MAXVALUE", None),
                SequenceOption::Start(number) => (" START WITH ", Some(number)),
                SequenceOption::Cache(Some(number)) => (" CACHE ", Some(number)),
                SequenceOption::Cache(None) => (" NO CACHE", None),
                SequenceOption::Cycle(true) => (" CYCLE", None),
                SequenceOption::Cycle(false) => (" NO CYCLE", None),
                SequenceOption::Restart(Some(number)) => (" RESTART WITH ", Some(number)),
                SequenceOption::Restart(None) => (" RESTART", None),
            };
            self.put(words);
            if let Some(number) = number {
                self.number(number);
            }
        }
    }

    pub(super) fn server_options(&mut self, options: &[(Ident, Box<str>)]) {
        self.put(" OPTIONS ");
        self.paren_list(options, |printer, (name, value)| {
            // One of a few words, of which PORT has a number.
            printer.put(name);
            printer.put(" ");
            match name.is("PORT") {
                true => printer.put(value),
                false => printer.string(value),
            }
        });
    }

    pub(super) fn create_loadable_function(&mut self, function: &CreateLoadableFunction) {
        self.put("CREATE ");
        self.put_if(function.or_replace, "OR REPLACE ");
        self.put_if(function.aggregate, "AGGREGATE ");
        self.put("FUNCTION ");
        self.put_if(function.if_not_exists, "IF NOT EXISTS ");
        self.ident(&function.name);
        self.put(" RETURNS ");
        self.ident(&function.returns);
        self.put(" SONAME ");
        self.string(&function.library);
    }
}
