//! Databases, tables, views, users and privileges as immutable snapshots.
//!
//! A [`Catalog`] is a value: readers hold an `Arc` of one and never wait; DDL builds the next one from it and publishes
//! it (see [`CatalogCell`]). This crate knows what objects *are*. It must not know how they are stored, parsed or run.

pub mod access;
pub mod account;
mod active_grants;
pub mod authorization;
pub mod authorized;
pub mod cell;
pub mod ids;
pub mod locked_names;
pub mod name;
pub mod partition;
pub mod privilege;
mod references;
pub mod routine;
mod sequence;
pub mod snapshot;
pub mod table;
mod table_entry;
pub mod trigger;
pub mod view;

pub use access::AccessMap;
pub use account::{
    AccountDef, AccountKey, Accounts, EarlierPassword, LoginBlock, PasswordLockTime, ResourceLimits, Restrictions,
    TableGrant, TlsRequirement, common_restrictions,
};
pub use active_grants::ActiveGrants;
pub use authorization::{Invoker, Need, Needed, NoServerTables, Object, ServerTableRule, ServerTables, Subject};
pub use authorized::{Authorized, Touches};
pub use cell::CatalogCell;
pub use ids::{ColumnId, DatabaseId, IndexId, TableId};
pub use locked_names::{LockedName, LockedNames};
pub use name::NameKey;
pub use partition::{
    PartitionBound, PartitionDef, PartitionScheme, PartitionSet, PartitionStorage, PartitionValues, Partitioning,
};
pub use privilege::{DYNAMIC_PRIVILEGES, PrivilegeLevel, Privileges};
pub use routine::{RoutineDef, RoutineKind, RoutineName, RoutineParameter, RoutineParameterMode, SqlDataAccess};
pub use sequence::SequenceRow;
pub use snapshot::{Catalog, Database, Reference};
pub use table::{
    ColumnDef, ColumnDefault, ConstraintCheck, EngineName, ForeignKey, FunctionalPart, GeneratedKind, IndexDef,
    IndexPart, IndexType, JSON_PARSER, NGRAM_PARSER, ROW_ENGINE, ReferencedColumns, ReferentialAction,
    TableCompression, TableDef, VectorGraph,
};
pub use table_entry::TableEntry;
pub use trigger::{TriggerDef, TriggerEvent, TriggerTime};
pub use view::ViewDef;
