//! CREATE TABLE and ALTER TABLE.

use super::{DataType, Expr, Ident, Literal, ObjectName, OrderItem, Query, UnaryOp};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub or_replace: bool,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName,
    /// `LIKE other`; then nothing below is given.
    pub like: Option<ObjectName>,
    pub columns: Vec<ColumnDefinition>,
    pub constraints: Vec<TableConstraint>,
    pub options: Vec<TableOption>,
    pub partitioning: Option<Partitioning>,
    /// `IGNORE` or `REPLACE` before `AS SELECT`.
    pub duplicates: super::LoadDuplicates,
    pub query: Option<Box<Query>>,
}

/// The part behind DEFAULT.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultValue {
    pub value: Expr,
    /// An expression, be it a literal in parentheses, rather than a literal or CURRENT_TIMESTAMP as such.
    pub is_expression: bool,
}

impl DefaultValue {
    /// The part behind DEFAULT, with or without parentheses. Only numbers with a sign, other literals and CURRENT_TIMESTAMP mean
    /// something else without them, the rest is an expression either way (MySQL asks for the parentheses, MariaDB does not).
    #[must_use]
    pub fn new(value: Expr, in_parentheses: bool) -> Self {
        let is_expression = in_parentheses || !Self::is_literal(&value) && !Self::is_current_timestamp(&value);
        Self { value, is_expression }
    }

    /// A literal; that of a number may have a sign.
    fn is_literal(value: &Expr) -> bool {
        match value {
            Expr::Literal(_) => true,
            Expr::Unary { op: UnaryOp::Minus | UnaryOp::Plus, operand } => {
                matches!(**operand, Expr::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_)))
            }
            _ => false,
        }
    }

    /// A call of CURRENT_TIMESTAMP or one of its synonyms.
    fn is_current_timestamp(value: &Expr) -> bool {
        matches!(value, Expr::Function(call) if call.schema.is_none() && CURRENT_TIMESTAMP_NAMES.iter().any(|name| call.name.is(name)))
    }
}

/// The names of the function that DEFAULT and ON UPDATE take without parentheses.
pub const CURRENT_TIMESTAMP_NAMES: [&str; 4] = ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"];

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    pub name: Ident,
    pub data_type: DataType,
    /// `NULL` is true, `NOT NULL` false.
    pub nullable: Option<bool>,
    pub default: Option<DefaultValue>,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update: Option<Expr>,
    pub auto_increment: bool,
    pub primary_key: bool,
    pub unique: bool,
    pub generated: Option<GeneratedColumn>,
    pub checks: Vec<CheckConstraint>,
    pub references: Option<References>,
    pub comment: Option<Box<str>>,
    /// `VISIBLE` is true, `INVISIBLE` false.
    pub visible: Option<bool>,
    pub srid: Option<u32>,
    pub format: Option<ColumnFormat>,
    pub storage: Option<ColumnStorage>,
    pub engine_attribute: Option<Box<str>>,
    pub secondary_engine_attribute: Option<Box<str>>,
    /// MariaDB's `COMPRESSED`.
    pub compressed: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedColumn {
    pub expr: Expr,
    /// `STORED` (and MariaDB's `PERSISTENT`); otherwise `VIRTUAL`.
    pub stored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFormat {
    Fixed,
    Dynamic,
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnStorage {
    Disk,
    Memory,
    Default,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableConstraint {
    Index(IndexDefinition),
    ForeignKey(ForeignKey),
    Check(CheckConstraint),
}

/// A key of a table: a clause of CREATE TABLE or ALTER TABLE, or CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDefinition {
    pub kind: IndexKind,
    /// `CONSTRAINT symbol`; the index takes it as name when `name` is not given.
    pub constraint: Option<Ident>,
    pub name: Option<Ident>,
    pub if_not_exists: bool,
    pub parts: Vec<KeyPart>,
    pub options: IndexOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    /// `KEY`, `INDEX`.
    Plain,
    Fulltext,
    Spatial,
    /// `COLUMNAR`: a copy of columns; without parts of all.
    Columnar,
    /// `VECTOR`: a graph of the column's vectors.
    Vector,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    pub source: KeyPartSource,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KeyPartSource {
    /// `column[(prefix length)]`.
    Column { name: Ident, length: Option<u32> },
    /// `(expression)`.
    Expr(Expr),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexOptions {
    /// `USING BTREE|HASH|RTREE`, or a type that a module knows.
    pub algorithm: Option<Ident>,
    pub key_block_size: Option<u64>,
    pub parser: Option<Ident>,
    /// `M=links` of a vector index, as a number or a text.
    pub links: Option<Box<str>>,
    /// `DISTANCE=metric` of a vector index.
    pub distance: Option<Box<str>>,
    pub comment: Option<Box<str>>,
    pub visible: Option<bool>,
    pub engine_attribute: Option<Box<str>>,
    pub secondary_engine_attribute: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    pub constraint: Option<Ident>,
    pub index_name: Option<Ident>,
    pub if_not_exists: bool,
    pub columns: Vec<Ident>,
    pub references: References,
}

#[derive(Clone, Debug, PartialEq)]
pub struct References {
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    pub matching: Option<ReferenceMatch>,
    pub on_delete: Option<ReferenceAction>,
    pub on_update: Option<ReferenceAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceMatch {
    Full,
    Partial,
    Simple,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckConstraint {
    pub name: Option<Ident>,
    pub expr: Expr,
    /// `ENFORCED` is true, `NOT ENFORCED` false; `None` enforces.
    pub enforced: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableOption {
    Engine(Box<str>),
    SecondaryEngine(Option<Box<str>>),
    AutoIncrement(u64),
    AverageRowLength(u64),
    /// `[DEFAULT] CHARACTER SET`; `None` is the word DEFAULT.
    Charset(Option<Box<str>>),
    Collate(Box<str>),
    Checksum(bool),
    Comment(Box<str>),
    Compression(Box<str>),
    Connection(Box<str>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    DelayKeyWrite(bool),
    Encryption(Box<str>),
    InsertMethod(Ident),
    KeyBlockSize(u64),
    MaxRows(u64),
    MinRows(u64),
    /// `None` is the word DEFAULT.
    PackKeys(Option<bool>),
    Password(Box<str>),
    RowFormat(Ident),
    StartTransaction,
    /// `None` is the word DEFAULT; so in the three below.
    StatsAutoRecalc(Option<bool>),
    StatsPersistent(Option<bool>),
    StatsSamplePages(Option<u64>),
    Tablespace(Ident),
    Storage(ColumnStorage),
    Union(Vec<ObjectName>),
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
    AutoextendSize(u64),
    /// MariaDB's `SEQUENCE=1`, `PAGE_CHECKSUM=1`, `TRANSACTIONAL=1` and engine-defined `name=value`.
    Other {
        name: Ident,
        value: Box<str>,
    },
}

impl TableOption {
    /// `SEQUENCE=1`: the table is a sequence.
    pub fn is_sequence(&self) -> bool {
        matches!(self, Self::Other { name, value } if name.is("SEQUENCE") && &**value == "1")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    pub scheme: PartitionScheme,
    pub count: Option<u64>,
    pub subpartition: Option<Subpartitioning>,
    pub partitions: Vec<PartitionDefinition>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionScheme {
    Hash { linear: bool, expr: Expr },
    Key { linear: bool, algorithm: Option<u32>, columns: Vec<Ident> },
    Range(Expr),
    RangeColumns(Vec<Ident>),
    List(Expr),
    ListColumns(Vec<Ident>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Subpartitioning {
    /// `Hash` or `Key`.
    pub scheme: PartitionScheme,
    pub count: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDefinition {
    pub name: Ident,
    pub values: PartitionValues,
    pub options: Vec<TableOption>,
    pub subpartitions: Vec<SubpartitionDefinition>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubpartitionDefinition {
    pub name: Ident,
    pub options: Vec<TableOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    None,
    /// `VALUES LESS THAN (…)`; one bound per column.
    LessThan(Vec<PartitionBound>),
    /// `VALUES IN (…)`; one tuple per value, of one bound per column.
    In(Vec<Vec<PartitionBound>>),
    /// MariaDB's `DEFAULT` list partition.
    Default,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    Expr(Expr),
    MaxValue,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub if_exists: bool,
    /// MariaDB's `ALTER ONLINE`.
    pub online: bool,
    /// `ALTER IGNORE TABLE`.
    pub ignore: bool,
    pub name: ObjectName,
    pub actions: Vec<AlterAction>,
    pub algorithm: Option<Ident>,
    pub lock: Option<Ident>,
    /// `WITH VALIDATION` is true, `WITHOUT VALIDATION` false.
    pub validation: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    AddColumn {
        if_not_exists: bool,
        column: Box<ColumnDefinition>,
        position: Option<ColumnPosition>,
    },
    AddConstraint(TableConstraint),
    /// `CHANGE old new definition`.
    ChangeColumn {
        if_exists: bool,
        old: Ident,
        column: Box<ColumnDefinition>,
        position: Option<ColumnPosition>,
    },
    ModifyColumn {
        if_exists: bool,
        column: Box<ColumnDefinition>,
        position: Option<ColumnPosition>,
    },
    DropColumn {
        if_exists: bool,
        name: Ident,
        behavior: Option<DropBehavior>,
    },
    DropPrimaryKey,
    DropIndex {
        if_exists: bool,
        name: Ident,
    },
    DropForeignKey {
        if_exists: bool,
        name: Ident,
    },
    DropCheck {
        name: Ident,
    },
    DropConstraint {
        if_exists: bool,
        name: Ident,
    },
    /// `ALTER COLUMN c SET DEFAULT x`.
    SetDefault {
        column: Ident,
        value: DefaultValue,
    },
    DropDefault {
        column: Ident,
    },
    SetColumnVisible {
        column: Ident,
        visible: bool,
    },
    SetIndexVisible {
        index: Ident,
        visible: bool,
    },
    SetCheckEnforced {
        name: Ident,
        enforced: bool,
    },
    SetConstraintEnforced {
        name: Ident,
        enforced: bool,
    },
    RenameTable(ObjectName),
    RenameColumn {
        old: Ident,
        new: Ident,
    },
    RenameIndex {
        old: Ident,
        new: Ident,
    },
    ConvertCharset {
        charset: Option<Box<str>>,
        collation: Option<Box<str>>,
    },
    Options(Vec<TableOption>),
    OrderBy(Vec<OrderItem>),
    EnableKeys,
    DisableKeys,
    Force,
    DiscardTablespace,
    ImportTablespace,
    PartitionBy(Box<Partitioning>),
    RemovePartitioning,
    AddPartition {
        definitions: Vec<PartitionDefinition>,
        count: Option<u64>,
    },
    DropPartition {
        if_exists: bool,
        names: Vec<Ident>,
    },
    ReorganizePartition {
        names: Vec<Ident>,
        definitions: Vec<PartitionDefinition>,
    },
    CoalescePartition(u64),
    ExchangePartition {
        partition: Ident,
        table: ObjectName,
    },
    TruncatePartition(PartitionNames),
    AnalyzePartition(PartitionNames),
    CheckPartition(PartitionNames),
    OptimizePartition(PartitionNames),
    RebuildPartition(PartitionNames),
    RepairPartition(PartitionNames),
    DiscardPartitionTablespace(PartitionNames),
    ImportPartitionTablespace(PartitionNames),
    SecondaryLoad,
    SecondaryUnload,
}

impl AlterTable {
    /// The table that EXCHANGE PARTITION names beside the one that is altered.
    pub fn exchanged_with(&self) -> Option<&ObjectName> {
        match &self.actions[..] {
            [AlterAction::ExchangePartition { table, .. }] => Some(table),
            _ => None,
        }
    }
}

impl AlterAction {
    /// Whether it is a change of partitions that stands alone in its statement; PARTITION BY and REMOVE follow other actions.
    pub fn stands_alone(&self) -> bool {
        matches!(
            self,
            AlterAction::AddPartition { .. }
                | AlterAction::DropPartition { .. }
                | AlterAction::ReorganizePartition { .. }
                | AlterAction::CoalescePartition(_)
                | AlterAction::ExchangePartition { .. }
                | AlterAction::TruncatePartition(_)
                | AlterAction::AnalyzePartition(_)
                | AlterAction::CheckPartition(_)
                | AlterAction::OptimizePartition(_)
                | AlterAction::RebuildPartition(_)
                | AlterAction::RepairPartition(_)
                | AlterAction::DiscardPartitionTablespace(_)
                | AlterAction::ImportPartitionTablespace(_)
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionNames {
    All,
    Names(Vec<Ident>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnPosition {
    First,
    After(Ident),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBehavior {
    Restrict,
    Cascade,
}
