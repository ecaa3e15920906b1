//! The options of a scan.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use pennon_expr::Predicate;

use super::columns::Output;
use super::plan::ScanPlan;
use super::stream::{BatchStream, Step};
use crate::{Dataset, EngineError, Pulse, Result};

/// Rows of a batch unless the caller says otherwise.
pub const DEFAULT_BATCH_ROWS: usize = 8192;

/// The options of a scan; [`stream`](ScanBuilder::stream) begins it.
#[derive(Debug, Clone)]
pub struct ScanBuilder {
    dataset: Dataset,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    limit: Option<u64>,
    offset: u64,
    batch_rows: usize,
    fragments: Option<Vec<u64>>,
    row_id: bool,
    row_address: bool,
}

impl ScanBuilder {
    pub(crate) fn new(dataset: Dataset) -> Self {
        Self {
            dataset,
            columns: None,
            filter: None,
            limit: None,
            offset: 0,
            batch_rows: DEFAULT_BATCH_ROWS,
            fragments: None,
            row_id: false,
            row_address: false,
        }
    }

    /// Returns these columns in this order instead of all.
    #[must_use]
    pub fn columns(mut self, columns: Option<Vec<String>>) -> Self {
        self.columns = columns;
        self
    }

    /// Returns only the rows for which this SQL predicate is true.
    #[must_use]
    pub fn filter(mut self, filter: Option<String>) -> Self {
        self.filter = filter;
        self
    }

    /// Returns at most this many rows.
    #[must_use]
    pub fn limit(mut self, limit: Option<u64>) -> Self {
        self.limit = limit;
        self
    }

    /// Leaves out the first rows that would be returned.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Returns batches of at most this many rows. The default is [`DEFAULT_BATCH_ROWS`].
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows;
        self
    }

    /// Scans the fragments with these ids, in this order, instead of all.
    #[must_use]
    pub fn fragments(mut self, ids: Option<Vec<u64>>) -> Self {
        self.fragments = ids;
        self
    }

    /// Adds the column [`ROW_ID`](crate::scan::ROW_ID).
    #[must_use]
    pub fn with_row_id(mut self, wanted: bool) -> Self {
        self.row_id = wanted;
        self
    }

    /// Adds the column [`ROW_ADDRESS`](crate::scan::ROW_ADDRESS).
    #[must_use]
    pub fn with_row_address(mut self, wanted: bool) -> Self {
        self.row_address = wanted;
        self
    }

    /// The schema of the batches that the scan returns.
    pub fn schema(&self) -> Result<arrow_schema::SchemaRef> {
        Ok(self.output()?.schema)
    }

    /// Begins the scan. Nothing is read before the first batch is asked for.
    ///
    /// # Errors
    ///
    /// When a column or fragment does not exist, or the predicate is wrong.
    pub fn stream(&self) -> Result<BatchStream> {
        let plan = self.plan(self.output()?)?;
        Ok(BatchStream::new(plan, self.offset, self.limit))
    }

    /// How many rows the scan would return. Reads only the predicate's columns.
    ///
    /// # Errors
    ///
    /// As for [`stream`](ScanBuilder::stream), and when reading fails.
    pub fn count(&self) -> Result<u64> {
        self.count_with(&mut || Ok(()))
    }

    /// As [`count`](ScanBuilder::count), with a pulse.
    pub fn count_with(&self, pulse: Pulse<'_>) -> Result<u64> {
        if self.filter.is_none() && self.fragments.is_none() {
            let rows = self.dataset.count_rows()?.saturating_sub(self.offset);
            return Ok(self.limit.map_or(rows, |limit| rows.min(limit)));
        }
        let schema = self.dataset.schema();
        let nothing = Output::resolve(schema, Some(&[]), false, false)?;
        let mut stream = BatchStream::new(self.plan(nothing)?, self.offset, self.limit);
        let mut rows = 0_u64;
        loop {
            pulse()?;
            match stream.step()? {
                Step::Batch(batch) => {
                    rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
                }
                Step::Nothing => {}
                Step::Done => return Ok(rows),
            }
        }
    }

    pub(crate) fn plan(&self, output: Output) -> Result<ScanPlan> {
        if self.batch_rows == 0 {
            return Err(EngineError::invalid_input("batch_size must be at least 1"));
        }
        let filter = match &self.filter {
            Some(sql) => Some(Predicate::parse(sql, &with_addresses(&self.dataset))?),
            None => None,
        };
        ScanPlan::new(
            &self.dataset,
            output,
            filter,
            self.fragments.as_deref(),
            self.batch_rows,
        )
    }

    /// A scan that returns no column, for those who only want the surviving rows.
    pub(crate) fn output(&self) -> Result<Output> {
        let row_id = self.row_id || self.names(super::ROW_ID);
        if row_id && self.dataset.manifest().uses_stable_row_ids() {
            return Err(EngineError::Unsupported(
                "reading stable row ids".to_owned(),
            ));
        }
        let names = self.columns.as_deref();
        Output::resolve(self.dataset.schema(), names, self.row_id, self.row_address)
    }

    fn names(&self, column: &str) -> bool {
        self.columns
            .as_ref()
            .is_some_and(|names| names.iter().any(|name| name == column))
    }
}

/// The dataset's schema and the columns that a predicate can name beside it.
fn with_addresses(dataset: &Dataset) -> arrow_schema::Schema {
    let schema = dataset.arrow_schema();
    let stable = dataset.manifest().uses_stable_row_ids();
    let system = [(super::ROW_ID, !stable), (super::ROW_ADDRESS, true)];
    let system = system
        .into_iter()
        .filter(|(name, exists)| *exists && schema.field_with_name(name).is_err())
        .map(|(name, _)| Arc::new(Field::new(name, DataType::UInt64, false)));
    let fields: Vec<_> = schema.fields().iter().cloned().chain(system).collect();
    arrow_schema::Schema::new(fields)
}
