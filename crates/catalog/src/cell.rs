//! Publishes the current catalog to all threads.

use crate::Catalog;
use arc_swap::ArcSwap;
use std::sync::Arc;

/// Holds the current [`Catalog`]; loading it is wait-free.
#[derive(Debug, Default)]
pub struct CatalogCell(ArcSwap<Catalog>);

impl CatalogCell {
    /// Starts with a catalog.
    pub fn new(catalog: Catalog) -> Self {
        Self(ArcSwap::from_pointee(catalog))
    }

    /// The current catalog.
    pub fn load(&self) -> Arc<Catalog> {
        self.0.load_full()
    }

    /// The version of the current catalog.
    pub fn version(&self) -> u64 {
        self.0.load().version
    }

    /// Publishes the next catalog. The caller holds the DDL lock and has made the change durable.
    pub fn publish(&self, catalog: Catalog) {
        self.0.store(Arc::new(catalog));
    }
}
