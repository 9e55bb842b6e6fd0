//! Conditions that FULLTEXT and JSON indexes and multi-valued keys answer, and the entries to read for them.
//!
//! An entry of such an index is a term (an element of an array) and a row. The scan may read too many rows; the filter above it
//! decides.

use super::cost::COST_LOOKUP;
use super::predicate::{CompareOp, Predicate};
use super::range::{EncodedRange, IndexRanges};
use squall_catalog::{IndexDef, TableDef};
use squall_functions::expr::{self};
use squall_functions::fulltext::{MatchKernel, Parser, Search};
use squall_functions::operators::convert::ConvertKernel;
use squall_functions::operators::json_compare::{JsonCompareKernel, to_json};
use squall_row_store::{Direction, ReadView, Table};
use squall_types::convert::json_elements;
use squall_types::json::path::PathLeg;
use squall_types::json::terms::TermRange;
use squall_types::json::terms::search::MemberPath;
use squall_types::json::{Json, JsonPath};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::sync::Arc;

use super::key::{storage_index_id, storage_range};

/// Entries that are counted to find out how many rows a condition finds.
const COUNTED_MAX: usize = 2000;
/// Ranges of one condition.
const RANGES_MAX: usize = 1000;

/// An expression as far as this module looks at it.
pub(super) enum Node<'a> {
    /// A column of the table.
    Column(usize),
    /// A constant with its type.
    Constant(Value, SqlType),
    /// A call.
    Call(&'a expr::Call, Vec<Node<'a>>),
    /// Anything else.
    Other,
}

/// Calls that are looked into.
pub(super) fn is_known_call(name: &str) -> bool {
    matches!(
        name,
        "JSON_EXTRACT"
            | "JSON_UNQUOTE"
            | "JSON_CONTAINS"
            | "JSON_CONTAINS_PATH"
            | "JSON_OVERLAPS"
            | "MEMBER OF"
            | "MATCH"
            | "="
            | "<=>"
            | "<"
            | "<="
            | ">"
            | ">="
    ) || name.starts_with("convert to ")
}

/// The terms of a call that is a condition.
pub(super) fn call_predicate(def: &TableDef, node: &Node<'_>) -> Predicate {
    let Node::Call(call, args) = node else { return Predicate::Unknown };
    found(def, call, args).unwrap_or(Predicate::Unknown)
}

/// The terms of a comparison of texts: `doc->>'$.name' = 'text'`.
pub(super) fn text_predicate(
    def: &TableDef,
    op: CompareOp,
    collation: CollationId,
    left: &Node<'_>,
    right: &Node<'_>,
) -> Predicate {
    // Terms are without case, but not without accents.
    if !matches!(op, CompareOp::Equal | CompareOp::NullSafeEqual) || !collation.is_binary() {
        return Predicate::Unknown;
    }
    [(left, right), (right, left)]
        .into_iter()
        .find_map(|(one, other)| {
            let Node::Call(call, args) = one else { return None };
            let (Node::Constant(Value::String(text), _), true) = (other, &*call.name == "JSON_UNQUOTE") else {
                return None;
            };
            let (index, path) = document_path(def, args.first()?)?;
            let mut ranges = vec![path.equal(&Json::String(text.clone()))?];
            match Json::parse(text.trim()) {
                Ok(Json::Array(_) | Json::Object(_)) => return None,
                Ok(Json::String(_)) | Err(_) => {}
                // A number prints as the text does.
                Ok(scalar) => ranges.push(path.equal(&scalar)?),
            }
            Some(Predicate::terms(index, ranges))
        })
        .unwrap_or(Predicate::Unknown)
}

fn found(def: &TableDef, call: &expr::Call, args: &[Node<'_>]) -> Option<Predicate> {
    match (&*call.name, args) {
        ("MATCH", _) => matched(def, call, args),
        ("MEMBER OF", [Node::Constant(value, ty), Node::Column(column)]) if element_type(def, *column).is_some() => {
            Some(any_element(def, *column, &[to_json(value, ty)]))
        }
        ("JSON_CONTAINS", [Node::Column(column), candidate]) if element_type(def, *column).is_some() => {
            match document(candidate)? {
                Json::Array(values) => {
                    // Arrays within arrays are no elements.
                    let scalars = values.into_iter().filter(Json::is_scalar);
                    Some(Predicate::and(scalars.map(|value| any_element(def, *column, &[value]))))
                }
                one => Some(any_element(def, *column, &[one])),
            }
        }
        ("JSON_OVERLAPS", [left, right]) if elements_column(def, left).or(elements_column(def, right)).is_some() => {
            let pair = elements_column(def, left).map(|column| (column, right));
            let (column, other) = pair.or_else(|| elements_column(def, right).map(|column| (column, left)))?;
            match document(other)? {
                Json::Array(values) => Some(any_element(def, column, &values)),
                one => Some(any_element(def, column, &[one])),
            }
        }
        ("JSON_CONTAINS", [target, candidate, rest @ ..]) => {
            let (index, mut path) = document_path(def, target)?;
            if let [at] = rest {
                path = further(&path, at)?;
            }
            let mut predicates = Vec::new();
            contained(index, &path, &document(candidate)?, &mut predicates);
            Some(Predicate::and(predicates))
        }
        ("MEMBER OF", [value, array]) => {
            let (index, path) = document_path(def, array)?;
            let Node::Constant(value, ty) = value else { return None };
            Some(Predicate::terms(index, vec![path.equal(&to_json(value, ty))?]))
        }
        ("JSON_OVERLAPS", [left, right]) => [(left, right), (right, left)].into_iter().find_map(|(one, other)| {
            let (index, path) = document_path(def, one)?;
            let ranges = match document(other)? {
                Json::Array(elements) => elements.iter().map(|value| path.equal(value)).collect(),
                Json::Object(object) => {
                    object.iter().map(|(name, value)| path.member(name).equal(value)).collect::<Option<Vec<_>>>()
                }
                scalar => path.equal(&scalar).map(|range| vec![range]),
            };
            limited(index, ranges?)
        }),
        ("JSON_CONTAINS_PATH", [target, Node::Constant(Value::String(how), _), paths @ ..]) => {
            let (index, path) = document_path(def, target)?;
            let each = paths.iter().map(|at| {
                let ranges = vec![further(&path, at)?.exists()?];
                Some(Predicate::terms(index, ranges))
            });
            let each: Vec<Predicate> = each.collect::<Option<_>>()?;
            match how.to_ascii_lowercase().as_str() {
                "one" => Some(Predicate::or(each)),
                "all" => Some(Predicate::and(each)),
                _ => None,
            }
        }
        (_, [left, right]) => {
            let op = super::predicate::bound_op(call.kernel_as::<JsonCompareKernel>()?.op)?;
            [(left, right, op), (right, left, op.swapped())].into_iter().find_map(|(one, other, op)| {
                let (index, path) = document_path(def, one)?;
                let value = document(other)?;
                let ranges = match op {
                    CompareOp::Equal | CompareOp::NullSafeEqual => vec![path.equal(&value)?],
                    CompareOp::Less | CompareOp::LessOrEqual => path.less(&value)?,
                    CompareOp::Greater | CompareOp::GreaterOrEqual => path.greater(&value)?,
                };
                Some(Predicate::terms(index, ranges))
            })
        }
        _ => None,
    }
}

/// The type of the elements that a multi-valued key files rows under, if the column is the document of one.
fn element_type(def: &TableDef, column: usize) -> Option<&SqlType> {
    def.columns.get(column)?.element_type()
}

fn elements_column(def: &TableDef, node: &Node<'_>) -> Option<usize> {
    match node {
        Node::Column(column) => element_type(def, *column).map(|_| *column),
        _ => None,
    }
}

/// A document that has one of the values among its elements.
fn any_element(def: &TableDef, column: usize, values: &[Json]) -> Predicate {
    let Some(element_type) = element_type(def, column) else { return Predicate::Unknown };
    let mut elements = Vec::with_capacity(values.len());
    for value in values {
        match value {
            // A document that is `null` is filed as NULL, and objects are compared by their members.
            Json::Null | Json::Object(_) => return Predicate::Unknown,
            // What cannot be an element of the type is none of any row.
            value => elements.extend(json_elements::element(value, element_type)),
        }
    }
    match elements.len() {
        0 => Predicate::Never,
        1..=RANGES_MAX => Predicate::Elements { column, values: elements },
        _ => Predicate::Unknown,
    }
}

fn limited(index: usize, ranges: Vec<TermRange>) -> Option<Predicate> {
    match ranges.len() {
        0 => Some(Predicate::Never),
        1..=RANGES_MAX => Some(Predicate::terms(index, ranges)),
        _ => None,
    }
}

/// The terms of a document that contains `candidate` at a path.
fn contained(index: usize, path: &MemberPath, candidate: &Json, predicates: &mut Vec<Predicate>) {
    if predicates.len() >= RANGES_MAX {
        return;
    }
    match candidate {
        Json::Array(elements) => elements.iter().for_each(|value| contained(index, path, value, predicates)),
        Json::Object(object) => {
            for (name, value) in object.iter() {
                let member = path.member(name);
                if matches!(value, Json::Array(_) | Json::Object(_)) {
                    predicates.extend(member.exists().map(|range| Predicate::terms(index, vec![range])));
                }
                contained(index, &member, value, predicates);
            }
        }
        scalar => predicates.extend(path.equal(scalar).map(|range| Predicate::terms(index, vec![range]))),
    }
}

/// A constant as a document.
fn document(node: &Node<'_>) -> Option<Json> {
    match node {
        Node::Constant(Value::Json(document), _) => document.to_json().ok(),
        Node::Constant(Value::String(text), _) => Json::parse(text).ok(),
        Node::Call(call, args) => {
            let convert = call.kernel_as::<ConvertKernel>().filter(|convert| convert.to == SqlType::Json)?;
            match args.as_slice() {
                [Node::Constant(value, _)] if !value.is_null() => Some(to_json(value, &convert.from)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The index of a column of documents, by its place in the table's list; the column by its ordinal.
pub fn json_index(def: &TableDef, column: usize) -> Option<usize> {
    let column = def.columns.get(column).filter(|column| column.sql_type == SqlType::Json)?;
    def.indexes.iter().position(|index| {
        index.is_json() && !index.invisible && matches!(index.parts.as_slice(), [part] if part.column == column.id)
    })
}

/// A place in a column of documents with an index: the index, and the members on the way.
fn document_path(def: &TableDef, node: &Node<'_>) -> Option<(usize, MemberPath)> {
    match node {
        Node::Column(column) => Some((json_index(def, *column)?, MemberPath::default())),
        Node::Call(call, args) if &*call.name == "JSON_EXTRACT" => match args.as_slice() {
            [inner, path] => {
                let (index, outer) = document_path(def, inner)?;
                Some((index, further(&outer, path)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A path and then another, which a constant is.
fn further(outer: &MemberPath, path: &Node<'_>) -> Option<MemberPath> {
    let Node::Constant(Value::String(text), _) = path else { return None };
    let path = JsonPath::parse(text).ok()?;
    path.legs().iter().try_fold(outer.clone(), |outer, leg| match leg {
        PathLeg::Member(name) => Some(outer.member(name)),
        PathLeg::Cell(_) | PathLeg::Range(..) | PathLeg::AnyCell => Some(outer),
        PathLeg::AnyMember | PathLeg::Ellipsis => None,
    })
}

/// MATCH … AGAINST with an index of exactly its columns.
fn matched(def: &TableDef, call: &expr::Call, args: &[Node<'_>]) -> Option<Predicate> {
    let (search, index) = search_of(def, call, args)?;
    let Some(search) = search else { return Some(Predicate::Never) };
    let each = search.terms()?.into_iter().map(|ranges| match limited(index, ranges) {
        Some(Predicate::Terms { index, ranges, .. }) => Predicate::Terms { index, ranges, of_match: true },
        other => other.unwrap_or(Predicate::Unknown),
    });
    Some(Predicate::and(each))
}

/// What MATCH … AGAINST searches for, nothing if that is NULL, and the place of the index of exactly its columns.
fn search_of(def: &TableDef, call: &expr::Call, args: &[Node<'_>]) -> Option<(Option<Search>, usize)> {
    let kernel = call.kernel_as::<MatchKernel>()?;
    let (against, columns) = args.split_last()?;
    let Node::Constant(against, _) = against else { return None };
    let columns: Vec<usize> = columns
        .iter()
        .map(|node| match node {
            Node::Column(column) => Some(*column),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let index = fulltext_index(def, &columns, Some(kernel.parser))?;
    let search = match against {
        Value::String(against) => Some(kernel.search_by_index(against)?),
        _ => None,
    };
    Some((search, index))
}

/// The index that answers a MATCH of a word, or any of several, by itself, and its entries: each is of a row that matches, and every
/// such row has one.
pub(super) fn any_word(def: &TableDef, node: &Node<'_>) -> Option<(usize, IndexRanges)> {
    let Node::Call(call, args) = node else { return None };
    let (search, index) = search_of(def, call, args)?;
    let terms = search?.any_word().filter(|terms| terms.len() <= RANGES_MAX)?;
    Some((index, index_ranges(&terms)))
}

/// The FULLTEXT indexes that MATCH looks into, by their positions: without its index each row's text has to be looked through.
pub(super) fn matched_indexes(predicate: &Predicate) -> Vec<usize> {
    let parts: &[Predicate] = match predicate {
        Predicate::And(parts) => parts,
        one => std::slice::from_ref(one),
    };
    let indexes = parts.iter().filter_map(|part| match part {
        Predicate::Terms { index, of_match: true, .. } => Some(*index),
        _ => None,
    });
    indexes.collect()
}

/// The FULLTEXT index of these columns, in any order.
pub fn fulltext_index(def: &TableDef, columns: &[usize], parser: Option<Parser>) -> Option<usize> {
    def.indexes.iter().position(|index| {
        let own = def.index_ordinals(index);
        let of_parser = match parser {
            Some(Parser::Json) => index.is_json(),
            Some(Parser::Ngrams(_)) => index.is_ngram(),
            Some(Parser::Words(_)) => !index.is_json() && !index.is_ngram(),
            None => true,
        };
        index.is_fulltext()
            && !index.invisible
            && of_parser
            && own.len() == columns.len()
            && own.iter().all(|column| columns.contains(column))
    })
}

/// The entries to read for a predicate, and how many rows they are taken to find; `None` if the index does not help.
pub fn best(
    view: &ReadView,
    table: &Arc<Table>,
    position: usize,
    predicate: &Predicate,
    rows: f64,
) -> SqlResult<Option<(IndexRanges, f64)>> {
    let Some(index) = table.def().indexes.get(position) else { return Ok(None) };
    let parts: &[Predicate] = match predicate {
        Predicate::And(parts) => parts,
        one => std::slice::from_ref(one),
    };
    let mut best: Option<(IndexRanges, f64)> = None;
    let own = parts.iter().filter_map(|part| match part {
        Predicate::Terms { index, ranges, .. } if *index == position => Some(ranges),
        _ => None,
    });
    // Values find fewer than names: what they find bounds how far others are counted.
    let (values, names): (Vec<_>, Vec<_>) = own.partition(|ranges| ranges.iter().all(|range| range.single));
    for ranges in values.into_iter().chain(names) {
        let ranges = index_ranges(ranges);
        let limit = best.as_ref().map_or(COUNTED_MAX, |(_, rows)| (*rows as usize).min(COUNTED_MAX));
        let found = estimate_of(count(view, table, index, &ranges, limit)?, rows);
        if best.as_ref().is_none_or(|(_, least)| found < *least) {
            best = Some((ranges, found));
        }
    }
    Ok(best)
}

/// A client that counts to the end knows; beyond it, more are taken to follow.
fn estimate_of(counted: usize, rows: f64) -> f64 {
    if counted < COUNTED_MAX { counted as f64 } else { (rows / COST_LOOKUP).max(counted as f64) }
}

/// How many rows the ranges of a multi-valued key are taken to find.
pub fn rows_found(
    view: &ReadView,
    table: &Arc<Table>,
    index: &IndexDef,
    ranges: &IndexRanges,
    rows: f64,
) -> SqlResult<f64> {
    Ok(estimate_of(count(view, table, index, ranges, COUNTED_MAX)?, rows))
}

fn index_ranges(ranges: &[TermRange]) -> IndexRanges {
    let single = matches!(ranges, [range] if range.single);
    let mut sorted: Vec<EncodedRange> =
        ranges.iter().map(|range| EncodedRange { low: range.low.clone(), high: range.high.clone() }).collect();
    sorted.sort_by(|left, right| left.low.cmp(&right.low));
    let mut merged: Vec<EncodedRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if last.high.as_ref().is_none_or(|high| range.low <= *high) => {
                last.high = match (last.high.take(), range.high) {
                    (Some(left), Some(right)) => Some(left.max(right)),
                    _ => None,
                };
            }
            _ => merged.push(range),
        }
    }
    let constant = usize::from(single);
    IndexRanges { ranges: merged, parts_used: 1, parts_constant: constant, points: false, repeats: !single }
}

fn count(
    view: &ReadView,
    table: &Arc<Table>,
    index: &IndexDef,
    ranges: &IndexRanges,
    limit: usize,
) -> SqlResult<usize> {
    let mut count = 0;
    for range in &ranges.ranges {
        let range = storage_range(table, storage_index_id(index), range)?;
        let mut cursor = view.scan(table, &range, Direction::Forward);
        while count < limit && cursor.next_entry()?.is_some() {
            count += 1;
        }
    }
    Ok(count)
}
