//! What a schema's metadata asks for: the `lance-encoding:*` keys of a column.

use std::collections::BTreeMap;

use crate::encoding::Compression;
use crate::{Field, FileError, Result};

/// A column's compression, when its metadata names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requested {
    /// No compression at all.
    Nothing,
    /// Symbol tables for strings.
    Fsst,
    /// A general purpose compressor.
    General(Compression),
}

/// Whether byte-stream-split may be used below a general compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteStreamSplit {
    On,
    Off,
    Auto,
}

/// A page structure, when the metadata names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    MiniBlock,
    FullZip,
}

/// The settings of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) compression: Option<Requested>,
    pub(crate) byte_stream_split: ByteStreamSplit,
    pub(crate) structure: Option<Structure>,
    /// Runs are used when there are fewer of them than this share of the values.
    pub(crate) rle_threshold: Option<f64>,
    /// A dictionary may hold this fraction of the number of values.
    pub(crate) dictionary_divisor: usize,
    /// A dictionary and its indices may take this share of the values' size.
    pub(crate) dictionary_ratio: f64,
    /// What compresses the items of a dictionary (2.2).
    pub(crate) dictionary_compression: Option<Compression>,
    /// Bytes of a chunk of strings.
    pub(crate) chunk_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compression: None,
            byte_stream_split: ByteStreamSplit::Auto,
            structure: None,
            rle_threshold: None,
            dictionary_divisor: 2,
            dictionary_ratio: 0.8,
            dictionary_compression: Some(Compression::Lz4),
            chunk_bytes: 4096,
        }
    }
}

impl Settings {
    /// The settings of column `leaf` within the top-level field `top`: the structure is asked for
    /// at the top, everything else at the leaf.
    ///
    /// # Errors
    ///
    /// When a key has a value that means nothing.
    pub(crate) fn of(top: &Field, leaf: &Field) -> Result<Self> {
        let defaults = Self::default();
        let keys = Keys(&leaf.metadata);
        let level = keys.number("compression-level", WHOLE)?;
        let structure = match Keys(&top.metadata).get("structural-encoding") {
            None => None,
            Some(name) if name.eq_ignore_ascii_case("miniblock") => Some(Structure::MiniBlock),
            Some(name) if name.eq_ignore_ascii_case("fullzip") => Some(Structure::FullZip),
            Some(other) => return Err(refused("structural-encoding", other, "miniblock, fullzip")),
        };
        let byte_stream_split = match keys.get("bss") {
            None => ByteStreamSplit::Auto,
            Some(mode) if mode.eq_ignore_ascii_case("auto") => ByteStreamSplit::Auto,
            Some(mode) if mode.eq_ignore_ascii_case("on") => ByteStreamSplit::On,
            Some(mode) if mode.eq_ignore_ascii_case("off") => ByteStreamSplit::Off,
            Some(other) => return Err(refused("bss", other, "on, off, auto")),
        };
        let ratio = keys
            .number::<f64>("dict-size-ratio", RATIO)?
            .unwrap_or(defaults.dictionary_ratio);
        if !(ratio > 0.0 && ratio <= 1.0) {
            return Err(refused("dict-size-ratio", &ratio.to_string(), RATIO));
        }
        Ok(Self {
            compression: requested(&keys, level)?,
            byte_stream_split,
            structure,
            rle_threshold: keys.number("rle-threshold", "numbers")?,
            dictionary_divisor: keys
                .number("dict-divisor", WHOLE)?
                .map_or(defaults.dictionary_divisor, |divisor: usize| divisor.max(1)),
            dictionary_ratio: ratio,
            dictionary_compression: dictionary_compression(&keys)?,
            chunk_bytes: keys
                .number("minichunk-size", WHOLE)?
                .map_or(defaults.chunk_bytes, |bytes: usize| {
                    bytes.min(MAX_CHUNK_BYTES)
                }),
        })
    }
}

/// The largest size that a chunk of strings can be asked to have: chunks end at 32 KiB.
const MAX_CHUNK_BYTES: usize = 12 << 10;

/// Checks what says how a field becomes columns.
///
/// # Errors
///
/// When a key has a value that means nothing.
pub(crate) fn check_structure(field: &Field) -> Result<()> {
    let keys = Keys(&field.metadata);
    let is_switch =
        |value: &&str| value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false");
    if let Some(value) = keys.get("packed").filter(|value| !is_switch(value)) {
        return Err(refused("packed", value, "true, false"));
    }
    if let Some(value) = keys.get("blob").filter(|value| *value != "true") {
        return Err(refused("blob", value, "true"));
    }
    for size in ["inline-size", "dedicated-size", "pack-file-size"] {
        keys.number::<u64>(&format!("blob-{size}-threshold"), "numbers of bytes")?;
    }
    Ok(())
}

/// What is known where a whole number is.
const WHOLE: &str = "whole numbers";
const RATIO: &str = "numbers above 0, up to 1";

fn requested(keys: &Keys<'_>, level: Option<i32>) -> Result<Option<Requested>> {
    Ok(Some(match keys.get("compression") {
        None => return Ok(None),
        Some("none") => Requested::Nothing,
        Some("fsst") => Requested::Fsst,
        Some("lz4") => Requested::General(Compression::Lz4),
        Some("zstd") => Requested::General(Compression::Zstd { level }),
        Some(other) => return Err(refused("compression", other, "zstd, lz4, fsst, none")),
    }))
}

fn dictionary_compression(keys: &Keys<'_>) -> Result<Option<Compression>> {
    match keys.get("dict-values-compression") {
        None | Some("lz4") => Ok(Some(Compression::Lz4)),
        Some("none") => Ok(None),
        Some("zstd") => {
            let level = keys.number("dict-values-compression-level", WHOLE)?;
            Ok(Some(Compression::Zstd { level }))
        }
        Some(other) => Err(refused("dict-values-compression", other, "lz4, zstd, none")),
    }
}

fn refused(key: &str, value: &str, known: &str) -> FileError {
    FileError::schema(format!(
        "the metadata lance-encoding:{key} = '{value}': known are {known}"
    ))
}

/// A field's metadata below `lance-encoding:`.
struct Keys<'a>(&'a BTreeMap<String, String>);

impl Keys<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(&format!("lance-encoding:{key}"))
            .map(String::as_str)
    }

    /// A number, of those that `known` describes.
    fn number<T: std::str::FromStr>(&self, key: &str, known: &str) -> Result<Option<T>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(refused(key, value, known)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogicalType;

    fn field(metadata: &[(&str, &str)]) -> Field {
        Field {
            id: 0,
            name: "a".to_owned(),
            logical_type: LogicalType::Struct,
            nullable: true,
            metadata: metadata
                .iter()
                .map(|(key, value)| (format!("lance-encoding:{key}"), (*value).to_owned()))
                .collect(),
            children: Vec::new(),
        }
    }

    #[test]
    fn structure_is_a_matter_of_the_top_and_the_rest_of_the_leaf() {
        let top = field(&[("structural-encoding", "FullZip"), ("compression", "lz4")]);
        let leaf = field(&[
            ("compression", "zstd"),
            ("compression-level", "7"),
            ("bss", "OFF"),
        ]);
        let settings = Settings::of(&top, &leaf).unwrap();
        let zstd = Requested::General(Compression::Zstd { level: Some(7) });
        assert_eq!(settings.compression, Some(zstd));
        assert_eq!(settings.structure, Some(Structure::FullZip));
        assert_eq!(settings.byte_stream_split, ByteStreamSplit::Off);
    }

    #[test]
    fn a_value_that_means_nothing_is_refused_and_the_known_ones_are_named() {
        let plain = field(&[]);
        let known = [
            ("compression", "zstd, lz4, fsst, none"),
            ("compression-level", "whole numbers"),
            ("rle-threshold", "numbers"),
            ("bss", "on, off, auto"),
            ("dict-divisor", "whole numbers"),
            ("dict-size-ratio", "numbers above 0, up to 1"),
            ("dict-values-compression", "lz4, zstd, none"),
            ("minichunk-size", "whole numbers"),
            ("packed", "true, false"),
            ("blob", "true"),
            ("blob-inline-size-threshold", "numbers of bytes"),
        ];
        for (key, known) in known {
            let field = field(&[(key, "ZIP")]);
            let settings = check_structure(&field).and_then(|()| Settings::of(&plain, &field));
            let error = settings.unwrap_err();
            let expected = format!("lance-encoding:{key} = 'ZIP': known are {known}");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
        assert!(Settings::of(&field(&[("structural-encoding", "dense")]), &plain).is_err());
        assert!(Settings::of(&plain, &field(&[("dict-size-ratio", "1.5")])).is_err());
        assert_eq!(Settings::of(&plain, &plain).unwrap(), Settings::default());
    }
}
