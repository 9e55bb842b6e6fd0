//! Storage engines by the names that MySQL, MariaDB and Percona Server have for theirs.

use squall_catalog::Engine;

/// Engines of MySQL, MariaDB and Percona Server whose tables become row tables.
pub const ROW_ENGINES: &[&str] = &["MYISAM", "MEMORY", "HEAP", "ARIA", "CSV", "XTRADB", "ROCKSDB"];

/// Those that are chosen for tables that are to be small, and which become column tables: of what the engines' own comparison loads these take
/// the least. Temporary tables have rows, and compress them.
pub const SMALL_ENGINES: &[&str] = &["ARCHIVE", "TOKUDB"];

/// Names of the engine of column tables.
pub const COLUMN_ENGINES: &[&str] = &[Engine::Columns.name(), "FASTBIT", "COLUMNSTORE"];

/// Which of some engines is used where another server's is named; `None` for unknown names.
pub fn engine_of_other_name(name: &str, engines: &[&'static str]) -> Option<&'static str> {
    let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let (is_column, is_small) = (is_one_of(COLUMN_ENGINES), is_one_of(SMALL_ENGINES));
    let is_row = is_one_of(ROW_ENGINES) || (is_small && !engines.contains(&Engine::Columns.name()));
    let wanted = if is_row { Engine::Rows } else { Engine::Columns };
    engines.iter().copied().find(|engine| *engine == wanted.name() && (is_row || is_column || is_small))
}
