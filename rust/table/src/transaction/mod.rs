//! Transactions: what an operation does to a dataset, and how it becomes a version.

mod apply;
mod commit;
mod footprint;

use std::collections::BTreeMap;

use pennon_file::Schema;
use pennon_proto::table as proto;
use uuid::Uuid;

pub use commit::{CommitOptions, commit};

use crate::fragment::Fragment;

/// What an operation does, based on one version.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The version that the operation read; 0 when it makes the dataset.
    pub read_version: u64,
    /// Tells this transaction from all others.
    pub uuid: Uuid,
    /// Free text for the records, by name.
    pub properties: BTreeMap<String, String>,
    /// What is done.
    pub operation: Operation,
}

/// What a transaction does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Operation {
    /// Adds fragments, whose ids are given by the commit.
    Append {
        /// The new fragments.
        fragments: Vec<Fragment>,
    },
    /// Replaces fragments by ones with more deletions, and drops others.
    Delete {
        /// The fragments with their new deletion files.
        updated_fragments: Vec<Fragment>,
        /// The fragments that have no rows left.
        deleted_fragment_ids: Vec<u64>,
        /// What was deleted, for the records.
        predicate: String,
    },
    /// Replaces schema and fragments, or makes the dataset.
    Overwrite {
        /// The new schema.
        schema: Schema,
        /// The new fragments, whose ids are given by the commit.
        fragments: Vec<Fragment>,
    },
    /// Makes an older version the newest again.
    Restore {
        /// The version to bring back.
        version: u64,
    },
}

impl Transaction {
    /// A transaction without properties.
    pub fn new(read_version: u64, operation: Operation) -> Self {
        Self {
            read_version,
            uuid: Uuid::new_v4(),
            properties: BTreeMap::new(),
            operation,
        }
    }

    pub(crate) fn to_proto(&self) -> proto::Transaction {
        proto::Transaction {
            read_version: self.read_version,
            uuid: self.uuid.to_string(),
            tag: String::new(),
            transaction_properties: self.properties.clone(),
            operation: Some(self.operation.to_proto()),
        }
    }

    /// The name of the transaction's file.
    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}.txn", self.read_version, self.uuid)
    }
}

impl Operation {
    /// An operation that replaces schema and fragments, or makes the dataset.
    pub fn overwrite(schema: Schema, fragments: Vec<Fragment>) -> Self {
        Self::Overwrite { schema, fragments }
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Append { .. } => "Append",
            Self::Delete { .. } => "Delete",
            Self::Overwrite { .. } => "Overwrite",
            Self::Restore { .. } => "Restore",
        }
    }

    fn to_proto(&self) -> proto::transaction::Operation {
        use proto::transaction as wire;
        let all = |fragments: &[Fragment]| fragments.iter().map(Fragment::to_proto).collect();
        match self {
            Self::Append { fragments } => wire::Operation::Append(wire::Append {
                fragments: all(fragments),
            }),
            Self::Delete {
                updated_fragments,
                deleted_fragment_ids,
                predicate,
            } => wire::Operation::Delete(wire::Delete {
                updated_fragments: all(updated_fragments),
                deleted_fragment_ids: deleted_fragment_ids.clone(),
                predicate: predicate.clone(),
            }),
            Self::Overwrite { schema, fragments } => {
                let (fields, schema_metadata) = schema.to_proto();
                wire::Operation::Overwrite(wire::Overwrite {
                    fragments: all(fragments),
                    schema: fields,
                    schema_metadata,
                    ..wire::Overwrite::default()
                })
            }
            Self::Restore { version } => {
                wire::Operation::Restore(wire::Restore { version: *version })
            }
        }
    }
}
