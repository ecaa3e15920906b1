//! The way from a top-level column down to each of its leaves.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, StructArray};
use arrow_schema::{DataType, Field as ArrowField, FieldRef};

use super::settings::{self, Settings};
use super::{blob, packed};
use crate::{Field, FileError, FileVersion, LogicalType, Result, Schema};

/// One step down from a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the field of a struct with this number.
    Child(usize),
    /// To the items of a list, or to the entries of a map.
    Items,
}

/// A field that owns a column of the file.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// The field.
    pub(crate) field: Field,
    /// Its name, with dots between the names of nested fields.
    pub(crate) path: String,
    /// The number of the top-level field that it belongs to.
    pub(crate) top: usize,
    /// The way down from there.
    pub(crate) steps: Vec<Step>,
    /// The type of the values in the file.
    pub(crate) stored: DataType,
    /// What the metadata asks for.
    pub(crate) settings: Settings,
}

/// The leaves of a schema in the order of a file's columns.
pub(crate) fn leaves_of(schema: &Schema, version: FileVersion) -> Result<Vec<Leaf>> {
    let mut leaves = Vec::new();
    for (top, field) in schema.fields.iter().enumerate() {
        let mut way = Way {
            schema,
            version,
            top,
            steps: Vec::new(),
            leaves: &mut leaves,
        };
        way.descend(field, &field.name)?;
    }
    Ok(leaves)
}

struct Way<'a> {
    schema: &'a Schema,
    version: FileVersion,
    top: usize,
    steps: Vec<Step>,
    leaves: &'a mut Vec<Leaf>,
}

impl Way<'_> {
    fn descend(&mut self, field: &Field, path: &str) -> Result<()> {
        settings::check_structure(field).map_err(|error| error.in_column(path))?;
        if field.is_packed() && !field.is_blob() {
            packed::check(field, path, self.version)?;
        }
        if field.is_blob() {
            blob::check(field, &self.steps, self.version).map_err(|error| error.in_column(path))?;
        }
        if matches!(field.logical_type, LogicalType::FixedSizeStructList { .. }) {
            return Err(FileError::schema(
                "a fixed-size list of structs is not written, because other readers cannot read \
                 it beside other columns; cast it to a list",
            )
            .in_column(path));
        }
        if field.is_leaf() {
            let settings = Settings::of(&self.schema.fields[self.top], field)
                .map_err(|error| error.in_column(path))?;
            self.leaves.push(Leaf {
                field: field.in_file(),
                path: path.to_owned(),
                top: self.top,
                steps: self.steps.clone(),
                stored: field.data_type()?,
                settings,
            });
            return Ok(());
        }
        for (number, child) in field.children.iter().enumerate() {
            let is_struct = field.logical_type == LogicalType::Struct;
            self.steps.push(if is_struct {
                Step::Child(number)
            } else {
                Step::Items
            });
            self.descend(child, &format!("{path}.{}", child.name))?;
            self.steps.pop();
        }
        Ok(())
    }
}

/// Makes a leaf's values what the file holds.
type Convert<'a> = dyn FnMut(&ArrayRef) -> Result<ArrayRef> + 'a;

/// What an array holds of one leaf: structs keep only the field on the way, maps become lists, and
/// the leaf's values are converted. Nothing else is copied.
pub(crate) fn project(
    array: &ArrayRef,
    steps: &[Step],
    convert: &mut Convert<'_>,
) -> Result<ArrayRef> {
    let Some((step, rest)) = steps.split_first() else {
        return convert(array);
    };
    match (step, array.data_type()) {
        (Step::Child(number), DataType::Struct(_)) => {
            let array = array.as_struct();
            let column = array.columns().get(*number).ok_or_else(mismatch)?;
            let child = project(column, rest, convert)?;
            let fields = vec![any_field(&child)].into();
            Ok(Arc::new(StructArray::try_new(
                fields,
                vec![child],
                array.nulls().cloned(),
            )?))
        }
        (Step::Items, DataType::List(_)) => project_list::<i32>(array, rest, convert),
        (Step::Items, DataType::LargeList(_)) => project_list::<i64>(array, rest, convert),
        (Step::Items, DataType::Map(..)) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let items = project(&entries, rest, convert)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let field = any_field(&items);
            Ok(Arc::new(GenericListArray::<i32>::try_new(
                field, offsets, items, nulls,
            )?))
        }
        _ => Err(mismatch()),
    }
}

fn project_list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    rest: &[Step],
    convert: &mut Convert<'_>,
) -> Result<ArrayRef> {
    let list = array.as_list::<O>();
    let items = project(list.values(), rest, convert)?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(
        any_field(&items),
        offsets,
        items,
        nulls,
    )?))
}

/// A field for values that were checked against the schema already.
fn any_field(array: &ArrayRef) -> FieldRef {
    Arc::new(ArrowField::new("item", array.data_type().clone(), true))
}

fn mismatch() -> FileError {
    FileError::invalid_input("an array whose type is not the schema's")
}

/// How many bytes the values of an array take, without what its buffers hold beside them.
pub(crate) fn bytes_of(array: &ArrayRef) -> usize {
    let (len, nulls) = (
        array.len(),
        if array.nulls().is_some() {
            array.len() / 8
        } else {
            0
        },
    );
    nulls
        + match array.data_type() {
            DataType::Null => 0,
            DataType::Boolean => len / 8,
            DataType::Utf8 => len * 4 + span(array.as_string::<i32>().value_offsets()),
            DataType::LargeUtf8 => len * 8 + span(array.as_string::<i64>().value_offsets()),
            DataType::Binary => len * 4 + span(array.as_binary::<i32>().value_offsets()),
            DataType::LargeBinary => len * 8 + span(array.as_binary::<i64>().value_offsets()),
            DataType::FixedSizeBinary(width) => len * usize::try_from(*width).unwrap_or(0),
            DataType::FixedSizeList(..) => bytes_of(array.as_fixed_size_list().values()),
            DataType::Struct(_) => array.as_struct().columns().iter().map(bytes_of).sum(),
            DataType::List(_) => list_size(array.as_list::<i32>()),
            DataType::LargeList(_) => list_size(array.as_list::<i64>()),
            DataType::Dictionary(key, _) => len * key.primitive_width().unwrap_or(8),
            other => len * other.primitive_width().unwrap_or(16),
        }
}

fn span<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    let (first, last) = bounds(offsets);
    last - first
}

/// The first and the last of a list array's offsets.
pub(crate) fn bounds<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let (first, last) = (offsets.first(), offsets.last());
    (
        first.map_or(0, |o| o.as_usize()),
        last.map_or(0, |o| o.as_usize()),
    )
}

fn list_size<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> usize {
    let (first, last) = bounds(list.value_offsets());
    list.len() * size_of::<O>() + bytes_of(&list.values().slice(first, last - first))
}
