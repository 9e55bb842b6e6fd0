//! MySQL errors on their way through DataFusion.

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use squall_types::{ErrorCode, SqlError};

/// The error wrapped so that DataFusion carries it.
pub fn datafusion_error(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The MySQL error inside of an error of DataFusion, or the one that its own kind of failure means.
pub fn sql_error_from(error: DataFusionError) -> SqlError {
    if let Some(error) = find(&error) {
        return error.clone();
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => SqlError::new(ErrorCode::OutOfResources, &[]),
        DataFusionError::NotImplemented(what) => SqlError::unsupported(what),
        other => SqlError::internal(other),
    }
}

fn find(error: &DataFusionError) -> Option<&SqlError> {
    match error {
        DataFusionError::External(inner) => inside(inner.as_ref()),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => find(inner),
        DataFusionError::Shared(inner) => find(inner),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => inside(inner.as_ref()),
            _ => None,
        },
        DataFusionError::Collection(errors) => errors.iter().find_map(find),
        _ => None,
    }
}

fn inside<'a>(error: &'a (dyn std::error::Error + Send + Sync + 'static)) -> Option<&'a SqlError> {
    if let Some(error) = error.downcast_ref::<SqlError>() {
        return Some(error);
    }
    if let Some(error) = error.downcast_ref::<DataFusionError>() {
        return find(error);
    }
    match error.downcast_ref::<ArrowError>() {
        Some(ArrowError::ExternalError(inner)) => inside(inner.as_ref()),
        _ => None,
    }
}
