//! Definitions of tables: columns, keys, constraints and options.

use crate::ids::{ColumnId, IndexId, TableId};
use crate::name::eq_ignore_case;
use crate::partition::Partitioning;
use crate::trigger::{TriggerDef, TriggerEvent, TriggerTime};
use squall_types::vector::Metric;
use squall_types::{CollationId, SqlType, Value};
use std::borrow::Cow;

/// A base table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    /// Its id for life.
    pub id: TableId,
    /// Its name as given.
    pub name: String,
    /// Counts every change of the definition; plans and open cursors check it.
    pub version: u64,
    /// Columns in the order of `SELECT *` (invisible ones included), then the hidden ones of functional key parts.
    pub columns: Vec<ColumnDef>,
    /// Keys, primary first if there is one, then in the order of their creation.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints.
    pub checks: Vec<ConstraintCheck>,
    /// FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKey>,
    /// Triggers. Those of one time and event run in this order.
    pub triggers: Vec<TriggerDef>,
    /// PARTITION BY.
    pub partitioning: Option<Box<Partitioning>>,
    /// Default collation of its string columns.
    pub collation: CollationId,
    /// COMMENT.
    pub comment: String,
    /// The engine that keeps its rows.
    pub engine: EngineName,
    /// First AUTO_INCREMENT value asked for at creation or by ALTER; the counter itself is the store's.
    pub auto_increment_start: u64,
    /// Other table options as they are shown again: `(name, value)`, for example `("ROW_FORMAT", "DYNAMIC")`.
    pub options: Vec<(String, String)>,
    /// The next free [`ColumnId`].
    pub next_column_id: u32,
    /// The next free [`IndexId`].
    pub next_index_id: u32,
    /// Creation time, microseconds since 1970 UTC.
    pub created_micros: i64,
    /// Whether the table is a session's TEMPORARY table.
    pub temporary: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Its id within the table, for life.
    pub id: ColumnId,
    /// Its name as given.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// The value that INSERT stores when none is given.
    pub default: ColumnDefault,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// Generated columns: the expression's SQL text and whether it is stored.
    pub generated: Option<GeneratedKind>,
    /// INVISIBLE.
    pub invisible: bool,
    /// COMMENT.
    pub comment: String,
    /// For a column added to a table that had rows: the value older rows have. Rows written before the column was
    /// added do not hold it; the row codec answers this instead.
    pub value_for_older_rows: Value,
}

/// DEFAULT of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// No DEFAULT clause: NULL for nullable columns, otherwise an error in strict mode and the type's zero value else.
    None,
    /// A constant, already converted to the column's type (NULL included).
    Literal(Value),
    /// CURRENT_TIMESTAMP(fsp).
    Now,
    /// An expression's SQL text.
    Expression(String),
}

/// A generated column's expression.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedKind {
    /// SQL text of the expression.
    pub expression: String,
    /// STORED; otherwise VIRTUAL.
    pub stored: bool,
    /// For a hidden column: its use in its functional key part.
    pub key_part: Option<FunctionalPart>,
}

/// The content of a hidden column of a functional key part.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionalPart {
    /// The expression's value, which is the key's. The collation is that of the connection that made the key, which
    /// literals and casts in the expression have.
    Value(CollationId),
    /// A document; the key files the row under each of its elements as values of this type
    /// (`CAST(document AS type ARRAY)`).
    Elements(SqlType),
    /// A document of the numbers of cells, which a spatial key of this geometry column files the row under.
    Cells(ColumnId),
}

/// A key.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// Its id within the table.
    pub id: IndexId,
    /// Its name; `PRIMARY` for the primary key.
    pub name: String,
    /// The parts in order.
    pub parts: Vec<IndexPart>,
    /// UNIQUE or PRIMARY.
    pub unique: bool,
    /// PRIMARY KEY.
    pub primary: bool,
    /// INVISIBLE: kept up to date, not used by the planner.
    pub invisible: bool,
    /// COMMENT.
    pub comment: String,
    /// Its structure.
    pub index_type: IndexType,
    /// Made with a foreign key, which needs it: it goes when a key comes that begins with its columns.
    pub generated: bool,
}

/// One part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    /// The column.
    pub column: ColumnId,
    /// Prefix length in characters (bytes for binary strings).
    pub prefix: Option<u32>,
    /// DESC.
    pub descending: bool,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintCheck {
    /// Its name.
    pub name: String,
    /// SQL text of the condition.
    pub expression: String,
    /// ENFORCED.
    pub enforced: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Its name.
    pub name: String,
    /// Referencing columns of this table.
    pub columns: Vec<ColumnId>,
    /// Referenced database.
    pub parent_database: String,
    /// Referenced table.
    pub parent_table: String,
    /// Referenced columns.
    pub parent_columns: ReferencedColumns,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

/// The columns that a foreign key refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum ReferencedColumns {
    /// Ids of columns of an existing table, which stay when columns are renamed.
    Ids(Vec<ColumnId>),
    /// The table is not there, or not yet (`foreign_key_checks = 0`): the names that its columns are to have.
    Names(Vec<String>),
}

impl ReferencedColumns {
    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            ReferencedColumns::Ids(ids) => ids.len(),
            ReferencedColumns::Names(names) => names.len(),
        }
    }

    /// Ordinals of the columns in the table that is referred to; `None` if it lacks one.
    pub fn ordinals(&self, parent: &TableDef) -> Option<Vec<usize>> {
        match self {
            ReferencedColumns::Ids(ids) => ids.iter().map(|id| parent.ordinal(*id)).collect(),
            ReferencedColumns::Names(names) => {
                names.iter().map(|name| parent.column(name).map(|(ordinal, _)| ordinal)).collect()
            }
        }
    }

    /// The names of the columns in the referenced table, or their expected names if there is none.
    pub fn names<'a>(&'a self, parent: Option<&'a TableDef>) -> Vec<&'a str> {
        match self {
            ReferencedColumns::Ids(ids) => {
                let column = |id: &ColumnId| parent.and_then(|parent| Some(&parent.columns[parent.ordinal(*id)?]));
                ids.iter().filter_map(column).map(|column| column.name.as_str()).collect()
            }
            ReferencedColumns::Names(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

impl ForeignKey {
    /// Whether it refers to the table of that name.
    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        self.parent_database == database && self.parent_table == table
    }

    /// Ordinals of its own columns in the table that it is of.
    pub fn ordinals(&self, table: &TableDef) -> Option<Vec<usize>> {
        self.columns.iter().map(|column| table.ordinal(*column)).collect()
    }
}

/// The action on child rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    /// RESTRICT (also the default, NO ACTION).
    Restrict,
    /// NO ACTION as written.
    NoAction,
    /// CASCADE.
    Cascade,
    /// SET NULL.
    SetNull,
}

/// The engine of tables whose definition names none: rows one by one, in the order of the primary key. It has the name of MySQL's.
pub const ROW_ENGINE: &str = "InnoDB";

/// The name of a storage engine, as statements and tables show it. What its tables are like is known to the store that has the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineName(Cow<'static, str>);

impl EngineName {
    /// That of [`ROW_ENGINE`].
    pub const ROWS: EngineName = EngineName::new(ROW_ENGINE);

    /// A name that the program has.
    pub const fn new(name: &'static str) -> EngineName {
        EngineName(Cow::Borrowed(name))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for EngineName {
    fn default() -> EngineName {
        EngineName::ROWS
    }
}

impl From<String> for EngineName {
    fn from(name: String) -> EngineName {
        EngineName(Cow::Owned(name))
    }
}

/// The structure of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexType {
    /// An entry for each row, in the order of its parts.
    BTree,
    /// The same: USING HASH is shown as it was given.
    Hash,
    /// An entry for each row under a hash of its parts, which may be longer than keys are. Keys of this kind are unique, and have no
    /// order.
    LongHash,
    /// The same with an entry for each element of an array.
    MultiValued,
    /// An entry for each cell of a plane that a geometry lies in.
    Spatial,
    /// Bitmap indexes of each of its columns.
    Bitmap,
    /// An entry for each word of a row's texts.
    FullText,
    /// An entry for each piece of the words of a row's texts.
    Ngram,
    /// An entry for each term of a row's documents.
    Json,
    /// A copy of its columns, kept by column.
    Columnar,
    /// A graph of its column's vectors, in memory: nothing of it is stored.
    Vector(VectorGraph),
}

/// The options of a vector index's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorGraph {
    /// Its metric.
    pub metric: Metric,
    /// M: how many neighbours a vector has on each level above the lowest.
    pub links: u8,
}

impl IndexType {
    const ALL: [IndexType; 11] = [
        IndexType::BTree,
        IndexType::Hash,
        IndexType::LongHash,
        IndexType::MultiValued,
        IndexType::Spatial,
        IndexType::Bitmap,
        IndexType::FullText,
        IndexType::Ngram,
        IndexType::Json,
        IndexType::Columnar,
        IndexType::Vector(VectorGraph { metric: Metric::Euclidean, links: 0 }),
    ];

    /// Its name in statements and in the stored catalog.
    pub fn name(self) -> &'static str {
        match self {
            IndexType::BTree => "BTREE",
            IndexType::Hash => "HASH",
            IndexType::LongHash => "LONG HASH",
            IndexType::MultiValued => "MULTI-VALUED",
            IndexType::Spatial => "SPATIAL",
            IndexType::Bitmap => "BITMAP",
            IndexType::FullText => "FULLTEXT",
            IndexType::Ngram => "NGRAM",
            IndexType::Json => "JSON",
            IndexType::Columnar => "COLUMNAR",
            IndexType::Vector(_) => "VECTOR",
        }
    }

    /// The type of this name, in capital letters; of a vector index without what its graph is like.
    pub fn of_name(name: &str) -> Option<IndexType> {
        IndexType::ALL.into_iter().find(|index_type| index_type.name() == name)
    }
}

/// The name of the parser of documents in WITH PARSER.
pub const JSON_PARSER: &str = "json_kv";

/// The name of the ngram parser in WITH PARSER.
pub const NGRAM_PARSER: &str = "ngram";

impl IndexPart {
    /// A whole column, ascending.
    pub fn of(column: ColumnId) -> IndexPart {
        IndexPart { column, prefix: None, descending: false }
    }
}

impl IndexDef {
    /// A visible B-tree key that is not unique, with no comment.
    pub fn new(id: IndexId, name: impl Into<String>, parts: Vec<IndexPart>) -> IndexDef {
        IndexDef {
            id,
            name: name.into(),
            parts,
            unique: false,
            primary: false,
            invisible: false,
            comment: String::new(),
            index_type: IndexType::BTree,
            generated: false,
        }
    }

    /// A primary key.
    pub fn primary(id: IndexId, parts: Vec<IndexPart>) -> IndexDef {
        IndexDef { unique: true, primary: true, ..IndexDef::new(id, "PRIMARY", parts) }
    }

    /// Whether it files a row under many terms: words, pieces of them, or those of a document.
    pub fn is_fulltext(&self) -> bool {
        self.index_type == IndexType::FullText || self.is_ngram() || self.is_json()
    }

    /// Whether its terms are pieces of words.
    pub fn is_ngram(&self) -> bool {
        self.index_type == IndexType::Ngram
    }

    /// Whether its terms are those of documents.
    pub fn is_json(&self) -> bool {
        self.index_type == IndexType::Json
    }

    /// Whether it files a row under each element of an array, and so a row without elements nowhere.
    pub fn is_multi_valued(&self) -> bool {
        self.index_type == IndexType::MultiValued || self.is_spatial()
    }

    /// Whether it files a row under the cells that a geometry lies in.
    pub fn is_spatial(&self) -> bool {
        self.index_type == IndexType::Spatial
    }

    /// Whether a row has an entry for each of its terms or elements, and so perhaps none: the index gives neither all rows
    /// nor each once.
    pub fn files_by_terms(&self) -> bool {
        self.is_fulltext() || self.is_multi_valued()
    }

    /// Whether it is no key of rows but a copy of its columns, kept by column.
    pub fn is_columnar(&self) -> bool {
        self.index_type == IndexType::Columnar
    }

    /// The options of its graph, if it is a vector index.
    pub fn vector_graph(&self) -> Option<VectorGraph> {
        match self.index_type {
            IndexType::Vector(graph) => Some(graph),
            _ => None,
        }
    }

    /// Whether it is a graph of vectors.
    pub fn is_vector(&self) -> bool {
        self.vector_graph().is_some()
    }

    /// Whether it files a row under a hash of its parts.
    pub fn is_hashed(&self) -> bool {
        self.index_type == IndexType::LongHash
    }

    /// Whether rows have no entries in it: a copy of columns, a graph of vectors.
    pub fn has_no_entries(&self) -> bool {
        self.is_columnar() || self.is_vector()
    }

    /// Whether it has no entries in the order of its columns' values.
    pub fn has_no_order(&self) -> bool {
        self.has_no_entries() || self.is_hashed()
    }

    /// Whether rows can be found by these columns, which it begins with, whole.
    pub fn begins_with(&self, columns: &[ColumnId]) -> bool {
        !self.has_no_order()
            && !self.files_by_terms()
            && self.parts.len() >= columns.len()
            && columns.iter().zip(&self.parts).all(|(id, part)| part.column == *id && part.prefix.is_none())
    }

    /// Whether another key of these parts can stand in for this one: it begins with the same, in the same directions.
    pub fn is_prefix_of(&self, parts: &[IndexPart]) -> bool {
        parts.starts_with(&self.parts)
    }

    /// Whether it is no key of rows but a bitmap index of each of its columns.
    pub fn is_bitmap(&self) -> bool {
        self.index_type == IndexType::Bitmap
    }
}

/// The type of a cell's number.
static CELL: SqlType = SqlType::BIGINT_UNSIGNED;

impl ColumnDef {
    /// Whether it was made for a functional key part: no statement can name it or see it.
    pub fn is_hidden(&self) -> bool {
        self.functional_part().is_some()
    }

    /// What a hidden column is to its key.
    pub fn functional_part(&self) -> Option<&FunctionalPart> {
        self.generated.as_ref()?.key_part.as_ref()
    }

    /// The type of the elements that a multi-valued key files rows under.
    pub fn element_type(&self) -> Option<&SqlType> {
        match self.functional_part()? {
            FunctionalPart::Elements(element) => Some(element),
            FunctionalPart::Cells(_) => Some(&CELL),
            FunctionalPart::Value(_) => None,
        }
    }
}

/// How a table is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCompression {
    /// LZ4: quick.
    Lz4,
    /// Zstandard: smaller.
    Zstd,
}

impl TableDef {
    /// The column that a key's part is shown as: a spatial key's is the geometry.
    pub fn part_column(&self, part: &IndexPart) -> Option<&ColumnDef> {
        let column = &self.columns[self.ordinal(part.column)?];
        match column.functional_part() {
            Some(FunctionalPart::Cells(of)) => self.columns.get(self.ordinal(*of)?),
            _ => Some(column),
        }
    }

    /// A table without columns, whose ids are still to be given.
    pub fn empty(name: &str, collation: CollationId, temporary: bool, now_micros: i64) -> TableDef {
        TableDef {
            id: TableId(0),
            name: name.to_string(),
            version: 1,
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
            collation,
            comment: String::new(),
            engine: EngineName::ROWS,
            auto_increment_start: 0,
            options: Vec::new(),
            next_column_id: 1,
            next_index_id: 1,
            created_micros: now_micros,
            temporary,
        }
    }

    /// The key that is a copy of columns, if there is one.
    pub fn column_copy(&self) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.is_columnar())
    }

    /// How what the table has is compressed: as the option COMPRESSION says, without it by Zstandard for `ROW_FORMAT=COMPRESSED`, and
    /// without both as its engine does by itself. `None` for `COMPRESSION='none'`.
    pub fn compression(&self, of_engine: TableCompression) -> Option<TableCompression> {
        let option =
            |wanted: &str| self.options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        match option("COMPRESSION") {
            Some("'none'") => None,
            Some("'lz4'") => Some(TableCompression::Lz4),
            Some("'zstd'") => Some(TableCompression::Zstd),
            _ if option("ROW_FORMAT") == Some("COMPRESSED") => Some(TableCompression::Zstd),
            _ => Some(of_engine),
        }
    }

    /// Ordinal and definition of the visible column of that name.
    pub fn column(&self, name: &str) -> Option<(usize, &ColumnDef)> {
        self.columns.iter().enumerate().find(|(_, column)| !column.is_hidden() && eq_ignore_case(&column.name, name))
    }

    /// Ordinal of the column that plans have under a name, which may be a hidden one.
    pub fn planned_column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The columns that statements can name: all but those of functional key parts, which come last.
    pub fn named_columns(&self) -> &[ColumnDef] {
        let hidden = self.columns.iter().rev().take_while(|column| column.is_hidden()).count();
        &self.columns[..self.columns.len() - hidden]
    }

    /// The key that a hidden column was made for.
    pub fn key_of_hidden(&self, column: &ColumnDef) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.parts.iter().any(|part| part.column == column.id))
    }

    /// Ordinal of the column with that id.
    pub fn ordinal(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// The index of that name.
    pub fn index(&self, name: &str) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| eq_ignore_case(&index.name, name))
    }

    /// The primary key.
    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|index| index.primary)
    }

    /// Its triggers for a time and an event, in the order in which they run.
    pub fn triggers_for(&self, time: TriggerTime, event: TriggerEvent) -> impl Iterator<Item = &TriggerDef> {
        self.triggers.iter().filter(move |trigger| trigger.is_for(time, event))
    }

    /// The trigger of that name.
    pub fn trigger(&self, name: &str) -> Option<&TriggerDef> {
        self.triggers.iter().find(|trigger| eq_ignore_case(&trigger.name, name))
    }

    /// Ordinals of an index's columns.
    pub fn index_ordinals(&self, index: &IndexDef) -> Vec<usize> {
        index.parts.iter().filter_map(|part| self.ordinal(part.column)).collect()
    }

    /// The storages that the store keeps for it: its own, which has all rows of a table without partitions, and those of its partitions.
    pub fn storages(&self) -> impl Iterator<Item = TableId> {
        std::iter::once(self.id).chain(self.partitioning.iter().flat_map(|partitioning| partitioning.storages()))
    }

    /// The AUTO_INCREMENT column's ordinal.
    pub fn auto_increment_ordinal(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}
