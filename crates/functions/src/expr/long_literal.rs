//! Long literals, hidden from DataFusion.
//!
//! At every step of planning DataFusion copies a literal with its expression and writes it into names of columns: a literal of 60 MB
//! took 900 MB. So a long literal becomes a call without arguments, which is cheap to copy and to name.

use super::datafusion_error;
use crate::arrow_map::{array_of_value, field_ref};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use squall_registry::ExprType;
use squall_types::Value;
use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Literals of more bytes are long. Keys are shorter: what is kept out of sight here is looked up by no index.
const BYTES_MAX: usize = 4 << 10;

/// Literals of more bytes are in memory once while their statement runs.
const HUGE_BYTES: usize = 1 << 20;

/// This many bytes of it are shown.
const SHOWN_BYTES: usize = 32;

/// A call that gives a long literal.
pub struct LongLiteralUdf {
    /// One row.
    value: ArrayRef,
    /// Tells it from others.
    digest: u128,
    /// Its first characters.
    beginning: String,
    name: String,
    field: FieldRef,
    signature: Signature,
}

impl LongLiteralUdf {
    /// The literal that a function is; `None` for other functions.
    pub fn of(function: &ScalarUDF) -> Option<&LongLiteralUdf> {
        (function.inner().as_ref() as &dyn Any).downcast_ref()
    }

    /// The literal as an expression, if it is long.
    pub(super) fn expr_of(value: &Value, ty: &ExprType) -> Result<Option<Expr>> {
        let bytes = match value {
            Value::String(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes.as_slice(),
            Value::Json(document) => document.stored().as_bytes(),
            _ => return Ok(None),
        };
        if bytes.len() <= BYTES_MAX {
            return Ok(None);
        }
        let digest = xxh3_128(bytes);
        let name = format!("literal_{digest:032x}");
        let udf = LongLiteralUdf {
            value: array_of_value(value, &ty.sql_type, 1).map_err(datafusion_error)?,
            digest,
            beginning: String::from_utf8_lossy(&bytes[..SHOWN_BYTES])
                .trim_end_matches(char::REPLACEMENT_CHARACTER)
                .to_string(),
            field: field_ref(&name, ty),
            name,
            signature: Signature::new(TypeSignature::Nullary, Volatility::Immutable),
        };
        let function = ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(udf)), Vec::new());
        Ok(Some(Expr::ScalarFunction(function)))
    }
}

impl LongLiteralUdf {
    /// Whether the literal is so long that there should be no other copy of it.
    pub(super) fn is_huge(&self) -> bool {
        self.value.get_buffer_memory_size() > HUGE_BYTES
    }

    /// The literal's first characters.
    pub fn beginning(&self) -> &str {
        &self.beginning
    }
}

impl ScalarUDFImpl for LongLiteralUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(self.field.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match args.number_rows {
            // Without a copy.
            1 => ColumnarValue::Array(Arc::clone(&self.value)),
            _ => ColumnarValue::Scalar(ScalarValue::try_from_array(&self.value, 0)?),
        })
    }
}

impl Debug for LongLiteralUdf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LongLiteralUdf").field(&self.name).finish()
    }
}

impl PartialEq for LongLiteralUdf {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.field == other.field && *self.value == *other.value
    }
}

impl Eq for LongLiteralUdf {}

impl Hash for LongLiteralUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}
