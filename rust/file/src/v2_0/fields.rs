//! The columns of a file in the making: headers of structs, offsets of lists, and leaves.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, NullArray, OffsetSizeTrait, UInt64Array};
use arrow_schema::DataType;
use arrow_select::take::take;

use super::blob::descriptors;
use super::choose::Settings;
use super::encode::{encode_leaf, encode_offsets};
use super::encoding::ArrayEncoding;
use crate::container::metadata::Described;
use crate::write::blob::Put;
use crate::write::column::{Page, PageEncoder};
use crate::write::leaf::{Step, bounds};
use crate::write::store;
use crate::{Field, FileError, LogicalType, Result, Schema};

/// The id and the path of each field that owns a column, and what encodes it.
type Encoders = Vec<(i32, String, Box<dyn PageEncoder>)>;

/// The columns of a schema, in their order.
pub(crate) fn encoders_of(schema: &Schema) -> Result<Encoders> {
    let mut encoders = Vec::new();
    for (top, field) in schema.fields.iter().enumerate() {
        descend(field, &field.name, top, &[], &mut encoders)?;
    }
    Ok(encoders)
}

fn descend(
    field: &Field,
    path: &str,
    top: usize,
    steps: &[Step],
    out: &mut Encoders,
) -> Result<()> {
    let is_struct = field.logical_type == LogicalType::Struct;
    let kind = match field.logical_type {
        LogicalType::Leaf(DataType::LargeBinary) if field.is_blob() => Kind::Blob,
        _ if field.is_blob() => {
            return Err(FileError::schema("a blob must be of type large_binary").in_column(path));
        }
        LogicalType::Struct if !field.is_packed() => Kind::Header,
        LogicalType::List { .. } | LogicalType::LargeList { .. } => Kind::Offsets,
        _ => Kind::Leaf(Settings::of(field), field.data_type()?),
    };
    let encoder = FieldEncoder {
        top,
        steps: steps.to_vec(),
        kind,
    };
    out.push((field.id, path.to_owned(), Box::new(encoder)));
    if field.is_leaf() {
        return Ok(());
    }
    for (number, child) in field.children.iter().enumerate() {
        let step = match is_struct {
            true => Step::Child(number),
            false => Step::Items,
        };
        let steps: Vec<_> = steps.iter().copied().chain([step]).collect();
        descend(child, &format!("{path}.{}", child.name), top, &steps, out)?;
    }
    Ok(())
}

/// What encodes one column.
#[derive(Debug)]
struct FieldEncoder {
    /// The number of the top-level field.
    top: usize,
    /// The way down from there.
    steps: Vec<Step>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// The header of a struct.
    Header,
    /// The offsets of lists.
    Offsets,
    /// The places of large values.
    Blob,
    /// Values, and their type in the file.
    Leaf(Settings, DataType),
}

impl PageEncoder for FieldEncoder {
    fn project(&self, arrays: &[ArrayRef], _: &mut Put<'_>) -> Result<ArrayRef> {
        let top = arrays
            .get(self.top)
            .ok_or_else(|| FileError::invalid_input("the batch has no such column"))?;
        let mut array = Arc::clone(top);
        for step in &self.steps {
            array = step_down(&array, *step)?;
        }
        match &self.kind {
            Kind::Header => {
                check_structs(&array)?;
                Ok(Arc::new(NullArray::new(array.len())))
            }
            Kind::Offsets => match array.data_type() {
                DataType::LargeList(_) => Ok(lengths(array.as_list::<i64>())),
                _ => Ok(lengths(array.as_list::<i32>())),
            },
            Kind::Blob => Ok(array),
            Kind::Leaf(_, stored) => store::stored(&array, stored),
        }
    }

    fn encode(&self, rows: &ArrayRef) -> Result<Vec<Page>> {
        let (encoding, buffers) = match &self.kind {
            Kind::Header => (ArrayEncoding::Struct, Vec::new()),
            Kind::Offsets => encode_offsets(rows.as_primitive()),
            Kind::Blob => (descriptors(), Vec::new()),
            Kind::Leaf(settings, _) => encode_leaf(rows, settings)?,
        };
        Ok(vec![Page {
            rows: u64::try_from(rows.len()).unwrap_or(u64::MAX),
            layout: Described::of(&encoding),
            buffers,
            outside: matches!(self.kind, Kind::Blob).then(|| rows.as_binary().clone()),
        }])
    }

    fn empty_page(&self) -> Option<Page> {
        matches!(self.kind, Kind::Header).then(|| Page {
            rows: 0,
            layout: Described::of(&ArrayEncoding::Struct),
            buffers: Vec::new(),
            outside: None,
        })
    }

    fn is_blob(&self) -> bool {
        matches!(self.kind, Kind::Blob)
    }

    fn priority(&self, _: u64) -> u64 {
        0
    }
}

fn step_down(array: &ArrayRef, step: Step) -> Result<ArrayRef> {
    let mismatch = || FileError::invalid_input("an array whose type is not the schema's");
    match (step, array.data_type()) {
        (Step::Child(number), DataType::Struct(_)) => {
            check_structs(array)?;
            let children = array.as_struct().columns();
            children.get(number).cloned().ok_or_else(mismatch)
        }
        (Step::Items, DataType::List(_)) => items_of(array.as_list::<i32>()),
        (Step::Items, DataType::LargeList(_)) => items_of(array.as_list::<i64>()),
        _ => Err(mismatch()),
    }
}

fn check_structs(array: &ArrayRef) -> Result<()> {
    if array.null_count() > 0 {
        return Err(FileError::invalid_input(
            "files of version 2.0 cannot hold null structs: use data_storage_version 2.1 or newer",
        ));
    }
    Ok(())
}

/// The items of the lists that are not null, in order.
fn items_of<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Result<ArrayRef> {
    let offsets = list.value_offsets();
    let hidden = |at: usize| list.is_null(at) && offsets[at] != offsets[at + 1];
    if !(0..list.len()).any(hidden) {
        let (first, last) = bounds(offsets);
        return Ok(list.values().slice(first, last - first));
    }
    let owned = (0..list.len()).filter(|&at| list.is_valid(at));
    let places = owned.flat_map(|at| offsets[at].as_usize()..offsets[at + 1].as_usize());
    let places: UInt64Array = places.map(|place| Some(place as u64)).collect();
    take(list.values(), &places, None).map_err(|error| {
        FileError::invalid_input("the items of lists cannot be gathered").with_source(error)
    })
}

/// How many items each list owns; null for null lists.
fn lengths<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> ArrayRef {
    let length = |at: usize| {
        let [start, end] = [at, at + 1].map(|at| list.value_offsets()[at].as_usize());
        list.is_valid(at).then(|| (end - start) as u64)
    };
    Arc::new((0..list.len()).map(length).collect::<UInt64Array>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, ListArray, StructArray};
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Field as ArrowField;

    #[test]
    fn null_lists_own_no_items() {
        let field = Arc::new(ArrowField::new("item", DataType::Int32, true));
        let items: ArrayRef = Arc::new(Int32Array::from_iter_values(0..6));
        let offsets = OffsetBuffer::new(vec![0, 2, 5, 5, 6].into());
        let nulls = NullBuffer::from(vec![true, false, true, true]);
        let list = ListArray::new(field, offsets, items, Some(nulls));
        let items = items_of(&list.slice(1, 3)).unwrap();
        assert_eq!(items.as_primitive(), &Int32Array::from(vec![5]));
        let counts = lengths(&list);
        let expected = UInt64Array::from(vec![Some(2), None, Some(0), Some(1)]);
        assert_eq!(counts.as_primitive(), &expected);
    }

    #[test]
    fn a_null_struct_is_refused() {
        let child: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let fields = vec![ArrowField::new("a", DataType::Int32, true)].into();
        let nulls = NullBuffer::from(vec![true, false]);
        let array: ArrayRef = Arc::new(StructArray::new(fields, vec![child], Some(nulls)));
        let error = step_down(&array, Step::Child(0)).unwrap_err();
        assert!(error.to_string().contains("2.1"), "{error}");
    }
}
