//! The five files as tables: the fact table in Segments, the dimensions as coded columns in memory.

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use squall_column_store::index::IndexChoice;
use squall_column_store::predicate::DeltaColumns;
use squall_column_store::segment::SEGMENT_ROWS_MAX;
use squall_column_store::star::StarSource;
use squall_column_store::{
    CodedColumn, ColumnCache, ColumnSpec, ColumnType, Segment, SegmentColumns, SegmentIdentity, SegmentWriter,
};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Columns of a file, and whether each is a number.
type Layout = &'static [(&'static str, bool)];

const LINEORDER: Layout = &[
    ("lo_orderkey", true),
    ("lo_linenumber", true),
    ("lo_custkey", true),
    ("lo_partkey", true),
    ("lo_suppkey", true),
    ("lo_orderdate", true),
    ("lo_orderpriority", false),
    ("lo_shippriority", false),
    ("lo_quantity", true),
    ("lo_extendedprice", true),
    ("lo_ordtotalprice", true),
    ("lo_discount", true),
    ("lo_revenue", true),
    ("lo_supplycost", true),
    ("lo_tax", true),
    ("lo_commitdate", true),
    ("lo_shipmode", false),
];
const PEOPLE: Layout =
    &[("key", true), ("name", false), ("address", false), ("city", false), ("nation", false), ("region", false)];
const PART: Layout = &[("key", true), ("name", false), ("mfgr", false), ("category", false), ("brand", false)];
const DATE: Layout = &[
    ("datekey", true),
    ("date", false),
    ("dayofweek", false),
    ("month", false),
    ("year", true),
    ("yearmonthnum", true),
    ("yearmonth", false),
    ("daynuminweek", true),
    ("daynuminmonth", true),
    ("daynuminyear", true),
    ("monthnuminyear", true),
    ("weeknuminyear", true),
];

/// A dimension, and what its columns are called.
pub struct DimensionTable {
    pub rows: DeltaColumns,
    layout: Layout,
}

impl DimensionTable {
    pub fn ordinal(&self, name: &str) -> usize {
        ordinal(self.layout, name)
    }
}

fn ordinal(layout: Layout, name: &str) -> usize {
    layout.iter().position(|(other, _)| *other == name).expect("a column of the table")
}

/// A column of the fact table.
pub fn fact(name: &str) -> usize {
    ordinal(LINEORDER, name)
}

pub struct Tables {
    segments: Vec<Segment>,
    cache: ColumnCache,
    pub date: DimensionTable,
    pub supplier: DimensionTable,
    pub customer: DimensionTable,
    pub part: DimensionTable,
    seal_seconds: Option<f64>,
}

impl Tables {
    pub fn load(folder: &Path) -> Tables {
        let dimension = |file: &str, layout: Layout| {
            let mut lines = BufReader::new(File::open(folder.join(file)).expect("the file of a dimension")).lines();
            let columns = read(&mut lines, layout, usize::MAX).expect("a dimension has rows");
            let coded = columns.iter().zip(layout).map(|(array, (_, is_number))| {
                Arc::new(CodedColumn::from_arrays(column_type(*is_number), std::slice::from_ref(array)).expect("codes"))
            });
            DimensionTable { rows: DeltaColumns::new(coded.collect()).expect("columns of one length"), layout }
        };
        let (segments, seal_seconds) = fact_segments(folder);
        Tables {
            segments,
            cache: ColumnCache::new(2 << 30),
            date: dimension("date.csv", DATE),
            supplier: dimension("supplier.csv", PEOPLE),
            customer: dimension("customer.csv", PEOPLE),
            part: dimension("part.csv", PART),
            seal_seconds,
        }
    }

    /// Calls `run` with the fact table's sources.
    pub fn with_sources<T>(&self, run: impl FnOnce(&[StarSource<'_>]) -> T) -> T {
        let columns: Vec<SegmentColumns<'_>> =
            self.segments.iter().map(|segment| SegmentColumns { segment, cache: &self.cache }).collect();
        let sources: Vec<StarSource<'_>> =
            columns.iter().map(|columns| StarSource { columns, deleted: None }).collect();
        run(&sources)
    }

    pub fn describe(&self) -> String {
        let rows: usize = self.segments.iter().map(Segment::rows).sum();
        let bytes: u64 = self.segments.iter().map(|segment| segment.identity().file_bytes).sum();
        let mut text = format!("{{\"segments\": {}, \"rows\": {rows}, \"bytes\": {bytes}", self.segments.len());
        if let Some(seconds) = self.seal_seconds {
            write!(text, ", \"seal_s\": {seconds:.1}").expect("writing to memory");
        }
        for (column, (name, _)) in LINEORDER.iter().enumerate() {
            let (data, blocks) = self.segments.iter().fold((0, 0), |(data, blocks), segment| {
                let (more_data, more_blocks) = segment.column_bytes(column);
                (data + more_data, blocks + more_blocks)
            });
            write!(text, ", \"{name}\": [{data}, {blocks}]").expect("writing to memory");
        }
        text + "}"
    }

    pub fn describe_memory(&self) -> String {
        let status = self.cache.status();
        format!("{{\"cached_columns\": {}, \"cached_bytes\": {}}}", status.entries, status.bytes)
    }
}

fn column_type(is_number: bool) -> ColumnType {
    if is_number { ColumnType::Signed(4) } else { ColumnType::Text }
}

/// Up to `rows` rows as arrays; `None` at the end of the file.
fn read(lines: &mut std::io::Lines<BufReader<File>>, layout: Layout, rows: usize) -> Option<Vec<ArrayRef>> {
    let mut numbers: Vec<Vec<i64>> = vec![Vec::new(); layout.len()];
    let mut texts: Vec<Vec<String>> = vec![Vec::new(); layout.len()];
    for line in lines.take(rows) {
        let line = line.expect("a readable line");
        for (column, (field, (_, is_number))) in line.split(',').zip(layout).enumerate() {
            if *is_number {
                numbers[column].push(field.parse().expect("a number"));
            } else {
                texts[column].push(field.to_string());
            }
        }
    }
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(layout.len());
    for (column, (_, is_number)) in layout.iter().enumerate() {
        arrays.push(if *is_number {
            Arc::new(Int64Array::from(std::mem::take(&mut numbers[column])))
        } else {
            Arc::new(StringViewArray::from_iter_values(std::mem::take(&mut texts[column])))
        });
    }
    (!arrays[0].is_empty()).then_some(arrays)
}

/// Opens the segments, or makes them and says how long sealing took, without reading the text.
fn fact_segments(folder: &Path) -> (Vec<Segment>, Option<f64>) {
    let segments = folder.join("segments");
    let list = segments.join("list");
    let path = |number: usize| segments.join(format!("{number}.parquet"));
    if let Ok(list) = fs::read_to_string(&list) {
        let open = |(number, line): (usize, &str)| {
            let words: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
            let [file_bytes, footer_checksum, rows] = words[..] else { panic!("three numbers in a line") };
            let identity = SegmentIdentity { file_bytes, footer_checksum, rows: rows as u32 };
            Segment::open(&path(number), identity).expect("a segment made before")
        };
        return (list.lines().enumerate().map(open).collect(), None);
    }
    fs::create_dir_all(&segments).expect("a folder for segments");
    let specs: Vec<ColumnSpec> = LINEORDER
        .iter()
        .enumerate()
        .map(|(id, (name, is_number))| ColumnSpec {
            id: id as u32,
            name: name.to_string(),
            column_type: column_type(*is_number),
            index: IndexChoice::Auto,
        })
        .collect();
    let mut lines = BufReader::new(File::open(folder.join("lineorder.csv")).expect("lineorder.csv")).lines();
    let (mut opened, mut seconds, mut entries) = (Vec::new(), 0.0, String::new());
    while let Some(arrays) = read(&mut lines, LINEORDER, SEGMENT_ROWS_MAX) {
        let path = path(opened.len());
        if path.exists() {
            fs::remove_file(&path).expect("a half-made segment goes");
        }
        let started = Instant::now();
        let identity =
            SegmentWriter::new(&path, &specs, Default::default()).with_threads(2).write(&arrays).expect("a segment");
        seconds += started.elapsed().as_secs_f64();
        writeln!(entries, "{} {} {}", identity.file_bytes, identity.footer_checksum, identity.rows)
            .expect("writing to memory");
        opened.push(Segment::open(&path, identity).expect("the segment opens"));
    }
    fs::write(list, entries).expect("the list of segments");
    (opened, Some(seconds))
}
