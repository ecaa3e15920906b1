//! Schemas from and to their messages: a flat list of fields, parents before their children.

use std::collections::{BTreeMap, HashMap};

use arrow_schema::DataType;
use pennon_proto::file as proto;

use super::{Field, LogicalType, MAX_DEPTH, Schema};
use crate::{FileError, Result};

const EXTENSION_NAME: &str = "ARROW:extension:name";
const PRIMARY_KEY: &str = "lance-schema:unenforced-primary-key";
const CLUSTERING_KEY: &str = "lance-schema:unenforced-clustering-key";

type WireMetadata = BTreeMap<String, Vec<u8>>;

impl Schema {
    /// Reads a schema. The fields of a data file may lack parents that the file does not need;
    /// a manifest's may not.
    ///
    /// # Errors
    ///
    /// When a parent is missing or comes after its child, a type is not known, or text is not
    /// UTF-8.
    pub fn from_proto(fields: &[proto::Field], metadata: &WireMetadata) -> Result<Self> {
        let mut seen: HashMap<i32, usize> = HashMap::new();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); fields.len()];
        let mut roots = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            // Parts of the description of a large object: no fields of the schema.
            if field.id == -1 {
                continue;
            }
            match field.parent_id {
                -1 => roots.push(at),
                parent => match seen.get(&parent) {
                    Some(&parent) => children[parent].push(at),
                    None => {
                        return Err(FileError::corrupt(format!(
                            "the schema's field '{}' must come after its parent {parent}",
                            field.name
                        )));
                    }
                },
            }
            seen.entry(field.id).or_insert(at);
        }
        let build = |&at: &usize| build(fields, &children, at, 0);
        Ok(Self {
            fields: roots.iter().map(build).collect::<Result<_>>()?,
            metadata: text_map(metadata)?,
        })
    }

    /// The messages of the schema's fields, and its metadata.
    pub fn to_proto(&self) -> (Vec<proto::Field>, WireMetadata) {
        let mut fields = Vec::new();
        self.fields
            .iter()
            .for_each(|field| emit(field, -1, &mut fields));
        (fields, byte_map(&self.metadata))
    }
}

fn build(
    fields: &[proto::Field],
    children: &[Vec<usize>],
    at: usize,
    depth: usize,
) -> Result<Field> {
    let field = &fields[at];
    if depth > MAX_DEPTH {
        return Err(FileError::corrupt("the schema is nested too deeply"));
    }
    let mut metadata = text_map(&field.metadata)?;
    if !field.extension_name.is_empty() {
        metadata
            .entry(EXTENSION_NAME.to_owned())
            .or_insert_with(|| field.extension_name.clone());
    }
    let built = Field {
        id: field.id,
        name: field.name.clone(),
        logical_type: field
            .logical_type
            .parse()
            .map_err(|e: FileError| e.in_column(&field.name))?,
        nullable: field.nullable,
        metadata,
        children: children[at]
            .iter()
            .map(|&child| build(fields, children, child, depth + 1))
            .collect::<Result<_>>()?,
    };
    built.data_type().map_err(|e| e.in_column(&field.name))?;
    Ok(built)
}

fn emit(field: &Field, parent_id: i32, out: &mut Vec<proto::Field>) {
    let (primary, primary_position) = key(&field.metadata, PRIMARY_KEY);
    let (clustering, clustering_position) = key(&field.metadata, CLUSTERING_KEY);
    let is_dictionary = matches!(
        &field.logical_type,
        LogicalType::Leaf(DataType::Dictionary(..))
    );
    out.push(proto::Field {
        r#type: 0,
        name: field.name.clone(),
        id: field.id,
        parent_id,
        logical_type: field.logical_type.to_string(),
        nullable: field.nullable,
        encoding: encoding_hint(&field.logical_type).into(),
        dictionary: is_dictionary.then(proto::Dictionary::default),
        extension_name: field
            .metadata
            .get(EXTENSION_NAME)
            .cloned()
            .unwrap_or_default(),
        metadata: byte_map(&field.metadata),
        unenforced_primary_key: primary,
        unenforced_primary_key_position: primary_position,
        unenforced_clustering_key: clustering,
        unenforced_clustering_key_position: clustering_position,
    });
    field
        .children
        .iter()
        // The parts of a large object's description belong to no field.
        .for_each(|child| emit(child, if child.id == -1 { -1 } else { field.id }, out));
}

/// A key that the metadata declares: whether the field is part of it, and at which position.
fn key(metadata: &BTreeMap<String, String>, name: &str) -> (bool, u32) {
    let declared = metadata
        .get(name)
        .is_some_and(|value| ["true", "1", "yes"].contains(&value.to_ascii_lowercase().as_str()));
    let position = metadata.get(&format!("{name}:position"));
    let position = position.and_then(|value| value.parse().ok()).unwrap_or(0);
    (declared || position > 0, position)
}

/// The old format's idea of how a type is stored; newer readers do without it, and writers still
/// fill it in.
fn encoding_hint(logical_type: &LogicalType) -> proto::FieldEncoding {
    match logical_type {
        LogicalType::Leaf(
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary,
        )
        | LogicalType::Json => proto::FieldEncoding::VarBinary,
        LogicalType::Leaf(DataType::Dictionary(..)) => proto::FieldEncoding::Dictionary,
        LogicalType::Leaf(DataType::Null) | LogicalType::Struct => proto::FieldEncoding::None,
        _ => proto::FieldEncoding::Plain,
    }
}

fn text_map(map: &WireMetadata) -> Result<BTreeMap<String, String>> {
    map.iter()
        .map(|(key, value)| match std::str::from_utf8(value) {
            Ok(value) => Ok((key.clone(), value.to_owned())),
            Err(_) => Err(FileError::corrupt(format!(
                "the metadata '{key}' is not UTF-8"
            ))),
        })
        .collect()
}

fn byte_map(map: &BTreeMap<String, String>) -> WireMetadata {
    map.iter()
        .map(|(key, value)| (key.clone(), value.clone().into_bytes()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};

    use super::*;
    use crate::FileVersion;

    fn nested() -> Schema {
        let point = DataType::Struct(
            vec![
                ArrowField::new("x", DataType::Int32, true),
                ArrowField::new("tags", DataType::new_list(DataType::Utf8, true), true),
            ]
            .into(),
        );
        Schema::from_arrow(&ArrowSchema::new(vec![
            ArrowField::new("id", DataType::Int64, false),
            ArrowField::new(
                "points",
                DataType::List(Arc::new(ArrowField::new("item", point, true))),
                true,
            ),
            ArrowField::new("last", DataType::Boolean, true),
        ]))
        .unwrap()
    }

    #[test]
    fn ids_are_given_to_parents_before_children() {
        let ids: Vec<_> = nested()
            .preorder()
            .iter()
            .map(|f| (f.id, f.name.clone()))
            .collect();
        let names = ["id", "points", "item", "x", "tags", "item", "last"];
        assert_eq!(
            ids.iter()
                .map(|(_, name)| name.as_str())
                .collect::<Vec<_>>(),
            names
        );
        assert!(
            ids.iter()
                .enumerate()
                .all(|(at, (id, _))| usize::try_from(*id) == Ok(at))
        );
    }

    #[test]
    fn a_schema_survives_its_messages_and_arrow() {
        let schema = nested();
        let (fields, metadata) = schema.to_proto();
        assert_eq!(Schema::from_proto(&fields, &metadata).unwrap(), schema);
        assert_eq!(
            Schema::from_arrow(&schema.to_arrow().unwrap()).unwrap(),
            schema
        );
    }

    #[test]
    fn leaves_own_the_columns_of_2_1() {
        let schema = nested();
        let ids = |version| {
            schema
                .columns(version)
                .iter()
                .map(|f| f.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(FileVersion::V2_1), [0, 3, 5, 6]);
        assert_eq!(ids(FileVersion::V2_0), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_child_before_its_parent_is_corrupt() {
        let (mut fields, metadata) = nested().to_proto();
        fields.swap(1, 2);
        assert!(Schema::from_proto(&fields, &metadata).is_err());
    }
}
