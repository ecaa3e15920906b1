//! Deletion vectors: which rows of a fragment are gone.

mod arrow_file;

use bytes::Bytes;
use pennon_io::Store;
use roaring::RoaringBitmap;

use crate::fragment::{DeletionFile, DeletionFileType, Fragment};
use crate::paths::{DELETIONS, random_id};
use crate::{Result, TableError};

/// From this many rows on a bitmap is smaller than a list of positions.
const BITMAP_FROM: u64 = 5000;

/// The deleted rows of a fragment, as positions within its files; empty when it has no deletion
/// file.
///
/// # Errors
///
/// When the file cannot be read, is damaged, or names rows that the fragment does not have.
pub fn read_deletions(store: &dyn Store, fragment: &Fragment) -> Result<RoaringBitmap> {
    let Some(file) = &fragment.deletion else {
        return Ok(RoaringBitmap::new());
    };
    if file.base_id.is_some() {
        return Err(TableError::unsupported(
            "a deletion file under another base path is not supported by this version of pennon",
        ));
    }
    let path = path_of(fragment.id, file);
    let bytes = store.get(&path)?;
    parse(&bytes, file.file_type)
        .and_then(|rows| check(rows, fragment.physical_rows))
        .map_err(|error| error.at(&format!("{}/{path}", store.root())))
}

/// Writes a deletion file and returns what a fragment says of it.
///
/// # Errors
///
/// When the store fails.
pub fn write_deletions(
    store: &dyn Store,
    fragment_id: u64,
    read_version: u64,
    rows: &RoaringBitmap,
    sync: bool,
) -> Result<DeletionFile> {
    let file_type = match rows.len() {
        0..BITMAP_FROM => DeletionFileType::Array,
        _ => DeletionFileType::Bitmap,
    };
    let file = DeletionFile {
        read_version,
        id: random_id(),
        file_type,
        num_deleted_rows: Some(rows.len()),
        base_id: None,
    };
    let bytes = match file_type {
        DeletionFileType::Array => arrow_file::write(rows)?,
        DeletionFileType::Bitmap => {
            let mut bytes = Vec::with_capacity(rows.serialized_size());
            let written = rows.serialize_into(&mut bytes);
            written.map_err(|error| TableError::corrupt(error.to_string()))?;
            Bytes::from(bytes)
        }
    };
    store.put(&path_of(fragment_id, &file), bytes, sync)?;
    Ok(file)
}

fn path_of(fragment_id: u64, file: &DeletionFile) -> String {
    let suffix = match file.file_type {
        DeletionFileType::Array => "arrow",
        DeletionFileType::Bitmap => "bin",
    };
    format!(
        "{DELETIONS}/{fragment_id}-{}-{}.{suffix}",
        file.read_version, file.id
    )
}

fn parse(bytes: &Bytes, file_type: DeletionFileType) -> Result<RoaringBitmap> {
    match file_type {
        DeletionFileType::Array => arrow_file::read(bytes),
        DeletionFileType::Bitmap => RoaringBitmap::deserialize_from(bytes.as_ref())
            .map_err(|error| TableError::corrupt(format!("not a Roaring bitmap: {error}"))),
    }
}

fn check(rows: RoaringBitmap, physical_rows: Option<u64>) -> Result<RoaringBitmap> {
    match (rows.max(), physical_rows) {
        (Some(last), Some(physical)) if u64::from(last) >= physical => Err(TableError::corrupt(
            format!("row {last} is marked as deleted, and the fragment has {physical} rows"),
        )),
        _ => Ok(rows),
    }
}

#[cfg(test)]
mod tests {
    use pennon_file::FileVersion;
    use pennon_io::open_store;

    use super::*;
    use crate::fragment::DataFile;

    fn fragment(file: DeletionFile, rows: u64) -> Fragment {
        let data = DataFile::new("a.lance".into(), vec![0], vec![0], FileVersion::DEFAULT, 1);
        let mut fragment = Fragment::new(data, rows);
        fragment.deletion = Some(file);
        fragment
    }

    #[test]
    fn both_kinds_of_file_are_read_as_they_were_written() {
        let store = open_store("memory://deletion-round-trip").unwrap();
        for count in [1, 4999, 5000, 9000] {
            let rows: RoaringBitmap = (0..count).map(|row| row * 3).collect();
            let file = write_deletions(store.as_ref(), 0, 7, &rows, false).unwrap();
            let expected = if count < 5000 {
                DeletionFileType::Array
            } else {
                DeletionFileType::Bitmap
            };
            assert_eq!(file.file_type, expected);
            assert_eq!(
                read_deletions(store.as_ref(), &fragment(file, 30_000)).unwrap(),
                rows
            );
        }
    }

    #[test]
    fn a_row_beyond_the_fragment_is_corrupt() {
        let store = open_store("memory://deletion-beyond").unwrap();
        let rows = RoaringBitmap::from_iter([3, 10]);
        let file = write_deletions(store.as_ref(), 0, 1, &rows, false).unwrap();
        let error = read_deletions(store.as_ref(), &fragment(file, 10)).unwrap_err();
        assert!(error.to_string().contains("row 10"), "{error}");
    }
}
