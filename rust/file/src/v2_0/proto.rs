//! Array encodings to and from the wire.

use bytes::Bytes;
use pennon_codec::general::Scheme;
use pennon_proto::encodings as pb;
use pennon_proto::encodings::array_encoding::Kind;
use pennon_proto::encodings::buffer::BufferType;
use pennon_proto::encodings::nullable;
use pennon_proto::type_url;
use prost::Message;

use super::encoding::{ArrayEncoding, BufferRef, Compression};
use crate::container::metadata::{PageEncoding, decode};
use crate::{FileError, Result};

impl PageEncoding for ArrayEncoding {
    const TYPE_URL: &'static str = type_url::ARRAY_ENCODING;
    /// Early writers of 2.0 did not align.
    const ALIGNMENT: u64 = 1;

    fn from_bytes(bytes: Bytes) -> Result<Self> {
        from_proto(decode(bytes, "the page's encoding")?)
    }

    fn to_bytes(&self) -> Vec<u8> {
        to_proto(self).encode_to_vec()
    }
}

fn from_proto(message: pb::ArrayEncoding) -> Result<ArrayEncoding> {
    let unknown = || FileError::unsupported("an array encoding that this release does not know");
    Ok(match message.kind.ok_or_else(unknown)? {
        Kind::Flat(flat) => ArrayEncoding::Flat {
            bits: flat.bits_per_value,
            buffer: buffer(flat.buffer)?,
            compression: flat.compression.map(compression).transpose()?,
        },
        Kind::Nullable(nullable) => from_nullable(*nullable)?,
        Kind::FixedSizeList(list) => ArrayEncoding::FixedSizeList {
            dimension: list.dimension,
            items: inner(list.items)?,
        },
        Kind::List(list) => ArrayEncoding::List {
            ends: inner(list.offsets)?,
            null_adjustment: list.null_offset_adjustment,
            num_items: list.num_items,
        },
        Kind::Struct(_) => ArrayEncoding::Struct,
        Kind::Binary(binary) => ArrayEncoding::Binary {
            ends: inner(binary.indices)?,
            bytes: inner(binary.bytes)?,
            null_adjustment: binary.null_adjustment,
        },
        Kind::Dictionary(dictionary) => ArrayEncoding::Dictionary {
            indices: inner(dictionary.indices)?,
            items: inner(dictionary.items)?,
            num_items: dictionary.num_dictionary_items,
        },
        Kind::Fsst(fsst) => ArrayEncoding::Fsst {
            binary: inner(fsst.binary)?,
            symbol_table: fsst.symbol_table,
        },
        Kind::PackedStruct(packed) => ArrayEncoding::PackedStruct {
            fields: packed
                .inner
                .into_iter()
                .map(from_proto)
                .collect::<Result<_>>()?,
            buffer: buffer(packed.buffer)?,
        },
        Kind::Bitpacked(packed) => ArrayEncoding::Bitpacked {
            packed_bits: packed.compressed_bits_per_value,
            bits: packed.uncompressed_bits_per_value,
            buffer: buffer(packed.buffer)?,
            signed: packed.signed,
        },
        Kind::FixedSizeBinary(binary) => ArrayEncoding::FixedSizeBinary {
            bytes: inner(binary.bytes)?,
            width: binary.byte_width,
        },
        Kind::BitpackedForNonNeg(packed) => ArrayEncoding::BitpackedBlocks {
            packed_bits: packed.compressed_bits_per_value,
            bits: packed.uncompressed_bits_per_value,
            buffer: buffer(packed.buffer)?,
        },
        Kind::Constant(constant) => ArrayEncoding::Constant(constant.value.into()),
    })
}

fn to_proto(encoding: &ArrayEncoding) -> pb::ArrayEncoding {
    let kind = match encoding {
        ArrayEncoding::Flat {
            bits,
            buffer,
            compression,
        } => Kind::Flat(pb::Flat {
            bits_per_value: *bits,
            buffer: to_buffer(*buffer),
            compression: compression.map(to_compression),
        }),
        ArrayEncoding::NoNulls(values) => {
            let values = boxed(values);
            nullable(nullable::Kind::NoNulls(Box::new(nullable::NoNull {
                values,
            })))
        }
        ArrayEncoding::SomeNulls { validity, values } => {
            let (validity, values) = (boxed(validity), boxed(values));
            nullable(nullable::Kind::SomeNulls(Box::new(nullable::SomeNull {
                validity,
                values,
            })))
        }
        ArrayEncoding::AllNulls => nullable(nullable::Kind::AllNulls(nullable::AllNull {})),
        ArrayEncoding::FixedSizeList { dimension, items } => {
            Kind::FixedSizeList(Box::new(pb::FixedSizeList {
                dimension: *dimension,
                items: boxed(items),
                has_validity: false,
            }))
        }
        ArrayEncoding::List {
            ends,
            null_adjustment,
            num_items,
        } => Kind::List(Box::new(pb::List {
            offsets: boxed(ends),
            null_offset_adjustment: *null_adjustment,
            num_items: *num_items,
        })),
        ArrayEncoding::Struct => Kind::Struct(pb::SimpleStruct {}),
        ArrayEncoding::Binary {
            ends,
            bytes,
            null_adjustment,
        } => Kind::Binary(Box::new(pb::Binary {
            indices: boxed(ends),
            bytes: boxed(bytes),
            null_adjustment: *null_adjustment,
        })),
        ArrayEncoding::Dictionary {
            indices,
            items,
            num_items,
        } => Kind::Dictionary(Box::new(pb::Dictionary {
            indices: boxed(indices),
            items: boxed(items),
            num_dictionary_items: *num_items,
        })),
        ArrayEncoding::Fsst {
            binary,
            symbol_table,
        } => Kind::Fsst(Box::new(pb::Fsst {
            binary: boxed(binary),
            symbol_table: symbol_table.clone(),
        })),
        ArrayEncoding::PackedStruct { fields, buffer } => Kind::PackedStruct(pb::PackedStruct {
            inner: fields.iter().map(to_proto).collect(),
            buffer: to_buffer(*buffer),
        }),
        ArrayEncoding::Bitpacked {
            packed_bits,
            bits,
            buffer,
            signed,
        } => Kind::Bitpacked(pb::Bitpacked {
            compressed_bits_per_value: *packed_bits,
            uncompressed_bits_per_value: *bits,
            buffer: to_buffer(*buffer),
            signed: *signed,
        }),
        ArrayEncoding::BitpackedBlocks {
            packed_bits,
            bits,
            buffer,
        } => Kind::BitpackedForNonNeg(pb::BitpackedForNonNeg {
            compressed_bits_per_value: *packed_bits,
            uncompressed_bits_per_value: *bits,
            buffer: to_buffer(*buffer),
        }),
        ArrayEncoding::FixedSizeBinary { bytes, width } => {
            Kind::FixedSizeBinary(Box::new(pb::FixedSizeBinary {
                bytes: boxed(bytes),
                byte_width: *width,
            }))
        }
        ArrayEncoding::Constant(value) => Kind::Constant(pb::Constant {
            value: value.to_vec(),
        }),
    };
    pb::ArrayEncoding { kind: Some(kind) }
}

fn inner(message: Option<Box<pb::ArrayEncoding>>) -> Result<Box<ArrayEncoding>> {
    let message =
        message.ok_or_else(|| FileError::corrupt("an encoding's inner encoding is missing"))?;
    from_proto(*message).map(Box::new)
}

fn boxed(encoding: &ArrayEncoding) -> Option<Box<pb::ArrayEncoding>> {
    Some(Box::new(to_proto(encoding)))
}

fn nullable(kind: nullable::Kind) -> Kind {
    Kind::Nullable(Box::new(pb::Nullable { kind: Some(kind) }))
}

fn from_nullable(message: pb::Nullable) -> Result<ArrayEncoding> {
    let unknown = || FileError::unsupported("nulls of a kind that this release does not know");
    Ok(match message.kind.ok_or_else(unknown)? {
        nullable::Kind::NoNulls(nullable) => ArrayEncoding::NoNulls(inner(nullable.values)?),
        nullable::Kind::SomeNulls(nullable) => ArrayEncoding::SomeNulls {
            validity: inner(nullable.validity)?,
            values: inner(nullable.values)?,
        },
        nullable::Kind::AllNulls(_) => ArrayEncoding::AllNulls,
    })
}

/// A missing message is the first buffer of the page, all of whose fields are 0.
fn buffer(message: Option<pb::Buffer>) -> Result<BufferRef> {
    let message = message.unwrap_or_default();
    match BufferType::try_from(message.buffer_type) {
        Ok(BufferType::Page) => Ok(BufferRef::Page(message.buffer_index)),
        Ok(BufferType::Column) => Ok(BufferRef::Column(message.buffer_index)),
        Ok(BufferType::File) | Err(_) => Err(FileError::unsupported(
            "values in a buffer that belongs neither to their page nor to their column",
        )),
    }
}

fn to_buffer(buffer: BufferRef) -> Option<pb::Buffer> {
    let (buffer_index, buffer_type) = match buffer {
        BufferRef::Page(index) => (index, BufferType::Page),
        BufferRef::Column(index) => (index, BufferType::Column),
    };
    Some(pb::Buffer {
        buffer_index,
        buffer_type: buffer_type.into(),
    })
}

fn compression(message: pb::Compression) -> Result<Compression> {
    match message.scheme.as_str() {
        "" | "none" => Ok(Compression::Nothing),
        "zstd" => Ok(Compression::General(Scheme::Zstd {
            level: message.level,
        })),
        "lz4" => Ok(Compression::General(Scheme::Lz4)),
        other => Err(FileError::unsupported(format!(
            "the compression scheme '{other}'"
        ))),
    }
}

fn to_compression(compression: Compression) -> pb::Compression {
    let (scheme, level) = match compression {
        Compression::Nothing => ("none", None),
        Compression::General(Scheme::Lz4) => ("lz4", None),
        Compression::General(Scheme::Zstd { level }) => ("zstd", level),
    };
    pb::Compression {
        scheme: scheme.to_owned(),
        level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(bits: u64, index: u32) -> Box<ArrayEncoding> {
        Box::new(ArrayEncoding::Flat {
            bits,
            buffer: BufferRef::Page(index),
            compression: None,
        })
    }

    fn samples() -> Vec<ArrayEncoding> {
        let binary = Box::new(ArrayEncoding::Binary {
            ends: Box::new(ArrayEncoding::NoNulls(flat(64, 0))),
            bytes: flat(8, 1),
            null_adjustment: 7,
        });
        let buffer = BufferRef::Column(3);
        vec![
            ArrayEncoding::Flat {
                bits: 8,
                buffer,
                compression: Some(Compression::General(Scheme::Zstd { level: Some(3) })),
            },
            ArrayEncoding::SomeNulls {
                validity: flat(1, 0),
                values: flat(32, 1),
            },
            ArrayEncoding::AllNulls,
            ArrayEncoding::FixedSizeList {
                dimension: 4,
                items: flat(16, 0),
            },
            ArrayEncoding::List {
                ends: flat(64, 0),
                null_adjustment: 9,
                num_items: 8,
            },
            ArrayEncoding::Struct,
            ArrayEncoding::Dictionary {
                indices: flat(8, 0),
                items: binary.clone(),
                num_items: 2,
            },
            ArrayEncoding::Fsst {
                binary,
                symbol_table: vec![1; 5].into(),
            },
            ArrayEncoding::PackedStruct {
                fields: vec![*flat(16, 0), *flat(32, 0)],
                buffer,
            },
            ArrayEncoding::Bitpacked {
                packed_bits: 3,
                bits: 32,
                buffer,
                signed: true,
            },
            ArrayEncoding::BitpackedBlocks {
                packed_bits: 3,
                bits: 32,
                buffer,
            },
            ArrayEncoding::FixedSizeBinary {
                bytes: flat(8, 0),
                width: 3,
            },
            ArrayEncoding::Constant(vec![1, 0].into()),
        ]
    }

    #[test]
    fn every_encoding_survives_the_round_trip() {
        for encoding in samples() {
            let bytes = encoding.to_bytes();
            assert_eq!(ArrayEncoding::from_bytes(bytes.into()).unwrap(), encoding);
        }
    }

    #[test]
    fn an_empty_buffer_reference_is_written() {
        // flat { bits_per_value: 8, buffer: {} }
        assert_eq!(flat(8, 0).to_bytes(), [0x0a, 4, 0x08, 8, 0x12, 0]);
    }

    #[test]
    fn buffers_of_the_file_and_unknown_kinds_are_refused() {
        let of_file = [0x0a, 6, 0x08, 8, 0x12, 2, 0x10, 2];
        assert!(ArrayEncoding::from_bytes(Bytes::copy_from_slice(&of_file)).is_err());
        assert!(ArrayEncoding::from_bytes(Bytes::new()).is_err());
    }
}
