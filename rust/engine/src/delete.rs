//! Deleting the rows for which a predicate is true.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pennon_table::{CommitOptions, Operation, TableErrorKind, Transaction, write_deletions};
use roaring::RoaringBitmap;

use crate::ordered::{Next, Ordered};
use crate::scan::ScanPlan;
use crate::{Dataset, EngineError, Pulse, Result};

/// How a delete is committed.
#[derive(Debug, Clone)]
pub struct DeleteOptions {
    /// How often the whole operation is done again after losing against another writer.
    pub conflict_retries: u32,
    /// When to stop trying again.
    pub retry_timeout: Duration,
    /// How each attempt is committed.
    pub commit: CommitOptions,
}

impl Default for DeleteOptions {
    fn default() -> Self {
        Self {
            conflict_retries: 10,
            retry_timeout: Duration::from_secs(30),
            commit: CommitOptions::default(),
        }
    }
}

impl Dataset {
    /// Deletes the rows for which the SQL `predicate` is true, in a new version, and returns the
    /// dataset at that version with the number of rows deleted.
    ///
    /// Data files stay as they are: a deletion vector per touched fragment says which rows are
    /// gone, and a fragment that loses its last row leaves the dataset. When another writer
    /// changed the same rows in the meantime, the operation is done again on the newest version.
    ///
    /// # Errors
    ///
    /// When the predicate is wrong, reading or writing fails, or other writers win too often.
    pub fn delete(&self, predicate: &str, options: &DeleteOptions) -> Result<(Self, u64)> {
        self.delete_with(predicate, options, &mut || Ok(()))
    }

    /// As [`delete`](Dataset::delete), with a pulse: an end that it asks for before the commit
    /// leaves the dataset as it was.
    pub fn delete_with(
        &self,
        predicate: &str,
        options: &DeleteOptions,
        pulse: Pulse<'_>,
    ) -> Result<(Self, u64)> {
        let deadline = Instant::now() + options.retry_timeout;
        let mut base = self.clone();
        let mut attempts = 0;
        loop {
            attempts += 1;
            match base.delete_once(predicate, options, pulse) {
                Err(EngineError::Table(conflict))
                    if conflict.kind() == TableErrorKind::CommitConflict =>
                {
                    if attempts > options.conflict_retries || Instant::now() >= deadline {
                        return Err(EngineError::TooMuchContention {
                            attempts,
                            last: Box::new(conflict),
                        });
                    }
                    base = base.checkout_latest()?;
                }
                done => return done,
            }
        }
    }

    fn delete_once(
        &self,
        predicate: &str,
        options: &DeleteOptions,
        pulse: Pulse<'_>,
    ) -> Result<(Self, u64)> {
        let matching = self.matching_rows(predicate, pulse)?;
        let deleted = matching.values().map(RoaringBitmap::len).sum();
        let mut updated_fragments = Vec::new();
        let mut deleted_fragment_ids = Vec::new();
        for (at, rows) in &matching {
            let fragment = &self.fragments()[*at];
            let reader = self.open_fragment(fragment)?;
            let all = match reader.deleted() {
                Some(before) => before | rows,
                None => rows.clone(),
            };
            if all.len() >= reader.physical_rows() {
                deleted_fragment_ids.push(fragment.id);
                continue;
            }
            let mut updated = fragment.clone();
            updated.deletion = Some(write_deletions(
                self.store().as_ref(),
                fragment.id,
                self.version(),
                &all,
                options.commit.sync,
            )?);
            updated.physical_rows = Some(reader.physical_rows());
            updated_fragments.push(updated);
        }
        let operation = Operation::Delete {
            updated_fragments,
            deleted_fragment_ids,
            predicate: predicate.to_owned(),
        };
        let affected = matching
            .into_iter()
            .map(|(at, rows)| (self.fragments()[at].id, rows))
            .collect();
        let commit = CommitOptions {
            affected_rows: Some(affected),
            ..options.commit.clone()
        };
        Ok((
            self.commit(Transaction::new(self.version(), operation), &commit)?,
            deleted,
        ))
    }

    /// The live rows for which the predicate is true, by the place of their fragment.
    fn matching_rows(
        &self,
        predicate: &str,
        pulse: Pulse<'_>,
    ) -> Result<BTreeMap<usize, RoaringBitmap>> {
        let scan = self
            .scan()
            .filter(Some(predicate.to_owned()))
            .columns(Some(Vec::new()));
        let plan: ScanPlan = scan.plan(scan.output()?)?;
        let places: Vec<usize> = plan.tasks.iter().map(|task| task.fragment).collect();
        let (total, workers) = (plan.tasks.len(), plan.parallelism);
        let mut tasks = Ordered::new(total, workers, move |task| plan.matching(task));
        let mut matching: BTreeMap<usize, RoaringBitmap> = BTreeMap::new();
        for place in places {
            pulse()?;
            let rows = match tasks.next() {
                Next::Ready(rows) => rows?,
                Next::Done => break,
                Next::Forked => return Err(EngineError::Forked),
            };
            if !rows.is_empty() {
                matching.entry(place).or_default().extend(rows);
            }
        }
        Ok(matching)
    }
}
