//! Policy: what the metadata asks for, and when strings get a dictionary.

use std::collections::HashMap;

use arrow_buffer::NullBuffer;
use pennon_codec::general::Scheme;

use super::encoding::Compression;
use crate::Field;
use crate::write::values::VariableValues;

/// Pages of fewer strings get no dictionary.
const MIN_ROWS: usize = 100;
/// Pages of this many different strings get no dictionary.
const MAX_ITEMS: usize = 100;

/// How the strings of a column are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    /// All bytes of a page together.
    Whole(Compression),
    /// By symbols, each string for itself.
    Fsst,
}

/// What the metadata of a field asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Settings {
    pub(super) compression: Option<Requested>,
}

impl Settings {
    /// The settings of a field. What is not known is ignored.
    pub(super) fn of(field: &Field) -> Self {
        let get = |key: &str| field.metadata.get(&format!("lance-encoding:{key}"));
        let level = || get("compression-level").and_then(|level| level.trim().parse().ok());
        let compression = match get("compression").map(String::as_str) {
            Some("zstd") => Requested::Whole(Compression::General(Scheme::Zstd { level: level() })),
            Some("lz4") => Requested::Whole(Compression::General(Scheme::Lz4)),
            Some("none") => Requested::Whole(Compression::Nothing),
            Some("fsst") => Requested::Fsst,
            _ => return Self::default(),
        };
        Self {
            compression: Some(compression),
        }
    }
}

/// Strings as indices that count from 1 on, 0 being null.
#[derive(Debug, PartialEq)]
pub(super) struct Indexed {
    pub(super) indices: Vec<u8>,
    /// The place of each item's first use.
    pub(super) items: Vec<usize>,
}

/// A dictionary for many strings of which few are different.
pub(super) fn dictionary(values: &VariableValues, nulls: Option<&NullBuffer>) -> Option<Indexed> {
    if values.len() < MIN_ROWS {
        return None;
    }
    let mut known: HashMap<&[u8], u8> = HashMap::new();
    let mut items = Vec::new();
    let mut indices = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(at)) {
            indices.push(0);
            continue;
        }
        let next = u8::try_from(items.len() + 1).ok()?;
        let index = *known.entry(value).or_insert_with(|| {
            items.push(at);
            next
        });
        if items.len() >= MAX_ITEMS {
            return None;
        }
        indices.push(index);
    }
    Some(Indexed { indices, items })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(different: usize, rows: usize) -> VariableValues {
        let all: Vec<String> = (0..rows).map(|at| format!("{}", at % different)).collect();
        let mut offsets = vec![0];
        offsets.extend(all.iter().scan(0, |end, value| {
            *end += value.len();
            Some(*end)
        }));
        VariableValues {
            large: false,
            offsets,
            bytes: all.concat().into_bytes().into(),
        }
    }

    #[test]
    fn few_different_strings_among_many_get_a_dictionary() {
        assert_eq!(dictionary(&strings(2, 99), None), None);
        assert_eq!(dictionary(&strings(100, 1000), None), None);
        let indexed = dictionary(&strings(99, 1000), None).unwrap();
        assert_eq!(indexed.items, (0..99).collect::<Vec<_>>());
        assert_eq!(
            indexed.indices[..100],
            (1..=99).chain([1]).collect::<Vec<u8>>()
        );
        let nulls = NullBuffer::new_null(100);
        let indexed = dictionary(&strings(3, 100), Some(&nulls)).unwrap();
        assert_eq!(
            indexed,
            Indexed {
                indices: vec![0; 100],
                items: vec![]
            }
        );
    }
}
