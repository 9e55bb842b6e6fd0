//! Comparison of strings with a constant, as a DataFusion predicate.
//!
//! Joins and groups need sort keys; a filter does not, and comparing is cheaper than making keys.

use super::CompareOp;
use super::call_udf::ColumnName;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rustc_hash::FxHashMap;
use squall_types::CollationId;
use squall_types::collation::compare;
use std::any::Any;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// `text op text` in a collation, giving a Boolean.
#[derive(Debug)]
pub struct TextCompareUdf {
    op: CompareOp,
    collation: CollationId,
    signature: Signature,
    column_name: ColumnName,
}

impl PartialEq for TextCompareUdf {
    fn eq(&self, other: &Self) -> bool {
        (self.op, self.collation) == (other.op, other.collation)
    }
}

impl Eq for TextCompareUdf {}

impl Hash for TextCompareUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.op, self.collation).hash(state);
    }
}

impl TextCompareUdf {
    /// The comparison that a function is; `None` for other functions.
    pub fn of(function: &ScalarUDF) -> Option<&TextCompareUdf> {
        (function.inner().as_ref() as &dyn Any).downcast_ref()
    }

    /// A comparison; `<=>` is not one of them.
    pub fn new(op: CompareOp, collation: CollationId) -> Self {
        Self { op, collation, signature: Signature::any(2, Volatility::Immutable), column_name: ColumnName::default() }
    }

    /// Which comparison.
    pub fn op(&self) -> CompareOp {
        self.op
    }

    /// How texts compare.
    pub fn collation(&self) -> CollationId {
        self.collation
    }

    /// Compares an array with one text. Columns often have few different texts, so answers are remembered.
    fn with_constant(&self, texts: &StringViewArray, constant: Option<&str>, swapped: bool) -> BooleanArray {
        let Some(constant) = constant else { return BooleanArray::new_null(texts.len()) };
        let op = if swapped { self.op.swapped() } else { self.op };
        let mut known: FxHashMap<&str, bool> = FxHashMap::default();
        let mut result = BooleanBuilder::with_capacity(texts.len());
        for text in texts {
            match text {
                None => result.append_null(),
                Some(text) if text == constant => result.append_value(op.accepts(Ordering::Equal)),
                Some(text) => result.append_value(
                    *known.entry(text).or_insert_with(|| op.accepts(compare(self.collation, text, constant))),
                ),
            }
        }
        result.finish()
    }
}

fn texts(array: &ArrayRef) -> Result<&StringViewArray> {
    match array.as_string_view_opt() {
        Some(texts) => Ok(texts),
        None => datafusion::common::internal_err!("strings in another layout: {}", array.data_type()),
    }
}

fn constant(scalar: &ScalarValue) -> Option<&str> {
    scalar.try_as_str().flatten()
}

impl ScalarUDFImpl for TextCompareUdf {
    fn name(&self) -> &str {
        self.op.symbol()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.column_name.get(self.name(), args))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = match args.args.as_slice() {
            [ColumnarValue::Array(left), ColumnarValue::Scalar(right)] => {
                self.with_constant(texts(left)?, constant(right), false)
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Array(right)] => {
                self.with_constant(texts(right)?, constant(left), true)
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Scalar(right)] => {
                let result = match (constant(left), constant(right)) {
                    (Some(left), Some(right)) => Some(self.op.accepts(compare(self.collation, left, right))),
                    _ => None,
                };
                return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(result)));
            }
            [ColumnarValue::Array(left), ColumnarValue::Array(right)] => {
                let pairs = texts(left)?.iter().zip(texts(right)?);
                pairs
                    .map(|(left, right)| Some(self.op.accepts(compare(self.collation, left?, right?))))
                    .collect::<BooleanArray>()
            }
            _ => return datafusion::common::internal_err!("a comparison of two texts"),
        };
        Ok(ColumnarValue::Array(Arc::new(result)))
    }
}
