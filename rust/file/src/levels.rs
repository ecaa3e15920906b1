//! From repetition and definition levels back to validity and list offsets.
//!
//! Both kinds of level count from the inside: 0 is the innermost, valid end. An entry's definition
//! level names the outermost layer at which its slot stops, and its repetition level r says that a
//! new list starts here in the list layers 1 to r, counted from the inside.

use crate::layout::Layer;
use crate::read::validity::Bitmap;
use crate::{FileError, Result};

/// What one layer of a column's nesting collects, page after page.
#[derive(Debug, Default)]
pub(crate) struct LayerValues {
    /// One bit for each slot of the layer.
    pub(crate) validity: Bitmap,
    /// For a list, the end of each slot's items; a leading zero is implied.
    pub(crate) ends: Vec<i64>,
}

/// The levels of some rows of a page. A kind that the page does not have is empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels<'a> {
    /// Repetition levels.
    pub(crate) repetition: &'a [u16],
    /// Definition levels.
    pub(crate) definition: &'a [u16],
    /// How many entries there are.
    pub(crate) entries: usize,
}

/// What the definition levels of one layer mean.
#[derive(Debug, Clone, Copy)]
struct Meaning {
    is_list: bool,
    /// The level of a null at this layer.
    null: Option<u16>,
    /// The level of an empty list at this layer.
    empty: Option<u16>,
    /// The highest level within this layer: up to here the slot itself is valid.
    highest_valid: u16,
    /// The highest level at this layer or within; what is above stopped further out.
    highest: u16,
}

/// The layers of a page, ready to be unravelled.
#[derive(Debug)]
pub(crate) struct Nesting {
    /// From the leaf outwards.
    meanings: Vec<Meaning>,
    /// The highest repetition level: how many list layers there are.
    pub(crate) max_repetition: u16,
    /// The highest definition level.
    pub(crate) max_definition: u16,
    /// The highest definition level of an entry that has a slot among the values.
    pub(crate) max_visible: u16,
}

impl Nesting {
    /// The nesting of a page's layers, which are listed from the leaf outwards.
    pub(crate) fn new(layers: &[Layer]) -> Self {
        Self {
            meanings: meanings(layers),
            max_repetition: max_repetition(layers),
            max_definition: layers.iter().map(|layer| layer.levels()).sum(),
            max_visible: max_visible(layers),
        }
    }

    /// Whether a column whose layers are lists or not, from the outside in, can have such a page.
    pub(crate) fn fits(&self, is_list: &[bool]) -> bool {
        self.meanings
            .iter()
            .rev()
            .map(|meaning| meaning.is_list)
            .eq(is_list.iter().copied())
    }

    /// Appends what `levels` say to `out`, which lists the layers from the outside in. Returns how
    /// many leaf slots there are.
    pub(crate) fn unravel(&self, levels: Levels<'_>, out: &mut [LayerValues]) -> Result<usize> {
        self.check(levels)?;
        if self.max_repetition > 0 {
            return unravel_lists(&self.meanings, levels, out);
        }
        for (meaning, layer) in self.meanings.iter().rev().zip(out) {
            push_items(meaning, levels, layer);
        }
        Ok(levels.entries)
    }

    fn check(&self, levels: Levels<'_>) -> Result<()> {
        let highest = |levels: &[u16]| levels.iter().copied().max().unwrap_or(0);
        if highest(levels.repetition) > self.max_repetition
            || highest(levels.definition) > self.max_definition
        {
            return Err(FileError::corrupt(
                "a level is higher than the page's layers allow",
            ));
        }
        Ok(())
    }
}

/// The repetition level at which a row starts: how many of the layers are lists.
pub(crate) fn max_repetition(layers: &[Layer]) -> u16 {
    layers.iter().map(|layer| u16::from(layer.is_list())).sum()
}

/// The highest definition level of an entry that has a slot among the values.
pub(crate) fn max_visible(layers: &[Layer]) -> u16 {
    layers
        .iter()
        .take_while(|layer| !layer.is_list())
        .map(|layer| layer.levels())
        .sum()
}

fn meanings(layers: &[Layer]) -> Vec<Meaning> {
    let mut below = 0;
    layers
        .iter()
        .map(|layer| {
            let (null, empty) = match layer {
                Layer::Item | Layer::List => (None, None),
                Layer::NullableItem | Layer::NullableList => (Some(below + 1), None),
                Layer::EmptyableList => (None, Some(below + 1)),
                Layer::NullableEmptyableList => (Some(below + 1), Some(below + 2)),
            };
            let highest_valid = below;
            below += layer.levels();
            Meaning {
                is_list: layer.is_list(),
                null,
                empty,
                highest_valid,
                highest: below,
            }
        })
        .collect()
}

/// A leaf's or a struct's layer of a page without lists: one slot for each entry. A slot within a
/// null struct counts as null, whether or not the page has nulls in this layer itself: so the
/// columns of a struct agree although their pages end at different rows.
fn push_items(meaning: &Meaning, levels: Levels<'_>, layer: &mut LayerValues) {
    if levels.definition.is_empty() {
        layer.validity.push_ones(levels.entries);
    } else {
        layer
            .validity
            .push_each(levels.definition, |level| level <= meaning.highest_valid);
    }
}

fn unravel_lists(
    meanings: &[Meaning],
    levels: Levels<'_>,
    out: &mut [LayerValues],
) -> Result<usize> {
    let mut list_number = meanings
        .iter()
        .map(|meaning| u16::from(meaning.is_list))
        .sum::<u16>();
    let mut slots = row_starts(levels.repetition, list_number)?;
    for (meaning, layer) in meanings.iter().rev().zip(out) {
        if meaning.is_list {
            slots = push_lists(meaning, list_number, levels, &slots, layer);
            list_number -= 1;
        } else {
            push_item_slots(meaning, levels, &slots, layer);
        }
    }
    Ok(slots.len())
}

/// The entries at which a row starts.
fn row_starts(repetition: &[u16], top: u16) -> Result<Vec<usize>> {
    if repetition.first().is_some_and(|&level| level != top) {
        return Err(FileError::corrupt(
            "the levels of a row do not start a new row",
        ));
    }
    Ok(repetition
        .iter()
        .enumerate()
        .filter(|&(_, &level)| level == top)
        .map(|(entry, _)| entry)
        .collect())
}

fn push_item_slots(
    meaning: &Meaning,
    levels: Levels<'_>,
    slots: &[usize],
    layer: &mut LayerValues,
) {
    if levels.definition.is_empty() {
        layer.validity.push_ones(slots.len());
    } else {
        layer.validity.push_each(slots, |slot| {
            level_at(levels.definition, slot) <= meaning.highest_valid
        });
    }
}

/// Appends one list for each slot, and returns the slots of their items.
fn push_lists(
    meaning: &Meaning,
    number: u16,
    levels: Levels<'_>,
    slots: &[usize],
    layer: &mut LayerValues,
) -> Vec<usize> {
    let repetition = levels.repetition;
    let is_null = |level: u16| Some(level) == meaning.null || level > meaning.highest;
    let mut items = Vec::with_capacity(repetition.len());
    let mut total = layer.ends.last().copied().unwrap_or(0);
    layer.ends.reserve(slots.len());
    for &slot in slots {
        let level = level_at(levels.definition, slot);
        if !is_null(level) && Some(level) != meaning.empty {
            items.push(slot);
            total += 1;
            let rest = repetition.iter().enumerate().skip(slot + 1);
            for (entry, &level) in rest.take_while(|&(_, &level)| level < number) {
                if level + 1 == number {
                    items.push(entry);
                    total += 1;
                }
            }
        }
        layer.ends.push(total);
    }
    if levels.definition.is_empty() {
        layer.validity.push_ones(slots.len());
    } else {
        layer
            .validity
            .push_each(slots, |slot| !is_null(level_at(levels.definition, slot)));
    }
    items
}

fn level_at(levels: &[u16], entry: usize) -> u16 {
    levels.get(entry).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers_of(count: usize) -> Vec<LayerValues> {
        (0..count).map(|_| LayerValues::default()).collect()
    }

    fn bits(layer: LayerValues) -> Vec<bool> {
        layer.validity.into_bits().iter().collect()
    }

    #[test]
    fn lists_of_structs_below_a_struct_as_in_the_specification() {
        let layers = [
            Layer::NullableItem,
            Layer::NullableItem,
            Layer::NullableEmptyableList,
            Layer::NullableItem,
        ];
        let levels = Levels {
            repetition: &[1, 0, 0, 1, 1, 1, 1],
            definition: &[0, 1, 2, 4, 3, 5, 0],
            entries: 7,
        };
        let mut out = layers_of(4);
        assert_eq!(Nesting::new(&layers).unravel(levels, &mut out).unwrap(), 4);
        assert_eq!(Nesting::new(&layers).max_visible, 2);
        let mut out = out.into_iter();
        assert_eq!(bits(out.next().unwrap()), [true, true, true, false, true]);
        let lists = out.next().unwrap();
        assert_eq!(lists.ends, [3, 3, 3, 3, 4]);
        assert_eq!(bits(lists), [true, true, false, false, true]);
        assert_eq!(bits(out.next().unwrap()), [true, true, false, true]);
        assert_eq!(bits(out.next().unwrap()), [true, false, false, true]);
    }

    #[test]
    fn lists_of_lists_as_in_the_specification() {
        let layers = [
            Layer::NullableItem,
            Layer::NullableEmptyableList,
            Layer::NullableEmptyableList,
        ];
        let levels = Levels {
            repetition: &[2, 0, 1, 1, 1, 2, 2, 2, 2],
            definition: &[0, 0, 3, 2, 0, 5, 4, 1, 2],
            entries: 9,
        };
        let mut out = layers_of(3);
        assert_eq!(Nesting::new(&layers).unravel(levels, &mut out).unwrap(), 4);
        assert_eq!(out[0].ends, [4, 4, 4, 5, 6]);
        assert_eq!(out[1].ends, [2, 2, 2, 3, 4, 4]);
        let mut out = out.into_iter();
        assert_eq!(bits(out.next().unwrap()), [true, true, false, true, true]);
        assert_eq!(
            bits(out.next().unwrap()),
            [true, true, false, true, true, false]
        );
        assert_eq!(bits(out.next().unwrap()), [true, true, true, false]);
    }

    #[test]
    fn levels_out_of_range_are_corrupt() {
        let levels = Levels {
            repetition: &[],
            definition: &[0, 2],
            entries: 2,
        };
        assert!(
            Nesting::new(&[Layer::NullableItem])
                .unravel(levels, &mut layers_of(1))
                .is_err()
        );
        let levels = Levels {
            repetition: &[0, 1],
            definition: &[],
            entries: 2,
        };
        assert!(
            Nesting::new(&[Layer::Item, Layer::List])
                .unravel(levels, &mut layers_of(2))
                .is_err()
        );
    }
}
