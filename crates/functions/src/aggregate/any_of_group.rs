//! The value that some row of each group has: what GROUP BY shows of texts that are equal, and of columns that it determines.
//!
//! Values stay in arrays: of each batch the rows that begin a group are kept, all at once.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array, new_empty_array, new_null_array};
use arrow::compute::{concat, interleave, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, GroupsAccumulator, Signature, Volatility,
};
use std::any::Any;
use std::sync::{Arc, LazyLock};

/// The aggregate function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct AnyOfGroup {
    signature: Signature,
    is_determined: bool,
}

impl AnyOfGroup {
    fn function(is_determined: bool) -> Arc<AggregateUDF> {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(AnyOfGroup { signature, is_determined }))
    }

    /// A function that is one.
    pub fn of(function: &AggregateUDF) -> Option<&AnyOfGroup> {
        (function.inner().as_ref() as &dyn Any).downcast_ref()
    }

    /// Whether all rows of a group have the same value.
    pub fn is_determined(&self) -> bool {
        self.is_determined
    }
}

/// The value of a group's first row.
pub fn any_of_group(value: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| AnyOfGroup::function(false));
    call(&FUNCTION, value)
}

/// The value of all rows of a group, which is the same.
pub fn determined_by_group(value: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| AnyOfGroup::function(true));
    call(&FUNCTION, value)
}

fn call(function: &Arc<AggregateUDF>, value: Expr) -> Expr {
    Expr::AggregateFunction(AggregateFunction::new_udf(function.clone(), vec![value], false, None, Vec::new(), None))
}

impl AggregateUDFImpl for AnyOfGroup {
    fn name(&self) -> &str {
        if self.is_determined { "determined_value" } else { "any_value" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [of] => Ok(of.clone()),
            _ => internal_err!("{} of {} arguments", self.name(), arg_types.len()),
        }
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let [of] = arg_fields else { return internal_err!("{} of {} arguments", self.name(), arg_fields.len()) };
        // Without rows there is none.
        let field = Field::new(self.name(), of.data_type().clone(), true);
        Ok(Arc::new(field.with_metadata(of.metadata().clone())))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |name: &str, data_type| Arc::new(Field::new(format_state_name(args.name, name), data_type, true));
        Ok(vec![field("value", args.return_type().clone()), field("is_set", DataType::Boolean)])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(FirstRow { value: ScalarValue::try_from(args.return_field.data_type())?, is_set: false }))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(FirstRows::new(args.return_field.data_type())))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The value of one group.
#[derive(Debug)]
struct FirstRow {
    value: ScalarValue,
    is_set: bool,
}

impl Accumulator for FirstRow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(values) = values.first().filter(|values| !self.is_set && !values.is_empty()) {
            self.value = ScalarValue::try_from_array(values, 0)?;
            // A view would keep the buffers of the whole batch.
            self.value.compact();
            self.is_set = true;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size() - size_of_val(&self.value)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::Boolean(Some(self.is_set))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, are_set] = states else { return internal_err!("a state of another aggregate") };
        let are_set = are_set.as_boolean();
        match (0..values.len()).find(|row| are_set.value(*row)) {
            Some(row) => self.update_batch(&[values.slice(row, 1)]),
            None => Ok(()),
        }
    }
}

/// The values of all groups.
struct FirstRows {
    data_type: DataType,
    /// The kept rows, those of one batch in each.
    kept: Vec<ArrayRef>,
    /// What they take, in bytes.
    kept_bytes: usize,
    /// For each group the array and the row in it; no array for a group that has no row yet.
    places: Vec<(u32, u32)>,
}

const NO_ARRAY: u32 = u32::MAX;

impl FirstRows {
    fn new(data_type: &DataType) -> FirstRows {
        FirstRows { data_type: data_type.clone(), kept: Vec::new(), kept_bytes: 0, places: Vec::new() }
    }

    /// Keeps the first of some rows for each group that has none.
    fn add(
        &mut self,
        values: &ArrayRef,
        group_indices: &[usize],
        groups: usize,
        counts: impl Fn(usize) -> bool,
    ) -> Result<()> {
        self.places.resize(groups.max(self.places.len()), (NO_ARRAY, 0));
        let array = self.kept.len() as u32;
        let mut rows: Vec<u32> = Vec::new();
        for (row, group) in group_indices.iter().enumerate() {
            let place = &mut self.places[*group];
            if place.0 == NO_ARRAY && counts(row) {
                *place = (array, rows.len() as u32);
                rows.push(row as u32);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let kept = compacted(take(values, &UInt32Array::from(rows), None)?);
        self.kept_bytes += kept.get_array_memory_size();
        self.kept.push(kept);
        Ok(())
    }

    /// The values of the first groups, which are no groups any more, and which of them have one.
    fn take_first(&mut self, emit_to: EmitTo) -> Result<(ArrayRef, Vec<bool>)> {
        let places = emit_to.take_needed(&mut self.places);
        let are_set: Vec<bool> = places.iter().map(|(array, _)| *array != NO_ARRAY).collect();
        let values = self.gather(&places)?;
        self.drop_unused();
        Ok((values, are_set))
    }

    fn gather(&self, places: &[(u32, u32)]) -> Result<ArrayRef> {
        if places.is_empty() {
            return Ok(new_empty_array(&self.data_type));
        }
        // Groups are numbered as they appear, so most often these are the kept rows as they are.
        let mut at = self
            .kept
            .iter()
            .enumerate()
            .flat_map(|(array, rows)| (0..rows.len()).map(move |row| (array as u32, row as u32)));
        let kept: usize = self.kept.iter().map(|rows| rows.len()).sum();
        if kept == places.len() && places.iter().all(|place| at.next() == Some(*place)) {
            let arrays: Vec<&dyn Array> = self.kept.iter().map(AsRef::as_ref).collect();
            return Ok(concat(&arrays)?);
        }
        let null = new_null_array(&self.data_type, 1);
        let arrays: Vec<&dyn Array> = self.kept.iter().chain([&null]).map(AsRef::as_ref).collect();
        let place = |(array, row): &(u32, u32)| match *array {
            NO_ARRAY => (self.kept.len(), 0),
            array => (array as usize, *row as usize),
        };
        let places: Vec<(usize, usize)> = places.iter().map(place).collect();
        Ok(interleave(&arrays, &places)?)
    }

    /// Drops the arrays before the first one that a group has its value in.
    fn drop_unused(&mut self) {
        let first = self.places.iter().map(|(array, _)| *array).min().unwrap_or(NO_ARRAY);
        let unused = (first as usize).min(self.kept.len());
        self.kept_bytes -= self.kept.drain(..unused).map(|array| array.get_array_memory_size()).sum::<usize>();
        for (array, _) in self.places.iter_mut().filter(|(array, _)| *array != NO_ARRAY) {
            *array -= unused as u32;
        }
    }
}

/// The same values; a view without the buffers of other rows.
fn compacted(values: ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Utf8View => Arc::new(values.as_string_view().gc()),
        DataType::BinaryView => Arc::new(values.as_binary_view().gc()),
        _ => values,
    }
}

impl GroupsAccumulator for FirstRows {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let [values] = values else { return internal_err!("a value of {} arguments", values.len()) };
        let passes = |row: usize| opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        self.add(values, group_indices, total_num_groups, passes)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.take_first(emit_to)?.0)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (values, are_set) = self.take_first(emit_to)?;
        Ok(vec![values, Arc::new(BooleanArray::from(are_set))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        let [values, are_set] = states else { return internal_err!("a state of another aggregate") };
        let are_set = are_set.as_boolean();
        self.add(values, group_indices, total_num_groups, |row| are_set.value(row))
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("a value of {} arguments", values.len()) };
        let are_set = match opt_filter {
            Some(filter) => (0..values.len()).map(|row| filter.is_valid(row) && filter.value(row)).collect(),
            None => vec![true; values.len()],
        };
        Ok(vec![values.clone(), Arc::new(BooleanArray::from(are_set))])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.kept_bytes + self.places.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringViewArray;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringViewArray::from(values.to_vec()))
    }

    #[test]
    fn groups_keep_their_first_rows() -> Result<()> {
        let mut groups = FirstRows::new(&DataType::Utf8View);
        let long = "a text that no view holds by itself";
        groups.update_batch(&[texts(&[Some("a"), Some("b"), None, Some("c")])], &[0, 0, 1, 2], None, 3)?;
        groups.update_batch(&[texts(&[Some("x"), Some(long), Some("y")])], &[1, 3, 3], None, 4)?;
        let first = groups.evaluate(EmitTo::First(2))?;
        assert_eq!(&first, &texts(&[Some("a"), None]));
        groups.update_batch(&[texts(&[Some("z"), Some("w")])], &[2, 0], None, 3)?;
        let state = groups.state(EmitTo::All)?;
        assert_eq!(&state[0], &texts(&[Some("c"), Some(long), Some("z")]));
        assert_eq!(groups.kept_bytes, 0);
        let mut merged = FirstRows::new(&DataType::Utf8View);
        let none: ArrayRef = Arc::new(BooleanArray::from(vec![false, true, true]));
        merged.merge_batch(&[state[0].clone(), none], &[0, 1, 0], 3)?;
        assert_eq!(&merged.evaluate(EmitTo::All)?, &texts(&[Some("z"), Some(long), None]));
        Ok(())
    }
}
