//! Whole files of version 2.0: written and read back, put together by hand, and damaged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Int32Array, Int64Array,
    LargeBinaryArray, ListArray, NullArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema};
use pennon_codec::bitpack;
use pennon_codec::general::{Scheme, compress};
use pennon_io::{Store, open_store};
use pennon_proto::file::FileDescriptor;
use prost::Message;

use super::encoding::{ArrayEncoding, BufferRef, Compression};
use crate::container::footer::{Footer, write_offset_table};
use crate::container::metadata::{ColumnMetadata, Described, PageMetadata};
use crate::{
    FileReader, FileVersion, FileWriter, Projection, Result, RowRanges, Schema, WriteOptions,
};

/// A store of its own: those of one name share what they hold.
fn store() -> Arc<dyn Store> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    open_store(&format!("memory://v2-0-{number}")).unwrap()
}

fn write(batch: &RecordBatch, page_bytes: u64) -> Vec<u8> {
    let schema = Schema::from_arrow(&batch.schema()).unwrap();
    let store = store();
    let options = WriteOptions {
        version: FileVersion::V2_0,
        page_bytes,
        parallelism: 1,
        checksums: false,
    };
    let mut writer = FileWriter::new(store.create("a.lance").unwrap(), schema, options).unwrap();
    writer.write(batch).unwrap();
    writer.finish(false).unwrap();
    store.get("a.lance").unwrap().to_vec()
}

fn open(bytes: &[u8]) -> Result<FileReader> {
    let store = store();
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    store.put("a.lance", bytes, false).unwrap();
    FileReader::open(store.open("a.lance", None).unwrap())
}

fn read(bytes: &[u8], rows: &RowRanges) -> Result<RecordBatch> {
    let reader = open(bytes)?;
    reader.read(&Projection::all(&reader)?, rows)
}

fn read_all(bytes: &[u8]) -> Result<RecordBatch> {
    let reader = open(bytes)?;
    let rows = RowRanges::from_range(0..reader.num_rows());
    reader.read(&Projection::all(&reader)?, &rows)
}

/// Columns of every kind, with nulls where they can have any.
fn everything(rows: i32) -> RecordBatch {
    let some = |at: i32| (at % 3 != 1).then_some(at);
    let numbers: ArrayRef = Arc::new((0..rows).map(some).collect::<Int32Array>());
    let flags: ArrayRef = Arc::new(
        (0..rows)
            .map(|at| Some(at % 2 == 0))
            .collect::<BooleanArray>(),
    );
    let texts = (0..rows).map(|at| some(at).map(|at| "x".repeat(usize::try_from(at % 7).unwrap())));
    let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>((0..rows).map(|at| {
        some(at).map(|at| (0..at % 4).map(move |item| (item != 2).then_some(i64::from(at + item))))
    }));
    let vectors = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..rows).map(|at| some(at).map(|at| [Some(at), None])),
        2,
    );
    let keyed: DictionaryArray<Int8Type> = (0..rows)
        .map(|at| some(at).map(|at| ["a", "b"][usize::from(at % 2 == 0)]))
        .collect();
    let fields: Fields = vec![
        ArrowField::new("texts", DataType::Utf8, true),
        ArrowField::new("lists", lists.data_type().clone(), true),
    ]
    .into();
    let lists: ArrayRef = Arc::new(lists);
    let structs = StructArray::new(fields, vec![Arc::clone(&texts), Arc::clone(&lists)], None);
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("numbers", numbers, true),
        ("flags", flags, true),
        ("texts", texts, true),
        ("lists", lists, true),
        ("vectors", Arc::new(vectors), true),
        ("keyed", Arc::new(keyed), true),
        ("structs", Arc::new(structs), true),
        (
            "nothing",
            Arc::new(NullArray::new(usize::try_from(rows).unwrap())),
            true,
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn what_is_written_is_read_back_in_whole_and_in_parts() {
    for (rows, page_bytes) in [(1, 1 << 20), (400, 1 << 20), (400, 100)] {
        let batch = everything(rows);
        let bytes = write(&batch, page_bytes);
        assert_eq!(read_all(&bytes).unwrap().columns(), batch.columns());
        let rows = usize::try_from(rows).unwrap();
        let part = RowRanges::from_range(rows as u64 / 3..rows as u64);
        let expected = batch.slice(rows / 3, rows - rows / 3);
        assert_eq!(read(&bytes, &part).unwrap().columns(), expected.columns());
    }
}

#[test]
fn single_rows_can_be_taken() {
    let batch = everything(400);
    let bytes = write(&batch, 300);
    for row in [0, 1, 2, 99, 100, 398, 399] {
        let taken = read(&bytes, &RowRanges::from_range(row..row + 1)).unwrap();
        let expected = batch.slice(usize::try_from(row).unwrap(), 1);
        assert_eq!(taken.columns(), expected.columns(), "row {row}");
    }
    let rows = RowRanges::from_sorted_indices(&[5, 7, 8, 300]).unwrap();
    assert_eq!(read(&bytes, &rows).unwrap().num_rows(), 4);
}

#[test]
fn a_file_without_rows_has_the_page_of_its_struct() {
    let batch = everything(1).slice(0, 0);
    let reader = open(&write(&batch, 100)).unwrap();
    let projection = Projection::all(&reader).unwrap();
    let read = reader
        .read(&projection, &RowRanges::from_range(0..0))
        .unwrap();
    assert_eq!((read.num_rows(), read.num_columns()), (0, 8));
}

/// A file of one column of one page, whose buffers follow each other without any alignment.
fn by_hand(
    data_type: DataType,
    rows: u64,
    encoding: &ArrayEncoding,
    buffers: &[Vec<u8>],
    is_blob: bool,
) -> Vec<u8> {
    let mut field = ArrowField::new("a", data_type, true);
    if is_blob {
        let blob = ("lance-encoding:blob".to_owned(), "true".to_owned());
        field = field.with_metadata([blob].into());
    }
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![field])).unwrap();
    let mut bytes = b"xyz".to_vec();
    let mut put = |buffer: &[u8]| {
        let start = bytes.len() as u64;
        bytes.extend_from_slice(buffer);
        start..bytes.len() as u64
    };
    let buffers: Vec<_> = buffers.iter().map(|buffer| put(buffer)).collect();
    let (fields, metadata) = schema.to_proto();
    let schema = Some(pennon_proto::file::Schema { fields, metadata });
    let length = rows;
    let descriptor = put(&FileDescriptor { schema, length }.encode_to_vec());
    let column = ColumnMetadata {
        pages: vec![PageMetadata {
            rows,
            priority: 0,
            buffers: buffers.clone(),
            layout: Described::of(encoding),
        }],
        buffers,
        is_blob,
    };
    let column = put(&column.to_bytes());
    let mut tables = Vec::new();
    write_offset_table(std::slice::from_ref(&column), &mut tables);
    let columns = put(&tables);
    tables.clear();
    write_offset_table(&[descriptor], &mut tables);
    let globals = put(&tables);
    let footer = Footer {
        column_metadata: column.start,
        column_offsets: columns.start,
        global_offsets: globals.start,
        num_global_buffers: 1,
        num_columns: 1,
        version: FileVersion::V2_0,
    };
    put(&footer.to_bytes());
    bytes
}

/// The only column of such a file.
fn column(
    data_type: DataType,
    rows: u64,
    encoding: &ArrayEncoding,
    buffers: &[Vec<u8>],
) -> Result<ArrayRef> {
    let bytes = by_hand(data_type, rows, encoding, buffers, false);
    let batch = read_all(&bytes)?;
    let half = RowRanges::from_range(rows / 2..rows);
    let tail = batch.slice(
        usize::try_from(rows / 2).unwrap(),
        usize::try_from(half.len()).unwrap(),
    );
    assert_eq!(read(&bytes, &half)?.columns(), tail.columns());
    Ok(Arc::clone(batch.column(0)))
}

fn flat(bits: u64, number: u32) -> Box<ArrayEncoding> {
    Box::new(ArrayEncoding::Flat {
        bits,
        buffer: BufferRef::Page(number),
        compression: None,
    })
}

fn binary(ends: u32, null_adjustment: u64) -> ArrayEncoding {
    ArrayEncoding::Binary {
        ends: flat(64, ends),
        bytes: flat(8, ends + 1),
        null_adjustment,
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn bits_in_a_continuous_stream_have_a_sign_if_the_page_says_so() {
    // 3 bits each: 1, 7, 4, 3, 6, ...
    let values = [1_u64, 7, 4, 3, 6, 0, 5, 2];
    let stream = values
        .iter()
        .enumerate()
        .fold(0, |stream, (at, value)| stream | (value << (3 * at)));
    let buffers = [stream.to_le_bytes()[..3].to_vec()];
    for (signed, expected) in [
        (false, vec![1, 7, 4, 3, 6, 0, 5, 2]),
        (true, vec![1, -1, -4, 3, -2, 0, -3, 2]),
    ] {
        let encoding = ArrayEncoding::Bitpacked {
            packed_bits: 3,
            bits: 32,
            buffer: BufferRef::Page(0),
            signed,
        };
        let array = column(DataType::Int32, 8, &encoding, &buffers).unwrap();
        assert_eq!(
            array.as_primitive::<Int32Type>(),
            &Int32Array::from(expected)
        );
        assert!(column(DataType::Int32, 9, &encoding, &buffers).is_err());
    }
}

#[test]
fn blocks_of_packed_values_are_padded_at_the_end() {
    let values: Vec<u64> = (0..1500).map(|at| at % 100).collect();
    let mut buffer = Vec::new();
    for block in values.chunks(1024) {
        let mut padded = [0_u64; 1024];
        padded[..block.len()].copy_from_slice(block);
        bitpack::pack_block(7, &padded, &mut buffer);
    }
    let encoding = ArrayEncoding::NoNulls(Box::new(ArrayEncoding::BitpackedBlocks {
        packed_bits: 7,
        bits: 64,
        buffer: BufferRef::Column(0),
    }));
    let array = column(DataType::Int64, 1500, &encoding, &[buffer]).unwrap();
    let expected: Int64Array = (0..1500).map(|at| Some(at % 100)).collect();
    assert_eq!(array.as_primitive::<Int64Type>(), &expected);
}

#[test]
fn any_flat_buffer_can_be_compressed() {
    let plain: Vec<u8> = (0..100_i32).flat_map(i32::to_le_bytes).collect();
    for scheme in [Scheme::Lz4, Scheme::Zstd { level: None }] {
        let mut buffer = Vec::new();
        compress(scheme, &plain, &mut buffer).unwrap();
        let buffers = [buffer];
        let encoding = ArrayEncoding::Flat {
            bits: 32,
            buffer: BufferRef::Page(0),
            compression: Some(Compression::General(scheme)),
        };
        let array = column(DataType::Int32, 100, &encoding, &buffers).unwrap();
        assert_eq!(
            array.as_primitive::<Int32Type>(),
            &Int32Array::from_iter_values(0..100)
        );
        assert!(column(DataType::Int32, 101, &encoding, &buffers).is_err());
    }
}

#[test]
fn nulls_can_be_said_twice() {
    let encoding = ArrayEncoding::SomeNulls {
        validity: flat(1, 2),
        values: Box::new(binary(0, 4)),
    };
    let buffers = [words(&[1, 6, 3]), b"abc".to_vec(), vec![0b110]];
    let array = column(DataType::Utf8, 3, &encoding, &buffers).unwrap();
    let expected = StringArray::from(vec![None, None, Some("c")]);
    assert_eq!(array.as_string::<i32>(), &expected);
}

#[test]
fn a_null_string_may_own_bytes() {
    let buffers = [words(&[2, 12, 6]), b"aaXXXb".to_vec()];
    let array = column(DataType::Utf8, 3, &binary(0, 7), &buffers).unwrap();
    let expected = StringArray::from(vec![Some("aa"), None, Some("b")]);
    assert_eq!(array.as_string::<i32>(), &expected);
}

#[test]
fn the_two_kinds_of_dictionary_count_differently() {
    let encoding = ArrayEncoding::Dictionary {
        indices: flat(8, 0),
        items: Box::new(binary(1, 3)),
        num_items: 2,
    };
    let buffers = [vec![1, 0, 2], words(&[1, 2]), b"ab".to_vec()];
    let array = column(DataType::Utf8, 3, &encoding, &buffers).unwrap();
    let expected = StringArray::from(vec![Some("a"), None, Some("b")]);
    assert_eq!(array.as_string::<i32>(), &expected);

    let keyed = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    assert!(column(keyed.clone(), 3, &encoding, &buffers).is_err());
    let buffers = [vec![1, 0, 1], words(&[1, 3]), b"a".to_vec()];
    let encoding = ArrayEncoding::Dictionary {
        indices: flat(8, 0),
        items: Box::new(binary(1, 2)),
        num_items: 2,
    };
    let array = column(keyed, 3, &encoding, &buffers).unwrap();
    assert_eq!(array.logical_null_count(), 2);
}

#[test]
fn constants_and_binaries_of_one_width() {
    let constant = ArrayEncoding::Constant(7_i32.to_le_bytes().to_vec().into());
    let array = column(DataType::Int32, 5, &constant, &[]).unwrap();
    assert_eq!(
        array.as_primitive::<Int32Type>(),
        &Int32Array::from(vec![7; 5])
    );
    let encoding = ArrayEncoding::FixedSizeBinary {
        bytes: flat(8, 0),
        width: 2,
    };
    let array = column(DataType::Utf8, 2, &encoding, &[b"abcd".to_vec()]).unwrap();
    assert_eq!(
        array.as_string::<i32>(),
        &StringArray::from(vec!["ab", "cd"])
    );
}

#[test]
fn large_values_lie_anywhere_in_the_file() {
    let encoding = ArrayEncoding::PackedStruct {
        fields: vec![*flat(64, 0), *flat(64, 0)],
        buffer: BufferRef::Page(0),
    };
    let descriptors = words(&[0, 3, 1, 0, 0, 0, 1, 2]);
    let bytes = by_hand(DataType::LargeBinary, 4, &encoding, &[descriptors], true);
    let batch = read_all(&bytes).unwrap();
    let expected: Vec<Option<&[u8]>> = vec![Some(b"xyz"), None, Some(b""), Some(b"yz")];
    let values = batch.column(0).as_binary::<i64>();
    assert_eq!(values, &LargeBinaryArray::from(expected));

    let outside = words(&[1 << 40, 3, 1, 0, 0, 0, 1, 2]);
    let bytes = by_hand(DataType::LargeBinary, 4, &encoding, &[outside], true);
    assert!(read_all(&bytes).is_err());
}

#[test]
fn counts_that_no_bytes_account_for_are_refused() {
    let rows = 1 << 50;
    let nulls = ArrayEncoding::AllNulls;
    assert!(read_all(&by_hand(DataType::Utf8, rows, &nulls, &[], false)).is_err());
    let encoding = ArrayEncoding::Dictionary {
        indices: flat(8, 0),
        items: Box::new(ArrayEncoding::AllNulls),
        num_items: u32::MAX,
    };
    assert!(column(DataType::Utf8, 1, &encoding, &[vec![1]]).is_err());
}

#[test]
fn a_page_of_another_type_or_with_missing_buffers_is_refused() {
    let buffers = [words(&[1, 2]), b"ab".to_vec()];
    for data_type in [DataType::Int32, DataType::Boolean, DataType::Null] {
        assert!(column(data_type, 2, &binary(0, 3), &buffers).is_err());
    }
    assert!(column(DataType::Utf8, 2, &binary(5, 3), &buffers).is_err());
    assert!(column(DataType::Utf8, 2, &ArrayEncoding::Struct, &buffers).is_err());
    assert!(column(DataType::Int64, 2, &flat(32, 0), &buffers).is_err());
}

#[test]
fn damage_is_an_error_or_other_values_but_never_a_panic() {
    let bytes = write(&everything(120), 200);
    for at in (0..bytes.len()).step_by(5) {
        for change in [0xff, 0x01] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let _ = read_all(&damaged);
        }
    }
    for len in (0..bytes.len()).step_by(7) {
        assert!(read_all(&bytes[..len]).is_err(), "{len} bytes");
    }
}
