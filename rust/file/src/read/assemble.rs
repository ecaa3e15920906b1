//! From decoded leaves to nested arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, LargeListArray, ListArray, MapArray, StructArray,
    new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef};

use super::builder::ColumnBuilder;
use super::present::present;
use super::projection::{Node, NodeKind, Projection};
use crate::levels::LayerValues;
use crate::{FileError, Result};

/// The columns of a batch of `rows` rows.
pub(super) fn assemble(
    projection: &Projection,
    leaves: &mut [Option<ColumnBuilder>],
    rows: usize,
    fetch: &FetchBlobs<'_>,
) -> Result<Vec<ArrayRef>> {
    let roots = projection.roots.iter();
    roots
        .map(|node| array_of(node, 0, leaves, rows, fetch))
        .collect()
}

/// Reads large objects, given their descriptions.
pub(super) type FetchBlobs<'a> = dyn Fn(&ArrayRef) -> Result<ArrayRef> + 'a;

/// The array of a field at `depth` layers from the outside.
fn array_of(
    node: &Node,
    depth: usize,
    leaves: &mut [Option<ColumnBuilder>],
    len: usize,
    fetch: &FetchBlobs<'_>,
) -> Result<ArrayRef> {
    match &node.kind {
        NodeKind::Absent => Ok(new_null_array(node.field.data_type(), len)),
        NodeKind::Leaf(leaf) => {
            let builder = leaves
                .get_mut(*leaf)
                .and_then(Option::take)
                .ok_or_else(missing)?;
            present(leaf_array(builder, len)?, node.field.data_type())
        }
        NodeKind::Blob(leaf) => {
            let builder = leaves.get_mut(*leaf).and_then(Option::take);
            fetch(&leaf_array(builder.ok_or_else(missing)?, len)?)
        }
        NodeKind::FixedList(dimension, item) => {
            let layer = take_layer(node, depth, leaves)?;
            let items = len.checked_mul(*dimension).ok_or_else(missing)?;
            check_len(layer.validity.len(), items)?;
            let values = array_of(item, depth + 1, leaves, items, fetch)?;
            fixed_list_array(node.field.data_type(), *dimension, layer, values)
        }
        NodeKind::Struct(children) => {
            let layer = take_layer(node, depth, leaves)?;
            check_len(layer.validity.len(), len)?;
            let children = children.iter();
            let columns = children
                .map(|child| array_of(child, depth + 1, leaves, len, fetch))
                .collect::<Result<_>>()?;
            struct_array(node, columns, layer.validity.into_nulls())
        }
        NodeKind::List { item, .. } => {
            let layer = take_layer(node, depth, leaves)?;
            check_len(layer.validity.len(), len)?;
            let items = layer.ends.last().copied().unwrap_or(0);
            let items = usize::try_from(items).map_err(|_| missing())?;
            let values = array_of(item, depth + 1, leaves, items, fetch)?;
            list_array(node.field.data_type(), layer, values)
        }
    }
}

fn leaf_array(mut builder: ColumnBuilder, len: usize) -> Result<ArrayRef> {
    let layer = builder.layers.pop().ok_or_else(missing)?;
    check_len(layer.validity.len(), len)?;
    check_len(builder.values.len(), len)?;
    builder
        .values
        .into_array(&builder.leaf.stored, layer.validity.into_nulls())
}

/// A struct of columns, of which there is at least one.
pub(crate) fn struct_array(
    node: &Node,
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let DataType::Struct(fields) = node.field.data_type() else {
        return Err(FileError::corrupt(format!(
            "'{}' is not a struct",
            node.field.name()
        )));
    };
    Ok(Arc::new(StructArray::try_new(
        fields.clone(),
        columns,
        nulls,
    )?))
}

/// Lists of one length: each of a list's items carries the list's own validity.
fn fixed_list_array(
    data_type: &DataType,
    dimension: usize,
    layer: LayerValues,
    values: ArrayRef,
) -> Result<ArrayRef> {
    let DataType::FixedSizeList(item, size) = data_type else {
        return Err(FileError::corrupt(format!(
            "lists of one length for type {data_type}"
        )));
    };
    let nulls = layer.validity.into_nulls();
    let nulls = nulls.map(|nulls| nulls.iter().step_by(dimension).collect());
    Ok(Arc::new(FixedSizeListArray::try_new(
        FieldRef::clone(item),
        *size,
        values,
        nulls,
    )?))
}

/// How many items lists have, by what their offsets say: no more than the type can count.
pub(crate) fn item_count(data_type: &DataType, items: u64) -> Result<usize> {
    let most = match data_type {
        DataType::LargeList(_) => i64::MAX.unsigned_abs(),
        _ => u64::from(i32::MAX.unsigned_abs()),
    };
    let items = usize::try_from(items).ok().filter(|_| items <= most);
    items.ok_or_else(|| FileError::corrupt("lists of more items than their type can count"))
}

/// The columns of a struct. Those that the file does not hold come last: how many nulls they are is
/// only a claim of the file until another column has shown as many values.
pub(crate) fn absent_last<P>(
    plans: Vec<P>,
    children: &[Node],
    is_absent: impl Fn(&P) -> bool,
    mut decode: impl FnMut(P, &Node) -> Result<ArrayRef>,
) -> Result<Vec<ArrayRef>> {
    let mut order: Vec<(usize, P)> = plans.into_iter().enumerate().collect();
    order.sort_by_key(|(_, plan)| is_absent(plan));
    let mut columns = vec![None; order.len()];
    for ((place, plan), child) in order
        .into_iter()
        .filter_map(|(place, plan)| Some(((place, plan), children.get(place)?)))
    {
        columns[place] = Some(decode(plan, child)?);
    }
    Ok(columns.into_iter().flatten().collect())
}

/// Lists, or maps, whose items are all of `values`.
pub(crate) fn list_array(
    data_type: &DataType,
    layer: LayerValues,
    values: ArrayRef,
) -> Result<ArrayRef> {
    let nulls = layer.validity.into_nulls();
    Ok(match data_type {
        DataType::List(item) => {
            let offsets = small_offsets(&layer.ends)?;
            Arc::new(ListArray::try_new(
                FieldRef::clone(item),
                offsets,
                values,
                nulls,
            )?)
        }
        DataType::LargeList(item) => {
            let offsets: ScalarBuffer<i64> = [0].into_iter().chain(layer.ends).collect();
            let offsets = OffsetBuffer::new(offsets);
            Arc::new(LargeListArray::try_new(
                FieldRef::clone(item),
                offsets,
                values,
                nulls,
            )?)
        }
        DataType::Map(entries, sorted) => {
            let offsets = small_offsets(&layer.ends)?;
            let values: &StructArray = values
                .as_any()
                .downcast_ref()
                .ok_or_else(|| FileError::corrupt("a map whose entries are not structs"))?;
            let (entries, values) = (FieldRef::clone(entries), values.clone());
            Arc::new(MapArray::try_new(entries, offsets, values, nulls, *sorted)?)
        }
        other => return Err(FileError::corrupt(format!("a list layer for type {other}"))),
    })
}

fn small_offsets(ends: &[i64]) -> Result<OffsetBuffer<i32>> {
    if ends.last().is_some_and(|&end| i32::try_from(end).is_err()) {
        return Err(FileError::invalid_input(
            "the lists of one batch hold more than 2^31 items: read fewer rows at a time",
        ));
    }
    let ends = ends
        .iter()
        .map(|&end| i32::try_from(end).unwrap_or(i32::MAX));
    Ok(OffsetBuffer::new([0].into_iter().chain(ends).collect()))
}

/// The layer of a struct or list, which each leaf below it carries: those of the others must
/// agree with the first one's.
fn take_layer(
    node: &Node,
    depth: usize,
    leaves: &mut [Option<ColumnBuilder>],
) -> Result<LayerValues> {
    let first = node.first_leaf().ok_or_else(missing)?;
    let builder = leaves
        .get_mut(first)
        .and_then(Option::as_mut)
        .ok_or_else(missing)?;
    let layer = builder
        .layers
        .get_mut(depth)
        .map(std::mem::take)
        .ok_or_else(missing)?;
    for other in leaves_below(node).into_iter().skip(1) {
        let other = leaves.get(other).and_then(Option::as_ref);
        let other = other
            .and_then(|builder| builder.layers.get(depth))
            .ok_or_else(missing)?;
        if other.ends != layer.ends || other.validity != layer.validity {
            return Err(FileError::corrupt(format!(
                "the columns of '{}' disagree about its structure",
                node.field.name()
            )));
        }
    }
    Ok(layer)
}

fn leaves_below(node: &Node) -> Vec<usize> {
    match &node.kind {
        NodeKind::Leaf(leaf) | NodeKind::Blob(leaf) => vec![*leaf],
        NodeKind::Struct(children) => children.iter().flat_map(leaves_below).collect(),
        NodeKind::List { item, .. } | NodeKind::FixedList(_, item) => leaves_below(item),
        NodeKind::Absent => Vec::new(),
    }
}

fn check_len(len: usize, expected: usize) -> Result<()> {
    if len != expected {
        return Err(FileError::corrupt(format!(
            "{len} values where {expected} belong"
        )));
    }
    Ok(())
}

fn missing() -> FileError {
    FileError::corrupt("a column is missing")
}
