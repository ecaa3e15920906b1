//! The batches of a scan, in order.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::plan::ScanPlan;
use crate::ordered::{Next, Ordered};
use crate::{EngineError, Result};

/// The batches of a scan, in the order of the dataset's rows.
///
/// An iterator; dropping it ends the scan. Batches are prepared a little ahead of the consumer by
/// the process's worker threads.
#[derive(Debug)]
pub struct BatchStream {
    schema: SchemaRef,
    batches: Ordered<Result<RecordBatch>>,
    batch_rows: usize,
    /// What is left of a task's batch that was longer than a batch may be.
    pending: Option<RecordBatch>,
    to_skip: u64,
    to_return: Option<u64>,
}

/// What one step of a stream brought.
#[derive(Debug)]
pub enum Step {
    /// A batch with rows.
    Batch(RecordBatch),
    /// A piece of work was done, and no row came of it.
    Nothing,
    /// The scan is over.
    Done,
}

impl BatchStream {
    pub(crate) fn new(mut plan: ScanPlan, offset: u64, limit: Option<u64>) -> Self {
        let to_skip = trim_tasks(&mut plan, offset, limit);
        let schema = Arc::clone(&plan.output.schema);
        let (total, workers) = (plan.tasks.len(), plan.parallelism);
        Self {
            schema,
            batch_rows: plan.batch_rows,
            batches: Ordered::new(total, workers, move |task| plan.run(task)),
            pending: None,
            to_skip,
            to_return: limit,
        }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Does one piece of work. A caller that must stay responsive while a selective predicate
    /// finds nothing calls this instead of `next`.
    ///
    /// # Errors
    ///
    /// When reading fails; the scan is over then.
    pub fn step(&mut self) -> Result<Step> {
        if self.to_return == Some(0) {
            return Ok(Step::Done);
        }
        let batch = match self.pending.take() {
            Some(batch) => batch,
            None => match self.batches.next() {
                Next::Ready(batch) => batch.inspect_err(|_| self.to_return = Some(0))?,
                Next::Done => return Ok(Step::Done),
                Next::Forked => return Err(EngineError::Forked),
            },
        };
        let batch = self.without_offset(batch);
        if batch.num_rows() == 0 {
            return Ok(Step::Nothing);
        }
        Ok(Step::Batch(self.within_limits(batch)))
    }

    fn without_offset(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows();
        let skip = usize::try_from(self.to_skip)
            .unwrap_or(usize::MAX)
            .min(rows);
        if skip == 0 {
            return batch;
        }
        self.to_skip -= u64::try_from(skip).unwrap_or(0);
        batch.slice(skip, rows - skip)
    }

    /// Cuts the batch to the batch size, keeping the rest, and to the limit.
    fn within_limits(&mut self, mut batch: RecordBatch) -> RecordBatch {
        if batch.num_rows() > self.batch_rows {
            let rest = batch.num_rows() - self.batch_rows;
            self.pending = Some(batch.slice(self.batch_rows, rest));
            batch = batch.slice(0, self.batch_rows);
        }
        if let Some(limit) = &mut self.to_return {
            let allowed = usize::try_from(*limit).unwrap_or(usize::MAX);
            if batch.num_rows() > allowed {
                batch = batch.slice(0, allowed);
            }
            *limit -= u64::try_from(batch.num_rows()).unwrap_or(0);
        }
        batch
    }
}

/// Leaves out the tasks that an offset skips whole and those behind a limit, where that is known
/// without reading: no predicate, and no deletions up to there. Returns the rows that are still
/// to be skipped.
fn trim_tasks(plan: &mut ScanPlan, offset: u64, limit: Option<u64>) -> u64 {
    if plan.filter.is_some() {
        return offset;
    }
    let exact = |plan: &ScanPlan, at: usize| {
        plan.tasks
            .get(at)
            .filter(|task| plan.fragment(task.fragment).deletion.is_none())
            .cloned()
    };
    let mut to_skip = offset;
    let mut first = 0;
    while let Some(task) =
        exact(plan, first).filter(|task| task.rows.end - task.rows.start <= to_skip)
    {
        to_skip -= task.rows.end - task.rows.start;
        first += 1;
    }
    if let Some(limit) = limit {
        let mut wanted = to_skip.saturating_add(limit);
        let mut end = first;
        while let Some(task) = exact(plan, end).filter(|_| wanted > 0) {
            let rows = (task.rows.end - task.rows.start).min(wanted);
            plan.tasks[end].rows.end = task.rows.start + rows;
            wanted -= rows;
            end += 1;
        }
        if wanted == 0 {
            plan.tasks.truncate(end);
        }
    }
    plan.tasks.drain(..first);
    to_skip
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(Step::Batch(batch)) => return Some(Ok(batch)),
                Ok(Step::Nothing) => {}
                Ok(Step::Done) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
