//! The policy: how the values of a page are stored.
//!
//! Never larger than what the reference implementation would choose, and always something that it
//! reads.

mod fixed;
mod strings;

use arrow_array::Array;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use self::fixed::{Plan, heavy, indices};
use self::strings::{string_chunks, zipped_strings};
use super::blob;
use super::coder::{Kind, ValueCoder};
use super::constant::ConstantValue;
use super::dictionary::{self, Budget, Dictionary, Indexed};
use super::full_zip::ZipValues;
use super::leaf::Leaf;
use super::packed;
use super::settings::{Settings, Structure};
use super::shred::Shredded;
use super::values::{FixedValues, Values, VariableValues};
use crate::{FileError, FileVersion, LogicalType, Result};

/// Values from this many bytes on are wide.
const WIDE_BYTES: usize = 256;
/// Levels of a constant page are stored as they are; above this many bytes, other pages are smaller.
const MAX_PLAIN_LEVEL_BYTES: usize = 512;

/// What becomes of a page.
#[derive(Debug)]
pub(crate) enum Choice {
    /// Levels only.
    Nulls,
    /// One value.
    Constant(ConstantValue),
    /// Chunks of values, or of indices into a dictionary.
    MiniBlock {
        values: ValueCoder,
        dictionary: Option<Dictionary>,
    },
    /// Values zipped with their levels.
    FullZip(ZipValues),
    /// Descriptions of large objects.
    Blob(ValueCoder),
}

/// Decides about a page. Where its levels do not fit into chunks, it cannot be a mini-block.
pub(crate) fn choose(
    leaf: &Leaf,
    version: FileVersion,
    shredded: &Shredded,
    fits_chunks: bool,
) -> Result<Choice> {
    let (settings, validity) = (&leaf.settings, shredded.validity.as_ref());
    if leaf.field.is_blob() && !leaf.field.is_description() {
        return Ok(Choice::Blob(blob::rows(shredded)));
    }
    if refuse_or_skip(leaf, shredded)? {
        return Ok(Choice::Nulls);
    }
    if matches!(shredded.values.data_type(), DataType::Struct(_)) {
        return packed::choose(leaf, shredded);
    }
    if matches!(shredded.values.data_type(), DataType::Dictionary(..)) {
        let indexed = dictionary::index_of_array(version, settings, &shredded.values, validity)?;
        return Ok(with_dictionary(indexed, settings).0);
    }
    let values = match Values::of(&shredded.values)? {
        Values::Fixed(values) => Values::Fixed(values.without_nulls(validity)),
        other => other,
    };
    if version >= FileVersion::V2_2
        && small_levels(shredded)
        && let Some(value) = constant(&values, shredded)
    {
        return Ok(Choice::Constant(value));
    }
    let is_wide = values.longest() >= WIDE_BYTES && !is_list_of_bits(&values);
    let structure = match settings.structure {
        _ if !fits_chunks => Structure::FullZip,
        _ if is_list_of_bits(&values) => Structure::MiniBlock,
        Some(structure) => structure,
        None if is_wide => Structure::FullZip,
        None => Structure::MiniBlock,
    };
    match values {
        Values::Variable(values) if fits_chunks => {
            strings(values, version, shredded, settings, structure)
        }
        Values::Fixed(values) if fits_chunks && structure == Structure::MiniBlock => {
            numbers(values, version, shredded, settings)
        }
        Values::Bits(bits) if structure == Structure::MiniBlock => {
            booleans(bits, shredded, settings)
        }
        values => Ok(match structure {
            Structure::MiniBlock => mini_block(chunked(values, settings)),
            Structure::FullZip => Choice::FullZip(zipped(values, settings)),
        }),
    }
}

/// Whether a page has no values; an error where it has some that cannot be stored.
fn refuse_or_skip(leaf: &Leaf, shredded: &Shredded) -> Result<bool> {
    let field = &leaf.field;
    if field.logical_type == LogicalType::Struct && field.children.is_empty() {
        if !shredded.definition.is_empty() || !shredded.repetition.is_empty() {
            return Err(FileError::unsupported(
                "a struct without fields can be stored neither with nulls nor in a list",
            ));
        }
        return Ok(true);
    }
    let len = shredded.values.len();
    let nulls = shredded
        .validity
        .as_ref()
        .map_or(0, |validity| validity.null_count());
    Ok(len == nulls)
}

/// Whether levels are few enough to be stored as they are.
fn small_levels(shredded: &Shredded) -> bool {
    2 * (shredded.repetition.len() + shredded.definition.len()) <= MAX_PLAIN_LEVEL_BYTES
}

fn constant(values: &Values, shredded: &Shredded) -> Option<ConstantValue> {
    let validity = shredded.validity.as_ref();
    match values {
        Values::Bits(bits) => {
            let mut valid = (0..bits.len()).filter(|&at| validity.is_none_or(|v| v.is_valid(at)));
            let first = bits.value(valid.next()?);
            let same = match validity {
                None => bits.count_set_bits() == if first { bits.len() } else { 0 },
                Some(_) => valid.all(|at| bits.value(at) == first),
            };
            same.then(|| ConstantValue::Fixed(vec![u8::from(first)]))
        }
        Values::Fixed(values) => values
            .is_constant()
            .then(|| ConstantValue::Fixed(values.slice(&(0..1)).to_vec())),
        Values::Variable(values) => {
            let bytes = values.constant(validity)?.to_vec();
            Some(ConstantValue::Variable {
                large: values.large,
                bytes,
            })
        }
        Values::List(_) => None,
    }
}

/// Booleans: as bits, or compressed if that is much smaller.
fn booleans(bits: BooleanBuffer, shredded: &Shredded, settings: &Settings) -> Result<Choice> {
    let plain = Kind::Bits(bits);
    let compressed = match shredded.has_invisible() {
        // Chunks of entries without a value must stay short.
        true => None,
        false => heavy(plain.clone(), shredded.values.len().div_ceil(8), settings)?,
    };
    Ok(mini_block(
        compressed.unwrap_or_else(|| ValueCoder::plain(plain)),
    ))
}

/// Numbers and other narrow values of one width: by a dictionary, if that is smaller, or compressed,
/// if that is much smaller.
fn numbers(
    values: FixedValues,
    version: FileVersion,
    shredded: &Shredded,
    settings: &Settings,
) -> Result<Choice> {
    let Plan { coder, bytes } = indices(values.clone(), settings);
    let limit = match settings.compression {
        None => bytes,
        Some(_) => share(values.bytes.len(), settings.dictionary_ratio),
    };
    let in_runs = matches!(coder.kind, Kind::Runs(..));
    let budget = Budget { limit, in_runs };
    let validity = shredded.validity.as_ref();
    let all = Values::Fixed(values.clone());
    let indexed = dictionary::index(version, settings, &all, validity, budget)?;
    let (choice, bytes) = match indexed.map(|indexed| with_dictionary(indexed, settings)) {
        Some((choice, size)) if size < limit => (choice, size),
        _ => (mini_block(coder), bytes),
    };
    let kind = match values.width {
        4 | 8 => Kind::ByteStreams(values),
        16 | 32 => Kind::Flat(values),
        _ => return Ok(choice),
    };
    Ok(heavy(kind, bytes, settings)?.map_or(choice, mini_block))
}

/// Strings: by a dictionary, if that is much smaller than the strings.
fn strings(
    values: VariableValues,
    version: FileVersion,
    shredded: &Shredded,
    settings: &Settings,
    structure: Structure,
) -> Result<Choice> {
    let limit = share(values.size(), settings.dictionary_ratio);
    let values = Values::Variable(values);
    let validity = shredded.validity.as_ref();
    let budget = Budget {
        limit,
        in_runs: false,
    };
    let indexed = dictionary::index(version, settings, &values, validity, budget)?;
    match (
        indexed.map(|indexed| with_dictionary(indexed, settings)),
        structure,
    ) {
        (Some((choice, size)), _) if size <= limit => Ok(choice),
        (_, Structure::MiniBlock) => Ok(mini_block(chunked(values, settings))),
        (_, Structure::FullZip) => Ok(Choice::FullZip(zipped(values, settings))),
    }
}

/// A page with a dictionary, and its size.
fn with_dictionary(indexed: Indexed, settings: &Settings) -> (Choice, usize) {
    let Plan { coder, bytes } = indices(indexed.indices, settings);
    let size = bytes + indexed.dictionary.items.len();
    let dictionary = Some(indexed.dictionary);
    (
        Choice::MiniBlock {
            values: coder,
            dictionary,
        },
        size,
    )
}

fn mini_block(values: ValueCoder) -> Choice {
    Choice::MiniBlock {
        values,
        dictionary: None,
    }
}

/// A share of some bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share between 0 and 1 of a size, where a byte more or less does not matter"
)]
fn share(bytes: usize, ratio: f64) -> usize {
    (bytes as f64 * ratio) as usize
}

fn is_list_of_bits(values: &Values) -> bool {
    match values {
        Values::List(lists) => match lists.items.as_ref() {
            Values::Bits(_) => true,
            items => is_list_of_bits(items),
        },
        _ => false,
    }
}

fn chunked(values: Values, settings: &Settings) -> ValueCoder {
    match values {
        Values::Bits(bits) => ValueCoder::plain(Kind::Bits(bits)),
        Values::Fixed(values) => indices(values, settings).coder,
        Values::Variable(values) => string_chunks(values, settings),
        Values::List(lists) => ValueCoder::plain(Kind::List(lists)),
    }
}

pub(crate) fn zipped(values: Values, settings: &Settings) -> ZipValues {
    match values {
        Values::Variable(values) => zipped_strings(values, settings),
        values => ZipValues::Fixed(values),
    }
}
