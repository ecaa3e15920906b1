//! A manifest: everything that one version consists of.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pennon_file::{FileVersion, Schema};
use pennon_proto::table as proto;
use prost::Message;

use crate::fragment::Fragment;
use crate::{Result, TableError, features};

const MAGIC: &[u8; 4] = b"LANC";
/// Position of the manifest (8), major and minor number (2 each), magic (4).
pub(crate) const TAIL_BYTES: usize = 16;

/// Everything that one version consists of.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The version's number.
    pub version: u64,
    /// The schema.
    pub schema: Schema,
    /// The fragments, by ascending id.
    pub fragments: Arc<Vec<Fragment>>,
    /// When the version was made, by its writer's clock.
    pub timestamp: SystemTime,
    /// The message without its fields and fragments: what is carried from version to version.
    pub(crate) rest: proto::Manifest,
    pub(crate) indices: Vec<proto::IndexMetadata>,
    pub(crate) transaction: Option<Bytes>,
}

impl Manifest {
    /// Whether rows keep their ids when they move.
    pub fn uses_stable_row_ids(&self) -> bool {
        self.rest.reader_feature_flags & features::STABLE_ROW_IDS != 0
    }

    /// The version that new data files are written as.
    ///
    /// # Errors
    ///
    /// When the dataset's files are of a version that this release does not write.
    pub fn data_version(&self) -> Result<FileVersion> {
        match &self.rest.data_format {
            Some(format) => format.version.parse().map_err(|_| {
                TableError::unsupported(format!(
                    "the dataset's data storage version '{}' cannot be written; this release \
                     writes 2.0, 2.1 and 2.2",
                    format.version
                ))
            }),
            None => {
                let files = self.fragments.iter().flat_map(|fragment| &fragment.files);
                let known = files.map(|file| file.version()).next();
                known.unwrap_or(Some(FileVersion::DEFAULT)).ok_or_else(|| {
                    TableError::unsupported("data storage version 0.1 (legacy) cannot be written; this release writes 2.0, \
                         2.1 and 2.2")
                })
            }
        }
    }

    /// The largest fragment id that was ever given out, if any was.
    pub(crate) fn max_fragment_id(&self) -> Option<u32> {
        let present = self
            .fragments
            .iter()
            .filter_map(|f| u32::try_from(f.id).ok())
            .max();
        self.rest.max_fragment_id.max(present)
    }

    /// Reads a manifest file's last bytes: where the message is, counted from the file's start.
    pub(crate) fn position(tail: &[u8], size: u64) -> Result<u64> {
        let bytes = tail.last_chunk::<TAIL_BYTES>().ok_or_else(|| {
            TableError::corrupt(format!("{size} bytes are too few for a manifest"))
        })?;
        let position = bytes
            .first_chunk::<8>()
            .map_or(0, |b| u64::from_le_bytes(*b));
        match position.checked_add(4) {
            Some(end) if end <= size => Ok(position),
            _ => Err(TableError::corrupt(
                "the manifest's position lies outside of its file",
            )),
        }
    }

    /// Decodes a manifest out of the end of its file, which begins at `offset` in it.
    pub(crate) fn decode(end: &Bytes, offset: u64, size: u64) -> Result<Self> {
        let position = Self::position(end, size)?;
        let body = section(end, offset, position)?
            .ok_or_else(|| TableError::corrupt("the manifest was not read whole"))?;
        let mut message: proto::Manifest = decode(&body, "manifest")?;
        features::check_readable(&message)?;
        let fields = std::mem::take(&mut message.fields);
        let fragments = std::mem::take(&mut message.fragments);
        let schema = Schema::from_proto(&fields, &message.schema_metadata)?;
        let section_at = |at: Option<u64>| match at {
            Some(at) => section(end, offset, at),
            None => Ok(None),
        };
        let indices = section_at(message.index_section)?
            .map(|bytes| decode::<proto::IndexSection>(&bytes, "index section"))
            .transpose()?;
        let at = message
            .transaction_section
            .or(message.transaction_section_deprecated);
        Ok(Self {
            version: message.version,
            schema,
            fragments: Arc::new(
                fragments
                    .into_iter()
                    .map(Fragment::from_proto)
                    .collect::<Result<_>>()?,
            ),
            timestamp: time_of(message.timestamp.as_ref()),
            indices: indices.map(|section| section.indices).unwrap_or_default(),
            transaction: section_at(at)?,
            rest: message,
        })
    }

    /// The earliest byte of the file that decoding looks at.
    pub(crate) fn start(end: &Bytes, offset: u64, size: u64) -> Result<u64> {
        let position = Self::position(end, size)?;
        if position < offset {
            return Ok(0);
        }
        let Some(body) = section(end, offset, position)? else {
            return Ok(0);
        };
        let message: proto::Manifest = decode(&body, "manifest")?;
        let transaction = message
            .transaction_section
            .or(message.transaction_section_deprecated);
        let sections = [message.index_section, transaction].into_iter().flatten();
        Ok(sections.min().unwrap_or(position))
    }

    /// The manifest's file: index section, transaction section, message, tail.
    pub(crate) fn encode(&self) -> Bytes {
        let (fields, schema_metadata) = self.schema.to_proto();
        let mut message = proto::Manifest {
            fields,
            fragments: self.fragments.iter().map(Fragment::to_proto).collect(),
            version: self.version,
            schema_metadata,
            timestamp: Some(timestamp_of(self.timestamp)),
            index_section: None,
            transaction_section: None,
            transaction_section_deprecated: None,
            ..self.rest.clone()
        };
        let mut file = Vec::new();
        if !self.indices.is_empty() {
            let section = proto::IndexSection {
                indices: self.indices.clone(),
            };
            message.index_section = Some(append(&mut file, &section.encode_to_vec()));
        }
        if let Some(transaction) = &self.transaction {
            message.transaction_section = Some(append(&mut file, transaction));
        }
        let position = append(&mut file, &message.encode_to_vec());
        file.extend_from_slice(&position.to_le_bytes());
        file.extend_from_slice(&[0, 0, 2, 0]);
        file.extend_from_slice(MAGIC);
        file.into()
    }
}

/// Appends a section with its length in front and returns where it begins.
fn append(file: &mut Vec<u8>, body: &[u8]) -> u64 {
    let position = u64::try_from(file.len()).unwrap_or(u64::MAX);
    file.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend_from_slice(body);
    position
}

/// The section at `position`; `None` when it begins before `offset`, the part that was read.
fn section(end: &Bytes, offset: u64, position: u64) -> Result<Option<Bytes>> {
    let outside = || TableError::corrupt("a section of the manifest lies outside of its file");
    let Some(start) = position.checked_sub(offset) else {
        return Ok(None);
    };
    let start = usize::try_from(start).map_err(|_| outside())?;
    let length = end
        .get(start..)
        .and_then(|b| b.first_chunk::<4>())
        .ok_or_else(outside)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| outside())?;
    let stop = (start + 4)
        .checked_add(length)
        .filter(|stop| *stop <= end.len());
    Ok(Some(end.slice(start + 4..stop.ok_or_else(outside)?)))
}

pub(crate) fn decode<M: Message + Default>(bytes: &Bytes, what: &str) -> Result<M> {
    M::decode(bytes.clone())
        .map_err(|error| TableError::corrupt(format!("the {what} cannot be decoded: {error}")))
}

fn time_of(timestamp: Option<&proto::Timestamp>) -> SystemTime {
    let Some(timestamp) = timestamp else {
        return UNIX_EPOCH;
    };
    let seconds = u64::try_from(timestamp.seconds).unwrap_or(0);
    let nanos = u32::try_from(timestamp.nanos).unwrap_or(0).min(999_999_999);
    UNIX_EPOCH
        .checked_add(Duration::new(seconds, nanos))
        .unwrap_or(UNIX_EPOCH)
}

fn timestamp_of(time: SystemTime) -> proto::Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    proto::Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(since.subsec_nanos()).unwrap_or(0),
    }
}
