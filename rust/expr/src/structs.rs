//! Fields of a struct that is null.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, StructArray, cast::AsArray};
use arrow_schema::{ArrowError, DataType};
use arrow_select::nullif::nullif;

use crate::{ExprError, Result};

/// Makes the fields of a struct null wherever the struct is, at every depth.
///
/// A field may hold anything there, and field access looks only at the field.
pub(crate) fn push_nulls(column: &ArrayRef) -> Result<ArrayRef> {
    push(column, None).map_err(|error| ExprError::evaluation(error.to_string()))
}

/// Makes `column` null where `absent` is true, and so the fields below it.
fn push(
    column: &ArrayRef,
    absent: Option<&BooleanArray>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let column = match absent {
        Some(absent) if has_nulls_of_its_own(column.data_type()) => nullif(column, absent)?,
        _ => Arc::clone(column),
    };
    let Some(parent) = column.as_struct_opt() else {
        return Ok(column);
    };
    let absent = parent
        .nulls()
        .map(|nulls| BooleanArray::new(!nulls.inner(), None));
    let fields = parent
        .columns()
        .iter()
        .map(|field| push(field, absent.as_ref()));
    let fields = fields.collect::<std::result::Result<Vec<_>, _>>()?;
    let nulls = parent.nulls().cloned();
    let rows = parent.len();
    let pushed = StructArray::try_new_with_length(parent.fields().clone(), fields, nulls, rows)?;
    Ok(Arc::new(pushed))
}

fn has_nulls_of_its_own(data_type: &DataType) -> bool {
    !matches!(
        data_type,
        DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..)
    )
}
