//! Dictionaries: indices into items that are stored once each.
//!
//! What an index means depends on the schema. For a dictionary type it counts the items from 0 on,
//! and nulls are items that are null. For strings, where the dictionary was the writer's own idea,
//! it counts from 1 on, and 0 is null.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::BooleanBuffer;

use super::decode::Task;
use super::encoding::ArrayEncoding;
use super::page::Page;
use super::stream::{Rounds, Run, Stream, Supply};
use crate::read::shape::Shape;
use crate::read::validity::Bitmap;
use crate::read::values::Values;
use crate::{FileError, Result};

/// A dictionary of more items, none of which is there, is refused.
const MAX_NULL_ITEMS: u32 = 1 << 16;

/// The items of a page's dictionary.
#[derive(Debug)]
pub(super) struct Items {
    /// With one more at the end, which stands for null, when indices count from 1 on.
    values: Arc<Values>,
    /// Which of them are there.
    validity: BooleanBuffer,
    /// How many are items.
    count: usize,
}

impl Items {
    /// Bytes that the items take in memory, roughly.
    pub(super) fn memory(&self) -> usize {
        self.values.memory() + self.validity.len() / 8
    }
}

/// Some rows of a page with a dictionary.
#[derive(Debug)]
pub(super) struct Dictionary {
    page: Arc<Page>,
    shape: Shape,
    indices: Stream,
    index_bytes: usize,
    /// Whether indices count from 1 on.
    from_one: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Unknown { task: Box<Task>, count: u32 },
    Known(Arc<Items>),
}

impl Dictionary {
    /// The rows `rows`, which are to become values of `shape`.
    pub(super) fn new(
        page: &Arc<Page>,
        (indices, items, count): (&ArrayEncoding, &ArrayEncoding, u32),
        shape: &Shape,
        rows: Vec<Range<u64>>,
    ) -> Result<Self> {
        let (index_bytes, item_shape, from_one) = match shape {
            Shape::Dictionary(width, items) => (*width, items.as_ref(), false),
            Shape::Variable { .. } => (1, shape, true),
            _ => {
                return Err(FileError::unsupported(
                    "a dictionary for a column of this type",
                ));
            }
        };
        if *items == ArrayEncoding::AllNulls && count > MAX_NULL_ITEMS {
            return Err(FileError::corrupt(format!("a dictionary of {count} nulls")));
        }
        let index_bits = u64::try_from(index_bytes * 8).unwrap_or(u64::MAX);
        let state = match page.items(shape) {
            Some(items) => State::Known(items),
            None => {
                let all = std::iter::once(0..u64::from(count)).collect();
                let task = Box::new(Task::new(page, items, item_shape, all)?);
                State::Unknown { task, count }
            }
        };
        Ok(Self {
            page: Arc::clone(page),
            shape: shape.clone(),
            indices: Stream::new(page, indices, index_bits)?.taking(rows)?,
            index_bytes,
            from_one,
            state,
        })
    }

    /// Appends the rows.
    pub(super) fn decode(
        &self,
        supply: &mut Supply,
        out: &mut Values,
        validity: &mut Bitmap,
    ) -> Result<()> {
        let State::Known(items) = &self.state else {
            return Err(FileError::corrupt("a dictionary without its items"));
        };
        let mut places = Vec::new();
        self.indices.decode(supply, |run| {
            places.clear();
            self.places(run, items, &mut places)?;
            let is_valid =
                |place: u32| usize::try_from(place).is_ok_and(|place| items.validity.value(place));
            validity.push_each(&places, is_valid);
            out.push_gathered(&items.values, &places)
        })
    }

    /// The place of each row's item, checked.
    fn places(&self, run: Run<'_>, items: &Items, out: &mut Vec<u32>) -> Result<()> {
        for index in run.bytes.chunks_exact(self.index_bytes) {
            let mut word = [0; 8];
            word[..self.index_bytes].copy_from_slice(index);
            let index = u64::from_le_bytes(word);
            let place = match (self.from_one, index) {
                (true, 0) => items.count,
                (true, _) => usize::try_from(index - 1).unwrap_or(usize::MAX),
                (false, _) => usize::try_from(index).unwrap_or(usize::MAX),
            };
            let is_null = self.from_one && index == 0;
            if place >= items.count && !is_null {
                return Err(FileError::corrupt(format!(
                    "index {index} into a dictionary of {} items",
                    items.count
                )));
            }
            out.push(u32::try_from(place).unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

impl Rounds for Dictionary {
    fn is_ready(&self) -> bool {
        matches!(self.state, State::Known(_)) && self.indices.is_ready()
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        self.indices.round_needs(out);
        if let State::Unknown { task, .. } = &self.state {
            if task.is_ready() {
                task.needs(out);
            } else {
                task.round_needs(out);
            }
        }
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        self.indices.supply(bytes)?;
        if let State::Unknown { task, count } = &mut self.state {
            if !task.is_ready() {
                return task.supply(bytes);
            }
            let items = Arc::new(read_items(task, *count, &self.shape, bytes)?);
            self.page.cache_items(&self.shape, &items);
            self.state = State::Known(items);
        }
        Ok(())
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        self.indices.needs(out);
    }
}

fn read_items(task: &Task, count: u32, shape: &Shape, bytes: &mut Supply) -> Result<Items> {
    let item_shape = match shape {
        Shape::Dictionary(_, items) => items,
        other => other,
    };
    let mut values = Values::new(item_shape, 0);
    let mut validity = Bitmap::default();
    task.decode(bytes, &mut values, &mut validity)?;
    if u32::try_from(values.len()) != Ok(count) {
        return Err(FileError::corrupt("a dictionary of too few items"));
    }
    let count = values.len();
    if item_shape == shape {
        values.push_filler(1)?;
        validity.push_zeros(1);
    }
    Ok(Items {
        values: Arc::new(values),
        validity: validity.into_bits(),
        count,
    })
}
