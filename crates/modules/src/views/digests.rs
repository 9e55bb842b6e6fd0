//! Statements by digest.

use super::source::{Row, Tables};
use super::sums::{AVG, COUNT, MAX, SUM, descending, n, quotient};
use super::view::{Column, Names, View, count, name, ratio, statement, time, when};
use squall_types::{SqlResult, Value};

const BY_DIGEST: &str = "events_statements_summary_by_digest";
const DIGESTS: &[&str] = &[
    "SCHEMA_NAME",
    "DIGEST",
    "DIGEST_TEXT",
    COUNT,
    SUM,
    AVG,
    MAX,
    LOCK,
    "SUM_CPU_TIME",
    ERRORS,
    WARNINGS,
    AFFECTED,
    SENT,
    EXAMINED,
    DISK_TABLES,
    TABLES,
    SORTED,
    MERGES,
    "SUM_SORT_RANGE",
    "SUM_SORT_SCAN",
    NO_INDEX,
    NO_GOOD_INDEX,
    "MAX_CONTROLLED_MEMORY",
    "MAX_TOTAL_MEMORY",
    "FIRST_SEEN",
    "LAST_SEEN",
];
const LOCK: &str = "SUM_LOCK_TIME";
const ERRORS: &str = "SUM_ERRORS";
const WARNINGS: &str = "SUM_WARNINGS";
const AFFECTED: &str = "SUM_ROWS_AFFECTED";
const SENT: &str = "SUM_ROWS_SENT";
const EXAMINED: &str = "SUM_ROWS_EXAMINED";
const DISK_TABLES: &str = "SUM_CREATED_TMP_DISK_TABLES";
const TABLES: &str = "SUM_CREATED_TMP_TABLES";
const SORTED: &str = "SUM_SORT_ROWS";
const MERGES: &str = "SUM_SORT_MERGE_PASSES";
const NO_INDEX: &str = "SUM_NO_INDEX_USED";
const NO_GOOD_INDEX: &str = "SUM_NO_GOOD_INDEX_USED";

/// Digests that are slower than this share of all are the slow ones.
const PERCENTILE: f64 = 0.95;

const ANALYSIS: &[Column] = &[
    statement("query"),
    name("db"),
    name("full_scan"),
    count("exec_count"),
    count("err_count"),
    count("warn_count"),
    time("total_latency"),
    time("max_latency"),
    time("avg_latency"),
    time("lock_latency"),
    time("cpu_latency").new_in_8(),
    count("rows_sent"),
    ratio("rows_sent_avg", 0),
    count("rows_examined"),
    ratio("rows_examined_avg", 0),
    count("rows_affected"),
    ratio("rows_affected_avg", 0),
    count("tmp_tables"),
    count("tmp_disk_tables"),
    count("rows_sorted"),
    count("sort_merge_passes"),
    super::view::bytes("max_controlled_memory").new_in_8(),
    super::view::bytes("max_total_memory").new_in_8(),
    name("digest"),
    when("first_seen"),
    when("last_seen"),
];

pub(super) const VIEWS: &[View] = &[
    View { name: "statement_analysis", names: Names::Both, columns: ANALYSIS, rows: analysis, over_time: true },
    View {
        name: "statements_with_errors_or_warnings",
        names: Names::Both,
        columns: &[
            statement("query"),
            name("db"),
            count("exec_count"),
            count("errors"),
            ratio("error_pct", 4),
            count("warnings"),
            ratio("warning_pct", 4),
            when("first_seen"),
            when("last_seen"),
            name("digest"),
        ],
        rows: with_errors,
        over_time: true,
    },
    View {
        name: "statements_with_full_table_scans",
        names: Names::Both,
        columns: &[
            statement("query"),
            name("db"),
            count("exec_count"),
            time("total_latency"),
            count("no_index_used_count"),
            count("no_good_index_used_count"),
            ratio("no_index_used_pct", 0),
            count("rows_sent"),
            count("rows_examined"),
            ratio("rows_sent_avg", 0),
            ratio("rows_examined_avg", 0),
            when("first_seen"),
            when("last_seen"),
            name("digest"),
        ],
        rows: with_scans,
        over_time: true,
    },
    View {
        name: "statements_with_sorting",
        names: Names::Both,
        columns: &[
            statement("query"),
            name("db"),
            count("exec_count"),
            time("total_latency"),
            count("sort_merge_passes"),
            ratio("avg_sort_merges", 0),
            count("sorts_using_scans"),
            count("sort_using_range"),
            count("rows_sorted"),
            ratio("avg_rows_sorted", 0),
            when("first_seen"),
            when("last_seen"),
            name("digest"),
        ],
        rows: with_sorting,
        over_time: true,
    },
    View {
        name: "statements_with_temp_tables",
        names: Names::Both,
        columns: &[
            statement("query"),
            name("db"),
            count("exec_count"),
            time("total_latency"),
            count("memory_tmp_tables"),
            count("disk_tmp_tables"),
            ratio("avg_tmp_tables_per_query", 0),
            ratio("tmp_tables_to_disk_pct", 0),
            when("first_seen"),
            when("last_seen"),
            name("digest"),
        ],
        rows: with_temporary_tables,
        over_time: true,
    },
    View {
        name: "statements_with_runtimes_in_95th_percentile",
        names: Names::Both,
        columns: &[
            statement("query"),
            name("db"),
            name("full_scan"),
            count("exec_count"),
            count("err_count"),
            count("warn_count"),
            time("total_latency"),
            time("max_latency"),
            time("avg_latency"),
            count("rows_sent"),
            ratio("rows_sent_avg", 0),
            count("rows_examined"),
            ratio("rows_examined_avg", 0),
            when("first_seen"),
            when("last_seen"),
            name("digest"),
        ],
        rows: slowest,
        over_time: true,
    },
    View {
        name: "ps_digest_avg_latency_distribution",
        names: Names::Raw,
        columns: &[count("cnt"), ratio("avg_us", 0)],
        rows: |tables| Ok(averages(tables)?.into_iter().map(|(us, count)| vec![n(count), whole(us)]).collect()),
        over_time: true,
    },
    View {
        name: "ps_digest_95th_percentile_by_avg_us",
        names: Names::Raw,
        columns: &[ratio("avg_us", 0), ratio("percentile", 4)],
        rows: percentile,
        over_time: true,
    },
];

fn whole(number: u64) -> Value {
    quotient(number as f64, 1.0, 0)
}

fn average(row: &Row<'_>, sum: &'static str) -> Value {
    quotient(row.number(sum) as f64, row.number(COUNT) as f64, 0)
}

fn full_scan(row: &Row<'_>) -> Value {
    Value::from(if row.number(NO_INDEX) + row.number(NO_GOOD_INDEX) > 0 { "*" } else { "" })
}

fn values<const N: usize>(row: &Row<'_>, names: [&'static str; N]) -> [Value; N] {
    names.map(|name| row.get(name))
}

fn analysis(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let digests = tables.get(BY_DIGEST, DIGESTS)?;
    let row = |row: Row<'_>| {
        let mut out = values(&row, ["DIGEST_TEXT", "SCHEMA_NAME"]).to_vec();
        out.push(full_scan(&row));
        out.extend(values(&row, [COUNT, ERRORS, WARNINGS, SUM, MAX, AVG, LOCK, "SUM_CPU_TIME"]));
        for sum in [SENT, EXAMINED, AFFECTED] {
            out.extend([row.get(sum), average(&row, sum)]);
        }
        out.extend(values(&row, [TABLES, DISK_TABLES, SORTED, MERGES]));
        out.extend(values(&row, ["MAX_CONTROLLED_MEMORY", "MAX_TOTAL_MEMORY"]));
        out.extend(values(&row, ["DIGEST", "FIRST_SEEN", "LAST_SEEN"]));
        out
    };
    Ok(descending(digests.iter().map(row).collect(), 6))
}

fn with_errors(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let holds = |row: &Row<'_>| row.number(ERRORS) + row.number(WARNINGS) > 0;
    let digests = tables.get_where(BY_DIGEST, DIGESTS, &[ERRORS, WARNINGS], holds)?;
    let rows = digests.iter().map(|row| {
        let count = row.number(COUNT) as f64;
        let share = |sum| quotient(row.number(sum) as f64 * 100.0, count, 4);
        let mut out = values(&row, ["DIGEST_TEXT", "SCHEMA_NAME", COUNT]).to_vec();
        out.extend([row.get(ERRORS), share(ERRORS), row.get(WARNINGS), share(WARNINGS)]);
        out.extend(values(&row, ["FIRST_SEEN", "LAST_SEEN", "DIGEST"]));
        out
    });
    Ok(descending(descending(rows.collect(), 5), 3))
}

fn with_scans(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let holds = |row: &Row<'_>| {
        let text = row.text("DIGEST_TEXT");
        row.number(NO_INDEX) + row.number(NO_GOOD_INDEX) > 0 && !text.starts_with("SHOW")
    };
    let digests = tables.get_where(BY_DIGEST, DIGESTS, &["DIGEST_TEXT", NO_INDEX, NO_GOOD_INDEX], holds)?;
    let rows = digests.iter().map(|row| {
        let mut out = values(&row, ["DIGEST_TEXT", "SCHEMA_NAME", COUNT, SUM, NO_INDEX, NO_GOOD_INDEX]).to_vec();
        out.push(quotient(row.number(NO_INDEX) as f64 * 100.0, row.number(COUNT) as f64, 0));
        out.extend([row.get(SENT), row.get(EXAMINED), average(&row, SENT), average(&row, EXAMINED)]);
        out.extend(values(&row, ["FIRST_SEEN", "LAST_SEEN", "DIGEST"]));
        out
    });
    Ok(descending(descending(rows.collect(), 3), 6))
}

fn with_sorting(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let digests = tables.get_where(BY_DIGEST, DIGESTS, &[SORTED], |row| row.number(SORTED) > 0)?;
    let rows = digests.iter().map(|row| {
        let mut out = values(&row, ["DIGEST_TEXT", "SCHEMA_NAME", COUNT, SUM, MERGES]).to_vec();
        out.push(average(&row, MERGES));
        out.extend(values(&row, ["SUM_SORT_SCAN", "SUM_SORT_RANGE", SORTED]));
        out.push(average(&row, SORTED));
        out.extend(values(&row, ["FIRST_SEEN", "LAST_SEEN", "DIGEST"]));
        out
    });
    Ok(descending(rows.collect(), 3))
}

fn with_temporary_tables(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let digests = tables.get_where(BY_DIGEST, DIGESTS, &[TABLES], |row| row.number(TABLES) > 0)?;
    let rows = digests.iter().map(|row| {
        let mut out = values(&row, ["DIGEST_TEXT", "SCHEMA_NAME", COUNT, SUM, TABLES, DISK_TABLES]).to_vec();
        out.push(average(&row, TABLES));
        out.push(quotient(row.number(DISK_TABLES) as f64 * 100.0, row.number(TABLES) as f64, 0));
        out.extend(values(&row, ["FIRST_SEEN", "LAST_SEEN", "DIGEST"]));
        out
    });
    Ok(descending(descending(rows.collect(), 4), 5))
}

/// How many digests have which average, in microseconds, the least first.
fn averages(tables: &mut Tables<'_>) -> SqlResult<Vec<(u64, u64)>> {
    const PICOS_PER_MICRO: u64 = 1_000_000;
    let digests = tables.get(BY_DIGEST, DIGESTS)?;
    let mut all: Vec<u64> =
        digests.iter().map(|row| (row.number(AVG) + PICOS_PER_MICRO / 2) / PICOS_PER_MICRO).collect();
    all.sort_unstable();
    let mut counted: Vec<(u64, u64)> = Vec::new();
    for average in all {
        match counted.last_mut() {
            Some((known, count)) if *known == average => *count += 1,
            _ => counted.push((average, 1)),
        }
    }
    Ok(counted)
}

/// The least average that no more than one digest in twenty exceeds, with the share that does not exceed it.
fn percentile(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(threshold(tables)?.map(|(us, share)| vec![whole(us), quotient(share, 1.0, 4)]).into_iter().collect())
}

fn threshold(tables: &mut Tables<'_>) -> SqlResult<Option<(u64, f64)>> {
    let averages = averages(tables)?;
    let total: u64 = averages.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    for (us, count) in averages {
        below += count;
        let share = below as f64 / total as f64;
        if share > PERCENTILE {
            return Ok(Some((us, share)));
        }
    }
    Ok(None)
}

fn slowest(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let Some((threshold, _)) = threshold(tables)? else { return Ok(Vec::new()) };
    let digests = tables.get(BY_DIGEST, DIGESTS)?;
    let is_slow = |row: &Row<'_>| (row.number(AVG) + 500_000) / 1_000_000 >= threshold;
    let rows = digests.iter().filter(is_slow).map(|row| {
        let mut out = values(&row, ["DIGEST_TEXT", "SCHEMA_NAME"]).to_vec();
        out.push(full_scan(&row));
        out.extend(values(&row, [COUNT, ERRORS, WARNINGS, SUM, MAX, AVG]));
        out.extend([row.get(SENT), average(&row, SENT), row.get(EXAMINED), average(&row, EXAMINED)]);
        out.extend(values(&row, ["FIRST_SEEN", "LAST_SEEN", "DIGEST"]));
        out
    });
    Ok(descending(rows.collect(), 8))
}
