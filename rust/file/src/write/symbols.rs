//! Symbol tables for strings, when they pay.

use bytes::Bytes;
use pennon_codec::fsst::SymbolTable;

use super::values::VariableValues;

/// How many strings a table is made for.
const SAMPLE_VALUES: usize = 4096;
/// Strings whose codes take more than this share of their bytes are left as they are.
const WORTHWHILE: f64 = 0.9;

/// Strings by codes of symbols, and the table of those.
#[derive(Debug, Clone)]
pub(crate) struct Symbols {
    pub(crate) table: Bytes,
    pub(crate) codes: VariableValues,
}

impl Symbols {
    /// Codes for `values`, unless a sample says that they would not be much smaller, or they would
    /// only be so because a table is `demanded`.
    pub(crate) fn of(values: &VariableValues, demanded: bool) -> Option<Self> {
        let step = values.len().div_ceil(SAMPLE_VALUES).max(1);
        let sample: Vec<&[u8]> = values.iter().step_by(step).collect();
        let table = SymbolTable::train(&sample);
        if !table.is_compressed() || !(demanded || pays(&table, &sample)) {
            return None;
        }
        let mut bytes = Vec::with_capacity(values.bytes.len() / 2);
        let mut offsets = Vec::with_capacity(values.offsets.len());
        offsets.push(0);
        table.compress_all(&values.bytes, &values.offsets, &mut bytes, &mut offsets);
        let codes = VariableValues {
            large: values.large,
            offsets,
            bytes: bytes.into(),
        };
        Some(Self {
            table: table.to_bytes().into(),
            codes,
        })
    }
}

fn pays(table: &SymbolTable, sample: &[&[u8]]) -> bool {
    let mut codes = Vec::new();
    let mut plain = 0_u32;
    for value in sample {
        table.compress(value, &mut codes);
        plain = plain.saturating_add(u32::try_from(value.len()).unwrap_or(u32::MAX));
    }
    f64::from(u32::try_from(codes.len()).unwrap_or(u32::MAX)) < WORTHWHILE * f64::from(plain)
}
