//! Damage to a file of version 0.1: a typed error or a well-formed result, never a panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use arrow_array::Array;
use bytes::Bytes;
use pennon_file::{FileVersion, Result, RowRanges};
use support::{open, read};

const FILE: &[u8] = include_bytes!("../../../tests/data/file_0_1/small.lance");

fn read_all(bytes: Bytes) -> Result<usize> {
    let reader = open(bytes)?;
    let rows = RowRanges::from_range(0..reader.num_rows().min(100));
    let batch = read(&reader, &rows)?;
    for column in batch.columns() {
        column.to_data().validate_full().unwrap();
    }
    Ok(batch.num_rows())
}

#[test]
fn every_damaged_byte_is_an_error_or_harmless() {
    let file = Bytes::from_static(FILE);
    assert_eq!(open(file.clone()).unwrap().version(), FileVersion::V0_1);
    assert_eq!(read_all(file).unwrap(), 12);
    for at in 0..FILE.len() {
        for mask in [0xFF, 0x01, 0x80, 1 << (at % 6 + 1)] {
            let mut bytes = FILE.to_vec();
            bytes[at] ^= mask;
            let _ = read_all(Bytes::from(bytes));
        }
        let _ = read_all(Bytes::copy_from_slice(&FILE[..at]));
    }
}
