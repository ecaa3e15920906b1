//! Encodings to and from the wire.

use pennon_proto::encodings21 as pb;
use pennon_proto::encodings21::compressive_encoding::Compression as Wire;
use pennon_proto::encodings21::variable_packed_struct::FieldEncoding;
use pennon_proto::encodings21::variable_packed_struct::field_encoding::Width;

use super::{Compression, Encoding, PackedField, PackedWidth};
use crate::{FileError, Result};

impl Encoding {
    /// Reads an encoding's message. Widths are checked where a smaller type holds them.
    pub(crate) fn from_proto(message: pb::CompressiveEncoding) -> Result<Self> {
        Ok(
            match message
                .compression
                .ok_or_else(|| unknown("an encoding of a kind"))?
            {
                Wire::Flat(flat) => {
                    refuse_buffer_compression(flat.data)?;
                    Self::Flat {
                        bits: flat.bits_per_value,
                    }
                }
                Wire::Variable(variable) => from_variable(*variable)?,
                Wire::Constant(constant) => match constant.value {
                    Some(value) if !value.is_empty() => {
                        return Err(FileError::unsupported("a constant encoding with a value"));
                    }
                    _ => Self::Constant,
                },
                Wire::OutOfLineBitpacking(packing) => from_out_of_line(*packing)?,
                Wire::InlineBitpacking(packing) => {
                    refuse_buffer_compression(packing.values)?;
                    Self::InlineBitpacking {
                        bits: lane_bits(packing.uncompressed_bits_per_value)?,
                    }
                }
                Wire::Fsst(fsst) => Self::Fsst {
                    symbol_table: fsst.symbol_table,
                    values: inner(fsst.values)?,
                },
                Wire::Dictionary(_) => {
                    return Err(FileError::unsupported("a dictionary within an encoding"));
                }
                Wire::Rle(rle) => Self::Rle {
                    values: inner(rle.values)?,
                    run_lengths: inner(rle.run_lengths)?,
                },
                Wire::ByteStreamSplit(split) => Self::ByteStreamSplit {
                    values: inner(split.values)?,
                },
                Wire::General(general) => Self::General {
                    compression: from_buffer_compression(general.compression)?,
                    values: inner(general.values)?,
                },
                Wire::FixedSizeList(list) => Self::FixedSizeList {
                    dimension: list.items_per_value,
                    has_validity: list.has_validity,
                    values: inner(list.values)?,
                },
                Wire::PackedStruct(packed) => Self::PackedStruct {
                    field_bits: packed.bits_per_value,
                    values: inner(packed.values)?,
                },
                Wire::VariablePackedStruct(packed) => Self::VariablePackedStruct {
                    fields: packed
                        .fields
                        .into_iter()
                        .map(from_field)
                        .collect::<Result<_>>()?,
                },
            },
        )
    }

    /// The encoding's message.
    pub(crate) fn to_proto(&self) -> pb::CompressiveEncoding {
        let boxed = |encoding: &Self| Some(Box::new(encoding.to_proto()));
        let wire = match self {
            Self::Flat { bits } => Wire::Flat(flat(*bits)),
            Self::Variable { offset_bits } => {
                let offsets = Self::Flat {
                    bits: u64::from(*offset_bits),
                };
                Wire::Variable(Box::new(pb::Variable {
                    offsets: boxed(&offsets),
                    values: None,
                }))
            }
            Self::Constant => Wire::Constant(pb::Constant { value: None }),
            Self::InlineBitpacking { bits } => Wire::InlineBitpacking(pb::InlineBitpacking {
                uncompressed_bits_per_value: u64::from(*bits),
                values: None,
            }),
            Self::OutOfLineBitpacking { bits, packed_bits } => {
                let values = Self::Flat {
                    bits: u64::from(*packed_bits),
                };
                Wire::OutOfLineBitpacking(Box::new(pb::OutOfLineBitpacking {
                    uncompressed_bits_per_value: u64::from(*bits),
                    values: boxed(&values),
                }))
            }
            Self::Fsst {
                symbol_table,
                values,
            } => Wire::Fsst(Box::new(pb::Fsst {
                symbol_table: symbol_table.clone(),
                values: boxed(values),
            })),
            Self::Rle {
                values,
                run_lengths,
            } => Wire::Rle(Box::new(pb::Rle {
                values: boxed(values),
                run_lengths: boxed(run_lengths),
            })),
            Self::ByteStreamSplit { values } => {
                Wire::ByteStreamSplit(Box::new(pb::ByteStreamSplit {
                    values: boxed(values),
                }))
            }
            Self::General {
                compression,
                values,
            } => Wire::General(Box::new(pb::General {
                compression: Some(to_buffer_compression(*compression)),
                values: boxed(values),
            })),
            Self::FixedSizeList {
                dimension,
                has_validity,
                values,
            } => Wire::FixedSizeList(Box::new(pb::FixedSizeList {
                items_per_value: *dimension,
                values: boxed(values),
                has_validity: *has_validity,
            })),
            Self::PackedStruct { field_bits, values } => {
                Wire::PackedStruct(Box::new(pb::PackedStruct {
                    bits_per_value: field_bits.clone(),
                    values: boxed(values),
                }))
            }
            Self::VariablePackedStruct { fields } => {
                let fields = fields.iter().map(to_field).collect();
                Wire::VariablePackedStruct(pb::VariablePackedStruct { fields })
            }
        };
        pb::CompressiveEncoding {
            compression: Some(wire),
        }
    }
}

type Inner = Option<Box<pb::CompressiveEncoding>>;

fn inner(message: Inner) -> Result<Box<Encoding>> {
    let message = message.ok_or_else(|| missing("an encoding's inner encoding"))?;
    Encoding::from_proto(*message).map(Box::new)
}

fn from_variable(variable: pb::Variable) -> Result<Encoding> {
    refuse_buffer_compression(variable.values)?;
    match *inner(variable.offsets)? {
        Encoding::Flat { bits: 32 } => Ok(Encoding::Variable { offset_bits: 32 }),
        Encoding::Flat { bits: 64 } => Ok(Encoding::Variable { offset_bits: 64 }),
        _ => Err(FileError::unsupported(
            "offsets that are not flat with 32 or 64 bits",
        )),
    }
}

fn from_out_of_line(packing: pb::OutOfLineBitpacking) -> Result<Encoding> {
    let bits = lane_bits(packing.uncompressed_bits_per_value)?;
    match *inner(packing.values)? {
        Encoding::Flat { bits: packed } => match u8::try_from(packed) {
            Ok(packed_bits) if packed_bits <= bits => {
                Ok(Encoding::OutOfLineBitpacking { bits, packed_bits })
            }
            _ => Err(FileError::corrupt(format!(
                "{bits}-bit values packed into {packed} bits"
            ))),
        },
        _ => Err(FileError::unsupported(
            "bit-packed values that are not flat",
        )),
    }
}

fn from_field(field: FieldEncoding) -> Result<PackedField> {
    let value = field
        .value
        .ok_or_else(|| missing("the encoding of a packed struct's field"))?;
    let width = match field
        .width
        .ok_or_else(|| missing("the width of a packed struct's field"))?
    {
        Width::BitsPerValue(bits) => PackedWidth::Fixed(bits),
        Width::BitsPerLength(bits) => PackedWidth::LengthPrefixed(bits),
    };
    Ok(PackedField {
        encoding: Encoding::from_proto(value)?,
        width,
    })
}

fn to_field(field: &PackedField) -> FieldEncoding {
    FieldEncoding {
        value: Some(field.encoding.to_proto()),
        width: Some(match field.width {
            PackedWidth::Fixed(bits) => Width::BitsPerValue(bits),
            PackedWidth::LengthPrefixed(bits) => Width::BitsPerLength(bits),
        }),
    }
}

fn from_buffer_compression(message: Option<pb::BufferCompression>) -> Result<Compression> {
    let message = message.ok_or_else(|| missing("the scheme of a general compression"))?;
    match pb::CompressionScheme::try_from(message.scheme) {
        Ok(pb::CompressionScheme::Lz4) => Ok(Compression::Lz4),
        Ok(pb::CompressionScheme::Zstd) => Ok(Compression::Zstd {
            level: message.level,
        }),
        _ => Err(unknown("a compression scheme")),
    }
}

fn to_buffer_compression(compression: Compression) -> pb::BufferCompression {
    let (scheme, level) = match compression {
        Compression::Lz4 => (pb::CompressionScheme::Lz4, None),
        Compression::Zstd { level } => (pb::CompressionScheme::Zstd, level),
    };
    pb::BufferCompression {
        scheme: scheme.into(),
        level,
    }
}

/// Refuses a compression of the kind that the format has a place for and no writer uses.
fn refuse_buffer_compression(message: Option<pb::BufferCompression>) -> Result<()> {
    match message {
        Some(_) => Err(FileError::unsupported(
            "a compressed buffer within an encoding",
        )),
        None => Ok(()),
    }
}

fn lane_bits(bits: u64) -> Result<u8> {
    match bits {
        8 => Ok(8),
        16 => Ok(16),
        32 => Ok(32),
        64 => Ok(64),
        _ => Err(FileError::unsupported(format!(
            "bit-packed values of {bits} bits"
        ))),
    }
}

fn flat(bits: u64) -> pb::Flat {
    pb::Flat {
        bits_per_value: bits,
        data: None,
    }
}

fn missing(what: &str) -> FileError {
    FileError::corrupt(format!("{what} is missing"))
}

fn unknown(what: &str) -> FileError {
    FileError::unsupported(format!("{what} that this release does not know"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_survives_the_round_trip() {
        let flat = |bits| Box::new(Encoding::Flat { bits });
        let encodings = [
            Encoding::Flat { bits: 0 },
            Encoding::Variable { offset_bits: 64 },
            Encoding::Constant,
            Encoding::InlineBitpacking { bits: 16 },
            Encoding::OutOfLineBitpacking {
                bits: 32,
                packed_bits: 0,
            },
            Encoding::Fsst {
                symbol_table: vec![1; 4].into(),
                values: Box::new(Encoding::Variable { offset_bits: 32 }),
            },
            Encoding::Rle {
                values: flat(32),
                run_lengths: flat(8),
            },
            Encoding::General {
                compression: Compression::Zstd { level: Some(3) },
                values: Box::new(Encoding::ByteStreamSplit { values: flat(64) }),
            },
            Encoding::General {
                compression: Compression::Lz4,
                values: flat(8),
            },
            Encoding::FixedSizeList {
                dimension: 3,
                has_validity: true,
                values: flat(1),
            },
            Encoding::PackedStruct {
                field_bits: vec![32, 64],
                values: flat(96),
            },
            Encoding::VariablePackedStruct {
                fields: vec![
                    PackedField {
                        encoding: *flat(8),
                        width: PackedWidth::Fixed(8),
                    },
                    PackedField {
                        encoding: Encoding::Variable { offset_bits: 32 },
                        width: PackedWidth::LengthPrefixed(32),
                    },
                ],
            },
        ];
        for encoding in encodings {
            assert_eq!(Encoding::from_proto(encoding.to_proto()).unwrap(), encoding);
        }
    }

    #[test]
    fn impossible_widths_are_refused() {
        let wide = Encoding::OutOfLineBitpacking {
            bits: 8,
            packed_bits: 9,
        };
        assert!(Encoding::from_proto(wide.to_proto()).is_err());
        let odd = Encoding::InlineBitpacking { bits: 24 };
        assert!(Encoding::from_proto(odd.to_proto()).is_err());
        assert!(Encoding::from_proto(pb::CompressiveEncoding { compression: None }).is_err());
    }
}
