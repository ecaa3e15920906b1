//! From options to tasks.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use pennon_expr::Predicate;
use pennon_file::Schema;
use pennon_table::Fragment;

use super::columns::{Output, is_system, select};
use crate::fragment::{FragmentProjection, FragmentReader};
use crate::session::Session;
use crate::{Dataset, EngineError, Result};

/// Rows that a filtering task reads at once: enough to make up for what a task costs, few enough
/// to stay in the processor's caches.
const FILTER_TASK_ROWS: u64 = 32_768;

/// Everything a scan needs, resolved and checked.
#[derive(Debug)]
pub(crate) struct ScanPlan {
    pub(crate) output: Output,
    pub(crate) filter: Option<Filter>,
    pub(crate) batch_rows: usize,
    pub(crate) tasks: Vec<Task>,
    pub(crate) parallelism: usize,
    session: Arc<Session>,
    fragments: Vec<PlannedFragment>,
}

/// A predicate and the stored columns that it needs.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) predicate: Predicate,
    pub(crate) needs: Schema,
    /// The row's address, under the names by which the predicate knows it.
    pub(crate) addresses: Vec<String>,
    /// The output's stored columns that the predicate does not read.
    pub(crate) rest: Schema,
}

/// Some physical rows of one fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) fragment: usize,
    pub(crate) rows: Range<u64>,
}

#[derive(Debug)]
struct PlannedFragment {
    fragment: Fragment,
    opened: OnceLock<Arc<OpenFragment>>,
}

/// A fragment whose files have been found for this scan.
#[derive(Debug)]
pub(crate) struct OpenFragment {
    pub(crate) reader: FragmentReader,
    /// The output's stored columns; with a filter, those that the predicate does not read.
    pub(crate) output: FragmentProjection,
    /// The predicate's columns.
    pub(crate) filter: Option<FragmentProjection>,
}

impl ScanPlan {
    pub(crate) fn new(
        dataset: &Dataset,
        output: Output,
        filter: Option<Predicate>,
        fragments: Option<&[u64]>,
        batch_rows: usize,
    ) -> Result<Self> {
        let chosen = choose(dataset, fragments)?;
        let filter = filter.map(|predicate| Filter::new(dataset.schema(), &output, predicate));
        let mut plan = Self {
            output,
            filter: filter.transpose()?,
            batch_rows,
            tasks: Vec::new(),
            parallelism: dataset.store().read_parallelism().min(64),
            session: Arc::clone(dataset.session()),
            fragments: chosen
                .into_iter()
                .map(|fragment| PlannedFragment {
                    fragment,
                    opened: OnceLock::new(),
                })
                .collect(),
        };
        plan.tasks = plan.cut()?;
        Ok(plan)
    }

    /// Cuts the fragments into tasks. A predicate that is never true leaves none.
    fn cut(&self) -> Result<Vec<Task>> {
        let constant = self
            .filter
            .as_ref()
            .and_then(|filter| filter.predicate.as_constant());
        if constant == Some(false) {
            return Ok(Vec::new());
        }
        let batch_rows = u64::try_from(self.batch_rows).unwrap_or(u64::MAX);
        let step = match &self.filter {
            Some(_) => batch_rows.max(FILTER_TASK_ROWS),
            None => batch_rows,
        };
        let mut tasks = Vec::new();
        for (at, planned) in self.fragments.iter().enumerate() {
            let rows = match planned.fragment.physical_rows {
                Some(rows) => rows,
                None => self.open(at)?.reader.physical_rows(),
            };
            let mut start = 0;
            while start < rows {
                let end = rows.min(start.saturating_add(step));
                tasks.push(Task {
                    fragment: at,
                    rows: start..end,
                });
                start = end;
            }
        }
        Ok(tasks)
    }

    /// The fragment of a task, opened by the first task that needs it.
    pub(crate) fn open(&self, at: usize) -> Result<Arc<OpenFragment>> {
        let planned = &self.fragments[at];
        if let Some(open) = planned.opened.get() {
            return Ok(Arc::clone(open));
        }
        let reader = FragmentReader::open(&self.session, &planned.fragment)?;
        let (output, filter) = match &self.filter {
            Some(filter) => (
                reader.project(&filter.rest)?,
                Some(reader.project(&filter.needs)?),
            ),
            None => (reader.project(&self.output.stored)?, None),
        };
        let open = Arc::new(OpenFragment {
            reader,
            output,
            filter,
        });
        Ok(Arc::clone(planned.opened.get_or_init(|| open)))
    }

    /// Live rows of the fragment at this place, as far as they are known without reading.
    pub(crate) fn fragment(&self, at: usize) -> &Fragment {
        &self.fragments[at].fragment
    }
}

impl Filter {
    fn new(schema: &Schema, output: &Output, predicate: Predicate) -> Result<Self> {
        let names = predicate.columns().iter();
        let (addresses, names): (Vec<&String>, Vec<&String>) =
            names.partition(|name| is_system(schema, name));
        let addresses = addresses.into_iter().cloned().collect();
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        let needs = select(schema, &names)?;
        let fields = output
            .stored
            .fields
            .iter()
            .filter(|field| !names.contains(&field.name.as_str()))
            .cloned()
            .collect();
        let rest = Schema {
            fields,
            metadata: output.stored.metadata.clone(),
        };
        Ok(Self {
            predicate,
            needs,
            addresses,
            rest,
        })
    }
}

fn choose(dataset: &Dataset, ids: Option<&[u64]>) -> Result<Vec<Fragment>> {
    let Some(ids) = ids else {
        return Ok(dataset.fragments().to_vec());
    };
    let find = |id: &u64| {
        dataset
            .fragments()
            .iter()
            .find(|fragment| fragment.id == *id)
            .cloned()
            .ok_or_else(|| {
                EngineError::invalid_input(format!(
                    "version {} has no fragment {id}",
                    dataset.version()
                ))
            })
    };
    ids.iter().map(find).collect()
}
