//! How values of one width are stored.

use crate::Result;
use crate::encoding::Compression;
use crate::write::coder::{Around, Kind, ValueCoder};
use crate::write::settings::{ByteStreamSplit, Requested, Settings};
use crate::write::stats::Stats;
use crate::write::values::FixedValues;

/// Byte streams below this many bits of entropy for each byte are worth splitting.
const SPLIT_ENTROPY: f64 = 4.0;
/// Fewer values than this are not worth a general compressor that nobody asked for.
const MIN_GENERAL_VALUES: usize = 4096;
/// Bytes of a chunk that is compressed without having been asked for: longer chunks get smaller,
/// and shorter ones are quicker to read a single value of.
const GENERAL_CHUNK_BYTES: usize = 16 << 10;
/// The most values that a chunk can say it has.
const MAX_CHUNK_BITS: usize = 1 << 15;
/// How many chunks tell what a compressor would make of all.
const SAMPLE_CHUNKS: usize = 6;

/// A way to store values, and about how many bytes it takes.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) coder: ValueCoder,
    pub(super) bytes: usize,
}

/// The smallest fast way to store integers: as they are, packed, or as runs; or as byte streams for
/// a compressor that was asked for.
pub(super) fn indices(values: FixedValues, settings: &Settings) -> Plan {
    let around = offered(settings);
    let (kind, bytes) = if around != Around::Nothing && splits(&values, settings.byte_stream_split)
    {
        let bytes = values.bytes.len();
        (Kind::ByteStreams(values), bytes)
    } else {
        light(values, settings)
    };
    let coder = ValueCoder {
        around,
        ..ValueCoder::plain(kind)
    };
    Plan { coder, bytes }
}

fn light(values: FixedValues, settings: &Settings) -> (Kind, usize) {
    let flat = values.bytes.len();
    if settings.compression == Some(Requested::Nothing) {
        return (Kind::Flat(values), flat);
    }
    let Some(stats) = Stats::of(&values) else {
        return (Kind::Flat(values), flat);
    };
    let (packed, runs) = (stats.packed_size(), stats.rle_size());
    if runs < flat && runs <= packed && runs_allowed(&stats, settings) {
        (Kind::Runs(values, stats), runs)
    } else if packed < flat {
        (Kind::Packed(values), packed)
    } else {
        (Kind::Flat(values), flat)
    }
}

/// Values behind a general compressor, where nothing was asked for and that is much smaller than
/// the `bytes` of the best fast way, by a sample.
pub(super) fn heavy(kind: Kind, bytes: usize, settings: &Settings) -> Result<Option<ValueCoder>> {
    let chunk_len = match &kind {
        Kind::Bits(_) => MAX_CHUNK_BITS,
        Kind::Flat(values) | Kind::ByteStreams(values) => GENERAL_CHUNK_BYTES / values.width,
        _ => return Ok(None),
    };
    let mut coder = ValueCoder {
        kind,
        around: Around::Used(Compression::Lz4),
        chunk_len: Some(chunk_len),
    };
    if settings.compression.is_some() || coder.len() < MIN_GENERAL_VALUES.max(chunk_len) {
        return Ok(None);
    }
    let fast = coder.projected_size(SAMPLE_CHUNKS)?;
    coder.around = Around::Used(Compression::Zstd { level: Some(1) });
    let small = coder.projected_size(SAMPLE_CHUNKS)?;
    // The faster one may be a quarter larger.
    let is_fast_enough = fast * 4 <= small * 5;
    if is_fast_enough {
        coder.around = Around::Used(Compression::Lz4);
    }
    let size = if is_fast_enough { fast } else { small };
    Ok((size * 10 <= bytes * 7).then_some(coder))
}

fn runs_allowed(stats: &Stats, settings: &Settings) -> bool {
    let float = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    settings
        .rle_threshold
        .is_none_or(|threshold| float(stats.runs()) < threshold * float(stats.len()))
}

pub(super) fn offered(settings: &Settings) -> Around {
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
