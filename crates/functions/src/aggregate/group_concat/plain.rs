//! GROUP_CONCAT without clauses, over arrays.

use super::joined::{Joined, JoinedRef, Joining, Piece, text_of};
use crate::aggregate::state_charge::StateCharge;
use crate::arrow_map::value_at;
use crate::expr::datafusion_error;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray, StringViewBuilder};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use arrow_buffer::NullBuffer;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use squall_types::SqlType;
use std::sync::Arc;

/// Where the texts of an array's rows go.
trait TextSink {
    /// Takes the text of a row.
    fn take(&mut self, row: usize, piece: impl Piece);
}

/// Gives the text of each row that counts to `sink`. `source` is the values' type.
fn take_texts(
    array: &ArrayRef,
    source: &SqlType,
    filter: Option<&BooleanArray>,
    sink: &mut impl TextSink,
) -> Result<()> {
    let present = rows_that_count(array, filter);
    let present = present.as_ref();
    match (array.data_type(), source) {
        (DataType::Null, _) => {}
        (DataType::Utf8View, SqlType::Json) => {
            let documents = array.as_string_view();
            for_each_row(documents.len(), present, |row| {
                sink.take(row, squall_types::json::printed(documents.value(row)).as_bytes());
            });
        }
        (DataType::Utf8View, _) => {
            let texts = array.as_string_view();
            for_each_row(texts.len(), present, |row| sink.take(row, texts.value(row).as_bytes()));
        }
        (DataType::BinaryView, _) => {
            let texts = array.as_binary_view();
            for_each_row(texts.len(), present, |row| sink.take(row, texts.value(row)));
        }
        (DataType::Int64, SqlType::Int { unsigned: false, zerofill: false, .. }) => {
            let numbers = array.as_primitive::<Int64Type>().values();
            for_each_row(numbers.len(), present, |row| sink.take(row, numbers[row]));
        }
        (DataType::UInt64, SqlType::Int { unsigned: true, zerofill: false, .. }) => {
            let numbers = array.as_primitive::<UInt64Type>().values();
            for_each_row(numbers.len(), present, |row| sink.take(row, numbers[row]));
        }
        _ => {
            for row in (0..array.len()).filter(|row| present.is_none_or(|present| present.is_valid(*row))) {
                let value = value_at(array, row, source).map_err(datafusion_error)?;
                sink.take(row, (value, source));
            }
        }
    }
    Ok(())
}

fn for_each_row(count: usize, present: Option<&NullBuffer>, take: impl FnMut(usize)) {
    match present {
        None => (0..count).for_each(take),
        Some(present) => present.valid_indices().for_each(take),
    }
}

/// Which rows are neither NULL nor left out by a filter; `None` if all count.
fn rows_that_count(array: &ArrayRef, filter: Option<&BooleanArray>) -> Option<NullBuffer> {
    let chosen = filter.map(|filter| match filter.nulls() {
        Some(nulls) => NullBuffer::new(filter.values() & nulls.inner()),
        None => NullBuffer::new(filter.values().clone()),
    });
    NullBuffer::union(array.nulls(), chosen.as_ref()).filter(|present| present.null_count() > 0)
}

/// One group.
#[derive(Debug)]
pub struct PlainConcat {
    source: SqlType,
    charge: StateCharge,
    joining: Joining,
    joined: Joined,
}

impl PlainConcat {
    /// An empty group of values of a type.
    pub fn new(source: SqlType, joining: Joining) -> Self {
        let charge = StateCharge::new(&joining.context);
        Self { source, charge, joining, joined: Joined::default() }
    }

    /// What stands between texts.
    pub fn separator(&self) -> &[u8] {
        &self.joining.separator
    }

    /// Appends the texts of this many rows, which are joined already.
    pub fn append_joined(&mut self, bytes: &[u8], rows: u64) {
        self.joined.append(&JoinedRef { bytes, rows, cut: false }, &self.joining);
    }

    /// Whether nothing more is taken.
    pub fn is_cut(&self) -> bool {
        self.joined.cut
    }
}

struct OneSink<'a> {
    joined: &'a mut Joined,
    joining: &'a Joining,
}

impl TextSink for OneSink<'_> {
    #[inline]
    fn take(&mut self, _row: usize, piece: impl Piece) {
        self.joined.push(piece, self.joining);
    }
}

impl Accumulator for PlainConcat {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        self.joining.context.kill.check().map_err(datafusion_error)?;
        if self.joined.cut {
            return Ok(());
        }
        let mut sink = OneSink { joined: &mut self.joined, joining: &self.joining };
        take_texts(values, &self.source, None, &mut sink)?;
        self.charge.grown(self.joined.bytes.capacity()).map_err(datafusion_error)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let length = self.joined.bytes.len();
        self.joining.context.kill.check().and_then(|()| self.joining.check()).map_err(datafusion_error)?;
        self.charge.making(length, 1).and_then(|()| self.charge.gave(length)).map_err(datafusion_error)?;
        // Kept, for a result may be asked for again.
        Ok(match self.joined.rows {
            0 if self.joining.binary => ScalarValue::BinaryView(None),
            0 => ScalarValue::Utf8View(None),
            _ if self.joining.binary => ScalarValue::BinaryView(Some(self.joined.bytes.clone())),
            _ => ScalarValue::Utf8View(Some(text_of(self.joined.bytes.clone()))),
        })
    }

    fn size(&self) -> usize {
        self.charge.tell(size_of::<Self>() + self.joined.bytes.capacity())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::BinaryView(Some(state_of(&self.joined).encode()))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for state in states_of(states)?.iter().flatten() {
            let state = JoinedRef::decode(state).map_err(datafusion_error)?;
            self.joined.append(&state, &self.joining);
        }
        Ok(())
    }
}

fn state_of(joined: &Joined) -> JoinedRef<'_> {
    JoinedRef { bytes: &joined.bytes, rows: joined.rows, cut: joined.cut }
}

fn states_of(states: &[ArrayRef]) -> Result<&BinaryViewArray> {
    match states.first().and_then(|states| states.as_binary_view_opt()) {
        Some(states) => Ok(states),
        None => datafusion::common::internal_err!("a state of another aggregate"),
    }
}

/// Many groups.
#[derive(Debug)]
pub struct ConcatGroups {
    source: SqlType,
    joining: Joining,
    groups: Vec<Joined>,
    /// Bytes of the groups' buffers.
    bytes: usize,
}

impl ConcatGroups {
    /// No group yet.
    pub fn new(source: SqlType, joining: Joining) -> Self {
        Self { source, joining, groups: Vec::new(), bytes: 0 }
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Joined> {
        let taken = emit_to.take_needed(&mut self.groups);
        self.bytes -= taken.iter().map(|group| group.bytes.capacity()).sum::<usize>();
        taken
    }
}

struct GroupsSink<'a> {
    groups: &'a mut [Joined],
    /// The group of each row.
    group_indices: &'a [usize],
    joining: &'a Joining,
    bytes: &'a mut usize,
}

impl TextSink for GroupsSink<'_> {
    #[inline]
    fn take(&mut self, row: usize, piece: impl Piece) {
        let group = &mut self.groups[self.group_indices[row]];
        let before = group.bytes.capacity();
        group.push(piece, self.joining);
        *self.bytes += group.bytes.capacity() - before;
    }
}

/// Texts of this many bytes become buffers of their own in an array rather than being copied into a shared one.
const OWN_BUFFER_BYTES: usize = 1 << 13;

impl GroupsAccumulator for ConcatGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Joined::default());
        let Some(values) = values.first() else { return Ok(()) };
        self.joining.context.kill.check().map_err(datafusion_error)?;
        let mut sink =
            GroupsSink { groups: &mut self.groups, group_indices, joining: &self.joining, bytes: &mut self.bytes };
        take_texts(values, &self.source, opt_filter, &mut sink)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.joining.check().map_err(datafusion_error)?;
        let taken = self.take(emit_to);
        if self.joining.binary {
            let mut builder = BinaryViewBuilder::with_capacity(taken.len());
            taken.iter().for_each(|group| builder.append_option((group.rows > 0).then_some(&group.bytes)));
            return Ok(Arc::new(builder.finish()));
        }
        let mut builder = StringViewBuilder::with_capacity(taken.len());
        for group in taken {
            match group.rows {
                0 => builder.append_null(),
                _ if group.bytes.len() < OWN_BUFFER_BYTES => builder.append_value(text_of(group.bytes)),
                _ => {
                    let text = text_of(group.bytes);
                    // At most `BYTES_MAX` of the joining.
                    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                    let block = builder.append_block(text.into_bytes().into());
                    builder.try_append_view(block, 0, length)?;
                }
            }
        }
        Ok(Arc::new(builder.finish()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = self.take(emit_to).into_iter().map(|group| Some(state_of(&group).encode()));
        Ok(vec![Arc::new(states.collect::<BinaryViewArray>())])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups.resize(total_num_groups, Joined::default());
        for (state, group) in states_of(values)?.iter().zip(group_indices) {
            let Some(state) = state else { continue };
            let state = JoinedRef::decode(state).map_err(datafusion_error)?;
            let group = &mut self.groups[*group];
            let before = group.bytes.capacity();
            group.append(&state, &self.joining);
            self.bytes += group.bytes.capacity() - before;
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let count = values.first().map_or(0, |values| values.len());
        let mut rows = ConcatGroups::new(self.source.clone(), self.joining.clone());
        let groups: Vec<usize> = (0..count).collect();
        rows.update_batch(values, &groups, opt_filter, count)?;
        rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.groups.capacity() * size_of::<Joined>() + self.bytes
    }
}
