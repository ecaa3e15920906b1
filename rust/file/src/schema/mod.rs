//! Schemas with field ids: what files and manifests store, and what Arrow makes of it.

mod arrow;
mod logical_type;
mod tag;
mod wire;

use std::collections::BTreeMap;

pub use logical_type::LogicalType;

use crate::{FileError, FileVersion, Result};

/// How deep fields may nest. Far beyond any real schema, and shallow enough for recursion.
pub(crate) const MAX_DEPTH: usize = 100;

/// A schema whose fields carry the ids by which files refer to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// The columns, in order.
    pub fields: Vec<Field>,
    /// Metadata of the table as a whole.
    pub metadata: BTreeMap<String, String>,
}

/// A field: a column, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The id, unique within the table.
    pub id: i32,
    /// The name, unique among its siblings.
    pub name: String,
    /// The type; that of children stands in [`children`](Field::children).
    pub logical_type: LogicalType,
    /// Whether values may be null.
    pub nullable: bool,
    /// Arrow's metadata of the field.
    pub metadata: BTreeMap<String, String>,
    /// The fields of a struct, the item of a list, the entries of a map.
    pub children: Vec<Field>,
}

impl Schema {
    /// The field with this id, at any depth.
    pub fn field_by_id(&self, id: i32) -> Option<&Field> {
        self.fields.iter().find_map(|field| field.find(id))
    }

    /// The field at a path of names with dots between them.
    pub fn field_by_path(&self, path: &str) -> Option<&Field> {
        if let Some(field) = self.fields.iter().find(|field| field.name == path) {
            return Some(field);
        }
        let mut names = path.split('.');
        let first = names.next()?;
        let top = self.fields.iter().find(|field| field.name == first)?;
        names.try_fold(top, |field, name| {
            field.children.iter().find(|child| child.name == name)
        })
    }

    /// The largest field id, or -1 without fields.
    pub fn max_field_id(&self) -> i32 {
        self.fields.iter().map(Field::max_id).max().unwrap_or(-1)
    }

    /// All fields, parents before their children.
    pub fn preorder(&self) -> Vec<&Field> {
        let mut all = Vec::new();
        self.fields.iter().for_each(|field| field.collect(&mut all));
        all
    }

    /// The fields that own a column, in the order of a file's columns.
    pub fn columns(&self, version: FileVersion) -> Vec<&Field> {
        let mut columns = Vec::new();
        self.fields
            .iter()
            .for_each(|field| field.collect_columns(version, &mut columns));
        columns
    }

    /// Checks that files of `version` can hold the schema.
    ///
    /// # Errors
    ///
    /// [`FileErrorKind::Schema`](crate::FileErrorKind::Schema), naming the field and the version
    /// that can hold it.
    pub fn check_version(&self, version: FileVersion) -> Result<()> {
        if version == FileVersion::V0_1 {
            return Err(FileError::unsupported(
                "files of version 0.1 are not written: this release writes 2.0, 2.1 and 2.2",
            ));
        }
        self.fields
            .iter()
            .try_for_each(|field| field.check_version(version, &field.name))
    }
}

impl Field {
    /// Whether the field's values are interleaved in one column.
    pub fn is_packed(&self) -> bool {
        let is_true = |key: &str| {
            self.metadata
                .get(key)
                .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        };
        self.logical_type == LogicalType::Struct
            && (is_true("lance-encoding:packed") || is_true("packed"))
    }

    /// Whether values are large objects, stored away from the pages.
    pub fn is_blob(&self) -> bool {
        self.metadata.contains_key("lance-encoding:blob")
            || self
                .metadata
                .get("ARROW:extension:name")
                .is_some_and(|n| n == "lance.blob.v2")
    }

    /// Whether a file of 2.1 or newer has a column for this field itself, rather than for its
    /// children.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty() || self.is_packed() || self.is_blob()
    }

    fn find(&self, id: i32) -> Option<&Self> {
        if self.id == id {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(id))
    }

    fn max_id(&self) -> i32 {
        self.children
            .iter()
            .map(Self::max_id)
            .fold(self.id, i32::max)
    }

    fn collect<'a>(&'a self, all: &mut Vec<&'a Self>) {
        all.push(self);
        self.children.iter().for_each(|child| child.collect(all));
    }

    fn collect_columns<'a>(&'a self, version: FileVersion, columns: &mut Vec<&'a Self>) {
        if self.is_leaf() || version == FileVersion::V2_0 {
            columns.push(self);
        }
        if !self.is_leaf() {
            self.children
                .iter()
                .for_each(|child| child.collect_columns(version, columns));
        }
    }

    fn check_version(&self, version: FileVersion, path: &str) -> Result<()> {
        let needs_2_2 = match &self.logical_type {
            LogicalType::Map => Some("a map"),
            LogicalType::FixedSizeStructList { .. } => Some("a fixed-size list of structs"),
            _ => None,
        };
        if let Some(what) = needs_2_2.filter(|_| version < FileVersion::V2_2) {
            return Err(FileError::schema(format!(
                "field '{path}': {what} needs data_storage_version 2.2, and this is {version}"
            )));
        }
        self.children
            .iter()
            .try_for_each(|child| child.check_version(version, &format!("{path}.{}", child.name)))
    }
}
