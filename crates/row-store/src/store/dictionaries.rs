//! Makes the dictionaries for packed rows, and makes them durable.

use super::{RowStore, StoreInner};
use crate::batch::Batch;
use crate::meta;
use crate::table::packing::Sample;
use crate::table::{Table, TableData};
use squall_types::SqlResult;

impl RowStore {
    /// Packs a row that a statement has made, if rows of the table are packed.
    pub(crate) fn pack_row(&self, table: &Table, key: &[u8], row: &mut Vec<u8>) {
        if table.packs_rows() {
            // The background makes the dictionary: a statement would take two hundred times as long.
            table.data.packing.sample(row);
            table.data.packing.pack(key, row, 0);
        }
    }

    /// Packs the row of a load that has been written last into `row`, from `start` on, if rows of the table are packed.
    pub(crate) fn pack_row_of_load(&self, table: &Table, key: &[u8], row: &mut Vec<u8>, start: usize) -> SqlResult<()> {
        if !table.packs_rows() {
            return Ok(());
        }
        if let Some(mut sample) = table.data.packing.sample_of_load(row, start) {
            let full = sample.take();
            self.0.make_dictionary(&table.data, &full)?;
        }
        table.data.packing.pack(key, row, start);
        Ok(())
    }
}

impl StoreInner {
    /// Makes the dictionaries that writes have given rows for.
    pub(crate) fn make_dictionaries(&self) {
        let tables: Vec<_> = self.data.read().values().cloned().collect();
        for data in tables {
            if let Some(sample) = data.packing.take_full_sample() {
                // Rows stay as they are if it cannot be written; a commit that cannot be reports it to a client.
                let _ = self.make_dictionary(&data, &sample);
            }
        }
    }

    /// Makes a dictionary, which is durable before the first row is packed with it: files of a load are not in the log's order.
    fn make_dictionary(&self, data: &TableData, sample: &Sample) -> SqlResult<()> {
        if data.is_retired() {
            // The record would never be removed.
            return Ok(());
        }
        let dictionary = sample.dictionary();
        let mut batch = Batch::default();
        batch.insert(&self.meta, meta::dictionary_key(data.id, data.generation), dictionary.as_slice());
        self.committer.write(batch, true)?;
        data.packing.set_dictionary(&dictionary);
        Ok(())
    }
}
