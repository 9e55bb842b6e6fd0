//! MySQL's counters of scans, sorts and groups of statements.

/// What one statement has done, or many have. Names and meanings are those of MySQL's status variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCounts {
    /// `Select_scan`: queries whose first table was read from one end to the other.
    pub select_scan: u64,
    /// `Select_range`: queries that read ranges of their first table.
    pub select_range: u64,
    /// `Select_full_join`: tables behind the first that were read from one end to the other.
    pub select_full_join: u64,
    /// `Select_full_range_join`: tables behind the first of which ranges were read.
    pub select_full_range_join: u64,
    /// `Sort_scan`: sorts of what a scan gave.
    pub sort_scan: u64,
    /// `Sort_range`: sorts of what ranges or look-ups gave.
    pub sort_range: u64,
    /// `Sort_rows`: rows that were sorted.
    pub sort_rows: u64,
    /// `Sort_merge_passes`: sorted runs that went through temporary files.
    pub sort_merge_passes: u64,
    /// `Created_tmp_tables`: tables of groups or distinct rows, and other results that were kept for later.
    pub tmp_tables: u64,
    /// `Created_tmp_disk_tables`: those that went through temporary files.
    pub tmp_disk_tables: u64,
    /// Statements that read a table without an index (`NO_INDEX_USED`).
    pub no_index_used: u64,
}

impl PlanCounts {
    /// Adds others.
    pub fn merge(&mut self, other: &PlanCounts) {
        self.select_scan += other.select_scan;
        self.select_range += other.select_range;
        self.select_full_join += other.select_full_join;
        self.select_full_range_join += other.select_full_range_join;
        self.sort_scan += other.sort_scan;
        self.sort_range += other.sort_range;
        self.sort_rows += other.sort_rows;
        self.sort_merge_passes += other.sort_merge_passes;
        self.tmp_tables += other.tmp_tables;
        self.tmp_disk_tables += other.tmp_disk_tables;
        self.no_index_used += other.no_index_used;
    }

    /// Counts a table that was read from one end to the other, by no index if `table_scan`; `first` is the first of its query.
    pub fn scanned(&mut self, first: bool, table_scan: bool) {
        *(if first { &mut self.select_scan } else { &mut self.select_full_join }) += 1;
        self.no_index_used |= u64::from(table_scan);
    }

    /// Counts a table of which ranges were read.
    pub fn ranged(&mut self, first: bool) {
        *(if first { &mut self.select_range } else { &mut self.select_full_range_join }) += 1;
    }

    /// Counts a sort of what the query's tables, as counted so far, gave.
    pub fn sorted(&mut self, rows: u64) {
        *(if self.select_scan > 0 { &mut self.sort_scan } else { &mut self.sort_range }) += 1;
        self.sort_rows += rows;
    }
}
