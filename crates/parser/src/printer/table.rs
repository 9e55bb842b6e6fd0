//! CREATE TABLE and ALTER TABLE.

use super::*;

impl Printer {
    pub(super) fn create_table(&mut self, table: &CreateTable) {
        self.put("CREATE ");
        self.put_if(table.or_replace, "OR REPLACE ");
        self.put_if(table.temporary, "TEMPORARY ");
        self.put("TABLE ");
        self.put_if(table.if_not_exists, "IF NOT EXISTS ");
        self.object_name(&table.name);
        if let Some(like) = &table.like {
            self.put(" LIKE ");
            self.object_name(like);
            return;
        }
        if !table.columns.is_empty() || !table.constraints.is_empty() {
            self.put(" (");
            self.list(&table.columns, ", ", Self::column_definition);
            self.put_if(!table.columns.is_empty() && !table.constraints.is_empty(), ", ");
            self.list(&table.constraints, ", ", Self::constraint);
            self.put(")");
        }
        for option in &table.options {
            self.put(" ");
            self.table_option(option);
        }
        if let Some(partitioning) = &table.partitioning {
            self.put(" ");
            self.partitioning(partitioning);
        }
        self.put(match table.duplicates {
            LoadDuplicates::Default => "",
            LoadDuplicates::Ignore => " IGNORE",
            LoadDuplicates::Replace => " REPLACE",
        });
        if let Some(query) = &table.query {
            self.put(" AS ");
            self.query(query);
        }
    }

    pub(super) fn column_definition(&mut self, column: &ColumnDefinition) {
        self.ident(&column.name);
        self.put(" ");
        self.data_type(&column.data_type);
        if let Some(generated) = &column.generated {
            self.put(" GENERATED ALWAYS AS (");
            self.expr(&generated.expr);
            self.put(if generated.stored { ") STORED" } else { ") VIRTUAL" });
        }
        self.put(match column.nullable {
            None => "",
            Some(true) => " NULL",
            Some(false) => " NOT NULL",
        });
        if let Some(srid) = column.srid {
            self.put(" SRID ");
            self.number(srid);
        }
        if let Some(value) = &column.default {
            self.put(" DEFAULT ");
            self.default_value(value);
        }
        if let Some(value) = &column.on_update {
            self.put(" ON UPDATE ");
            self.expr(value);
        }
        self.put_if(column.auto_increment, " AUTO_INCREMENT");
        self.put_if(column.unique, " UNIQUE KEY");
        self.put_if(column.primary_key, " PRIMARY KEY");
        self.optional_string(" COMMENT ", &column.comment);
        self.put(match column.visible {
            None => "",
            Some(true) => " VISIBLE",
            Some(false) => " INVISIBLE",
        });
        self.put(match column.format {
            None => "",
            Some(ColumnFormat::Fixed) => " COLUMN_FORMAT FIXED",
            Some(ColumnFormat::Dynamic) => " COLUMN_FORMAT DYNAMIC",
            Some(ColumnFormat::Default) => " COLUMN_FORMAT DEFAULT",
        });
        if let Some(storage) = column.storage {
            self.put(" STORAGE ");
            self.storage(storage);
        }
        self.optional_string(" ENGINE_ATTRIBUTE ", &column.engine_attribute);
        self.optional_string(" SECONDARY_ENGINE_ATTRIBUTE ", &column.secondary_engine_attribute);
        self.put_if(column.compressed, " COMPRESSED");
        for check in &column.checks {
            self.put(" ");
            self.check(check);
        }
        if let Some(references) = &column.references {
            self.references(references);
        }
    }

    /// A value behind DEFAULT: literals and the time as they are, the rest in parentheses.
    fn default_value(&mut self, default: &DefaultValue) {
        self.put_if(default.is_expression, "(");
        self.expr(&default.value);
        self.put_if(default.is_expression, ")");
    }

    fn storage(&mut self, storage: ColumnStorage) {
        self.put(match storage {
            ColumnStorage::Disk => "DISK",
            ColumnStorage::Memory => "MEMORY",
            ColumnStorage::Default => "DEFAULT",
        });
    }

    fn constraint(&mut self, constraint: &TableConstraint) {
        match constraint {
            TableConstraint::Index(index) => self.index(index),
            TableConstraint::ForeignKey(key) => {
                self.symbol(&key.constraint);
                self.put("FOREIGN KEY ");
                self.put_if(key.if_not_exists, "IF NOT EXISTS ");
                if let Some(name) = &key.index_name {
                    self.ident(name);
                    self.put(" ");
                }
                self.idents(&key.columns);
                self.references(&key.references);
            }
            TableConstraint::Check(check) => self.check(check),
        }
    }

    fn symbol(&mut self, symbol: &Option<Ident>) {
        if let Some(symbol) = symbol {
            self.put("CONSTRAINT ");
            self.ident(symbol);
            self.put(" ");
        }
    }

    fn check(&mut self, check: &CheckConstraint) {
        self.symbol(&check.name);
        self.put("CHECK (");
        self.expr(&check.expr);
        self.put(match check.enforced {
            None => ")",
            Some(true) => ") ENFORCED",
            Some(false) => ") NOT ENFORCED",
        });
    }

    fn references(&mut self, references: &References) {
        self.put(" REFERENCES ");
        self.object_name(&references.table);
        self.optional_idents(&references.columns);
        self.put(match references.matching {
            None => "",
            Some(ReferenceMatch::Full) => " MATCH FULL",
            Some(ReferenceMatch::Partial) => " MATCH PARTIAL",
            Some(ReferenceMatch::Simple) => " MATCH SIMPLE",
        });
        self.reference_action(" ON DELETE", references.on_delete);
        self.reference_action(" ON UPDATE", references.on_update);
    }

    fn reference_action(&mut self, words: &str, action: Option<ReferenceAction>) {
        let Some(action) = action else {
            return;
        };
        self.put(words);
        self.put(match action {
            ReferenceAction::Restrict => " RESTRICT",
            ReferenceAction::Cascade => " CASCADE",
            ReferenceAction::SetNull => " SET NULL",
            ReferenceAction::NoAction => " NO ACTION",
            ReferenceAction::SetDefault => " SET DEFAULT",
        });
    }

    fn index(&mut self, index: &IndexDefinition) {
        self.symbol(&index.constraint);
        self.put(match index.kind {
            IndexKind::Primary => "PRIMARY KEY",
            IndexKind::Unique => "UNIQUE KEY",
            IndexKind::Plain => "KEY",
            IndexKind::Fulltext => "FULLTEXT KEY",
            IndexKind::Spatial => "SPATIAL KEY",
            IndexKind::Columnar => "COLUMNAR KEY",
            IndexKind::Vector => "VECTOR KEY",
        });
        self.put_if(index.if_not_exists, " IF NOT EXISTS");
        if let Some(name) = &index.name {
            self.put(" ");
            self.ident(name);
        }
        self.index_parts(index);
        self.index_options(&index.options);
    }

    pub(super) fn index_parts(&mut self, index: &IndexDefinition) {
        if !index.parts.is_empty() {
            self.key_parts(&index.parts);
        }
    }

    pub(super) fn key_parts(&mut self, parts: &[KeyPart]) {
        self.put(" ");
        self.paren_list(parts, |printer, part| {
            match &part.source {
                KeyPartSource::Column { name, length } => {
                    printer.ident(name);
                    if let Some(length) = length {
                        printer.put("(");
                        printer.number(length);
                        printer.put(")");
                    }
                }
                KeyPartSource::Expr(expr) => {
                    printer.put("(");
                    printer.expr(expr);
                    printer.put(")");
                }
            }
            printer.put_if(part.descending, " DESC");
        });
    }

    pub(super) fn index_options(&mut self, options: &IndexOptions) {
        if let Some(algorithm) = &options.algorithm {
            self.put(" USING ");
            self.ident(algorithm);
        }
        if let Some(size) = options.key_block_size {
            self.put(" KEY_BLOCK_SIZE=");
            self.number(size);
        }
        if let Some(parser) = &options.parser {
            self.put(" WITH PARSER ");
            self.ident(parser);
        }
        self.optional_string(" M=", &options.links);
        self.optional_string(" DISTANCE=", &options.distance);
        self.optional_string(" COMMENT ", &options.comment);
        self.put(match options.visible {
            None => "",
            Some(true) => " VISIBLE",
            Some(false) => " INVISIBLE",
        });
        self.optional_string(" ENGINE_ATTRIBUTE=", &options.engine_attribute);
        self.optional_string(" SECONDARY_ENGINE_ATTRIBUTE=", &options.secondary_engine_attribute);
    }

    pub(super) fn table_option(&mut self, option: &TableOption) {
        let flag = |value: &Option<bool>| match value {
            None => "DEFAULT",
            Some(true) => "1",
            Some(false) => "0",
        };
        match option {
            TableOption::Engine(name) => self.named("ENGINE=", name),
            TableOption::SecondaryEngine(None) => self.put("SECONDARY_ENGINE=NULL"),
            TableOption::SecondaryEngine(Some(name)) => self.named("SECONDARY_ENGINE=", name),
            TableOption::AutoIncrement(value) => self.counted("AUTO_INCREMENT=", *value),
            TableOption::AverageRowLength(value) => self.counted("AVG_ROW_LENGTH=", *value),
            TableOption::Charset(None) => self.put("DEFAULT CHARSET=DEFAULT"),
            TableOption::Charset(Some(name)) => self.named("DEFAULT CHARSET=", name),
            TableOption::Collate(name) => self.named("COLLATE=", name),
            TableOption::Checksum(value) => self.counted("CHECKSUM=", u64::from(*value)),
            TableOption::Comment(text) => self.quoted("COMMENT=", text),
            TableOption::Compression(text) => self.quoted("COMPRESSION=", text),
            TableOption::Connection(text) => self.quoted("CONNECTION=", text),
            TableOption::DataDirectory(text) => self.quoted("DATA DIRECTORY=", text),
            TableOption::IndexDirectory(text) => self.quoted("INDEX DIRECTORY=", text),
            TableOption::DelayKeyWrite(value) => self.counted("DELAY_KEY_WRITE=", u64::from(*value)),
            TableOption::Encryption(text) => self.quoted("ENCRYPTION=", text),
            TableOption::InsertMethod(name) => self.worded("INSERT_METHOD=", name),
            TableOption::KeyBlockSize(value) => self.counted("KEY_BLOCK_SIZE=", *value),
            TableOption::MaxRows(value) => self.counted("MAX_ROWS=", *value),
            TableOption::MinRows(value) => self.counted("MIN_ROWS=", *value),
            TableOption::PackKeys(value) => {
                self.put("PACK_KEYS=");
                self.put(flag(value));
            }
            TableOption::Password(text) => self.quoted("PASSWORD=", text),
            TableOption::RowFormat(name) => self.worded("ROW_FORMAT=", name),
            TableOption::StartTransaction => self.put("START TRANSACTION"),
            TableOption::StatsAutoRecalc(value) => {
                self.put("STATS_AUTO_RECALC=");
                self.put(flag(value));
            }
            TableOption::StatsPersistent(value) => {
                self.put("STATS_PERSISTENT=");
                self.put(flag(value));
            }
            TableOption::StatsSamplePages(None) => self.put("STATS_SAMPLE_PAGES=DEFAULT"),
            TableOption::StatsSamplePages(Some(value)) => self.counted("STATS_SAMPLE_PAGES=", *value),
            TableOption::Tablespace(name) => self.named("TABLESPACE=", name),
            TableOption::Storage(storage) => {
                self.put("STORAGE ");
                self.storage(*storage);
            }
            TableOption::Union(tables) => {
                self.put("UNION=");
                self.paren_list(tables, Self::object_name);
            }
            TableOption::EngineAttribute(text) => self.quoted("ENGINE_ATTRIBUTE=", text),
            TableOption::SecondaryEngineAttribute(text) => self.quoted("SECONDARY_ENGINE_ATTRIBUTE=", text),
            TableOption::AutoextendSize(value) => self.counted("AUTOEXTEND_SIZE=", *value),
            TableOption::Other { name, value } if name.is("NODEGROUP") => self.option_value("NODEGROUP ", value),
            TableOption::Other { name, value } => {
                self.ident(name);
                self.option_value("=", value);
            }
        }
    }

    fn option_value(&mut self, before: &str, value: &str) {
        self.put(before);
        if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
            self.put(value);
        } else {
            self.string(value);
        }
    }

    fn named(&mut self, before: &str, name: &str) {
        self.put(before);
        self.name_or_string(name);
    }

    /// A value that is a word and no name.
    fn worded(&mut self, before: &str, name: &Ident) {
        self.put(before);
        self.ident(name);
    }

    fn counted(&mut self, before: &str, value: u64) {
        self.put(before);
        self.number(value);
    }

    fn quoted(&mut self, before: &str, text: &str) {
        self.put(before);
        self.string(text);
    }

    pub(super) fn partitioning(&mut self, partitioning: &Partitioning) {
        self.put("PARTITION BY ");
        self.partition_scheme(&partitioning.scheme);
        if let Some(count) = partitioning.count {
            self.counted(" PARTITIONS ", count);
        }
        if let Some(subpartition) = &partitioning.subpartition {
            self.put(" SUBPARTITION BY ");
            self.partition_scheme(&subpartition.scheme);
            if let Some(count) = subpartition.count {
                self.counted(" SUBPARTITIONS ", count);
            }
        }
        if !partitioning.partitions.is_empty() {
            self.put(" ");
            self.paren_list(&partitioning.partitions, Self::partition);
        }
    }

    fn partition_scheme(&mut self, scheme: &PartitionScheme) {
        match scheme {
            PartitionScheme::Hash { linear, expr } => {
                self.put_if(*linear, "LINEAR ");
                self.put("HASH (");
                self.expr(expr);
                self.put(")");
            }
            PartitionScheme::Key { linear, algorithm, columns } => {
                self.put_if(*linear, "LINEAR ");
                self.put("KEY ");
                if let Some(algorithm) = algorithm {
                    self.counted("ALGORITHM = ", u64::from(*algorithm));
                    self.put(" ");
                }
                self.idents(columns);
            }
            PartitionScheme::Range(expr) => {
                self.put("RANGE (");
                self.expr(expr);
                self.put(")");
            }
            PartitionScheme::RangeColumns(columns) => {
                self.put("RANGE COLUMNS");
                self.idents(columns);
            }
            PartitionScheme::List(expr) => {
                self.put("LIST (");
                self.expr(expr);
                self.put(")");
            }
            PartitionScheme::ListColumns(columns) => {
                self.put("LIST COLUMNS");
                self.idents(columns);
            }
        }
    }

    fn partition(&mut self, partition: &PartitionDefinition) {
        self.put("PARTITION ");
        self.ident(&partition.name);
        match &partition.values {
            PartitionValues::None => {}
            PartitionValues::LessThan(bounds) => {
                self.put(" VALUES LESS THAN ");
                self.paren_list(bounds, Self::partition_bound);
            }
            PartitionValues::In(rows) => {
                self.put(" VALUES IN ");
                self.paren_list(rows, |printer, row| match &row[..] {
                    [bound] => printer.partition_bound(bound),
                    bounds => printer.paren_list(bounds, Self::partition_bound),
                });
            }
            PartitionValues::Default => self.put(" DEFAULT"),
        }
        for option in &partition.options {
            self.put(" ");
            self.table_option(option);
        }
        if !partition.subpartitions.is_empty() {
            self.put(" ");
            self.paren_list(&partition.subpartitions, |printer, subpartition| {
                printer.put("SUBPARTITION ");
                printer.ident_or_string(&subpartition.name);
                for option in &subpartition.options {
                    printer.put(" ");
                    printer.table_option(option);
                }
            });
        }
    }

    fn partition_bound(&mut self, bound: &PartitionBound) {
        match bound {
            PartitionBound::Expr(expr) => self.expr(expr),
            PartitionBound::MaxValue => self.put("MAXVALUE"),
        }
    }

    pub(super) fn alter_table(&mut self, alter: &AlterTable) {
        self.put("ALTER ");
        self.put_if(alter.online, "ONLINE ");
        self.put_if(alter.ignore, "IGNORE ");
        self.put("TABLE ");
        self.put_if(alter.if_exists, "IF EXISTS ");
        self.object_name(&alter.name);
        let mut between = " ";
        if let Some(algorithm) = &alter.algorithm {
            self.put(between);
            self.worded("ALGORITHM=", algorithm);
            between = ", ";
        }
        if let Some(lock) = &alter.lock {
            self.put(between);
            self.worded("LOCK=", lock);
            between = ", ";
        }
        if let Some(validation) = alter.validation {
            self.put(between);
            self.put(if validation { "WITH VALIDATION" } else { "WITHOUT VALIDATION" });
            between = ", ";
        }
        for action in &alter.actions {
            // Partitioning follows without a comma.
            let bare = matches!(action, AlterAction::PartitionBy(_) | AlterAction::RemovePartitioning);
            self.put(if bare { " " } else { between });
            self.alter_action(action);
            between = ", ";
        }
    }

    fn alter_action(&mut self, action: &AlterAction) {
        match action {
            AlterAction::AddColumn { if_not_exists, column, position } => {
                self.put("ADD COLUMN ");
                self.put_if(*if_not_exists, "IF NOT EXISTS ");
                self.column_definition(column);
                self.position(position);
            }
            AlterAction::AddConstraint(constraint) => {
                self.put("ADD ");
                self.constraint(constraint);
            }
            AlterAction::ChangeColumn { if_exists, old, column, position } => {
                self.change_column(*if_exists, old, column, position)
            }
            AlterAction::ModifyColumn { if_exists, column, position } => {
                self.modify_column(*if_exists, column, position)
            }
            AlterAction::DropColumn { if_exists, name, behavior } => {
                self.drop_named("DROP COLUMN ", *if_exists, name);
                self.behavior(*behavior);
            }
            AlterAction::DropPrimaryKey => self.put("DROP PRIMARY KEY"),
            AlterAction::DropIndex { if_exists, name } => self.drop_named("DROP KEY ", *if_exists, name),
            AlterAction::DropForeignKey { if_exists, name } => self.drop_named("DROP FOREIGN KEY ", *if_exists, name),
            AlterAction::DropCheck { name } => self.drop_named("DROP CHECK ", false, name),
            AlterAction::DropConstraint { if_exists, name } => self.drop_named("DROP CONSTRAINT ", *if_exists, name),
            AlterAction::SetDefault { column, value } => {
                self.worded("ALTER COLUMN ", column);
                self.put(" SET DEFAULT ");
                self.default_value(value);
            }
            AlterAction::DropDefault { column } => self.altered("ALTER COLUMN ", column, " DROP DEFAULT"),
            AlterAction::SetColumnVisible { column, visible } => {
                self.altered("ALTER COLUMN ", column, if *visible { " SET VISIBLE" } else { " SET INVISIBLE" });
            }
            AlterAction::SetIndexVisible { index, visible } => {
                self.altered("ALTER INDEX ", index, if *visible { " VISIBLE" } else { " INVISIBLE" });
            }
            AlterAction::SetCheckEnforced { name, enforced } => {
                self.altered("ALTER CHECK ", name, if *enforced { " ENFORCED" } else { " NOT ENFORCED" });
            }
            AlterAction::SetConstraintEnforced { name, enforced } => {
                self.altered("ALTER CONSTRAINT ", name, if *enforced { " ENFORCED" } else { " NOT ENFORCED" });
            }
            AlterAction::RenameTable(name) => self.rename_to(name),
            AlterAction::RenameColumn { old, new } => self.renamed("RENAME COLUMN ", old, new),
            AlterAction::RenameIndex { old, new } => self.renamed("RENAME INDEX ", old, new),
            AlterAction::ConvertCharset { charset, collation } => self.convert_charset(charset, collation),
            AlterAction::Options(options) => self.list(options, " ", Self::table_option),
            AlterAction::OrderBy(items) => {
                self.order_by(items);
            }
            AlterAction::EnableKeys => self.put("ENABLE KEYS"),
            AlterAction::DisableKeys => self.put("DISABLE KEYS"),
            AlterAction::Force => self.put("FORCE"),
            AlterAction::DiscardTablespace => self.put("DISCARD TABLESPACE"),
            AlterAction::ImportTablespace => self.put("IMPORT TABLESPACE"),
            AlterAction::PartitionBy(partitioning) => self.partitioning(partitioning),
            AlterAction::RemovePartitioning => self.put("REMOVE PARTITIONING"),
            AlterAction::AddPartition { definitions, count } => self.add_partition(definitions, *count),
            AlterAction::DropPartition { if_exists, names } => {
                self.put("DROP PARTITION ");
                self.put_if(*if_exists, "IF EXISTS ");
                self.list(names, ",", Self::ident);
            }
            AlterAction::ReorganizePartition { names, definitions } => self.reorganize_partition(names, definitions),
            AlterAction::CoalescePartition(count) => self.counted("COALESCE PARTITION ", *count),
            AlterAction::ExchangePartition { partition, table } => self.exchange_partition(partition, table),
            AlterAction::TruncatePartition(names) => self.partition_names("TRUNCATE PARTITION ", names),
            AlterAction::AnalyzePartition(names) => self.partition_names("ANALYZE PARTITION ", names),
            AlterAction::CheckPartition(names) => self.partition_names("CHECK PARTITION ", names),
            AlterAction::OptimizePartition(names) => self.partition_names("OPTIMIZE PARTITION ", names),
            AlterAction::RebuildPartition(names) => self.partition_names("REBUILD PARTITION ", names),
            AlterAction::RepairPartition(names) => self.partition_names("REPAIR PARTITION ", names),
            AlterAction::DiscardPartitionTablespace(names) => self.tablespaces("DISCARD PARTITION ", names),
            AlterAction::ImportPartitionTablespace(names) => self.tablespaces("IMPORT PARTITION ", names),
            AlterAction::SecondaryLoad => self.put("SECONDARY_LOAD"),
            AlterAction::SecondaryUnload => self.put("SECONDARY_UNLOAD"),
        }
    }

    fn change_column(
        &mut self,
        if_exists: bool,
        old: &Ident,
        column: &ColumnDefinition,
        position: &Option<ColumnPosition>,
    ) {
        self.put("CHANGE COLUMN ");
        self.put_if(if_exists, "IF EXISTS ");
        self.ident(old);
        self.put(" ");
        self.column_definition(column);
        self.position(position);
    }

    fn convert_charset(&mut self, charset: &Option<Box<str>>, collation: &Option<Box<str>>) {
        self.put("CONVERT TO CHARACTER SET ");
        match charset {
            Some(charset) => self.name_or_string(charset),
            None => self.put("DEFAULT"),
        }
        if let Some(collation) = collation {
            self.named(" COLLATE ", collation);
        }
    }

    fn add_partition(&mut self, definitions: &[PartitionDefinition], count: Option<u64>) {
        self.put("ADD PARTITION ");
        match count {
            Some(count) => self.counted("PARTITIONS ", count),
            None => self.paren_list(definitions, Self::partition),
        }
    }

    fn reorganize_partition(&mut self, names: &[Ident], definitions: &[PartitionDefinition]) {
        self.put("REORGANIZE PARTITION");
        self.put_if(!names.is_empty(), " ");
        self.list(names, ",", Self::ident);
        if !definitions.is_empty() {
            self.put(" INTO ");
            self.paren_list(definitions, Self::partition);
        }
    }

    fn rename_to(&mut self, name: &ObjectName) {
        self.put("RENAME TO ");
        self.object_name(name);
    }

    fn exchange_partition(&mut self, partition: &Ident, table: &ObjectName) {
        self.worded("EXCHANGE PARTITION ", partition);
        self.put(" WITH TABLE ");
        self.object_name(table);
    }

    fn modify_column(&mut self, if_exists: bool, column: &ColumnDefinition, position: &Option<ColumnPosition>) {
        self.put("MODIFY COLUMN ");
        self.put_if(if_exists, "IF EXISTS ");
        self.column_definition(column);
        self.position(position);
    }

    fn altered(&mut self, words: &str, name: &Ident, change: &str) {
        self.worded(words, name);
        self.put(change);
    }

    fn renamed(&mut self, words: &str, old: &Ident, new: &Ident) {
        self.worded(words, old);
        self.worded(" TO ", new);
    }

    fn tablespaces(&mut self, words: &str, partitions: &PartitionNames) {
        self.partition_names(words, partitions);
        self.put(" TABLESPACE");
    }

    fn position(&mut self, position: &Option<ColumnPosition>) {
        match position {
            None => {}
            Some(ColumnPosition::First) => self.put(" FIRST"),
            Some(ColumnPosition::After(column)) => self.worded(" AFTER ", column),
        }
    }

    pub(super) fn drop_named(&mut self, words: &str, if_exists: bool, name: &Ident) {
        self.put(words);
        self.put_if(if_exists, "IF EXISTS ");
        self.ident(name);
    }

    pub(super) fn behavior(&mut self, behavior: Option<DropBehavior>) {
        self.put(match behavior {
            None => "",
            Some(DropBehavior::Restrict) => " RESTRICT",
            Some(DropBehavior::Cascade) => " CASCADE",
        });
    }

    fn partition_names(&mut self, words: &str, names: &PartitionNames) {
        self.put(words);
        match names {
            PartitionNames::All => self.put("ALL"),
            PartitionNames::Names(names) => self.list(names, ",", Self::ident),
        }
    }
}
