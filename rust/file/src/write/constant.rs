//! Pages that store one value, or none.

use super::levels::{LevelCoder, extend_plain};
use super::shred::Shredded;
use crate::layout::{Constant, Layer};
use crate::{FileVersion, PageLayout};

/// The widest value that stands in the page's description.
const MAX_INLINE_BYTES: usize = 32;

/// The one value of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConstantValue {
    /// A value of fixed width.
    Fixed(Vec<u8>),
    /// A string or binary, and whether its offsets take 64 bits.
    Variable { large: bool, bytes: Vec<u8> },
}

impl ConstantValue {
    /// Whether it takes a buffer.
    fn buffer(&self) -> Option<Vec<u8>> {
        match self {
            Self::Fixed(value) if value.len() <= MAX_INLINE_BYTES => None,
            Self::Fixed(value) => Some(with_table(&[value])),
            Self::Variable {
                large: false,
                bytes,
            } => {
                let end = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
                Some(with_table(&[&[[0; 4], end].concat(), bytes]))
            }
            Self::Variable { large: true, bytes } => {
                let end = (bytes.len() as u64).to_le_bytes();
                Some(with_table(&[&[[0; 8], end].concat(), bytes]))
            }
        }
    }
}

/// Buffers behind their number and sizes.
fn with_table(buffers: &[&[u8]]) -> Vec<u8> {
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut out = small(buffers.len()).to_vec();
    buffers
        .iter()
        .for_each(|buffer| out.extend(small(buffer.len())));
    buffers
        .iter()
        .for_each(|buffer| out.extend_from_slice(buffer));
    out
}

/// A page in which every valid value is `value`. Levels, if any, are stored as they are.
pub(crate) fn encode_value(
    value: ConstantValue,
    shredded: &Shredded,
) -> (PageLayout, Vec<Vec<u8>>) {
    let mut buffers = Vec::new();
    buffers.extend(value.buffer());
    if has_levels(shredded) {
        buffers.extend(plain_levels(shredded));
    }
    let inline_value = match value {
        ConstantValue::Fixed(value) if value.len() <= MAX_INLINE_BYTES => Some(value.into()),
        _ => None,
    };
    let layers = shredded.layers.clone();
    let layout = Constant {
        layers,
        inline_value,
        repetition: None,
        definition: None,
    };
    (PageLayout::Constant(layout), buffers)
}

/// A page in which there is no value at all.
pub(crate) fn encode_nulls(
    version: FileVersion,
    shredded: &Shredded,
) -> (PageLayout, Vec<Vec<u8>>) {
    let mut layout = Constant {
        layers: shredded.layers.clone(),
        inline_value: None,
        repetition: None,
        definition: None,
    };
    let is_simple = layout.layers == [Layer::NullableItem];
    if is_simple || !has_levels(shredded) {
        return (PageLayout::Constant(layout), Vec::new());
    }
    if version < FileVersion::V2_2 {
        return (PageLayout::Constant(layout), plain_levels(shredded));
    }
    let (repetition, first) = coded(version, &shredded.repetition);
    let (definition, second) = coded(version, &shredded.definition);
    layout.repetition = repetition;
    layout.definition = definition;
    (PageLayout::Constant(layout), vec![first, second])
}

fn has_levels(shredded: &Shredded) -> bool {
    !shredded.repetition.is_empty() || !shredded.definition.is_empty()
}

fn plain_levels(shredded: &Shredded) -> Vec<Vec<u8>> {
    let plain = |levels: &[u16]| {
        let mut out = Vec::with_capacity(levels.len() * 2);
        extend_plain(levels, &mut out);
        out
    };
    vec![plain(&shredded.repetition), plain(&shredded.definition)]
}

type Coded = Option<(crate::Encoding, u64)>;

fn coded(version: FileVersion, levels: &[u16]) -> (Coded, Vec<u8>) {
    let mut out = Vec::new();
    let coder = LevelCoder::choose(version, levels, std::iter::once(0..levels.len()));
    let coded = coder.map(|coder| {
        coder.encode(levels, &mut out);
        (coder.encoding(), levels.len() as u64)
    });
    (coded, out)
}
