//! How strings and binaries are stored.

use super::fixed::offered;
use crate::encoding::Compression;
use crate::write::coder::{Kind, ValueCoder};
use crate::write::full_zip::ZipValues;
use crate::write::settings::{Requested, Settings};
use crate::write::symbols::Symbols;
use crate::write::values::VariableValues;

/// Strings of fewer bytes in total are not worth a symbol table, nor compression one by one.
const MIN_STRING_BYTES: usize = 32 << 10;
/// Strings whose longest has fewer bytes than this have no frequent parts to speak of.
const MIN_SYMBOL_LENGTH: usize = 5;
/// Strings above this are compressed by a general compressor, one by one.
const LONG_STRING_BYTES: usize = 32 << 10;

/// Strings of moderate length: by symbols, or as they are.
pub(super) fn string_chunks(values: VariableValues, settings: &Settings) -> ValueCoder {
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
            chunk_len: None,
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

/// Long strings, each on its own.
pub(super) fn zipped_strings(values: VariableValues, settings: &Settings) -> ZipValues {
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
