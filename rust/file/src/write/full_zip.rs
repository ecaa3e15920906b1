//! Full-zip pages: wide values, each right behind its levels.

use pennon_codec::{bits, general, levels};

use super::coder::{bits_of, list_encoding, scheme_of, variable_encoding};
use super::shred::Shredded;
use super::symbols::Symbols;
use super::values::{ListValues, Values, VariableValues, extend_with_bits};
use crate::encoding::{Compression, Encoding, PackedField, PackedWidth};
use crate::layout::{FullZip, ZipWidth};
use crate::{FileError, PageLayout, Result};

/// How wide values are stored.
#[derive(Debug)]
pub(crate) enum ZipValues {
    /// Booleans as bytes, values of one width, and lists of one length.
    Fixed(Values),
    /// Strings as they are.
    Variable(VariableValues),
    /// Strings by symbols.
    Symbols(Symbols),
    /// Strings, each compressed on its own.
    General(VariableValues, Compression),
    /// Packed structs, field by field.
    Packed(Vec<ZipValues>),
}

impl ZipValues {
    fn len(&self) -> usize {
        match self {
            Self::Fixed(values) => values.len(),
            Self::Variable(values) | Self::General(values, _) => values.len(),
            Self::Symbols(symbols) => symbols.codes.len(),
            Self::Packed(fields) => fields.first().map_or(0, Self::len),
        }
    }

    fn encoding(&self) -> Encoding {
        match self {
            Self::Fixed(Values::Bits(_)) => Encoding::Flat { bits: 8 },
            Self::Fixed(Values::List(lists)) => list_encoding(lists),
            Self::Fixed(Values::Fixed(values)) => Encoding::Flat {
                bits: values.width as u64 * 8,
            },
            Self::Fixed(Values::Variable(values)) | Self::Variable(values) => {
                variable_encoding(values)
            }
            Self::Symbols(symbols) => Encoding::Fsst {
                symbol_table: symbols.table.clone(),
                values: Box::new(variable_encoding(&symbols.codes)),
            },
            Self::General(values, compression) => Encoding::General {
                compression: *compression,
                values: Box::new(variable_encoding(values)),
            },
            Self::Packed(fields) => Encoding::VariablePackedStruct {
                fields: fields.iter().map(Self::packed_field).collect(),
            },
        }
    }

    fn width(&self) -> ZipWidth {
        match self {
            Self::Fixed(values) => ZipWidth::FixedBits(fixed_bytes(values) as u64 * 8),
            Self::Variable(values) | Self::General(values, _) => prefix(values),
            Self::Symbols(symbols) => prefix(&symbols.codes),
            Self::Packed(_) => ZipWidth::LengthPrefixBits(32),
        }
    }

    /// The description as a field of a packed struct.
    fn packed_field(&self) -> PackedField {
        PackedField {
            encoding: self.encoding(),
            width: match self.width() {
                ZipWidth::FixedBits(bits) => PackedWidth::Fixed(bits),
                ZipWidth::LengthPrefixBits(bits) => PackedWidth::LengthPrefixed(bits.into()),
            },
        }
    }

    fn is_variable(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// Appends a value, behind its length if that varies.
    fn append(&self, at: usize, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Fixed(values) => append_fixed(values, at, out),
            Self::Variable(values) => append_prefixed(values.large, values.value(at), out),
            Self::Symbols(symbols) => {
                append_prefixed(symbols.codes.large, symbols.codes.value(at), out);
            }
            Self::General(values, compression) => {
                scratch.clear();
                general::compress(scheme_of(*compression), values.value(at), scratch)?;
                append_prefixed(values.large, scratch, out);
            }
            Self::Packed(fields) => {
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                for field in fields {
                    field.append(at, scratch, out)?;
                }
                let len = u32::try_from(out.len() - start - 4)
                    .map_err(|_| FileError::invalid_input("a packed struct of more than 4 GiB"))?;
                out[start..start + 4].copy_from_slice(&len.to_le_bytes());
            }
        }
        Ok(())
    }
}

fn prefix(values: &VariableValues) -> ZipWidth {
    ZipWidth::LengthPrefixBits(if values.large { 64 } else { 32 })
}

fn append_prefixed(large: bool, value: &[u8], out: &mut Vec<u8>) {
    let len = value.len() as u64;
    // Offsets of 32 bits are less than 2^31.
    out.extend_from_slice(&len.to_le_bytes()[..if large { 8 } else { 4 }]);
    out.extend_from_slice(value);
}

/// Bytes of one value, with the validity of its items.
fn fixed_bytes(values: &Values) -> usize {
    match values {
        Values::Bits(_) => 1,
        Values::Fixed(values) => values.width,
        Values::List(lists) => bits_of(lists).div_ceil(8) + validity_bytes(lists, 1),
        Values::Variable(_) => 0,
    }
}

fn validity_bytes(lists: &ListValues, outer: usize) -> usize {
    let items = outer * lists.dimension;
    let own = if lists.nulls.is_some() {
        items.div_ceil(8)
    } else {
        0
    };
    match lists.items.as_ref() {
        Values::List(inner) => own + validity_bytes(inner, items),
        _ => own,
    }
}

fn append_fixed(values: &Values, at: usize, out: &mut Vec<u8>) {
    match values {
        Values::Bits(bits) => out.push(u8::from(bits.value(at))),
        Values::Fixed(values) => out.extend_from_slice(values.slice(&(at..at + 1))),
        Values::List(lists) => append_list(lists, at..at + 1, out),
        Values::Variable(_) => {}
    }
}

fn append_list(lists: &ListValues, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
    let items = range.start * lists.dimension..range.end * lists.dimension;
    if let Some(nulls) = &lists.nulls {
        extend_with_bits(nulls.inner(), &items, out);
    }
    match lists.items.as_ref() {
        Values::List(inner) => append_list(inner, items, out),
        Values::Fixed(values) => out.extend_from_slice(values.slice(&items)),
        Values::Bits(bits) => extend_with_bits(bits, &items, out),
        Values::Variable(_) => {}
    }
}

/// How the control word in front of each value is made.
struct ControlWords {
    bits_rep: u32,
    bits_def: u32,
}

impl ControlWords {
    fn of(shredded: &Shredded) -> Self {
        let bits_of = |levels: &[u16]| bits::bit_len(levels::max(levels).into());
        Self {
            bits_rep: bits_of(&shredded.repetition),
            bits_def: bits_of(&shredded.definition),
        }
    }

    fn bytes(&self) -> usize {
        match self.bits_rep + self.bits_def {
            0 => 0,
            1..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }

    fn append(&self, rep: u16, def: u16, out: &mut Vec<u8>) {
        let word = u32::from(rep) << self.bits_def | u32::from(def);
        out.extend_from_slice(&word.to_le_bytes()[..self.bytes()]);
    }
}

/// Encodes a page.
pub(crate) fn encode(
    values: &ZipValues,
    shredded: &Shredded,
) -> Result<(PageLayout, Vec<Vec<u8>>)> {
    let control = ControlWords::of(shredded);
    let has_index = values.is_variable() || !shredded.repetition.is_empty();
    let (data, starts) = zip(values, shredded, &control, has_index)?;
    let narrow = |count: usize| {
        u32::try_from(count).map(u64::from).map_err(|_| {
            FileError::invalid_input("a page of more values than the format can count")
        })
    };
    let layout = FullZip {
        bits_rep: control.bits_rep,
        bits_def: control.bits_def,
        width: values.width(),
        num_items: narrow(shredded.entries())?,
        num_visible_items: narrow(values.len())?,
        values: values.encoding(),
        layers: shredded.layers.clone(),
    };
    let mut buffers = vec![data];
    if has_index {
        buffers.push(repetition_index(&starts));
    }
    Ok((PageLayout::FullZip(layout), buffers))
}

/// The rows' bytes, and if they are asked for where each row starts and the last one ends.
fn zip(
    values: &ZipValues,
    shredded: &Shredded,
    control: &ControlWords,
    with_starts: bool,
) -> Result<(Vec<u8>, Vec<u64>)> {
    let (top, max_visible) = (shredded.max_repetition(), shredded.max_visible());
    let level = |levels: &[u16], entry: usize| levels.get(entry).copied().unwrap_or(0);
    let (mut data, mut starts, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for entry in 0..shredded.entries() {
        let rep = level(&shredded.repetition, entry);
        let def = level(&shredded.definition, entry);
        if with_starts && rep == top {
            starts.push(data.len() as u64);
        }
        control.append(rep, def, &mut data);
        if def <= max_visible {
            if def == 0 || !values.is_variable() {
                values.append(at, &mut scratch, &mut data)?;
            }
            at += 1;
        }
    }
    if with_starts {
        starts.push(data.len() as u64);
    }
    Ok((data, starts))
}

/// Offsets in as few bytes each as the last one takes.
fn repetition_index(starts: &[u64]) -> Vec<u8> {
    let width = match starts.last().copied().unwrap_or(0) {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    starts
        .iter()
        .flat_map(|start| start.to_le_bytes().into_iter().take(width))
        .collect()
}
