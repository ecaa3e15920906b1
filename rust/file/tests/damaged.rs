//! Whatever byte of a file is damaged: a typed error or a well-formed result, soon, never a panic.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod support;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use arrow_array::Array;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use pennon_file::{FileVersion, Result, RowRanges, WriteOptions};
use support::arrays::{Content, Maker, Random};
use support::{VERSIONS, open, read, write};

/// A damaged file may claim any number of rows; no more than this are asked for.
const MAX_ROWS: u64 = 2_000;
const LARGE_OBJECTS: &str = "large objects";
/// Far more than any read of a small file takes.
const PATIENCE: Duration = Duration::from_secs(2);

/// Small columns that between them use every structure and encoding of pages.
fn columns() -> Vec<(&'static str, Field, usize, Content)> {
    let list = DataType::new_list;
    let point = DataType::Struct(
        vec![
            Field::new("x", DataType::Int32, true),
            Field::new("tags", list(DataType::Utf8, true), true),
        ]
        .into(),
    );
    let pair = DataType::Struct(
        vec![
            Field::new("x", DataType::Int32, false),
            Field::new("y", DataType::Float64, false),
        ]
        .into(),
    );
    let dictionary = DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8));
    let plain = |t: DataType| Field::new("c", t, true);
    let with = |t: DataType, key: &str, value: &str| {
        let key = format!("lance-encoding:{key}");
        plain(t).with_metadata(HashMap::from([(key, value.to_owned())]))
    };
    vec![
        ("flat", plain(DataType::Int32), 40, Content::Random),
        ("packed", plain(DataType::Int64), 200, Content::Few),
        ("runs", plain(DataType::Int32), 300, Content::Runs),
        ("constant", plain(DataType::Utf8), 9, Content::Constant),
        ("bits", plain(DataType::Boolean), 90, Content::Random),
        ("strings", plain(DataType::Utf8), 30, Content::Random),
        ("few strings", plain(DataType::Utf8), 150, Content::Few),
        (
            "fsst",
            with(DataType::Utf8, "compression", "fsst"),
            20,
            Content::Random,
        ),
        (
            "zstd",
            with(DataType::Float64, "compression", "zstd"),
            700,
            Content::Few,
        ),
        (
            "lz4",
            with(DataType::Int64, "compression", "lz4"),
            700,
            Content::Few,
        ),
        (
            "zipped",
            with(DataType::Binary, "structural-encoding", "fullzip"),
            30,
            Content::Random,
        ),
        (
            "zipped lists",
            with(
                list(DataType::Int16, true),
                "structural-encoding",
                "fullzip",
            ),
            20,
            Content::Random,
        ),
        (
            "wide",
            plain(DataType::FixedSizeBinary(260)),
            6,
            Content::Random,
        ),
        (
            "vectors",
            plain(DataType::new_fixed_size_list(DataType::Float32, 3, true)),
            20,
            Content::Random,
        ),
        ("points", plain(list(point, true)), 12, Content::Random),
        (
            "lists of lists",
            plain(list(list(DataType::Int8, true), true)),
            20,
            Content::Few,
        ),
        ("dictionary", plain(dictionary), 60, Content::Few),
        ("null", plain(DataType::Null), 5, Content::Few),
        (
            "packed struct",
            with(pair, "packed", "true"),
            20,
            Content::Random,
        ),
        ("views", plain(DataType::Utf8View), 20, Content::Random),
        (
            LARGE_OBJECTS,
            with(DataType::LargeBinary, "blob", "true"),
            9,
            Content::Random,
        ),
    ]
}

fn read_all(bytes: Bytes) -> Result<()> {
    let reader = open(bytes)?;
    let rows = reader.num_rows().min(MAX_ROWS);
    for rows in [0..rows, rows / 2..rows.min(rows / 2 + 2)] {
        let batch = read(&reader, &RowRanges::from_range(rows.clone()))?;
        assert_eq!(
            u64::try_from(batch.num_rows()).unwrap(),
            rows.end - rows.start
        );
        for column in batch.columns() {
            column.to_data().validate_full().unwrap();
        }
    }
    Ok(())
}

/// Reads a damaged file, and says what went wrong if that was no error.
fn complaint(bytes: Vec<u8>) -> Option<String> {
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| read_all(Bytes::from(bytes))));
    match result {
        Err(_) => Some("a panic".to_owned()),
        Ok(_) if start.elapsed() > PATIENCE => Some(format!("{:?}", start.elapsed())),
        Ok(_) => None,
    }
}

#[test]
fn every_damaged_byte_is_an_error_or_harmless() {
    let mut complaints = Vec::new();
    for version in VERSIONS {
        for (name, field, rows, content) in columns() {
            // Later versions store them as structs of another shape.
            if name == LARGE_OBJECTS && version > FileVersion::V2_1 {
                continue;
            }
            let mut maker = Maker {
                random: Random::new(7),
                content,
                nulls: 15,
                items: 3,
                bytes: 12,
                null_structs: version > FileVersion::V2_0,
            };
            let array = maker.array(field.data_type(), rows);
            let options = WriteOptions {
                version,
                parallelism: 1,
                // Damage is to reach the decoders.
                checksums: false,
                ..WriteOptions::default()
            };
            let file = write(field, &[array], &options).unwrap();
            read_all(file.clone()).unwrap();
            for at in 0..file.len() {
                for mask in [0xFF, 0x01, 0x80, 1 << (at % 6 + 1)] {
                    let mut bytes = file.to_vec();
                    bytes[at] ^= mask;
                    let complaint = complaint(bytes);
                    complaints.extend(
                        complaint.map(|c| format!("{version} {name}: {at} ^ {mask:#x}: {c}")),
                    );
                }
                let complaint = complaint(file[..at].to_vec());
                complaints.extend(complaint.map(|c| format!("{version} {name}: cut at {at}: {c}")));
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "{} complaints, such as {:#?}",
        complaints.len(),
        &complaints[..complaints.len().min(20)]
    );
}
