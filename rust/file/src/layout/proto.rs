//! Layouts to and from the wire.

use pennon_proto::encodings21 as pb;
use pennon_proto::encodings21::full_zip_layout::ValueWidth;
use pennon_proto::encodings21::page_layout::Layout as Wire;

use super::{Blob, Constant, DictionaryItems, FullZip, Layer, MiniBlock, PageLayout, ZipWidth};
use crate::encoding::Encoding;
use crate::{FileError, Result};

/// More layers than this are refused: no schema nests that deep.
const MAX_LAYERS: usize = 256;

impl PageLayout {
    /// Reads a layout's message.
    pub(crate) fn from_proto(message: pb::PageLayout) -> Result<Self> {
        let unknown =
            || FileError::unsupported("a page layout of a kind that this release does not know");
        Ok(match message.layout.ok_or_else(unknown)? {
            Wire::MiniBlockLayout(layout) => Self::MiniBlock(from_mini_block(layout)?),
            Wire::ConstantLayout(layout) => Self::Constant(from_constant(layout)?),
            Wire::FullZipLayout(layout) => Self::FullZip(from_full_zip(layout)?),
            Wire::BlobLayout(layout) => Self::Blob(from_blob(*layout)?),
        })
    }

    /// The layout's message.
    pub(crate) fn to_proto(&self) -> pb::PageLayout {
        let wire = match self {
            Self::MiniBlock(layout) => Wire::MiniBlockLayout(to_mini_block(layout)),
            Self::Constant(layout) => Wire::ConstantLayout(to_constant(layout)),
            Self::FullZip(layout) => Wire::FullZipLayout(to_full_zip(layout)),
            Self::Blob(layout) => Wire::BlobLayout(Box::new(pb::BlobLayout {
                inner_layout: Some(Box::new(layout.inner.to_proto())),
                layers: to_layers(&layout.layers),
            })),
        };
        pb::PageLayout { layout: Some(wire) }
    }
}

fn from_mini_block(layout: pb::MiniBlockLayout) -> Result<MiniBlock> {
    let count = layout.num_dictionary_items;
    let dictionary = optional(layout.dictionary)?;
    Ok(MiniBlock {
        repetition: optional(layout.rep_compression)?,
        definition: optional(layout.def_compression)?,
        values: required(layout.value_compression)?,
        dictionary: dictionary.map(|encoding| DictionaryItems { encoding, count }),
        layers: from_layers(&layout.layers)?,
        num_buffers: layout.num_buffers,
        repetition_index_depth: layout.repetition_index_depth,
        num_items: layout.num_items,
        large_chunks: layout.has_large_chunk,
    })
}

fn to_mini_block(layout: &MiniBlock) -> pb::MiniBlockLayout {
    let dictionary = layout.dictionary.as_ref();
    pb::MiniBlockLayout {
        rep_compression: layout.repetition.as_ref().map(Encoding::to_proto),
        def_compression: layout.definition.as_ref().map(Encoding::to_proto),
        value_compression: Some(layout.values.to_proto()),
        dictionary: dictionary.map(|items| items.encoding.to_proto()),
        num_dictionary_items: dictionary.map_or(0, |items| items.count),
        layers: to_layers(&layout.layers),
        num_buffers: layout.num_buffers,
        repetition_index_depth: layout.repetition_index_depth,
        num_items: layout.num_items,
        has_large_chunk: layout.large_chunks,
    }
}

fn from_full_zip(layout: pb::FullZipLayout) -> Result<FullZip> {
    let width = match layout.value_width {
        Some(ValueWidth::BitsPerValue(bits)) => ZipWidth::FixedBits(u64::from(bits)),
        Some(ValueWidth::BitsPerOffset(bits)) => ZipWidth::LengthPrefixBits(bits),
        None => ZipWidth::FixedBits(0),
    };
    Ok(FullZip {
        bits_rep: layout.bits_rep,
        bits_def: layout.bits_def,
        width,
        num_items: u64::from(layout.num_items),
        num_visible_items: u64::from(layout.num_visible_items),
        values: required(layout.value_compression)?,
        layers: from_layers(&layout.layers)?,
    })
}

fn to_full_zip(layout: &FullZip) -> pb::FullZipLayout {
    let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    pb::FullZipLayout {
        bits_rep: layout.bits_rep,
        bits_def: layout.bits_def,
        num_items: narrow(layout.num_items),
        num_visible_items: narrow(layout.num_visible_items),
        value_compression: Some(layout.values.to_proto()),
        layers: to_layers(&layout.layers),
        value_width: Some(match layout.width {
            ZipWidth::FixedBits(bits) => ValueWidth::BitsPerValue(narrow(bits)),
            ZipWidth::LengthPrefixBits(bits) => ValueWidth::BitsPerOffset(bits),
        }),
    }
}

fn from_constant(layout: pb::ConstantLayout) -> Result<Constant> {
    let repetition = optional(layout.rep_compression)?;
    let definition = optional(layout.def_compression)?;
    Ok(Constant {
        layers: from_layers(&layout.layers)?,
        inline_value: layout.inline_value.map(Into::into),
        repetition: repetition.map(|encoding| (encoding, layout.num_rep_values)),
        definition: definition.map(|encoding| (encoding, layout.num_def_values)),
    })
}

fn to_constant(layout: &Constant) -> pb::ConstantLayout {
    let encoding = |levels: &Option<(Encoding, u64)>| levels.as_ref().map(|(e, _)| e.to_proto());
    let count = |levels: &Option<(Encoding, u64)>| levels.as_ref().map_or(0, |(_, count)| *count);
    pb::ConstantLayout {
        layers: to_layers(&layout.layers),
        inline_value: layout.inline_value.as_ref().map(|value| value.to_vec()),
        rep_compression: encoding(&layout.repetition),
        def_compression: encoding(&layout.definition),
        num_rep_values: count(&layout.repetition),
        num_def_values: count(&layout.definition),
    }
}

fn from_blob(layout: pb::BlobLayout) -> Result<Blob> {
    let inner = layout
        .inner_layout
        .ok_or_else(|| FileError::corrupt("the layout of blob descriptors is missing"))?;
    let inner = match PageLayout::from_proto(*inner)? {
        PageLayout::Blob(_) => return Err(FileError::corrupt("blobs within blobs")),
        inner => Box::new(inner),
    };
    Ok(Blob {
        inner,
        layers: from_layers(&layout.layers)?,
    })
}

fn required(message: Option<pb::CompressiveEncoding>) -> Result<Encoding> {
    optional(message)?
        .ok_or_else(|| FileError::corrupt("the encoding of a page's values is missing"))
}

fn optional(message: Option<pb::CompressiveEncoding>) -> Result<Option<Encoding>> {
    message.map(Encoding::from_proto).transpose()
}

fn from_layers(layers: &[i32]) -> Result<Vec<Layer>> {
    if layers.len() > MAX_LAYERS {
        return Err(FileError::unsupported(format!(
            "a page with {} layers",
            layers.len()
        )));
    }
    layers.iter().map(|&layer| from_layer(layer)).collect()
}

fn from_layer(layer: i32) -> Result<Layer> {
    match pb::RepDefLayer::try_from(layer) {
        Ok(pb::RepDefLayer::AllValidItem) => Ok(Layer::Item),
        Ok(pb::RepDefLayer::AllValidList) => Ok(Layer::List),
        Ok(pb::RepDefLayer::NullableItem) => Ok(Layer::NullableItem),
        Ok(pb::RepDefLayer::NullableList) => Ok(Layer::NullableList),
        Ok(pb::RepDefLayer::EmptyableList) => Ok(Layer::EmptyableList),
        Ok(pb::RepDefLayer::NullAndEmptyList) => Ok(Layer::NullableEmptyableList),
        Ok(pb::RepDefLayer::Unspecified) | Err(_) => Err(FileError::corrupt(format!(
            "a page layer of the unknown kind {layer}"
        ))),
    }
}

fn to_layers(layers: &[Layer]) -> Vec<i32> {
    layers.iter().map(|&layer| to_layer(layer).into()).collect()
}

fn to_layer(layer: Layer) -> pb::RepDefLayer {
    match layer {
        Layer::Item => pb::RepDefLayer::AllValidItem,
        Layer::List => pb::RepDefLayer::AllValidList,
        Layer::NullableItem => pb::RepDefLayer::NullableItem,
        Layer::NullableList => pb::RepDefLayer::NullableList,
        Layer::EmptyableList => pb::RepDefLayer::EmptyableList,
        Layer::NullableEmptyableList => pb::RepDefLayer::NullAndEmptyList,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    /// The layout of a page of `int32 [1, null, 3]` in a 2.2 file.
    const TINY: [u8; 23] = [
        0x0A, 0x15, 0x12, 0x04, 0x0A, 0x02, 0x08, 0x10, 0x1A, 0x04, 0x0A, 0x02, 0x08, 0x20, 0x32,
        0x01, 0x03, 0x38, 0x01, 0x48, 0x03, 0x50, 0x01,
    ];

    #[test]
    fn the_layout_of_a_tiny_page_as_in_the_specification() {
        let layout = PageLayout::from_proto(pb::PageLayout::decode(&TINY[..]).unwrap()).unwrap();
        let expected = PageLayout::MiniBlock(MiniBlock {
            repetition: None,
            definition: Some(Encoding::Flat { bits: 16 }),
            values: Encoding::Flat { bits: 32 },
            dictionary: None,
            layers: vec![Layer::NullableItem],
            num_buffers: 1,
            repetition_index_depth: 0,
            num_items: 3,
            large_chunks: true,
        });
        assert_eq!(layout, expected);
        assert_eq!(layout.to_proto().encode_to_vec(), TINY);
    }

    #[test]
    fn every_layout_survives_the_round_trip() {
        let full_zip = PageLayout::FullZip(FullZip {
            bits_rep: 1,
            bits_def: 2,
            width: ZipWidth::LengthPrefixBits(32),
            num_items: 6,
            num_visible_items: 4,
            values: Encoding::Variable { offset_bits: 32 },
            layers: vec![Layer::NullableItem, Layer::NullableEmptyableList],
        });
        let constant = PageLayout::Constant(Constant {
            layers: vec![Layer::Item, Layer::EmptyableList],
            inline_value: Some(vec![7, 0, 0, 0].into()),
            repetition: Some((Encoding::Flat { bits: 16 }, 5)),
            definition: None,
        });
        let blob = PageLayout::Blob(Blob {
            inner: Box::new(full_zip.clone()),
            layers: vec![Layer::NullableItem],
        });
        for layout in [full_zip, constant, blob] {
            assert_eq!(PageLayout::from_proto(layout.to_proto()).unwrap(), layout);
        }
    }
}
