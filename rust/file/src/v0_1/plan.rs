//! One read: the page table and the offsets say where values are, and then the values are read.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType;
use bytes::Bytes;

use super::decode::{Items, Run, fixed};
use super::metadata::Metadata;
use super::page_table::{Page, pages};
use crate::levels::LayerValues;
use crate::read::assemble::{absent_last, item_count, list_array, struct_array};
use crate::read::present::present;
use crate::read::projection::{Leaf, Node, NodeKind, Projection};
use crate::read::reader::FileReader;
use crate::read::shape::Shape;
use crate::read::validity::Bitmap;
use crate::read::values::{Values, Variable};
use crate::{FileError, Result, RowRanges};

/// Rows by the batch that holds them.
type Rows = Vec<(usize, Vec<Range<u64>>)>;

/// A read that knows which bytes hold its values.
#[derive(Debug)]
pub(crate) struct PagesPlan(Vec<FieldPlan>);

#[derive(Debug)]
enum FieldPlan {
    Absent,
    Leaf(LeafPlan),
    Struct(Vec<FieldPlan>),
    List(LayerValues, Box<FieldPlan>),
}

#[derive(Debug)]
struct LeafPlan {
    leaf: Arc<Leaf>,
    nullable: bool,
    items: Items,
    runs: Vec<Run>,
}

struct Planner<'a> {
    reader: &'a FileReader,
    metadata: &'a Metadata,
    projection: &'a Projection,
    needs: Vec<Range<u64>>,
}

impl PagesPlan {
    /// Plans a read of `rows`, and says which bytes it needs to be completed.
    pub(crate) fn new(
        reader: &FileReader,
        metadata: &Metadata,
        projection: &Projection,
        rows: &RowRanges,
    ) -> Result<(Self, Vec<Range<u64>>)> {
        let mut planner = Planner {
            reader,
            metadata,
            projection,
            needs: Vec::new(),
        };
        let rows = metadata.batches.split(rows.ranges());
        let fields = projection
            .roots
            .iter()
            .map(|node| planner.field(node, &rows));
        let fields = fields.collect::<Result<_>>()?;
        Ok((Self(fields), planner.needs))
    }

    /// Makes the columns of a batch of `rows` rows from the bytes that were asked for.
    pub(crate) fn decode(
        self,
        projection: &Projection,
        bytes: Vec<Bytes>,
        rows: usize,
    ) -> Result<Vec<ArrayRef>> {
        let mut bytes = bytes.into_iter();
        let fields = self.0.into_iter().zip(&projection.roots);
        fields
            .map(|(field, node)| field.decode(node, &mut bytes, rows))
            .collect()
    }
}

impl Planner<'_> {
    fn field(&mut self, node: &Node, rows: &Rows) -> Result<FieldPlan> {
        let named = |error: FileError| error.in_column(node.field.name());
        Ok(match &node.kind {
            NodeKind::Absent => FieldPlan::Absent,
            NodeKind::Leaf(leaf) => {
                let leaf = Arc::clone(&self.projection.leaves[*leaf]);
                let plan = self.leaf(&leaf, node.field.is_nullable(), rows);
                FieldPlan::Leaf(plan.map_err(|error| error.in_column(&leaf.name))?)
            }
            NodeKind::Struct(children) => FieldPlan::Struct(
                children
                    .iter()
                    .map(|child| self.field(child, rows))
                    .collect::<Result<_>>()?,
            ),
            NodeKind::List { column, item } => {
                let width = match node.field.data_type() {
                    DataType::List(_) => 4,
                    DataType::LargeList(_) => 8,
                    other => return Err(named(unsupported(other))),
                };
                let (layer, items) = self.lists(*column, width, rows).map_err(named)?;
                FieldPlan::List(layer, Box::new(self.field(item, &items)?))
            }
            NodeKind::Blob(_) | NodeKind::FixedList(..) => {
                return Err(named(unsupported(node.field.data_type())));
            }
        })
    }

    fn pages(&self, id: usize) -> Result<Vec<Page>> {
        let id = u32::try_from(id).map_err(|_| FileError::corrupt("no such field"))?;
        pages(self.reader, self.metadata, id)
    }

    /// Reads the offsets of lists: where each ends, and the rows that their items are.
    fn lists(&self, column: Option<usize>, width: u64, rows: &Rows) -> Result<(LayerValues, Rows)> {
        let id = column.ok_or_else(|| FileError::corrupt("items of lists without the lists"))?;
        let pages = self.pages(id)?;
        let offsets = self.offsets(&pages, width, rows)?;
        let (mut offsets, mut layer) = (offsets.into_iter(), LayerValues::default());
        let (mut items, mut total) = (Rows::new(), 0_i64);
        for (batch, ranges) in rows {
            let mut spans: Vec<Range<u64>> = Vec::new();
            for offsets in offsets.by_ref().take(ranges.len()) {
                for pair in offsets.windows(2) {
                    total = i64::try_from(pair[1] - pair[0])
                        .ok()
                        .and_then(|length| total.checked_add(length))
                        .ok_or_else(|| FileError::corrupt("lists of too many items"))?;
                    layer.ends.push(total);
                    layer.validity.push_ones(1);
                }
                match (offsets.first(), offsets.last()) {
                    (Some(&first), Some(&last)) if first < last => spans.push(first..last),
                    _ => {}
                }
            }
            items.push((*batch, spans));
        }
        Ok((layer, items))
    }

    /// Reads the offsets of each range of rows: one more than the rows, never decreasing.
    fn offsets(&self, pages: &[Page], width: u64, rows: &Rows) -> Result<Vec<Vec<u64>>> {
        let mut places = Vec::new();
        for (batch, ranges) in rows {
            let page = page(pages, *batch)?;
            for rows in ranges {
                places.push(
                    self.bytes(page, rows.start, rows.end.saturating_add(1), width * 8)?
                        .0,
                );
            }
        }
        let step = usize::try_from(width).unwrap_or(8);
        let parse = |bytes: &Bytes| {
            let offsets: Vec<u64> = bytes.chunks_exact(step).map(word).collect();
            match offsets.is_sorted()
                && offsets
                    .last()
                    .is_none_or(|&last| last >> (width * 8 - 1) == 0)
            {
                true => Ok(offsets),
                false => Err(FileError::corrupt("offsets that decrease or are negative")),
            }
        };
        self.reader.read_pages(&places)?.iter().map(parse).collect()
    }

    /// The bytes of values `start..end` of a page, and the bits in front of the first.
    fn bytes(&self, page: Page, start: u64, end: u64, bits: u64) -> Result<(Range<u64>, usize)> {
        let in_file = |value: u64| {
            let at = value.checked_mul(bits)?;
            Some((at, page.position))
        };
        let place = in_file(start)
            .zip(in_file(end))
            .and_then(|((from, at), (to, _))| {
                let range = at.checked_add(from / 8)?..at.checked_add(to.div_ceil(8))?;
                (end <= page.length).then_some((range, usize::try_from(from % 8).ok()?))
            });
        place
            .filter(|(range, _)| range.end <= self.reader.size())
            .ok_or_else(|| FileError::corrupt("a page that is too short, or not in the file"))
    }

    fn leaf(&mut self, leaf: &Arc<Leaf>, nullable: bool, rows: &Rows) -> Result<LeafPlan> {
        let pages = self.pages(leaf.column)?;
        let (mut runs, mut items) = (Vec::new(), None);
        match &leaf.shape {
            Shape::Null => {
                for rows in rows.iter().flat_map(|(_, ranges)| ranges) {
                    let count = usize::try_from(rows.end - rows.start);
                    runs.push(Run::Nulls(count.map_err(|_| too_many())?));
                    self.needs.push(0..0);
                }
            }
            Shape::Variable { .. } => {
                // The table counts the rows, and there is one offset more.
                let offsets = pages.iter().map(|page| Page {
                    length: page.length.saturating_add(1),
                    ..*page
                });
                let offsets: Vec<_> = offsets.collect();
                for offsets in self.offsets(&offsets, 8, rows)? {
                    runs.push(self.strings(&offsets)?);
                }
            }
            shape => {
                let mut bits = shape.bits();
                if let Shape::Dictionary(width, shape) = shape {
                    items = Some(Arc::new(self.dictionary(leaf.column, shape)?));
                    bits = width.checked_mul(8);
                }
                let bits = bits.and_then(|bits| u64::try_from(bits).ok());
                let bits = bits.ok_or_else(|| unsupported(&leaf.stored))?;
                for (batch, ranges) in rows {
                    for rows in ranges {
                        let page = page(&pages, *batch)?;
                        let (bytes, skip) = self.bytes(page, rows.start, rows.end, bits)?;
                        let count = usize::try_from(rows.end - rows.start);
                        let count = count.map_err(|_| too_many())?;
                        runs.push(Run::Plain { skip, count });
                        self.needs.push(bytes);
                    }
                }
            }
        }
        Ok(LeafPlan {
            leaf: Arc::clone(leaf),
            nullable,
            items,
            runs,
        })
    }

    /// Strings whose absolute offsets are known.
    fn strings(&mut self, offsets: &[u64]) -> Result<Run> {
        let (first, last) = match (offsets.first(), offsets.last()) {
            (Some(&first), Some(&last)) if last <= self.reader.size() => (first, last),
            _ => return Err(FileError::corrupt("strings that are not in the file")),
        };
        self.needs.push(first..last);
        Ok(Run::Strings(
            offsets.iter().skip(1).map(|end| end - first).collect(),
        ))
    }

    /// The values of a dictionary.
    fn dictionary(&self, id: usize, shape: &Shape) -> Result<Values> {
        let place = i32::try_from(id).ok();
        let place = place.and_then(|id| self.metadata.dictionaries.get(&id));
        let &(position, length) =
            place.ok_or_else(|| FileError::corrupt("a dictionary without values"))?;
        let page = Page { position, length };
        match shape {
            Shape::Variable { large } => {
                let page = Page {
                    length: length.saturating_add(1),
                    ..page
                };
                let rows = vec![(0, std::iter::once(0..length).collect())];
                let offsets = self.offsets(&[page], 8, &rows)?.pop().unwrap_or_default();
                let (first, last) = match (offsets.first(), offsets.last()) {
                    (Some(&first), Some(&last)) if last <= self.reader.size() => (first, last),
                    _ => return Err(FileError::corrupt("strings that are not in the file")),
                };
                let bytes = self.reader.read_metadata(first, last - first)?;
                let mut values = Variable::new(*large, 0);
                values.push_run(&bytes, offsets.iter().skip(1).map(|end| end - first))?;
                Ok(Values::Variable(values))
            }
            Shape::Fixed(width) => {
                let bits = u64::try_from(*width).unwrap_or(u64::MAX).saturating_mul(8);
                let (range, _) = self.bytes(page, 0, length, bits)?;
                let bytes = self
                    .reader
                    .read_metadata(range.start, range.end - range.start)?;
                fixed(*width, &bytes)
            }
            _ => Err(FileError::unsupported(
                "a dictionary of values of this type",
            )),
        }
    }
}

impl FieldPlan {
    fn decode(
        self,
        node: &Node,
        bytes: &mut std::vec::IntoIter<Bytes>,
        len: usize,
    ) -> Result<ArrayRef> {
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
            (Self::List(layer, plan), NodeKind::List { item, .. }) => {
                let items = layer.ends.last().copied().unwrap_or(0);
                let items = item_count(node.field.data_type(), items.unsigned_abs())?;
                let items = plan.decode(item, bytes, items)?;
                list_array(node.field.data_type(), layer, items)
            }
            _ => Err(FileError::corrupt("a plan for another projection")),
        }
    }
}

impl LeafPlan {
    fn decode(
        &self,
        node: &Node,
        bytes: &mut std::vec::IntoIter<Bytes>,
        len: usize,
    ) -> Result<ArrayRef> {
        let mut values = Values::new(&self.leaf.shape, 0);
        let mut validity = Bitmap::default();
        for run in &self.runs {
            let bytes = bytes.next().unwrap_or_default();
            run.decode(
                &bytes,
                &self.items,
                self.nullable,
                &mut values,
                &mut validity,
            )?;
        }
        if values.len() != len || validity.len() != len {
            return Err(FileError::corrupt(format!(
                "{} values where {len} belong",
                values.len()
            )));
        }
        let array = values.into_array(&self.leaf.stored, validity.into_nulls())?;
        present(array, node.field.data_type())
    }
}

fn page(pages: &[Page], batch: usize) -> Result<Page> {
    let page = pages.get(batch).copied();
    page.ok_or_else(|| FileError::corrupt(format!("batch {batch} has no page")))
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut()
        .zip(bytes)
        .for_each(|(out, byte)| *out = *byte);
    u64::from_le_bytes(word)
}

fn unsupported(data_type: &DataType) -> FileError {
    FileError::unsupported(format!("type {data_type} in files of version 0.1"))
}

fn too_many() -> FileError {
    FileError::corrupt("more values than fit into memory")
}
