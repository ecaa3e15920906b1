//! Distinct values, and the index of each value among them.

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, ArrayRef, DictionaryArray, UInt64Array, downcast_dictionary_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_select::take::take;
use hashbrown::HashTable;
use pennon_codec::{general, variable};

use super::coder::{offset_width, scheme_of, variable_encoding};
use super::settings::Settings;
use super::values::{FixedValues, Values, VariableValues};
use crate::encoding::{Compression, Encoding};
use crate::{FileError, FileVersion, Result};

/// Fewer values than this are not worth a dictionary.
const MIN_VALUES: usize = 100;
/// No dictionary has more items than this.
const MAX_ITEMS: usize = 100_000;
/// From this many values on, a sample is looked at first.
const MIN_SAMPLED: usize = 1024;
/// The sample: this many stretches of so many values each.
const SAMPLE_STRETCHES: usize = 32;
const STRETCH_VALUES: usize = 128;

/// The items of a dictionary, stored.
#[derive(Debug, Clone)]
pub(crate) struct Dictionary {
    /// How they are stored.
    pub(crate) encoding: Encoding,
    /// How many there are.
    pub(crate) count: usize,
    /// The bytes.
    pub(crate) items: Vec<u8>,
}

/// Indices and what they refer to.
#[derive(Debug)]
pub(crate) struct Indexed {
    /// One index of 32 bits, or of the keys of an Arrow dictionary, for each value.
    pub(crate) indices: FixedValues,
    pub(crate) dictionary: Dictionary,
}

/// The distinct values of a page, unless there seem to be so many that indices and items would take
/// more than the budget's bytes. Null slots get the index of the value before them.
pub(crate) fn index(
    version: FileVersion,
    settings: &Settings,
    values: &Values,
    validity: Option<&NullBuffer>,
    budget: Budget,
) -> Result<Option<Indexed>> {
    let len = values.len();
    let most = (len / settings.dictionary_divisor).min(MAX_ITEMS);
    if len < MIN_VALUES {
        return Ok(None);
    }
    let found = match values {
        Values::Variable(values) => {
            let item = values.size() / len;
            distinct(len, most, item, budget, validity, |at| values.value(at))
        }
        Values::Fixed(values) if values.width == 16 => {
            let (items, _) = values.bytes.as_chunks::<16>();
            distinct(len, most, 16, budget, validity, |at| {
                u128::from_ne_bytes(items[at])
            })
        }
        Values::Fixed(values) if values.width == 8 && version >= FileVersion::V2_2 => {
            let lanes = values.lanes::<u64>();
            distinct(len, most, 8, budget, validity, |at| lanes[at])
        }
        _ => None,
    };
    let Some((first_places, indices)) = found else {
        return Ok(None);
    };
    let items = pick(values, &first_places);
    let dictionary = store(version, settings, &items)?;
    let indices = FixedValues::new(4, Buffer::from_vec(indices));
    Ok(Some(Indexed {
        indices,
        dictionary,
    }))
}

/// When a dictionary is given up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Bytes that indices and items may take.
    pub(crate) limit: usize,
    /// Whether the values come in long runs, so that indices may, too.
    pub(crate) in_runs: bool,
}

impl Budget {
    /// Whether about so many items of so many bytes each can pay for `len` values.
    fn allows(self, len: usize, items: usize, item_bytes: usize) -> bool {
        let index_bits = usize::BITS - items.saturating_sub(1).leading_zeros();
        let index_bits = usize::try_from(index_bits).unwrap_or(64);
        let index_bytes = if self.in_runs {
            0
        } else {
            len.saturating_mul(index_bits) / 8
        };
        // Compression may make the items this much smaller.
        (items * item_bytes / 4).saturating_add(index_bytes) <= self.limit
    }
}

/// An Arrow dictionary, without items that are null or not used.
pub(crate) fn index_of_array(
    version: FileVersion,
    settings: &Settings,
    array: &ArrayRef,
    validity: Option<&NullBuffer>,
) -> Result<Indexed> {
    let (places, indices) = downcast_dictionary_array!(
        array => compact(array, validity),
        other => return Err(FileError::unsupported(format!("values of type {other}")))
    );
    let used = UInt64Array::from(places);
    let values = array.as_any_dictionary().values();
    let items = Values::of(&take(values, &used, None)?)?;
    let dictionary = store(version, settings, &items)?;
    Ok(Indexed {
        indices,
        dictionary,
    })
}

/// The places of the items that are used, in their order, and new keys.
fn compact<K: ArrowDictionaryKeyType>(
    array: &DictionaryArray<K>,
    validity: Option<&NullBuffer>,
) -> (Vec<u64>, FixedValues) {
    let is_valid = |at| validity.is_none_or(|validity| validity.is_valid(at));
    let old_keys = || array.keys().values().iter().enumerate();
    let mut is_used = vec![false; array.values().len()];
    for (_, key) in old_keys().filter(|(at, _)| is_valid(*at)) {
        is_used[key.as_usize()] = true;
    }
    let mut new_keys = vec![0; is_used.len()];
    let mut places = Vec::new();
    for (place, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
        new_keys[place] = places.len();
        places.push(place as u64);
    }
    let mut last = 0;
    let keys = old_keys().map(|(at, key)| {
        last = if is_valid(at) {
            new_keys[key.as_usize()]
        } else {
            last
        };
        K::Native::usize_as(last)
    });
    let keys: Vec<K::Native> = keys.collect();
    (
        places,
        FixedValues::new(size_of::<K::Native>(), Buffer::from_vec(keys)),
    )
}

/// The places of the first of each distinct value, and for each value which of them it is.
fn distinct<T: Copy + Eq + std::hash::Hash>(
    len: usize,
    most: usize,
    item_bytes: usize,
    budget: Budget,
    validity: Option<&NullBuffer>,
    value: impl Fn(usize) -> T,
) -> Option<(Vec<usize>, Vec<u32>)> {
    if len >= MIN_SAMPLED {
        let items = estimated_items(len, &value)?;
        if items > most || !budget.allows(len, items, item_bytes) {
            return None;
        }
    }
    let mut set = Distinct::default();
    let mut indices = Vec::with_capacity(len);
    let mut last = 0;
    let mut previous = None;
    for at in 0..len {
        if validity.is_none_or(|validity| validity.is_valid(at)) {
            let this = value(at);
            if previous != Some(this) {
                last = set.index_of(this, at, &value);
                previous = Some(this);
                if set.places.len() > most {
                    return None;
                }
            }
        }
        indices.push(last);
    }
    budget
        .allows(len, set.places.len(), item_bytes)
        .then_some((set.places, indices))
}

/// About how many distinct values there are, by a sample; `None` if nearly all of that is distinct.
///
/// Values that the sample has more than once count as themselves. Those that it has once stand for
/// others that it missed: for as many as the square root of the share that was looked at says, which
/// is as wrong at most in either direction (Charikar and others, "Towards Estimation Error
/// Guarantees for Distinct Values", PODS 2000).
fn estimated_items<T: Copy + Eq + std::hash::Hash>(
    len: usize,
    value: &impl Fn(usize) -> T,
) -> Option<usize> {
    let mut set = Distinct::default();
    let mut counts: Vec<usize> = Vec::new();
    let mut seen = 0;
    for stretch in 0..SAMPLE_STRETCHES {
        let start = len / SAMPLE_STRETCHES * stretch;
        let end = (start + STRETCH_VALUES.min(len / SAMPLE_STRETCHES)).min(len);
        for at in start..end {
            let index = usize::try_from(set.index_of(value(at), at, value)).unwrap_or(0);
            counts.resize(set.places.len(), 0);
            counts[index] += 1;
            seen += 1;
        }
    }
    if counts.len() * 100 >= seen * 98 {
        return None;
    }
    let once = counts.iter().filter(|count| **count == 1).count();
    Some(counts.len() - once + once * (len / seen.max(1)).isqrt())
}

/// A set of values by the place where each was seen first.
#[derive(Default)]
struct Distinct {
    table: HashTable<u32>,
    places: Vec<usize>,
    hasher: ahash::RandomState,
}

impl Distinct {
    fn index_of<T: Copy + Eq + std::hash::Hash>(
        &mut self,
        this: T,
        at: usize,
        value: &impl Fn(usize) -> T,
    ) -> u32 {
        let Self {
            table,
            places,
            hasher,
        } = self;
        let index_of = |index: &u32| usize::try_from(*index).unwrap_or(0);
        let entry = table.entry(
            hasher.hash_one(this),
            |index| value(places[index_of(index)]) == this,
            |index| hasher.hash_one(value(places[index_of(index)])),
        );
        let next = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let occupied = entry.or_insert(next);
        let index = *occupied.get();
        if index == next {
            places.push(at);
        }
        index
    }
}

fn pick(values: &Values, places: &[usize]) -> Values {
    match values {
        Values::Variable(values) => {
            let mut bytes = Vec::new();
            let mut offsets = vec![0];
            for &place in places {
                bytes.extend_from_slice(values.value(place));
                offsets.push(bytes.len());
            }
            Values::Variable(VariableValues {
                large: values.large,
                offsets,
                bytes: bytes.into(),
            })
        }
        Values::Fixed(values) => {
            let items = places
                .iter()
                .map(|&place| values.slice(&(place..place + 1)));
            let bytes = items.collect::<Vec<_>>().concat();
            Values::Fixed(FixedValues::new(values.width, Buffer::from_vec(bytes)))
        }
        other => other.clone(),
    }
}

/// Stores items, compressed if the version allows it and they get smaller.
fn store(version: FileVersion, settings: &Settings, items: &Values) -> Result<Dictionary> {
    let mut plain = Vec::new();
    let encoding = match items {
        Values::Fixed(values) => {
            plain.extend_from_slice(&values.bytes);
            Encoding::Flat {
                bits: values.width as u64 * 8,
            }
        }
        Values::Variable(values) => {
            variable::encode_block(
                &values.offsets,
                &values.bytes,
                offset_width(values),
                &mut plain,
            )?;
            variable_encoding(values)
        }
        Values::Bits(_) | Values::List(_) => {
            return Err(FileError::unsupported(
                "a dictionary of such values cannot be stored",
            ));
        }
    };
    let dictionary = Dictionary {
        encoding,
        count: items.len(),
        items: plain,
    };
    match settings.dictionary_compression {
        Some(compression) if version >= FileVersion::V2_2 => compressed(dictionary, compression),
        _ => Ok(dictionary),
    }
}

/// The items compressed, if they get smaller; by Zstandard instead of LZ4 where that is better and
/// nobody asked, for items are decompressed only once.
fn compressed(dictionary: Dictionary, compression: Compression) -> Result<Dictionary> {
    let compress = |compression| {
        let mut items = Vec::new();
        general::compress(scheme_of(compression), &dictionary.items, &mut items)?;
        Ok::<_, FileError>((items, compression))
    };
    let mut best = compress(compression)?;
    if compression == Compression::Lz4 {
        let zstd = compress(Compression::Zstd { level: Some(3) })?;
        best = if zstd.0.len() < best.0.len() {
            zstd
        } else {
            best
        };
    }
    let (items, compression) = best;
    if items.len() >= dictionary.items.len() {
        return Ok(dictionary);
    }
    let values = Box::new(dictionary.encoding);
    let encoding = Encoding::General {
        compression,
        values,
    };
    Ok(Dictionary {
        encoding,
        items,
        ..dictionary
    })
}
