//! Schemas from Arrow and back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema};

use super::{Field, LogicalType, MAX_DEPTH, Schema, tag};
use crate::{FileError, Result};

/// Names that the format keeps for itself.
const RESERVED: [&str; 5] = [
    "_rowid",
    "_rowaddr",
    "_rowoffset",
    "_row_created_at_version",
    "_row_last_updated_at_version",
];

impl Schema {
    /// A schema with fresh ids: 0 and up, parents before their children.
    ///
    /// # Errors
    ///
    /// [`FileErrorKind::Schema`](crate::FileErrorKind::Schema) when a type cannot be stored, or a
    /// name is reserved, has a dot in it, or is used twice.
    pub fn from_arrow(schema: &ArrowSchema) -> Result<Self> {
        let mut names = HashSet::new();
        for field in schema.fields() {
            check_name(field.name())?;
            if !names.insert(field.name()) {
                return Err(FileError::schema(format!(
                    "two columns named '{}'",
                    field.name()
                )));
            }
        }
        let mut next_id = 0;
        let mut from = |field: &FieldRef| from_arrow(field, field.name(), &mut next_id, 0);
        let fields = schema
            .fields()
            .iter()
            .map(&mut from)
            .collect::<Result<_>>()?;
        Ok(Self {
            fields,
            metadata: ordered(schema.metadata()),
        })
    }

    /// The schema as Arrow sees it.
    ///
    /// # Errors
    ///
    /// When the children of a field do not fit its type.
    pub fn to_arrow(&self) -> Result<ArrowSchema> {
        let fields = self
            .fields
            .iter()
            .map(Field::to_arrow)
            .collect::<Result<Fields>>()?;
        Ok(ArrowSchema::new_with_metadata(
            fields,
            hashed(&self.metadata),
        ))
    }
}

impl Field {
    /// The field as Arrow sees it.
    ///
    /// # Errors
    ///
    /// When its children do not fit its type.
    pub fn to_arrow(&self) -> Result<FieldRef> {
        let data_type = self.data_type()?;
        let (name, nullable) = (&self.name, self.nullable);
        let field = tag::restore(
            name,
            &self.logical_type,
            data_type,
            nullable,
            &self.metadata,
        );
        Ok(Arc::new(field))
    }

    /// The Arrow type that files hold, children included.
    ///
    /// # Errors
    ///
    /// When the children do not fit the type.
    pub fn data_type(&self) -> Result<DataType> {
        Ok(match &self.logical_type {
            LogicalType::Leaf(data_type) => data_type.clone(),
            LogicalType::Json => DataType::LargeBinary,
            LogicalType::Struct => DataType::Struct(
                self.children
                    .iter()
                    .map(Self::to_arrow)
                    .collect::<Result<Fields>>()?,
            ),
            LogicalType::List { .. } => DataType::List(self.only_child()?),
            LogicalType::LargeList { .. } => DataType::LargeList(self.only_child()?),
            LogicalType::FixedSizeStructList { size } => {
                DataType::FixedSizeList(self.only_child()?, *size)
            }
            LogicalType::Map => self.map_type()?,
        })
    }

    fn only_child(&self) -> Result<FieldRef> {
        match self.children.as_slice() {
            [child] => child.to_arrow(),
            children => Err(FileError::corrupt(format!(
                "field '{}' of type {} has {} children instead of one",
                self.name,
                self.logical_type,
                children.len()
            ))),
        }
    }

    fn map_type(&self) -> Result<DataType> {
        let entries = self.only_child()?;
        match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => Ok(DataType::Map(entries, false)),
            _ => Err(FileError::corrupt(format!(
                "the entries of map '{}' are not a struct of key and value",
                self.name
            ))),
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    if RESERVED.contains(&name) {
        return Err(FileError::schema(format!(
            "the column name '{name}' is reserved by the format; rename the column"
        )));
    }
    if name.contains('.') {
        return Err(FileError::schema(format!(
            "the column name '{name}' has a dot in it, which the format keeps for nested fields"
        )));
    }
    Ok(())
}

fn from_arrow(field: &ArrowField, path: &str, next_id: &mut i32, depth: usize) -> Result<Field> {
    let refuse = |message: String| FileError::schema(format!("field '{path}': {message}"));
    if depth > MAX_DEPTH {
        return Err(refuse(format!("nested more than {MAX_DEPTH} levels deep")));
    }
    let id = *next_id;
    *next_id = id
        .checked_add(1)
        .ok_or_else(|| refuse("too many fields".to_owned()))?;
    let (logical_type, metadata) = tag::store(field).map_err(refuse)?;
    let children = children_of(field.data_type())
        .into_iter()
        .map(|child| {
            from_arrow(
                child,
                &format!("{path}.{}", child.name()),
                next_id,
                depth + 1,
            )
        })
        .collect::<Result<_>>()?;
    Ok(Field {
        id,
        name: field.name().clone(),
        logical_type,
        nullable: field.is_nullable(),
        metadata,
        children,
    })
}

/// The parts of a type that become fields of their own.
fn children_of(data_type: &DataType) -> Vec<&FieldRef> {
    match data_type {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => vec![item],
        DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
            vec![item]
        }
        _ => Vec::new(),
    }
}

fn ordered(metadata: &HashMap<String, String>) -> BTreeMap<String, String> {
    metadata
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn hashed(metadata: &BTreeMap<String, String>) -> HashMap<String, String> {
    metadata
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
