//! Arrays whose charge is released with their last buffer.

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, StringViewArray};
use arrow::datatypes::DataType;
use arrow_buffer::Buffer;
use squall_accounting::GrowingCharge;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// A buffer of a charged array.
struct Held {
    buffer: Buffer,
    /// Shared by all of the array's buffers.
    _charge: Arc<GrowingCharge>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

/// Charges of less are released when the array is made: it comes and goes.
const HELD_BYTES_MIN: usize = 4 << 20;

/// The array, which keeps the charge of its texts if they are long.
pub(crate) fn charged(array: ArrayRef, charge: GrowingCharge) -> SqlResult<ArrayRef> {
    if charge.bytes() < HELD_BYTES_MIN {
        return Ok(array);
    }
    let charge = Arc::new(charge);
    let held = |buffers: &[Buffer]| -> Vec<Buffer> {
        let hold = |buffer: &Buffer| Held { buffer: buffer.clone(), _charge: charge.clone() };
        buffers.iter().map(|buffer| Buffer::from(bytes::Bytes::from_owner(hold(buffer)))).collect()
    };
    Ok(match array.data_type() {
        DataType::Utf8View => {
            let texts = array.as_string_view();
            let (views, nulls) = (texts.views().clone(), texts.nulls().cloned());
            Arc::new(StringViewArray::try_new(views, held(texts.data_buffers()), nulls).map_err(SqlError::internal)?)
        }
        DataType::BinaryView => {
            let texts = array.as_binary_view();
            let (views, nulls) = (texts.views().clone(), texts.nulls().cloned());
            Arc::new(BinaryViewArray::try_new(views, held(texts.data_buffers()), nulls).map_err(SqlError::internal)?)
        }
        // Numbers take little.
        _ => array,
    })
}
