//! The policy: how the values of a page are stored.
//!
//! Never larger than what the reference implementation would choose, and always something that it
//! reads.

use arrow_array::Array;
use arrow_schema::DataType;

use super::blob;
use super::coder::{Around, Kind, ValueCoder};
use super::constant::ConstantValue;
use super::dictionary::{self, Dictionary, Indexed};
use super::full_zip::ZipValues;
use super::leaf::Leaf;
use super::packed;
use super::settings::{ByteStreamSplit, Requested, Settings, Structure};
use super::shred::Shredded;
use super::stats::Stats;
use super::symbols::Symbols;
use super::values::{FixedValues, Values, VariableValues};
use crate::encoding::Compression;
use crate::{FileError, FileVersion, LogicalType, Result};

/// Values from this many bytes on are wide.
const WIDE_BYTES: usize = 256;
/// Strings of fewer bytes in total are not worth a symbol table, nor compression one by one.
const MIN_STRING_BYTES: usize = 32 << 10;
/// Strings whose longest has fewer bytes than this have no frequent parts to speak of.
const MIN_SYMBOL_LENGTH: usize = 5;
/// Strings above this are compressed by a general compressor, one by one.
const LONG_STRING_BYTES: usize = 32 << 10;
/// Levels of a constant page are stored as they are; above this many bytes, other pages are smaller.
const MAX_PLAIN_LEVEL_BYTES: usize = 512;
/// Byte streams below this many bits of entropy for each byte are worth splitting.
const SPLIT_ENTROPY: f64 = 4.0;

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
    let validity = shredded.validity.as_ref();
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
        let settings = &leaf.settings;
        let indexed = dictionary::index_of_array(version, settings, &shredded.values, validity)?;
        return Ok(with_dictionary(indexed, settings));
    }
    let values = match Values::of(&shredded.values)? {
        Values::Fixed(values) => Values::Fixed(values.without_nulls(validity)),
        other => other,
    };
    if version >= FileVersion::V2_2 && small_levels(shredded) {
        if let Some(value) = constant(&values, shredded) {
            return Ok(Choice::Constant(value));
        }
    }
    if fits_chunks {
        if let Some(choice) = by_dictionary(leaf, version, shredded, &values)? {
            return Ok(choice);
        }
    }
    let structure = match leaf.settings.structure {
        _ if !fits_chunks => Structure::FullZip,
        _ if is_list_of_bits(&values) => Structure::MiniBlock,
        Some(structure) => structure,
        None if values.longest() < WIDE_BYTES => Structure::MiniBlock,
        None => Structure::FullZip,
    };
    Ok(match structure {
        Structure::MiniBlock => Choice::MiniBlock {
            values: chunked(values, &leaf.settings),
            dictionary: None,
        },
        Structure::FullZip => Choice::FullZip(zipped(values, &leaf.settings)),
    })
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

/// A dictionary, if it is smaller than the values without one.
fn by_dictionary(
    leaf: &Leaf,
    version: FileVersion,
    shredded: &Shredded,
    values: &Values,
) -> Result<Option<Choice>> {
    let settings = &leaf.settings;
    let validity = shredded.validity.as_ref();
    let Some(indexed) = dictionary::index(version, settings, values, validity)? else {
        return Ok(None);
    };
    let stats = Stats::of(&indexed.indices);
    let size = indexed.dictionary.items.len() + stats.as_ref().map_or(usize::MAX, smallest);
    let pays = match values {
        Values::Variable(values) => within_ratio(size, values.size(), settings.dictionary_ratio),
        Values::Fixed(values) if settings.compression.is_none() => {
            size < Stats::of(values)
                .as_ref()
                .map_or(values.bytes.len(), smallest)
        }
        Values::Fixed(values) => within_ratio(size, values.bytes.len(), settings.dictionary_ratio),
        Values::Bits(_) | Values::List(_) => false,
    };
    Ok(pays.then(|| with_dictionary(indexed, settings)))
}

fn with_dictionary(indexed: Indexed, settings: &Settings) -> Choice {
    let values = fixed(indexed.indices, settings);
    Choice::MiniBlock {
        values,
        dictionary: Some(indexed.dictionary),
    }
}

fn within_ratio(size: usize, plain: usize, ratio: f64) -> bool {
    let float = |bytes: usize| f64::from(u32::try_from(bytes).unwrap_or(u32::MAX));
    float(size) <= float(plain) * ratio
}

/// The bytes of the smallest way to store integers.
fn smallest(stats: &Stats) -> usize {
    stats
        .flat_size()
        .min(stats.packed_size())
        .min(stats.rle_size())
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
        Values::Fixed(values) => fixed(values, settings),
        Values::Variable(values) => variable(values, settings),
        Values::List(lists) => ValueCoder::plain(Kind::List(lists)),
    }
}

/// Values of one width: as byte streams, runs, packed or as they are.
fn fixed(values: FixedValues, settings: &Settings) -> ValueCoder {
    let around = offered(settings);
    if settings.compression == Some(Requested::Nothing) {
        return ValueCoder::plain(Kind::Flat(values));
    }
    if around != Around::Nothing && splits(&values, settings.byte_stream_split) {
        return ValueCoder {
            kind: Kind::ByteStreams(values),
            around,
        };
    }
    let Some(stats) = Stats::of(&values) else {
        return ValueCoder {
            kind: Kind::Flat(values),
            around,
        };
    };
    let (flat, packed) = (stats.flat_size(), stats.packed_size());
    let runs = stats.rle_size();
    let kind = if runs < flat && runs <= packed && runs_allowed(&stats, settings) {
        Kind::Runs(values, stats)
    } else if packed < flat {
        Kind::Packed(values)
    } else {
        Kind::Flat(values)
    };
    ValueCoder { kind, around }
}

fn runs_allowed(stats: &Stats, settings: &Settings) -> bool {
    let float = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    settings
        .rle_threshold
        .is_none_or(|threshold| float(stats.runs()) < threshold * float(stats.len()))
}

fn offered(settings: &Settings) -> Around {
    match settings.compression {
        Some(Requested::General(compression)) => Around::Offered(compression),
        _ => Around::Nothing,
    }
}

fn splits(values: &FixedValues, mode: ByteStreamSplit) -> bool {
    matches!(values.width, 4 | 8)
        && match mode {
            ByteStreamSplit::On => true,
            ByteStreamSplit::Off => false,
            ByteStreamSplit::Auto => mean_entropy(values) < SPLIT_ENTROPY,
        }
}

/// The mean over the bytes of a value of how many bits of information each has.
fn mean_entropy(values: &FixedValues) -> f64 {
    let mut counts = vec![[0_u32; 256]; values.width];
    for value in values.bytes.chunks_exact(values.width) {
        for (count, byte) in counts.iter_mut().zip(value) {
            count[usize::from(*byte)] += 1;
        }
    }
    let total = f64::from(u32::try_from(values.len().max(1)).unwrap_or(u32::MAX));
    let entropy = |count: &[u32; 256]| -> f64 {
        let shares = count
            .iter()
            .filter(|n| **n > 0)
            .map(|n| f64::from(*n) / total);
        shares.map(|share| -share * share.log2()).sum()
    };
    let width = f64::from(u32::try_from(values.width).unwrap_or(1));
    counts.iter().map(entropy).sum::<f64>() / width
}

/// Strings of moderate length: by symbols, or as they are.
fn variable(values: VariableValues, settings: &Settings) -> ValueCoder {
    let chunk_bytes = settings.chunk_bytes;
    match symbols(&values, settings) {
        Some(Symbols { table, codes }) => ValueCoder::plain(Kind::Symbols {
            table,
            values: codes,
            chunk_bytes,
        }),
        None => ValueCoder {
            kind: Kind::Variable {
                values,
                chunk_bytes,
            },
            around: offered(settings),
        },
    }
}

fn symbols(values: &VariableValues, settings: &Settings) -> Option<Symbols> {
    let demanded = settings.compression == Some(Requested::Fsst);
    let suits = settings.compression.is_none()
        && values.size() >= MIN_STRING_BYTES
        && values.longest() >= MIN_SYMBOL_LENGTH;
    if demanded || suits {
        Symbols::of(values, demanded)
    } else {
        None
    }
}

/// Wide values.
pub(crate) fn zipped(values: Values, settings: &Settings) -> ZipValues {
    let Values::Variable(values) = values else {
        return ZipValues::Fixed(values);
    };
    let compression = match settings.compression {
        Some(Requested::General(Compression::Zstd { level })) => Some(level),
        Some(Requested::General(Compression::Lz4)) => Some(None),
        None if values.longest() > LONG_STRING_BYTES => Some(None),
        _ => None,
    };
    if let Some(level) = compression.filter(|_| values.size() >= MIN_STRING_BYTES) {
        return ZipValues::General(
            values,
            Compression::Zstd {
                level: Some(level.unwrap_or(0)),
            },
        );
    }
    match symbols(&values, settings) {
        Some(symbols) => ZipValues::Symbols(symbols),
        None => ZipValues::Variable(values),
    }
}
