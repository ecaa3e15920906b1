//! One task: physical rows of a fragment → a batch of output rows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_buffer::{BooleanBuffer, bit_iterator::BitSliceIterator};
use arrow_schema::{Field, Schema};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use pennon_file::RowRanges;

use super::columns::OutputColumn;
use super::plan::{Filter, OpenFragment, ScanPlan};
use crate::{EngineError, Result};

/// Below one surviving row in this many, columns are read for the surviving rows only; above, the
/// whole range is decoded and then filtered, which is quicker than many small decodes.
const LATE_FRACTION: usize = 16;

impl ScanPlan {
    /// Runs a task. The batch has no rows when none survive.
    pub(crate) fn run(&self, task: usize) -> Result<RecordBatch> {
        let task = &self.tasks[task];
        let fragment = self.open(task.fragment)?;
        match (&self.filter, &fragment.filter) {
            (Some(filter), Some(_)) => self.run_filtered(&fragment, filter, &task.rows),
            _ => self.run_plain(&fragment, &task.rows),
        }
    }

    /// The physical rows of a task for which the predicate is true and which are live.
    pub(crate) fn matching(&self, task: usize) -> Result<Vec<u32>> {
        let task = &self.tasks[task];
        let fragment = self.open(task.fragment)?;
        let mask = match &self.filter {
            Some(filter) => self.evaluate(&fragment, filter, &task.rows)?.1,
            None => fragment.reader.live_mask(&task.rows),
        };
        let too_many =
            |_| EngineError::invalid_input("a fragment of more rows than a row address can count");
        let start = u32::try_from(task.rows.start).map_err(too_many)?;
        let end = u32::try_from(task.rows.end).map_err(too_many)?;
        let offset = |at: usize| u32::try_from(at).map_or(end, |at| start + at);
        Ok(match mask {
            Some(mask) => mask.set_indices().map(offset).collect(),
            None => (start..end).collect(),
        })
    }

    fn run_plain(&self, fragment: &OpenFragment, rows: &Range<u64>) -> Result<RecordBatch> {
        let ranges = RowRanges::from_range(rows.clone());
        let batch = fragment.reader.read(&fragment.output, &ranges)?;
        let mask = fragment.reader.live_mask(rows);
        let stored = match mask.as_ref() {
            Some(mask) => filter_all(&filter_of(mask), batch.columns())?,
            None => batch.columns().to_vec(),
        };
        self.assemble(fragment.reader.id(), rows, mask.as_ref(), &stored)
    }

    fn run_filtered(
        &self,
        fragment: &OpenFragment,
        filter: &Filter,
        rows: &Range<u64>,
    ) -> Result<RecordBatch> {
        let (read, mask) = self.evaluate(fragment, filter, rows)?;
        let total = read.num_rows();
        let survivors = mask.as_ref().map_or(total, BooleanBuffer::count_set_bits);
        if survivors == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.output.schema)));
        }
        let mask = mask.filter(|_| survivors < total);
        let selection = mask.as_ref().map(filter_of);
        let early = match &selection {
            Some(selection) => filter_all(selection, read.columns())?,
            None => read.columns().to_vec(),
        };
        let late = match (&mask, &selection) {
            (Some(_), Some(selection)) if survivors > total / LATE_FRACTION => {
                let whole = RowRanges::from_range(rows.clone());
                filter_all(
                    selection,
                    fragment.reader.read(&fragment.output, &whole)?.columns(),
                )?
            }
            (Some(mask), _) => {
                let ranges = RowRanges::from_ranges(surviving_ranges(mask, rows.start))?;
                fragment
                    .reader
                    .read(&fragment.output, &ranges)?
                    .columns()
                    .to_vec()
            }
            (None, _) => {
                let whole = RowRanges::from_range(rows.clone());
                fragment
                    .reader
                    .read(&fragment.output, &whole)?
                    .columns()
                    .to_vec()
            }
        };
        let stored = self.merge(filter, early, late);
        self.assemble(fragment.reader.id(), rows, mask.as_ref(), &stored)
    }

    /// The predicate's columns of a range, and the rows that are live and for which it is true
    /// (`None`: all of them).
    fn evaluate(
        &self,
        fragment: &OpenFragment,
        filter: &Filter,
        rows: &Range<u64>,
    ) -> Result<(RecordBatch, Option<BooleanBuffer>)> {
        let Some(projection) = &fragment.filter else {
            return Err(EngineError::invalid_input("a filter without its columns"));
        };
        let ranges = RowRanges::from_range(rows.clone());
        let batch = fragment.reader.read(projection, &ranges)?;
        let live = fragment.reader.live_mask(rows);
        if filter.predicate.as_constant() == Some(true) {
            return Ok((batch, live));
        }
        let hits = match filter.addresses.as_slice() {
            [] => filter.predicate.evaluate_mask(&batch)?,
            names => {
                let addresses = row_addresses(fragment.reader.id(), rows, None);
                filter
                    .predicate
                    .evaluate_mask(&with_columns(&batch, names, &addresses)?)?
            }
        };
        let mask = match live {
            Some(live) => &live & &hits,
            None => hits,
        };
        Ok((batch, Some(mask)))
    }

    /// Puts the columns that the predicate read and those read afterwards in the output's order.
    fn merge(&self, filter: &Filter, early: Vec<ArrayRef>, late: Vec<ArrayRef>) -> Vec<ArrayRef> {
        let mut late = late.into_iter();
        let place = |name: &str| filter.needs.fields.iter().position(|f| f.name == name);
        self.output
            .stored
            .fields
            .iter()
            .filter_map(|field| match place(&field.name) {
                Some(at) => Some(Arc::clone(&early[at])),
                None => late.next(),
            })
            .collect()
    }

    /// Adds the system columns and forms the batch.
    fn assemble(
        &self,
        fragment: u64,
        rows: &Range<u64>,
        mask: Option<&BooleanBuffer>,
        stored: &[ArrayRef],
    ) -> Result<RecordBatch> {
        let count = match mask {
            Some(mask) => mask.count_set_bits(),
            None => usize::try_from(rows.end - rows.start)
                .map_err(|_| EngineError::invalid_input("a batch larger than memory"))?,
        };
        let mut addresses: Option<ArrayRef> = None;
        let columns = self
            .output
            .columns
            .iter()
            .map(|column| match column {
                OutputColumn::Stored(at) => Arc::clone(&stored[*at]),
                OutputColumn::Address => {
                    Arc::clone(addresses.get_or_insert_with(|| row_addresses(fragment, rows, mask)))
                }
            })
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = Arc::clone(&self.output.schema);
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

/// The batch with one more array, under each of the names.
fn with_columns(batch: &RecordBatch, names: &[String], array: &ArrayRef) -> Result<RecordBatch> {
    let schema = batch.schema();
    let stored = schema.fields().iter().map(|field| field.as_ref().clone());
    let added = names
        .iter()
        .map(|name| Field::new(name, array.data_type().clone(), false));
    let columns = batch.columns().iter().cloned();
    let columns = columns
        .chain(names.iter().map(|_| Arc::clone(array)))
        .collect();
    let schema = Schema::new(stored.chain(added).collect::<Vec<_>>());
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

fn row_addresses(fragment: u64, rows: &Range<u64>, mask: Option<&BooleanBuffer>) -> ArrayRef {
    let base = (fragment << 32) | rows.start;
    let addresses: UInt64Array = match mask {
        Some(mask) => mask.set_indices().map(|at| base + to_u64(at)).collect(),
        None => (base..base + (rows.end - rows.start)).collect(),
    };
    Arc::new(addresses)
}

fn filter_of(mask: &BooleanBuffer) -> FilterPredicate {
    FilterBuilder::new(&BooleanArray::new(mask.clone(), None))
        .optimize()
        .build()
}

fn filter_all(selection: &FilterPredicate, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    columns
        .iter()
        .map(|column| Ok(selection.filter(column.as_ref())?))
        .collect()
}

fn surviving_ranges(mask: &BooleanBuffer, base: u64) -> Vec<Range<u64>> {
    BitSliceIterator::new(mask.values(), mask.offset(), mask.len())
        .map(|(start, end)| base + to_u64(start)..base + to_u64(end))
        .collect()
}

fn to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
