//! Large values stored away from the pages: descriptors first, then the values they point to.
//!
//! ```text
//! (position, size)   (0, 0) an empty value   (1, 0) null   otherwise bytes of the file
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::decode::Task;
use super::encoding::{ArrayEncoding, BufferRef};
use super::page::Page;
use super::stream::{Rounds, Supply};
use crate::container::footer::checked_range;
use crate::read::shape::Shape;
use crate::read::validity::Bitmap;
use crate::read::values::{Values, Variable};
use crate::{FileError, Result};

/// Bytes of each half of a descriptor.
const WORD_BYTES: usize = 8;

/// Some values of a page.
#[derive(Debug)]
pub(super) struct Blobs {
    file_size: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Unknown(Box<Task>),
    /// Where the values are; nulls are nowhere.
    Known(Vec<Option<Range<u64>>>),
}

impl Blobs {
    /// The values of `rows`, in a file of `file_size` bytes.
    pub(super) fn new(page: &Arc<Page>, rows: Vec<Range<u64>>, file_size: u64) -> Result<Self> {
        let task = Task::new(page, &page.encoding, &descriptor_shape(), rows)?;
        Ok(Self {
            file_size,
            state: State::Unknown(Box::new(task)),
        })
    }

    /// Appends the values.
    pub(super) fn decode(
        &self,
        bytes: &mut Supply,
        out: &mut Variable,
        validity: &mut Bitmap,
    ) -> Result<()> {
        let State::Known(places) = &self.state else {
            return Err(FileError::corrupt("values without their places"));
        };
        for place in places {
            match place {
                Some(place) if place.is_empty() => out.push(&[])?,
                Some(_) => out.push(&bytes.next()?)?,
                None => out.push(&[])?,
            }
        }
        validity.push_each(&flags(places), |is_there| is_there);
        Ok(())
    }
}

/// The descriptor of a value, which is nowhere when it is null.
pub(crate) fn descriptor(place: Option<Range<u64>>) -> [u8; 2 * WORD_BYTES] {
    let (position, size) = match place {
        Some(place) if place.is_empty() => (0, 0),
        Some(place) => (place.start, place.end - place.start),
        None => (1, 0),
    };
    let mut bytes = [0; 2 * WORD_BYTES];
    bytes[..WORD_BYTES].copy_from_slice(&position.to_le_bytes());
    bytes[WORD_BYTES..].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// How descriptors are stored: in the first buffer of their page.
pub(super) fn descriptors() -> ArrayEncoding {
    let buffer = BufferRef::Page(0);
    let word = ArrayEncoding::NoNulls(Box::new(ArrayEncoding::Flat {
        bits: 64,
        buffer,
        compression: None,
    }));
    ArrayEncoding::PackedStruct {
        fields: vec![word.clone(), word],
        buffer,
    }
}

fn flags(places: &[Option<Range<u64>>]) -> Vec<bool> {
    places.iter().map(Option::is_some).collect()
}

fn descriptor_shape() -> Shape {
    Shape::Packed(vec![Shape::Fixed(WORD_BYTES), Shape::Fixed(WORD_BYTES)])
}

fn places(
    descriptors: &Values,
    validity: Bitmap,
    file_size: u64,
) -> Result<Vec<Option<Range<u64>>>> {
    let Values::Packed(len, fields) = descriptors else {
        return Err(FileError::corrupt("descriptors of another type"));
    };
    let [Values::Fixed(positions), Values::Fixed(sizes)] = fields.as_slice() else {
        return Err(FileError::corrupt("descriptors of another type"));
    };
    let (positions, _) = positions.as_bytes().as_chunks::<WORD_BYTES>();
    let (sizes, _) = sizes.as_bytes().as_chunks::<WORD_BYTES>();
    let mut all = Vec::with_capacity(*len);
    for ((position, size), is_valid) in positions.iter().zip(sizes).zip(&validity.into_bits()) {
        let (position, size) = (u64::from_le_bytes(*position), u64::from_le_bytes(*size));
        all.push(match (position, size) {
            _ if !is_valid => None,
            (1, 0) => None,
            (_, 0) => Some(0..0),
            _ => Some(checked_range(position, size, file_size).ok_or_else(|| {
                FileError::corrupt(format!("a value of {size} bytes at {position}"))
            })?),
        });
    }
    Ok(all)
}

impl Rounds for Blobs {
    fn is_ready(&self) -> bool {
        matches!(self.state, State::Known(_))
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        if let State::Unknown(task) = &self.state {
            if task.is_ready() {
                task.needs(out);
            } else {
                task.round_needs(out);
            }
        }
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        let State::Unknown(task) = &mut self.state else {
            return Ok(());
        };
        if !task.is_ready() {
            return task.supply(bytes);
        }
        let (mut values, mut validity) = (Values::new(&descriptor_shape(), 0), Bitmap::default());
        task.decode(bytes, &mut values, &mut validity)?;
        self.state = State::Known(places(&values, validity, self.file_size)?);
        Ok(())
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        if let State::Known(places) = &self.state {
            let places = places.iter().flatten().filter(|place| !place.is_empty());
            out.extend(places.cloned());
        }
    }
}
