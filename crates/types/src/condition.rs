//! The items of a condition besides its number, SQLSTATE and message. SIGNAL sets them and GET DIAGNOSTICS reads them.

/// An item's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Named as SQL names them.
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
}

impl ConditionItem {
    /// All of them, in the order of MySQL's manual.
    pub const ALL: [ConditionItem; 10] = [
        ConditionItem::ClassOrigin,
        ConditionItem::SubclassOrigin,
        ConditionItem::ConstraintCatalog,
        ConditionItem::ConstraintSchema,
        ConditionItem::ConstraintName,
        ConditionItem::CatalogName,
        ConditionItem::SchemaName,
        ConditionItem::TableName,
        ConditionItem::ColumnName,
        ConditionItem::CursorName,
    ];

    /// Its name, in capital letters.
    pub fn name(self) -> &'static str {
        match self {
            ConditionItem::ClassOrigin => "CLASS_ORIGIN",
            ConditionItem::SubclassOrigin => "SUBCLASS_ORIGIN",
            ConditionItem::ConstraintCatalog => "CONSTRAINT_CATALOG",
            ConditionItem::ConstraintSchema => "CONSTRAINT_SCHEMA",
            ConditionItem::ConstraintName => "CONSTRAINT_NAME",
            ConditionItem::CatalogName => "CATALOG_NAME",
            ConditionItem::SchemaName => "SCHEMA_NAME",
            ConditionItem::TableName => "TABLE_NAME",
            ConditionItem::ColumnName => "COLUMN_NAME",
            ConditionItem::CursorName => "CURSOR_NAME",
        }
    }

    /// The item of that name in capital letters.
    pub fn of_name(name: &str) -> Option<ConditionItem> {
        Self::ALL.into_iter().find(|item| item.name() == name)
    }
}

/// The items that a SIGNAL has set; most conditions have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionItems(Option<Box<[Option<String>; ConditionItem::ALL.len()]>>);

impl ConditionItems {
    /// Nothing set.
    pub const NONE: ConditionItems = ConditionItems(None);

    /// Sets an item.
    pub fn set(&mut self, item: ConditionItem, text: String) {
        if let Some(slot) = self.0.get_or_insert_default().get_mut(item as usize) {
            *slot = Some(text);
        }
    }

    /// An item's text, if it has been set.
    pub fn get(&self, item: ConditionItem) -> Option<&str> {
        self.0.as_ref()?.get(item as usize)?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_found_by_its_name() {
        let mut items = ConditionItems::default();
        assert_eq!(items.get(ConditionItem::TableName), None);
        for item in ConditionItem::ALL {
            assert_eq!(ConditionItem::of_name(item.name()), Some(item));
            items.set(item, item.name().to_lowercase());
        }
        for item in ConditionItem::ALL {
            assert_eq!(items.get(item), Some(&*item.name().to_lowercase()));
        }
        assert_eq!(ConditionItem::of_name("MESSAGE_TEXT"), None);
    }
}
