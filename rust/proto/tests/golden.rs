//! Bytes that pylance 14.0.2 wrote or accepts, against the declared messages.
//!
//! Every test decodes bytes, looks at what they say, and encodes the result again. Equal bytes show
//! that no field was dropped and that absent values stay absent.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use pennon_proto::encodings::{ColumnEncoding, column_encoding};
use pennon_proto::encodings21::{
    CompressiveEncoding, Flat, MiniBlockLayout, PageLayout, RepDefLayer, compressive_encoding,
    page_layout,
};
use pennon_proto::file::{Any, ColumnMetadata, Empty, Field, FileDescriptor, encoding};
use pennon_proto::table::{
    DeletionFile, IndexSection, Manifest, RowDatasetVersionSequence, RowIdSequence, Transaction,
    U64Segment, ZoneMapIndexDetails, data_fragment, encoded_u64_array, transaction, u64_segment,
};
use pennon_proto::type_url;
use prost::Message;

/// Decodes a message and checks that encoding gives the same bytes.
#[track_caller]
fn round_trip<M: Message + Default>(bytes: &[u8]) -> M {
    let message = M::decode(bytes).unwrap();
    assert_eq!(message.encode_to_vec(), bytes);
    message
}

/// A file with one nullable int32 column named "a" and no rows.
const MINIMAL_FILE: &[u8; 144] = b"\
    \x0a\x1b\x0a\x19\x12\x01a\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x2a\x05int32\x30\x01\
    \x38\x01\
    \x0a\x29\x12\x27\x0a\x25\x0a\x1f/lance.encodings.ColumnEncoding\x12\x02\x0a\x00\
    \x1d\0\0\0\0\0\0\0\x2b\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\x1d\0\0\0\0\0\0\0\
    \x1d\0\0\0\0\0\0\0\x48\0\0\0\0\0\0\0\x58\0\0\0\0\0\0\0\
    \x01\0\0\0\x01\0\0\0\0\0\x03\0LANC";

#[test]
fn file_descriptor_of_the_minimal_file() {
    let descriptor: FileDescriptor = round_trip(&MINIMAL_FILE[..0x1d]);
    let schema = descriptor.schema.unwrap();
    let expected = Field {
        name: "a".to_owned(),
        id: 0,
        parent_id: -1,
        logical_type: "int32".to_owned(),
        nullable: true,
        encoding: pennon_proto::file::FieldEncoding::Plain.into(),
        ..Field::default()
    };
    assert_eq!(schema.fields, [expected]);
    assert_eq!(descriptor.length, 0);
}

#[test]
fn column_metadata_of_the_minimal_file() {
    let column: ColumnMetadata = round_trip(&MINIMAL_FILE[0x1d..0x48]);
    assert!(column.pages.is_empty());
    let Some(encoding::Location::Direct(direct)) = column.encoding.unwrap().location else {
        panic!("the encoding is not direct");
    };
    let any: Any = round_trip(&direct.encoding);
    assert!(any.holds(type_url::COLUMN_ENCODING));
    let encoding: ColumnEncoding = round_trip(&any.value);
    assert_eq!(encoding.kind, Some(column_encoding::Kind::Values(Empty {})));
}

#[test]
fn packing_a_column_encoding_gives_the_stored_bytes() {
    let kind = Some(column_encoding::Kind::Values(Empty {}));
    let any = Any::pack(type_url::COLUMN_ENCODING, &ColumnEncoding { kind });
    assert_eq!(any.encode_to_vec(), MINIMAL_FILE[0x1d + 6..0x48]);
}

#[test]
fn a_top_level_parent_takes_ten_bytes() {
    let field = Field {
        parent_id: -1,
        ..Field::default()
    };
    let bytes = b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert_eq!(field.encode_to_vec(), bytes);
    assert_eq!(round_trip::<Field>(bytes), field);
}

#[test]
fn empty_buffer_references_stay_on_the_wire() {
    use pennon_proto::encodings::{Buffer, Flat};
    let flat = Flat {
        bits_per_value: 32,
        buffer: Some(Buffer::default()),
        compression: None,
    };
    assert_eq!(flat.encode_to_vec(), b"\x08\x20\x12\x00");
}

/// The layout of the page `int32 [1, null, 3]`.
fn nullable_integers(has_large_chunk: bool) -> PageLayout {
    let flat = |bits_per_value| CompressiveEncoding {
        compression: Some(compressive_encoding::Compression::Flat(Flat {
            bits_per_value,
            data: None,
        })),
    };
    PageLayout {
        layout: Some(page_layout::Layout::MiniBlockLayout(MiniBlockLayout {
            def_compression: Some(flat(16)),
            value_compression: Some(flat(32)),
            layers: vec![RepDefLayer::NullableItem.into()],
            num_buffers: 1,
            num_items: 3,
            has_large_chunk,
            ..MiniBlockLayout::default()
        })),
    }
}

#[test]
fn mini_block_layout_of_2_1() {
    let bytes = b"\x0a\x13\x12\x04\x0a\x02\x08\x10\x1a\x04\x0a\x02\x08\x20\x32\x01\x03\x38\x01\
        \x48\x03";
    assert_eq!(round_trip::<PageLayout>(bytes), nullable_integers(false));
}

#[test]
fn mini_block_layout_of_2_2() {
    let bytes = b"\x0a\x15\x12\x04\x0a\x02\x08\x10\x1a\x04\x0a\x02\x08\x20\x32\x01\x03\x38\x01\
        \x48\x03\x50\x01";
    assert_eq!(round_trip::<PageLayout>(bytes), nullable_integers(true));
}

#[test]
fn a_position_of_zero_is_not_an_absent_position() {
    let manifest = Manifest {
        index_section: Some(0),
        transaction_section: Some(0),
        ..Manifest::default()
    };
    let bytes = b"\x30\x00\xb8\x01\x00";
    assert_eq!(manifest.encode_to_vec(), bytes);
    assert_eq!(round_trip::<Manifest>(bytes), manifest);
    assert_eq!(Manifest::default().encoded_len(), 0);
}

/// Version 4 of a table with stable row ids: five rows, a zone map on `id`, an update of the rows
/// with `id > 3`, and a deletion of the row with `id = 1`.
const MANIFEST_FILE: &[u8] = include_bytes!("data/stable_row_ids.manifest");

/// The message at a position of the manifest file, behind its length of 4 bytes.
fn section(position: u64) -> &'static [u8] {
    let (length, rest) = MANIFEST_FILE[usize::try_from(position).unwrap()..]
        .split_first_chunk()
        .unwrap();
    &rest[..usize::try_from(u32::from_le_bytes(*length)).unwrap()]
}

fn manifest() -> Manifest {
    let footer = MANIFEST_FILE.last_chunk::<16>().unwrap();
    round_trip(section(u64::from_le_bytes(*footer.first_chunk().unwrap())))
}

#[test]
fn manifest_of_a_table_with_stable_row_ids() {
    let manifest = manifest();
    let names: Vec<_> = manifest
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(names, ["id", "name"]);
    assert_eq!(manifest.version, 4);
    assert_eq!(
        (manifest.reader_feature_flags, manifest.writer_feature_flags),
        (3, 3)
    );
    assert_eq!(manifest.max_fragment_id, Some(1));
    assert_eq!(manifest.next_row_id, 5);
    assert_eq!(manifest.data_format.unwrap().version, "2.2");
    assert_eq!(manifest.writer_version.unwrap().version, "14.0.2");
    let ids: Vec<_> = manifest
        .fragments
        .iter()
        .map(|fragment| fragment.id)
        .collect();
    assert_eq!(ids, [0, 1]);
}

#[test]
fn files_of_a_fragment() {
    let fragment = &manifest().fragments[0];
    assert_eq!(fragment.physical_rows, 5);
    let [file] = &fragment.files[..] else {
        panic!("one data file")
    };
    assert_eq!((file.file_major_version, file.file_minor_version), (2, 2));
    assert_eq!(
        (&file.fields[..], &file.column_indices[..]),
        (&[0, 1][..], &[0, 1][..])
    );
    assert_eq!(file.base_id, None);
    let deletion = fragment.deletion_file.unwrap();
    let expected = DeletionFile {
        file_type: 0,
        read_version: 3,
        id: deletion.id,
        num_deleted_rows: 3,
        base_id: None,
    };
    assert_eq!(deletion, expected);
}

#[test]
fn row_ids_and_versions_of_a_fragment() {
    let fragment = manifest().fragments.remove(1);
    let Some(data_fragment::RowIdSequence::InlineRowIds(bytes)) = fragment.row_id_sequence else {
        panic!("the row ids are not in the manifest");
    };
    let ids: RowIdSequence = round_trip(&bytes);
    let [
        U64Segment {
            segment: Some(segment),
        },
    ] = &ids.segments[..]
    else {
        panic!("one segment")
    };
    assert_eq!(
        *segment,
        u64_segment::Segment::Range(u64_segment::Range { start: 3, end: 5 })
    );

    let Some(data_fragment::LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(bytes)) =
        fragment.last_updated_at_version_sequence
    else {
        panic!("the versions are not in the manifest");
    };
    let versions: RowDatasetVersionSequence = round_trip(&bytes);
    assert_eq!(versions.runs[0].version, 3);
}

#[test]
fn values_of_an_array_of_64_bits_have_tag_2() {
    use pennon_proto::table::EncodedU64Array;
    let bytes = b"\x1a\x0a\x12\x08\x01\0\0\0\0\0\0\0";
    let array: EncodedU64Array = round_trip(bytes);
    let Some(encoded_u64_array::Array::U64Array(array)) = array.array else {
        panic!("64-bit values");
    };
    assert_eq!(&array.values[..], 1_u64.to_le_bytes());
}

#[test]
fn index_section_of_the_manifest() {
    let section: IndexSection = round_trip(section(manifest().index_section.unwrap()));
    let [index] = &section.indices[..] else {
        panic!("one index")
    };
    assert_eq!(index.name, "id_idx");
    assert_eq!(index.fields, [0]);
    assert_eq!(index.index_version, Some(0));
    assert_eq!(index.files[0].path, "zonemap.lance");
    let details = index.index_details.as_ref().unwrap();
    assert!(details.holds(type_url::ZONE_MAP_INDEX));
    let expected = ZoneMapIndexDetails {
        rows_per_zone: Some(8192),
        use_seeds: Some(false),
        has_null_bitmap: Some(true),
    };
    assert_eq!(round_trip::<ZoneMapIndexDetails>(&details.value), expected);
}

#[test]
fn transaction_inside_the_manifest() {
    let manifest = manifest();
    let transaction: Transaction = round_trip(section(manifest.transaction_section.unwrap()));
    assert_eq!(
        manifest.transaction_file,
        format!("3-{}.txn", transaction.uuid)
    );
    let Some(transaction::Operation::Delete(delete)) = transaction.operation else {
        panic!("a deletion");
    };
    assert_eq!(delete.predicate, "id = 1");
    assert_eq!(delete.updated_fragments, manifest.fragments[..1]);
}

#[test]
fn transaction_file_of_an_update() {
    let transaction: Transaction = round_trip(include_bytes!("data/update.txn"));
    assert_eq!(transaction.read_version, 2);
    let Some(transaction::Operation::Update(update)) = transaction.operation else {
        panic!("an update");
    };
    assert_eq!(
        update.update_mode(),
        transaction::update::UpdateMode::RewriteRows
    );
    assert_eq!(update.fields_for_preserving_frag_bitmap, [1]);
    assert_eq!(
        update.updated_fragments[0]
            .deletion_file
            .unwrap()
            .num_deleted_rows,
        2
    );
    assert_eq!(update.new_fragments[0].id, 0);
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    use pennon_proto::encodings21::ByteStreamSplit;
    let nested = |depth| {
        (0..depth).fold(CompressiveEncoding::default(), |inner, _| {
            CompressiveEncoding {
                compression: Some(compressive_encoding::Compression::ByteStreamSplit(
                    Box::new(ByteStreamSplit {
                        values: Some(Box::new(inner)),
                    }),
                )),
            }
        })
    };
    assert!(CompressiveEncoding::decode(&nested(40).encode_to_vec()[..]).is_ok());
    assert!(CompressiveEncoding::decode(&nested(200).encode_to_vec()[..]).is_err());
}
