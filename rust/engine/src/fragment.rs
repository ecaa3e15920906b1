//! Reading one fragment: which of its files holds which column, and which of its rows are gone.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, SchemaRef};
use pennon_file::{Field, Projection, RowRanges, Schema};
use pennon_table::{DataFile, Fragment};
use roaring::RoaringBitmap;

use crate::session::Session;
use crate::{EngineError, Result};

/// A fragment, ready to be read. Cheap to make: files are opened when a column of theirs is read.
#[derive(Debug)]
pub(crate) struct FragmentReader {
    session: Arc<Session>,
    fragment: Fragment,
    physical_rows: u64,
    deleted: Option<Arc<RoaringBitmap>>,
}

/// The columns of one read, sorted by the file that holds them.
#[derive(Debug)]
pub(crate) struct FragmentProjection {
    parts: Vec<Part>,
    /// Columns that no file of the fragment holds: they read as nulls.
    absent: Vec<(usize, Field)>,
    schema: SchemaRef,
}

#[derive(Debug)]
struct Part {
    file: Arc<pennon_file::FileReader>,
    projection: Projection,
    /// Where each of the projection's columns stands in the output.
    positions: Vec<usize>,
}

impl FragmentReader {
    pub(crate) fn open(session: &Arc<Session>, fragment: &Fragment) -> Result<Self> {
        let deleted = match &fragment.deletion {
            Some(file) => Some(session.deletions(fragment, file)?),
            None => None,
        };
        let physical_rows = match fragment.physical_rows {
            Some(rows) => rows,
            None => match fragment.files.first() {
                Some(file) => open_file(session, file)?.num_rows(),
                None => 0,
            },
        };
        Ok(Self {
            session: Arc::clone(session),
            fragment: fragment.clone(),
            physical_rows,
            deleted,
        })
    }

    pub(crate) fn id(&self) -> u64 {
        self.fragment.id
    }

    /// Rows in the files, deleted ones included.
    pub(crate) fn physical_rows(&self) -> u64 {
        self.physical_rows
    }

    pub(crate) fn deleted(&self) -> Option<&RoaringBitmap> {
        self.deleted.as_deref()
    }

    /// Rows that are not deleted.
    pub(crate) fn live_rows(&self) -> u64 {
        self.physical_rows
            - self
                .deleted
                .as_ref()
                .map_or(0, |d| d.len().min(self.physical_rows))
    }

    /// Finds the files that hold the fields of `schema`.
    pub(crate) fn project(&self, schema: &Schema) -> Result<FragmentProjection> {
        let mut by_file: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut absent = Vec::new();
        for (position, field) in schema.fields.iter().enumerate() {
            match self.file_of(field) {
                Some(file) => by_file.entry(file).or_default().push(position),
                None => absent.push((position, field.clone())),
            }
        }
        let mut parts = by_file
            .into_iter()
            .map(|(file, positions)| self.part(file, positions, schema))
            .collect::<Result<Vec<_>>>()?;
        parts.sort_by(|a, b| a.positions.cmp(&b.positions));
        Ok(FragmentProjection {
            parts,
            absent,
            schema: Arc::new(schema.to_arrow()?),
        })
    }

    /// The first file, in the fragment's order, that stores a part of `field`.
    fn file_of(&self, field: &Field) -> Option<usize> {
        self.fragment
            .files
            .iter()
            .position(|file| stores(file, field))
    }

    fn part(&self, file: usize, positions: Vec<usize>, schema: &Schema) -> Result<Part> {
        let data_file = &self.fragment.files[file];
        let columns: HashMap<i32, u32> = data_file.columns().collect();
        let fields = positions
            .iter()
            .map(|&at| schema.fields[at].clone())
            .collect();
        let reader = open_file(&self.session, data_file)?;
        if reader.num_rows() != self.physical_rows {
            return Err(pennon_file::FileError::corrupt(format!(
                "the file has {} rows where fragment {} has {}",
                reader.num_rows(),
                self.fragment.id,
                self.physical_rows
            ))
            .in_file(reader.location())
            .into());
        }
        let projection = Projection::new(fields, |id| columns.get(&id).copied())?;
        Ok(Part {
            file: reader,
            projection,
            positions,
        })
    }

    /// The physical rows `rows` of the projected columns, deleted ones included.
    pub(crate) fn read(
        &self,
        projection: &FragmentProjection,
        rows: &RowRanges,
    ) -> Result<RecordBatch> {
        let count = usize::try_from(rows.len())
            .map_err(|_| EngineError::invalid_input("a batch of more rows than memory holds"))?;
        if let ([part], []) = (projection.parts.as_slice(), projection.absent.as_slice()) {
            let batch = part.file.read(&part.projection, rows)?;
            return Ok(batch.with_schema(Arc::clone(&projection.schema))?);
        }
        let mut columns: Vec<Option<ArrayRef>> = vec![None; projection.schema.fields().len()];
        for part in &projection.parts {
            let batch = part.file.read(&part.projection, rows)?;
            for (&position, column) in part.positions.iter().zip(batch.columns()) {
                columns[position] = Some(Arc::clone(column));
            }
        }
        for (position, _) in &projection.absent {
            let data_type = projection.schema.field(*position).data_type();
            columns[*position] = Some(new_null_array(data_type, count));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&projection.schema),
            columns.into_iter().flatten().collect(),
            &options,
        )?)
    }

    /// The bytes of the large objects of a field in some physical rows.
    pub(crate) fn read_blobs(&self, field: &Field, rows: &RowRanges) -> Result<ArrayRef> {
        let Some(file) = self.file_of(field) else {
            let count = usize::try_from(rows.len()).unwrap_or(usize::MAX);
            return Ok(new_null_array(&DataType::LargeBinary, count));
        };
        let schema = Schema {
            fields: vec![field.clone()],
            ..Schema::default()
        };
        let part = self.part(file, vec![0], &schema)?;
        let path = &self.fragment.files[file].path;
        let folder = path.strip_suffix(".lance").unwrap_or(path);
        let store = self.session.store();
        let batch = part
            .file
            .read_with_sidecars(&part.projection, rows, &|name| {
                Ok(store.open(&format!("data/{folder}/{name}"), None)?)
            })?;
        Ok(Arc::clone(batch.column(0)))
    }

    /// Which rows of a physical range are live, as a bit per row; `None` when all are.
    pub(crate) fn live_mask(&self, rows: &Range<u64>) -> Option<arrow_buffer::BooleanBuffer> {
        let deleted = self.deleted.as_deref()?;
        let start = u32::try_from(rows.start).ok()?;
        let last = u32::try_from(rows.end.checked_sub(1)?).unwrap_or(u32::MAX);
        let mut gone = deleted.range(start..=last).peekable();
        gone.peek()?;
        let length = usize::try_from(rows.end - rows.start).ok()?;
        let mut mask = arrow_buffer::BooleanBufferBuilder::new(length);
        mask.append_n(length, true);
        for row in gone {
            if let Ok(at) = usize::try_from(row - start) {
                mask.set_bit(at, false);
            }
        }
        Some(mask.finish())
    }
}

/// Whether `file` holds a column of `field` or of one of its children.
fn stores(file: &DataFile, field: &Field) -> bool {
    file.fields.contains(&field.id) || field.children.iter().any(|child| stores(file, child))
}

fn open_file(session: &Session, file: &DataFile) -> Result<Arc<pennon_file::FileReader>> {
    if file.base_id.is_some() {
        return Err(EngineError::Unsupported(format!(
            "the data file '{}', which lies under another base path,",
            file.path
        )));
    }
    session.file(&format!("data/{}", file.path), file.size)
}
