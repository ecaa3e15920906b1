//! One read of a 2.0 file: rounds that find out where values are, and then the values.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType;
use bytes::Bytes;

use super::blob::Blobs;
use super::decode::Task;
use super::lists::{ListReader, Lists};
use super::page::Column;
use super::stream::{Rounds, Supply};
use crate::read::assemble::{absent_last, item_count, list_array, struct_array};
use crate::read::present::present;
use crate::read::projection::{Leaf, Node, NodeKind, Projection};
use crate::read::reader::FileReader;
use crate::read::shape::Shape;
use crate::read::validity::Bitmap;
use crate::read::values::{Values, Variable};
use crate::{FileError, Result, RowRanges};

/// The most room that is made before any value has been seen.
const MAX_CAPACITY: u64 = 1 << 20;

/// A read that knows which bytes hold its values.
#[derive(Debug)]
pub(crate) struct ArrayPlan {
    fields: Vec<FieldPlan>,
}

/// A field of the output.
#[derive(Debug)]
enum FieldPlan {
    Absent,
    Leaf(LeafPlan),
    Struct(Vec<FieldPlan>),
    /// Lists whose offsets are not known yet.
    Offsets(ListReader),
    /// Lists and their items.
    List(Lists, Box<FieldPlan>),
    /// Strings of the first writers, which are lists of bytes, and these bytes.
    Bytes(Lists, LeafPlan),
}

/// The pages of a leaf that are read.
#[derive(Debug)]
struct LeafPlan {
    leaf: Arc<Leaf>,
    rows: u64,
    pages: Vec<(usize, PageTask)>,
}

#[derive(Debug)]
enum PageTask {
    Values(Box<Task>),
    Blobs(Blobs),
}

/// What planning needs to know of the file.
struct Context<'a> {
    projection: &'a Projection,
    columns: HashMap<usize, &'a Column>,
    file_size: u64,
}

impl ArrayPlan {
    /// Plans a read of `rows`, and says which bytes it needs to be completed.
    pub(crate) fn new(
        reader: &FileReader,
        projection: &Projection,
        rows: &RowRanges,
    ) -> Result<(Self, Vec<Range<u64>>)> {
        let context = Context {
            projection,
            columns: columns(reader, projection)?,
            file_size: reader.size(),
        };
        let fields = projection.roots.iter().map(|node| {
            context.check_rows(node, reader.num_rows())?;
            context.field(node, rows.ranges())
        });
        let mut fields = fields.collect::<Result<Vec<_>>>()?;
        while !fields.iter().all(FieldPlan::is_ready) {
            let mut needs = Vec::new();
            fields
                .iter()
                .for_each(|field| field.round_needs(&mut needs));
            let mut bytes = Supply::new(reader.read_pages(&needs)?);
            for (field, node) in fields.iter_mut().zip(&projection.roots) {
                field.supply(node, &context, &mut bytes)?;
            }
        }
        for (&number, column) in &context.columns {
            reader.remember_pages(number, column);
        }
        let mut needs = Vec::new();
        fields.iter().for_each(|field| field.needs(&mut needs));
        Ok((Self { fields }, needs))
    }

    /// Makes the columns of a batch of `rows` rows from the bytes that were asked for.
    pub(crate) fn decode(
        self,
        projection: &Projection,
        bytes: Vec<Bytes>,
        rows: usize,
    ) -> Result<Vec<ArrayRef>> {
        let mut bytes = Supply::new(bytes);
        let fields = self.fields.into_iter().zip(&projection.roots);
        fields
            .map(|(field, node)| field.decode(node, &mut bytes, rows))
            .collect()
    }
}

impl<'a> Context<'a> {
    fn field(&self, node: &Node, rows: &[Range<u64>]) -> Result<FieldPlan> {
        Ok(match &node.kind {
            NodeKind::Absent => FieldPlan::Absent,
            NodeKind::Leaf(leaf) => {
                let leaf = &self.projection.leaves[*leaf];
                let plan = self.leaf_or_bytes(leaf, rows);
                plan.map_err(|error| error.in_column(&leaf.name))?
            }
            NodeKind::Blob(leaf) => {
                let leaf = large_binary(&self.projection.leaves[*leaf]);
                let plan = self.leaf(&leaf, rows).map(FieldPlan::Leaf);
                plan.map_err(|error| error.in_column(&leaf.name))?
            }
            NodeKind::FixedList(..) => return Err(no_fixed_lists(node)),
            NodeKind::Struct(children) => FieldPlan::Struct(
                children
                    .iter()
                    .map(|child| self.field(child, rows))
                    .collect::<Result<_>>()?,
            ),
            NodeKind::List { column, .. } => {
                let plan = self.column(*column).and_then(|column| {
                    check_end(column, rows)?;
                    ListReader::new(column, rows)
                });
                FieldPlan::Offsets(plan.map_err(|error| error.in_column(node.field.name()))?)
            }
        })
    }

    fn leaf_or_bytes(&self, leaf: &Arc<Leaf>, rows: &[Range<u64>]) -> Result<FieldPlan> {
        let column = self.column(Some(leaf.column))?;
        if !is_list_of_bytes(leaf, column) {
            return Ok(FieldPlan::Leaf(self.leaf(leaf, rows)?));
        }
        check_end(column, rows)?;
        Ok(FieldPlan::Offsets(ListReader::new(column, rows)?))
    }

    /// The plan for lists whose offsets are known.
    fn items(&self, kind: &NodeKind, lists: Lists) -> Result<FieldPlan> {
        match kind {
            NodeKind::List { item, .. } => {
                let item = self.field(item, &lists.items)?;
                Ok(FieldPlan::List(lists, Box::new(item)))
            }
            NodeKind::Leaf(leaf) => {
                let leaf = &self.projection.leaves[*leaf];
                let bytes = Leaf {
                    column: leaf.column + 1,
                    name: leaf.name.clone(),
                    shape: Shape::Fixed(1),
                    stored: leaf.stored.clone(),
                    layers: leaf.layers.clone(),
                    items_per_row: 1,
                };
                let bytes = self.leaf(&Arc::new(bytes), &lists.items)?;
                Ok(FieldPlan::Bytes(lists, bytes))
            }
            _ => Err(FileError::corrupt("offsets of what is no list")),
        }
    }

    fn leaf(&self, leaf: &Arc<Leaf>, rows: &[Range<u64>]) -> Result<LeafPlan> {
        let column = self.column(Some(leaf.column))?;
        check_end(column, rows)?;
        let parts = column.starts.split(rows).into_iter();
        let task = |(number, rows): (usize, Vec<Range<u64>>)| {
            let page = column.page(number);
            let task = match &leaf.shape {
                Shape::Variable { .. } if column.is_blob => {
                    Blobs::new(page, rows, self.file_size).map(PageTask::Blobs)
                }
                shape => Task::new(page, &page.encoding, shape, rows)
                    .map(|task| PageTask::Values(Box::new(task))),
            };
            Ok((number, task.map_err(|error| error.in_page(number))?))
        };
        Ok(LeafPlan {
            leaf: Arc::clone(leaf),
            rows: rows.iter().map(|rows| rows.end - rows.start).sum(),
            pages: parts.map(task).collect::<Result<_>>()?,
        })
    }

    fn column(&self, number: Option<usize>) -> Result<&'a Column> {
        let column = number.and_then(|number| self.columns.get(&number).copied());
        column.ok_or_else(|| match number {
            Some(number) => FileError::corrupt(format!("column {number} does not exist")),
            None => FileError::corrupt("the file has items of lists, but not their offsets"),
        })
    }

    /// Checks that the columns of a field have as many rows as the file.
    fn check_rows(&self, node: &Node, rows: u64) -> Result<()> {
        let (number, name) = match &node.kind {
            NodeKind::Absent => return Ok(()),
            NodeKind::Struct(children) => {
                return children
                    .iter()
                    .try_for_each(|child| self.check_rows(child, rows));
            }
            NodeKind::Leaf(leaf) | NodeKind::Blob(leaf) => {
                let leaf = &self.projection.leaves[*leaf];
                (Some(leaf.column), &leaf.name)
            }
            NodeKind::FixedList(..) => return Err(no_fixed_lists(node)),
            NodeKind::List { column, .. } => (*column, node.field.name()),
        };
        let column = self.column(number).map_err(|error| error.in_column(name))?;
        if column.num_rows() != rows {
            return Err(FileError::corrupt(format!(
                "{} rows in a file of {rows}",
                column.num_rows()
            ))
            .in_column(name));
        }
        Ok(())
    }
}

/// The bytes of large objects, where the projection speaks of their descriptions.
fn large_binary(leaf: &Leaf) -> Arc<Leaf> {
    Arc::new(Leaf {
        column: leaf.column,
        name: leaf.name.clone(),
        shape: Shape::Variable { large: true },
        stored: DataType::LargeBinary,
        layers: leaf.layers.clone(),
        items_per_row: 1,
    })
}

fn no_fixed_lists(node: &Node) -> FileError {
    FileError::unsupported("fixed-size lists of structs in files of version 2.0")
        .in_column(node.field.name())
}

/// The columns that a projection needs, by their numbers.
fn columns<'a>(
    reader: &'a FileReader,
    projection: &Projection,
) -> Result<HashMap<usize, &'a Column>> {
    let mut columns = reader.array_columns(&projection.columns())?;
    let bytes = projection.leaves.iter().filter_map(|leaf| {
        let column = columns.get(&leaf.column)?;
        is_list_of_bytes(leaf, column).then(|| (leaf.column + 1, leaf.name.as_str()))
    });
    let bytes: Vec<_> = bytes.collect();
    columns.extend(reader.array_columns(&bytes)?);
    Ok(columns)
}

/// Whether strings are lists of bytes, which are the next column.
fn is_list_of_bytes(leaf: &Leaf, column: &Column) -> bool {
    matches!(leaf.shape, Shape::Variable { .. }) && column.is_list()
}

/// Checks that a column has the rows that are asked of it.
fn check_end(column: &Column, rows: &[Range<u64>]) -> Result<()> {
    match rows.last() {
        Some(last) if last.end > column.num_rows() => Err(FileError::corrupt(format!(
            "row {} of a column of {}",
            last.end - 1,
            column.num_rows()
        ))),
        _ => Ok(()),
    }
}

impl FieldPlan {
    fn is_ready(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Leaf(leaf) | Self::Bytes(_, leaf) => {
                leaf.pages.iter().all(|(_, task)| task.rounds().is_ready())
            }
            Self::Struct(children) => children.iter().all(Self::is_ready),
            Self::Offsets(_) => false,
            Self::List(_, item) => item.is_ready(),
        }
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        match self {
            Self::Absent => {}
            Self::Leaf(leaf) | Self::Bytes(_, leaf) => {
                for (_, task) in &leaf.pages {
                    if !task.rounds().is_ready() {
                        task.rounds().round_needs(out);
                    }
                }
            }
            Self::Struct(children) => children.iter().for_each(|child| child.round_needs(out)),
            Self::Offsets(lists) if lists.is_ready() => lists.needs(out),
            Self::Offsets(lists) => lists.round_needs(out),
            Self::List(_, item) => item.round_needs(out),
        }
    }

    fn supply(&mut self, node: &Node, context: &Context<'_>, bytes: &mut Supply) -> Result<()> {
        match (self, &node.kind) {
            (Self::Leaf(leaf) | Self::Bytes(_, leaf), _) => {
                let supplied = leaf.supply(bytes);
                supplied.map_err(|error| error.in_column(&leaf.leaf.name))
            }
            (Self::Struct(plans), NodeKind::Struct(children)) => plans
                .iter_mut()
                .zip(children)
                .try_for_each(|(plan, child)| plan.supply(child, context, bytes)),
            (plan @ Self::Offsets(_), kind) => {
                let Self::Offsets(reader) = plan else {
                    return Ok(());
                };
                let named = |error: FileError| error.in_column(node.field.name());
                if !reader.is_ready() {
                    return reader.supply(bytes).map_err(named);
                }
                let lists = reader.decode(bytes).map_err(named)?;
                *plan = context.items(kind, lists).map_err(named)?;
                Ok(())
            }
            (Self::List(_, plan), NodeKind::List { item, .. }) => plan.supply(item, context, bytes),
            _ => Ok(()),
        }
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        match self {
            Self::Absent | Self::Offsets(_) => {}
            Self::Leaf(leaf) | Self::Bytes(_, leaf) => leaf
                .pages
                .iter()
                .for_each(|(_, task)| task.rounds().needs(out)),
            Self::Struct(children) => children.iter().for_each(|child| child.needs(out)),
            Self::List(_, item) => item.needs(out),
        }
    }

    fn decode(self, node: &Node, bytes: &mut Supply, len: usize) -> Result<ArrayRef> {
        match (self, &node.kind) {
            (Self::Absent, _) => Ok(new_null_array(node.field.data_type(), len)),
            (Self::Leaf(plan), _) => {
                let array = plan.decode(node, bytes, len);
                array.map_err(|error| error.in_column(&plan.leaf.name))
            }
            (Self::Struct(plans), NodeKind::Struct(children)) => {
                let is_absent = |plan: &Self| matches!(plan, Self::Absent);
                let columns = absent_last(plans, children, is_absent, |plan, child| {
                    plan.decode(child, bytes, len)
                })?;
                struct_array(node, columns, None)
            }
            (Self::List(lists, plan), NodeKind::List { item, .. }) => {
                let items = item_count(node.field.data_type(), lists.num_items)?;
                let items = plan.decode(item, bytes, items)?;
                list_array(node.field.data_type(), lists.layer, items)
            }
            (Self::Bytes(lists, plan), NodeKind::Leaf(_)) => {
                let array = plan.decode_strings(node, lists, bytes, len);
                array.map_err(|error| error.in_column(&plan.leaf.name))
            }
            _ => Err(FileError::corrupt("a plan for another projection")),
        }
    }
}

impl LeafPlan {
    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        for (number, task) in &mut self.pages {
            if !task.rounds().is_ready() {
                let supplied = task.rounds_mut().supply(bytes);
                supplied.map_err(|error| error.in_page(*number))?;
            }
        }
        Ok(())
    }

    fn decode(&self, node: &Node, bytes: &mut Supply, len: usize) -> Result<ArrayRef> {
        let (values, validity) = self.values(bytes, len)?;
        let array = values.into_array(&self.leaf.stored, validity.into_nulls())?;
        present(array, node.field.data_type())
    }

    /// Makes strings of the bytes that this is the plan for.
    fn decode_strings(
        &self,
        node: &Node,
        lists: Lists,
        bytes: &mut Supply,
        len: usize,
    ) -> Result<ArrayRef> {
        let size = usize::try_from(lists.num_items)
            .map_err(|_| FileError::corrupt("lists of too many items"))?;
        let (values, _) = self.values(bytes, size)?;
        let (Values::Fixed(values), ends) = (values, &lists.layer.ends) else {
            return Err(FileError::corrupt("bytes of another type"));
        };
        if ends.len() != len {
            return Err(FileError::corrupt("strings of too few or too many rows"));
        }
        let stored = &self.leaf.stored;
        let large = matches!(stored, DataType::LargeUtf8 | DataType::LargeBinary);
        let mut strings = Variable::new(large, len.min(1 << 20));
        let ends = ends.iter().map(|&end| u64::try_from(end).unwrap_or(0));
        strings.push_run(values.as_bytes(), ends)?;
        let nulls = lists.layer.validity.into_nulls();
        let array = Values::Variable(strings).into_array(stored, nulls)?;
        present(array, node.field.data_type())
    }

    fn values(&self, bytes: &mut Supply, len: usize) -> Result<(Values, Bitmap)> {
        let capacity = usize::try_from(self.rows.min(MAX_CAPACITY)).unwrap_or(0);
        let mut values = Values::new(&self.leaf.shape, capacity);
        let mut validity = Bitmap::default();
        for (number, task) in &self.pages {
            let decoded = match (task, &mut values) {
                (PageTask::Values(task), values) => task.decode(bytes, values, &mut validity),
                (PageTask::Blobs(blobs), Values::Variable(values)) => {
                    blobs.decode(bytes, values, &mut validity)
                }
                _ => Err(FileError::corrupt("large values of another type")),
            };
            decoded.map_err(|error| error.in_page(*number))?;
        }
        if values.len() != len || validity.len() != len {
            return Err(FileError::corrupt(format!(
                "{} values where {len} belong",
                values.len()
            )));
        }
        Ok((values, validity))
    }
}

impl PageTask {
    fn rounds(&self) -> &dyn Rounds {
        match self {
            Self::Values(task) => task.as_ref(),
            Self::Blobs(blobs) => blobs,
        }
    }

    fn rounds_mut(&mut self) -> &mut dyn Rounds {
        match self {
            Self::Values(task) => task.as_mut(),
            Self::Blobs(blobs) => blobs,
        }
    }
}
