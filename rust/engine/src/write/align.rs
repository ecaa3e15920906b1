//! Fitting incoming batches to the schema that they are stored under.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema, SchemaRef};
use pennon_file::{LogicalType, Schema};

use crate::{EngineError, Result};

/// A rule that turns batches of one schema into batches of another.
#[derive(Debug)]
pub(crate) struct Alignment {
    /// The part of the dataset's schema that the data has: what its files hold.
    pub(crate) stored: Schema,
    arrow: SchemaRef,
    /// For each stored column, its place in the incoming batch.
    sources: Vec<usize>,
}

impl Alignment {
    /// Fits data of schema `incoming` to `target`.
    ///
    /// Columns may come in any order, and nullable ones may be missing. A column that the target
    /// does not have, or one of another type, is refused with a line per difference.
    pub(crate) fn new(incoming: &ArrowSchema, target: &Schema) -> Result<Self> {
        let full = target.to_arrow()?;
        let mut difference = String::new();
        for field in incoming.fields() {
            if full.field_with_name(field.name()).is_err() {
                line(&mut difference, '+', field.name(), field.data_type());
            }
        }
        let mut fields = Vec::new();
        let mut sources = Vec::new();
        for (field, wanted) in target.fields.iter().zip(full.fields()) {
            match incoming.index_of(field.name.as_str()) {
                Ok(at)
                    if fits(
                        incoming.field(at).data_type(),
                        wanted.data_type(),
                        &field.logical_type,
                    ) =>
                {
                    fields.push(field.clone());
                    sources.push(at);
                }
                Ok(at) => {
                    line(&mut difference, '-', wanted.name(), wanted.data_type());
                    line(
                        &mut difference,
                        '+',
                        wanted.name(),
                        incoming.field(at).data_type(),
                    );
                }
                Err(_) if wanted.is_nullable() => {}
                Err(_) => {
                    line(&mut difference, '-', wanted.name(), wanted.data_type());
                    difference.push_str("    (not nullable, so it cannot be left out)\n");
                }
            }
        }
        if !difference.is_empty() {
            difference.truncate(difference.trim_end().len());
            return Err(EngineError::SchemaMismatch { difference });
        }
        let stored = Schema {
            fields,
            metadata: target.metadata.clone(),
        };
        let arrow = Arc::new(stored.to_arrow()?);
        Ok(Self {
            stored,
            arrow,
            sources,
        })
    }

    /// One batch, fitted. Columns are shared, not copied, unless they are views.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self
            .sources
            .iter()
            .zip(self.arrow.fields())
            .map(|(&at, field)| {
                let column = batch.columns().get(at).ok_or_else(|| {
                    EngineError::Source("a batch has fewer columns than its schema".to_owned())
                })?;
                fit(column, field)
            });
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.arrow),
            columns.collect::<Result<_>>()?,
            &arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows())),
        )?)
    }
}

fn fit(column: &ArrayRef, field: &ArrowField) -> Result<ArrayRef> {
    if !field.is_nullable() && column.null_count() > 0 {
        return Err(EngineError::invalid_input(format!(
            "column '{}' is not nullable, and the data has {} nulls in it",
            field.name(),
            column.null_count()
        )));
    }
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    match field.data_type() {
        DataType::Struct(parts) if is_object(column.data_type(), field.data_type()) => {
            objects(column, parts)
        }
        data_type => Ok(cast(column, data_type)?),
    }
}

/// Whether data of one type can be stored where another is wanted: JSON is any kind of text.
fn fits(incoming: &DataType, wanted: &DataType, stored: &LogicalType) -> bool {
    let is_text = matches!(
        incoming,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    );
    plain(incoming).equals_datatype(&plain(wanted))
        || (is_text && *stored == LogicalType::Json)
        || is_object(incoming, wanted)
}

/// Whether bytes are stored as large objects, which are structs of their bytes or an address.
fn is_object(incoming: &DataType, wanted: &DataType) -> bool {
    let is_binary = matches!(incoming, DataType::Binary | DataType::LargeBinary);
    match wanted {
        DataType::Struct(parts) if is_binary => parts
            .iter()
            .map(|part| part.name().as_str())
            .eq(["data", "uri"]),
        _ => false,
    }
}

/// Bytes as large objects.
fn objects(column: &ArrayRef, parts: &Fields) -> Result<ArrayRef> {
    let data = cast(column, &DataType::LargeBinary)?;
    let uris = new_null_array(&DataType::Utf8, column.len());
    let nulls = column.nulls().cloned();
    Ok(Arc::new(StructArray::try_new(
        parts.clone(),
        vec![data, uris],
        nulls,
    )?))
}

/// The type as it is stored: views are stored as what they view.
fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

fn line(out: &mut String, sign: char, name: &str, data_type: &DataType) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  {sign} {name}: {data_type}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray, StringViewArray};

    fn target() -> Schema {
        Schema::from_arrow(&ArrowSchema::new(vec![
            ArrowField::new("id", DataType::Int32, false),
            ArrowField::new("name", DataType::Utf8, true),
        ]))
        .unwrap()
    }

    #[test]
    fn columns_in_another_order_are_put_in_place() {
        let incoming = ArrowSchema::new(vec![
            ArrowField::new("name", DataType::Utf8View, true),
            ArrowField::new("id", DataType::Int32, true),
        ]);
        let alignment = Alignment::new(&incoming, &target()).unwrap();
        let batch = RecordBatch::try_new(
            Arc::new(incoming),
            vec![
                Arc::new(StringViewArray::from(vec!["a", "b"])),
                Arc::new(Int32Array::from(vec![1, 2])),
            ],
        )
        .unwrap();
        let fitted = alignment.apply(&batch).unwrap();
        assert_eq!(
            fitted.column(0).as_ref(),
            &Int32Array::from(vec![1, 2]) as &dyn arrow_array::Array
        );
        assert_eq!(
            fitted.column(1).as_ref(),
            &StringArray::from(vec!["a", "b"]) as &dyn arrow_array::Array
        );
    }

    #[test]
    fn differences_are_listed_line_by_line() {
        let incoming = ArrowSchema::new(vec![
            ArrowField::new("name", DataType::Int64, true),
            ArrowField::new("extra", DataType::Int32, true),
        ]);
        let error = Alignment::new(&incoming, &target())
            .unwrap_err()
            .to_string();
        assert!(error.contains("+ extra: Int32"), "{error}");
        assert!(error.contains("- name: Utf8"), "{error}");
        assert!(error.contains("+ name: Int64"), "{error}");
        assert!(error.contains("- id: Int32"), "{error}");
    }

    #[test]
    fn a_null_in_a_required_column_is_refused_by_name() {
        let incoming = ArrowSchema::new(vec![ArrowField::new("id", DataType::Int32, true)]);
        let alignment = Alignment::new(&incoming, &target()).unwrap();
        let batch = RecordBatch::try_new(
            Arc::new(incoming),
            vec![Arc::new(Int32Array::from(vec![Some(1), None]))],
        )
        .unwrap();
        let error = alignment.apply(&batch).unwrap_err().to_string();
        assert!(error.contains("column 'id' is not nullable"), "{error}");
    }
}
