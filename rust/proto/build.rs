//! Turns the `.proto` files at the root of the repository into Rust, without an external compiler.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

const PROTOS: &str = "../../protos";

/// Fields that can be large, which share memory with the buffer they are decoded from.
const LARGE_BYTES: &[&str] = &[
    ".lance.file.Any.value",
    ".lance.file.DirectEncoding.encoding",
    ".lance.encodings.Fsst.symbol_table",
    ".lance.encodings21.Fsst.symbol_table",
    ".lance.table.DataFragment.inline_row_ids",
    ".lance.table.DataFragment.inline_last_updated_at_versions",
    ".lance.table.DataFragment.inline_created_at_versions",
    ".lance.table.DataOverlayFile.shared_offset_bitmap",
    ".lance.table.FieldCoverage.offset_bitmaps",
    ".lance.table.IndexMetadata.fragment_bitmap",
    ".lance.table.U64Segment.RangeWithBitmap.bitmap",
    ".lance.table.EncodedU64Array",
    ".lance.table.BloomFilter.bitmap",
    ".lance.table.FragmentReuseVersion.Group.changed_row_addrs",
    ".lance.index.pb.Tensor.data",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTOS}");
    let mut files = fs::read_dir(PROTOS)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "proto")
    });
    files.sort();
    let descriptors = protox::compile(files, [PROTOS])?;
    prost_build::Config::new()
        .bytes(LARGE_BYTES)
        .btree_map(["."])
        .compile_fds(descriptors)?;
    Ok(())
}
