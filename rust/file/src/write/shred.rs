//! From nested arrays to levels: the values of a leaf, and for each of them how deep a new list
//! starts and at which layer a null or an empty list ends it.
//!
//! Two passes. The first walks from the outside in and keeps, for each layer, which slots are null
//! and how long lists are, dropping items that no list shows. The second gives the layers their
//! levels, from the inside out, and unrolls the lists.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

use super::leaf::{Step, bounds};
use crate::layout::Layer;
use crate::{FileError, Result};

/// The rows of a page, flattened.
#[derive(Debug)]
pub(crate) struct Shredded {
    /// From the leaf outwards.
    pub(crate) layers: Vec<Layer>,
    /// Repetition levels, one for each entry; none without lists.
    pub(crate) repetition: Vec<u16>,
    /// Definition levels, one for each entry; none when every one would be 0.
    pub(crate) definition: Vec<u16>,
    /// The leaf's values, one for each visible entry.
    pub(crate) values: ArrayRef,
    /// Which of the values count: neither they nor a struct around them is null.
    pub(crate) validity: Option<NullBuffer>,
}

impl Shredded {
    /// Levels in the page.
    pub(crate) fn entries(&self) -> usize {
        self.repetition
            .len()
            .max(self.definition.len())
            .max(self.values.len())
    }

    /// The repetition level at which a row starts.
    pub(crate) fn max_repetition(&self) -> u16 {
        crate::levels::max_repetition(&self.layers)
    }

    /// The highest definition level of an entry that has a value.
    pub(crate) fn max_visible(&self) -> u16 {
        crate::levels::max_visible(&self.layers)
    }

    /// Whether some entries have no value.
    pub(crate) fn has_invisible(&self) -> bool {
        self.entries() > self.values.len()
    }
}

/// One layer after the first pass.
struct Part {
    nulls: Option<NullBuffer>,
    list: Option<Lists>,
}

struct Lists {
    /// For each slot the end of its items; those that are not shown count as empty.
    ends: Vec<usize>,
    has_null: bool,
    has_empty: bool,
}

/// Flattens an array that was [projected](super::leaf::project) to one leaf.
pub(crate) fn shred(array: &ArrayRef, steps: &[Step]) -> Result<Shredded> {
    let (parts, values, validity) = take_apart(array, steps)?;
    let layers = layers_of(&parts);
    let (repetition, definition) = if steps.contains(&Step::Items) {
        unroll(&parts, &layers, array.len())
    } else {
        (Vec::new(), flat_definition(&parts, &layers, array.len()))
    };
    Ok(Shredded {
        layers,
        repetition,
        definition,
        values,
        validity,
    })
}

/// The layers from the outside in, the leaf's values, and which of those count.
fn take_apart(
    array: &ArrayRef,
    steps: &[Step],
) -> Result<(Vec<Part>, ArrayRef, Option<NullBuffer>)> {
    let mut parts = Vec::with_capacity(steps.len() + 1);
    let mut mask: Option<NullBuffer> = None;
    let mut array = array.clone();
    for step in steps {
        let (part, next, next_mask) = match (step, array.data_type()) {
            (Step::Child(_), DataType::Struct(_)) => {
                let child = array.as_struct().columns().first().cloned();
                let mask = NullBuffer::union(mask.as_ref(), array.nulls());
                (item_part(&array), child.ok_or_else(mismatch)?, mask)
            }
            (Step::Items, DataType::List(_)) => {
                let (part, items) = list_part(array.as_list::<i32>(), mask.as_ref())?;
                (part, items, None)
            }
            (Step::Items, DataType::LargeList(_)) => {
                let (part, items) = list_part(array.as_list::<i64>(), mask.as_ref())?;
                (part, items, None)
            }
            _ => return Err(mismatch()),
        };
        parts.push(part);
        array = next;
        mask = next_mask;
    }
    let leaf = leaf_part(&array);
    let validity = NullBuffer::union(mask.as_ref(), leaf.nulls.as_ref());
    parts.push(leaf);
    Ok((
        parts,
        array,
        validity.filter(|nulls| nulls.null_count() > 0),
    ))
}

fn mismatch() -> FileError {
    FileError::invalid_input("an array whose type is not the schema's")
}

fn item_part(array: &ArrayRef) -> Part {
    Part {
        nulls: array
            .nulls()
            .filter(|nulls| nulls.null_count() > 0)
            .cloned(),
        list: None,
    }
}

/// The leaf's own nulls, which may hide in a dictionary, or be all there is.
fn leaf_part(array: &ArrayRef) -> Part {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    Part { nulls, list: None }
}

fn list_part<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    mask: Option<&NullBuffer>,
) -> Result<(Part, ArrayRef)> {
    let shown = NullBuffer::union(list.nulls(), mask).filter(|nulls| nulls.null_count() > 0);
    let offsets = list.value_offsets();
    let mut ends = Vec::with_capacity(list.len());
    let (mut total, mut has_empty) = (0, false);
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (slot, pair) in offsets.windows(2).enumerate() {
        if shown.as_ref().is_none_or(|shown| shown.is_valid(slot)) {
            let (start, end) = (pair[0].as_usize(), pair[1].as_usize());
            has_empty |= start == end;
            total += end - start;
            match ranges.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ if start < end => ranges.push((start, end)),
                _ => {}
            }
        }
        ends.push(total);
    }
    let has_null = match (list.nulls(), mask) {
        (None, _) => false,
        (Some(nulls), None) => nulls.null_count() > 0,
        (Some(nulls), Some(mask)) => (0..list.len()).any(|i| nulls.is_null(i) && mask.is_valid(i)),
    };
    let nulls = list.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
    let part = Part {
        nulls,
        list: Some(Lists {
            ends,
            has_null,
            has_empty,
        }),
    };
    Ok((part, gather(list.values(), &ranges, bounds(offsets).0)?))
}

/// The items in `ranges`, one after the other.
fn gather(items: &ArrayRef, ranges: &[(usize, usize)], start: usize) -> Result<ArrayRef> {
    match ranges {
        [] => Ok(items.slice(start, 0)),
        [(start, end)] => Ok(items.slice(*start, end - start)),
        _ => {
            let data = items.to_data();
            let total = ranges.iter().map(|(start, end)| end - start).sum();
            let mut gathered = MutableArrayData::new(vec![&data], false, total);
            for &(start, end) in ranges {
                gathered.try_extend(0, start, end)?;
            }
            Ok(make_array(gathered.freeze()))
        }
    }
}

/// The layers from the leaf outwards.
fn layers_of(parts: &[Part]) -> Vec<Layer> {
    let mut layers: Vec<Layer> = parts.iter().rev().map(layer_of).collect();
    avoid_plain_lists(&mut layers);
    layers
}

fn layer_of(part: &Part) -> Layer {
    match &part.list {
        None if part.nulls.is_some() => Layer::NullableItem,
        None => Layer::Item,
        Some(lists) => match (lists.has_null, lists.has_empty) {
            (false, false) => Layer::List,
            (true, false) => Layer::NullableList,
            (false, true) => Layer::EmptyableList,
            (true, true) => Layer::NullableEmptyableList,
        },
    }
}

/// Some readers miscount the nulls of a struct within a list when a list within the struct is
/// declared to be neither null nor empty; a layer may always declare more than it uses.
fn avoid_plain_lists(layers: &mut [Layer]) {
    for at in 0..layers.len() {
        let outer = &layers[at + 1..];
        let below_nullable = outer.contains(&Layer::NullableItem);
        if layers[at] == Layer::List && below_nullable && outer.iter().any(|l| l.is_list()) {
            layers[at] = Layer::EmptyableList;
        }
    }
}

/// The levels used by the layers within each layer, from the outside in.
fn bases(layers: &[Layer]) -> Vec<u16> {
    let mut below = 0;
    let mut bases: Vec<u16> = layers
        .iter()
        .map(|layer| {
            let base = below;
            below += layer.levels();
            base
        })
        .collect();
    bases.reverse();
    bases
}

/// Definition levels without lists: outer layers win over inner ones.
fn flat_definition(parts: &[Part], layers: &[Layer], rows: usize) -> Vec<u16> {
    if parts.iter().all(|part| part.nulls.is_none()) {
        return Vec::new();
    }
    let mut definition = vec![0; rows];
    for (part, base) in parts.iter().zip(bases(layers)).rev() {
        let Some(nulls) = &part.nulls else { continue };
        for (level, valid) in definition.iter_mut().zip(nulls.iter()) {
            *level = if valid { *level } else { base + 1 };
        }
    }
    definition
}

/// Both kinds of level, from the outside in: each list replaces an entry by one for each item.
fn unroll(parts: &[Part], layers: &[Layer], rows: usize) -> (Vec<u16>, Vec<u16>) {
    let mut list_number = crate::levels::max_repetition(layers);
    let mut entries = Entries {
        repetition: vec![list_number; rows],
        definition: vec![0; rows],
        highest_with_slot: u16::MAX,
    };
    for ((part, layer), base) in parts.iter().zip(layers.iter().rev()).zip(bases(layers)) {
        match &part.list {
            None => entries.mark_nulls(part, base),
            Some(lists) => {
                entries.unroll_lists(lists, part.nulls.as_ref(), list_number, base, *layer);
                list_number -= 1;
            }
        }
    }
    if layers.iter().all(|layer| layer.levels() == 0) {
        entries.definition.clear();
    }
    (entries.repetition, entries.definition)
}

/// What became of the rows so far. An entry whose level is above `highest_with_slot` ended at a
/// list further out, and has no slot in the layers that are still to come.
struct Entries {
    repetition: Vec<u16>,
    definition: Vec<u16>,
    highest_with_slot: u16,
}

impl Entries {
    fn mark_nulls(&mut self, part: &Part, base: u16) {
        let Some(nulls) = &part.nulls else { return };
        let mut slots = nulls.iter();
        for level in self
            .definition
            .iter_mut()
            .filter(|l| **l <= self.highest_with_slot)
        {
            let valid = slots.next().unwrap_or(true);
            if !valid && *level == 0 {
                *level = base + 1;
            }
        }
    }

    fn unroll_lists(
        &mut self,
        lists: &Lists,
        nulls: Option<&NullBuffer>,
        number: u16,
        base: u16,
        layer: Layer,
    ) {
        let empty = if layer == Layer::NullableEmptyableList {
            base + 2
        } else {
            base + 1
        };
        let room = self.repetition.len() + lists.ends.last().copied().unwrap_or(0);
        let mut repetition = Vec::with_capacity(room);
        let mut definition = Vec::with_capacity(room);
        let (mut slot, mut start) = (0, 0);
        for (&rep, &def) in self.repetition.iter().zip(&self.definition) {
            repetition.push(rep);
            if def > self.highest_with_slot {
                definition.push(def);
                continue;
            }
            let end = lists.ends.get(slot).copied().unwrap_or(start);
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(slot));
            definition.push(match def {
                0 if is_null => base + 1,
                0 if end == start => empty,
                _ => def,
            });
            let more = (end - start).saturating_sub(1);
            repetition.resize(repetition.len() + more, number - 1);
            definition.resize(definition.len() + more, 0);
            (slot, start) = (slot + 1, end);
        }
        *self = Self {
            repetition,
            definition,
            highest_with_slot: base,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{Int32Array, ListArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    fn field(array: &ArrayRef) -> Arc<Field> {
        Arc::new(Field::new("item", array.data_type().clone(), true))
    }

    fn of_struct(child: ArrayRef, valid: &[bool]) -> ArrayRef {
        let nulls = Some(NullBuffer::from(valid));
        Arc::new(StructArray::new(
            vec![field(&child)].into(),
            vec![child],
            nulls,
        ))
    }

    fn of_list(items: ArrayRef, offsets: &[i32], valid: &[bool]) -> ArrayRef {
        let offsets = OffsetBuffer::new(offsets.to_vec().into());
        Arc::new(ListArray::new(
            field(&items),
            offsets,
            items,
            Some(NullBuffer::from(valid)),
        ))
    }

    #[test]
    fn lists_of_structs_below_a_struct_as_in_the_specification() {
        // Items 3 and 4 belong to lists that nobody sees: a null one and one below a null struct.
        let x: ArrayRef = Arc::new(Int32Array::from(vec![
            Some(1),
            None,
            Some(9),
            Some(8),
            Some(7),
            Some(5),
        ]));
        let items = of_struct(x, &[true, true, false, true, true, true]);
        let lists = of_list(items, &[0, 3, 3, 4, 5, 6], &[true, true, false, true, true]);
        let rows = of_struct(lists, &[true, true, true, false, true]);
        let steps = [Step::Child(0), Step::Items, Step::Child(0)];
        let shredded = shred(&rows, &steps).unwrap();
        use Layer::{NullableEmptyableList, NullableItem};
        let layers = [
            NullableItem,
            NullableItem,
            NullableEmptyableList,
            NullableItem,
        ];
        assert_eq!(shredded.layers, layers);
        assert_eq!(shredded.repetition, [1, 0, 0, 1, 1, 1, 1]);
        assert_eq!(shredded.definition, [0, 1, 2, 4, 3, 5, 0]);
        assert_eq!(shredded.values.len(), 4);
        assert_eq!(shredded.max_visible(), 2);
        let validity: Vec<_> = shredded.validity.unwrap().iter().collect();
        assert_eq!(validity, [true, false, false, true]);
    }

    #[test]
    fn lists_of_lists_as_in_the_specification() {
        let mut builder = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
        type List<T> = Option<Vec<T>>;
        let rows: [List<List<Option<i32>>>; 5] = [
            Some(vec![
                Some(vec![Some(1), Some(2)]),
                Some(vec![]),
                None,
                Some(vec![Some(3)]),
            ]),
            Some(vec![]),
            None,
            Some(vec![Some(vec![None])]),
            Some(vec![None]),
        ];
        for row in rows {
            let is_some = row.is_some();
            for list in row.unwrap_or_default() {
                let valid = list.is_some();
                list.unwrap_or_default()
                    .into_iter()
                    .for_each(|item| builder.values().values().append_option(item));
                builder.values().append(valid);
            }
            builder.append(is_some);
        }
        let array: ArrayRef = Arc::new(builder.finish());
        let shredded = shred(&array, &[Step::Items, Step::Items]).unwrap();
        assert_eq!(shredded.repetition, [2, 0, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(shredded.definition, [0, 0, 3, 2, 0, 5, 4, 1, 2]);
        let sliced = shred(&array.slice(3, 2), &[Step::Items, Step::Items]).unwrap();
        assert_eq!(sliced.definition, [1, 2]);
        assert_eq!(sliced.values.len(), 1);
    }

    #[test]
    fn a_column_without_nulls_has_no_levels() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let shredded = shred(&array, &[]).unwrap();
        assert!(shredded.definition.is_empty() && shredded.repetition.is_empty());
        assert_eq!(shredded.layers, [Layer::Item]);
    }
}
