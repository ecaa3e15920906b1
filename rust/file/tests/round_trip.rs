//! Any array that is written is read back as it was: all of it, and any rows of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take;
use pennon_file::{FileVersion, RowRanges, WriteOptions};
use proptest::prelude::*;
use support::arrays::{Content, Maker, Random, contents, packed_types, types};
use support::{open, read, write};

/// A column and how it is written.
#[derive(Debug)]
struct Case {
    data_type: DataType,
    version: FileVersion,
    content: Content,
    /// Rows of each batch.
    batches: Vec<usize>,
    nulls: usize,
    items: usize,
    bytes: usize,
    page_bytes: u64,
    metadata: HashMap<String, String>,
    seed: u64,
}

fn metadata() -> impl Strategy<Value = HashMap<String, String>> {
    let one = |key: &str, value: &str| {
        Just(HashMap::from([(
            format!("lance-encoding:{key}"),
            value.to_owned(),
        )]))
    };
    prop_oneof![
        6 => Just(HashMap::new()),
        1 => one("structural-encoding", "fullzip"),
        1 => one("compression", "zstd"),
        1 => one("compression", "lz4"),
        1 => one("compression", "none"),
        1 => one("compression", "fsst"),
    ]
}

fn any_cases(version: FileVersion) -> impl Strategy<Value = Case> {
    cases(version, types(version >= FileVersion::V2_2), metadata())
}

fn packed_cases(version: FileVersion) -> impl Strategy<Value = Case> {
    let metadata = HashMap::from([("lance-encoding:packed".to_owned(), "true".to_owned())]);
    cases(
        version,
        packed_types(version >= FileVersion::V2_2),
        Just(metadata),
    )
}

fn cases(
    version: FileVersion,
    types: impl Strategy<Value = DataType>,
    metadata: impl Strategy<Value = HashMap<String, String>>,
) -> impl Strategy<Value = Case> {
    let shape = (
        types,
        contents(),
        prop::collection::vec(prop_oneof![0..40_usize, 0..2_500_usize], 1..4),
        prop_oneof![Just(0_usize), Just(2), Just(30), Just(100)],
    );
    let sizes = (
        prop_oneof![Just(1_usize), Just(4), Just(40)],
        prop_oneof![Just(3_usize), Just(20), Just(600)],
        prop_oneof![Just(1_u64), 50..5_000_u64, Just(1 << 20)],
    );
    (shape, sizes, metadata, any::<u64>()).prop_map(
        move |(
            (data_type, content, batches, nulls),
            (items, bytes, page_bytes),
            metadata,
            seed,
        )| {
            Case {
                data_type,
                version,
                content,
                batches,
                nulls,
                items,
                bytes,
                page_bytes,
                metadata,
                seed,
            }
        },
    )
}

/// How deep the lists of a type nest.
fn depth(data_type: &DataType) -> u32 {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            1 + depth(item.data_type())
        }
        DataType::Struct(fields) => fields
            .iter()
            .map(|f| depth(f.data_type()))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

/// The batches of a case, most of them slices of larger arrays.
fn arrays(case: &Case) -> Vec<ArrayRef> {
    let mut maker = Maker {
        random: Random::new(case.seed),
        content: case.content,
        nulls: case.nulls,
        items: case.items,
        bytes: case.bytes,
        null_structs: case.version > FileVersion::V2_0,
    };
    // Deep nesting multiplies.
    let most = 4_000 / (1 + case.items / 2).pow(depth(&case.data_type)).min(200);
    let batches = case.batches.iter().map(|&rows| {
        let rows = rows.min(most);
        let before = maker.random.below(4);
        let after = maker.random.below(4);
        let whole = maker.array(&case.data_type, before + rows + after);
        whole.slice(before, rows)
    });
    batches.collect()
}

fn random_rows(random: &mut Random, rows: usize) -> Vec<u64> {
    let mut picked = Vec::new();
    let mut at = random.below(rows.div_ceil(4));
    while at < rows {
        let run = 1 + random.below(4);
        picked.extend((at..rows.min(at + run)).map(|row| u64::try_from(row).unwrap()));
        at += run + 1 + random.below(rows.div_ceil(6));
    }
    picked
}

fn check(case: &Case) -> std::result::Result<(), TestCaseError> {
    let arrays = arrays(case);
    let field = Field::new("c", case.data_type.clone(), true).with_metadata(case.metadata.clone());
    let options = WriteOptions {
        version: case.version,
        page_bytes: case.page_bytes,
        parallelism: 1,
        ..WriteOptions::default()
    };
    let bytes = write(field, &arrays, &options).unwrap();
    let refs: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    let expected = concat(&refs).unwrap();
    let reader = open(bytes).unwrap();
    let rows = u64::try_from(expected.len()).unwrap();
    prop_assert_eq!(reader.num_rows(), rows);

    let whole = read(&reader, &RowRanges::from_range(0..rows)).unwrap();
    whole.column(0).to_data().validate_full().unwrap();
    prop_assert_eq!(whole.column(0), &expected);

    let mut random = Random::new(case.seed ^ 1);
    for _ in 0..3 {
        let picked = random_rows(&mut random, expected.len());
        let part = read(&reader, &RowRanges::from_sorted_indices(&picked).unwrap()).unwrap();
        let indices = UInt64Array::from(picked);
        prop_assert_eq!(part.column(0), &take(&expected, &indices, None).unwrap());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..ProptestConfig::with_cases(420) })]

    #[test]
    fn files_of_2_0_give_back_what_they_were_given(case in any_cases(FileVersion::V2_0)) {
        check(&case)?;
    }

    #[test]
    fn files_of_2_1_give_back_what_they_were_given(case in any_cases(FileVersion::V2_1)) {
        check(&case)?;
    }

    #[test]
    fn files_of_2_2_give_back_what_they_were_given(case in any_cases(FileVersion::V2_2)) {
        check(&case)?;
    }

    #[test]
    fn packed_structs_of_2_1_do_too(case in packed_cases(FileVersion::V2_1)) {
        check(&case)?;
    }

    #[test]
    fn packed_structs_of_2_2_do_too(case in packed_cases(FileVersion::V2_2)) {
        check(&case)?;
    }
}
