//! Identifiers that never change while an object exists, also when it is renamed.

macro_rules! id {
    ($(#[$doc:meta] $name:ident($inner:ty);)*) => {
        $(#[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);)*
    };
}

id! {
    /// A database.
    DatabaseId(u32);
    /// A table; never given again after a drop, so that old data cannot be taken for new.
    TableId(u32);
    /// An index within its table; 0 is the clustered primary key (or the hidden row id).
    IndexId(u32);
    /// A column within its table; never given again within the table, so rows can be decoded by id after ALTER.
    ColumnId(u32);
}
