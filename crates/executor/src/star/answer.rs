//! Turns the kernel's groups into the aggregation's rows.

use super::dimension::DimensionRows;
use super::spec::{GroupPart, Output, StarSpec};
use crate::access::scan::make_batch;
use arrow::array::{
    ArrayRef, BinaryViewArray, Decimal128Array, Decimal256Array, Int64Array, StringViewArray, UInt32Array,
};
use arrow::datatypes::{DataType, SchemaRef, i256};
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use rustc_hash::FxHashMap;
use squall_column_store::Datum;
use squall_column_store::star::{Aggregate, Group, GroupKey, StarAnswer, float_of};
use squall_column_tables::from_utc;
use squall_functions::aggregate::{AggregateCall, SumKernel};
use squall_functions::arrow_map::arrow_type;
use squall_functions::expr::datafusion_error;
use squall_statement_context::StatementContext;
use squall_types::collation::sort_key;
use squall_types::temporal::TimeZone;
use squall_types::{DateTime, SqlType};
use std::sync::Arc;

/// Makes the rows; `None` if the kernel's result does not determine them: the extreme of a TIMESTAMP near a time at which clocks
/// are set back.
pub fn rows_of(
    spec: &StarSpec,
    dimensions: &[DimensionRows],
    answer: StarAnswer,
    schema: &SchemaRef,
    context: &StatementContext,
) -> Result<Option<RecordBatch>> {
    let groups = merged(spec, answer.groups);
    if spec.counts_groups {
        let count = groups.iter().filter(|group| group.keys.first().and_then(value_of).is_some()).count();
        let counted: ArrayRef = Arc::new(Int64Array::from(vec![count as i64]));
        return make_batch(schema.clone(), vec![counted], 1).map(Some).map_err(datafusion_error);
    }
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for (position, part) in spec.groups.iter().enumerate() {
        arrays.push(group_array(part, &groups, position, dimensions)?);
    }
    for output in &spec.outputs {
        arrays.push(match output {
            Output::Count(at) => {
                Arc::new(groups.iter().map(|group| group.values[*at].map(|count| count as i64)).collect::<Int64Array>())
            }
            Output::Extreme { at, data_type } => integers(groups.iter().map(|group| group.values[*at]), data_type)?,
            Output::ExtremeText { at, ordinal, data_type } => {
                let texts = answer.texts.get(ordinal).map_or(&[][..], Vec::as_slice);
                extreme_texts(groups.iter().map(|group| group.values[*at]), texts, data_type)?
            }
            Output::ExtremeMoment { at, greatest } => {
                let moments = groups.iter().map(|group| group.values[*at]);
                let Some(moments) = local_moments(moments, *greatest, &context.settings.time_zone) else {
                    return Ok(None);
                };
                moments
            }
            Output::Sum { sum, count, call } => sums(&groups, *sum, *count, call, context)?,
            Output::AnyOfDimension { join, at } => of_dimension(spec, &groups, dimensions, *join, *at)?,
            Output::AnyOfText { group } => {
                let values = groups.iter().map(|found| value_of(&found.keys[*group]));
                datums(values, &spec.groups[*group])?
            }
        });
    }
    // The kernel's arrays are of the aggregation's types but for what a plan may say of their NULLs.
    make_batch(schema.clone(), arrays, groups.len()).map(Some).map_err(datafusion_error)
}

/// Groups by texts that are equal in their collation are one.
fn merged(spec: &StarSpec, groups: Vec<Group>) -> Vec<Group> {
    let collation = |part: &GroupPart| match part {
        GroupPart::Text { sql_type: SqlType::String { collation, .. }, .. } => Some(*collation),
        _ => None,
    };
    let collations: Vec<_> = spec.groups.iter().map(collation).collect();
    if collations.iter().all(Option::is_none) {
        return groups;
    }
    let mut found: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    let mut merged: Vec<Group> = Vec::with_capacity(groups.len());
    for group in groups {
        let mut key = Vec::new();
        for (part, collation) in group.keys.iter().zip(&collations) {
            match (part, collation) {
                (GroupKey::Value(Some(Datum::Bytes(text))), Some(collation)) => {
                    let mut sort = Vec::new();
                    sort_key(*collation, &String::from_utf8_lossy(text), &mut sort);
                    key.push(1);
                    key.extend((sort.len() as u32).to_le_bytes());
                    key.extend(sort);
                }
                (other, _) => {
                    let text = format!("{other:?}");
                    key.push(0);
                    key.extend((text.len() as u32).to_le_bytes());
                    key.extend(text.as_bytes());
                }
            }
        }
        match found.get(&key) {
            Some(at) => merge(&spec.kernel, &mut merged[*at].values, &group.values),
            None => {
                found.insert(key, merged.len());
                merged.push(group);
            }
        }
    }
    merged
}

fn merge(aggregates: &[Aggregate], into: &mut [Option<i128>], from: &[Option<i128>]) {
    for ((aggregate, into), from) in aggregates.iter().zip(into).zip(from) {
        *into = match (*into, *from) {
            (None, other) | (other, None) => other,
            (Some(a), Some(b)) => Some(match aggregate {
                Aggregate::Min(_) | Aggregate::MinText(_) => a.min(b),
                Aggregate::Max(_) | Aggregate::MaxText(_) => a.max(b),
                Aggregate::CountRows | Aggregate::Count(_) | Aggregate::Sum(_) => a + b,
            }),
        };
    }
}

fn group_array(part: &GroupPart, groups: &[Group], position: usize, dimensions: &[DimensionRows]) -> Result<ArrayRef> {
    match part {
        GroupPart::Dimension { join, at } => {
            let codes = codes_of(groups, position)?;
            Ok(arrow::compute::take(&dimensions[*join].groups[*at], &codes, None)?)
        }
        GroupPart::Column { .. } => datums(groups.iter().map(|group| value_of(&group.keys[position])), part),
        GroupPart::Text { sql_type, .. } => {
            let SqlType::String { collation, .. } = sql_type else { return internal_err!("a text of another type") };
            let key = |group: &Group| match &group.keys[position] {
                GroupKey::Value(Some(Datum::Bytes(text))) => {
                    let mut key = Vec::new();
                    sort_key(*collation, &String::from_utf8_lossy(text), &mut key);
                    Some(key)
                }
                _ => None,
            };
            Ok(Arc::new(groups.iter().map(key).collect::<BinaryViewArray>()))
        }
    }
}

/// The numbers of a dimension's groups.
fn codes_of(groups: &[Group], position: usize) -> Result<UInt32Array> {
    let code = |group: &Group| match group.keys.get(position) {
        Some(GroupKey::Code(code)) => Ok(*code),
        _ => internal_err!("a group that is of no dimension"),
    };
    groups.iter().map(code).collect::<Result<Vec<u32>>>().map(UInt32Array::from)
}

/// A column of a dimension, whose groups are told apart by at least one part of the group key.
fn of_dimension(
    spec: &StarSpec,
    groups: &[Group],
    dimensions: &[DimensionRows],
    join: usize,
    at: usize,
) -> Result<ArrayRef> {
    let position =
        spec.groups.iter().position(|part| matches!(part, GroupPart::Dimension { join: of, .. } if *of == join));
    let position = position.ok_or_else(|| internal_datafusion_err!("a value of a dimension that has no groups"))?;
    Ok(arrow::compute::take(&dimensions[join].groups[at], &codes_of(groups, position)?, None)?)
}

fn value_of(key: &GroupKey) -> Option<&Datum> {
    match key {
        GroupKey::Value(value) => value.as_ref(),
        GroupKey::Code(_) => None,
    }
}

/// Values of a column of the column table.
fn datums<'a>(values: impl Iterator<Item = Option<&'a Datum>>, part: &GroupPart) -> Result<ArrayRef> {
    match part {
        GroupPart::Column { sql_type, .. } => {
            let integer = |value: Option<&Datum>| match value {
                Some(Datum::Integer(value)) => Some(*value),
                _ => None,
            };
            integers(values.map(integer), &arrow_type(sql_type))
        }
        GroupPart::Text { .. } => {
            let text = |value: Option<&Datum>| match value {
                Some(Datum::Bytes(text)) => Some(String::from_utf8_lossy(text).into_owned()),
                _ => None,
            };
            Ok(Arc::new(values.map(text).collect::<StringViewArray>()))
        }
        GroupPart::Dimension { .. } => internal_err!("a column of a dimension"),
    }
}

fn integers(values: impl Iterator<Item = Option<i128>>, data_type: &DataType) -> Result<ArrayRef> {
    let scalar = |value: Option<i128>| -> Result<ScalarValue> {
        Ok(match (data_type, value) {
            (DataType::Int64, value) => ScalarValue::Int64(value.map(|value| value as i64)),
            (DataType::UInt64, value) => ScalarValue::UInt64(value.map(|value| value as u64)),
            (DataType::Float64, value) => ScalarValue::Float64(value.map(float_of)),
            (DataType::Decimal128(precision, scale), value) => ScalarValue::Decimal128(value, *precision, *scale),
            (other, _) => return internal_err!("an extreme of type {other}"),
        })
    };
    let scalars = values.map(scalar).collect::<Result<Vec<_>>>()?;
    match scalars.is_empty() {
        true => Ok(arrow::array::new_empty_array(data_type)),
        false => ScalarValue::iter_to_array(scalars),
    }
}

/// Texts by their ranks.
fn extreme_texts(
    ranks: impl Iterator<Item = Option<i128>>,
    texts: &[Box<[u8]>],
    data_type: &DataType,
) -> Result<ArrayRef> {
    let text = |rank: Option<i128>| match rank {
        None => Ok(None),
        Some(rank) => match usize::try_from(rank).ok().and_then(|rank| texts.get(rank)) {
            Some(text) => Ok(Some(text)),
            None => internal_err!("an extreme of a text that is none"),
        },
    };
    let found = ranks.map(text).collect::<Result<Vec<_>>>()?;
    Ok(match data_type {
        DataType::BinaryView => Arc::new(found.into_iter().collect::<BinaryViewArray>()),
        _ => Arc::new(
            found.into_iter().map(|text| text.map(|text| String::from_utf8_lossy(text))).collect::<StringViewArray>(),
        ),
    })
}

/// Extremes of moments in UTC, in a time zone: the zone's own extremes, as texts and comparisons of SQL are. `None` if a moment beyond
/// one of them may be nearer than it looks, because clocks are put back between the two.
fn local_moments(moments: impl Iterator<Item = Option<i128>>, greatest: bool, zone: &TimeZone) -> Option<ArrayRef> {
    let local = |moment: Option<i128>| match moment {
        None => Some(None),
        Some(packed) => {
            let moment = DateTime::from_packed(i64::try_from(packed).ok()?);
            // The zero value is the least everywhere.
            let known = moment.is_zero() || keeps_order_beyond(zone, moment, greatest);
            known.then(|| Some(from_utc(zone, moment).to_packed()))
        }
    };
    let found = moments.map(local).collect::<Option<Vec<Option<i64>>>>()?;
    Some(Arc::new(Int64Array::from(found)))
}

/// Whether every moment behind the least one, or before the greatest one, is so in the zone's own time, too. Offsets of a zone are no
/// more than 26 hours apart, and no offset lasts less than the quarters of an hour at which they are asked.
fn keeps_order_beyond(zone: &TimeZone, moment: DateTime, greatest: bool) -> bool {
    const STEP_SECONDS: i64 = 15 * 60;
    const STEPS: i64 = 26 * 4;
    let seconds = TimeZone::utc().to_unix_micros(moment).unix_micros.div_euclid(1_000_000);
    let offset = zone.offset_at(seconds);
    (1..=STEPS).all(|step| match greatest {
        true => zone.offset_at(seconds - step * STEP_SECONDS) <= offset,
        false => zone.offset_at(seconds + step * STEP_SECONDS) >= offset,
    })
}

/// SUM and AVG as their own states make them.
fn sums(
    groups: &[Group],
    sum: usize,
    count: usize,
    call: &AggregateCall,
    context: &StatementContext,
) -> Result<ArrayRef> {
    let kernel = call.kernel_as::<SumKernel>().ok_or_else(|| internal_datafusion_err!("a sum of another kind"))?;
    let sums = groups.iter().map(|group| group.values[sum].unwrap_or(0));
    let sums: ArrayRef = match kernel.is_narrow() {
        true => Arc::new(Decimal128Array::from_iter_values(sums).with_data_type(kernel.state_type())),
        false => {
            let sums = Decimal256Array::from_iter_values(sums.map(i256::from_i128));
            Arc::new(sums.with_data_type(kernel.state_type()))
        }
    };
    let counts: Int64Array = groups.iter().map(|group| group.values[count].map(|count| count as i64)).collect();
    let mut states = kernel.groups_accumulator(context);
    let numbers: Vec<usize> = (0..groups.len()).collect();
    states.merge_batch(&[sums, Arc::new(counts)], &numbers, groups.len())?;
    states.evaluate(EmitTo::All)
}
