//! Which columns of a file to read, and what they become.

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema, SchemaRef};

use super::FileReader;
use super::shape::Shape;
use crate::schema::Field;
use crate::{FileError, FileVersion, Result};

/// Fields to read and the columns of the file that hold them.
#[derive(Debug, Clone)]
pub struct Projection {
    schema: SchemaRef,
    pub(crate) roots: Vec<Node>,
    pub(crate) leaves: Vec<Arc<Leaf>>,
}

/// A field of the output.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) field: FieldRef,
    pub(crate) kind: NodeKind,
}

/// What a field of the output is made of.
#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    /// A leaf, by its place in [`Projection::leaves`].
    Leaf(usize),
    /// A struct of these fields.
    Struct(Vec<Node>),
    /// A list or a map.
    List {
        /// The column of the file that holds the offsets, when they have one of their own.
        column: Option<usize>,
        item: Box<Node>,
    },
    /// So many structs in each row.
    FixedList(usize, Box<Node>),
    /// Large objects, whose descriptions are this leaf.
    Blob(usize),
    /// A field that the file does not hold: nulls.
    Absent,
}

/// A column of the file to read.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// The column's number in the file.
    pub(crate) column: usize,
    /// The field's path, for messages.
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// The type of the values in the file, which the output's may differ from.
    pub(crate) stored: DataType,
    /// Whether each layer is a list, from the outside in; the leaf itself is the last.
    pub(crate) layers: Vec<bool>,
    /// Rows of the column for each row of the file: the items of a fixed-size list of structs.
    pub(crate) items_per_row: u64,
}

impl Projection {
    /// Reads `fields`, taking the field whose id is `id` from column `column_of(id)`.
    ///
    /// A leaf without a column reads as nulls.
    ///
    /// # Errors
    /// `Schema` or `Unsupported` when a field's type cannot be read.
    pub fn new(fields: Vec<Field>, column_of: impl Fn(i32) -> Option<u32>) -> Result<Self> {
        let mut builder = Builder {
            column_of,
            leaves: Vec::new(),
            path: Path::default(),
        };
        let mut roots = Vec::with_capacity(fields.len());
        for field in &fields {
            let arrow = field.to_arrow()?;
            roots.push(builder.node(field, arrow)?);
        }
        let output: Vec<_> = roots.iter().map(|node| Arc::clone(&node.field)).collect();
        let schema = Arc::new(ArrowSchema::new(output));
        Ok(Self {
            schema,
            roots,
            leaves: builder.leaves,
        })
    }

    /// Reads every field of a file's own schema, its columns in the schema's order.
    ///
    /// # Errors
    /// As [`Projection::new`].
    pub fn all(reader: &FileReader) -> Result<Self> {
        let schema = reader.schema();
        let columns = schema.columns(reader.version());
        if reader.version() == FileVersion::V0_1 {
            return Self::new(schema.fields.clone(), |id| u32::try_from(id).ok());
        }
        let ids: Vec<i32> = columns.iter().map(|field| field.id).collect();
        Self::new(schema.fields.clone(), |id| {
            let column = ids.iter().position(|&column| column == id)?;
            u32::try_from(column).ok()
        })
    }

    /// The columns of the file that hold something of the projection, with names for messages.
    pub(crate) fn columns(&self) -> Vec<(usize, &str)> {
        let leaves = self.leaves.iter();
        let mut columns: Vec<_> = leaves
            .map(|leaf| (leaf.column, leaf.name.as_str()))
            .collect();
        self.roots
            .iter()
            .for_each(|node| node.collect_offsets(&mut columns));
        columns
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

#[derive(Debug, Default)]
struct Path {
    names: Vec<String>,
    layers: Vec<bool>,
    /// Within a fixed-size list of structs, its length.
    items_per_row: Option<u64>,
}

struct Builder<F> {
    column_of: F,
    leaves: Vec<Arc<Leaf>>,
    path: Path,
}

impl<F: Fn(i32) -> Option<u32>> Builder<F> {
    fn node(&mut self, field: &Field, arrow: FieldRef) -> Result<Node> {
        self.path.names.push(field.name.clone());
        let kind = self.kind(field, &arrow);
        self.path.names.pop();
        let kind = kind?;
        let data_type = output_type(arrow.data_type(), &kind);
        let field = Arc::new(arrow.as_ref().clone().with_data_type(data_type));
        Ok(Node { field, kind })
    }

    fn kind(&mut self, field: &Field, arrow: &ArrowField) -> Result<NodeKind> {
        match arrow.data_type() {
            _ if field.is_blob() && !field.is_description() => self.blob(field),
            DataType::Struct(fields) if !fields.is_empty() && !field.is_leaf() => {
                self.path.layers.push(false);
                let children = self.children(field, fields);
                self.path.layers.pop();
                Ok(present(NodeKind::Struct(children?)))
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                let Some(child) = field.children.first() else {
                    return Err(FileError::schema(format!(
                        "list '{}' has no item",
                        field.name
                    )));
                };
                self.path.layers.push(true);
                let item = self.node(child, Arc::clone(item));
                self.path.layers.pop();
                let column = (self.column_of)(field.id).and_then(|at| usize::try_from(at).ok());
                let item = Box::new(item?);
                Ok(present(NodeKind::List { column, item }))
            }
            DataType::FixedSizeList(item, size) if !field.children.is_empty() => {
                self.fixed_list(field, Arc::clone(item), *size)
            }
            _ => self.leaf(field),
        }
    }

    /// The format repeats a row's levels for each of its items, as if the items were the rows.
    fn fixed_list(&mut self, field: &Field, item: FieldRef, size: i32) -> Result<NodeKind> {
        let unsupported = || {
            FileError::unsupported("reading a fixed-size list of structs within another field")
                .in_column(&field.name)
        };
        let (child, [_]) = (field.children.first(), self.path.names.as_slice()) else {
            return Err(unsupported());
        };
        let dimension = usize::try_from(size).ok().filter(|&size| size > 0);
        let (child, dimension) = child.zip(dimension).ok_or_else(unsupported)?;
        self.path.items_per_row = u64::try_from(dimension).ok();
        self.path.layers.push(false);
        let item = self.node(child, item);
        self.path.layers.pop();
        self.path.items_per_row = None;
        Ok(present(NodeKind::FixedList(dimension, Box::new(item?))))
    }

    fn blob(&mut self, field: &Field) -> Result<NodeKind> {
        Ok(match self.leaf(&field.described())? {
            NodeKind::Leaf(leaf) => NodeKind::Blob(leaf),
            other => other,
        })
    }

    fn children(&mut self, field: &Field, arrow: &[FieldRef]) -> Result<Vec<Node>> {
        if field.children.len() != arrow.len() {
            return Err(FileError::schema(format!(
                "struct '{}' misses children",
                field.name
            )));
        }
        let pairs = field.children.iter().zip(arrow);
        pairs
            .map(|(child, arrow)| self.node(child, Arc::clone(arrow)))
            .collect()
    }

    fn leaf(&mut self, field: &Field) -> Result<NodeKind> {
        let Some(column) = (self.column_of)(field.id) else {
            return Ok(NodeKind::Absent);
        };
        let name = self.path.names.join(".");
        let stored = field.data_type()?;
        let shape = Shape::of(&stored).map_err(|error| error.in_column(&name))?;
        let column = usize::try_from(column)
            .map_err(|_| FileError::corrupt(format!("column {column} does not exist")))?;
        let mut layers = self.path.layers.clone();
        layers.push(false);
        if self.path.items_per_row.is_some() && layers.contains(&true) {
            return Err(FileError::unsupported(
                "reading lists within a fixed-size list of structs",
            )
            .in_column(&name));
        }
        self.leaves.push(Arc::new(Leaf {
            column,
            name,
            shape,
            stored,
            layers,
            items_per_row: self.path.items_per_row.unwrap_or(1),
        }));
        Ok(NodeKind::Leaf(self.leaves.len() - 1))
    }
}

impl Node {
    /// The first leaf of the file below this node.
    pub(crate) fn first_leaf(&self) -> Option<usize> {
        match &self.kind {
            NodeKind::Leaf(leaf) | NodeKind::Blob(leaf) => Some(*leaf),
            NodeKind::Struct(children) => children.iter().find_map(Self::first_leaf),
            NodeKind::List { item, .. } | NodeKind::FixedList(_, item) => item.first_leaf(),
            NodeKind::Absent => None,
        }
    }
}

impl Node {
    /// Appends the columns of the offsets of lists.
    fn collect_offsets<'a>(&'a self, columns: &mut Vec<(usize, &'a str)>) {
        match &self.kind {
            NodeKind::List { column, item } => {
                columns.extend(column.map(|column| (column, self.field.name().as_str())));
                item.collect_offsets(columns);
            }
            NodeKind::Struct(children) => children
                .iter()
                .for_each(|child| child.collect_offsets(columns)),
            NodeKind::FixedList(_, item) => item.collect_offsets(columns),
            NodeKind::Leaf(_) | NodeKind::Blob(_) | NodeKind::Absent => {}
        }
    }
}

/// A field's type given what is read of it: large objects become binaries, wherever they are.
fn output_type(data_type: &DataType, kind: &NodeKind) -> DataType {
    let of = |node: &Node| Arc::clone(&node.field);
    match (data_type, kind) {
        (_, NodeKind::Blob(_)) => DataType::LargeBinary,
        (DataType::Struct(_), NodeKind::Struct(children)) => {
            DataType::Struct(children.iter().map(of).collect())
        }
        (DataType::List(_), NodeKind::List { item, .. }) => DataType::List(of(item)),
        (DataType::LargeList(_), NodeKind::List { item, .. }) => DataType::LargeList(of(item)),
        (DataType::Map(_, sorted), NodeKind::List { item, .. }) => DataType::Map(of(item), *sorted),
        (other, _) => other.clone(),
    }
}

/// A struct or list, unless nothing of it is in the file.
fn present(kind: NodeKind) -> NodeKind {
    let is_present = match &kind {
        NodeKind::Struct(children) => children.iter().any(|child| child.first_leaf().is_some()),
        NodeKind::List { item, .. } | NodeKind::FixedList(_, item) => item.first_leaf().is_some(),
        NodeKind::Leaf(_) | NodeKind::Blob(_) | NodeKind::Absent => true,
    };
    if is_present { kind } else { NodeKind::Absent }
}
