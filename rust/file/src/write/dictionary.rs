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

/// The distinct values of a page, unless there seem to be too many for a dictionary to pay. Null
/// slots get the index of the value before them.
pub(crate) fn index(
    version: FileVersion,
    settings: &Settings,
    values: &Values,
    validity: Option<&NullBuffer>,
) -> Result<Option<Indexed>> {
    let len = values.len();
    let most = (len / settings.dictionary_divisor).min(MAX_ITEMS);
    if len < MIN_VALUES {
        return Ok(None);
    }
    let found = match values {
        Values::Variable(values) => distinct(len, most, validity, |at| values.value(at)),
        Values::Fixed(values) if values.width == 16 => {
            distinct(len, most, validity, |at| values.slice(&(at..at + 1)))
        }
        Values::Fixed(values) if values.width == 8 && version >= FileVersion::V2_2 => {
            let lanes = values.lanes::<u64>();
            distinct(len, most, validity, |at| lanes[at])
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
    validity: Option<&NullBuffer>,
    value: impl Fn(usize) -> T,
) -> Option<(Vec<usize>, Vec<u32>)> {
    if len >= MIN_SAMPLED && !looks_repetitive(len, most, &value) {
        return None;
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
    Some((set.places, indices))
}

/// Whether a sample leaves hope for at most `most` distinct values.
fn looks_repetitive<T: Copy + Eq + std::hash::Hash>(
    len: usize,
    most: usize,
    value: &impl Fn(usize) -> T,
) -> bool {
    let mut set = Distinct::default();
    let mut seen = 0;
    for stretch in 0..SAMPLE_STRETCHES {
        let start = len / SAMPLE_STRETCHES * stretch;
        for at in start..(start + STRETCH_VALUES).min(len) {
            set.index_of(value(at), at, value);
            seen += 1;
        }
    }
    let distinct = set.places.len();
    distinct * 100 < seen * 98 && distinct.saturating_mul(len) <= seen.saturating_mul(most)
        || distinct * 8 <= seen
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

fn compressed(dictionary: Dictionary, compression: Compression) -> Result<Dictionary> {
    let mut items = Vec::new();
    general::compress(scheme_of(compression), &dictionary.items, &mut items)?;
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
