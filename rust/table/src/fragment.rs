//! Fragments: the pieces that a version is made of, as manifests and JSON describe them.

use pennon_file::FileVersion;
use pennon_proto::table as proto;
use prost::Message;
use proto::data_fragment::{CreatedAtVersionSequence, LastUpdatedAtVersionSequence, RowIdSequence};
use serde::{Deserialize, Serialize};

use crate::paths::check_relative;
use crate::{Result, TableError};

/// The id of a field that a file still holds and the table has given up.
const TOMBSTONE: i32 = -2;

/// Rows, in one or more files that hold different columns of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// The id, the upper half of the rows' addresses. 0 until a commit assigns one.
    pub id: u64,
    /// The files that hold the columns.
    pub files: Vec<DataFile>,
    /// Which rows are deleted.
    pub deletion: Option<DeletionFile>,
    /// Rows in the files, deleted ones included, when the manifest knows.
    pub physical_rows: Option<u64>,
    /// What this release carries without looking at it.
    pub(crate) carried: proto::DataFragment,
}

/// One file of a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// The ids of the fields that own a column; tombstones included.
    pub fields: Vec<i32>,
    /// The column of each field.
    #[serde(default)]
    pub column_indices: Vec<i32>,
    /// The file's version, first number.
    #[serde(rename = "file_major_version", default)]
    pub major: u32,
    /// The file's version, second number.
    #[serde(rename = "file_minor_version", default)]
    pub minor: u32,
    /// The file's size in bytes, when the manifest knows.
    #[serde(rename = "file_size_bytes", default)]
    pub size: Option<u64>,
    /// The base path that the file lies under, when it is not the dataset's own root.
    #[serde(default)]
    pub base_id: Option<u32>,
    /// The path below the dataset's `data` directory.
    pub path: String,
}

/// How a deletion file stores row positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeletionFileType {
    /// An Arrow file with one column of positions.
    Array,
    /// A Roaring bitmap.
    Bitmap,
}

/// A file that says which rows of a fragment are deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletionFile {
    /// The version that the deleting operation read.
    pub read_version: u64,
    /// A random number that makes the name unique.
    pub id: u64,
    /// How positions are stored.
    pub file_type: DeletionFileType,
    /// How many rows are deleted, when the manifest knows.
    pub num_deleted_rows: Option<u64>,
    /// The base path that the file lies under, when it is not the dataset's own root.
    #[serde(default)]
    pub base_id: Option<u32>,
}

impl Fragment {
    /// A fragment of one new file; a commit gives it its id.
    pub fn new(file: DataFile, rows: u64) -> Self {
        Self {
            id: 0,
            files: vec![file],
            deletion: None,
            physical_rows: Some(rows),
            carried: proto::DataFragment::default(),
        }
    }

    /// The fragment as JSON, in the shape that pylance's `FragmentMetadata` has.
    pub fn to_json(&self) -> String {
        let json = Json {
            id: self.id,
            files: self.files.clone(),
            overlays: Vec::new(),
            physical_rows: self.physical_rows,
            deletion_file: self.deletion.clone(),
            row_id_meta: match &self.carried.row_id_sequence {
                Some(RowIdSequence::InlineRowIds(bytes)) => Some(InlineRowIds {
                    inline: bytes.to_vec(),
                }),
                _ => None,
            },
            created_at_version_meta: match &self.carried.created_at_version_sequence {
                Some(CreatedAtVersionSequence::InlineCreatedAtVersions(bytes)) => {
                    Some(InlineVersions {
                        inline: bytes.to_vec(),
                    })
                }
                _ => None,
            },
            last_updated_at_version_meta: match &self.carried.last_updated_at_version_sequence {
                Some(LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(bytes)) => {
                    Some(InlineVersions {
                        inline: bytes.to_vec(),
                    })
                }
                _ => None,
            },
        };
        // Numbers, strings and lists of them: nothing in it can fail to serialise.
        serde_json::to_string(&json).unwrap_or_default()
    }

    /// Reads the JSON that [`to_json`](Fragment::to_json), or pylance's `FragmentMetadata`, makes.
    ///
    /// # Errors
    ///
    /// When the text is not such JSON, or carries something that this release cannot keep.
    pub fn from_json(json: &str) -> Result<Self> {
        let json: Json = serde_json::from_str(json).map_err(|error| {
            TableError::invalid_input(format!("this is not a fragment's JSON: {error}"))
        })?;
        if !json.overlays.is_empty() {
            return Err(TableError::unsupported(
                "a fragment with data overlays is not supported",
            ));
        }
        let row_ids = |ids: InlineRowIds| RowIdSequence::InlineRowIds(ids.inline.into());
        let created = |versions: InlineVersions| {
            CreatedAtVersionSequence::InlineCreatedAtVersions(versions.inline.into())
        };
        let updated = |versions: InlineVersions| {
            LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(versions.inline.into())
        };
        Ok(Self {
            id: json.id,
            files: json.files,
            deletion: json.deletion_file,
            physical_rows: json.physical_rows,
            carried: proto::DataFragment {
                row_id_sequence: json.row_id_meta.map(row_ids),
                created_at_version_sequence: json.created_at_version_meta.map(created),
                last_updated_at_version_sequence: json.last_updated_at_version_meta.map(updated),
                ..proto::DataFragment::default()
            },
        })
    }

    /// Gives the rows ids from `first` on, and notes the version that they came with.
    pub(crate) fn assign_row_ids(&mut self, first: u64, rows: u64, version: u64) {
        let range = |start, end| proto::U64Segment {
            segment: Some(proto::u64_segment::Segment::Range(
                proto::u64_segment::Range { start, end },
            )),
        };
        let ids = proto::RowIdSequence {
            segments: vec![range(first, first + rows)],
        };
        let run = proto::RowDatasetVersionRun {
            span: Some(range(0, rows)),
            version,
        };
        let versions = proto::RowDatasetVersionSequence { runs: vec![run] }.encode_to_vec();
        let versions = prost::bytes::Bytes::from(versions);
        self.carried.row_id_sequence =
            Some(RowIdSequence::InlineRowIds(ids.encode_to_vec().into()));
        self.carried.created_at_version_sequence = Some(
            CreatedAtVersionSequence::InlineCreatedAtVersions(versions.clone()),
        );
        self.carried.last_updated_at_version_sequence = Some(
            LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(versions),
        );
    }

    pub(crate) fn from_proto(mut message: proto::DataFragment) -> Result<Self> {
        let files = std::mem::take(&mut message.files);
        let deletion = message.deletion_file.take();
        let id = message.id;
        if u32::try_from(id).is_err() {
            return Err(TableError::corrupt(format!(
                "fragment id {id} is out of range"
            )));
        }
        let physical_rows = Some(std::mem::take(&mut message.physical_rows)).filter(|r| *r > 0);
        message.id = 0;
        if physical_rows.is_some_and(|rows| rows > u64::from(u32::MAX)) {
            return Err(TableError::corrupt(format!(
                "fragment {id} has too many rows"
            )));
        }
        Ok(Self {
            id,
            files: files
                .into_iter()
                .map(DataFile::from_proto)
                .collect::<Result<_>>()?,
            deletion: deletion.map(DeletionFile::from_proto).transpose()?,
            physical_rows,
            carried: message,
        })
    }

    pub(crate) fn to_proto(&self) -> proto::DataFragment {
        proto::DataFragment {
            id: self.id,
            files: self.files.iter().map(DataFile::to_proto).collect(),
            deletion_file: self.deletion.as_ref().map(DeletionFile::to_proto),
            physical_rows: self.physical_rows.unwrap_or(0),
            ..self.carried.clone()
        }
    }
}

impl DataFile {
    /// A file of a known version whose fields stand in the columns given.
    pub fn new(
        path: String,
        fields: Vec<i32>,
        columns: Vec<u32>,
        version: FileVersion,
        size: u64,
    ) -> Self {
        let (major, minor) = version.manifest_pair();
        let column_indices = columns
            .into_iter()
            .filter_map(|at| i32::try_from(at).ok())
            .collect();
        Self {
            fields,
            column_indices,
            major,
            minor,
            size: Some(size),
            base_id: None,
            path,
        }
    }

    /// The fields that the table still has and their columns.
    ///
    /// A file of version 0.1 has no numbers for its columns: the field's id stands for them.
    pub fn columns(&self) -> impl Iterator<Item = (i32, u32)> {
        let columns = match self.is_legacy() {
            true => &self.fields,
            false => &self.column_indices,
        };
        self.fields
            .iter()
            .zip(columns)
            .filter(|(field, _)| **field != TOMBSTONE)
            .filter_map(|(field, column)| Some((*field, u32::try_from(*column).ok()?)))
    }

    /// Whether the file's version is 0.1, which is read and not written.
    fn is_legacy(&self) -> bool {
        self.major == 0 && self.minor <= 2
    }

    /// The file's version, when it is one that this release knows.
    pub fn version(&self) -> Option<FileVersion> {
        FileVersion::from_manifest_pair(self.major, self.minor)
    }

    fn from_proto(message: proto::DataFile) -> Result<Self> {
        check_relative(&message.path)?;
        Ok(Self {
            fields: message.fields,
            column_indices: message.column_indices,
            major: message.file_major_version,
            minor: message.file_minor_version,
            size: Some(message.file_size_bytes).filter(|size| *size > 0),
            base_id: message.base_id,
            path: message.path,
        })
    }

    fn to_proto(&self) -> proto::DataFile {
        proto::DataFile {
            path: self.path.clone(),
            fields: self.fields.clone(),
            column_indices: self.column_indices.clone(),
            file_major_version: self.major,
            file_minor_version: self.minor,
            file_size_bytes: self.size.unwrap_or(0),
            base_id: self.base_id,
        }
    }
}

impl DeletionFile {
    fn from_proto(message: proto::DeletionFile) -> Result<Self> {
        use proto::deletion_file::DeletionFileType as Wire;
        let file_type = match Wire::try_from(message.file_type) {
            Ok(Wire::ArrowArray) => DeletionFileType::Array,
            Ok(Wire::Bitmap) => DeletionFileType::Bitmap,
            Err(_) => return Err(TableError::unsupported("an unknown kind of deletion file")),
        };
        Ok(Self {
            read_version: message.read_version,
            id: message.id,
            file_type,
            num_deleted_rows: Some(message.num_deleted_rows).filter(|rows| *rows > 0),
            base_id: message.base_id,
        })
    }

    fn to_proto(&self) -> proto::DeletionFile {
        use proto::deletion_file::DeletionFileType as Wire;
        let file_type = match self.file_type {
            DeletionFileType::Array => Wire::ArrowArray,
            DeletionFileType::Bitmap => Wire::Bitmap,
        };
        proto::DeletionFile {
            file_type: file_type.into(),
            read_version: self.read_version,
            id: self.id,
            num_deleted_rows: self.num_deleted_rows.unwrap_or(0),
            base_id: self.base_id,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Json {
    id: u64,
    files: Vec<DataFile>,
    #[serde(default)]
    overlays: Vec<serde_json::Value>,
    physical_rows: Option<u64>,
    deletion_file: Option<DeletionFile>,
    #[serde(default)]
    row_id_meta: Option<InlineRowIds>,
    #[serde(default)]
    created_at_version_meta: Option<InlineVersions>,
    #[serde(default)]
    last_updated_at_version_meta: Option<InlineVersions>,
}

#[derive(Serialize, Deserialize)]
struct InlineRowIds {
    #[serde(rename = "Inline")]
    inline: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct InlineVersions {
    inline: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYLANCE: &str = r#"{"id": 0, "files": [{"fields": [0], "column_indices": [0], "file_major_version": 2, "file_minor_version": 2, "file_size_bytes": 407, "base_id": null, "path": "a.lance"}], "overlays": [], "physical_rows": 10, "deletion_file": {"read_version": 1, "id": 1049228643359375824, "file_type": "array", "num_deleted_rows": 1, "base_id": null}, "row_id_meta": {"Inline": [10, 4, 10, 2, 16, 10]}, "created_at_version_meta": {"inline": [10, 8]}, "last_updated_at_version_meta": {"inline": [10, 8]}}"#;

    #[test]
    fn the_reference_s_json_survives_json_and_messages() {
        let fragment = Fragment::from_json(PYLANCE).unwrap();
        assert_eq!(
            fragment.deletion.as_ref().unwrap().id,
            1_049_228_643_359_375_824
        );
        let again: serde_json::Value = serde_json::from_str(&fragment.to_json()).unwrap();
        assert_eq!(
            again,
            serde_json::from_str::<serde_json::Value>(PYLANCE).unwrap()
        );
        assert_eq!(Fragment::from_proto(fragment.to_proto()).unwrap(), fragment);
    }

    #[test]
    fn a_path_out_of_the_dataset_is_refused() {
        for path in ["../x.lance", "/etc/passwd", "a/../../b", "s3://bucket/x"] {
            let file = proto::DataFile {
                path: path.to_owned(),
                ..proto::DataFile::default()
            };
            let fragment = proto::DataFragment {
                files: vec![file],
                ..Default::default()
            };
            assert!(Fragment::from_proto(fragment).is_err(), "{path}");
        }
    }
}
